//! A period of the timeline, divided into columns of equal length for charts.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use super::{
    ErrorCell, Heat, History, Level, LoadCell, Measure, PingCell, Quantiles, ServerCell, Timed, Timeline,
    Worst,
    by_segment::{self, BySegment},
    heat,
    history::{Merge, TimeSlot},
    memo::{Grid, Memo},
};
use crate::{
    clock::{TICK_NS, seconds},
    session::{Event, Mark},
    stats::Blend,
};

/// A part of the session, divided into columns of equal length.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// The timeline whose history is shown.
    timeline: &'a Timeline,
    /// The timeline of the whole session.
    pub(super) session: &'a Timeline,
    from_s: f64,
    step_s: f64,
    columns: usize,
    /// The end of the shown time, in seconds. Later measurements are left out.
    until_s: f64,
}

impl Timeline {
    /// Divides the time from `from_s` to `to_s` into `columns` columns. Both moments may lie outside of the session. If
    /// a part of the recording was read again and has more detail, the window uses this part.
    pub fn window(&self, from_s: f64, to_s: f64, columns: usize) -> Window<'_> {
        let step_s = (to_s - from_s).max(0.0) / columns.max(1) as f64;
        let columns = if step_s > 0.0 { columns } else { 0 };
        Window {
            timeline: self.finest(from_s, to_s),
            session: self,
            from_s,
            step_s,
            columns,
            until_s: f64::INFINITY,
        }
    }

    /// Returns the longest latency of `measure` in the whole session, and its time.
    pub fn worst(&self, measure: Measure) -> Option<Worst> {
        worst_of(self.lane(measure).cells.between(0.0, f64::INFINITY))
    }
}

impl<'a> Window<'a> {
    /// Returns one column from `from_s` to `to_s`, with the history of `timeline` itself.
    pub(super) fn single(timeline: &'a Timeline, from_s: f64, to_s: f64) -> Self {
        let step_s = (to_s - from_s).max(1e-6);
        Self { timeline, session: timeline, from_s, step_s, columns: 1, until_s: f64::INFINITY }
    }

    /// Returns the same window without the measurements after `until_s`, accurate to a tick (quarter second).
    #[must_use]
    pub fn until(self, until_s: f64) -> Self {
        Self { until_s, ..self }
    }

    /// Returns the longest latency of `measure` in one column, and the time of its record. This latency is the maximum
    /// in [`levels`](Self::levels). The time may be a little after the column.
    pub fn worst(&self, measure: Measure, column: usize) -> Option<Worst> {
        let column = Self { from_s: self.end_s(column) - self.step_s, columns: 1, ..*self };
        worst_of(column.placed(&self.timeline.lane(measure).cells).map(|(_, cell)| cell))
    }

    /// Returns the load in each column. A column without measurements is `None`.
    pub fn load(&self) -> Vec<Option<LoadCell>> {
        self.remembered(&self.timeline.memos.load, |window| window.merged(&window.timeline.load))
    }

