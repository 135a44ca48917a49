//! The view of the server's keys: the orders to sample the keys, and the results.

use super::{InputMode, Model, Order, Tone, UserQuestion};
use crate::{
    gauge::Gauge,
    server::{KeyMethod, KeyReport, KeyState, MOST_COMMANDS_PER_S},
    units,
};

impl Model {
    /// Returns the results of the last sampling of the keys.
    pub fn keys_seen(&self) -> Option<&KeyReport> {
        self.keys.as_ref()
    }

    /// Returns the address of the node whose keys are shown, if the session has several nodes.
    pub fn keys_of(&self) -> Option<&str> {
        let track = self.tracks.get(self.keys_of).filter(|_| self.tracks.len() > 1)?;
        Some(self.node_row(self.keys_of, track).address)
    }

    /// Opens the view of the keys, or shows why the keys cannot be sampled.
    pub(super) fn open_keys(&mut self) {
        let status = self.track().timeline.status().filter(|status| !status.body.dialect().has_config());
        let missing = status.map(|status| {
            let what = "SCAN or MEMORY USAGE; redyno needs these commands to sample keys";
            status.body.without(what)
        });
        match () {
            () if self.playback.is_some() => {
                self.show_message(
                    Tone::Info,
                    "a recording contains no key names; only a live session can sample keys",
                );
            }
            () if missing.is_some() => self.show_message(Tone::Info, missing.unwrap_or_default()),
            () => {
                if self.keys_of != self.node && !self.is_sampling() {
                    (self.keys, self.keys_of) = (None, self.node);
                }
                self.mode = InputMode::Keys;
            }
        }
    }

    /// Begins to sample the keys. Before sampling with MONITOR, asks the user.
    pub(super) fn sample_keys(&mut self, way: KeyMethod) {
        if self.is_sampling() {
            return self.show_message(Tone::Info, "redyno is already sampling keys; press x to stop");
        }
        if way != KeyMethod::Monitor {
            return self.begin_sampling(way);
        }
        let ops = self.track().timeline.status().and_then(|status| status.body.gauges.get(Gauge::OpsPerS));
        match ops.unwrap_or(0.0) {
            ops if ops > MOST_COMMANDS_PER_S as f64 => {
                let rate = units::rate(ops);
                self.show_message(
                    Tone::Warning,
                    format!("no MONITOR at {rate}, because MONITOR would slow down the server"),
                );
            }
            ops => {
                let question = format!(
                    "redyno runs MONITOR for 1 s, or until 20 000 lines. The server copies each command to redyno ({} now). This may \
                     halve the server's throughput. redyno keeps only the command and the key. redyno also shows the \
                     main thread's time before and during MONITOR.",
                    units::rate(ops),
                );
                self.ask(UserQuestion::Monitor(question));
            }
        }
    }

    /// Begins to sample the keys.
    pub(super) fn begin_sampling(&mut self, way: KeyMethod) {
        self.mode = InputMode::Keys;
        self.keys = Some(KeyReport { way, ..KeyReport::default() });
        self.request(Order::ScanKeys { node: self.keys_of, way });
    }

    /// Stops the sampling of the keys if sampling is running.
    pub(super) fn stop_sampling(&mut self) {
        if self.is_sampling() {
            self.request(Order::StopKeys);
        }
    }

    fn is_sampling(&self) -> bool {
        self.keys.as_ref().is_some_and(|seen| seen.state == KeyState::Running)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Effect, Msg, Notice, Playback, update, update::tests::press},
        knobs::Knobs,
        server::Status,
        session::{Moment, Record, TimelineOptions},
    };

    fn model(ops: f64) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let gauges = [(Gauge::OpsPerS, ops)].into();
        let record = Record::Server(Box::new(Moment::new(0.0, Status { gauges, ..Status::default() })));
        update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
        model
    }

    fn order(order: Order) -> [Effect; 1] {
        [Effect::Order(order)]
    }

    fn look(way: KeyMethod) -> Order {
        Order::ScanKeys { node: 0, way }
    }

    #[test]
    fn keys_are_sampled_only_after_a_key_press_and_closing_the_view_stops_the_sampling() {
        let mut model = model(10.0);
        assert_eq!(press(&mut model, "d"), []);
        assert_eq!((&model.mode, model.keys_seen()), (&InputMode::Keys, None));
        assert_eq!(press(&mut model, "\n"), order(look(KeyMethod::Scan)));
        assert_eq!(press(&mut model, "h"), [], "one at a time");
        assert_eq!(press(&mut model, "x"), order(Order::StopKeys));
        let seen = KeyReport { state: KeyState::Stopped, sampled: 7, ..KeyReport::default() };
        update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::Keys(Box::new(seen)))));
        assert_eq!(model.keys_seen().map(|seen| seen.sampled), Some(7));
        assert_eq!(press(&mut model, "h"), order(look(KeyMethod::HotKeys)));
        assert_eq!(press(&mut model, "d"), order(Order::StopKeys));
        assert_eq!(model.mode, InputMode::Screen);
    }

    #[test]
    fn monitor_runs_after_a_question_and_never_on_a_busy_server() {
        let mut busy = model(20_001.0);
        assert_eq!(press(&mut busy, "dm"), []);
        assert!(busy.message().unwrap().text.starts_with("no MONITOR at 20.0 k"), "{:?}", busy.message());
        let mut model = model(300.0);
        press(&mut model, "dm");
        assert!(
            matches!(&model.mode, InputMode::Asking(UserQuestion::Monitor(text)) if text.contains("20 000 lines"))
        );
        assert_eq!(press(&mut model, "n"), []);
        assert_eq!(model.mode, InputMode::Keys);
        assert_eq!(press(&mut model, "my"), order(look(KeyMethod::Monitor)));
    }

    #[test]
    fn a_recording_has_no_keys_to_sample_and_a_refusal_is_shown() {
        let mut replay = Model::replaying(Playback::new("a.rdyn".to_owned()), TimelineOptions::default());
        press(&mut replay, "d");
        assert_eq!(replay.mode, InputMode::Screen);
        assert!(replay.message().unwrap().text.starts_with("a recording"));
        let mut model = model(1.0);
        press(&mut model, "d\n");
        let refused = Delivery::Refused(look(KeyMethod::Scan), "no".to_owned());
        update(&mut model, Msg::Delivery(refused));
        assert_eq!(model.keys_seen().unwrap().state, KeyState::Failed("no".to_owned()));
    }
}
