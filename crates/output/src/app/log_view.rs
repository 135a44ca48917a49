//! The Log screen's state: events in time order, the selected line, and the text of a search.

use super::{
    Direction, InputMode, LogKind, LogLine, Model, Purpose, TextEntry, Tone,
    list::{moved, turned},
    tables::FILTERS,
};
use crate::{
    diagnose::Severity,
    events::EventKind,
    print::segment_words,
    session::{
        Event,
        timeline::{ErrorCount, FoldedEvents, folded},
    },
    units,
};

impl Model {
    /// Returns the text of the search in the log, in lower case. While the user types a search, returns the text
    /// typed so far.
    pub fn search_text(&self) -> String {
        let typed = self.entry(Purpose::Search).map(TextEntry::text);
        typed.unwrap_or_else(|| self.log_view.needle.clone()).to_lowercase()
    }

    /// Returns the lines of the log that pass its filter, oldest first. In a frozen view, the log contains all lines
    /// up to the moment of freezing, even lines after the cursor.
    pub fn log_lines(&self) -> Vec<LogLine<'_>> {
        let mut lines = self.events_and_errors();
        let marks = self.track().shown().marks();
        lines.extend(marks.map(|mark| LogLine::new(mark.t_s, LogKind::Mark, "mark", mark.text.as_str())));
        lines.extend(self.segment_lines());
        lines.extend(self.finding_lines());
        if let Some(kind) = self.log_view.filter() {
            lines.retain(|line| line.kind == kind);
        }
        lines.sort_by(|a, b| a.t_s.total_cmp(&b.t_s));
        lines
    }

    fn events_and_errors(&self) -> Vec<LogLine<'_>> {
        let timeline = self.track().shown();
        let words = timeline.words();
        let mut unseen = timeline.errors.by_count();
        let mut lines = Vec::new();
        for line in folded(timeline.events()) {
            let event = line.last.event;
            let known = match &event.what {
                EventKind::FirstError { error, .. } => {
                    unseen.iter().position(|(kind, of)| kind == error && of.ping.is_none())
                }
                _ => None,
            };
            lines.push(match known {
                Some(at) => self.error_line(event.t_s, unseen.remove(at)),
                None => LogLine {
                    is_recovery: event.what.is_recovery(),
                    ..LogLine::new(
                        line.last.from_s,
                        LogKind::Event,
                        event.what.name(),
                        words.worded(line.text),
                    )
                },
            });
        }
        // For errors without an event, only the count and the time of the last error are known.
        lines.extend(unseen.into_iter().map(|error| self.error_line(error.1.last_s as f64, error)));
        lines
    }

    /// Returns the line of a kind of error. Both times in the line are times of the same clock.
    fn error_line<'a>(&self, t_s: f64, (kind, error): (&'a str, &ErrorCount)) -> LogLine<'a> {
        let last = self.track().timeline.time_text(error.last_s as f64);
        let count = units::count(error.count as f64);
        let first = error.first.as_deref().unwrap_or("no message");
        let of = error.ping.map_or_else(String::new, |ping| format!(" of {ping}"));
        LogLine::new(t_s, LogKind::Error, kind, format!("×{count}{of}, last {last}: {first}"))
    }

    /// Returns a line for the beginning and a line for the end of each warning and problem.
    fn finding_lines(&self) -> Vec<LogLine<'_>> {
        let until_s = self.track().shown_until_s();
        let findings = self.watched_shown().get(self.node).map(|node| &node.findings);
        let episodes = findings.into_iter().flat_map(|findings| findings.episodes.iter());
        let mut lines = Vec::new();
        for episode in episodes.filter(|episode| episode.finding.severity > Severity::Note) {
            let rule = episode.finding.rule;
            let line = episode.finding.line();
            let what = line.strip_prefix(rule).map_or(line.as_str(), |what| what.trim_start_matches(": "));
            lines.push(LogLine::new(episode.since_s, LogKind::Event, rule, what.to_owned()));
            if !episode.stands {
                let length = units::length(episode.until_s - episode.since_s);
                lines.push(LogLine {
                    is_recovery: true,
                    ..LogLine::new(episode.until_s, LogKind::Event, rule, format!("over after {length}"))
                });
            }
        }
        lines.retain(|line| line.t_s <= until_s);
        lines
    }

    fn segment_lines(&self) -> impl Iterator<Item = LogLine<'_>> {
        let segments = || self.segments().iter();
        segments().zip(std::iter::once(None).chain(segments().map(Some))).map(|(segment, before)| {
            let words = segment_words(before.map(|before| &before.start), &segment.start);
            let name = format!("segment {}", segment.start.segment);
            LogLine::new(segment.start.t_s, LogKind::Segment, name, words.join(", "))
        })
    }

    /// Returns the position of the selected line among `lines`. Returns `None` if there is no line.
    pub fn selected_line(&self, lines: usize) -> Option<usize> {
        let last = lines.checked_sub(1)?;
        Some(self.log_view.selected.map_or(last, |selected| selected.min(last)))
    }

    /// Moves the selection by this many lines. If the newest line is selected, the selection later moves to each new
    /// line.
    pub(super) fn select_line(&mut self, by: i16) {
        let lines = self.log_lines().len();
        let Some(at) = self.selected_line(lines) else { return };
        self.put_line(moved(at, by, lines), lines);
    }

    pub(super) fn put_line(&mut self, at: usize, lines: usize) {
        self.log_view.selected = Some(at).filter(|at| at + 1 < lines);
    }

    /// Switches to the next filter of the log.
    pub(super) fn turn_filter(&mut self, direction: Direction) {
        let view = &mut self.log_view;
        view.filter = turned(view.filter, direction, FILTERS.len());
        view.selected = None;
    }

    /// Searches for the typed text, and goes to the first match from the selected line on.
    pub(super) fn take_search(&mut self, typed: String) {
        self.log_view.needle = typed;
        if !self.log_view.needle.is_empty() {
            self.find(Direction::Down, 0);
        }
    }

    /// Goes to the next match, down or up. After the last line, the search continues at the first line.
    pub(super) fn find_next(&mut self, direction: Direction) {
        if self.log_view.needle.is_empty() {
            self.show_message(Tone::Info, "no search yet; press / to search");
            return;
        }
        self.find(direction, 1);
    }

    fn find(&mut self, direction: Direction, skipped: usize) {
        let lines = self.log_lines();
        let needle = self.search_text();
        let Some(from) = self.selected_line(lines.len()) else { return };
        let n = lines.len();
        let place =
            |by: usize| if direction == Direction::Down { (from + by) % n } else { (from + n - by) % n };
        // The selected line itself is searched last, since it may contain the only match.
        let found = (skipped..=n).map(place).find(|at| !lines[*at].hits(&needle).is_empty());
        match found {
            Some(at) => self.put_line(at, n),
            None => self.show_message(Tone::Info, format!("'{}' is not in the log", self.log_view.needle)),
        }
    }

    /// Moves the time cursor to the selected line. An entry of the slow log is also shown in full.
    pub(super) fn go_to_line(&mut self) {
        let lines = self.log_lines();
        let Some(at) = self.selected_line(lines.len()) else { return };
        let t_s = lines[at].t_s;
        let in_full = self.entry_of(&lines[at]).and_then(|event| self.slow_command(event));
        // The charts move to the cursor, but the selection stays on the same line.
        self.log_view.selected = Some(at);
        self.put_cursor(t_s);
        self.show_message(
            Tone::Info,
            "the cursor is at the moment of this line; press 1 to see the Overview",
        );
        self.mode = in_full.map_or(InputMode::Screen, |text| InputMode::InFull { title: "slow log", text });
    }

    /// Returns the event of this line. If the line is about several equal events, returns the last event.
    fn entry_of(&self, line: &LogLine) -> Option<&Event> {
        let lines = folded(self.track().shown().events());
        let is_it = |it: &&FoldedEvents| it.last.from_s.total_cmp(&line.t_s).is_eq() && it.text == line.text;
        Some(lines.iter().find(is_it)?.last.event)
    }

    /// Returns an entry of the slow log in full. Returns `None` for other events.
    pub(super) fn slow_command(&self, event: &Event) -> Option<String> {
        let EventKind::SlowCommand { us, command, client, arguments } = &event.what else { return None };
        let took = units::latency(us.saturating_mul(1000));
        let mut text =
            format!("{took}, reported at {}\ncommand: {command}", self.track().timeline.time_text(event.t_s));
        text += &client.as_ref().map_or_else(String::new, |client| format!("\nclient: {client}"));
        if !arguments.is_empty() {
            text += &format!("\narguments: {}", arguments.join(" "));
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::Playback,
        diagnose::FindingsByNode,
        host::HostSample,
        knobs::Knobs,
        probe::Ping,
        session::{
            Interval, Mark, Moment, Record, Segment, ServerIdentity, SessionStart, Span, TimelineOptions,
        },
        stats::{Latency, fixture::latency_of},
    };

    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let slow = |t_s, us, command: &str| {
            let what = EventKind::SlowCommand {
                us,
                command: command.to_owned(),
                client: None,
                arguments: Vec::new(),
            };
            Record::Event(Event::new(t_s, what))
        };
        let message = "OOM command not allowed".to_owned();
        let first = EventKind::FirstError { error: "OOM".to_owned(), message };
        let errors = [("OOM".to_owned(), 1200)].into();
        for record in [
            Record::Segment(Segment::new(0.0, 1, Knobs::default())),
            slow(3.0, 14_000, "KEYS *"),
            Record::Interval(Box::new(Interval { t_s: 5.0, length_s: 1.0, errors, ..Interval::default() })),
            Record::Event(Event::new(4.5, first)),
            Record::Mark(Mark { t_s: 2.0, text: "cache warm".to_owned() }),
            slow(9.0, 22_000, "SORT big"),
        ] {
            model.push(&record);
        }
        model
    }

    fn names(model: &Model) -> Vec<String> {
        model.log_lines().into_iter().map(|line| line.name.into_owned()).collect()
    }

    fn selected(model: &Model) -> String {
        let lines = model.log_lines();
        lines[model.selected_line(lines.len()).unwrap()].text.to_string()
    }

    #[test]
    fn lines_are_in_time_order_and_an_error_has_its_count_and_first_message() {
        let mut model = model();
        assert_eq!(names(&model), ["segment 1", "mark", "slowlog", "OOM", "slowlog"]);
        assert_eq!(model.log_lines()[3].text, "×1.20 k, last 00:05: OOM command not allowed");
        model.turn_filter(Direction::Up);
        assert_eq!(names(&model), ["slowlog", "slowlog"]);
        model.turn_filter(Direction::Up);
        assert_eq!(names(&model), ["OOM"]);
        model.turn_filter(Direction::Down);
        model.turn_filter(Direction::Down);
        model.turn_filter(Direction::Down);
        assert_eq!(names(&model), ["segment 1"]);
    }

    #[test]
    fn a_finding_has_a_line_where_it_begins_and_one_where_it_ends() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let knobs = Knobs { load: true, ..Knobs::default() };
        model.push(&Record::Segment(Segment::new(0.0, 1, knobs)));
        for s in 1..=20_u32 {
            let failing = if (5..10).contains(&s) { 900 } else { 0 };
            let errors = [("OOM".to_owned(), failing)].into();
            let ops = 1000 - failing;
            let t_s = f64::from(s);
            let interval = Interval { t_s, length_s: 1.0, segment: 1, ops, errors, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
        }
        let lines = model.log_lines();
        let lines: Vec<_> = lines.iter().filter(|line| line.name == "failing requests").collect();
        let [begin, end] = lines[..] else { panic!("{lines:?}") };
        assert!(begin.t_s < end.t_s && !begin.is_recovery && end.is_recovery, "{lines:?}");
        assert!(begin.text.contains("OOM") && end.text.starts_with("over after "), "{lines:?}");
    }

    #[test]
    fn a_replay_has_the_episodes_of_an_export_of_the_same_recording() {
        let ping = |t_s, rtt| Record::Ping(Box::new(Span::new(t_s, 1.0, Ping { rtt, ..Ping::default() })));
        let pong = || latency_of([80_000]);
        let records = [
            Record::Session(SessionStart::now(ServerIdentity::default())),
            Record::Segment(Segment::new(0.0, 1, Knobs::default())),
            ping(1.0, pong()),
            ping(2.0, Latency::default()),
            ping(3.0, Latency::default()),
            ping(4.0, pong()),
            Record::Host(Box::new(Moment::new(4.9, HostSample::default()))),
            ping(5.0, pong()),
        ];
        let mut replay = Model::replaying(Playback::new("a.rdyn".to_owned()), TimelineOptions::default());
        let mut exported = FindingsByNode::default();
        for record in &records {
            replay.push(record);
            exported.push(record);
        }
        let of_export = &exported.first().findings.episodes;
        assert_eq!(of_export.iter().map(|episode| episode.until_s).collect::<Vec<_>>(), [3.0]);
        assert_eq!(&replay.watched.first().findings.episodes, of_export);
    }

    #[test]
    fn the_newest_line_is_followed_until_another_is_selected() {
        let mut model = model();
        assert_eq!(selected(&model), "22.0 ms SORT big");
        model.select_line(-1);
        let mark = Record::Mark(Mark { t_s: 10.0, text: "later".to_owned() });
        model.push(&mark);
        assert!(selected(&model).starts_with("×1.20 k"));
        model.select_line(100);
        assert!(model.log_view.follows());
        assert_eq!(selected(&model), "later");
    }

    #[test]
    fn a_search_ignores_case_continues_at_the_other_end_and_reports_no_match() {
        let mut model = model();
        let look_for = |model: &mut Model, text: &str| {
            model.take_search(text.to_owned());
        };
        look_for(&mut model, "SLOWLOG");
        assert_eq!(selected(&model), "22.0 ms SORT big");
        model.find_next(Direction::Down);
        assert_eq!(selected(&model), "14.0 ms KEYS *");
        model.find_next(Direction::Up);
        assert_eq!(selected(&model), "22.0 ms SORT big");
        look_for(&mut model, "warm");
        assert_eq!(selected(&model), "cache warm");
        look_for(&mut model, "nothing of the kind");
        assert_eq!(selected(&model), "cache warm");
        assert!(model.message().unwrap().text.contains("'nothing of the kind' is not in the log"));
    }

    #[test]
    fn hits_are_positions_on_screen_and_do_not_overlap() {
        let line = LogLine::new(0.0, LogKind::Event, "aaa", "µA aa");
        assert_eq!(line.hits("aa"), [0..2, 7..9]);
        assert_eq!(line.hits("a"), [0..1, 1..2, 2..3, 5..6, 7..8, 8..9]);
        assert_eq!(line.hits(""), []);
    }

    #[test]
    fn enter_moves_the_cursor_to_the_moment_of_the_line() {
        let mut model = model();
        model.select_line(-2);
        model.go_to_line();
        assert_eq!((model.cursor_s(), selected(&model).as_str()), (Some(3.0), "14.0 ms KEYS *"));
        let in_full = "14.0 ms, reported at 00:03\ncommand: KEYS *".to_owned();
        assert_eq!(
            model.mode,
            InputMode::InFull { title: "slow log", text: in_full },
            "and shows the whole entry"
        );
    }
}
