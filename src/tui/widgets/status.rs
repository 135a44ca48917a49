//! The status line, the second line of the screen: a sentence about the present state, or about an error.

use ratatui::layout::Rect;

use crate::{
    app::{Model, Playback, Screen, SessionPhase, Tone},
    diagnose::{Finding, Severity},
    events::{EventKind, ShiftReport},
    experiment::Experiment,
    knobs::{Arrivals, Knobs},
    session::{
        Event, PrefillProgress, Timeline,
        timeline::{Level, SegmentTotal},
    },
    tui::{Ink, Paint},
    units,
};

/// Draws the status sentence in one row.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let (text, ink) = sentence(model, area.width.saturating_sub(1).into());
    paint.text(area, &format!(" {text}"), ink);
}

/// Returns the status sentence. The sentence describes the effect of the last key, an outage, the end of the session, a
/// frozen view, a finding, an experiment, or the load. If possible, the sentence is shortened to `width` columns.
pub fn sentence(model: &Model, width: usize) -> (String, Ink) {
    if let Some(message) = model.message() {
        let ink = if message.tone == Tone::Warning { Ink::Warn } else { Ink::Strong };
        return (message.text.clone(), ink);
    }
    if let Some(text) = unreachable(model, width) {
        return (stall(model, width).unwrap_or(text), Ink::Bad);
    }
    if let Some(playback) = &model.playback {
        return recording(model, playback, width);
    }
    if model.course != SessionPhase::Running {
        return ("the session has ended; press q to quit".to_owned(), Ink::Strong);
    }
    if let Some(text) = model.tour_text() {
        return (text.to_owned(), Ink::Strong);
    }
    if let Some(behind_s) = model.behind_s() {
        let behind = units::elapsed((behind_s * 1e9) as u64);
        let text = format!("frozen, {behind} behind; the measurement continues; press Space for live");
        return (text, Ink::Warn);
    }
    if let Some(text) = outage(model) {
        return (stall(model, width).unwrap_or(text), Ink::Bad);
    }
    if let Some(progress) = prefill(model) {
        return (progress, Ink::Strong);
    }
    let findings = shown_findings(model);
    let most = findings.iter().find(|finding| !model.is_folded(finding));
    let most = most.map(|finding| (of_finding(finding, model.timeline(), width, true), finding.severity));
    if let Some((text, severity)) = most.as_ref().filter(|(_, severity)| *severity == Severity::Problem) {
        return (text.clone(), ink(*severity));
    }
    let experiment = model.experiment();
    if let Some(running) = experiment.filter(|experiment| !experiment.is_over()) {
        return (of_experiment(running, &running.progress(), width), Ink::Strong);
    }
    if let Some((text, severity)) = most {
        return (text, ink(severity));
    }
    if let Some(over) = experiment {
        let answer = over.answer();
        return (of_experiment(over, answer.lines().next().unwrap_or_default(), width), Ink::Strong);
    }
    let knobs = model.in_force();
    if knobs.load {
        return (load(knobs, width), Ink::Text);
    }
    let last = model.timeline().segments.last_busy();
    (last.map_or_else(|| idle(model), |segment| format!("load off; {}", result(segment))), Ink::Text)
}

/// Returns the sentence about a stall. The sentence says why the server may not answer.
fn stall(model: &Model, width: usize) -> Option<String> {
    let stall = shown_findings(model).into_iter().find(|it| it.rule == "stall" && !model.is_folded(it))?;
    Some(of_finding(&stall, model.timeline(), width, model.playback.is_none()))
}

/// Returns a sentence if the control connection is lost. Advice that follows the cause is left out if there is no room.
fn unreachable(model: &Model, width: usize) -> Option<String> {
    let (since_s, cause) = model.shown().outage()?;
    let for_s = model.shown().now_s() - since_s;
    let say = |cause: &str| format!("server unreachable for {for_s:.0} s, redyno tries again: {cause}");
    let whole = say(cause);
    let fits = whole.chars().count() <= width;
    Some(if fits { whole } else { say(cause.split("; ").next().unwrap_or(cause)) })
}

/// Returns the findings that the status line can show, the most important first.
fn shown_findings(model: &Model) -> Vec<Finding> {
    model.findings().into_iter().filter(Finding::is_for_status_line).collect()
}

/// Returns the colour for a severity.
pub fn ink(severity: Severity) -> Ink {
    match severity {
        Severity::Note => Ink::Strong,
        Severity::Warning => Ink::Warn,
        Severity::Problem => Ink::Bad,
    }
}

