//! Reads the activity of this machine's disks from `/proc/diskstats`.

use std::collections::HashMap;

use super::{sample_builder::SampleBuilder, tree::Tree};
use crate::gauge::Gauge;

/// The beginnings of the names of devices that are not disks. Such devices are files, memory or CD drives.
const NO_DISKS: [&str; 5] = ["loop", "ram", "zram", "sr", "fd"];

/// The last readings of all disks, by name.
#[derive(Debug, Default)]
pub(super) struct Disks(HashMap<String, DiskCounters>);

/// The counters of a disk since the machine started.
#[derive(Debug, Clone, Copy, Default)]
struct DiskCounters {
    requests: u64,
    /// The sum of the times of all requests, in ms.
    waited_ms: u64,
    /// The time during which at least one request was in progress, in ms.
    busy_ms: u64,
}

impl DiskCounters {
    /// Parses the numbers after the name. The first four numbers are for reads (requests, merged requests, sectors,
    /// ms). The next four numbers are the same for writes. The next numbers are the requests in flight, the ms with
    /// requests in flight, and the weighted ms. The last numbers are four numbers for discards, and two numbers for
    /// flushes (requests, ms).
    fn of(numbers: &[u64]) -> Option<Self> {
        let [reads, _, _, read_ms, writes, _, _, written_ms, _, busy_ms, _, rest @ ..] = numbers else {
            return None;
        };
        let (flushes, flushed_ms) =
            if let [_, _, _, _, flushes, ms, ..] = rest { (*flushes, *ms) } else { (0, 0) };
        let sum = |numbers: [u64; 3]| numbers.into_iter().fold(0, u64::saturating_add);
        Some(Self {
            requests: sum([*reads, *writes, flushes]),
            waited_ms: sum([*read_ms, *written_ms, flushed_ms]),
            busy_ms: *busy_ms,
        })
    }
}

impl Disks {
    /// Reads the counters of all disks, and sets the gauges of the busiest disk.
    pub(super) fn read(&mut self, draft: &mut SampleBuilder, tree: &Tree) {
        let Some(text) = draft.known("disks", tree.read("proc/diskstats")) else { return };
        let now: HashMap<_, _> =
            text.lines().filter_map(disk).filter(|(name, _)| is_whole(tree, name)).collect();
        if now.is_empty() {
            draft.add_missing("disks", "/proc/diskstats has no disk");
        }
        let mut busiest = None::<DiskCounters>;
        for (name, counters) in &now {
            let Some(before) = self.0.get(name) else { continue };
            let added = DiskCounters {
                requests: counters.requests.saturating_sub(before.requests),
                waited_ms: counters.waited_ms.saturating_sub(before.waited_ms),
                busy_ms: counters.busy_ms.saturating_sub(before.busy_ms),
            };
            if busiest.is_none_or(|other| other.busy_ms <= added.busy_ms) {
                busiest = Some(added);
            }
        }
        self.0 = now;
        if let (Some(added), Some(passed_s)) = (busiest, draft.sample.sample_s) {
            // The disk's counters and redyno's clock are not read at the same moment.
            draft.level(Gauge::HostDisk, Some((added.busy_ms as f64 / 1e3 / passed_s).min(1.0)));
            let wait_us = added.waited_ms as f64 * 1e3 / added.requests as f64;
            draft.level(Gauge::HostDiskWait, Some(wait_us).filter(|_| added.requests > 0));
        }
    }
}

/// Parses a line of `/proc/diskstats`.
fn disk(line: &str) -> Option<(String, DiskCounters)> {
    let mut words = line.split_whitespace().skip(2);
    let name = words.next()?.to_owned();
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    Some((name, DiskCounters::of(&numbers)?))
}

/// Returns whether this is a whole disk, and not a partition.
fn is_whole(tree: &Tree, name: &str) -> bool {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    !NO_DISKS.contains(&kind) && tree.path(&format!("sys/block/{name}")).exists()
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};

    #[test]
    fn the_busiest_whole_disk_is_shown_with_the_mean_time_of_its_requests() {
        let stats = |busy_ms: u32, writes: u32, flushes: u32| {
            format!(
                "7 0 loop0 1 0 0 1 1 0 0 1 0 {busy_ms}000 1\n8 0 sda 1 0 0 1 1 0 0 1 0 7 1\n\
                 8 1 sda1 1 0 0 1 1 0 0 1 0 {busy_ms}000 1\n\
                 259 0 nvme0n1 10 0 80 5 {writes} 0 8 {writes}0 0 {busy_ms} 9 0 0 0 0 {flushes} {flushes}0\n"
            )
        };
        let fixture = Fixture::new(&[("proc/diskstats", &stats(100, 50, 3))]);
        for name in ["loop0", "sda", "nvme0n1"] {
            fixture.write(&[(&format!("sys/block/{name}/size"), "1")]);
        }
        let mut disks = Disks::default();
        let sample =
            fixture.second(&[("proc/diskstats", &stats(600, 70, 8))], |draft, tree| disks.read(draft, tree));
        assert_eq!(sample.gauges.get(Gauge::HostDisk), Some(0.5));
        assert_eq!(sample.gauges.get(Gauge::HostDiskWait), Some(10_000.0));
    }

    #[test]
    fn an_idle_disk_has_no_time_for_a_request() {
        let fixture = Fixture::new(&[
            ("proc/diskstats", "8 0 sda 1 0 0 1 1 0 0 1 0 7 1\n"),
            ("sys/block/sda/size", "1"),
        ]);
        let mut disks = Disks::default();
        let sample = fixture.second(&[], |draft, tree| disks.read(draft, tree));
        assert_eq!(
            (sample.gauges.get(Gauge::HostDisk), sample.gauges.get(Gauge::HostDiskWait)),
            (Some(0.0), None)
        );
    }
}
