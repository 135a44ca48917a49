//! Finding: single calls of a command block the server for a long time, and all other clients wait.
//!
//! ```text
//!  slow log:      KEYS user:*   210 ms   from 10.0.0.7:51234       the longest, the key, the caller
//!  commandstats:  KEYS  4 calls, 880 ms in 5 s                     the share of the main thread's time
//! ```

use std::cmp::Reverse;

use super::{
    Finding, Severity, callers, costly_calls,
    now::{CommandUse, RecentState},
    slow_calls::{Calls, SLOW_US, WINDOW_S, advice, of_slow_log},
};
use crate::{events::EventKind, units};

/// A single call of this length is a warning, in microseconds. Shorter calls must also take a share of the main
/// thread's time.
const ALONE_US: f64 = 100_000.0;
/// A single call of this length is a problem, in microseconds.
const LONG_US: f64 = 1_000_000.0;
/// Several slow calls are reported only if they take at least this share of the main thread's time. A single long call
/// is always reported.
const SHARE: f64 = 0.05;
/// The finding is a problem when slow calls take at least this share of the main thread's time.
const LARGE_SHARE: f64 = 0.30;

/// Waits for a core that take less than this share of the time are ignored, because every thread that wakes up waits
/// briefly.
const WAITS: f64 = 0.05;
/// The largest number of further slow commands in the evidence.
const MOST_OTHERS: usize = 2;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, _: bool) -> Option<Finding> {
    let mut logged: Vec<_> = of_slow_log(now).into_iter().collect();
    logged.sort_by_key(|(_, calls)| Reverse(calls.us));
    let commands = if logged.is_empty() { Vec::new() } else { now.commands() };
    let mut found = logged.iter().filter_map(|(name, calls)| of_command(now, name, calls, &commands));
    let first = found.next()?;
    let others = found.filter_map(|other| other.evidence.into_iter().next()).take(MOST_OTHERS);
    let evidence = first.evidence.into_iter().chain(others).collect();
    Some(Finding { evidence, ..first })
}

/// Returns the finding about the slow calls of one command, if any.
fn of_command(now: &RecentState, name: &str, calls: &Calls, commands: &[CommandUse]) -> Option<Finding> {
    // A call that waits for a core seems slow, but is not.
    let at_work = 1.0 - Some(now.run_delay()).filter(|share| *share >= WAITS).unwrap_or_default();
    let known = commands.iter().find(|command| command.name.split(' ').next() == Some(name));
    let logged = calls.us as f64 / (WINDOW_S * 1e6);
    // If the calls of a command are mostly fast, only the share of its slow calls counts.
    let share = known.filter(|known| known.mean_us >= SLOW_US).map_or(logged, |known| known.share) * at_work;
    let longest_us = calls.longest_us as f64 * at_work;
    if longest_us < ALONE_US && known.is_some_and(costly_calls::is_costly) {
        return None;
    }
    let is_slow = longest_us >= ALONE_US || longest_us >= SLOW_US && share >= SHARE;
    is_slow.then(|| {
        let is_long = longest_us >= LONG_US || share >= LARGE_SHARE;
        let severity = if is_long { Severity::Problem } else { Severity::Warning };
        let caller = caller(now, calls, name).map_or_else(String::new, |by| format!(", called by {by}"));
        finding(calls, severity, (name, &caller), share, (known, at_least(now)))
    })
}

/// Returns the client with most of the slow calls, and the number of other clients.
fn caller(now: &RecentState, calls: &Calls, name: &str) -> Option<String> {
    let Some((client, _)) = calls.clients.iter().max_by_key(|(_, n)| **n) else {
        return callers::of_command(now, name, calls.n as f64 / WINDOW_S);
    };
    let client = callers::with_library(now, client);
    Some(match calls.clients.len() as u64 - 1 {
        0 => client,
        others => format!("{client} and {}", units::count_with_noun(others, "other client")),
    })
}

/// Returns the words before the number of calls. Some calls in the slow log are not counted, because they have no
/// events of their own.
fn at_least(now: &RecentState) -> &'static str {
    let is_more = |event: &EventKind| matches!(event, EventKind::MoreSlowCommands { .. });
    if now.events(WINDOW_S).any(is_more) { "at least " } else { "" }
}