/// A shift of the median PING counts as the effect of a problem if both began at most this many seconds apart.
const EFFECT_S: f64 = 10.0;

/// Returns the sentence of a finding. The sentence begins with the start of the finding. For a problem, the effect
/// comes first: `p50 of PING ×12 since 14:05:22: the server waits 61 % of the time for a core`. If the sentence does
/// not fit, evidence and advice are left out first, then the effect, then the start.
fn of_finding(finding: &Finding, timeline: &Timeline, width: usize, at_screen: bool) -> String {
    let effect = timeline.events().rev().find_map(shift_of_ping).filter(|(from_s, shift)| {
        let is_effect = (from_s - finding.since_s).abs() <= EFFECT_S;
        is_effect
            && finding.severity == Severity::Problem
            && shift.length_s.is_none()
            && shift.to > shift.from
    });
    let since = |t_s| format!("since {}: ", timeline.time_text(t_s));
    let effect = effect
        .map(|(from_s, shift)| format!("{} {}", timeline.words().worded(shift.in_short()), since(from_s)));
    let whole = finding.sentence(width, at_screen);
    let is_long = whole.starts_with(&finding.long);
    let form = |start: String| {
        let room = width.saturating_sub(start.chars().count());
        let text = finding.sentence(room, at_screen);
        // The start replaces no part of the cause.
        let fits = text.chars().count() <= room && text.starts_with(&finding.long) == is_long;
        fits.then_some(start + &text)
    };
    effect.into_iter().chain([since(finding.since_s)]).find_map(form).unwrap_or(whole)
}

/// Returns the time and the size of a level shift of the median PING. Returns `None` for other events.
fn shift_of_ping(event: &Event) -> Option<(f64, &ShiftReport)> {
    match &event.what {
        EventKind::Shifted { shift } if shift.figure == "ping_p50" => Some((event.t_s, shift)),
        _ => None,
    }
}

/// Returns the title of an experiment followed by `text`. If title and `text` together are longer than `width`, only
/// the first word of the title is used.
pub fn of_experiment(experiment: &dyn Experiment, text: &str, width: usize) -> String {
    let title = experiment.title();
    let whole = format!("{title}: {text}");
    let in_short = title.split(' ').next().unwrap_or_default();
    if whole.chars().count() <= width { whole } else { format!("{in_short}: {text}") }
}

/// Returns the status sentence for a recording: the progress of reading, a finding, or the load at the cursor.
fn recording(model: &Model, playback: &Playback, width: usize) -> (String, Ink) {
    if let Some(share) = playback.read {
        return (format!("reading the recording: {}", units::percent(share)), Ink::Strong);
    }
    if let Some(most) = shown_findings(model).first() {
        return (of_finding(most, model.timeline(), width, false), ink(most.severity));
    }
    let knobs = model.in_force();
    if !knobs.load {
        return ("the load is off in this part of the recording".to_owned(), Ink::Text);
    }
    (load(knobs, width), Ink::Text)
}

/// Returns a sentence if all connections of the load are lost.
fn outage(model: &Model) -> Option<String> {
    let timeline = model.timeline();
    let since_s = timeline.outages.since_s().filter(|_| model.in_force().load)?;
    let for_s = timeline.now_s - since_s;
    Some(format!("all load connections lost, reconnecting for {for_s:.1} s; latencies exclude this time"))
}

/// Returns the progress of the prefill.
fn prefill(model: &Model) -> Option<String> {
    let current = model.timeline().segments.current()?;
    let progress = PrefillProgress::of(&current.start, &current.total)?;
    let n: u64 = current.total.errors.values().sum();
    let errors = if n > 0 { format!(", {}", units::count_with_noun(n, "error")) } else { String::new() };
    if !model.in_force().load {
        return Some(format!("prefill, paused: {progress}{errors}"));
    }
    Some(match progress.answered < progress.requests {
        true => format!("prefill, not measured: {progress}{errors}"),
        false => format!(
            "prefill: {} requests answered; redyno checks that the keys exist",
            units::count(progress.requests as f64)
        ),
    })
}

fn idle(model: &Model) -> String {
    let questions = model.timeline().words().questions;
    // With several nodes, the next step is the Nodes screen, unless it is open.
    let leads_to_nodes = model.tracks.len() > 1 && model.screen != Screen::Nodes;
    let next = if leads_to_nodes { "press 7 for the nodes" } else { "press l to start" };
    format!("load off: redyno sends only {questions}; {next}")
}

