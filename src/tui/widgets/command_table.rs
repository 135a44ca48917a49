//! The table of all clients' commands in the last minute, sorted by their total time. The table shows the commands'
//! share of the main thread's time, their rate, and their execution times. One line has the sum of redyno's own
//! commands.
//!
//! ```text
//! ─ commands by time, 60 s ──────────────  time  calls/s   mean    p50     p99   p99.9  failed rejected
//!  keys                       ▇▇▇▇▇▇▇▇▇▇   92 %     3 /s  307 ms
//!  get                        ▇             8 %  110 k/s  0.9 µs  ≤1 µs   ≤4 µs  ≤33 µs       0        0
//!   and 4 more, 3 /s   redyno itself 0.1 %, 105 /s
//! ```
//! Times are execution times, without waiting. Percentiles come from LATENCY HISTOGRAM, whose buckets are about powers
//! of two. The true percentile is therefore between half of the shown value and the shown value. The heading of the
//! table shows whether the server reports percentiles only since its start.

use ratatui::layout::Rect;

use super::{
    figures::NONE,
    table::{ScreenTable, TableColumn, fitting},
};
use crate::{
    protocol::DialectWords,
    server::CommandStat,
    session::timeline::CommandCell,
    tui::{Ink, Paint, row},
    units,
};

/// The columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandColumn {
    Name,
    Bar,
    Share,
    Calls,
    Mean,
    P50,
    P99,
    P999,
    Failed,
    Rejected,
}

use CommandColumn::{Bar, Calls, Failed, Mean, Name, P50, P99, P999, Rejected, Share};

/// The columns from left to right, with their headings and widths.
const FIGURES: [(CommandColumn, &str, u16); 9] = [
    (Bar, "", 11),
    (Share, "time", 7),
    (Calls, "calls/s", 9),
    (Mean, "mean", 8),
    // The width of `≤2.11 ms`.
    (P50, "p50", 9),
    (P99, "p99", 9),
    (P999, "p99.9", 9),
    (Failed, "failed", 8),
    (Rejected, "rejected", 9),
];
/// The columns, the most important first.
const NEEDED: [CommandColumn; 9] = [Share, Calls, Mean, P99, Bar, P50, P999, Failed, Rejected];
/// The minimum and the maximum width of names. With wider names, the figures would be too far from the names.
const NAME: (u16, u16) = (15, 36);

/// The longest execution time that a bounded bucket of LATENCY HISTOGRAM counts, in µs. The last bucket counts all
/// longer times.
const LONGEST_US: u64 = 1_000_000;

/// Draws the heading and as many commands as fit. `ink` returns the ink of a command that has a line in a chart.
pub fn draw(
    paint: &mut Paint,
    area: Rect,
    commands: &CommandCell,
    words: &DialectWords,
    ink: impl Fn(&str) -> Option<Ink>,
) {
    if area.height == 0 {
        return;
    }
    let table = table(area, commands);
    let end = table.cell(0, Bar).area.right().max(table.cell(0, Name).area.right());
    let heading = Rect { width: end - area.x, ..row(area, 0) };
    paint.rule(heading, &title(commands, heading.width));
    for (figure, text, _) in FIGURES {
        table.cell(0, figure).write(paint, text, Ink::Faint);
    }
    let (others, own) = split_own_commands(commands);
    if others.is_empty() && own.calls == 0 {
        paint.text(row(area, 1), &format!(" {}", words.no_commands), Ink::Faint);
    }
    let room = usize::from(area.height - 1);
    let has_foot = own.calls > 0 || others.len() > room;
    let rows = others.len().min(if has_foot && room > 2 { room - 1 } else { room });
    for (n, (name, stat)) in (1..).zip(&others[..rows]) {
        table.write(paint, n, |figure, _| match figure {
            Name => (name.replace('|', " "), ink(name).unwrap_or(Ink::Text)),
            figure => written(figure, stat, commands),
        });
        bar(paint, table.cell(n, Bar).area, share(stat, commands).unwrap_or(0.0), ink(name));
    }
    if rows < room {
        let foot = foot(&others[rows..], &own, commands);
        paint.text(row(area, rows as u16 + 1), &format!(" {foot}"), Ink::Faint);
    }
}

