//! Lists the processes that use this machine's cores: the names and the CPU use of all visible processes.
//! redyno never reads the arguments or the environment of a process.

use std::{collections::HashMap, fs};

use super::{HostSample, Process, pace::ReadingSchedule, sample_builder::SampleBuilder, tree::Tree};
use crate::{
    clock::{SECOND_NS, seconds},
    untrusted,
};

/// How often redyno reads the processes: every 2 s.
const EVERY_NS: u64 = 2 * SECOND_NS;
/// The largest number of processes in one reading. Reading a process takes about 10 µs. The next readings cover further
/// processes.
const MOST: usize = 2000;
/// The largest number of processes in a sample.
const MOST_BUSY: usize = 6;
/// The lowest CPU use of a process in a sample, in cores. A process with a lower CPU use does not matter.
const LEAST_CPU: f64 = 0.05;
/// The largest number of threads of one process that are read.
pub(super) const MOST_THREADS: usize = 64;

/// The figures of a `stat` file, of a process or of a thread.
#[derive(Debug, PartialEq)]
pub(super) struct Stat<'a> {
    /// The name, without arguments. The kernel cuts the name after 15 bytes.
    pub(super) name: &'a str,
    /// The state of the process, such as `R` (runs or waits for a core), `S` (sleeps), `D` (waits for a disk) or `T`
    /// (stopped).
    pub(super) state: char,
    /// The number of pages that were read from a disk.
    pub(super) major_faults: f64,
    /// The CPU time, user and system, in seconds.
    pub(super) cpu_s: f64,
    /// The core on which the process or thread ran last.
    pub(super) core: Option<u32>,
}

impl<'a> Stat<'a> {
    /// Parses the file. The name is in parentheses, and may contain any character.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let words: Vec<_> = rest.split_whitespace().collect();
        // The first word is number 3 in the list of proc_pid_stat(5).
        let number = |n: usize| words.get(n - 3)?.parse::<f64>().ok();
        let ticks = number(14)? + number(15)?;
        Some(Self {
            name,
            state: words.first()?.chars().next()?,
            major_faults: number(12)?,
            cpu_s: ticks / rustix::param::clock_ticks_per_second() as f64,
            core: words.get(39 - 3).and_then(|core| core.parse().ok()),
        })
    }
}

/// The last readings of all processes.
pub(super) struct Processes {
    seen: HashMap<u32, ProcessReading>,
    pace: ReadingSchedule,
    /// The process ID at which the next reading begins, because the last reading did not reach all processes.
    resume: u32,
    /// The time of the last reading if this reading reached all processes.
    complete_ns: Option<u64>,
    /// The result of the last reading.
    busy: Vec<Process>,
    lacks: Option<String>,
}

/// The reading of one process.
#[derive(Debug, Clone, Copy)]
struct ProcessReading {
    at_ns: u64,
    cpu_s: f64,
    /// The number of cores that the process used since the previous reading.
    cpu: f64,
}

impl Default for Processes {
    fn default() -> Self {
        let (seen, busy) = (HashMap::new(), Vec::new());
        Self { seen, pace: ReadingSchedule::every(EVERY_NS), resume: 0, complete_ns: None, busy, lacks: None }
    }
}

impl Processes {
    /// Adds the busiest processes to a sample. Takes the processes from a new reading if a new reading is due, and from
    /// the last reading otherwise.
    pub(super) fn read(&mut self, at_ns: u64, draft: &mut SampleBuilder, tree: &Tree) {
        if self.pace.begins(at_ns) {
            let scanned = self.scan(at_ns, tree);
            self.lacks = scanned.err().or_else(|| hidden(tree));
            self.busy = self.busiest(tree);
            self.pace.end(at_ns);
        }
        draft.sample.busy.clone_from(&self.busy);
        if let Some(why) = &self.lacks {
            draft.add_missing("processes", why);
        }
    }