/// Returns the settings of the load as a sentence, or a shorter text if the sentence is longer than `width`.
fn load(knobs: &Knobs, width: usize) -> String {
    let Knobs { clients, pipeline, .. } = knobs;
    let plural = if *clients == 1 { "" } else { "s" };
    let pace = match knobs.rate {
        Some(rate) if knobs.arrivals == Arrivals::Times => {
            format!("{}/s due as in the file", units::setting(rate.into()))
        }
        Some(_) => {
            let pace = knobs.pace();
            let (rate, others) = pace.split_at(pace.find(", ").unwrap_or(pace.len()));
            format!("{rate} due{others}")
        }
        None if knobs.think.is_some() => knobs.pace(),
        None => "as fast as the server answers".to_owned(),
    };
    let requests = knobs.requests(false);
    let long = format!("{clients} client{plural}, {pipeline} in flight each, {pace}: {requests}");
    if long.chars().count() <= width { long } else { load_in_short(knobs) }
}

/// Returns the settings of the load in fewer words.
pub(super) fn load_in_short(knobs: &Knobs) -> String {
    let Knobs { clients, pipeline, .. } = knobs;
    let pace = match knobs.rate {
        Some(rate) if knobs.arrivals == Arrivals::Times => {
            format!("{}/s as in the file", units::setting(rate.into()))
        }
        Some(_) => knobs.pace(),
        None if knobs.think.is_some() => knobs.pace(),
        None => "closed loop".to_owned(),
    };
    let plural = if *clients == 1 { "" } else { "s" };
    format!("{clients} client{plural} × {pipeline}, {pace}: {}", knobs.requests(true))
}

