//! A report's tables about the server. The tables show findings, latencies of PING, the worst periods, and the commands
//! with their times. A further table shows the parts of the server's state that redyno could not read. The summary of a
//! session prints the same rows.

use super::table::{ReportTable, TableRow};
use crate::{
    diagnose::{Cause, Delay, Episode, Episodes},
    session::{
        Timeline,
        timeline::{CommandTime, FoldedEvents, Level, Measure, PingStretch, folded},
    },
    stats::Latency,
    units,
};

/// The maximum number of listed periods with slow PINGs.
const WORST: usize = 5;
/// The maximum number of listed commands. A note has the number of commands that are not listed.
const COMMANDS: usize = 10;

/// The maximum number of commands in the summary's line.
const IN_A_LINE: usize = 5;
/// The maximum number of events in a summary. An additional line has the number of earlier events.
const EVENTS: usize = 10;

fn table(title: &str, headings: &[&str], words: usize, rows: Vec<Vec<String>>) -> ReportTable {
    ReportTable::of(title, headings, words, rows.into_iter().map(TableRow::of).collect())
}

/// Returns the severity, the start and the length of a finding, and its text.
pub(crate) fn finding(timeline: &Timeline, episode: &Episode) -> [String; 4] {
    let lasted = lasted(episode.until_s - episode.since_s);
    let times = if episode.times > 1 { format!(", {} times", episode.times) } else { String::new() };
    [
        episode.finding.severity.name().to_owned(),
        timeline.time_text(episode.since_s),
        format!("{lasted}{times}"),
        episode.finding.line(),
    ]
}

/// Returns a length of time as text: in the form of a clock, or in the form `250 ms` if it is shorter than a second.
pub(crate) fn lasted(s: f64) -> String {
    match (s * 1e9) as u64 {
        0 => "less than 1 s".to_owned(),
        ns @ 1..1_000_000_000 => units::latency(ns),
        ns => units::elapsed(ns),
    }
}

/// Returns the findings of the session, the worst first. If a session without load has no findings, the table has one
/// row with this statement. If a session under load has no findings, the table is empty.
pub(crate) fn findings(timeline: &Timeline, episodes: &Episodes) -> ReportTable {
    let mut sorted: Vec<_> = episodes.iter().collect();
    sorted.sort_by_key(|episode| std::cmp::Reverse(episode.finding.severity));
    let row = |episode: &&Episode| finding(timeline, episode).to_vec();
    let mut table = table(
        "Findings over time",
        &["severity", "since", "lasted", "finding"],
        4,
        sorted.iter().map(row).collect(),
    );
    if episodes.left_out > 0 {
        table.note = format!("{} later findings are not listed.", units::grouped(episodes.left_out));
    }
    if table.rows.is_empty() && !has_load(timeline) {
        let length = units::elapsed((timeline.measured_s() * 1e9) as u64);
        table.rows.push(TableRow::of(vec![
            "none".to_owned(),
            String::new(),
            length,
            "no finding".to_owned(),
        ]));
    }
    table
}

/// Returns whether the session has measured a load.
pub(crate) fn has_load(timeline: &Timeline) -> bool {
    let summary = timeline.summary();
    summary.ops > 0 || summary.due > 0 || !summary.errors.is_empty()
}

/// Returns the percentiles and the maximum as text. The text is `-` if there are too few samples.
fn levels(of: impl Fn(Level) -> Option<u64>) -> impl Iterator<Item = String> {
    Level::ALL.map(|level| of(level).map_or_else(|| "-".to_owned(), units::latency)).into_iter()
}