    fn scan(&mut self, at_ns: u64, tree: &Tree) -> Result<(), String> {
        let mut pids = tree.numbers("proc")?;
        self.seen.retain(|pid, _| pids.binary_search(pid).is_ok());
        let first = pids.partition_point(|pid| *pid < self.resume);
        pids.rotate_left(first);
        for pid in pids.iter().take(MOST) {
            let Ok(text) = tree.read(&format!("proc/{pid}/stat")) else { continue };
            let Some(cpu_s) = Stat::parse(&text).map(|stat| stat.cpu_s) else { continue };
            // A process that was not in the last complete reading has begun since then.
            let new = self.complete_ns.map(|at_ns| ProcessReading { at_ns, cpu_s: 0.0, cpu: 0.0 });
            let before = self.seen.get(pid).copied().or(new);
            let cpu = before.map_or(0.0, |before| {
                let passed_s = seconds(at_ns.saturating_sub(before.at_ns));
                if passed_s > 0.0 { (cpu_s - before.cpu_s) / passed_s } else { before.cpu }
            });
            self.seen.insert(*pid, ProcessReading { at_ns, cpu_s, cpu });
        }
        self.resume = pids.get(MOST).copied().unwrap_or(0);
        self.complete_ns = (pids.len() <= MOST).then_some(at_ns);
        Ok(())
    }

    /// Returns the busiest processes, without redyno.
    fn busiest(&self, tree: &Tree) -> Vec<Process> {
        let own = own_pid(tree);
        let mut busy: Vec<_> =
            self.seen.iter().filter(|(pid, seen)| seen.cpu >= LEAST_CPU && **pid != own).collect();
        busy.sort_by(|(_, a), (_, b)| b.cpu.total_cmp(&a.cpu));
        let process = |(pid, seen): (&u32, &ProcessReading)| {
            let text = tree.read(&format!("proc/{pid}/stat")).ok()?;
            let name = untrusted::text(Stat::parse(&text)?.name);
            Some(Process { pid: *pid, name, cpu: seen.cpu, core: core_of(tree, *pid), state: None })
        };
        busy.into_iter().take(MOST_BUSY).filter_map(process).collect()
    }
}

impl HostSample {
    /// Removes the server's process from the busiest processes.
    pub(super) fn without(mut self, server: Option<u32>) -> Self {
        self.busy.retain(|process| Some(process.pid) != server);
        self
    }
}

/// Returns redyno's process ID in the tree. The tree may belong to another PID namespace.
pub(super) fn own_pid(tree: &Tree) -> u32 {
    let link = fs::read_link(tree.path("proc/self")).ok();
    link.and_then(|link| link.to_str()?.parse().ok()).unwrap_or_else(std::process::id)
}

/// Returns the core on which the busiest thread of a process ran last.
fn core_of(tree: &Tree, pid: u32) -> Option<u32> {
    let threads = tree.numbers(&format!("proc/{pid}/task")).ok()?;
    let thread = |tid: &u32| {
        let text = tree.read(&format!("proc/{pid}/task/{tid}/stat")).ok()?;
        Stat::parse(&text).map(|stat| (stat.cpu_s, stat.core))
    };
    threads.iter().take(MOST_THREADS).filter_map(thread).max_by(|a, b| a.0.total_cmp(&b.0))?.1
}