    /// Returns the listed events of the whole session, oldest first. If a part of the recording was read
    /// again, the events of this part that the session no longer lists come first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &'a Event> + use<'a> {
        listed(&self.timeline.events, &self.session.events, |event| event.t_s)
    }

    /// Returns the user's notes, listed like the [`events`](Self::events).
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &'a Mark> + use<'a> {
        listed(&self.timeline.marks, &self.session.marks, |mark| mark.t_s)
    }

    /// Returns the end of `column`, in seconds of the session.
    pub(super) fn end_s(&self, column: usize) -> f64 {
        self.from_s + self.step_s * (column + 1) as f64
    }

    /// Returns the latencies of `measure` in each column: the percentiles of the segment with the most time in the
    /// column, and the maximum of all segments.
    pub fn levels(&self, measure: Measure) -> Vec<Option<Quantiles>> {
        self.remembered(&self.timeline.memos.levels[measure as usize], |window| {
            let mut blend = Blend::default();
            let columns = window.cells(&window.timeline.lane(measure).cells);
            columns
                .iter()
                .map(|cells| (!cells.is_empty()).then(|| by_segment::levels(cells, &mut blend)))
                .collect()
        })
    }

    /// Returns the latencies of the load's requests in each column, as [`levels`](Self::levels) does. The latencies are
    /// response times in open loop, unless `timed` selects service times.
    pub fn latency(&self, timed: Timed) -> Vec<Option<Quantiles>> {
        match timed {
            Timed::FromWrite => self.levels(Measure::Service),
            Timed::FromDue => self.remembered(&self.timeline.memos.from_due, |window| {
                let mut blend = Blend::default();
                let level = |(service, response): (Vec<&BySegment>, Vec<&BySegment>)| {
                    (!service.is_empty() || !response.is_empty())
                        .then(|| by_segment::levels_from_due(&service, &response, &mut blend))
                };
                window.requests(timed).map(level).collect()
            }),
        }
    }

    /// Returns the number of requests by latency in each column. The latency is the response time in open loop, unless
    /// `timed` selects the service time.
    pub fn heat(&self, timed: Timed) -> Vec<Option<Heat>> {
        self.remembered(&self.timeline.memos.heat[timed as usize], |window| {
            let column = |(service, response): (Vec<&BySegment>, Vec<&BySegment>)| {
                (!service.is_empty() || !response.is_empty()).then(|| heat::of(&service, &response))
            };
            window.requests(timed).map(column).collect()
        })
    }

    /// Returns the percentiles and the maximum of the pings in each column. If a column has too few pings for a
    /// percentile, the percentile covers the [`reach_s`](Self::reach_s) seconds before the column's end.
    pub fn levels_of_pings(&self) -> Vec<Option<Quantiles>> {
        self.remembered(&self.timeline.memos.pings_reached, |window| {
            let mut columns = window.levels(Measure::Ping);
            let cells = &window.timeline.lane(Measure::Ping).cells;
            let mut blend = Blend::default();
            for (n, column) in columns.iter_mut().enumerate() {
                let Some(column) = column else { continue };
                let end_s = window.end_s(n).min(window.until_s);
                for level in [Level::P90, Level::P99] {
                    let from_s = end_s - window.reach_s(level);
                    let reached: Vec<_> = cells.between(from_s, end_s).map(|cell| cell.value).collect();
                    column.set(level, by_segment::levels(&reached, &mut blend).get(level));
                }
            }
            columns
        })
    }

    /// Returns the length of the time from which a percentile of the pings is computed, in seconds. The length is one
    /// column, or more if a column has too few pings.
    pub fn reach_s(&self, level: Level) -> f64 {
        let enough_s = match level {
            Level::P90 => 2.0,
            Level::P99 => 12.0,
            Level::P50 | Level::P999 | Level::Max => 0.0,
        };
        self.step_s.max(enough_s)
    }

    /// Returns the number of pings by round trip in each column.
    pub fn heat_of_pings(&self) -> Vec<Option<Heat>> {
        let [.., memo] = &self.timeline.memos.heat;
        self.remembered(memo, |window| {
            let columns = window.cells(&window.timeline.lane(Measure::Ping).cells);
            columns.iter().map(|cells| (!cells.is_empty()).then(|| heat::of(cells, &[]))).collect()
        })
    }

    /// Returns the service times and the response times of each column. The response times are empty if `timed` selects
    /// service times.
    fn requests(&self, timed: Timed) -> impl Iterator<Item = (Vec<&'a BySegment>, Vec<&'a BySegment>)> {
        let cells = |measure| self.cells(&self.timeline.lane(measure).cells);
        let response = match timed {
            Timed::FromDue => cells(Measure::Response),
            Timed::FromWrite => vec![Vec::new(); self.columns],
        };
        cells(Measure::Service).into_iter().zip(response)
    }

    /// Returns the errors of the load and of PING in each column. A column without errors is `None`.
    pub fn errors(&self) -> Vec<Option<ErrorCell>> {
        self.remembered(&self.timeline.memos.errors, |window| window.merged(&window.timeline.error_cells))
    }

    /// Returns the counts of the pings in each column.
    pub fn pings(&self) -> Vec<Option<PingCell>> {
        self.remembered(&self.timeline.memos.pings, |window| window.merged(&window.timeline.ping_cells))
    }

    /// Returns the last status of the server in each column, and the highest value of each figure in the column.
    pub fn server(&self) -> Vec<Option<Arc<ServerCell>>> {
        self.remembered(&self.timeline.memos.server, |window| {
            let columns = window.merged(&window.timeline.server).into_iter();
            columns.map(|column| column.map(Arc::new)).collect()
        })
    }

    /// Returns the columns from the cache `memo`, and computes missing columns with `compute`. Only columns that begin
    /// at a multiple of their length are cached, because other columns are never requested again.
    fn remembered<V: Clone>(
        &self,
        memo: &Memo<V>,
        compute: impl Fn(Self) -> Vec<Option<V>>,
    ) -> Vec<Option<V>> {
        let first = (self.from_s / self.step_s).round();
        if self.columns == 0 || first < 0.0 || (first * self.step_s - self.from_s).abs() > self.step_s * 1e-6
        {
            return compute(*self);
        }
        let part = |first: usize, columns| {
            compute(Self { from_s: self.from_s + self.step_s * first as f64, columns, ..*self })
        };
        // A column that is cut off at `until_s` differs from the cached column.
        let whole = ((self.until_s - self.from_s) / self.step_s + 1e-6).clamp(0.0, self.columns as f64);
        let whole = whole as usize;
        let mut columns =
            memo.columns(Grid { step_s: self.step_s, first: first as u64, columns: whole }, part);
        if whole < self.columns {
            columns.extend(part(whole, self.columns - whole));
        }
        columns
    }

    fn merged<T: Merge + Default + Clone>(&self, history: &'a History<T>) -> Vec<Option<T>> {
        let merge = |cells: &Vec<&T>| {
            let (first, rest) = cells.split_first()?;
            let mut all = (*first).clone();
            rest.iter().for_each(|cell| all.merge((*cell).clone()));
            Some(all)
        };
        self.cells(history).iter().map(merge).collect()
    }

    /// Returns the values of the time slots in each column.
    fn cells<T: Merge + Default>(&self, history: &'a History<T>) -> Vec<Vec<&'a T>> {
        let mut columns = vec![Vec::new(); self.columns];
        for (places, cell) in self.placed(history) {
            columns[places].iter_mut().for_each(|column| column.push(cell.value));
        }
        columns
    }

    /// Returns the time slots of the window, each with the columns to which the time slot belongs.
    pub(super) fn placed<T: Merge + Default>(
        self,
        history: &'a History<T>,
    ) -> impl DoubleEndedIterator<Item = (Range<usize>, TimeSlot<'a, T>)> {
        let to_s = self.from_s + self.step_s * self.columns as f64;
        // A record that ended a little late belongs to the time slot that ended shortly before.
        let until_s = self.until_s - seconds(TICK_NS) / 2.0;
        let cells = history.between(self.from_s, to_s).filter(move |cell| cell.start_s < until_s);
        cells.map(move |cell| (self.columns_of(&cell), cell)).filter(|(places, _)| !places.is_empty())
    }

    /// Returns the columns of a time slot. A short time slot belongs to the column that contains the middle of the time
    /// slot. A time slot that is longer than a column belongs to each column whose middle is inside the time slot.
    fn columns_of<T>(&self, cell: &TimeSlot<T>) -> Range<usize> {
        let column = |t_s: f64| (t_s - self.from_s) / self.step_s;
        let (from, to) = (column(cell.from_s), column(cell.to_s));
        let (first, end) = if to - from > 1.000_001 {
            ((from - 0.5 - 1e-6).ceil(), (to - 0.5 - 1e-6).ceil())
        } else {
            let middle = f64::midpoint(from, to).floor();
            (middle, middle + 1.0)
        };
        let inside = |column: f64| column.clamp(0.0, self.columns as f64) as usize;
        inside(first)..inside(end)
    }
}

