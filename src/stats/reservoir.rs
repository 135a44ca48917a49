//! A sample of bounded size out of a stream of any length.

/// How many values are kept. The ranks of two hundred tell a difference of a quarter of their spread.
const KEPT: usize = 200;

/// A uniform sample of all values that were added: each of them is in it with the same probability (algorithm R of
/// J. Vitter, "Random sampling with a reservoir", ACM TOMS 11(1), 1985). The same values give the same sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reservoir {
    values: Vec<f64>,
    added: u64,
}

impl Reservoir {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.added += 1;
        if self.values.len() < KEPT {
            self.values.push(value);
            return;
        }
        let place = scattered(self.added) % self.added;
        if let Some(kept) = self.values.get_mut(place as usize) {
            *kept = value;
        }
    }

    /// The sample, in no order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many values were added.
    pub fn added(&self) -> u64 {
        self.added
    }
}

/// A number without visible order: the output function of SplitMix64.
fn scattered(n: u64) -> u64 {
    let z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stream_is_sampled_evenly_from_its_start_to_its_end() {
        let mut reservoir = Reservoir::default();
        (0..20_000).for_each(|n| reservoir.add(f64::from(n)));
        assert_eq!((reservoir.values().len(), reservoir.added()), (KEPT, 20_000));
        for quarter in 0..4 {
            let range = f64::from(quarter) * 5000.0..f64::from(quarter + 1) * 5000.0;
            let n = reservoir.values().iter().filter(|value| range.contains(value)).count();
            assert!((30..=70).contains(&n), "{n} of the quarter {quarter}");
        }
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let mut reservoir = Reservoir::default();
        [3.0, 1.0, 2.0].into_iter().for_each(|value| reservoir.add(value));
        assert_eq!(reservoir.values(), [3.0, 1.0, 2.0]);
    }
}
