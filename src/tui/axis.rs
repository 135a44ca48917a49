//! The time axis that all charts share: one column a second, the newest at the right.
//!
//! A column is a whole second of the session, so the picture moves one column a second and holds still between:
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
    /// The axis of `columns` columns whose last one holds `now_s`.
    pub fn ending_at(now_s: f64, columns: u16) -> Self {
        // A second's last tick ends on its border and belongs to it.
        Self { end: (now_s - 1e-6).max(0.0) as u64 + 1, columns }
    }

    /// The second in `column`; `None` before the session began.
    pub fn second(&self, column: u16) -> Option<u64> {
        (self.end + u64::from(column)).checked_sub(self.columns.into())
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
        let axis = TimeAxis::ending_at(100.0, 40);
        assert_eq!((axis.second(39), axis.second(0)), (Some(99), Some(60)));
        assert_eq!((axis.column(99.9), axis.column(60.0), axis.column(59.9)), (Some(39), Some(0), None));
        assert_eq!(TimeAxis::ending_at(100.25, 40).second(39), Some(100));
        assert_eq!(axis.column(100.1), None);
    }

    #[test]
    fn before_the_session_there_is_nothing() {
        let axis = TimeAxis::ending_at(2.5, 10);
        assert_eq!((axis.second(6), axis.second(7), axis.second(9)), (None, Some(0), Some(2)));
        assert_eq!(TimeAxis::ending_at(0.0, 0).column(0.0), None);
    }
}