/// Returns the results of a segment, in a line.
fn result(segment: &SegmentTotal) -> String {
    let total = &segment.total;
    let level = |level: Level| {
        level
            .of(&total.service)
            .map(|ns| format!(", {} {}", level.name(), units::latency(ns)))
            .unwrap_or_default()
    };
    let errors = total.errors.values().sum::<u64>();
    let errors = if errors == 0 { "no errors".to_owned() } else { units::count_with_noun(errors, "error") };
    format!(
        "segment {} ({}×{}): {}{}{}, {errors}",
        segment.start.segment,
        segment.start.knobs.clients,
        segment.start.knobs.pipeline,
        units::rate(total.ops_per_s),
        level(Level::P50),
        level(Level::P99),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Key, KeyCode, Msg, update},
        knobs::Rhythm,
        probe::{Ping, Wake},
        session::{Interval, Record, Span, TimelineOptions},
        stats::fixture::latency_of,
        tui::fixture::GeneratedSession,
        workload::preset,
    };

    fn take(model: &mut Model, records: impl IntoIterator<Item = Record>) {
        for record in records {
            update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
        }
    }

    #[test]
    fn the_next_step_is_not_the_screen_that_is_open() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        take(&mut model, [Record::Event(Event::new(1.0, EventKind::Reachable)).at_node(1)]);
        assert!(idle(&model).ends_with("; press 7 for the nodes"), "{}", idle(&model));
        model.screen = Screen::Nodes;
        assert!(idle(&model).ends_with("; press l to start"), "{}", idle(&model));
    }

    #[test]
    fn the_pace_of_a_file_is_described_in_words() {
        let knobs = Knobs { rate: Some(634), arrivals: Arrivals::Times, ..Knobs::default() };
        assert!(load(&knobs, 200).contains("634/s due as in the file: "), "{}", load(&knobs, 200));
        assert!(load_in_short(&knobs).contains(" × 1, 634/s as in the file: "), "{}", load_in_short(&knobs));
    }

    #[test]
    fn the_rate_is_due_and_its_rhythm_is_named() {
        let knobs = Knobs { rate: Some(5000), rhythm: Rhythm::Spread, ..Knobs::default() };
        assert!(load(&knobs, 200).contains(" each, 5000/s due, rhythm spread: "), "{}", load(&knobs, 200));
    }

    #[test]
    fn a_server_that_does_not_answer_is_reported_until_the_next_reply() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let (mut made, records) = GeneratedSession::new(knobs.clone());
        let mut model = Model::new(knobs, TimelineOptions::default());
        take(&mut model, records);
        take(&mut model, made.next_tick());
        assert_eq!(sentence(&model, 120).1, Ink::Text);
        let waiting_us = 3_000_000;
        // The findings of a second are known when the next second begins.
        for t_s in [3.25, 4.25] {
            let silent = Interval { t_s, length_s: 0.25, segment: 1, waiting_us, ..Interval::default() };
            take(&mut model, [Record::Interval(Box::new(silent))]);
        }
        let (text, ink) = sentence(&model, 120);
        assert!(
            text.starts_with("since 00:00: the server does not answer: no reply to the load for 3.0 s")
                && ink == Ink::Bad,
            "{text}"
        );
        (0..24).for_each(|_| take(&mut model, made.next_tick()));
        assert_eq!(sentence(&model, 120).1, Ink::Text);
    }

    #[test]
    fn a_server_that_does_not_answer_pings_is_reported_soon() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let (_, records) = GeneratedSession::new(knobs.clone());
        let mut model = Model::new(knobs, TimelineOptions::default());
        let ping = Ping { waiting_us: 480_000, ..Ping::default() };
        let wake = Wake { late: latency_of([80_000]) };
        let late = |t_s| Record::Wake(Span::new(t_s, 0.25, wake.clone()));
        // The findings of a second are known when the next second begins.
        let probes = [Record::Ping(Box::new(Span::new(0.5, 0.25, ping))), late(0.5), late(1.25)];
        take(&mut model, records.into_iter().chain(probes));
        let text = "slow server: PING waited 480 ms, but redyno was at most 80.0 µs late";
        let advised = format!("since 00:00: {text}; see the server's log and its host");
        assert_eq!(sentence(&model, 120), (advised, Ink::Bad));
        assert_eq!(sentence(&model, 80).0, text);
        let [figure, label] = ["ping_p50", "p50 of PING"].map(str::to_owned);
        let shift = ShiftReport { figure, label, from: 400.0, to: 4900.0, ..ShiftReport::default() };
        let shifted = Event::new(0.25, EventKind::Shifted { shift });
        take(&mut model, [Record::Event(shifted)]);
        assert_eq!(sentence(&model, 120).0, format!("p50 of PING ×12 since 00:00: {text}"));
    }

    #[test]
    fn a_changed_parameter_is_in_the_status_line_for_half_a_minute() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let (mut made, records) = GeneratedSession::new(knobs.clone());
        let mut model = Model::new(knobs, TimelineOptions::default());
        take(&mut model, records);
        let [name, from, to] = ["slowlog-max-len", "128", "77"].map(str::to_owned);
        take(&mut model, [Record::Event(Event::new(0.25, EventKind::ConfigChanged { name, from, to }))]);
        (0..4).for_each(|_| take(&mut model, made.next_tick()));
        let (text, ink) = sentence(&model, 120);
        assert!(text.contains("CONFIG slowlog-max-len 128 → 77") && ink == Ink::Strong, "{text}");
        while model.timeline().now_s < 31.0 {
            take(&mut model, made.next_tick());
        }
        assert_eq!(sentence(&model, 120).1, Ink::Text);
    }

    #[test]
    fn a_low_hit_rate_is_reported_with_the_next_step() {
        let knobs = Knobs { load: true, workload: preset("get").unwrap(), ..Knobs::default() };
        let (_, records) = GeneratedSession::new(knobs.clone());
        let second = |n: u32| {
            let second =
                Interval { length_s: 1.0, segment: 1, ops: 1000, misses: 1000, ..Interval::default() };
            Record::Interval(Box::new(Interval { t_s: f64::from(n), ..second }))
        };
        let mut model = Model::new(knobs, TimelineOptions::default());
        take(&mut model, records.into_iter().chain((1..=5).map(second)));
        let text = "hit rate 0 %: all other reads miss; a miss costs the server less than a hit; type :prefill to write the keys now";
        assert_eq!(sentence(&model, 120), (text.to_owned(), Ink::Warn));
        assert_eq!(sentence(&model, 80).0, "since 00:04: hit rate 0 %; type :prefill to write the keys now");
        let press = |model: &mut Model| drop(update(model, Msg::Key(Key::plain(KeyCode::Char('a')))));
        press(&mut model);
        let folded = sentence(&model, 120);
        assert!(folded.1 == Ink::Text && !model.findings().is_empty(), "{folded:?}");
        press(&mut model);
        assert_eq!(sentence(&model, 120).1, Ink::Warn, "a second press of a shows the finding again");
    }
}
