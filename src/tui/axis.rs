//! The time axis that all charts share: one column a second.
//!
//! A young session fills it from the left, beside the names and scales of the lanes; when it is full, it moves and
//! the newest second stands at the right. A column is a whole second of the session, so the picture moves one column a second and holds still between:
//! the eye can rest on it, and a slow line has little to carry.

/// Which second each column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAxis {
    /// One past the last second shown.
    pub end: u64,
    /// How many columns, each one second.
    pub columns: u16,
}

impl TimeAxis {
    /// The axis of `columns` columns that holds `now_s`, in its last column once there are so many seconds.
    pub fn holding(now_s: f64, columns: u16) -> Self {
        // A second's last tick ends on its border and belongs to it.
        let end = (now_s - 1e-6).max(0.0) as u64 + 1;
        Self { end: end.max(columns.into()), columns }
    }

    /// The second in `column`, which may not have come yet.
    pub fn second(&self, column: u16) -> u64 {
        self.end - u64::from(self.columns) + u64::from(column)
    }

    /// The column that holds the moment `t_s`; `None` when it is not on the axis.
    pub fn column(&self, t_s: f64) -> Option<u16> {
        let from_end = self.end.checked_sub(1 + t_s.max(0.0) as u64)?;
        u64::from(self.columns).checked_sub(1 + from_end).map(|column| column as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_holds_now_and_the_border_of_a_second_belongs_to_it() {
        let axis = TimeAxis::holding(100.0, 40);
        assert_eq!((axis.second(39), axis.second(0)), (99, 60));
        assert_eq!((axis.column(99.9), axis.column(60.0), axis.column(59.9)), (Some(39), Some(0), None));
        assert_eq!(TimeAxis::holding(100.25, 40).second(39), 100);
        assert_eq!(axis.column(100.1), None);
    }

    #[test]
    fn a_young_session_fills_it_from_the_left() {
        let axis = TimeAxis::holding(2.5, 10);
        assert_eq!((axis.second(0), axis.second(2), axis.second(9)), (0, 2, 9));
        assert_eq!((axis.column(0.0), axis.column(2.4)), (Some(0), Some(2)));
        assert_eq!(TimeAxis::holding(10.25, 10).column(0.0), None);
        assert_eq!(TimeAxis::holding(0.0, 0).column(0.0), None);
    }
}
