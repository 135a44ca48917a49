//! A recording that is played: whether time runs in it, and how fast.

use crate::session::timeline::Reread;

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

    pub(super) fn change_speed(&mut self, faster: bool) {
        let next = if faster { self.speed + 1 } else { self.speed.saturating_sub(1) };
        self.speed = next.min(SPEEDS.len() - 1);
    }
}

/// What has become of reading again.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Closer {
    /// Nothing was asked for yet.
    #[default]
    Unasked,
    /// This was asked for last; whether it is there yet, the timelines know.
    Asked(Reread),
    /// The recording cannot be read again.
    Impossible,
}
