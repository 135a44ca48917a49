//! One column of a heat map: the number of requests by latency. Each bin is about a tenth wider than the next lower
//! bin.
//!
//! All columns have the same bins, so that a screen can change its scale without new data.

use std::{collections::BTreeSet, sync::LazyLock};

use super::by_segment::BySegment;

/// One column of a heat map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heat {
    /// The number of requests in each bin, from the shortest latency to the longest.
    pub counts: Box<[u64]>,
    is_open_loop: bool,
}

/// The start of the lowest bin, in nanoseconds. The lowest bin also counts shorter latencies.
const LOWEST_NS: f64 = 100.0;
/// The number of powers of ten that the bins cover: 100 ns to 100 s. The last bin also counts longer latencies.
const DECADES: usize = 9;

impl Heat {
    /// The number of bins from one power of ten to the next.
    const A_DECADE: usize = 24;

    /// Returns the number of the bin for a latency of `ns` nanoseconds.
    pub fn bin(ns: f64) -> usize {
        let bin = ((ns / LOWEST_NS).log10() * Self::A_DECADE as f64).floor();
        bin.clamp(0.0, (DECADES * Self::A_DECADE - 1) as f64) as usize
    }

    /// Returns the start of bin `n`, in nanoseconds.
    pub fn start_ns(n: usize) -> f64 {
        LOWEST_NS * 10_f64.powf(n as f64 / Self::A_DECADE as f64)
    }
}

static ENDS_NS: LazyLock<Vec<u64>> =
    LazyLock::new(|| (1..=DECADES * Heat::A_DECADE).map(|n| Heat::start_ns(n).round() as u64).collect());

/// Counts the requests of these time slots by latency. The latency is the response time in open loop, and the service
/// time in closed loop.
pub(super) fn of(service: &[&BySegment], response: &[&BySegment]) -> Heat {
    let open: BTreeSet<u32> = response.iter().flat_map(|cell| cell.segments()).collect();
    let mut counts = vec![0; ENDS_NS.len()];
    response.iter().for_each(|cell| cell.add_to_rows(|n| open.contains(&n), &ENDS_NS, &mut counts));
    // The shared entry of a time slot has latencies under several settings. Its service times are counted.
    service.iter().for_each(|cell| cell.add_to_rows(|n| !open.contains(&n), &ENDS_NS, &mut counts));
    Heat { counts: counts.into(), is_open_loop: !open.is_empty() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    fn parts(segment: u32, ns: u64, n: u64) -> BySegment {
        let mut parts = BySegment::default();
        parts.add(segment, 1.0, 1.0, &repeated(ns, n));
        parts
    }

    fn filled(heat: &Heat) -> Vec<(usize, u64)> {
        heat.counts.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect()
    }

    #[test]
    fn a_request_is_counted_once_from_when_it_was_due() {
        let (closed, open, due) = (parts(1, 9_900, 7), parts(2, 9_900, 5), parts(2, 990_000, 5));
        let heat = of(&[&closed, &open], &[&due]);
        assert_eq!(filled(&heat), [(2 * Heat::A_DECADE - 1, 7), (4 * Heat::A_DECADE - 1, 5)]);
        assert!(heat.is_open_loop && !of(&[&closed], &[]).is_open_loop);
    }

    #[test]
    fn a_bin_counts_latencies_from_its_start_to_the_next_start() {
        for n in [0, 1, 100, DECADES * Heat::A_DECADE - 1] {
            assert_eq!([1.001, 1.09].map(|times| Heat::bin(Heat::start_ns(n) * times)), [n, n]);
        }
        assert_eq!((Heat::bin(0.0), Heat::bin(1e30)), (0, DECADES * Heat::A_DECADE - 1));
    }

    #[test]
    fn latencies_beyond_the_bins_are_counted() {
        let (low, high) = (parts(1, 3, 1), parts(1, 400_000_000_000, 1));
        let counts = filled(&of(&[&low, &high], &[]));
        assert_eq!(counts, [(0, 1), (DECADES * Heat::A_DECADE - 1, 1)]);
    }
}