/// Returns the round-trip times of PING, in a row for each segment.
pub(crate) fn pings(timeline: &Timeline) -> ReportTable {
    let segments = timeline.segments.iter().filter(|it| it.pings.count() + it.pings_lost > 0);
    let row = |name: String, pings: &Latency, lost: u64| {
        let counts = [units::grouped(pings.count()), units::grouped(lost)];
        [name].into_iter().chain(counts).chain(levels(|level| level.of(pings))).collect()
    };
    let rows = segments.map(|it| {
        let settings = if it.start.knobs.load { it.start.knobs.to_string() } else { "no load".to_owned() };
        row(format!("{}: {settings}", it.start.segment), &it.pings, it.pings_lost)
    });
    let headings = ["segment", "answered", "unanswered", "p50", "p90", "p99", "p99.9", "max"];
    let mut table = table(timeline.words().ping, &headings, 1, rows.collect());
    if let Some(run) = timeline.latest().intrinsic_run().filter(|run| run.runs > 0) {
        let (longest, part) = (units::latency(run.gaps.max_ns()), units::elapsed(run.busy_ns));
        table.note = format!(
            "On redyno's machine, a busy loop (as in redis-cli --intrinsic-latency) ran for {part}; its longest interruption was {longest}."
        );
    }
    table
}

/// Returns the periods with the slowest PINGs, each with the event that explains it.
pub(crate) fn worst(timeline: &Timeline) -> ReportTable {
    let stretches = timeline.worst_pings(WORST);
    let length = match stretches.first().map_or(1.0, |one| one.length_s) {
        1.0 => "seconds".to_owned(),
        60.0 => "minutes".to_owned(),
        length_s => format!("periods of {} minutes", length_s / 60.0),
    };
    let row = |stretch: &PingStretch| {
        let levels = levels(|level| stretch.levels.get(level));
        [timeline.time_text(stretch.from_s)]
            .into_iter()
            .chain(levels)
            .chain([near(timeline, stretch)])
            .collect()
    };
    let title = format!("Worst {length} of {}", timeline.words().ping);
    let headings = ["from", "p50", "p90", "p99", "p99.9", "max", "event nearby"];
    let mut table = table(&title, &headings, 1, stretches.iter().map(row).collect());
    table.numbers.end -= 1;
    table
}

/// Returns the event that explains the slowest PING of a period, or an event at about the same time. Returns an empty
/// text if there is no such event.
fn near(timeline: &Timeline, stretch: &PingStretch) -> String {
    let end_s = stretch.from_s + stretch.length_s;
    let longest = timeline.window(stretch.from_s, end_s, 1).worst(Measure::Ping, 0);
    let t_s = longest.map_or(end_s, |longest| longest.t_s);
    let usual_ns = timeline.segments.holding_at(t_s).and_then(|segment| Level::P50.of(&segment.pings));
    let delay = Delay { t_s, ns: stretch.levels.get(Level::Max).unwrap_or_default(), usual_ns };
    let cause = Cause::of(delay, timeline.events()).map(|cause| cause.to_string());
    cause.unwrap_or_default().trim_start_matches([',', ' ']).to_owned()
}

/// Returns the commands of all clients, sorted by the server's time for each command, the longest time first.
pub(crate) fn commands(timeline: &Timeline) -> ReportTable {
    let cell = timeline.server_whole().commands;
    let all = cell.by_time();
    let row = |command: &CommandTime| {
        let each_ns =
            command.share.and(command.stat.usec.saturating_mul(1000).checked_div(command.stat.calls));
        let unknown = || "-".to_owned();
        let failed = command.stat.failed.unwrap_or(0) + command.stat.rejected.unwrap_or(0);
        vec![
            command.name.clone(),
            command.share.map_or_else(unknown, units::percent),
            units::count(command.per_s),
            each_ns.map_or_else(unknown, units::latency),
            units::grouped(failed),
        ]
    };
    let rows = all.iter().take(COMMANDS).map(row).collect();
    let headings = ["command", "server time", "calls/s", "mean", "failed"];
    let mut table = table("Commands of all clients, by time", &headings, 1, rows);
    let more = all.len().saturating_sub(COMMANDS) as u64;
    if more > 0 {
        let share = all.iter().skip(COMMANDS).map(|command| command.share).sum::<Option<f64>>();
        let took =
            share.map_or_else(String::new, |share| format!(" took {} together", units::percent(share)));
        table.note = format!("{} more{took}. ", units::grouped(more));
    }
    if cell.own.usec > 0 && cell.length_s > 0.0 {
        let share = cell.own.usec as f64 / 1e6 / cell.length_s;
        table.note += &format!("The commands of redyno itself took {}. ", units::percent(share));
    }
    if all.iter().take(COMMANDS).any(|command| command.share.is_some() && runs_others(&command.name)) {
        table.note += "The times of transactions (exec) and scripts include the commands that they run.";
    }
    table.note.truncate(table.note.trim_end().len());
    table
}

