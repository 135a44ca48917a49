//! A latency distribution in coarse steps, for a bar chart.

use super::Latency;

/// One step of a spectrum: a range of latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The longest latency of this step in ns. The step begins after the end of the previous step.
    pub up_to_ns: u64,
    /// The step's share of all samples, 0 to 1.
    pub share: f64,
}

/// The steps within a decade, in tenths of the decade's beginning. The list begins with the finest division.
const FINENESS: [&[u64]; 3] = [&[10, 15, 20, 30, 50, 70], &[10, 20, 50], &[10]];

/// Returns the distribution in round steps, from the first non-empty step to the last. There are at most
/// `most` steps, which are as fine as possible. The coarsest steps are whole decades. The result is empty if
/// nothing was counted. Latencies over range are in the last step.
pub fn spectrum(latency: &Latency, most: usize) -> Vec<Band> {
    let finest = FINENESS.iter().map(|tenths| in_steps(latency, tenths)).find(|bands| bands.len() <= most);
    finest.unwrap_or_else(|| in_steps(latency, FINENESS[2]))
}

fn in_steps(latency: &Latency, tenths: &[u64]) -> Vec<Band> {
    if latency.is_empty() {
        return Vec::new();
    }
    let mut bands: Vec<(u64, u64)> = Vec::new();
    let mut cells = latency.cells().peekable();
    // The steps begin at 10 ns, so that tenths are whole numbers, and end at the limit of 64 bits.
    let steps = (0..18).flat_map(|power| tenths.iter().map(move |tenth| tenth * 10_u64.pow(power)));
    for up_to_ns in steps {
        let mut n = 0;
        // The value of a cell is its upper end, which may be slightly above a border inside the cell.
        while let Some((_, count)) = cells.next_if(|(ns, _)| *ns <= up_to_ns + up_to_ns / 1000) {
            n += count;
        }
        if n > 0 || !bands.is_empty() {
            bands.push((up_to_ns, n));
        }
        if cells.peek().is_none() {
            break;
        }
    }
    match bands.last_mut() {
        Some((_, n)) => *n += latency.over_range(),
        None => bands.push((latency.max_ns(), latency.over_range())),
    }
    let all = latency.count() as f64;
    bands.into_iter().map(|(up_to_ns, n)| Band { up_to_ns, share: n as f64 / all }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{HIGHEST_NS, fixture::latency_of};

    fn of(values: &[u64], most: usize) -> Vec<(u64, f64)> {
        let latency = latency_of(values.iter().copied());
        spectrum(&latency, most).into_iter().map(|band| (band.up_to_ns, band.share)).collect()
    }

    #[test]
    fn every_sample_is_in_one_step_and_empty_steps_are_kept() {
        assert_eq!(of(&[], 9), []);
        let values = [151_000, 200_000, 701_000, 900_000];
        assert_eq!(of(&values, 3), [(200_000, 0.5), (500_000, 0.0), (1_000_000, 0.5)]);
        let fine: Vec<_> = of(&values, 9).into_iter().map(|(ns, _)| ns / 1000).collect();
        assert_eq!(fine, [200, 300, 500, 700, 1000]);
        assert_eq!(of(&values, 1), [(1_000_000, 1.0)]);
    }

    #[test]
    fn values_over_range_are_in_the_last_step() {
        let shares = of(&[1_000, HIGHEST_NS * 2], 9);
        assert_eq!(shares.iter().map(|(_, share)| share).sum::<f64>(), 1.0);
        assert_eq!(of(&[HIGHEST_NS * 2], 9).len(), 1);
    }
}
