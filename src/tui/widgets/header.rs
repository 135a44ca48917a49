//! The header is the first line of the screen: the target, the state of the load, and the time.
//!
//! The footer is the last line of the screen: the available keys at the left, and the screens at the right.

use ratatui::layout::Rect;

use super::{status, table::fitting};
use crate::{
    app::{self, LoadState, Model, Playback, RecordingState, Screen, Spot},
    diagnose::Severity,
    session::{Encryption, timeline::Reading},
    tui::{Glyphs, Ink, Paint, from_column},
    units,
};

/// Draws the header. The target is on the left, and changing states are on the right.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    let mut parts = identity(reading);
    let address =
        |parts: &[(String, Ink)]| parts[..2].iter().map(|(text, _)| text.chars().count()).sum::<usize>();
    let right = right_side(model, reading, paint.glyphs(), area.width);
    let has_room = address(&parts) + 2 + length(&right) <= area.width.into();
    if let Some(name) =
        reading.session().and_then(|session| session.target.name.as_ref()).filter(|_| !has_room)
    {
        parts[1].0 = format!("@{name}");
    }
    if area.width < 60 || address(&parts) + 2 + length(&right) > area.width.into() {
        // The target's address is more important than the program's own name.
        parts[0].0 = " ".to_owned();
    }
    let room = usize::from(area.width).saturating_sub(address(&parts) + 2);
    let right = beside_address(right, room, model.playback.is_some());
    let right_x = area.right().saturating_sub(length(&right) as u16);
    let left = Rect { width: right_x.saturating_sub(area.x + 2), ..area };
    let room = usize::from(left.width).saturating_sub(parts[0].0.chars().count());
    parts[1].0 = shortened(&parts[1].0, room);
    let shown = fitting(left.width, parts.iter().map(|(text, _)| text.chars().count() as u16));
    paint.parts(left, &parts[..shown]);
    let right: Vec<_> = right.into_iter().map(|(text, ink, _)| (text, ink)).collect();
    paint.parts(from_column(area, right_x), &right);
}

/// Returns `text`, with `…` in the middle if `text` is longer than `width`: `/run/very…/redis.sock`.
pub fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (start, end) = (kept / 2, length - kept.div_ceil(2));
    text.chars().take(start).chain(['…']).chain(text.chars().skip(end)).collect()
}

/// A part of the right side: its text, its ink and its rank. If the header is too narrow, the parts with the highest
/// ranks are left out first. Parts are never cut.
type HeaderPart = (String, Ink, u8);

/// The rank of the segment. The clock has a higher rank.
const SEGMENT: u8 = 8;
/// The rank of a warning.
const WARNING: u8 = 6;
/// The rank of a problem.
const PROBLEM: u8 = 5;

fn length(parts: &[HeaderPart]) -> usize {
    parts.iter().map(|(text, ..)| text.chars().count()).sum()
}

/// Returns the parts that fit into `room`, beside the address. The address is more important than the segment, the
/// clock and findings. In a recording, the address is more important than all parts with a high rank. If the address
/// does not fit even without these parts, they are kept.
fn beside_address(right: Vec<HeaderPart>, room: usize, is_recorded: bool) -> Vec<HeaderPart> {
    if is_recorded {
        return shed(right, room, 0);
    }
    let mut shorter = [SEGMENT, WARNING, PROBLEM].into_iter().map(|rank| shed(right.clone(), room, rank));
    shorter.find(|parts| length(parts) <= room).unwrap_or(right)
}

/// Returns the parts that fit into `width`. The least important parts are left out first. Only parts of at least this
/// `rank` are left out.
fn shed(mut parts: Vec<HeaderPart>, width: usize, rank: u8) -> Vec<HeaderPart> {
    while length(&parts) > width {
        let can_go = |n: &usize| parts[*n].2 >= rank;
        let Some(least) = (0..parts.len()).rev().filter(can_go).max_by_key(|&n| parts[n].2) else { break };
        parts.remove(least);
    }
    parts
}