/// Returns the items of `part` that are earlier than all items of `session`, and then the items of `session`.
fn listed<'a, T>(
    part: &'a VecDeque<T>,
    session: &'a VecDeque<T>,
    t_s: fn(&T) -> f64,
) -> impl DoubleEndedIterator<Item = &'a T> + use<'a, T> {
    let since_s = session.front().map_or(f64::INFINITY, t_s);
    part.iter().filter(move |item| t_s(item) < since_s).chain(session)
}

/// Returns the longest latency in these time slots. If several time slots have the same latency, returns the first of
/// these time slots.
fn worst_of<'a>(cells: impl DoubleEndedIterator<Item = TimeSlot<'a, BySegment>>) -> Option<Worst> {
    // A record that ended a little late belongs to the time slot that ended shortly before.
    let of_cell = |cell: TimeSlot<'_, BySegment>| {
        cell.value.worst.map(|worst| Worst { t_s: worst.t_s.min(cell.to_s), ..worst })
    };
    cells.filter_map(of_cell).rev().max_by_key(|worst| worst.ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gauge::Gauge,
        server::Status,
        session::{Interval, Moment, Record},
        stats::Recorder,
    };

    #[test]
    fn measurements_after_the_limit_are_left_out_of_columns_and_of_the_cache() {
        let mut timeline = Timeline::default();
        let tick = |timeline: &mut Timeline, n: u32| {
            let t_s = f64::from(n) * 0.25;
            let interval = Interval { t_s, length_s: 0.25, ops: 1, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        };
        let ops = |window: Window| -> Vec<u64> {
            window.load().iter().map(|cell| cell.as_ref().map_or(0, |cell| cell.ops)).collect()
        };
        (1..=6).for_each(|n| tick(&mut timeline, n));
        let until_s = timeline.now_s;
        assert_eq!(ops(timeline.window(0.0, 2.0, 2).until(until_s)), [4, 2]);
        (7..=8).for_each(|n| tick(&mut timeline, n));
        assert_eq!(ops(timeline.window(0.0, 2.0, 2).until(until_s)), [4, 2]);
        assert_eq!(ops(timeline.window(0.0, 2.0, 2)), [4, 4]);
        assert_eq!(ops(timeline.window(0.0, 2.0, 2).until(until_s)), [4, 2]);
    }

    #[test]
    fn cached_columns_equal_newly_computed_columns() {
        let mut timeline = Timeline::default();
        let mut recorder = Recorder::new();
        for tick in 1_u32..=400 {
            recorder.reset();
            (0..20).for_each(|n| recorder.record(u64::from(tick * 997 % 89 + n) * 10_000));
            let service = recorder.latency();
            // Each eighth record comes two seconds late, and each 31st is a late reply of an earlier segment.
            let t_s = f64::from(tick) * 0.25 - if tick % 8 == 0 { 2.0 } else { 0.0 };
            let length_s = if tick % 31 == 0 { 0.0 } else { 0.25 };
            let errors = [("OOM".to_owned(), u64::from(tick % 3))].into();
            let interval =
                Interval { t_s: t_s.max(0.25), length_s, ops: 20, service, errors, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
            if tick % 3 == 0 {
                let gauges = [(Gauge::Cpu, f64::from(tick))].into();
                timeline.push(&Record::Server(Box::new(Moment::new(
                    t_s,
                    Status { gauges, ..Status::default() },
                ))));
            }
            for step_s in [0.25, 1.0, 5.0] {
                let to_s = (timeline.now_s / step_s).ceil().max(30.0) * step_s;
                let asked = |timeline: &Timeline| {
                    let window = timeline.window(to_s - 30.0 * step_s, to_s, 30);
                    let (levels, heat) = (window.latency(Timed::FromDue), window.heat(Timed::FromDue));
                    let (load, errors, server) = (window.load(), window.errors(), window.server());
                    (window.levels(Measure::Service), levels, heat, load, errors, server)
                };
                assert!(asked(&timeline) == asked(&timeline.clone()), "columns of {step_s} s at tick {tick}");
            }
        }
    }
}
