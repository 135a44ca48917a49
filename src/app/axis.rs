//! The time axis that all charts share: columns of equal length.
//!
//! ```text
//!   0.25 s a column   ▆▅▆▆▇▅▅▆▆▇
//!   full              ▆▅▆▆▇▅▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅
//!   0.26 s            ▆▅▆▆▇▅▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅    a twentieth longer, and room for what comes
//!   2 s, and moves    ▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅▆▆▇▅▅▆
//! ```
//! A young session fills it from the left, a quarter of a second a column. When it is full, columns become a little longer
//! at a time, so that the whole session stays on it and nothing is drawn anew for a while; where only the last minutes are
//! wanted, it moves at last. Columns begin at whole multiples of their length, so the picture holds still between: the eye
//! can rest on it, and a slow line has little to carry.

use crate::session::{Timeline, timeline::Window};

/// Which stretch of time each column shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeAxis {
    /// One past the number of the last column; column 0 begins where the session did.
    pub end: u64,
    /// How many columns.
    pub columns: u16,
    /// How long each is, in seconds.
    pub step_s: f64,
}

impl TimeAxis {
    /// The axis of `columns` columns of `step_s` seconds that holds `t_s`, in its last column once there are so many since
    /// `begins_s`.
    pub fn holding(t_s: f64, begins_s: f64, columns: u16, step_s: f64) -> Self {
        let first = (begins_s / step_s + 1e-9) as u64;
        Self { end: (number_ending(t_s, step_s) + 1).max(first + u64::from(columns)), columns, step_s }
    }

    /// When the first column begins.
    pub fn from_s(&self) -> f64 {
        self.start_s(0)
    }

    /// When the last column ends.
    pub fn to_s(&self) -> f64 {
        self.end as f64 * self.step_s
    }

    /// How long it is, in seconds.
    pub fn length_s(&self) -> f64 {
        f64::from(self.columns) * self.step_s
    }

    /// How much of it shows a session that ends at `ends_s`: to when, with how many columns.
    pub fn until(&self, ends_s: f64) -> (f64, usize) {
        let shown = ((ends_s.min(self.to_s()) - self.from_s()) / self.step_s).ceil().max(0.0);
        (self.from_s() + shown * self.step_s, shown as usize)
    }

    /// What its columns hold of a session that ends at `ends_s`.
    pub fn window<'a>(&self, timeline: &'a Timeline, ends_s: f64) -> Window<'a> {
        let (to_s, shown) = self.until(ends_s);
        timeline.window(self.from_s(), to_s, shown).until(ends_s)
    }

    /// When `column` begins, which may not have come yet.
    pub fn start_s(&self, column: u16) -> f64 {
        (self.end - u64::from(self.columns) + u64::from(column)) as f64 * self.step_s
    }

    /// The column that holds the moment `t_s`; `None` when it is not on the axis. A moment between two belongs to the
    /// later.
    pub fn column(&self, t_s: f64) -> Option<u16> {
        self.of_number((t_s.max(0.0) / self.step_s + 1e-9) as u64)
    }

    /// The column that ends with the moment `t_s` or holds it.
    pub fn column_ending(&self, t_s: f64) -> Option<u16> {
        self.of_number(number_ending(t_s, self.step_s))
    }

    fn of_number(&self, number: u64) -> Option<u16> {
        let from_end = self.end.checked_sub(1 + number)?;
        u64::from(self.columns).checked_sub(1 + from_end).map(|column| column as u16)
    }
}

/// The shortest column that a session grows from, a tick.
const SHORTEST_S: f64 = 0.25;
/// By so much columns become longer at a time.
const GROWTH: f64 = 1.05;

/// The length of columns that have grown until each is at least `least_s` long, and less than a twentieth more.
pub(super) fn grown(least_s: f64) -> f64 {
    let times = ((least_s / SHORTEST_S).ln() / GROWTH.ln() - 1e-9).ceil();
    SHORTEST_S * GROWTH.powi(times.max(0.0) as i32)
}

/// The number of the column that ends with `t_s` or holds it: what ends on a border belongs to the column before.
pub(super) fn number_ending(t_s: f64, step_s: f64) -> u64 {
    (t_s / step_s - 1e-6).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_holds_now_and_the_border_of_a_second_belongs_to_it() {
        let axis = TimeAxis::holding(100.0, 0.0, 40, 1.0);
        assert_eq!((axis.start_s(39), axis.from_s(), axis.to_s()), (99.0, 60.0, 100.0));
        assert_eq!((axis.column(99.9), axis.column(60.0), axis.column(59.9)), (Some(39), Some(0), None));
        assert_eq!(TimeAxis::holding(100.25, 0.0, 40, 1.0).start_s(39), 100.0);
        assert_eq!(
            (axis.column(100.1), axis.column(100.0), axis.column_ending(100.0)),
            (None, None, Some(39))
        );
    }

    #[test]
    fn a_young_session_fills_it_from_the_left() {
        let axis = TimeAxis::holding(2.5, 0.0, 10, 1.0);
        assert_eq!((axis.start_s(0), axis.start_s(2), axis.start_s(9)), (0.0, 2.0, 9.0));
        assert_eq!((axis.column(0.0), axis.column(2.4)), (Some(0), Some(2)));
        assert_eq!(TimeAxis::holding(10.25, 0.0, 10, 1.0).column(0.0), None);
        assert_eq!(TimeAxis::holding(0.0, 0.0, 0, 1.0).column(0.0), None);
    }

    #[test]
    fn columns_grow_by_a_twentieth_from_a_quarter_of_a_second_on() {
        assert_eq!((grown(0.0), grown(0.25), grown(0.2501)), (0.25, 0.25, 0.25 * 1.05));
        for n in 0..2000 {
            let least_s = 0.25 * 1.013_f64.powi(n);
            let length_s = grown(least_s);
            assert!(
                length_s >= least_s * (1.0 - 1e-9) && length_s < least_s * 1.0501,
                "{least_s} {length_s}"
            );
        }
    }

    #[test]
    fn columns_have_any_length() {
        let axis = TimeAxis::holding(3600.0, 0.0, 60, 60.0);
        assert_eq!((axis.from_s(), axis.column(90.0), axis.length_s()), (0.0, Some(1), 3600.0));
        assert_eq!(TimeAxis::holding(1.0, 0.0, 100, 0.1).column(0.3), Some(3));
    }
}
