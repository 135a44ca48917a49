//! The recorder: a thread that writes a session to a file, as a recording or as an export.
//!
//! The recorder is one of the collector's listeners, so a slow disk does not delay the measurement. A recording may
//! continue in further files. Each file contains the session's first record, the current segments, and an end record
//! about this file.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    Coalesce, Record, Segment, SessionEnd, SessionFileError, SessionStart, SessionWriter, Tally,
    queue::{Feed, Queue, RecordLosses, queue},
};

/// The longest wait at the end for a file that accepts no data.
const PATIENCE: Duration = Duration::from_secs(2);
/// The interval at which a waiting thread checks whether the recording has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running recording. The recording ends when the session ends, or when the recording is stopped.
pub struct Recording {
    thread: JoinHandle<Result<(), SessionFileError>>,
    state: Arc<RecorderState>,
    losses: RecordLosses,
}

/// The state that the recorder's thread and its owner share.
#[derive(Debug, Default)]
struct RecorderState {
    /// The file that is being written.
    path: Mutex<PathBuf>,
    written: AtomicU64,
    stopped: AtomicBool,
}

impl Recording {
    /// Starts the thread `recorder`, and returns the sender for its records.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(writer: SessionWriter) -> io::Result<(Self, Feed<Arc<Record>>)> {
        let (feed, records) = queue();
        let losses = feed.losses();
        let path = Mutex::new(writer.path().to_owned());
        let state = Arc::new(RecorderState { path, ..RecorderState::default() });
        let shared = Arc::clone(&state);
        let body = move || record(writer, &records, &shared);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(body)?;
        Ok((Self { thread, state, losses }, feed))
    }

    /// Returns the path of the current file.
    pub fn path(&self) -> PathBuf {
        self.state.path.lock().clone()
    }

    /// Returns the number of bytes written so far, to all files.
    pub fn written(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    /// Ends the recording at the next record. The recording gets an end record about its content, and the session
    /// continues.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns whether the recording has ended, after [`stop`](Self::stop) or a failure.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Returns the number of records that were left out because the file did not accept them in time.
    pub fn lost(&self) -> u64 {
        self.losses.count()
    }

    /// Waits until everything is written, but only as long as the file accepts data. Call this function only after the
    /// collector has ended, or after the recording was stopped.
    ///
    /// # Errors
    /// Fails if the recording stopped early or is incomplete.
    pub fn finish(self) -> Result<(), SessionFileError> {
        let (mut taken, mut since) = (self.written(), Instant::now());
        while !self.thread.is_finished() {
            let now = self.written();
            if now > taken {
                (taken, since) = (now, Instant::now());
            } else if since.elapsed() >= PATIENCE {
                return Err(SessionFileError::Stuck(self.path()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        match self.losses.count() {
            0 => Ok(()),
            lost => Err(SessionFileError::Lost(self.state.path.lock().clone(), lost)),
        }
    }
}

/// The state of one file of a recording.
struct RecordingFile {
    writer: SessionWriter,
    state: Arc<RecorderState>,
    coalesce: Coalesce,
    /// The summaries of the file's content, by node.
    sums: BTreeMap<u16, Tally>,
    /// The first record of the session, which is the first record of every file.
    session: Option<SessionStart>,
    segments: BTreeMap<u16, Arc<Record>>,
    /// The latest time of a record, in seconds of the session.
    t_s: f64,
}

fn record(
    writer: SessionWriter,
    records: &Queue<Arc<Record>>,
    state: &Arc<RecorderState>,
) -> Result<(), SessionFileError> {
    let (coalesce, sums) = (Coalesce::default(), BTreeMap::from([(0, Tally::default())]));
    let (session, segments, t_s) = (None, BTreeMap::new(), 0.0);
    let mut part = RecordingFile { writer, state: Arc::clone(state), coalesce, sums, session, segments, t_s };
    let mut records = records.rest().peekable();
    if records.peek().is_none() {
        // The session has not begun, so its empty file is removed.
        return Ok(());
    }
    for record in records {
        part.take(&record)?;
        if state.stopped.load(Ordering::Relaxed) {
            part.end()?;
            return part.writer.finish().map(drop);
        }
    }
    let rest = part.coalesce.rest();
    part.write(&rest)?;
    part.writer.finish().map(drop)
}

impl RecordingFile {
    fn take(&mut self, record: &Arc<Record>) -> Result<(), SessionFileError> {
        if record.t_s().is_some_and(|t_s| self.writer.is_due(t_s)) {
            self.go_on(record.t_s().unwrap_or_default())?;
        }
        let node = record.node().unwrap_or_default();
        let made = match &**record {
            Record::Session(session) => {
                self.session = Some(session.clone());
                Arc::clone(record)
            }
            Record::Segment(_) => {
                self.segments.insert(node, Arc::clone(record));
                Arc::clone(record)
            }
            Record::End(end) if self.is_a_part() => Arc::new(self.end_of(end)),
            other => {
                self.session.as_mut().map(|session| session.follow(other));
                Arc::clone(record)
            }
        };
        let made = self.coalesce.push(&made);
        self.write(&made)?;
        self.sums.entry(node).or_default().push(record);
        self.t_s = record.t_s().map_or(self.t_s, |record_s: f64| record_s.max(self.t_s));
        Ok(())
    }

    /// Ends this file. All records from `t_s` on are written to the next file.
    fn go_on(&mut self, t_s: f64) -> Result<(), SessionFileError> {
        self.end()?;
        let from_s = self.writer.rotate(t_s)?;
        let session = self.session.clone().map(|session| SessionStart { from_s, ..session });
        let first = session.map(|session| Arc::new(Record::Session(session)));
        let segments = self.segments.values().map(|segment| Arc::new(going_on(segment, from_s)));
        let first: Vec<_> = first.into_iter().chain(segments).collect();
        self.sums = BTreeMap::from([(0, Tally::default())]);
        for record in &first {
            self.sums.entry(record.node().unwrap_or_default()).or_default().push(record);
        }
        *self.state.path.lock() = self.writer.path().to_owned();
        self.write(&first)
    }

    /// Writes the records that are not written yet, and an end record about the file's content.
    fn end(&mut self) -> Result<(), SessionFileError> {
        let mut rest = self.coalesce.rest();
        // The first node's end record is the last record of a recording.
        for (node, sum) in self.sums.iter().rev() {
            rest.push(Arc::new(Record::End(Box::new(SessionEnd { node: *node, ..sum.end(self.t_s) }))));
        }
        self.write(&rest)
    }

    /// Returns whether the file begins later than the session.
    fn is_a_part(&self) -> bool {
        self.writer.has_rotated() || self.session.as_ref().is_some_and(|session| session.from_s > 0.0)
    }

    /// Returns the end record for a file that begins later than the session. The record has the results of searches and
    /// sweeps of the session, but the summary of this file alone.
    fn end_of(&self, session: &SessionEnd) -> Record {
        let sum = self.sums.get(&session.node).map_or_else(|| session.clone(), |sum| sum.end(session.t_s));
        let SessionEnd { node, found, best, .. } = session.clone();
        Record::End(Box::new(SessionEnd { node, found, best, ..sum }))
    }

    fn write(&mut self, records: &[Arc<Record>]) -> Result<(), SessionFileError> {
        if records.is_empty() {
            return Ok(());
        }
        records.iter().try_for_each(|record| self.writer.write(record))?;
        self.writer.flush()?;
        self.state.written.store(self.writer.written(), Ordering::Relaxed);
        Ok(())
    }
}

/// Returns the record of a segment that began earlier, for a file that begins at `from_s`.
pub(super) fn going_on(segment: &Record, from_s: f64) -> Record {
    match segment {
        Record::Segment(segment) => {
            Record::Segment(Segment { t_s: segment.t_s.max(from_s), ..segment.clone() })
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Mark, Reader, RecordingSummary, ServerIdentity},
        stats::{Latency, fixture::latency_of},
    };

    /// Returns the numbers and starts of the segments in a file.
    fn segments(path: &Path) -> Vec<(u32, f64)> {
        let mut reader = Reader::open(path).unwrap();
        let segment = |record| match record {
            Record::Segment(segment) => Some((segment.segment, segment.t_s)),
            _ => None,
        };
        std::iter::from_fn(|| reader.next_record().unwrap()).filter_map(segment).collect()
    }

    fn mark(t_s: f64) -> Arc<Record> {
        Arc::new(Record::Mark(Mark { t_s, text: "here".into() }))
    }

    #[test]
    fn all_sent_records_are_in_the_finished_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let (recording, mut sender) = Recording::start(SessionWriter::create(&path).unwrap()).unwrap();
        assert!(sender.record(&mark(1.0)));
        drop(sender);
        recording.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), *mark(1.0));
    }

    #[test]
    fn a_stopped_recording_is_complete_while_the_session_continues() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let (recording, mut sender) = Recording::start(SessionWriter::create(&path).unwrap()).unwrap();
        recording.stop();
        assert!(sender.record(&mark(7.5)));
        recording.finish().unwrap();
        assert!(!sender.record(&mark(8.0)), "nobody listens any more");
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(matches!(&records[..], [Record::Mark(_), Record::End(end)] if end.t_s == 7.5), "{records:?}");
    }

    #[test]
    fn each_rotated_file_opens_alone_and_together_they_have_each_record_once() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["night.jsonl", "night.jsonl.zst"] {
            let writer =
                SessionWriter::create(&folder.path().join(name)).unwrap().rotated(Duration::from_secs(10));
            let (recording, mut sender) = Recording::start(writer).unwrap();
            let mut whole = Tally::default();
            let mut send = |record: Record| {
                whole.push(&record);
                assert!(sender.record(&Arc::new(record)));
            };
            send(Record::Session(SessionStart::now(ServerIdentity::default())));
            send(Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
            // A tick (quarter second) ends when its worker wakes up, perhaps late. A reply may be even later.
            for tick in 1..=136_u32 {
                let t_s = f64::from(tick) * 0.25 + 0.003;
                let ops = u64::from(tick) * 7;
                let service = latency_of((0..ops).map(|n| n * 1000));
                send(Record::Interval(Box::new(Interval {
                    t_s,
                    length_s: 0.25,
                    segment: 1,
                    ops,
                    service,
                    ..Interval::default()
                })));
                if tick % 5 == 0 {
                    send(Record::Interval(Box::new(Interval {
                        t_s: t_s - 0.25,
                        segment: 1,
                        ops: 1,
                        ..Interval::default()
                    })));
                }
            }
            let whole = whole.end(34.0);
            assert!(sender.record(&Arc::new(Record::End(Box::new(whole.clone())))));
            drop(sender);
            let state = Arc::clone(&recording.state);
            recording.finish().unwrap();
            let stem = |path: &Path| path.file_name().unwrap().to_str().unwrap().ends_with(&name[5..]);
            let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
            let files: Vec<_> = files.filter(|path| stem(path)).collect();
            let sizes: u64 = files.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum();
            let parts: Vec<_> = files.iter().map(|path| RecordingSummary::at(path).unwrap()).collect();
            assert_eq!(parts.len(), 4, "{parts:?}");
            let written = state.written.load(Ordering::Relaxed);
            assert!(written > sizes / 2 && written <= sizes, "{written} of {sizes}");
            assert!(parts.iter().all(|part| part.has_end), "{parts:?}");
            let mut from_s: Vec<_> = parts.iter().map(|part| part.session.from_s as u32).collect();
            from_s.sort_unstable();
            assert_eq!(from_s, [0, 10, 20, 30]);
            for (path, part) in files.iter().zip(&parts) {
                assert_eq!(segments(path), [(1, part.session.from_s)]);
            }
            let summaries = parts.iter().map(|part| &part.end.summary);
            assert_eq!(summaries.clone().map(|sum| sum.ops).sum::<u64>(), whole.summary.ops);
            assert_eq!(summaries.clone().map(|sum| sum.length_s).sum::<f64>(), whole.summary.length_s);
            let service = Latency::merged(summaries.map(|sum| &sum.service));
            assert_eq!(service, whole.summary.service);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_the_recording_with_its_reason() {
        let writer = SessionWriter::open_existing(std::path::Path::new("/dev/full")).unwrap();
        let (recording, mut sender) = Recording::start(writer).unwrap();
        assert!(sender.record(&mark(1.0)));
        drop(sender);
        let error = recording.finish().unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("No space"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_blocked_file_is_abandoned_and_its_missing_records_are_counted() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.jsonl");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // The test does not read from this end of the pipe, so the pipe accepts only as much as the system
        // buffers.
        let _reader = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let (recording, mut sender) = Recording::start(SessionWriter::open_existing(&path).unwrap()).unwrap();
        let interval =
            |t_s| Interval { t_s, service: latency_of((0..500).map(|n| n * 1000)), ..Interval::default() };
        let mut n = 0.0;
        while recording.lost() < 100 {
            assert!(sender.record(&Arc::new(Record::Interval(Box::new(interval(n))))));
            n += 1.0;
        }
        assert!(n < 100_000.0, "what waits for it is bounded");
        drop(sender);
        let error = recording.finish().unwrap_err().to_string();
        assert!(error.contains("pipe.jsonl failed: nothing more could be written for 2 s"), "{error}");
    }
}
