//! The actions of the screen with which the user keeps and shares measurements: marks, recordings, reports
//! and exports.

use super::{
    Effect, FileDestination, FileForm, FileRequest, Model, Order, Purpose, Screen, TextEntry, Tone,
    WrittenFile, jump::inside_s,
};
use crate::{
    report,
    session::{Mark, file_name},
};

/// The message when the user tries to set a mark in a recording, or to record a recording.
const NOT_LIVE: &str = "this is a recording: you cannot add a mark or start a recording";

impl Model {
    /// Opens an input line for the text of a mark at this moment.
    pub(super) fn begin_mark(&mut self) {
        if self.playback.is_some() {
            return self.show_message(Tone::Warning, NOT_LIVE);
        }
        self.begin_typing(Purpose::Mark { t_s: self.timeline().now_s }, TextEntry::sentence(""));
    }

    /// Sets the mark, unless the typed text is empty.
    pub(super) fn set_mark(&mut self, text: &str, t_s: f64) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return self.show_message(Tone::Info, "no mark was set, because the text was empty");
        }
        self.show_message(Tone::Info, format!("marked: {text}"));
        self.request(Order::Mark(Mark { t_s, text }));
    }

    /// Starts or stops recording.
    pub(super) fn toggle_recording(&mut self) {
        if self.playback.is_some() {
            return self.show_message(Tone::Warning, NOT_LIVE);
        }
        self.request(if self.recording.is_some() { Order::StopRecording } else { Order::StartRecording });
    }

    /// Returns the number of the segment to export. On the Segments screen, this is the selected segment. On other
    /// screens, this is the segment shown. An export of a segment contains the first node. If the screen shows another
    /// node, returns the first node's segment at the same time.
    pub(super) fn outgoing_segment(&self) -> Option<u32> {
        let first = &self.tracks[0];
        let segment = match self.screen {
            Screen::Segments if self.node == 0 => return self.selected_segment(),
            Screen::Segments => {
                let selected = self.segments().numbered(self.selected_segment()?)?;
                first.segments().holding_at(inside_s(selected, self.known_s()))
            }
            _ => first.reading(self.figures_view()).segment(),
        };
        segment.map(|segment| segment.start.segment)
    }

    /// Returns the beginning of the names of this session's files. The names begin with the name of the target and, if
    /// there is one, the number of the segment.
    pub(super) fn name_of_files(&self, segment: Option<u32>) -> String {
        let target = self.timeline().session().map_or("redyno", |session| session.target.address.as_str());
        let target = file_name(target);
        segment.map_or_else(|| target.clone(), |segment| format!("{target}-segment-{segment}"))
    }

    /// Requests the report of the whole session.
    pub(super) fn report(&mut self) {
        let to = FileDestination::Fresh(self.name_of_files(None));
        self.request(Effect::Write(FileRequest {
            form: FileForm::Report(report::ReportForm::Html),
            segment: None,
            to,
        }));
    }

    /// Handles the result of writing a file.
    pub(super) fn take_written(&mut self, written: Result<WrittenFile, String>) {
        match written {
            Ok(WrittenFile { path, message }) => {
                self.show_message(Tone::Info, message);
                self.add_file(path);
            }
            Err(why) => self.show_message(Tone::Warning, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{
            Delivery, Effect, InputMode, Msg, Notice, Picture, Playback, RecordingState, update,
            update::tests::press,
        },
        events::EventKind,
        knobs::Knobs,
        session::{Event, Record, Segment, TimelineOptions},
    };

    fn live() -> Model {
        Model::new(Knobs::default(), TimelineOptions::default())
    }

    #[test]
    fn a_mark_has_the_moment_of_the_key_and_the_text_that_was_typed() {
        let mut model = live();
        let text = "before: größer, (A/B)?".to_owned();
        assert_eq!(
            press(&mut model, &format!("m{text}\n")),
            [Effect::Order(Order::Mark(Mark { t_s: 0.0, text }))]
        );
        assert_eq!(press(&mut model, "m\n"), []);
        assert_eq!(model.message().unwrap().text, "no mark was set, because the text was empty");
        assert_eq!(press(&mut model, "mq\x1b"), []);
        assert_eq!(model.mode, InputMode::Screen);
    }

    #[test]
    fn the_segment_of_an_export_is_one_of_the_first_node() {
        let mut model = live();
        for (node, t_s, number) in [(0, 0.0, 1), (0, 10.0, 2), (0, 20.0, 3), (1, 0.0, 1), (1, 20.0, 2)] {
            model.push(&Record::Segment(Segment::new(t_s, number, Knobs::default())).at_node(node));
        }
        for node in [0, 1] {
            model.push(&Record::Event(Event::new(30.0, EventKind::Reachable)).at_node(node));
        }
        model.node = 1;
        assert_eq!(model.outgoing_segment(), Some(3));
        model.screen = Screen::Segments;
        model.segment_table.selected = Some(2);
        assert_eq!(model.outgoing_segment(), Some(3));
        model.segment_table.selected = Some(1);
        assert_eq!(model.outgoing_segment(), Some(1));
        model.node = 0;
        assert_eq!(model.outgoing_segment(), Some(1));
    }

    #[test]
    fn the_same_key_starts_and_stops_a_recording() {
        let mut model = live();
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StartRecording)]);
        let state = RecordingState { file: "x.jsonl".to_owned(), since_s: 0.0, bytes: 10 };
        update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::Recording(Some(state)))));
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StopRecording)]);
        update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::Recording(None))));
        assert_eq!(press(&mut model, "r"), [Effect::Order(Order::StartRecording)]);
    }

    #[test]
    fn a_recording_takes_neither_marks_nor_another_recording_and_says_so() {
        for key in ["m", "r"] {
            let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
            assert_eq!(press(&mut model, key), []);
            assert_eq!((model.message().unwrap().text.as_str(), &model.mode), (NOT_LIVE, &InputMode::Screen));
        }
    }

    #[test]
    fn pictures_and_the_summary_are_asked_for_by_keys() {
        let mut model = live();
        assert_eq!(press(&mut model, "eE"), [Effect::Save(Picture::Svg), Effect::Save(Picture::Text)]);
        assert_eq!(
            press(&mut model, "y"),
            [Effect::Copy { what: "the summary", text: "00:00:00 measured\n".to_owned() }]
        );
    }
}
