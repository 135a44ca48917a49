//! Reads the CPU use of this machine's cores from `/proc/stat`.

use std::collections::BTreeMap;

use super::{
    sample_builder::SampleBuilder,
    tree::{Tree, number},
};
use crate::gauge::Gauge;

/// The previous reading of all cores.
#[derive(Debug, Default)]
pub(super) struct Cores {
    /// The times at the previous reading, by their names in `/proc/stat`: `cpu` for all cores together, and `cpu0`, …
    /// for each core.
    before: BTreeMap<String, CoreTimes>,
}

/// The time of a core since the machine started, in ticks of the kernel (usually 10 ms).
#[derive(Debug, Clone, Copy, Default)]
struct CoreTimes {
    busy: u64,
    interrupts: u64,
    stolen: u64,
    all: u64,
}

/// Shares of a core's time.
struct Shares {
    busy: f64,
    interrupts: f64,
    stolen: f64,
}

impl CoreTimes {
    /// Parses the numbers of a line: user, nice, system, idle, iowait, irq, softirq, steal. The times of guests are
    /// already included in user and nice.
    fn of(numbers: &str) -> Option<Self> {
        let ticks: Vec<u64> = numbers.split_whitespace().take(8).filter_map(|n| n.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, stolen] = ticks[..] else { return None };
        let interrupts = irq.saturating_add(softirq);
        let busy = [user, nice, system, interrupts].into_iter().fold(0, u64::saturating_add);
        let all = [busy, idle, iowait, stolen].into_iter().fold(0, u64::saturating_add);
        Some(Self { busy, interrupts, stolen, all })
    }

    /// Returns the shares since `before`. Returns `None` if the core is switched off. The time of such a core has not
    /// changed.
    fn since(self, before: Self) -> Option<Shares> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)? as f64;
        let share = |now: u64, then: u64| now.saturating_sub(then) as f64 / all;
        Some(Shares {
            busy: share(self.busy, before.busy),
            interrupts: share(self.interrupts, before.interrupts),
            stolen: share(self.stolen, before.stolen),
        })
    }
}

impl Cores {
    /// Reads the times of all cores, and sets the CPU gauges of the sample.
    pub(super) fn read(&mut self, draft: &mut SampleBuilder, tree: &Tree) {
        let Some(text) = draft.known("cpu", tree.read("proc/stat")) else { return };
        // This thread itself runs while it reads the number, so the thread is subtracted.
        draft.level(Gauge::HostRunnable, number(&text, "procs_running").map(|n| (n - 1.0).max(0.0)));
        let times = |line: &str| {
            let (name, numbers) = line.split_once(' ')?;
            Some((name.to_owned(), CoreTimes::of(numbers)?)).filter(|_| name.starts_with("cpu"))
        };
        let now: BTreeMap<String, CoreTimes> = text.lines().filter_map(times).collect();
        if now.is_empty() {
            draft.add_missing("cpu", "/proc/stat has no line for a core");
        }
        let mut interrupts = None::<f64>;
        for (name, times) in &now {
            let Some(shares) = self.before.get(name).and_then(|before| times.since(*before)) else {
                continue;
            };
            let Ok(core) = name["cpu".len()..].parse::<usize>() else {
                draft.level(Gauge::HostCpu, Some(shares.busy));
                draft.level(Gauge::HostSteal, Some(shares.stolen));
                continue;
            };
            let cores = &mut draft.sample.cores;
            cores.resize(cores.len().max(core + 1), 0.0);
            cores[core] = shares.busy;
            interrupts = Some(interrupts.map_or(shares.interrupts, |most| most.max(shares.interrupts)));
        }
        draft.level(Gauge::HostInterrupts, interrupts);
        draft.level(Gauge::HostBusiest, draft.sample.cores.iter().copied().reduce(f64::max));
        self.before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};

    #[test]
    fn steal_interrupts_and_the_busiest_core_follow_from_two_readings() {
        let fixture = Fixture::new(&[(
            "proc/stat",
            "cpu  100 0 100 800 0 0 0 0 7 7\ncpu0 50 0 50 400 0 0 0 0 7 7\ncpu1 50 0 50 400 0 0 0 0 0 0\n\
             intr 7 8\nprocs_running 4\n",
        )]);
        let later = "cpu  190 0 110 860 10 5 5 20 9 9\ncpu0 140 0 55 405 0 0 0 0 9 9\ncpu1 50 0 55 455 10 5 5 20 0 0\n\
                     intr 9 9\nprocs_running 3\n";
        let mut cores = Cores::default();
        let sample = fixture.second(&[("proc/stat", later)], |draft, tree| cores.read(draft, tree));
        let gauges = [
            Gauge::HostCpu,
            Gauge::HostSteal,
            Gauge::HostBusiest,
            Gauge::HostInterrupts,
            Gauge::HostRunnable,
        ];
        assert_eq!(gauges.map(|gauge| sample.gauges.get(gauge)), [0.55, 0.1, 0.95, 0.1, 2.0].map(Some));
        assert_eq!(sample.cores, [0.95, 0.15]);
        assert!(sample.missing.is_empty());
    }

    #[test]
    fn a_core_that_is_switched_off_uses_nothing() {
        let fixture = Fixture::new(&[("proc/stat", "cpu0 1 0 0 9 0 0 0 0\ncpu2 1 0 0 9 0 0 0 0\n")]);
        let later = "cpu0 2 0 0 18 0 0 0 0\ncpu2 11 0 0 9 0 0 0 0\n";
        let mut cores = Cores::default();
        let sample = fixture.second(&[("proc/stat", later)], |draft, tree| cores.read(draft, tree));
        assert_eq!(sample.cores, [0.1, 0.0, 1.0]);
        assert_eq!(sample.gauges.get(Gauge::HostSteal), None);
    }
}
