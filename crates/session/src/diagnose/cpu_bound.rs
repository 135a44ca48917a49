//! Finding: the main thread of the server has no time left.

use super::{Finding, Severity, now::RecentState};
use crate::{gauge::Gauge, units};

/// The finding begins when the main thread uses at least this share of a core.
const FULL: f64 = 0.95;
/// The finding ends when the main thread uses less than this share of a core.
const FREE: f64 = 0.90;
/// If commands take less than this share of the main thread's time, this thread mostly reads requests and writes
/// replies.
const MOSTLY_IO: f64 = 0.5;
/// The advice on the screen if commands take most of the time. Key `d` finds hot keys under any eviction policy.
const AT_SCREEN: &str =
    "press d to find the hottest keys; spread the keys over more servers (cluster), or read from replicas";
/// The advice without a screen. Under redyno's own load, the hottest keys are those of the load.
const HOT_KEYS: &str = "redis-cli --hotkeys finds the hottest keys (needs an LFU policy)";
/// The largest number of commands that the evidence names.
const NAMED: usize = 3;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    // The threads of memcached share their load.
    let threads = now.gauge(Gauge::Threads).unwrap_or(1.0).max(1.0);
    let cpu = now.steady(Gauge::Cpu, stands)? / threads;
    if cpu < if stands { FREE } else { FULL } {
        return None;
    }
    // A load without a rate uses all capacity on purpose.
    let severity = if now.is_loaded() { Severity::Note } else { Severity::Warning };
    let by = by_time(now);
    let in_commands = in_commands(now);
    let io = in_commands.filter(|share| *share < MOSTLY_IO);
    let one_thread =
        now.status().and_then(|status| status.config.get("io-threads")).is_some_and(|n| n == "1");
    let words = now.dialect().words();
    let next = match io {
        Some(_) if one_thread => {
            "set io-threads 4 in the server's configuration, so that other threads also read requests and write replies; larger pipelines help too"
        }
        Some(_) => {
            "use larger pipelines, or fewer and larger requests; then the server reads and writes less often"
        }
        None => words.more_cores,
    };
    let hot_keys = (io.is_none() && now.dialect().lists_keys() && !now.is_loaded()).then_some(HOT_KEYS);
    let next = [Some(next), hot_keys].into_iter().flatten().collect::<Vec<_>>().join("; ");
    let in_io = io.map(|share| {
        format!(
            "the server spends only {} of its CPU time on commands; it reads and writes in the rest of the time",
            units::percent(share)
        )
    });
    let who = if threads > 1.0 {
        "the server's threads have no idle time: each thread uses"
    } else {
        "the server's main thread has no idle time: it uses"
    };
    let (short, long) =
        (format!("server CPU {}", units::percent(cpu)), format!("{who} {} of a core", units::percent(cpu)));
    let finding = Finding::of(severity, short, long).with([by, in_io, now.pings.slowed()], &next);
    let next_at_screen = hot_keys.map(|_| AT_SCREEN);
    Some(Finding { is_symptom: true, next_at_screen, ..finding })
}

/// Returns the commands of other clients that take the most time, as text: `by time: GET 24 %, SET 8.0 %`. `None` if
/// other clients call no command.
pub(super) fn by_time(now: &RecentState) -> Option<String> {
    let named = now.commands().into_iter().filter(|command| command.share >= 0.01).take(NAMED);
    let named: Vec<_> =
        named.map(|command| format!("{} {}", command.name, units::percent(command.share))).collect();
    (!named.is_empty()).then(|| format!("by time: {}", named.join(", ")))
}

/// Returns the share of the main thread's time in which commands ran, including redyno's own commands.
pub(super) fn in_commands(now: &RecentState) -> Option<f64> {
    let status = now.status()?;
    let us: f64 = status.command_stats.values().map(|stat| stat.usec as f64).sum();
    status.per_s(us / 1e6).filter(|_| us > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnose::fixture::first, server::CommandStat};

    #[test]
    fn the_costliest_commands_are_named_and_io_threads_are_advised_where_they_help() {
        let full = |usec| {
            first(5, move |second| {
                let get = CommandStat { calls: 90_000, usec, ..CommandStat::default() };
                second.status.command_stats.insert("get".to_owned(), get);
                second.status.config =
                    std::sync::Arc::new([("io-threads".to_owned(), "1".to_owned())].into());
                second.status.gauges.set(Gauge::Cpu, Some(0.99));
            })
        };
        let found = full(240_000);
        assert_eq!((found.rule, found.severity), ("server cpu", Severity::Warning));
        assert_eq!(found.long, "the server's main thread has no idle time: it uses 99 % of a core");
        assert!(found.evidence[0].starts_with("by time: GET 24 %"), "{found:?}");
        assert!(found.next.contains("io-threads 4"));
        let commands = full(910_000);
        assert!(commands.next.starts_with("spread the keys"));
        assert!(commands.sentence(500, true).contains("; press d to find the hottest keys"));
        assert_eq!(found.next_at_screen, None);
    }
}
