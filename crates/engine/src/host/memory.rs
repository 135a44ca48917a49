//! Reads this machine's memory, swap, transparent huge pages and clock source.

use super::{
    sample_builder::SampleBuilder,
    tree::{Tree, number},
};
use crate::gauge::Gauge;

/// Reads the memory figures of this machine, and adds the figures to the draft.
pub(super) fn read(draft: &mut SampleBuilder, tree: &Tree) {
    if let Some(text) = draft.known("memory", tree.read("proc/meminfo")) {
        let bytes = |name: &str| number(&text, name).map(|kib| kib * 1024.0);
        draft.level(Gauge::HostFreeMemory, bytes("MemAvailable"));
        let swap = bytes("SwapTotal").zip(bytes("SwapFree"));
        draft.level(Gauge::HostSwapUsed, swap.map(|(total, free)| total - free));
    }
    if let Some(text) = draft.known("swap", tree.read("proc/vmstat")) {
        let bytes = |name: &str| number(&text, name).map(|pages| pages * rustix::param::page_size() as f64);
        draft.rate(Gauge::HostSwapIn, bytes("pswpin"));
        draft.rate(Gauge::HostSwapOut, bytes("pswpout"));
    }
    let huge = tree.read("sys/kernel/mm/transparent_hugepage/enabled");
    let huge = draft.known("huge pages", huge);
    draft.level(Gauge::HugePages, huge.map(|text| f64::from(text.contains("[always]"))));
    let source = tree.read("sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = draft.known("clock source", source).unwrap_or_default();
    draft.sample.clock_source = source.trim().to_owned();
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};

    #[test]
    fn swapping_and_huge_pages_are_seen() {
        let fixture = Fixture::new(&[
            ("proc/meminfo", "MemTotal: 99 kB\nMemAvailable:  10 kB\nSwapTotal: 8 kB\nSwapFree:   3 kB\n"),
            ("proc/vmstat", "pgpgin 5\npswpin 10\npswpout 0\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let later = [("proc/vmstat", "pgpgin 5\npswpin 12\npswpout 1\n")];
        let gauges = fixture.second(&later, read).gauges;
        let page = rustix::param::page_size() as f64;
        let read = [Gauge::HostFreeMemory, Gauge::HostSwapUsed, Gauge::HostSwapIn, Gauge::HostSwapOut];
        assert_eq!(read.map(|gauge| gauges.get(gauge)), [10_240.0, 5120.0, 2.0 * page, page].map(Some));
        assert_eq!(gauges.flag(Gauge::HugePages), Some(true));
        let later = [("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")];
        let sample = fixture.second(&later, super::read);
        assert_eq!(sample.gauges.flag(Gauge::HugePages), Some(false));
        assert_eq!(sample.clock_source, "tsc");
    }

    #[test]
    fn without_huge_pages_in_the_kernel_the_gauge_has_no_value() {
        let sample = Fixture::new(&[]).second(&[], read);
        assert_eq!(sample.gauges.get(Gauge::HugePages), None);
        let why = "this system has no /sys/kernel/mm/transparent_hugepage/enabled";
        assert_eq!(sample.missing["huge pages"], why);
    }
}