/// Returns the identity of the server, the most important part first. The parts are the address of the target, the
/// server's name, version, role and mode. If Sentinels name the primary, its present address is added.
fn identity(reading: &Reading) -> Vec<(String, Ink)> {
    let mut parts = vec![(" redyno  ".to_owned(), Ink::Faint)];
    let Some(session) = reading.session() else {
        parts.push(("connecting".to_owned(), Ink::Text));
        return parts;
    };
    let target = &session.target;
    let address = if target.built_in { "built-in server, " } else { "" };
    parts.push((format!("{address}{}", target.named_address()), Ink::Strong));
    match target.tls {
        Encryption::None => {}
        Encryption::Verified => parts.push(("  TLS".to_owned(), Ink::Text)),
        Encryption::CaOnly => parts.push(("  TLS, name unchecked".to_owned(), Ink::Text)),
        Encryption::Unverified => parts.push(("  TLS, unverified".to_owned(), Ink::Warn)),
    }
    let said = reading.status().map(|status| &status.body);
    if let Some(present) = said.and_then(|status| status.address.as_ref()) {
        parts.insert(2, (format!("  {present}"), Ink::Strong));
    }
    let server = said.map_or_else(|| target.server.clone(), |s| format!("{} {}", s.name, s.version));
    let role = said.map_or(&target.role, |s| &s.role);
    let mode = said.map_or(&target.mode, |s| &s.mode);
    for part in [server.as_str(), role, mode] {
        if !part.trim().is_empty() {
            parts.push((format!("  {}", part.trim()), Ink::Text));
        }
    }
    parts
}

/// The minimum width at which the header shows whether the target answers, or the time when it stopped answering.
const ROOM_FOR_SINCE: u16 = 100;

/// The minimum width at which the header shows the cause of an outage next to the target.
const ROOM_FOR_EVIDENCE: u16 = 140;

fn right_side(model: &Model, reading: &Reading, glyphs: &Glyphs, width: u16) -> Vec<HeaderPart> {
    let mut parts: Vec<HeaderPart> = Vec::new();
    let mut put = |(text, ink): (String, Ink), shed: u8| parts.push((format!("  {text}"), ink, shed));
    if let Some(playback) = &model.playback {
        put((replay(playback, width), Ink::Warn), 3);
    } else if model.cursor_s().is_some() {
        put(("FROZEN".to_owned(), Ink::Warn), 3);
    }
    if let Some(state) = &model.recording {
        put(recording(state, model, glyphs, width), 7);
    }
    if let Some(state) = reachability(model, width >= ROOM_FOR_SINCE) {
        put(state, 2);
    }
    // A narrower header has no room for findings; the status line below shows the first finding.
    let findings = model.findings();
    for finding in findings.iter().filter(|finding| width >= 60 && finding.severity > Severity::Note) {
        let is_bad = finding.severity == Severity::Problem;
        let room = usize::from(is_bad && width >= ROOM_FOR_EVIDENCE);
        let known_by: String = finding.evidence.iter().take(room).map(|words| format!(" {words}")).collect();
        let shed = if is_bad { PROBLEM } else { WARNING };
        put((finding.rule.to_uppercase() + &known_by, status::ink(finding.severity)), shed);
    }
    put(load(model, glyphs), 1);
    if let Some(segment) = reading.segment().filter(|_| width >= 60) {
        let aside = segment.start.aside().map_or_else(String::new, |aside| format!(" {aside}"));
        put((format!("segment {}{aside}", segment.start.segment), Ink::Text), SEGMENT);
    }
    put((units::elapsed((model.moment_s() * 1e9) as u64), Ink::Text), 0);
    if let Some(clock) = reading.timeline.wall_clock().filter(|_| width >= ROOM_FOR_SINCE) {
        put((clock.time(model.moment_s()), Ink::Strong), 9);
    }
    parts.push((" ".to_owned(), Ink::Text, 9));
    shed(parts, width.into(), 0)
}

/// Returns the state of recording, with its size and duration if there is room.
fn recording(state: &RecordingState, model: &Model, glyphs: &Glyphs, width: u16) -> (String, Ink) {
    let room = width >= ROOM_FOR_SINCE;
    let size = if room {
        let for_s = units::clock((model.timeline().now_s - state.since_s).max(0.0));
        format!(" {} {for_s}", units::bytes(state.bytes))
    } else {
        String::new()
    };
    (format!("{} REC{size}", glyphs.on), Ink::Bad)
}

/// Returns the speed of playing, and the name of the recording if there is room.
fn replay(playback: &Playback, width: u16) -> String {
    let name = playback.file.rsplit('/').next().unwrap_or_default();
    let file = if width >= ROOM_FOR_SINCE { format!(" {name}") } else { String::new() };
    let state = if playback.is_playing { "playing" } else { "paused" };
    format!("REPLAY{file}, {state} {}×", playback.speed())
}

