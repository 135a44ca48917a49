//! Finding: clients read large replies, so the server mostly copies bytes. If a command was slow, the slow
//! log contains its key.

use super::{
    Finding, Severity, callers,
    cpu_bound::{by_time, in_commands},
    now::RecentState,
    slow_calls::{WINDOW_S, longest, who_sends},
};
use crate::{
    events::EventKind,
    gauge::{Gauge, Gauges},
    units,
};

/// The smallest mean reply size for a finding, in bytes. Writing such a reply takes longer than running a
/// short command.
pub(super) const LARGE_REPLY: f64 = 65_536.0;
/// The smallest output rate that is reported, in bytes per second. A 1 Gbit/s network transmits about this much.
const MUCH: f64 = 100e6;

/// The advice on the screen if single keys are large.
const FIND_AT_SCREEN: &str = "press d to find the largest keys; read only parts of a key (GETRANGE, HMGET, LRANGE), or split or compress its value";

/// If the mean request has at least this number of bytes, redyno assumes that each request names hundreds of keys.
const MANY_KEYS: f64 = 4096.0;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let per_s = now.steady(Gauge::BytesOut, stands).filter(|per_s| *per_s >= MUCH)?;
    let mean = |gauges: &Gauges| Some(gauges.get(Gauge::BytesOut)? / gauges.get(Gauge::OpsPerS)?.max(1.0));
    let mean = now.steady_of(Gauge::BytesOut, stands, mean).filter(|mean| *mean >= LARGE_REPLY)?;
    if now.is_loaded() {
        return None;
    }
    let outside = now.gauge(Gauge::Cpu).map(|cpu| (cpu - in_commands(now).unwrap_or_default()).max(0.0));
    let time = outside.map(|share| {
        format!("the main thread spends {} of its time on work other than commands", units::percent(share))
    });
    let replies = format!("replies of {} on average", units::bytes(mean as u64));
    let sum = units::bytes(per_s as u64);
    let request =
        now.gauge(Gauge::BytesIn).zip(now.gauge(Gauge::OpsPerS)).map(|(bytes, ops)| bytes / ops.max(1.0));
    let many = request.filter(|bytes| *bytes >= MANY_KEYS).zip(now.commands().into_iter().next());
    let caller = callers::of_replies(now).or_else(|| callers::with_output(now, LARGE_REPLY));
    let by = caller.as_ref().map_or_else(String::new, |caller| format!(", most of it to {caller}"));
    let words = now.dialect().words();
    let find_keys = format!("{}; {}", words.large_keys, words.smaller_replies);
    let (short, more, next) = match &many {
        Some((bytes, command)) => {
            let who = (caller.is_none() && now.dialect().lists_keys()).then(|| who_sends(&command.name));
            let next = who.into_iter().chain(["request fewer keys at a time".to_owned()]);
            (
                format!("{} requests many keys at once: {replies}", command.name),
                format!(" to requests of {}", units::bytes(*bytes as u64)),
                next.collect::<Vec<_>>().join("; "),
            )
        }
        None => (format!("clients read large keys: {replies}"), String::new(), find_keys),
    };
    let long = format!("{short}{more}, {sum}/s in total{by}");
    let finding = Finding::of(Severity::Warning, short, long);
    let finding =
        finding.with([largest(now), longest(now, None), by_time(now), time, now.pings.slowed()], &next);
    let next_at_screen = (many.is_none() && now.dialect().lists_keys()).then_some(FIND_AT_SCREEN);
    Some(Finding { explains: outside.unwrap_or_default(), next_at_screen, ..finding })
}

/// Returns the largest reply in the server's log of large replies (COMMANDLOG) in the last seconds.
fn largest(now: &RecentState) -> Option<String> {
    let replies = now.events(WINDOW_S).filter_map(|event| match event {
        EventKind::LargeCommand { bytes, part, command, client, .. } if part == "reply" => {
            Some((bytes, command, client))
        }
        _ => None,
    });
    let (bytes, command, client) = replies.max_by_key(|(bytes, ..)| **bytes)?;
    let client = client.as_ref().map_or_else(String::new, |client| format!(" to {client}"));
    Some(format!("largest reply: {} for {command}{client}", units::bytes(*bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnose::fixture::found, events::EventKind, server::CommandStat};

    #[test]
    fn a_big_key_is_named_by_the_slow_log() {
        let read = |bytes: f64| {
            found(5, move |second| {
                second.status.gauges.set(Gauge::BytesOut, Some(bytes));
                second.status.gauges.set(Gauge::OpsPerS, Some(400.0));
                let (command, client) = ("GET page:1".to_owned(), Some("10.0.0.7:5".to_owned()));
                second.events =
                    vec![EventKind::SlowCommand { us: 11_000, command, client, arguments: Vec::new() }];
            })
        };
        let found = &read(1.2e9)[0];
        assert_eq!(found.rule, "big reply");
        assert_eq!(
            found.long,
            "clients read large keys: replies of 2.86 MiB on average, 1.12 GiB/s in total"
        );
        assert!(found.sentence(500, true).contains("; press d to find the largest keys; read only parts"));
        assert_eq!(found.evidence[0], "slow log: GET page:1 11.0 ms from 10.0.0.7:5");
        assert!(read(20e6).iter().all(|found| found.rule != "big reply"));
    }

    #[test]
    fn the_bytes_of_one_second_are_not_divided_by_the_calls_of_another() {
        let found = found(6, |second| {
            let (bytes, calls) = if second.n == 5 { (0.0, 0.0) } else { (1.2e9, 400.0) };
            second.status.gauges.set(Gauge::BytesOut, Some(bytes));
            second.status.gauges.set(Gauge::OpsPerS, Some(calls));
        });
        assert!(found[0].short.ends_with("replies of 2.86 MiB on average"), "{}", found[0].short);
    }

    #[test]
    fn large_replies_to_large_requests_are_due_to_many_keys() {
        let found = found(5, |second| {
            second.status.gauges.set(Gauge::BytesOut, Some(211e6));
            second.status.gauges.set(Gauge::BytesIn, Some(70e6));
            second.status.gauges.set(Gauge::OpsPerS, Some(1900.0));
            let mget = CommandStat { calls: 1900, usec: 260_000, ..CommandStat::default() };
            second.status.command_stats.insert("mget".to_owned(), mget);
        });
        assert_eq!(
            found[0].long,
            "MGET requests many keys at once: replies of 108 KiB on average to requests of 36.0 KiB, 201 MiB/s in total"
        );
        assert_eq!(found[0].short, "MGET requests many keys at once: replies of 108 KiB on average");
        assert!(found[0].next.contains("(cmd=mget)"), "{}", found[0].next);
    }
}
