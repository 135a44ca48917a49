//! Reads several files as one recording, in the order of their start times, for example the files of one night.
//!
//! ```text
//!   a.jsonl  22:00 ├──────────┤ 23:10
//!   b.jsonl                        23:15 ├───────────┤ 02:00
//!   session  0 s   ├──────────┤   gap    ├───────────┤
//! ```
//! Times are relative to the start of the first session. The segments of later sessions get the next free numbers.
//! Files of one session keep the times and the segment numbers of that session. Such files come from `--record-rotate`
//! or from the key `r`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use super::{
    Event, ReadError, Reader, Record, RecordingSummary, Tally,
    timeline::{Excerpt, Reread},
};
use crate::events::EventKind;

/// The accepted overlap of two sessions, in seconds. The start of a session is recorded in whole seconds, so
/// two sessions can seem to overlap.
const ROUNDED_S: f64 = 1.0;

/// A reader that returns the records of one or several files as one session.
#[derive(Debug)]
pub struct JoinedReader {
    parts: Vec<NightFile>,
    /// The index in `parts` of the file that is being read.
    at: usize,
    /// The node and the number of each segment that has begun so far.
    segments: BTreeSet<(u16, u32)>,
    /// The summary of all files by node, if there are several files.
    sums: BTreeMap<u16, Tally>,
}

#[derive(Debug)]
struct NightFile {
    reader: Reader,
    /// The start of the file's session, as recorded.
    started: String,
    /// The start of the file, in seconds of its session.
    from_s: f64,
    /// The number of seconds that is added to all times of the file.
    shift_s: f64,
    /// The number that is added to the numbers of the file's segments.
    numbers: u32,
    /// The time between the end of the previous file and the start of this file, in seconds.
    gap_s: f64,
}

/// Returns the record with its time and its segment number adjusted to the whole session.
fn moved(mut record: Record, shift_s: f64, numbers: u32) -> Record {
    record.shift(shift_s);
    match &mut record {
        Record::Segment(segment) => segment.segment = segment.segment.saturating_add(numbers),
        Record::Interval(interval) => interval.segment = interval.segment.saturating_add(numbers),
        _ => {}
    }
    record
}

