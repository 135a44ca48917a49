//! Reads the threads of a server on this machine, and its forked child, from `/proc/PID`.

use std::collections::HashMap;

use super::{
    Process,
    processes::{MOST_THREADS, Stat},
    sample_builder::SampleBuilder,
    tree::{Tree, number},
};
use crate::{gauge::Gauge, untrusted};

/// The beginning of the names of I/O threads, in Redis and in Valkey.
const IO_THREAD: &str = "io_thd_";

/// The last readings of a process.
#[derive(Debug, Default)]
pub(super) struct Threads {
    before: HashMap<u32, ThreadTimes>,
    /// The CPU time of each child of the process, in seconds.
    children_s: HashMap<u32, f64>,
}

/// The counters of a thread since it began. Times are in seconds.
#[derive(Debug, Clone, Copy)]
struct ThreadTimes {
    cpu_s: f64,
    /// How long the thread was ready to run while no core was free.
    delay_s: Option<f64>,
    /// The number of times that the thread lost its core to another thread.
    preempted: Option<f64>,
    /// The number of times that the thread got a core.
    turns: Option<f64>,
    state: char,
    core: Option<u32>,
    is_io: bool,
}

impl ThreadTimes {
    fn read(tree: &Tree, pid: u32, tid: u32, has_delays: bool) -> Option<Self> {
        let folder = format!("proc/{pid}/task/{tid}");
        let text = tree.read(&format!("{folder}/stat")).ok()?;
        let stat = Stat::parse(&text)?;
        let status = tree.read(&format!("{folder}/status")).unwrap_or_default();
        let ran =
            if has_delays { SchedStat::of(&tree.read(&format!("{folder}/schedstat")).ok()?) } else { None };
        Some(Self {
            cpu_s: ran.as_ref().map_or(stat.cpu_s, |ran| ran.cpu_s),
            delay_s: ran.as_ref().map(|ran| ran.delay_s),
            turns: ran.map(|ran| ran.turns),
            state: stat.state,
            preempted: number(&status, "nonvoluntary_ctxt_switches"),
            core: stat.core,
            is_io: stat.name.starts_with(IO_THREAD),
        })
    }

    /// Returns the increase since `before`, which was read `passed_s` seconds earlier.
    ///
    /// The kernel counts a wait for a core only when the wait ends. If a thread is ready at both readings and got no
    /// core between them, the thread has waited all the time. The thread would have needed a core to fall asleep.
    fn since(self, before: Self, passed_s: f64) -> Self {
        let added = |now: f64, then: f64| (now - then).max(0.0);
        let cpu_s = added(self.cpu_s, before.cpu_s);
        let is_ready = self.state == 'R' && before.state == 'R';
        // For a thread that runs all the time, the number of turns does not change either.
        let waits = is_ready && self.turns.is_some() && self.turns == before.turns && cpu_s < passed_s / 2.0;
        let delay_s = self.delay_s.zip(before.delay_s).map(|(now, then)| added(now, then));
        Self {
            cpu_s,
            delay_s: delay_s.map(|s| if waits { s.max(passed_s - cpu_s) } else { s }),
            preempted: self.preempted.zip(before.preempted).map(|(now, then)| added(now, then)),
            ..self
        }
    }

    /// Returns how long the thread ran or was ready to run, in seconds.
    fn wanted_s(self) -> f64 {
        self.cpu_s + self.delay_s.unwrap_or(0.0)
    }
}

/// The content of a `schedstat` file.
struct SchedStat {
    cpu_s: f64,
    delay_s: f64,
    turns: f64,
}

impl SchedStat {
    /// Parses the three numbers of the file: the time on a core in ns, the time in the run queue in ns, and the number
    /// of times on a core.
    fn of(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map_while(|number| number.parse::<f64>().ok());
        let mut next = || numbers.next();
        Some(Self { cpu_s: next()? / 1e9, delay_s: next()? / 1e9, turns: next()? })
    }

    /// Returns whether the kernel keeps these figures. Every main thread has run. Zeros therefore mean that the kernel
    /// does not keep the figures.
    fn is_kept(&self) -> bool {
        self.cpu_s + self.delay_s > 0.0
    }
}

