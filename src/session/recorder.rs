//! The thread that writes a session down, as a recording or in the form of an export.
//!
//! It listens to the collector like everyone else, so a slow disk holds nobody up.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use super::{Coalesce, FileError, Record, Tally, Writer};

/// A recording that is under way. It ends when its records do, or when it is told to.
pub struct Recording {
    thread: JoinHandle<Result<(), FileError>>,
    state: Arc<State>,
    path: PathBuf,
}

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct State {
    written: AtomicU64,
    stopped: AtomicBool,
}

impl Recording {
    /// Starts the thread `recorder`, and gives the end that takes records.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(writer: Writer) -> io::Result<(Self, Sender<Arc<Record>>)> {
        let (sender, records) = channel();
        let path = writer.path().to_owned();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let body = move || record(writer, &records, &shared);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(body)?;
        Ok((Self { thread, state, path }, sender))
    }

    /// Where it is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.state.written.load(Ordering::Relaxed)
    }

    /// Ends it with the next record, with an end record of what it holds, while the session goes on.
    pub fn stop(&self) {
        self.state.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether nothing more will be written: after [`stop`](Self::stop), and else only after a failure.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is written. The collector must have ended, or the recording been stopped.
    ///
    /// # Errors
    /// Why the recording broke off, if it did.
    pub fn finish(self) -> Result<(), FileError> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn record(mut writer: Writer, records: &Receiver<Arc<Record>>, state: &State) -> Result<(), FileError> {
    write_all(&mut writer, records, state)?;
    writer.finish().map(drop)
}

fn write_all(writer: &mut Writer, records: &Receiver<Arc<Record>>, state: &State) -> Result<(), FileError> {
    let mut coalesce = Coalesce::default();
    let mut sums = BTreeMap::from([(0, Tally::default())]);
    let mut t_s = 0.0;
    let mut write = |record: &Record| {
        writer.write(record)?;
        state.written.store(writer.written(), Ordering::Relaxed);
        Ok(())
    };
    for record in records {
        for record in coalesce.push(&record) {
            write(&record)?;
        }
        let (target, told) = record.told();
        sums.entry(target).or_default().push(told);
        t_s = record.t_s().map_or(t_s, |record_s: f64| record_s.max(t_s));
        if state.stopped.load(Ordering::Relaxed) {
            coalesce.rest().iter().try_for_each(|record| write(record))?;
            // That of the first target is the recording's, and ends it.
            return sums
                .iter()
                .rev()
                .try_for_each(|(target, sum)| write(&Record::End(Box::new(sum.end(t_s))).told_by(*target)));
        }
    }
    coalesce.rest().iter().try_for_each(|record| write(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Mark;

    fn mark(t_s: f64) -> Arc<Record> {
        Arc::new(Record::Mark(Mark { t_s, text: "here".into() }))
    }

    #[test]
    fn what_is_sent_is_in_the_file_when_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let (recording, sender) = Recording::start(Writer::create(&path).unwrap()).unwrap();
        sender.send(mark(1.0)).unwrap();
        drop(sender);
        recording.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), *mark(1.0));
    }

    #[test]
    fn a_recording_that_is_stopped_ends_whole_while_records_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let (recording, sender) = Recording::start(Writer::create(&path).unwrap()).unwrap();
        recording.stop();
        sender.send(mark(7.5)).unwrap();
        recording.finish().unwrap();
        assert!(sender.send(mark(8.0)).is_err(), "nobody listens any more");
        let text = std::fs::read_to_string(&path).unwrap();
        let records: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(matches!(&records[..], [Record::Mark(_), Record::End(end)] if end.t_s == 7.5), "{records:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_the_recording_with_its_reason() {
        let writer = Writer::open_existing(std::path::Path::new("/dev/full")).unwrap();
        let (recording, sender) = Recording::start(writer).unwrap();
        sender.send(mark(1.0)).unwrap();
        drop(sender);
        let error = recording.finish().unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("No space"), "{error}");
    }
}
