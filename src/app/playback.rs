//! The state of a recording that is shown: whether the recording plays, and how fast.

use crate::session::timeline::Reread;

/// The speeds of playing, in seconds of the recording per second.
const SPEEDS: [f64; 9] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// A recording that is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Playback {
    /// The name of the file.
    pub file: String,
    /// Whether the recording plays.
    pub is_playing: bool,
    /// The share of the file that has been read, from 0 to 1; `None` after the end of the file.
    pub read: Option<f64>,
    pub(super) reread: RereadState,
    speed: usize,
}

impl Playback {
    /// Creates the state of a recording that redyno begins to read.
    pub fn new(file: String) -> Self {
        Self { file, is_playing: false, read: Some(0.0), reread: RereadState::default(), speed: 2 }
    }

    /// Creates the state of a recording that has been read completely and now plays. The speed is the lowest
    /// speed that plays the `length_s` seconds of the recording in at most `most_s` seconds. If no speed is
    /// high enough, the speed is the highest one.
    pub fn all_within(most_s: f64, length_s: f64, file: String) -> Self {
        let fits = |speed: &f64| length_s <= most_s * speed;
        let speed = SPEEDS.iter().position(fits).unwrap_or(SPEEDS.len() - 1);
        Self { is_playing: true, read: None, speed, ..Self::new(file) }
    }

    /// Returns the speed in seconds of the recording per second.
    pub fn speed(&self) -> f64 {
        SPEEDS[self.speed]
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        let next = if faster { self.speed + 1 } else { self.speed.saturating_sub(1) };
        self.speed = next.min(SPEEDS.len() - 1);
    }
}

/// The state of reading a part of a recording again, at a finer resolution.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum RereadState {
    /// No part has been requested yet.
    #[default]
    NotRequested,
    /// The part that was requested last, which may not have arrived yet.
    RequestedLast(Reread),
    /// The recording cannot be read again.
    Impossible,
}
