//! Finding: far fewer reads of other clients find their key than usual, so these clients must get the values elsewhere.
//! The rule `hit rate` checks redyno's own load.

use super::{Finding, now::RecentState};
use crate::{gauge::Gauge, units};

/// The finding begins when the hit rate is at least this much below its usual value.
const FALL: f64 = 0.20;
/// The finding ends when the hit rate is less than this much below its usual value.
const NEAR: f64 = 0.10;
/// The smallest number of lookups per second for a verdict. With fewer lookups, the hit rate depends on chance.
const ENOUGH: f64 = 100.0;
/// The smallest number of evicted or expired keys per second that counts as evidence.
const SOME: f64 = 10.0;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let misses = now.gauge(Gauge::Misses)?;
    let lookups = misses + now.gauge(Gauge::Hits)?;
    let usual = now.usual(Gauge::HitRate)?;
    // Low values are the problem here: a finding begins if the highest of the last samples is low, and ends if the
    // lowest is not.
    let rate = now.steady(Gauge::HitRate, !stands)?;
    if now.is_loaded() || lookups < ENOUGH || usual - rate < if stands { NEAR } else { FALL } {
        return None;
    }
    let short = format!("hit rate {}, {} before", units::percent(rate), units::percent(usual));
    let long = format!("many lookups find no key: {short}");
    let lost = [(Gauge::EvictedKeys, "evicted"), (Gauge::ExpiredKeys, "expired")].map(|(gauge, how)| {
        let per_s = now.gauge(gauge).filter(|per_s| *per_s >= SOME)?;
        Some(format!("{} keys {how}", units::rate(per_s)))
    });
    let missed = Some(format!("{} misses", units::rate(misses)));
    let restarted = now.is_restarted().then(|| "the server was restarted".to_owned());
    let next = match restarted {
        Some(_) => "if the server did not save its data, clients must write the keys again".to_owned(),
        None => {
            format!("did clients delete keys, or did keys expire? {}", now.dialect().words().deleted_keys)
        }
    };
    let finding = Finding::new("", short, long).with([restarted, missed].into_iter().chain(lost), &next);
    Some(Finding { is_symptom: true, ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnose::fixture::found, events::EventKind};

    /// Returns the finding after `n` seconds. From second 20 on, `hits` of 3000 lookups find their key.
    fn after(n: u32, hits: f64) -> Option<Finding> {
        let mut found = found(n, |second| {
            let hits = if second.n < 20 { 2850.0 } else { hits };
            for (gauge, value) in
                [(Gauge::Hits, hits), (Gauge::Misses, 3000.0 - hits), (Gauge::HitRate, hits / 3000.0)]
            {
                second.status.gauges.set(gauge, Some(value));
            }
        });
        found.pop()
    }

    #[test]
    fn a_hit_rate_far_below_its_usual_value_is_a_warning() {
        let found = after(26, 1200.0).unwrap();
        assert_eq!(found.rule, "misses");
        assert_eq!(found.long, "many lookups find no key: hit rate 40 %, 95 % before");
        assert_eq!(found.evidence, ["1.80 k/s misses", "12/s keys expired"]);
        assert_eq!(after(19, 1200.0), None);
        assert_eq!(after(26, 2500.0), None, "a little lower");
    }

    #[test]
    fn few_lookups_are_not_judged() {
        let few = found(30, |second| {
            let rate = if second.n < 20 { 1.0 } else { 0.0 };
            for (gauge, value) in [(Gauge::Hits, 9.0 * rate), (Gauge::Misses, 9.0), (Gauge::HitRate, rate)] {
                second.status.gauges.set(gauge, Some(value));
            }
        });
        assert_eq!(few, []);
    }

    #[test]
    fn a_restart_is_named_as_the_cause() {
        let found = found(28, |second| {
            let rate = if second.n < 20 { 0.95 } else { 0.0 };
            if second.n == 20 {
                second.events.push(EventKind::Restarted);
            }
            for (gauge, value) in
                [(Gauge::Hits, 3000.0 * rate), (Gauge::Misses, 3000.0 * (1.0 - rate)), (Gauge::HitRate, rate)]
            {
                second.status.gauges.set(gauge, Some(value));
            }
        });
        assert_eq!(found[0].evidence[0], "the server was restarted");
        assert!(found[0].next.starts_with("if the server did not save its data"), "{}", found[0].next);
    }
}
