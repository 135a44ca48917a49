//! The state of a replay on the screen: whether the recording plays, and its speed.

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
    /// The share of the file that has been read, from 0 to 1. `None` after the end of the file.
    pub read: Option<f64>,
    pub(super) reread: RereadState,
    /// The speed, in seconds of the recording per second.
    speed: f64,
}

impl Playback {
    /// Creates the state of a recording that redyno begins to read.
    pub fn new(file: String) -> Self {
        Self { file, is_playing: false, read: Some(0.0), reread: RereadState::default(), speed: 1.0 }
    }

    /// Creates the state of a recording that has been read completely and now plays. The `length_s` seconds of the
    /// recording must play in at most `most_s` seconds. The speed is the lowest usual speed that is high enough. If all
    /// usual speeds are too low, the speed is the lowest sufficient whole number.
    pub fn all_within(most_s: f64, length_s: f64, file: String) -> Self {
        let fits = |speed: &f64| length_s <= most_s * speed;
        let speed = SPEEDS.into_iter().find(fits).unwrap_or_else(|| (length_s / most_s).ceil());
        Self { is_playing: true, read: None, speed, ..Self::new(file) }
    }

    /// Returns the speed in seconds of the recording per second.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    pub(super) fn change_speed(&mut self, faster: bool) {
        let next = match faster {
            true => SPEEDS.into_iter().find(|next| *next > self.speed),
            false => SPEEDS.into_iter().rfind(|next| *next < self.speed),
        };
        self.speed = next.unwrap_or(self.speed);
    }
}

/// The state of reading a part of a recording again, at a finer resolution.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum RereadState {
    /// No part has been requested yet.
    #[default]
    NotRequested,
    /// The part that was requested last. This part may not have arrived yet.
    RequestedLast(Reread),
    /// The recording cannot be read again.
    Impossible,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_any_length_plays_within_the_time_and_the_speed_is_changed_by_steps() {
        let speed = |length_s| Playback::all_within(27.0, length_s, String::new()).speed();
        assert_eq!([5.0, 30.0, 1728.0, 1729.0, 86_400.0].map(speed), [0.25, 2.0, 64.0, 65.0, 3200.0]);
        let mut playback = Playback::new(String::new());
        let mut changed = |faster| {
            playback.change_speed(faster);
            playback.speed()
        };
        assert_eq!(
            [true, true, false, false, false, false, false].map(&mut changed),
            [2.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.25]
        );
        assert_eq!([true; 9].map(changed)[7..], [64.0, 64.0]);
    }
}