/// Returns whether the target answers. If there is room, also returns the start of an outage.
fn reachability(model: &Model, in_full: bool) -> Option<(String, Ink)> {
    match model.shown().outage() {
        Some((since_s, _)) if in_full => {
            Some((format!("UNREACHABLE since {}", model.timeline().time_text(since_s)), Ink::Bad))
        }
        Some(_) => Some(("UNREACHABLE".to_owned(), Ink::Bad)),
        None if !in_full => None,
        None if model.track().has_answered() => Some(("connected".to_owned(), Ink::Text)),
        None => Some(("connecting".to_owned(), Ink::Warn)),
    }
}

/// Returns the state of the load. While a change is pending, the sign of the load blinks.
fn load(model: &Model, glyphs: &Glyphs) -> (String, Ink) {
    let is_even = ((model.timeline().now_s * 4.0) as u64).is_multiple_of(2);
    let pulse = if is_even { glyphs.on } else { glyphs.off };
    match model.load_state() {
        LoadState::On => (format!("{} LOAD", glyphs.on), Ink::Good),
        LoadState::Off => (format!("{} load off", glyphs.off), Ink::Text),
        LoadState::Settling => (format!("{pulse} settling"), Ink::Warn),
        LoadState::Asking if model.in_force().load => (format!("{} LOAD: y or n?", glyphs.on), Ink::Warn),
        LoadState::Asking => (format!("{} load: y or n?", glyphs.off), Ink::Warn),
        LoadState::Waiting => (format!("{} load waits", glyphs.off), Ink::Warn),
    }
}

/// Draws the footer: the key hints that fit, and the screens.
pub fn footer(paint: &mut Paint, area: Rect, model: &Model) {
    let tabs = tabs(model, area.width);
    let length: usize = tabs.iter().map(|(_, text, _)| text.chars().count()).sum();
    let tabs_x = area.right().saturating_sub(length as u16);
    let mut rest = from_column(area, tabs_x);
    for (screen, text, ink) in tabs {
        let x = paint.text(rest, &text, ink);
        paint.spot(Rect { width: x - rest.x, ..rest }, Spot::Tab(screen));
        rest = from_column(area, x);
    }
    let width = usize::from((tabs_x - area.x).saturating_sub(2));
    let mut rest = Rect { width: tabs_x.saturating_sub(area.x + 1), ..from_column(area, area.x + 1) };
    for (keys, word) in app::footer(&model.contexts(), width, |keys| paint.theme.keys(keys)) {
        let x = paint.parts(
            rest,
            &[(keys.as_str(), Ink::Strong), (" ", Ink::Text), (word, Ink::Faint), ("  ", Ink::Text)],
        );
        rest = Rect { width: tabs_x.saturating_sub(x), ..from_column(area, x) };
    }
}

/// The minimum width at which the footer shows the names of all screens.
const ROOM_FOR_NAMES: u16 = 110;
/// The minimum width of a footer that shows the screens. A narrower footer has room only for key hints.
const ROOM_FOR_TABS: u16 = 60;

