//! A cache of chart columns. When a chart moves by one column, redyno computes only one new column.
//!
//! ```text
//!   frame n     ▓▓▓▓▓▓▓▓▓▓▓▓░        ▓ cached
//!   frame n+1    ▓▓▓▓▓▓▓▓▓▓▓▓░       ░ computed from the history
//! ```
//! A column is cached until a new record changes measurements in its time. A cloned timeline begins with an
//! empty cache. The history becomes coarser later, but a cached column keeps the detail with which it was
//! first drawn.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::{ErrorCell, Heat, LoadCell, Measure, PingCell, Quantiles, ServerCell};
use crate::session::Record;

/// The largest number of cached columns. The number is enough for a wide screen with a few column lengths.
const MOST: usize = 512;
/// The margin before a recent record's period, in seconds. The record changes only time slots that begin after this
/// margin.
const MARGIN_S: f64 = 1.0;

/// The cached columns of one kind of chart.
#[derive(Debug)]
pub(super) struct Memo<V>(Mutex<CachedColumns<V>>);

#[derive(Debug)]
struct CachedColumns<V> {
    /// The columns, by their length in nanoseconds and their number. A column without measurements is `None`.
    columns: HashMap<(u64, u64), Option<V>>,
    /// Columns after this moment are outdated, in seconds.
    stale_s: f64,
}

/// A range of neighbouring columns of one length, from number `first` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) step_s: f64,
    pub(super) first: u64,
    pub(super) columns: usize,
}

impl<V> Default for Memo<V> {
    fn default() -> Self {
        Self(Mutex::new(CachedColumns { columns: HashMap::new(), stale_s: f64::INFINITY }))
    }
}

impl<V> Clone for Memo<V> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<V: Clone> Memo<V> {
    /// Returns the columns of `grid`. If columns are missing in the cache, calls `compute` once, with the first missing
    /// column and the number of columns up to the last missing column. A full cache is emptied first, so that all
    /// columns are missing.
    pub(super) fn columns(
        &self,
        grid: Grid,
        compute: impl FnOnce(usize, usize) -> Vec<Option<V>>,
    ) -> Vec<Option<V>> {
        let mut known = self.0.lock();
        known.forget_stale();
        let step_ns = (grid.step_s * 1e9).round() as u64;
        let key = |column: usize| (step_ns, grid.first + column as u64);
        let is_missing = |column: &usize| !known.columns.contains_key(&key(*column));
        let missing = (0..grid.columns).find(is_missing).zip((0..grid.columns).rfind(is_missing));
        if let Some((first, last)) = missing {
            let is_full = known.columns.len() + grid.columns > MOST;
            if is_full {
                known.columns.clear();
            }
            let first = if is_full { 0 } else { first };
            let found = compute(first, if is_full { grid.columns } else { last - first + 1 });
            if grid.columns > MOST {
                return found;
            }
            known.columns.extend((first..).map(key).zip(found));
        }
        (0..grid.columns).map(|column| known.columns.get(&key(column)).cloned().flatten()).collect()
    }
}

impl<V> Memo<V> {
    fn touch(&mut self, since_s: f64) {
        let known = self.0.get_mut();
        known.stale_s = known.stale_s.min(since_s);
    }
}

impl<V> CachedColumns<V> {
    fn forget_stale(&mut self) {
        if self.stale_s.is_finite() {
            let stale_ns = self.stale_s * 1e9;
            self.columns.retain(|(step_ns, number), _| (*number + 1) as f64 * *step_ns as f64 <= stale_ns);
            self.stale_s = f64::INFINITY;
        }
    }
}

/// The caches of all kinds of charts.
#[derive(Debug, Clone, Default)]
pub(super) struct Memos {
    pub(super) levels: [Memo<Quantiles>; Measure::ALL.len()],
    pub(super) from_due: Memo<Quantiles>,
    pub(super) pings_reached: Memo<Quantiles>,
    /// The caches of the heat maps: one for each [`Timed`](super::Timed), and one for the pings.
    pub(super) heat: [Memo<Heat>; 3],
    pub(super) load: Memo<LoadCell>,
    pub(super) server: Memo<Arc<ServerCell>>,
    pub(super) errors: Memo<ErrorCell>,
    pub(super) pings: Memo<PingCell>,
}

impl Memos {
    /// Invalidates the columns after `since_s` that `record` changes. The time slot that an old record changes may be
    /// as long as the record's age.
    pub(super) fn touch(&mut self, record: &Record, since_s: f64, now_s: f64) {
        let t_s = record.t_s().unwrap_or(since_s);
        let since_s = since_s - MARGIN_S - (now_s - t_s).max(0.0);
        if matches!(record, Record::Server(_) | Record::Host(_)) {
            return self.server.touch(since_s);
        }
        self.levels.iter_mut().for_each(|memo| memo.touch(since_s));
        self.from_due.touch(since_s);
        self.pings_reached.touch(since_s);
        self.heat.iter_mut().for_each(|memo| memo.touch(since_s));
        self.load.touch(since_s);
        self.errors.touch(since_s);
        self.pings.touch(since_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid { step_s: 1.0, first: 10, columns: 4 };

    /// Returns the columns of `grid` from the cache, and the range of columns that the cache had to compute. The
    /// computation returns the number of each column.
    fn asked(memo: &Memo<u64>, grid: Grid) -> (Vec<Option<u64>>, Option<(usize, usize)>) {
        let mut asked = None;
        let columns = memo.columns(grid, |first, n| {
            asked = Some((first, n));
            (first..first + n).map(|column| Some(grid.first + column as u64)).collect()
        });
        (columns, asked)
    }

    #[test]
    fn only_new_and_changed_columns_are_computed() {
        let mut memo = Memo::default();
        let all = vec![Some(10), Some(11), Some(12), Some(13)];
        assert_eq!(asked(&memo, GRID), (all.clone(), Some((0, 4))));
        assert_eq!(asked(&memo, GRID), (all.clone(), None));
        memo.touch(12.5);
        assert_eq!(asked(&memo, GRID), (all, Some((2, 2))));
        let later = Grid { first: 11, ..GRID };
        assert_eq!(asked(&memo, later).1, Some((3, 1)));
        assert_eq!(asked(&memo, Grid { step_s: 2.0, ..GRID }).1, Some((0, 4)));
    }

    #[test]
    fn the_cache_stays_small_and_correct_for_all_queries() {
        let memo = Memo::default();
        for first in (0..100_000).step_by(97) {
            let grid = Grid { first, columns: 240, ..GRID };
            let expected: Vec<_> = (first..first + 240).map(Some).collect();
            assert_eq!(asked(&memo, grid).0, expected);
            assert!(memo.0.lock().columns.len() <= MOST);
        }
        let huge = Grid { first: 0, columns: 3 * MOST, ..GRID };
        assert_eq!(asked(&memo, huge).0.len(), 3 * MOST);
        assert!(memo.0.lock().columns.len() <= MOST);
    }
}
