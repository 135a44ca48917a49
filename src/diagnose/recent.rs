//! The last seconds of a segment.

use std::collections::VecDeque;

/// The parts of the last seconds, as few as are long enough.
#[derive(Debug, Clone)]
pub(super) struct Recent<T> {
    window_s: f64,
    /// The length of each, and what it held.
    parts: VecDeque<(f64, T)>,
}

impl<T> Recent<T> {
    /// None yet of `window_s` seconds.
    pub(super) fn of(window_s: f64) -> Self {
        Self { window_s, parts: VecDeque::new() }
    }

    /// Adds the next, and lets those go that are not needed any more.
    pub(super) fn push(&mut self, length_s: f64, part: T) {
        self.parts.push_back((length_s, part));
        let mut all_s = self.length_s();
        while let Some((oldest_s, _)) = self.parts.front()
            && all_s - oldest_s >= self.window_s
        {
            all_s -= oldest_s;
            self.parts.pop_front();
        }
    }

    /// How long they are together.
    pub(super) fn length_s(&self) -> f64 {
        self.parts.iter().map(|(length_s, _)| length_s).sum()
    }

    /// Whether they are as long as they are to be.
    pub(super) fn is_whole(&self) -> bool {
        self.length_s() >= self.window_s
    }

    /// All of them, the oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.parts.iter().map(|(_, part)| part)
    }

    /// Keeps the latest `n`.
    pub(super) fn keep(&mut self, n: usize) {
        self.parts.drain(..self.parts.len().saturating_sub(n));
    }
}