impl Threads {
    /// Reads process `pid`.
    pub(super) fn read(&mut self, pid: u32, draft: &mut SampleBuilder, tree: &Tree) {
        let text = tree.read(&format!("proc/{pid}/stat"));
        let Some(text) = draft.known("server", text) else { return };
        let Some(stat) = Stat::parse(&text) else { return };
        draft.rate(Gauge::ServerFaults, Some(stat.major_faults));
        let main = tree.read(&format!("proc/{pid}/task/{pid}/schedstat"));
        let has_delays = match main {
            Ok(text) if SchedStat::of(&text).is_some_and(|ran| ran.is_kept()) => true,
            Ok(_) => {
                draft
                    .add_missing("run delay", "the kernel keeps no scheduler statistics (schedstat is zero)");
                false
            }
            Err(why) => {
                draft.add_missing("run delay", why);
                false
            }
        };
        let tids = tree.numbers(&format!("proc/{pid}/task"));
        let tids = draft.known("threads", tids).unwrap_or_default();
        let times = |tid: &u32| Some((*tid, ThreadTimes::read(tree, pid, *tid, has_delays)?));
        let now: HashMap<u32, ThreadTimes> = tids.iter().take(MOST_THREADS).filter_map(times).collect();
        let passed_s = draft.sample.sample_s.unwrap_or(0.0);
        let added = now.iter().filter_map(|(tid, now)| Some(now.since(*self.before.get(tid)?, passed_s)));
        let added: Vec<ThreadTimes> = added.collect();
        let busiest = added.iter().copied().max_by(|a, b| a.wanted_s().total_cmp(&b.wanted_s()));
        let mut cpu = 0.0;
        if let Some(busiest) = busiest.filter(|_| passed_s > 0.0) {
            // redyno's clock and the kernel's figures are not read at the same moment.
            let share = |s: f64| (s / passed_s).min(1.0);
            draft.level(Gauge::ServerCpu, Some(share(busiest.cpu_s)));
            let io: Vec<_> = added.iter().filter(|times| times.is_io).map(|times| times.cpu_s).collect();
            let io_share = share(io.iter().sum::<f64>() / io.len().max(1) as f64);
            draft.level(Gauge::ServerIoCpu, Some(io_share).filter(|_| !io.is_empty()));
            draft.level(Gauge::ServerRunDelay, busiest.delay_s.map(share));
            draft.level(Gauge::ServerPreempted, busiest.preempted.map(|n| n / passed_s));
            cpu = added.iter().map(|times| times.cpu_s).sum::<f64>() / passed_s;
        }
        self.before = now;
        let core = busiest.map_or(stat.core, |busiest| busiest.core);
        let name = untrusted::text(stat.name);
        draft.sample.server = Some(Process { pid, name, cpu, core, state: Some(stat.state) });
        self.read_children(pid, draft, tree);
    }

    /// Reads the child processes that the server's main thread forked for a snapshot or for a rewrite of the
    /// append-only file.
    fn read_children(&mut self, pid: u32, draft: &mut SampleBuilder, tree: &Tree) {
        let text = tree.read(&format!("proc/{pid}/task/{pid}/children"));
        let Some(text) = draft.known("forked child", text) else { return };
        let child = |pid: u32| {
            let text = tree.read(&format!("proc/{pid}/stat")).ok()?;
            Stat::parse(&text).map(|stat| (pid, stat.cpu_s))
        };
        let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok());
        let now: HashMap<u32, f64> = pids.filter_map(child).collect();
        // All CPU time of a new child counts, because it began after the previous reading.
        let added = now.iter().map(|(pid, s)| s - self.children_s.get(pid).unwrap_or(&0.0)).sum::<f64>();
        let is_first = draft.sample.gauges.get(Gauge::ServerCpu).is_none();
        let passed_s = draft.sample.sample_s.filter(|_| !is_first);
        draft.level(Gauge::ServerChildCpu, passed_s.map(|passed_s| added.max(0.0) / passed_s));
        self.children_s = now;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use crate::host::HostSample;

    /// Writes a thread of process 7 with these seconds on a core and in the run queue.
    fn thread(fixture: &Fixture, tid: u32, [cpu_s, delay_s]: [f64; 2], preempted: u32) {
        let ticks = (cpu_s * rustix::param::clock_ticks_per_second() as f64) as u64;
        let stat = format!(
            "{tid} (redis-server) R 1 1 1 0 -1 0 5 6 {preempted} 8 {ticks} 0 0 0 20 0 1 0 77{} {tid} 0 0\n",
            " 0".repeat(16)
        );
        let schedstat = format!("{} {} {ticks}\n", cpu_s * 1e9, delay_s * 1e9);
        let status =
            format!("Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t{preempted}\n");
        for (name, text) in [("stat", &stat), ("schedstat", &schedstat), ("status", &status)] {
            fixture.write(&[(&format!("proc/7/task/{tid}/{name}"), text)]);
        }
        if tid == 7 {
            fixture.write(&[("proc/7/stat", &stat)]);
        }
    }

    fn second(fixture: &Fixture, change: impl Fn()) -> HostSample {
        let mut threads = Threads::default();
        let mut turns = 0;
        fixture.second(&[], |draft, tree| {
            if turns > 0 {
                change();
            }
            turns += 1;
            threads.read(7, draft, tree);
        })
    }

