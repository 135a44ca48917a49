//! Finding: a setting of the server or of its host is known to make requests slow at times. The finding is only a note,
//! because nothing is slow at present.

use super::{Finding, Severity, now::RecentState};
use crate::{events::EventKind, gauge::Gauge};

/// Clock sources that a program reads without a system call.
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
/// The highest `hz` at which an idle server uses little CPU time.
const HIGHEST_HZ: u32 = 100;

/// The time for which a change is shown, in seconds.
const CHANGED_S: f64 = 30.0;

/// Returns the finding that a parameter was changed in the last seconds.
pub(super) fn changed(now: &RecentState, _: bool) -> Option<Finding> {
    let change = now.events(CHANGED_S).find_map(|event| match event {
        EventKind::ConfigChanged { name, from, .. } => Some((event, name, from)),
        _ => None,
    });
    let (event, name, from) = change?;
    let long = format!("CONFIG {event}");
    // An empty value, or a value of several words, is one argument only in quotes.
    let is_word = !from.is_empty() && !from.contains(' ');
    let quote = if is_word { "" } else { "'" };
    let next = format!("CONFIG SET {name} {quote}{from}{quote} undoes the change");
    let changed_s = now.events.last_s(|event| matches!(event, EventKind::ConfigChanged { .. }));
    let slowed = changed_s.and_then(|changed_s| now.pings.slowed_since(changed_s));
    let finding = Finding::of(Severity::Note, long.clone(), long).with([slowed], &next);
    Some(Finding { is_news: true, ..finding })
}

/// Returns the current finding, if any: the settings, each with its effect.
pub(super) fn look(now: &RecentState, _: bool) -> Option<Finding> {
    let status = now.status()?;
    let is = |name: &str, value: &str| status.config.get(name).is_some_and(|set| set == value);
    let number = |name: &str| status.config.get(name).and_then(|set| set.parse::<u32>().ok());
    let host = now.host().filter(|host| host.server.is_some());
    let huge = host.is_some_and(|host| host.gauges.flag(Gauge::HugePages) == Some(true));
    let clock = host
        .map(|host| host.clock_source.as_str())
        .filter(|clock| !clock.is_empty() && !FAST_CLOCKS.contains(clock));
    let threads = number("io-threads").filter(|threads| {
        *threads > 1 && now.cores() > 0 && *threads as usize >= now.cores() && host.is_some()
    });
    let hz = number("hz").filter(|hz| *hz > HIGHEST_HZ);
    let known = [
        huge.then(|| {
            let text =
                "transparent huge pages are always on: after a fork, the first write to a page copies 2 MiB";
            (text.to_owned(), "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
        }),
        (is("appendonly", "yes") && is("appendfsync", "always")).then(|| {
            (
                "appendfsync always: each write waits for the disk".to_owned(),
                "CONFIG SET appendfsync everysec",
            )
        }),
        threads.map(|threads| {
            let text =
                format!("io-threads {threads} on {} cores: the threads wait for each other", now.cores());
            (text, "in the server's configuration, set io-threads lower than the number of cores")
        }),
        hz.map(|hz| (format!("hz {hz}: the server wakes {hz} times a second"), "CONFIG SET hz 10")),
        clock.map(|clock| {
            let text = format!("clock source {clock}: each reading of the time needs a system call");
            (text, "cat /sys/devices/system/clocksource/clocksource0/available_clocksource")
        }),
    ];
    let known: Vec<_> = known.into_iter().flatten().collect();
    let (_, next) = known.first()?;
    let next = (*next).to_owned();
    let long = known.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("; ");
    let short = if known.len() == 1 { "a setting" } else { "settings" };
    Some(Finding { next, ..Finding::of(Severity::Note, short, long) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::{first, found};

    #[test]
    fn settings_are_a_note_with_their_effects() {
        let found = first(2, |second| {
            second.host.gauges.set(Gauge::HugePages, Some(1.0));
            second.host.clock_source = "hpet".to_owned();
            second.status.config = std::sync::Arc::new([("hz".to_owned(), "500".to_owned())].into());
        });
        assert_eq!((found.rule, found.severity), ("settings", Severity::Note));
        for part in ["copies 2 MiB", "; hz 500: the server wakes", "; clock source hpet:"] {
            assert!(found.long.contains(part), "{}", found.long);
        }
        assert!(found.next.starts_with("echo madvise"));
    }

    #[test]
    fn a_changed_parameter_is_shown_for_half_a_minute() {
        let change = |second: &mut crate::diagnose::fixture::Second| {
            if second.n == 2 {
                let (name, from, to) = ("slowlog-max-len".to_owned(), "128".to_owned(), "77".to_owned());
                second.events = vec![EventKind::ConfigChanged { name, from, to }];
            }
        };
        assert_eq!(first(20, change).long, "CONFIG slowlog-max-len 128 → 77");
        assert_eq!(first(20, change).next, "CONFIG SET slowlog-max-len 128 undoes the change");
        assert_eq!(found(40, change), []);
    }

    #[test]
    fn a_second_change_has_its_own_time() {
        let change = |second: &mut crate::diagnose::fixture::Second| {
            let (from, to) = match second.n {
                2 => ("0", "1048576"),
                6 => ("1048576", "0"),
                _ => return,
            };
            let [name, from, to] = ["maxmemory", from, to].map(str::to_owned);
            second.events = vec![EventKind::ConfigChanged { name, from, to }];
        };
        let (once, twice) = (first(5, change), first(10, change));
        assert_eq!(twice.long, "CONFIG maxmemory 1048576 → 0");
        assert!((twice.since_s - once.since_s - 4.0).abs() < 0.1, "{} {}", once.since_s, twice.since_s);
    }

    #[test]
    fn a_machine_without_the_server_has_no_settings_that_count() {
        let remote = found(2, |second| {
            second.host.server = None;
            second.host.gauges.set(Gauge::HugePages, Some(1.0));
        });
        assert_eq!(remote, []);
    }
}