/// Returns the finding about the slow calls of a command. `caller` is the end of a sentence, and names the client that
/// sends the command. `at_least` are the words before the number of calls.
fn finding(
    calls: &Calls,
    severity: Severity,
    (name, caller): (&str, &str),
    share: f64,
    (known, at_least): (Option<&CommandUse>, &str),
) -> Finding {
    let longest = units::latency(calls.longest_us.saturating_mul(1000));
    let takes = match share >= SHARE {
        true => format!("{name} takes {} of the main thread's time", units::percent(share)),
        false => format!("{name} blocked the server for {longest}"),
    };
    let mean = known.filter(|known| known.per_s > 0.0).map(|known| {
        let mean = units::latency((known.mean_us * 1e3) as u64);
        format!("{} calls, {mean} each", units::rate(known.per_s))
    });
    let entries = match calls.n {
        1 if at_least.is_empty() => format!("slow log: {} {longest}", calls.whole),
        n => format!("slow log: {at_least}{n} × {}, longest {longest}", calls.whole),
    };
    let finding = Finding::of(severity, takes.clone(), takes + caller);
    Finding { subject: name.to_owned(), explains: share, ..finding.with([Some(entries), mean], advice(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::{first, found},
        events::EventKind,
        gauge::Gauge,
        server::CommandStat,
    };

    fn slow(us: u64, command: &str) -> EventKind {
        let client = Some("10.0.0.7:51234".to_owned());
        EventKind::SlowCommand { us, command: command.to_owned(), client, arguments: Vec::new() }
    }

    #[test]
    fn the_command_with_its_share_and_its_caller_is_named() {
        let found = first(4, |second| {
            let keys = CommandStat { calls: 4, usec: 920_000, ..CommandStat::default() };
            second.status.command_stats.insert("keys".to_owned(), keys);
            second.status.gauges.set(Gauge::Cpu, Some(0.99));
            second.events = vec![slow(230_000, "KEYS user:*")];
        });
        assert_eq!(found.long, "KEYS takes 92 % of the main thread's time, called by 10.0.0.7:51234");
        assert_eq!(found.evidence, ["slow log: 4 × KEYS user:*, longest 230 ms", "4/s calls, 230 ms each"]);
        assert_eq!((found.rule, found.severity), ("slow command", Severity::Problem));
        assert!(found.next.contains("SCAN"));
    }

    #[test]
    fn a_save_that_blocks_the_server_has_an_alternative() {
        let found = first(4, |second| second.events = vec![slow(800_000, "SAVE")]);
        assert_eq!((found.subject.as_str(), found.next.as_str()), ("SAVE", "save in the background: BGSAVE"));
    }

    #[test]
    fn entries_without_events_make_the_number_of_calls_a_least_number() {
        let found = first(4, |second| {
            second.events = vec![slow(50_000, "DEBUG SLEEP"); 8];
            second.events.push(EventKind::MoreSlowCommands { entries: 8, unread: 0 });
            let debug = CommandStat { calls: 16, usec: 800_000, ..CommandStat::default() };
            second.status.command_stats.insert("debug".to_owned(), debug);
        });
        assert_eq!(found.evidence[0], "slow log: at least 32 × DEBUG SLEEP, longest 50.0 ms");
        assert!(!found.next.contains("fewer keys"), "DEBUG has no keys: {}", found.next);
    }

    #[test]
    fn each_of_two_slow_commands_is_named_and_neither_replaces_the_other() {
        let both = found(4, |second| second.events = vec![slow(230_000, "KEYS *"), slow(120_000, "SORT a")]);
        assert_eq!((both.len(), both[0].subject.as_str()), (1, "KEYS"));
        assert!(both[0].evidence[1].starts_with("slow log: 4 × SORT a"), "{:?}", both[0].evidence);
        // The command with the most time is fast, and the other is slow.
        let rare = first(4, |second| {
            second.events = vec![slow(9_000, "GET a"); 30];
            second.events.push(slow(150_000, "KEYS *"));
        });
        assert_eq!(rare.subject, "KEYS");
        let mut findings = crate::diagnose::Findings::default();
        let records = crate::diagnose::fixture::seconds(30, |second| match second.n {
            2 => second.events = vec![slow(230_000, "KEYS *")],
            18 => second.events = vec![slow(330_000, "SORT a")],
            _ => {}
        });
        let lines: Vec<_> = records.iter().flat_map(|record| findings.push(record)).collect();
        let names: Vec<_> =
            findings.episodes.iter().map(|episode| episode.finding.subject.as_str()).collect();
        assert_eq!(names, ["KEYS", "SORT"], "{lines:?}");
    }

    #[test]
    fn no_client_is_blamed_for_redynos_own_requests() {
        let list = |client: &str| EventKind::SlowCommand {
            us: 120_000,
            command: "CLIENT LIST".to_owned(),
            client: Some(client.to_owned()),
            arguments: Vec::new(),
        };
        let own = list("10.0.0.9:40 (redyno-control)");
        assert_eq!(found(4, |second| second.events = vec![own.clone(), own.clone()]), []);
        let both = first(4, |second| second.events = vec![own.clone(), list("10.0.0.7:51234 (app)")]);
        assert!(both.long.ends_with(", called by 10.0.0.7:51234 (app)"), "{}", both.long);
        assert!(both.evidence[0].starts_with("slow log: 4 × CLIENT LIST"), "{:?}", both.evidence);
    }

    #[test]
    fn a_call_seems_slow_while_the_server_has_no_core() {
        let one = |second: &mut crate::diagnose::fixture::Second, delay| {
            second.host.gauges.set(Gauge::ServerRunDelay, Some(delay));
            second.events = vec![slow(if second.n == 3 { 110_000 } else { 9_000 }, "GET a")];
        };
        let rules =
            |delay| found(4, |second| one(second, delay)).iter().map(|found| found.rule).collect::<Vec<_>>();
        assert_eq!(rules(0.0), ["slow command"]);
        assert_eq!(rules(0.5), ["core taken"]);
    }
}
