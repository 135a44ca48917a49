//! Finding: removing expired keys takes a noticeable share of the main thread's time.

use super::{Finding, Severity, now::RecentState};
use crate::{gauge::Gauge, units};

/// The smallest number of expired keys per second for a finding.
const KEYS: f64 = 500.0;
/// The finding begins when removing expired keys takes at least this share of the main thread's time. The server itself
/// limits this share to 25 %.
const SHARE: f64 = 0.05;
/// When removing expired keys takes at least this share of the main thread's time, the finding is a warning,
/// even without slow PINGs.
const LARGE_SHARE: f64 = 0.15;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, _: bool) -> Option<Finding> {
    let per_s = now.gauge(Gauge::ExpiredKeys).filter(|per_s| *per_s >= KEYS)?;
    let share = now.gauge(Gauge::ExpireCpu);
    let capped = now.gauge(Gauge::ExpireCapped).filter(|n| *n > 0.0);
    if share.is_none_or(|share| share < SHARE) && capped.is_none() {
        return None;
    }
    let slowed = now.pings.slowed_while(&now.rates, Gauge::ExpiredKeys, KEYS);
    let is_slow = slowed.is_some() || share.is_some_and(|share| share >= LARGE_SHARE);
    let severity = if is_slow { Severity::Warning } else { Severity::Note };
    let short = format!("{} expired keys", units::rate(per_s));
    let long = match share {
        Some(share) => format!("removing {short} takes {} of the main thread's time", units::percent(share)),
        None => format!("the server removes {short}"),
    };
    let capped = capped.map(|_| "the server's search for expired keys reaches its time limit".to_owned());
    let stale = now.gauge(Gauge::ExpiredStale).filter(|share| *share >= 0.01);
    let stale = stale.map(|share| {
        format!("{} of the keys with a TTL have expired and are still in memory", units::percent(share))
    });
    let next = "spread the expiry: add a random part to each TTL";
    let finding = Finding::of(severity, short, long).with([slowed, capped, stale], next);
    Some(Finding { explains: share.unwrap_or_default(), ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::first;

    #[test]
    fn a_burst_is_named_with_its_share_of_the_time() {
        let found = first(3, |second| {
            second.status.gauges.set(Gauge::ExpiredKeys, Some(240_000.0));
            second.status.gauges.set(Gauge::ExpireCpu, Some(0.24));
            second.status.gauges.set(Gauge::ExpireCapped, Some(9.0));
        });
        assert_eq!((found.rule, found.severity), ("expiry", Severity::Warning));
        assert_eq!(found.long, "removing 240 k/s expired keys takes 24 % of the main thread's time");
        assert_eq!(found.evidence, ["the server's search for expired keys reaches its time limit"]);
    }
}
