//! A recording that is played: whether time runs in it, and how fast.

use super::{Model, Order, Tone, closer::Closer};

/// How fast a recording plays, in seconds of it per second.
const SPEEDS: [f64; 9] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// A recording that is played.
#[derive(Debug, Clone, PartialEq)]
pub struct Playback {
    /// The name of its file.
    pub file: String,
    /// Whether time runs.
    pub is_playing: bool,
    /// How much of it has been read, 0 to 1; `None` when all has been.
    pub read: Option<f64>,
    pub(super) closer: Closer,
    speed: usize,
}

impl Playback {
    /// A recording of which nothing has been read yet.
    pub fn new(file: String) -> Self {
        Self { file, is_playing: false, read: Some(0.0), closer: Closer::default(), speed: 2 }
    }

    /// A recording that has been read and plays: all of its `length_s` seconds at the lowest speed that takes at most
    /// `most_s`, or else at the highest.
    pub fn all_within(most_s: f64, length_s: f64, file: String) -> Self {
        let fits = |speed: &f64| length_s <= most_s * speed;
        let speed = SPEEDS.iter().position(fits).unwrap_or(SPEEDS.len() - 1);
        Self { is_playing: true, read: None, speed, ..Self::new(file) }
    }

    /// Seconds of the recording per second.
    pub fn speed(&self) -> f64 {
        SPEEDS[self.speed]
    }
}

impl Model {
    /// Lets time run, or stops it. At the end it begins again from the start.
    pub(super) fn toggle_play(&mut self) {
        let Some(playback) = self.playback.as_mut().filter(|playback| playback.read.is_none()) else {
            let reading = "the recording is still being read; it can be played when that is done";
            return self.say(Tone::Info, reading);
        };
        playback.is_playing = !playback.is_playing;
        if !playback.is_playing {
            return self.ask(Order::Pause);
        }
        if self.cursor_s().is_none_or(|cursor_s| cursor_s >= self.timeline().now_s()) {
            self.put_cursor(0.0);
        }
        self.play_on();
    }

    /// Plays on from the cursor at the present speed, if time runs: after a seek or a change of speed.
    pub(super) fn play_on(&mut self) {
        if let Some(playback) = self.playback.as_ref().filter(|playback| playback.is_playing) {
            let (from_s, speed) = (self.cursor_s().unwrap_or_default(), playback.speed());
            self.ask(Order::Play { from_s, speed });
        }
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        let Some(playback) = &mut self.playback else { return };
        let last = SPEEDS.len() - 1;
        playback.speed =
            if faster { (playback.speed + 1).min(last) } else { playback.speed.saturating_sub(1) };
        self.play_on();
    }

    /// Time has run to `t_s`.
    pub(super) fn played_to(&mut self, t_s: f64) {
        let now_s = self.timeline().now_s();
        let Some(playback) = self.playback.as_mut().filter(|playback| playback.is_playing) else { return };
        playback.is_playing = t_s < now_s;
        self.put_cursor(t_s);
    }

    /// The panel shows the knobs that held at the cursor of a recording.
    pub(super) fn follow_recording(&mut self) {
        if self.playback.is_some() {
            let in_force = self.in_force().clone();
            self.panel.follow(in_force);
        }
    }
}
