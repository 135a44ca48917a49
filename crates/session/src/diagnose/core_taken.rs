//! Finding: another process runs on the server's core. The server has requests to process, but waits until the kernel
//! gives it a core again.
//!
//! The evidence is the run delay of the server's busiest thread (`/proc/PID/task/TID/schedstat`). redyno has this
//! evidence only if the server runs on the same machine.

use super::{Finding, Severity, now::RecentState};
use crate::{
    gauge::{Gauge, Gauges},
    units,
};

/// The finding begins when the server's thread waits for a core for at least this share of the time. A thread with its
/// own core waits for less than 5 % of the time.
const WAITS: f64 = 0.10;
/// The finding is a problem when the server's thread waits for a core for at least this share of the time. Requests
/// then mostly wait.
const WAITS_LONG: f64 = 0.30;
/// If a busy process runs on the server's core, a wait of this share is enough for a finding. The share is of the time
/// in which the server has work. A mostly idle server never waits for 10 % of the whole time.
const WAITS_OF_WORK: f64 = 0.15;
/// The smallest share of the time for [`WAITS_OF_WORK`].
const LEAST: f64 = 0.03;
/// Another process is named as the cause only if it uses at least this share of a core.
const BUSY: f64 = 0.10;
/// A process that uses at least this share of a core leaves too little time of the core.
const VERY_BUSY: f64 = 0.50;
/// The advice if it is unknown which process runs on the server's core.
const TOP: &str = "top -H shows the threads on the server's core";

/// Returns the share of the time in which the server's thread waits for a core. Time in which the CPU limit of a cgroup
/// stops the thread is included. The finding "cpu limit" reports this part.
fn waiting(gauges: &Gauges) -> Option<f64> {
    gauges
        .get(Gauge::ServerRunDelay)
        .map(|share| share - gauges.get(Gauge::ServerThrottled).unwrap_or_default())
}

