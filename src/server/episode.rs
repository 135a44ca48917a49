//! Something that comes in bursts, told when it begins and when it is over. Pure.

use crate::clock::{SECOND_NS, seconds};

/// So long without any, and it is over.
const QUIET_NS: u64 = 3 * SECOND_NS;

/// A burst under way, or none.
#[derive(Debug, Default)]
pub(super) struct Episode {
    /// When it was last asked how many there were.
    asked_ns: Option<u64>,
    burst: Option<Burst>,
}

#[derive(Debug)]
struct Burst {
    began_ns: u64,
    last_ns: u64,
    sum: u64,
    most: u64,
}

/// A border of a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Border {
    /// It began with so many.
    Begins(u64),
    /// It is over: how many in all, how many at once at the most, and within how long: the first ones came since the
    /// time before.
    Ends { sum: u64, most: u64, length_s: f64 },
}

impl Episode {
    /// Takes how many there were until `at_ns`.
    pub(super) fn take(&mut self, at_ns: u64, n: u64) -> Option<Border> {
        let began_ns = self.asked_ns.replace(at_ns).unwrap_or(at_ns);
        match &mut self.burst {
            None if n > 0 => {
                self.burst = Some(Burst { began_ns, last_ns: at_ns, sum: n, most: n });
                Some(Border::Begins(n))
            }
            None => None,
            Some(burst) if n > 0 => {
                burst.last_ns = at_ns;
                burst.sum = burst.sum.saturating_add(n);
                burst.most = burst.most.max(n);
                None
            }
            Some(burst) if at_ns - burst.last_ns >= QUIET_NS => {
                let length_s = seconds(burst.last_ns - burst.began_ns);
                let border = Border::Ends { sum: burst.sum, most: burst.most, length_s };
                self.burst = None;
                Some(border)
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_told_twice_however_long_and_ragged_it_is() {
        let mut episode = Episode::default();
        let counts = [0, 5, 7, 0, 0, 3, 0, 0, 0, 0, 0, 2];
        let borders: Vec<_> = counts
            .into_iter()
            .enumerate()
            .filter_map(|(s, n)| Some((s, episode.take(s as u64 * SECOND_NS, n)?)))
            .collect();
        let over = Border::Ends { sum: 15, most: 7, length_s: 5.0 };
        // The first came between 0 and 1 s.
        assert_eq!(borders, [(1, Border::Begins(5)), (8, over), (11, Border::Begins(2))]);
    }
}