/// Returns the most important columns that fit into `area`.
fn table(area: Rect, commands: &CommandCell) -> ScreenTable<CommandColumn> {
    let width = |figure: CommandColumn| {
        FIGURES.iter().find(|(known, ..)| *known == figure).map_or(0, |(.., width)| *width)
    };
    let is_known = |figure: &CommandColumn| match figure {
        P50 | P99 | P999 => !has_means_only(commands),
        Bar | Share | Mean => commands.stats.is_empty() || commands.stats.values().any(|stat| stat.usec > 0),
        _ => true,
    };
    let needed: Vec<_> = NEEDED.into_iter().filter(is_known).collect();
    let fit = fitting(area.width.saturating_sub(NAME.0), needed.iter().map(|figure| width(*figure)));
    let shown = FIGURES.into_iter().filter(|(figure, ..)| needed[..fit].contains(figure));
    let columns: Vec<_> = shown.clone().map(|(figure, _, width)| TableColumn::right(figure, width)).collect();
    let figures: u16 = shown.map(|(.., width)| width).sum();
    let area = Rect { width: area.width.min(NAME.1 + figures), ..area };
    ScreenTable::new(area, std::iter::once(TableColumn::rest(Name, 1)).chain(columns))
}

/// Draws the share of the main thread's time as a bar. A full bar is 100 %.
fn bar(paint: &mut Paint, area: Rect, share: f64, ink: Option<Ink>) {
    let length = (share * f64::from(area.width.saturating_sub(1))).round() as u16;
    let glyph = paint.glyphs().bars[6];
    let x = area.x + 1;
    (x..(x + length).min(area.right())).for_each(|x| paint.bar(x, area.y, glyph, ink.unwrap_or(Ink::Server)));
}

/// Returns the share of the main thread's time. Returns `None` if the server reports no times (memcached).
fn share(stat: &CommandStat, commands: &CommandCell) -> Option<f64> {
    (stat.usec > 0 && commands.length_s > 0.0).then(|| stat.usec as f64 / (commands.length_s * 1e6))
}

/// Returns the line below the commands: the number and rate of commands that are not listed, and the commands of redyno
/// itself.
fn foot(rest: &[(&str, CommandStat)], own: &CommandStat, commands: &CommandCell) -> String {
    let rate = |calls: u64| units::rate(calls as f64 / commands.length_s);
    let more = (!rest.is_empty()).then(|| {
        let calls = rest.iter().map(|(_, stat)| stat.calls).sum();
        format!("and {} more, {}", rest.len(), rate(calls))
    });
    let itself = (own.calls > 0).then(|| {
        let share = share(own, commands).map_or_else(String::new, |share| units::percent(share) + ", ");
        format!("redyno itself {share}{}", rate(own.calls))
    });
    more.into_iter().chain(itself).collect::<Vec<_>>().join("   ")
}

/// The number of PINGs per second that the probe sends.
const PINGS_PER_S: f64 = 100.0;

/// Returns the commands of other clients, sorted by total time, and the sum of redyno's own commands. The PINGs of
/// the probe count as redyno's own, unless other clients send PINGs as well.
fn split_own_commands(commands: &CommandCell) -> (Vec<(&str, CommandStat)>, CommandStat) {
    let mut own = commands.own.clone();
    let mut others = Vec::new();
    for (name, stat) in &commands.stats {
        // After a stall, the probe may send a few more PINGs than usual.
        if name == "ping" && stat.calls as f64 <= PINGS_PER_S * 1.1 * commands.length_s {
            own.merge(&CommandStat { times: None, ..CommandStat::clone(stat) });
        } else {
            others.push((name.as_str(), CommandStat::clone(stat)));
        }
    }
    others.sort_by_key(|(_, stat)| std::cmp::Reverse((stat.usec, stat.calls)));
    (others, own)
}

/// The time until the first percentiles are known, in seconds. Percentiles need three polls.
const SOON_S: f64 = 4.0;

/// Returns whether percentiles are unknown, because the recording is old or the server does not track latencies.
fn has_means_only(commands: &CommandCell) -> bool {
    let has_none = |stat: &CommandStat| stat.times.is_none() && stat.since_start_us.is_empty();
    commands.length_s > SOON_S && commands.stats.values().all(|stat| has_none(stat))
}

/// The width of `commands by time, 60 s` in a horizontal rule.
const ROOM_FOR_TITLE: u16 = 25;