/// Returns the server thread's wait for a core as a share of the time in which the server has work. Returns 0 if the
/// server has no work.
fn waiting_of_work(gauges: &Gauges) -> Option<f64> {
    let share = waiting(gauges)?;
    let work = share + gauges.get(Gauge::ServerCpu).unwrap_or(1.0);
    Some(if work > 0.0 { share / work } else { 0.0 })
}

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let share = now.steady_of(Gauge::ServerRunDelay, stands, waiting).filter(|share| *share >= LEAST)?;
    let severity = if share >= WAITS_LONG { Severity::Problem } else { Severity::Warning };
    let sample = now.host()?;
    let core = sample.server.as_ref().and_then(|server| server.core);
    let busy = || sample.busy.iter().filter(|process| process.cpu >= BUSY);
    let cores = sample
        .gauges
        .get(Gauge::HostCpu)
        .map(|used| format!("all cores together are {} busy", units::percent(used)));
    let evidence = [now.pings.slowed(), cores];
    let on_it = busy().find(|process| process.core.is_some() && process.core == core);
    let of_work = now.steady_of(Gauge::ServerRunDelay, stands, waiting_of_work).unwrap_or_default();
    let waits = if share >= WAITS {
        format!("the server waits {} of the time for a core", units::percent(share))
    } else if of_work >= WAITS_OF_WORK && on_it.is_some_and(|other| other.cpu >= VERY_BUSY) {
        format!("while the server has work, it waits {} of the time for a core", units::percent(of_work))
    } else {
        return None;
    };
    if let Some(other) = on_it.or_else(|| busy().next()) {
        let is = match on_it {
            Some(_) => "runs on the same core",
            None if other.pid == 0 => "is the busiest",
            None => "is the busiest other process",
        };
        let of_server = sample.server.as_ref().is_some_and(|server| server.name == other.name);
        let is_child = of_server && sample.gauges.get(Gauge::ServerChildCpu).is_some_and(|cpu| cpu >= BUSY);
        let (name, pid, next) = match other.pid {
            // Redacted records contain neither the number nor the name.
            0 => ("another process", String::new(), TOP.to_owned()),
            pid => {
                let (name, next) = match is_child {
                    true => {
                        ("its own forked child", "write snapshots at quiet hours or on a replica".to_owned())
                    }
                    false => {
                        let next = format!(
                            "move this process to another machine, or to another core (taskset -pc CORE {pid})"
                        );
                        (other.name.as_str(), next)
                    }
                };
                (name, format!(" (pid {pid})"), next)
            }
        };
        let used = format!("{name} uses {} of a core", units::percent(other.cpu));
        let long = format!("{waits}; {name}{pid} {is}");
        let finding = Finding::of(severity, waits, long);
        let finding = finding.with([Some(used)].into_iter().chain(evidence), &next);
        return Some(Finding { explains: share, ..finding });
    }
    let is_ours = now.is_loaded();
    let (who, next) = match is_ours {
        true => (
            "; redyno's own load keeps the cores busy",
            "give redyno its own cores, or run redyno on another machine",
        ),
        false => ("", TOP),
    };
    let finding = Finding::of(severity, waits.clone(), waits + who).with(evidence, next);
    Some(Finding { is_ours, explains: share, ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{
            Episode, Findings,
            fixture::{first, found, seconds},
        },
        events::EventKind,
        host::Process,
        session::{Event, Record},
    };

    #[test]
    fn a_cpu_limit_of_the_server_is_no_taken_core() {
        let found = first(6, |second| {
            second.host.gauges.set(Gauge::ServerRunDelay, Some(0.5));
            second.host.gauges.set(Gauge::ServerThrottled, Some(0.45));
            second.host.busy = vec![Process { pid: 70, cpu: 0.9, ..Process::default() }];
        });
        assert_eq!((found.rule, found.severity), ("cpu limit", Severity::Problem));
        assert_eq!(found.long, "the CPU limit of the server's cgroup throttles the server");
    }

    #[test]
    fn a_server_with_little_work_waits_for_a_busy_process_on_its_core() {
        let waits = |core| {
            let found = found(6, |second| {
                second.host.gauges.set(Gauge::ServerRunDelay, Some(0.06));
                second.host.gauges.set(Gauge::ServerCpu, Some(0.09));
                let process = |pid, cpu, core| Process { pid, cpu, core: Some(core), ..Process::default() };
                second.host.server = Some(process(7, 0.09, 3));
                second.host.busy = vec![Process { name: "sh".to_owned(), ..process(70, 0.84, core) }];
            });
            found.into_iter().find(|finding| finding.rule == "core taken").map(|finding| finding.long)
        };
        let expected = "while the server has work, it waits 40 % of the time for a core; sh (pid 70) runs on the same core";
        assert_eq!(waits(3).as_deref(), Some(expected));
        assert_eq!(waits(1), None, "the process runs on another core");
    }

    #[test]
    fn the_delay_of_one_second_is_not_compared_with_the_cpu_time_of_another() {
        let found = first(8, |second| {
            // A signal stops the server in the last second.
            let (delay, cpu) = if second.n == 7 { (0.0, 0.0) } else { (0.06, 0.09) };
            second.host.gauges.set(Gauge::ServerRunDelay, Some(delay));
            second.host.gauges.set(Gauge::ServerCpu, Some(cpu));
            let process = |pid, cpu| Process { pid, cpu, core: Some(3), ..Process::default() };
            second.host.server = Some(process(7, 0.09));
            second.host.busy = vec![process(70, 0.84)];
        });
        assert!(
            found.long.starts_with("while the server has work, it waits 40 % of the time for a core"),
            "{}",
            found.long
        );
    }

    #[test]
    fn a_child_that_saves_on_the_servers_core_is_named_as_the_servers_own() {
        let process = |pid| Process { pid, name: "redis-server".to_owned(), cpu: 0.4, ..Process::default() };
        let named = |child_cpu| {
            let found = first(6, |second| {
                second.host.gauges.set(Gauge::ServerRunDelay, Some(0.5));
                second.host.gauges.set(Gauge::ServerChildCpu, Some(child_cpu));
                second.host.server = Some(process(7));
                second.host.busy = vec![process(70)];
            });
            (found.long, found.next)
        };
        let (long, next) = named(0.4);
        assert!(long.contains("; its own forked child (pid 70) is"), "{long}");
        assert_eq!(next, "write snapshots at quiet hours or on a replica");
        assert!(
            named(0.0).0.contains("; redis-server (pid 70) is"),
            "the process is another server, not a child"
        );
    }

    #[test]
    fn a_finding_of_two_recordings_has_an_episode_in_each_of_them() {
        let records = seconds(40, |second| second.host.gauges.set(Gauge::ServerRunDelay, Some(0.5)));
        let mut findings = Findings::default();
        // Nothing is recorded from 10 s to 30 s.
        let is_recorded = |record: &&Record| !record.t_s().is_some_and(|t_s| (10.01..30.0).contains(&t_s));
        for record in records.iter().filter(is_recorded) {
            if record.t_s().is_some_and(|t_s| t_s >= 30.0)
                && findings.now().iter().any(|it| it.since_s < 30.0)
            {
                let gap = EventKind::NotRecorded { length_s: 20.0 };
                findings.push(&Record::Event(Event::new(30.0, gap)));
            }
            findings.push(record);
        }
        let each = |it: &Episode| (it.times, it.until_s < 11.0, it.since_s > 29.0, it.stands);
        let each: Vec<_> = findings.episodes.iter().map(each).collect();
        assert_eq!(each, [(1, true, false, false), (1, false, true, true)]);
    }

    #[test]
    fn a_redacted_process_is_another_process_and_no_child() {
        let found = first(6, |second| {
            second.host.gauges.set(Gauge::ServerRunDelay, Some(0.5));
            second.host.gauges.set(Gauge::ServerChildCpu, Some(0.4));
            let process = |cpu| Process { cpu, name: "x".to_owned(), core: Some(3), ..Process::default() };
            (second.host.server, second.host.busy) = (Some(process(0.1)), vec![process(0.4)]);
        });
        assert!(found.long.ends_with("for a core; another process runs on the same core"), "{}", found.long);
        assert_eq!(found.next, TOP);
    }

    #[test]
    fn the_process_on_the_servers_core_is_named() {
        let busy = |pid, core| Process {
            pid,
            name: "ffmpeg".to_owned(),
            cpu: 0.97,
            core: Some(core),
            ..Process::default()
        };
        let found = first(6, |second| {
            second.host.gauges.set(Gauge::ServerRunDelay, Some(0.61));
            second.host.busy = vec![busy(77, 1), busy(4211, 3)];
        });
        assert_eq!(
            found.long,
            "the server waits 61 % of the time for a core; ffmpeg (pid 4211) runs on the same core"
        );
        assert_eq!((found.rule, found.severity), ("core taken", Severity::Problem));
        assert_eq!(
            found.next,
            "move this process to another machine, or to another core (taskset -pc CORE 4211)"
        );
        let elsewhere = first(6, |second| {
            second.host.gauges.set(Gauge::ServerRunDelay, Some(0.2));
            second.host.busy = vec![busy(77, 1)];
        });
        assert!(elsewhere.long.ends_with("ffmpeg (pid 77) is the busiest other process"));
        assert_eq!(elsewhere.severity, Severity::Warning);
    }
}