/// Returns the tabs of all screens: their keys, and their names if there is room.
fn tabs(model: &Model, width: u16) -> Vec<(Screen, String, Ink)> {
    if width < ROOM_FOR_TABS {
        return Vec::new();
    }
    let tab = |screen: Screen| {
        let is_shown = screen == model.screen;
        let text = if is_shown || width >= ROOM_FOR_NAMES {
            format!(" {} {} ", screen.key(), screen.name())
        } else {
            format!(" {} ", screen.key())
        };
        (screen, text, if is_shown { Ink::Selected } else { Ink::Faint })
    };
    model.screens().map(tab).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Msg, update},
        knobs::Knobs,
        server::Status,
        session::{Delivery, Moment, Record, Segment, ServerIdentity, SessionStart, TimelineOptions},
        tui::theme::{Colours, GlyphSet, Theme},
    };

    #[test]
    fn the_least_important_part_is_left_out_first_and_the_clock_stays() {
        let part = |text: &str, shed| (format!("  {text}"), Ink::Text, shed);
        let parts = || {
            vec![
                part("REPLAY run.jsonl, paused 0.25×", 3),
                part("UNREACHABLE", 2),
                part("OVERLOADED", 5),
                part("CLIENT LIMIT", 6),
                part("* LOAD", 1),
                part("segment 12 warm-up", 8),
                part("00:04:12", 0),
                (" ".to_owned(), Ink::Text, 9),
            ]
        };
        let fitting = |width| shed(parts(), width, 0).into_iter().map(|(text, ..)| text).collect::<String>();
        assert_eq!(fitting(200).chars().count(), length(&parts()));
        assert_eq!(fitting(64), "  REPLAY run.jsonl, paused 0.25×  UNREACHABLE  * LOAD  00:04:12");
        assert_eq!(fitting(60), "  UNREACHABLE  * LOAD  00:04:12");
        assert_eq!(fitting(10), "  00:04:12");
    }

    #[test]
    fn the_address_is_more_important_than_findings_if_it_fits_without_them() {
        let part = |text: &str, rank| (format!("  {text}"), Ink::Text, rank);
        let parts = [part("STALL", PROBLEM), part("CORE TAKEN", WARNING), part("* LOAD", 1)];
        let parts = [&parts[..], &[part("segment 4", SEGMENT), part("00:04", 0)]].concat();
        let shown = |room| {
            beside_address(parts.clone(), room, false).into_iter().map(|(text, ..)| text).collect::<String>()
        };
        assert_eq!(shown(34), "  STALL  CORE TAKEN  * LOAD  00:04");
        assert_eq!(shown(24), "  STALL  * LOAD  00:04");
        assert_eq!(shown(18), "  * LOAD  00:04");
        assert_eq!(shown(9), "  STALL  CORE TAKEN  * LOAD  segment 4  00:04");
    }

    /// Returns the header of a session with this target.
    fn header(target: ServerIdentity, width: u16) -> String {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let begun = [
            Record::Session(SessionStart::now(target)),
            Record::Segment(Segment::new(0.0, 1, Knobs::default())),
        ];
        for record in begun {
            update(&mut model, Msg::Delivery(Delivery::Record(std::sync::Arc::new(record))));
        }
        let mut buffer = ratatui::buffer::Buffer::empty(Rect::new(0, 0, width, 1));
        let area = buffer.area;
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Ascii));
        draw(&mut paint, area, &model, &model.shown());
        (0..width).map(|x| buffer[(x, 0)].symbol()).collect()
    }

    #[test]
    fn the_address_is_more_important_than_the_segment_and_the_clock() {
        let address = "my-cache.abc123.euw1.cache.example.com:6379".to_owned();
        let target = ServerIdentity { address: address.clone(), ..ServerIdentity::default() };
        let line = |width| header(target.clone(), width);
        assert!(line(160).contains(&address) && line(160).contains("segment 1"), "{}", line(160));
        assert!(line(75).contains(&address) && !line(75).contains("segment 1"), "{}", line(75));
    }

    #[test]
    fn the_address_of_the_present_primary_is_beside_the_name_of_its_service() {
        let target =
            ServerIdentity { address: "main (Sentinel a:1)".to_owned(), ..ServerIdentity::default() };
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let address = Some("10.0.0.5:6379".to_owned());
        let status = Status { name: "redis".to_owned(), address, ..Status::default() };
        let server = Record::Server(Box::new(Moment::new(1.0, status)));
        for record in [Record::Session(SessionStart::now(target)), server] {
            update(&mut model, Msg::Delivery(Delivery::Record(std::sync::Arc::new(record))));
        }
        let said: String = identity(&model.shown()).into_iter().map(|(text, _)| text).collect();
        assert!(said.contains("main (Sentinel a:1)  10.0.0.5:6379  redis"), "{said}");
    }

    #[test]
    fn a_named_target_has_its_name_and_only_its_name_in_a_narrow_header() {
        let line = |width| {
            let target = ServerIdentity {
                address: "10.0.0.5:6379".to_owned(),
                name: Some("prod".to_owned()),
                ..ServerIdentity::default()
            };
            header(target, width)
        };
        assert!(line(160).contains(" @prod (10.0.0.5:6379) "), "{}", line(160));
        assert!(line(40).contains(" @prod ") && !line(40).contains("10.0.0.5"), "{}", line(40));
    }

    #[test]
    fn a_long_address_is_shortened_in_the_middle() {
        assert_eq!(shortened("/run/redis.sock", 15), "/run/redis.sock");
        assert_eq!(shortened("/run/a/long/path/redis.sock", 15), "/run/a/…is.sock");
        assert_eq!(shortened("/run/redis.sock", 0), "…");
    }
}