/// Returns whether a command of this name, such as `exec` or `evalsha`, runs other commands, which the server also
/// counts.
fn runs_others(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "exec" || name.starts_with("eval") || name.starts_with("fcall")
}

/// Returns the lines of the summary of a session without load, each with its name and its text.
pub(crate) fn lines(timeline: &Timeline, episodes: &Episodes) -> Vec<(String, String)> {
    let found = findings(timeline, episodes).rows.into_iter().filter_map(|row| {
        let [severity, since, lasted, finding] = row.cells.try_into().ok()?;
        Some((severity, format!("{since} for {lasted}: {finding}").trim_start().to_owned()))
    });
    let measured: Vec<_> =
        timeline.segments.iter().filter(|it| it.pings.count() + it.pings_lost > 0).collect();
    let pings = measured.iter().map(|it| {
        // A change of the server's parameters begins a segment.
        let segment = match measured.len() {
            1 => String::new(),
            _ => format!("seg {} from {}: ", it.start.segment, timeline.time_text(it.start.t_s)),
        };
        let lost = if it.pings_lost > 0 { format!(", {} unanswered", it.pings_lost) } else { String::new() };
        let count = units::grouped(it.pings.count());
        let levels = Level::line(|level| level.of(&it.pings));
        ("ping".to_owned(), format!("{segment}{count} answered{lost}  {levels}"))
    });
    let worst = timeline.worst_pings(1).into_iter().map(|stretch| {
        let near = near(timeline, &stretch);
        let levels = Level::line(|level| stretch.levels.get(level));
        (
            "worst".to_owned(),
            format!("{}  {levels}  {near}", timeline.time_text(stretch.from_s)).trim_end().to_owned(),
        )
    });
    let commands = timeline.server_whole().commands.by_time();
    let of = |command: &CommandTime| match command.share {
        Some(share) => format!("{} {}", command.name, units::percent(share)),
        None => format!("{} {}/s", command.name, units::count(command.per_s)),
    };
    let listed = commands.iter().take(IN_A_LINE).map(of).collect::<Vec<_>>().join(", ");
    let of_time = if commands.iter().any(|command| command.share.is_some()) { " of the time" } else { "" };
    let commands = (!listed.is_empty()).then(|| ("commands".to_owned(), format!("{listed}{of_time}")));
    found.chain(pings).chain(worst).chain(commands).chain(events(timeline)).collect()
}

/// Returns the summary's lines about the latest events. Equal events share a line.
fn events(timeline: &Timeline) -> Vec<(String, String)> {
    let all = folded(timeline.events());
    let earlier = all.len().saturating_sub(EVENTS);
    let line = |line: &FoldedEvents| {
        let at = timeline.time_text(line.last.from_s);
        let text = timeline.words().worded(line.text.clone());
        ("event".to_owned(), format!("{at} {}: {text}", line.last.event.what.name()))
    };
    let more = timeline.forgotten + earlier as u64;
    let more =
        (more > 0).then(|| ("events".to_owned(), format!("{} more before these", units::grouped(more))));
    more.into_iter().chain(all[earlier..].iter().map(line)).collect()
}

/// Returns the parts of the server's state that could not be read, each with the reason.
pub(crate) fn unread(timeline: &Timeline) -> ReportTable {
    let rows = timeline.unread().into_iter().map(|(part, why)| vec![part, why]).collect();
    table("Not read", &["part", "why"], 2, rows)
}