    #[test]
    fn the_waits_of_a_server_for_a_core_are_those_of_its_busiest_thread() {
        let fixture = Fixture::new(&[("proc/7/task/7/children", "")]);
        thread(&fixture, 7, [10.0, 5.0], 100);
        thread(&fixture, 8, [90.0, 5.0], 7);
        let sample = second(&fixture, || {
            thread(&fixture, 7, [10.25, 5.625], 130);
            thread(&fixture, 8, [90.5, 5.0], 7);
        });
        let gauges = [
            Gauge::ServerCpu,
            Gauge::ServerRunDelay,
            Gauge::ServerPreempted,
            Gauge::ServerFaults,
            Gauge::ServerChildCpu,
        ];
        assert_eq!(gauges.map(|gauge| sample.gauges.get(gauge)), [0.25, 0.625, 30.0, 30.0, 0.0].map(Some));
        let server = sample.server.unwrap();
        assert_eq!((server.pid, server.name.as_str(), server.cpu), (7, "redis-server", 0.75));
        assert_eq!((server.core, server.state), (Some(7), Some('R')));
    }

    #[test]
    fn io_threads_are_known_by_their_names() {
        let fixture = Fixture::new(&[("proc/7/task/7/children", "")]);
        let turn = |n: f64| {
            for (tid, cpu_s) in [(7, n), (8, n / 2.0), (9, n / 4.0)] {
                thread(&fixture, tid, [cpu_s, 0.0], 0);
                let stat = fixture.tree().read(&format!("proc/7/task/{tid}/stat")).unwrap();
                let named = stat.replace("redis-server", if tid == 7 { "redis-server" } else { "io_thd_1" });
                fixture.write(&[(&format!("proc/7/task/{tid}/stat"), &named)]);
            }
        };
        turn(8.0);
        let sample = second(&fixture, || turn(9.0));
        assert_eq!(
            [Gauge::ServerCpu, Gauge::ServerIoCpu].map(|gauge| sample.gauges.get(gauge)),
            [1.0, 0.375].map(Some)
        );
        let alone = second(&Fixture::new(&[]), || {});
        assert_eq!(alone.gauges.get(Gauge::ServerIoCpu), None);
    }

    #[test]
    fn a_wait_for_a_core_counts_before_the_kernel_has_added_it() {
        let fixture = Fixture::new(&[]);
        thread(&fixture, 7, [10.0, 5.0], 100);
        assert_eq!(second(&fixture, || {}).gauges.get(Gauge::ServerRunDelay), Some(1.0));
        // For a thread that runs all the time, the number of turns does not change either.
        let runs = || {
            thread(&fixture, 7, [11.0, 5.0], 100);
            fixture.write(&[("proc/7/task/7/schedstat", "11000000000 5000000000 1000\n")]);
        };
        fixture.write(&[("proc/7/task/7/schedstat", "10000000000 5000000000 1000\n")]);
        assert_eq!(second(&fixture, runs).gauges.get(Gauge::ServerRunDelay), Some(0.0));
        let sleeps = fixture.tree().read("proc/7/task/7/stat").unwrap().replace(") R", ") S");
        let asleep = || fixture.write(&[("proc/7/task/7/stat", &sleeps)]);
        assert_eq!(second(&fixture, asleep).gauges.get(Gauge::ServerRunDelay), Some(0.0));
    }

    #[test]
    fn scheduler_statistics_of_zero_are_unavailable() {
        let fixture = Fixture::new(&[]);
        let turn = |ticks_s: f64| {
            thread(&fixture, 7, [ticks_s, 0.0], 0);
            fixture.write(&[("proc/7/task/7/schedstat", "0 0 0\n")]);
        };
        turn(1.0);
        let sample = second(&fixture, || turn(1.5));
        assert_eq!(sample.gauges.get(Gauge::ServerRunDelay), None);
        assert_eq!(sample.gauges.get(Gauge::ServerCpu), Some(0.5));
        let why = "the kernel keeps no scheduler statistics (schedstat is zero)";
        assert_eq!(sample.missing["run delay"], why);
        assert_eq!(sample.missing["forked child"], "this system has no /proc/7/task/7/children");
    }

    #[test]
    fn a_forked_child_is_counted_from_its_beginning() {
        let fixture = Fixture::new(&[("proc/7/task/7/children", "")]);
        thread(&fixture, 7, [1.0, 0.0], 0);
        let sample = second(&fixture, || {
            let ticks = rustix::param::clock_ticks_per_second() / 2;
            let stat = format!("70 (redis-rdb-bgsave) R 7 1 1 0 -1 0 5 6 0 8 {ticks} 0 0 0 20 0 1 0 77\n");
            fixture.write(&[("proc/7/task/7/children", "70 "), ("proc/70/stat", &stat)]);
        });
        assert_eq!(sample.gauges.get(Gauge::ServerChildCpu), Some(0.5));
    }

    #[test]
    fn for_a_process_that_ended_there_is_a_reason() {
        let sample = second(&Fixture::new(&[]), || {});
        assert_eq!(sample.server, None);
        assert_eq!(sample.missing["server"], "this system has no /proc/7/stat");
    }
}
