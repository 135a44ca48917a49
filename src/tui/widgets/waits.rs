//! Waits that have no end yet: while a server hangs they grow in the charts, instead of a gap that is filled afterwards.

use crate::session::timeline::{Level, LoadCell, Measure, PingCell, Quantiles};

/// Shows in round trips what PINGs have been waiting so far.
pub fn of_pings(round_trips: &mut [Option<Quantiles>], pings: &[Option<PingCell>]) {
    for (rtt, pings) in round_trips.iter_mut().zip(pings) {
        let (Some(rtt), Some(pings)) = (rtt, pings) else { continue };
        match pings.wait_beyond(rtt.get(Level::Max)) {
            Some(wait_ns) if pings.answered == 0 => *rtt = Quantiles::of_wait(wait_ns),
            Some(wait_ns) => rtt.lift_max(wait_ns),
            None => {}
        }
    }
}

/// Leaves the parts of pings out where most answers have none.
pub fn without_parts(levels: &mut [Vec<Option<Quantiles>>; Measure::ALL.len()], pings: &[Option<PingCell>]) {
    for part in [Measure::PingSend, Measure::PingKernel, Measure::PingPickup] {
        for (part, pings) in levels[part as usize].iter_mut().zip(pings) {
            if part.is_some() && pings.is_some_and(|pings| pings.lacks_parts()) {
                *part = Some(Quantiles::default());
            }
        }
    }
}

/// Shows in the latencies of the load what requests have been waiting so far, where `counts_lag` says so of a column also
/// those that were due and could not be sent.
pub fn of_load(
    latency: &mut [Option<Quantiles>],
    load: &[Option<LoadCell>],
    counts_lag: impl Fn(u16) -> bool,
) {
    for ((n, latency), load) in (0..).zip(latency).zip(load) {
        let Some(load) = load else { continue };
        let longest_ns = latency.and_then(|latency| latency.get(Level::Max));
        match (latency, load.wait_beyond(longest_ns)) {
            (_, None) => {}
            (Some(latency), Some(wait_ns)) if longest_ns.is_some() => latency.lift_max(wait_ns),
            (latency, Some(wait_ns)) => {
                let lag_ns = if counts_lag(n) { load.behind_us.saturating_mul(1_000) } else { 0 };
                *latency = Some(Quantiles::of_wait(wait_ns.max(lag_ns)));
            }
        }
    }
}
