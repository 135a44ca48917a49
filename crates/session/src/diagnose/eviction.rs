//! Finding: the server is at its memory limit. The server evicts keys for each write, or refuses writes.

use super::{Finding, Severity, now::RecentState};
use crate::{gauge::Gauge, units};

/// Evictions are reported from this number of evicted keys per second on. A full cache always evicts some
/// keys.
const KEYS: f64 = 100.0;
/// The finding is a warning if the server evicts at least this number of keys per command. A full cache evicts about
/// one key per write. If large values replace small values, the cache evicts more keys per write.
const STORM: f64 = 1.5;
/// The finding about nearly full memory begins when at least this share of the memory limit is used.
const NEARLY: f64 = 0.95;
/// The finding about nearly full memory ends when less than this share of the memory limit is used.
const ROOM: f64 = 0.93;

/// Returns the current finding about evictions, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let per_s =
        now.gauge(Gauge::EvictedKeys).filter(|per_s| *per_s >= if stands { KEYS / 2.0 } else { KEYS })?;
    let slowed = now.pings.slowed_while(&now.rates, Gauge::EvictedKeys, KEYS / 2.0);
    let usual = now.usual(Gauge::EvictedKeys).filter(|usual| *usual * 5.0 <= per_s);
    let each = now.gauge(Gauge::OpsPerS).map(|ops| per_s / ops.max(1.0));
    let is_storm = each.is_some_and(|each| each >= STORM);
    let severity =
        if slowed.is_some() || usual.is_some() || is_storm { Severity::Warning } else { Severity::Note };
    let short = format!("{} evictions", units::rate(per_s));
    let before = usual.map(|usual| format!(", {} before", units::count(usual))).unwrap_or_default();
    let status = now.status()?;
    let policy = status.policy.as_ref().map(|policy| format!("policy {policy}"));
    let memory = status.memory_text().map(|memory| format!("memory {memory}"));
    let misses = now.gauge(Gauge::HitRate).map(|rate| format!("hits {}", units::percent(rate)));
    let words = now.dialect().words();
    let next = format!("raise {}, or write less data; {}", words.memory_limit, words.large_keys);
    let long = format!("writes make the server evict keys: {short}{before}");
    let finding = Finding::of(severity, short, long).with([memory, policy, misses, slowed], &next);
    let next_at_screen = now.dialect().lists_keys().then_some(
        "raise maxmemory (CONFIG SET maxmemory), or write less data; press d to find the largest keys",
    );
    Some(Finding { next_at_screen, ..finding })
}

/// Returns the finding that the memory limit is nearly reached, if the server evicts no keys.
pub(super) fn nearly_full(now: &RecentState, stands: bool) -> Option<Finding> {
    let used = now.gauge(Gauge::UsedMemory)?;
    let limit = now.gauge(Gauge::MaxMemory).filter(|limit| *limit > 0.0)?;
    let share = used / limit;
    if share < if stands { ROOM } else { NEARLY } {
        return None;
    }
    let status = now.status()?;
    let memory = status.memory_text()?;
    // The finding about evictions has the same evidence.
    if now.gauge(Gauge::EvictedKeys).is_some_and(|per_s| per_s > 0.0) {
        return None;
    }
    let policy =
        status.policy.as_deref().or_else(|| status.config.get("maxmemory-policy").map(String::as_str));
    let (severity, then) = match policy {
        Some("noeviction") => (Severity::Warning, "the server refuses writes"),
        Some(policy) if policy.starts_with("volatile-") => {
            (Severity::Note, "the server evicts keys with a TTL")
        }
        _ => (Severity::Note, "the server evicts keys"),
    };
    let short = format!("memory {} full", units::percent(share));
    let long = format!("the server uses {memory}; at the limit, {then}");
    let next = format!("raise {}; {}", now.dialect().words().memory_limit, now.dialect().words().large_keys);
    Some(Finding::of(severity, short, long).with([], &next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::{first, found};

    #[test]
    fn an_eviction_storm_is_a_warning_and_a_full_cache_is_not() {
        let evict = |second: &mut crate::diagnose::fixture::Second| {
            second.status.gauges.set(Gauge::EvictedKeys, Some(12_000.0));
            second.status.gauges.set(Gauge::OpsPerS, Some(20_000.0));
            second.status.gauges.set(Gauge::UsedMemory, Some(512e6));
            second.status.gauges.set(Gauge::MaxMemory, Some(512e6));
            second.status.policy = Some("allkeys-lru".to_owned());
        };
        let storm = first(4, |second| {
            evict(second);
            second.ping(&[(200_000, 90), (12_000_000, 10)]);
        });
        assert_eq!((storm.rule, storm.severity), ("eviction", Severity::Warning));
        assert_eq!(storm.long, "writes make the server evict keys: 12.0 k/s evictions");
        assert!(found(4, evict).iter().all(|found| found.severity == Severity::Note));
        let replaced = first(4, |second| {
            evict(second);
            second.status.gauges.set(Gauge::OpsPerS, Some(500.0));
        });
        assert_eq!(replaced.severity, Severity::Warning);
    }

    #[test]
    fn slow_pings_before_the_evictions_began_are_no_evidence() {
        let evidence = |slow_until: u32| {
            let found = found(13, |second| {
                second.status.gauges.set(Gauge::EvictedKeys, Some(if second.n < 11 { 0.0 } else { 200.0 }));
                if (9..slow_until).contains(&second.n) {
                    second.ping(&[(200_000, 90), (12_000_000, 10)]);
                }
            });
            found.into_iter().find(|found| found.rule == "eviction").unwrap().evidence
        };
        assert!(!evidence(10).iter().any(|text| text.contains("PING")), "{:?}", evidence(10));
        assert!(evidence(12).iter().any(|text| text.contains("PING p99")), "{:?}", evidence(12));
    }

    #[test]
    fn a_server_that_will_refuse_writes_is_a_warning() {
        let found = first(3, |second| {
            second.status.gauges.set(Gauge::UsedMemory, Some(f64::from(97 << 20)));
            second.status.gauges.set(Gauge::MaxMemory, Some(f64::from(100 << 20)));
            second.status.policy = Some("noeviction".to_owned());
        });
        assert_eq!(
            found.long,
            "the server uses 97.0 MiB of 100 MiB; at the limit, the server refuses writes"
        );
        assert_eq!(found.severity, Severity::Warning);
    }
}