fn title(commands: &CommandCell, width: u16) -> String {
    let has = |of: fn(&CommandStat) -> bool| commands.stats.values().any(|stat| of(stat));
    let is_since_start = has(|stat| !stat.since_start_us.is_empty()) && !has(|stat| stat.times.is_some());
    let note = if is_since_start { ", p since its start" } else { "" };
    match commands.length_s.min(60.0) {
        0.0 => "commands".to_owned(),
        length_s if commands.stats.values().any(|stat| stat.usec > 0) => {
            let what = if width >= ROOM_FOR_TITLE { "commands by time" } else { "by time" };
            format!("{what}, {length_s:.0} s{note}")
        }
        length_s => format!("commands, {length_s:.0} s{note}"),
    }
}

fn written(figure: CommandColumn, stat: &CommandStat, commands: &CommandCell) -> (String, Ink) {
    let text = match figure {
        Calls => Some(units::rate(stat.calls as f64 / commands.length_s)),
        Share => share(stat, commands).map(units::percent),
        Mean => stat.mean_us().map(|us| units::latency((us * 1e3) as u64)),
        P50 => percentile(stat, 0.5, "p50"),
        P99 => percentile(stat, 0.99, "p99"),
        P999 => percentile(stat, 0.999, "p99.9"),
        Name | Bar => return (String::new(), Ink::Text),
        Failed => return count(stat.failed),
        Rejected => return count(stat.rejected),
    };
    text.map_or((NONE.to_owned(), Ink::Faint), |text| (text, Ink::Text))
}

/// Returns a count of errors, in a warning colour if the count is not zero.
fn count(n: Option<u64>) -> (String, Ink) {
    match n {
        Some(n) if n > 0 => (units::count(n as f64), Ink::Bad),
        n => (n.map_or(NONE, |_| "0").to_owned(), Ink::Faint),
    }
}

/// Returns a percentile as text: `≤16 µs` for the last minute, or `16.1 µs` since the server's start.
fn percentile(stat: &CommandStat, quantile: f64, name: &str) -> Option<String> {
    match &stat.times {
        Some(times) => times.percentile(quantile).map(bounded),
        None => stat.since_start_us.get(name).map(|us| units::latency((us * 1e3) as u64)),
    }
}

/// Returns the text for a histogram bucket with the upper bound `up_to_us`.
fn bounded(up_to_us: u64) -> String {
    let written = |us: u64| super::figures::decade(us.saturating_mul(1000));
    if up_to_us > LONGEST_US {
        format!(">{}", written(up_to_us / 2))
    } else {
        format!("≤{}", written(up_to_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_by_its_upper_bound_and_the_last_bucket_by_its_lower_bound() {
        assert_eq!(
            [1, 33, 1056, 540_672, 1_081_344].map(bounded),
            ["≤1 µs", "≤33 µs", "≤1.06 ms", "≤541 ms", ">541 ms"]
        );
    }

    #[test]
    fn the_command_with_the_most_time_is_first_and_redynos_commands_are_separate() {
        let stat = |calls, usec| CommandStat { calls, usec, ..CommandStat::default() };
        let stats = [
            ("get", stat(900_000, 500_000)),
            ("keys", stat(30, 9_200_000)),
            ("ping", stat(1000, 900)),
            ("config|get", stat(400, 300)),
        ];
        let stats = stats.map(|(name, stat)| (name.to_owned(), Box::new(stat))).into();
        let commands = CommandCell { length_s: 10.0, stats, own: stat(10, 800) };
        let (others, own) = split_own_commands(&commands);
        let names: Vec<_> = others.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["keys", "get", "config|get"]);
        assert_eq!(share(&others[0].1, &commands), Some(0.92));
        assert_eq!(foot(&others[2..], &own, &commands), "and 1 more, 40/s   redyno itself 0.02 %, 101/s");
    }

    #[test]
    fn a_percentile_is_for_the_last_minute_or_else_since_the_start() {
        let mut stat =
            CommandStat { since_start_us: [("p99".to_owned(), 7.0)].into(), ..CommandStat::default() };
        let percentiles =
            |stat: &CommandStat| [(0.99, "p99"), (0.999, "p99.9")].map(|(q, name)| percentile(stat, q, name));
        assert_eq!(percentiles(&stat), [Some("7.00 µs".to_owned()), None]);
        stat.times = Some(vec![(1, 900), (16, 100)].into());
        assert_eq!(percentiles(&stat), [Some("≤16 µs".to_owned()), None], "fewer than ten above");
    }
}
