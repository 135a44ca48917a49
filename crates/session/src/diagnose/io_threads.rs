//! Finding: the I/O threads of the server have no time left. These threads read requests and write replies.
//!
//! Most I/O threads wait for work in a busy loop, so they always use a whole core. Their CPU time then does not show
//! whether they have time left. Valkey reports the working time of its I/O threads from version 9.1 on. In Redis from
//! version 8.0 on, I/O threads without work sleep, so their CPU time is their working time.

use super::{Finding, Severity, now::RecentState};
use crate::{gauge::Gauge, units};

/// The finding begins when the I/O threads use at least this share of their cores.
const FULL: f64 = 0.95;
/// The finding ends when the I/O threads use less than this share of their cores.
const FREE: f64 = 0.85;
/// The first version of Redis whose I/O threads sleep while they have no work.
const SLEEPING: u32 = 8;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let status = now.status()?;
    // The number in the configuration includes the main thread.
    let threads = status.config.get("io-threads")?.parse::<u32>().ok()?.checked_sub(1).filter(|n| *n > 0)?;
    let sleeps = || {
        let version = status.version.split('.').next()?.parse::<u32>().ok()?;
        (status.name == "redis" && version >= SLEEPING).then_some(())
    };
    let at_work = now.steady(Gauge::IoBusy, stands).map(|cores| cores / f64::from(threads));
    let share = at_work.or_else(|| sleeps().and_then(|()| now.steady(Gauge::ServerIoCpu, stands)));
    let share = share.filter(|share| *share >= if stands { FREE } else { FULL })?;
    // A load without a rate uses all capacity on purpose.
    let severity = if now.is_loaded() { Severity::Note } else { Severity::Warning };
    let have = units::count_with_noun(threads.into(), "I/O thread");
    let have =
        if threads == 1 { format!("the server's {have} has") } else { format!("the server's {have} have") };
    let long = format!("{have} no idle time: each thread uses {} of a core", units::percent(share));
    let main = now.gauge(Gauge::Cpu).map(|cpu| format!("server CPU {}", units::percent(cpu)));
    let bytes = now.gauge(Gauge::BytesOut).map(|bytes| format!("replies {}/s", units::bytes(bytes as u64)));
    let next = "raise io-threads in the server's configuration, if its machine has free cores; larger pipelines and \
                smaller replies need less reading and writing";
    let finding = Finding::of(severity, format!("I/O threads {}", units::percent(share)), long);
    Some(Finding { is_symptom: true, ..finding.with([main, bytes, now.pings.slowed()], next) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::{Second, found};

    fn config(second: &mut Second, threads: &str, name: &str, version: &str) {
        second.status.config = std::sync::Arc::new([("io-threads".to_owned(), threads.to_owned())].into());
        (second.status.name, second.status.version) = (name.to_owned(), version.to_owned());
    }

    #[test]
    fn threads_without_time_are_found_by_their_time_at_work_or_by_their_cpu() {
        let of_valkey = |cores| {
            found(6, move |second| {
                config(second, "3", "valkey", "9.1.0");
                second.status.gauges.set(Gauge::IoBusy, Some(cores));
                second.host.gauges.set(Gauge::ServerIoCpu, Some(1.0));
            })
        };
        let found_one = &of_valkey(1.96)[0];
        assert_eq!((found_one.rule, found_one.severity), ("io threads", Severity::Warning));
        assert_eq!(
            found_one.long,
            "the server's 2 I/O threads have no idle time: each thread uses 98 % of a core"
        );
        assert_eq!(found_one.evidence[0], "server CPU 8.0 %");
        assert_eq!(of_valkey(0.9), [], "they wait in a busy loop");
        let of_cpu = |name: &'static str, version: &'static str| {
            let found = found(6, move |second| {
                config(second, "2", name, version);
                second.host.gauges.set(Gauge::ServerIoCpu, Some(0.99));
            });
            found.into_iter().map(|found| found.long).collect::<Vec<_>>()
        };
        assert_eq!(
            of_cpu("redis", "8.2.1"),
            ["the server's 1 I/O thread has no idle time: each thread uses 99 % of a core"]
        );
        assert_eq!((of_cpu("redis", "7.0.15"), of_cpu("valkey", "8.1.0")), (vec![], vec![]));
    }
}
