//! Without load, this panel shows possible reasons for a slow server: slow commands with their callers, the clients,
//! and this machine with its busiest programs.
//!
//! ```text
//!  ├─ slow commands, 60 s ───
//!  │  92 % KEYS *
//!  │ 10.0.0.7:51234
//!  ├─ PING: wire 97 % ───────
//!  │ owwwwwwwwwwwwwwwwwwwwwsx
//!  ├─ clients ───────────────
//!  │ connected 5012 new 4.8 k/s
//!  ├─ this machine ──────────
//!  │ cores ▂█  server 39 %
//!  │ server waits       61 %
//!  │ ffmpeg 4211        98 %
//! ```

use std::cmp::Reverse;

use ratatui::layout::Rect;

use super::{
    panel::{MACHINE_ROWS, section},
    server_figures::flowing,
    spent, tables,
};
use crate::{
    app::Model,
    events::EventKind,
    gauge::Gauge,
    host::{HostSample, Process},
    session::timeline::Reading,
    tui::{Ink, Paint, cut, from_column, row},
    units,
};

/// The period over which slow commands are counted, in seconds.
const MINUTE_S: f64 = 60.0;
/// The maximum number of callers and of programs in the lists.
const MOST: usize = 4;
/// The smallest CPU use of a listed program, as a share of a core.
const LEAST_CPU: f64 = 0.02;

/// The sum of the slow log entries with the same command and the same client.
#[derive(Debug, Clone, PartialEq)]
struct Caller<'a> {
    command: &'a str,
    /// The address of the client, without the port if the client had several connections. Empty if unknown.
    client: &'a str,
    count: usize,
    sum_us: u64,
    longest_us: u64,
}

/// Returns whether redyno has not read all slow log entries of the last minute in full.
fn lacks_entries(reading: &Reading) -> bool {
    let from_s = reading.now_s() - MINUTE_S;
    let mut recent = reading.events().rev().take_while(|event| event.t_s >= from_s);
    recent.any(|event| matches!(event.what, EventKind::MoreSlowCommands { .. }))
}

/// Returns the callers of slow commands in the last minute before the moment shown, sorted by total time.
fn callers<'a>(reading: &Reading<'a>) -> Vec<Caller<'a>> {
    let mut callers: Vec<Caller> = Vec::new();
    let from_s = reading.now_s() - MINUTE_S;
    for event in reading.events().rev().take_while(|event| event.t_s >= from_s) {
        let EventKind::SlowCommand { us, command, client, .. } = &event.what else { continue };
        let client = client.as_deref().unwrap_or_default();
        match callers
            .iter_mut()
            .find(|caller| caller.command == command && host(caller.client) == host(client))
        {
            Some(caller) => {
                if caller.client != client {
                    caller.client = host(client);
                }
                caller.count += 1;
                caller.sum_us = caller.sum_us.saturating_add(*us);
                caller.longest_us = caller.longest_us.max(*us);
            }
            None => callers.push(Caller { command, client, count: 1, sum_us: *us, longest_us: *us }),
        }
    }
    callers.sort_by_key(|caller| Reverse(caller.sum_us));
    callers
}

/// Returns the host of an address such as `10.0.0.7:51234 (name)`.
fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

