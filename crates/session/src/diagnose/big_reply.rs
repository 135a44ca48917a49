//! Finding: clients read large replies, so the server mostly copies bytes. The key is in the slow log if a call was slow.

use super::{
    Finding, Severity,
    cpu_bound::{by_time, in_commands},
    now::Now,
    slow_calls::longest,
};
use crate::{gauge::Gauge, units};

/// The smallest mean reply, in bytes: writing it takes longer than any short command.
const LARGE: f64 = 65_536.0;
/// The smallest rate, in bytes per second, that others notice: as much as a network of 1 Gbit/s has.
const MUCH: f64 = 100e6;

/// Returns the finding at present.
pub(super) fn look(now: &Now, stands: bool) -> Option<Finding> {
    let per_s = now.steady(Gauge::BytesOut, stands).filter(|per_s| *per_s >= MUCH)?;
    let mean = now.gauge(Gauge::OpsPerS).map(|ops| per_s / ops.max(1.0)).filter(|mean| *mean >= LARGE)?;
    if now.is_loaded() {
        return None;
    }
    let outside = now.gauge(Gauge::Cpu).map(|cpu| (cpu - in_commands(now).unwrap_or_default()).max(0.0));
    let time = outside
        .map(|share| format!("{} of the main thread's time is outside of commands", units::percent(share)));
    let short = format!("replies of {} on average", units::bytes(mean as u64));
    let long = format!("clients read large keys: {short}, {}/s in all", units::bytes(per_s as u64));
    let next = "redis-cli --bigkeys finds the keys; read parts (GETRANGE, HMGET, LRANGE), split or compress the value";
    let finding = Finding::of(Severity::Warning, short, long);
    let finding = finding.with([longest(now, None), by_time(now), time, now.pings.slowed()], next);
    Some(Finding { explains: outside.unwrap_or_default(), ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnose::fixture::found, events::EventKind};

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
        assert_eq!(found.long, "clients read large keys: replies of 2.86 MiB on average, 1.12 GiB/s in all");
        assert_eq!(found.evidence[0], "slow log: GET page:1 11.0 ms from 10.0.0.7:5");
        assert!(read(20e6).iter().all(|found| found.rule != "big reply"));
    }
}