impl JoinedReader {
    /// Opens the files, and reads the first record of each file. If there is only one file, it may be a pipe.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is not a recording, or if the files are of different targets or overlap in
    /// time.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ReadError> {
        if let [path] = paths {
            return Ok(Self::of(Reader::open(path)?));
        }
        let mut files = Vec::new();
        for path in paths {
            let glance = RecordingSummary::at(path)?;
            let started = glance.session.started_at().ok_or_else(|| ReadError::NoClock(path.clone()))?;
            files.push((started, glance, path));
        }
        files.sort_by(|(a, of_a, _), (b, of_b, _)| {
            a.cmp(b).then(of_a.session.from_s.total_cmp(&of_b.session.from_s))
        });
        let mut night = Self::empty();
        let mut before: Option<(f64, &Path)> = None;
        for (started, glance, path) in &files {
            let (first, of_first, first_path) = &files[0];
            let (own, other) = (&glance.session.target, &of_first.session.target);
            let nodes = |glance: &RecordingSummary| -> Vec<String> {
                glance.session.nodes.iter().map(|node| node.address.clone()).collect()
            };
            if own.address != other.address || !nodes(glance).starts_with(&nodes(of_first)) {
                let [own, other] = [own, other].map(|target| target.address.clone());
                return Err(ReadError::OtherTarget((*path).clone(), own, (*first_path).clone(), other));
            }
            let from_s = glance.session.from_s;
            let mut shift_s = (*started - *first).as_seconds_f64();
            if let Some((ended_s, earlier)) = before {
                let last = night.parts.last().filter(|last| last.started == glance.session.started);
                shift_s = last.map_or(shift_s, |last| last.shift_s);
                if shift_s + from_s < ended_s - ROUNDED_S {
                    return Err(ReadError::Overlap((*path).clone(), earlier.to_owned()));
                }
                // The times of files of one session do not change: the last records of a file may be later than the
                // next start.
                if last.is_none() {
                    shift_s = shift_s.max(ended_s - from_s);
                }
            }
            let gap_s = before.map_or(0.0, |(ended_s, _)| shift_s + from_s - ended_s);
            before = Some((shift_s + glance.end.t_s, path));
            let (reader, started) = (Reader::open(path)?, glance.session.started.clone());
            night.parts.push(NightFile { reader, started, from_s, shift_s, numbers: 0, gap_s });
        }
        Ok(night)
    }

    /// Reads a single file that is already open.
    pub(super) fn of(reader: Reader) -> Self {
        let mut night = Self::empty();
        let (started, from_s, shift_s, numbers, gap_s) = (String::new(), 0.0, 0.0, 0, 0.0);
        night.parts.push(NightFile { reader, started, from_s, shift_s, numbers, gap_s });
        night
    }

    fn empty() -> Self {
        Self { parts: Vec::new(), at: 0, segments: BTreeSet::new(), sums: BTreeMap::new() }
    }

    /// Returns the share of the files that has been read, 0 to 1.
    pub fn share(&self) -> f64 {
        (self.at as f64 + self.parts[self.at].reader.share()) / self.parts.len() as f64
    }

    /// Returns the next record, or an event about an invalid line. Returns `None` at the end of the last file.
    ///
    /// # Errors
    /// Fails if a file cannot be read any further.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        loop {
            let is_last = self.at + 1 == self.parts.len();
            let part = &mut self.parts[self.at];
            let Some(record) = part.reader.next_record()? else {
                if is_last {
                    return Ok(None);
                }
                match self.begin_next() {
                    Some(gap) => return Ok(Some(self.summed(gap))),
                    None => continue,
                }
            };
            let record = moved(record, part.shift_s, part.numbers);
            if self.parts.len() == 1 || self.takes(&record, is_last) {
                return Ok(Some(self.summed(record)));
            }
        }
    }

    /// Begins the next file. Returns an event if there is a longer time without records before this file.
    fn begin_next(&mut self) -> Option<Record> {
        let before = &self.parts[self.at];
        let (started, numbers) = (before.started.clone(), before.numbers);
        self.at += 1;
        let next = &mut self.parts[self.at];
        let last = self.segments.iter().map(|(_, number)| *number).max().unwrap_or_default();
        next.numbers = if next.started == started { numbers } else { last };
        let gap = Event::new(next.shift_s + next.from_s, EventKind::NotRecorded { length_s: next.gap_s });
        (next.gap_s > ROUNDED_S).then_some(Record::Event(gap))
    }

    /// Returns whether a record of a file belongs to the joined session. This function is used only if there are
    /// several files.
    fn takes(&mut self, record: &Record, is_last: bool) -> bool {
        match record {
            Record::Session(_) => self.at == 0,
            Record::End(_) => is_last,
            // Each later file of a session repeats the segments in force, which must not begin twice.
            Record::Segment(segment) => self.segments.insert((segment.node, segment.segment)),
            _ => true,
        }
    }

    /// Returns the record. The end record of several files is replaced with an end record that covers all files.
    fn summed(&mut self, record: Record) -> Record {
        if self.parts.len() == 1 {
            return record;
        }
        if let Record::End(end) = &record {
            let sum = self.sums.get(&end.node).map(|sum| sum.end(end.t_s));
            return sum.map_or(record.clone(), |sum| Record::End(Box::new(sum)).at_node(end.node));
        }
        self.sums.entry(record.node().unwrap_or_default()).or_default().push(&record);
        record
    }

    /// Reads a part of the session again. Call this only after all records were read once.
    ///
    /// # Errors
    /// Fails if a file cannot be read. Also fails if a file, such as a pipe, can be read only once.
    pub fn stretch(&mut self, asked: Reread) -> Result<Excerpt, ReadError> {
        let (from_s, to_s) = asked.reach_s();
        let mut stretch = Excerpt::new(asked);
        let last = self.parts.iter().rposition(|part| part.shift_s + part.from_s <= from_s).unwrap_or(0);
        for n in last..self.parts.len() {
            let NightFile { shift_s, from_s: begins_s, .. } = self.parts[n];
            if n > last && shift_s + begins_s > to_s {
                break;
            }
            let NightFile { reader, numbers, .. } = &mut self.parts[n];
            let numbers = *numbers;
            let take = |record| stretch.push(&moved(record, shift_s, numbers));
            reader.reread(from_s - shift_s, to_s - shift_s, take)?;
        }
        Ok(stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{
            Interval, Mark, Segment, ServerIdentity, SessionEnd, SessionStart, Timeline, line,
            timeline::Measure,
        },
        stats::fixture::repeated,
    };

    /// Writes a recording that began at `started`, with one second under load for each number in `ops`.
    fn file(folder: &Path, name: &str, started: &str, from_s: f64, ops: &[u64]) -> PathBuf {
        let target = ServerIdentity { address: "10.0.0.7:6379".to_owned(), ..ServerIdentity::default() };
        let started = format!("2026-01-01T{started}Z");
        let start = SessionStart { started, from_s, utc_offset_s: Some(0), ..SessionStart::now(target) };
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut records = vec![Record::Session(start), Record::Segment(Segment::new(0.0, 1, knobs))];
        for (t_s, ops) in (1..).map(|n| from_s + f64::from(n)).zip(ops) {
            let service = repeated(1_000_000, *ops);
            let second =
                Interval { t_s, length_s: 1.0, segment: 1, ops: *ops, service, ..Interval::default() };
            records.push(Record::Interval(Box::new(second)));
        }
        let t_s = from_s + ops.len() as f64;
        records.push(Record::End(Box::new(SessionEnd { t_s, ..SessionEnd::default() })));
        let path = folder.join(name);
        let text: String = records.iter().map(|record| line(record).unwrap()).collect();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(night: &mut JoinedReader) -> Vec<Record> {
        std::iter::from_fn(|| night.next_record().unwrap()).collect()
    }

    #[test]
    fn files_in_any_order_are_one_session_with_a_gap() {
        let folder = tempfile::tempdir().unwrap();
        let late = file(folder.path(), "a.jsonl", "23:01:00", 0.0, &[50; 10]);
        let early = file(folder.path(), "b.jsonl", "23:00:00", 0.0, &[100; 20]);
        let mut night = JoinedReader::open(&[late, early]).unwrap();
        let records = read(&mut night);
        let times: Vec<_> = records.iter().filter_map(Record::t_s).collect();
        assert!(times.is_sorted() && times.last() == Some(&70.0), "{times:?}");
        let mut timeline = Timeline::default();
        records.iter().for_each(|record| timeline.push(record));
        assert_eq!(timeline.time_text(61.0), "23:01:01");
        let segments: Vec<_> = timeline.segments.iter().map(|segment| segment.start.segment).collect();
        assert_eq!(segments, [1, 2]);
        let load = timeline.window(0.0, 70.0, 7).load();
        assert!(load[1].is_some() && load[3].is_none() && load[4].is_none() && load[6].is_some());
        let Some(Record::End(end)) = records.last() else { panic!("an end") };
        assert_eq!(end.summary.ops, 20 * 100 + 10 * 50, "it is about both files");
        // An earlier version counted the gap as measured time.
        let segments = timeline.segments.iter();
        assert_eq!(timeline.measured_s(), 30.0);
        assert_eq!(segments.map(|segment| segment.length_s(70.0)).collect::<Vec<_>>(), [20.0, 10.0]);
        let gap = timeline.events().find_map(|event| Some((event.t_s, event.what.length_s()?)));
        assert_eq!(gap, Some((60.0, 40.0)));
        let stretch = night.stretch(Reread { from_s: 62.0, to_s: 66.0, cell_s: 0.25, nodes: 1 }).unwrap();
        timeline.refine(&std::sync::Arc::new(stretch), 0);
        let again = timeline.window(62.0, 66.0, 4);
        assert!(again.levels(Measure::Service).iter().all(Option::is_some));
        assert_eq!(again.load()[0].as_ref().unwrap().ops_per_s(), Some(50.0));
    }

    #[test]
    fn the_files_of_one_session_continue_its_times_and_its_segment() {
        let folder = tempfile::tempdir().unwrap();
        let first = file(folder.path(), "a.jsonl", "23:00:00", 0.0, &[100; 20]);
        let second = file(folder.path(), "a.2.jsonl", "23:00:00", 20.0, &[100; 20]);
        let records = read(&mut JoinedReader::open(&[second, first]).unwrap());
        let segments = records.iter().filter(|record| matches!(record, Record::Segment(_))).count();
        let of_one = |record: &Record| matches!(record, Record::Interval(part) if part.segment == 1);
        assert_eq!((segments, records.iter().filter(|record| of_one(record)).count()), (1, 40));
        assert_eq!(records.last().and_then(Record::t_s), Some(40.0));
    }

    #[test]
    fn many_files_of_one_session_keep_their_times_even_if_each_ends_late() {
        let folder = tempfile::tempdir().unwrap();
        // Each file ends 60 ms after the start of the next file.
        let from_s = |n: u32| f64::from(n) * 9.94;
        let write = |n| file(folder.path(), &format!("{n}.jsonl"), "23:00:00", from_s(n), &[10; 10]);
        let paths: Vec<_> = (0..60).map(write).collect();
        let records = read(&mut JoinedReader::open(&paths).unwrap());
        let latest = records.iter().rfind(|record| matches!(record, Record::Interval(_))).unwrap();
        assert_eq!((records.len(), latest.t_s()), (1 + 1 + 600 + 1, Some(from_s(59) + 10.0)));
    }

    #[test]
    fn files_that_overlap_or_are_of_another_server_are_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let first = file(folder.path(), "a.jsonl", "23:00:00", 0.0, &[100; 20]);
        let within = file(folder.path(), "b.jsonl", "23:00:10", 0.0, &[100; 20]);
        let why = JoinedReader::open(&[first.clone(), within]).unwrap_err().to_string();
        assert!(why.contains("b.jsonl begins before") && why.contains("a.jsonl ends: "), "{why}");
        let other = folder.path().join("c.jsonl");
        let text = std::fs::read_to_string(&first).unwrap().replace("10.0.0.7", "10.0.0.8");
        std::fs::write(&other, text).unwrap();
        let why = JoinedReader::open(&[first, other]).unwrap_err().to_string();
        assert!(why.contains("of 10.0.0.7:6379: replay only files of one server together"), "{why}");
        let mark = Mark { t_s: 1.0, text: String::new() };
        assert_eq!(moved(Record::Mark(mark), 2.0, 3).t_s(), Some(3.0));
    }
}