/// Draws the sections at the top of `rest`, and removes their rows from `rest`.
pub fn draw(paint: &mut Paint, rest: &mut Rect, model: &Model, reading: &Reading) {
    let callers = callers(reading);
    let shown = &callers[..callers.len().min(MOST)];
    if !shown.is_empty() {
        let length_s = reading.now_s().clamp(1.0, MINUTE_S);
        let title = format!("slow commands, {length_s:.0} s");
        let place = section(paint, rest, &title, 2 * shown.len() as u16);
        let place = Rect { width: place.width.saturating_sub(1), ..place };
        let least = if lacks_entries(reading) { "≥" } else { "" };
        for (n, caller) in (0..).zip(shown) {
            let share = units::percent(caller.sum_us as f64 / (length_s * 1e6));
            draw_caller(
                paint,
                [row(place, 2 * n), row(place, 2 * n + 1)],
                caller,
                &format!("{least}{share}"),
            );
        }
    }
    if let Some(ping) = model.spent().first() {
        let place = section(paint, rest, &spent::heading(ping), 1);
        spent::draw_bar(paint, Rect { width: place.width.saturating_sub(1), ..place }, ping);
    }
    clients(paint, rest, reading);
    let machine = reading.host().map(|moment| &moment.body);
    let width = usize::from(rest.width.saturating_sub(3));
    let lines = machine.map_or_else(Vec::new, |sample| machine_lines(paint, sample, width));
    let place = section(paint, rest, "this machine", lines.len() as u16 + MACHINE_ROWS);
    for (n, line) in (0..).zip(&lines) {
        paint.text(row(place, n), &line.name, line.ink);
        paint.right(Rect { width: place.width.saturating_sub(1), ..row(place, n) }, &line.value, Ink::Strong);
    }
    let below = (lines.len() as u16).min(place.height);
    let probes = Rect { y: place.y + below, height: place.height - below, ..place };
    tables::machine(paint, probes, model, reading);
}

fn draw_caller(paint: &mut Paint, [what, who]: [Rect; 2], caller: &Caller, share: &str) {
    paint.parts(what, &[(format!("{share:>5} "), Ink::Strong), (caller.command.to_owned(), Ink::Warn)]);
    let longest = units::latency(caller.longest_us.saturating_mul(1000));
    let times = if caller.count == 1 { longest } else { format!("{} × to {longest}", caller.count) };
    let (client, rest) = match caller.client {
        "" => ("unknown client", format!(", {times}")),
        client => (client, format!("  {times}")),
    };
    // The caller is more important than the number of calls, and a cut number would be a wrong number.
    let x = paint.text(who, client, Ink::Text);
    let rest_at = from_column(who, x);
    if rest.chars().count() <= rest_at.width.into() {
        paint.text(rest_at, &rest, Ink::Faint);
    }
}

/// The figures about clients. Figures that indicate a problem are shown only if they are not zero.
const OF_CLIENTS: [Gauge; 8] = [
    Gauge::Clients,
    Gauge::NewConnections,
    Gauge::BlockedClients,
    Gauge::RejectedClients,
    Gauge::OutputLimit,
    Gauge::OutputBuffer,
    Gauge::InputBuffer,
    Gauge::ClientMemory,
];

fn clients(paint: &mut Paint, rest: &mut Rect, reading: &Reading) {
    let Some(status) = reading.status() else { return };
    let area = Rect { x: rest.x + 2, width: rest.width.saturating_sub(3), ..*rest };
    let flowing = flowing(&status.body, &OF_CLIENTS, area.width);
    let mut groups: Vec<_> = status.body.clients.iter().flat_map(|clients| &clients.groups).collect();
    groups.retain(|group| !group.is_own);
    groups.sort_by_key(|group| Reverse((group.commands, group.new, group.clients)));
    groups.truncate(MOST);
    let rows = flowing.rows().min(4);
    if rows == 0 && groups.is_empty() {
        return;
    }
    let place = section(paint, rest, "clients", rows + groups.len() as u16);
    flowing.draw(paint, Rect { width: area.width, height: rows.min(place.height), ..place });
    for (n, group) in (rows..).zip(groups) {
        let who = [&group.name, &group.host, &group.library].map(|part| part.as_deref().unwrap_or_default());
        let who: Vec<_> = who.into_iter().filter(|part| !part.is_empty()).collect();
        let new = if group.new > 0 { format!(", {} new", group.new) } else { String::new() };
        let text = format!("{}{new}  {}", units::count(group.clients as f64), who.join(" "));
        paint.text(Rect { width: area.width, ..row(place, n) }, &text, Ink::Text);
    }
}

/// A line about this machine: a name, and a value on the right.
struct MachineLine {
    name: String,
    value: String,
    ink: Ink,
}