/// Returns why some processes are not visible, in words.
fn hidden(tree: &Tree) -> Option<String> {
    if tree.read("proc/1/stat").is_err() {
        return Some("processes of other users are hidden (hidepid)".to_owned());
    }
    // The kernel's own threads are visible in the outermost namespace only; the first one is always process 2.
    let is_outermost = tree.read("proc/2/stat").is_ok_and(|text| text.contains("(kthreadd)"));
    (!is_outermost).then(|| "only the processes of redyno's container are visible".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use crate::gauge::Gauges;

    /// Returns the `stat` of a process with these ticks, on core 3.
    fn stat(name: &str, ticks: u64) -> String {
        format!("9 ({name}) R 1 1 1 0 -1 0 5 6 17 8 {ticks} 0 0 0 20 0 1 0 77{} 3 0 0\n", " 0".repeat(16))
    }

    fn init() -> Vec<(&'static str, &'static str)> {
        vec![("proc/1/stat", "1 (init) S 0"), ("proc/2/stat", "2 (kthreadd) S 0")]
    }

    fn sample(processes: &mut Processes, second: u64, fixture: &Fixture) -> HostSample {
        let mut counters = Gauges::default();
        let mut draft = SampleBuilder::new(None, &mut counters);
        processes.read(second * SECOND_NS, &mut draft, &fixture.tree());
        draft.sample
    }

    #[test]
    fn a_name_may_contain_parentheses_and_blanks() {
        let text = stat("a) R (b c", 250);
        let expected = Stat {
            name: "a) R (b c",
            state: 'R',
            major_faults: 17.0,
            cpu_s: 250.0 / rustix::param::clock_ticks_per_second() as f64,
            core: Some(3),
        };
        assert_eq!(Stat::parse(&text), Some(expected));
        assert_eq!(Stat::parse("7 (x) S 1"), None);
    }

    #[test]
    fn busy_processes_are_named_with_their_core_but_not_redyno_itself() {
        let second = rustix::param::clock_ticks_per_second();
        let fixture = Fixture::new(&init());
        let own = std::process::id();
        let write = |pid: u32, name: &str, ticks: u64| {
            let (text, thread) = (stat(name, ticks), format!("proc/{pid}/task/{pid}/stat"));
            fixture.write(&[(&format!("proc/{pid}/stat"), &text), (&thread, &text)]);
        };
        let mut processes = Processes::default();
        for (pid, name) in [(4211, "ffmpeg"), (own, "redyno"), (50, "idle")] {
            write(pid, name, 1000);
        }
        assert_eq!(sample(&mut processes, 0, &fixture).busy, []);
        write(4211, "ffmpeg", 1000 + second * 3 / 2);
        write(own, "redyno", 1000 + second);
        write(77, "gzip\u{1b}[2J", second);
        let busy = sample(&mut processes, 2, &fixture).busy;
        let shown: Vec<_> = busy.iter().map(|process| (process.pid, process.cpu, process.core)).collect();
        assert_eq!(shown, [(4211, 0.75, Some(3)), (77, 0.5, Some(3))]);
        assert_eq!(busy[0].name, "ffmpeg");
        assert!(!busy[1].name.contains('\u{1b}'));
        fixture.remove("proc/4211");
        assert_eq!(sample(&mut processes, 3, &fixture).busy, busy, "the next reading is after 2 s");
        assert_eq!(sample(&mut processes, 4, &fixture).busy, []);
    }

    #[test]
    fn hidden_processes_and_containers_are_reported() {
        let reason = |fixture: &Fixture| {
            sample(&mut Processes::default(), 0, fixture).missing.get("processes").cloned()
        };
        let fixture = Fixture::new(&init());
        assert_eq!(reason(&fixture), None);
        fixture.remove("proc/2");
        assert_eq!(reason(&fixture).as_deref(), Some("only the processes of redyno's container are visible"));
        fixture.remove("proc/1");
        assert_eq!(reason(&fixture).as_deref(), Some("processes of other users are hidden (hidepid)"));
        fixture.remove("proc");
        assert_eq!(reason(&fixture).as_deref(), Some("this system has no /proc"));
    }

    #[test]
    fn many_processes_are_read_in_turns() {
        let fixture = Fixture::new(&init());
        for pid in 10..(MOST as u32 + 100) {
            fixture.write(&[(&format!("proc/{pid}/stat"), &stat("many", 5))]);
        }
        let mut processes = Processes::default();
        sample(&mut processes, 0, &fixture);
        assert_eq!((processes.seen.len(), processes.complete_ns), (MOST - 2, None));
        sample(&mut processes, 60, &fixture);
        assert_eq!(processes.seen.len(), MOST + 90);
    }
}
