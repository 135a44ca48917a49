//! Reads the causes of delays of programs on this machine: pressure (PSI), and the CPU limits of cgroups.

use std::collections::{BTreeMap, VecDeque};

use super::{
    sample_builder::SampleBuilder,
    tree::{Tree, number},
};
use crate::{
    clock::{SECOND_NS, seconds},
    gauge::Gauge,
};

/// The time over which a share of pressure is computed: 4 s. The kernel updates its totals of pressure every 2 s.
const PRESSURE_NS: u64 = 4 * SECOND_NS;
const PRESSURES: [(Gauge, &str); 3] =
    [(Gauge::HostCpuPressure, "cpu"), (Gauge::HostDiskPressure, "io"), (Gauge::HostMemoryPressure, "memory")];

/// The last readings of the totals of pressure.
#[derive(Debug, Default)]
pub(super) struct Pressures(BTreeMap<Gauge, VecDeque<Total>>);

/// The total time in which at least one thread has waited, with the time of the reading.
#[derive(Debug, Clone, Copy)]
struct Total {
    at_ns: u64,
    us: f64,
}

impl Pressures {
    /// Reads the totals of pressure, and sets the pressure gauges of the sample.
    pub(super) fn read(&mut self, at_ns: u64, draft: &mut SampleBuilder, tree: &Tree) {
        for (gauge, name) in PRESSURES {
            let text = tree.read(&format!("proc/pressure/{name}"));
            let Some(text) = draft.known("pressure", text) else { return };
            let total = |line: &str| line.strip_prefix("some ")?.rsplit_once("total=")?.1.trim().parse().ok();
            let Some(us) = text.lines().find_map(total) else { continue };
            let readings = self.0.entry(gauge).or_default();
            readings.push_back(Total { at_ns, us });
            while readings.get(1).is_some_and(|second| second.at_ns + PRESSURE_NS <= at_ns) {
                readings.pop_front();
            }
            let first = readings[0];
            let passed_us = seconds(at_ns - first.at_ns) * 1e6;
            draft.level(
                gauge,
                Some(((us - first.us) / passed_us).clamp(0.0, 1.0)).filter(|_| passed_us > 0.0),
            );
        }
    }
}

/// Returns how long CPU limits have stopped the process `pid`, in seconds. If `pid` is `self`, the process is redyno
/// itself. The time is the sum over the cgroup of the process, all outer cgroups, and all cores.
///
/// # Errors
/// Fails if the time is unknown. The error is the cause, in words.
pub(super) fn throttled_s(tree: &Tree, pid: &str) -> Result<f64, String> {
    let groups = tree.read(&format!("proc/{pid}/cgroup"))?;
    let group = |line: &str| {
        // `0::/user.slice` in version 2; `4:cpu,cpuacct:/docker/5f` in version 1, where the CPU has its own tree.
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_first = controllers.split(',').any(|name| name == "cpu");
        let folder = if is_first { "sys/fs/cgroup/cpu" } else { "sys/fs/cgroup" };
        let group = || (is_first, format!("{folder}{}", path.trim_end_matches('/')));
        (is_first || controllers.is_empty()).then(group)
    };
    // With both versions, a limit on the CPU is in the tree of version 1.
    let (_, mut group) = groups
        .lines()
        .filter_map(group)
        .max_by_key(|(is_first, _)| *is_first)
        .ok_or_else(|| format!("/proc/{pid}/cgroup has no CPU group"))?;
    let mut sum_s = None;
    // In a container, the names of some outer groups are not visible.
    while group.starts_with("sys/fs/cgroup") {
        let text = tree.read(&format!("{group}/cpu.stat")).unwrap_or_default();
        let throttled_s = number(&text, "throttled_usec")
            .map(|us| us / 1e6)
            .or_else(|| number(&text, "throttled_time").map(|ns| ns / 1e9));
        sum_s = throttled_s.map_or(sum_s, |s| Some(sum_s.unwrap_or(0.0) + s));
        group.truncate(group.rfind('/').unwrap_or(0));
    }
    sum_s.ok_or_else(|| "no cpu.stat in /sys/fs/cgroup has a throttled time".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use crate::gauge::Gauges;

    #[test]
    fn pressure_is_the_share_of_the_last_four_seconds() {
        let fixture = Fixture::new(&[]);
        let (mut pressures, mut counters) = (Pressures::default(), Gauges::default());
        let mut share = |second: u64, total_us: u64| {
            let text =
                format!("some avg10=9.00 avg60=1.00 avg300=0.00 total={total_us}\nfull avg10=0.00 total=7\n");
            for name in ["cpu", "io", "memory"] {
                fixture.write(&[(&format!("proc/pressure/{name}"), &text)]);
            }
            let mut draft = SampleBuilder::new(None, &mut counters);
            pressures.read(second * SECOND_NS, &mut draft, &fixture.tree());
            draft.sample.gauges.get(Gauge::HostDiskPressure)
        };
        assert_eq!(share(1, 500_000), None);
        assert_eq!(share(2, 1_000_000), Some(0.5));
        assert_eq!(share(3, 1_000_000), Some(0.25));
        assert_eq!(share(4, 1_000_000), Some(0.5 / 3.0));
        assert_eq!(share(5, 1_000_000), Some(0.125));
        assert_eq!(share(6, 1_000_000), Some(0.0));
    }

    #[test]
    fn throttling_is_summed_over_the_groups_around_a_process() {
        let fixture = Fixture::new(&[
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
            ("sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nthrottled_usec 1000000\n"),
            ("sys/fs/cgroup/a/b/cpu.stat", "throttled_usec 500000\n"),
        ]);
        assert_eq!(throttled_s(&fixture.tree(), "self"), Ok(1.5));
        fixture.write(&[
            ("proc/7/cgroup", "9:name=systemd:/x\n4:cpu,cpuacct:/docker/5f\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 7\nthrottled_time 250000000\n"),
        ]);
        assert_eq!(throttled_s(&fixture.tree(), "7"), Ok(0.25));
        fixture.write(&[
            ("proc/8/cgroup", "4:cpu,cpuacct:/docker/5f\n0::/system.slice/containerd.service\n"),
            ("sys/fs/cgroup/cpu/docker/5f/cpu.stat", "throttled_time 500000000\n"),
        ]);
        assert_eq!(throttled_s(&fixture.tree(), "8"), Ok(0.75));
        fixture.remove("sys/fs/cgroup");
        let why = "no cpu.stat in /sys/fs/cgroup has a throttled time".to_owned();
        assert_eq!(throttled_s(&fixture.tree(), "self"), Err(why));
    }
}