/// Returns the lines about this machine. Each line is at most `width` columns wide.
fn machine_lines(paint: &Paint, sample: &HostSample, width: usize) -> Vec<MachineLine> {
    let mut lines = Vec::new();
    let mut put = |name: String, value: String, ink| lines.push(MachineLine { name, value, ink });
    let share = |gauge: Gauge| sample.gauges.get(gauge).map(|value| (value, gauge.written(value)));
    if !sample.cores.is_empty() {
        let bars = paint.glyphs().bars;
        let bar = |share: &f64| bars[(share.clamp(0.0, 1.0) * 7.0).round() as usize];
        // The narrowest panel has room for 12 cores.
        let cores: String = sample.cores.iter().take(12).map(bar).collect();
        put(format!("cores {cores}"), share(Gauge::HostCpu).map_or_else(String::new, |cpu| cpu.1), Ink::Text);
    }
    for (gauge, name) in [
        (Gauge::ServerCpu, "server uses"),
        (Gauge::ServerRunDelay, "server waits"),
        (Gauge::HostSteal, "steal"),
        (Gauge::HostThrottled, "throttled"),
    ] {
        let Some((value, text)) = share(gauge) else { continue };
        if value >= 0.005 || gauge == Gauge::ServerCpu {
            put(name.to_owned(), text, Ink::Text);
        }
    }
    let busy = |process: &&Process| process.cpu >= LEAST_CPU;
    for process in sample.busy.iter().filter(busy).take(MOST) {
        let (cpu, pid) = (units::percent(process.cpu), process.pid.to_string());
        let name = cut(&process.name, width.saturating_sub(pid.len() + cpu.chars().count() + 2));
        put(format!("{name} {pid}"), cpu, Ink::Server);
    }
    lines
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::{
        session::{Event, Record, Timeline, TimelineOptions},
        tui::theme::{Colours, GlyphSet, Theme},
    };

    #[test]
    fn a_long_program_name_leaves_room_for_the_process_id_and_the_cpu_share() {
        let mut buffer = Buffer::empty(Rect::default());
        let paint = Paint::new(&mut buffer, Theme::new(Colours::Ansi16, GlyphSet::Unicode));
        let process =
            Process { pid: 14_533, name: "clippy-driver".to_owned(), cpu: 0.34, ..Process::default() };
        let sample = HostSample { busy: vec![process], ..HostSample::default() };
        let lines = machine_lines(&paint, &sample, 20);
        assert_eq!((lines[0].name.as_str(), lines[0].value.as_str()), ("clippy-d… 14533", "34 %"));
    }

    #[test]
    fn slow_commands_are_summed_by_caller_and_the_largest_sum_is_first() {
        let mut timeline = Timeline::new(TimelineOptions::default());
        let slow = |t_s: f64, us, command: &str, client: &str| {
            let what = crate::tui::fixture::slow_command(us, command, Some(client));
            Record::Event(Event::new(t_s, what))
        };
        for record in [
            slow(1.0, 9_000_000, "HGETALL old", "10.0.0.9:1"),
            slow(70.0, 300_000, "KEYS *", "10.0.0.7:51234"),
            slow(71.0, 900_000, "SORT a", "10.0.0.8:7 (web)"),
            slow(72.0, 800_000, "KEYS *", "10.0.0.7:51299"),
        ] {
            timeline.push(&record);
        }
        let reading = timeline.latest();
        let of = |command, client, count, sum_us, longest_us| Caller {
            command,
            client,
            count,
            sum_us,
            longest_us,
        };
        let expected = [
            of("KEYS *", "10.0.0.7", 2, 1_100_000, 800_000),
            of("SORT a", "10.0.0.8:7 (web)", 1, 900_000, 900_000),
        ];
        assert_eq!(callers(&reading).len(), if reading.now_s() > 61.0 { 2 } else { 3 });
        assert_eq!(callers(&reading)[callers(&reading).len() - 2..], expected);
        assert!(!lacks_entries(&reading));
        timeline
            .push(&Record::Event(Event::new(72.0, EventKind::MoreSlowCommands { entries: 8, unread: 0 })));
        assert!(lacks_entries(&timeline.latest()), "the shares are too small");
    }
}
