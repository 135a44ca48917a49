//! The thread that writes a session down.
//!
//! It listens to the collector like everyone else, so a slow disk holds nobody up.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use super::{Coalesce, FileError, Record, Writer};

/// A recording that is under way. It ends when its records do.
pub struct Recording {
    thread: JoinHandle<Result<(), FileError>>,
}

impl Recording {
    /// Starts the thread `recorder`, and gives the end that takes records.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(writer: Writer) -> io::Result<(Self, Sender<Arc<Record>>)> {
        let (sender, records) = channel();
        let body = move || record(writer, &records);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(body)?;
        Ok((Self { thread }, sender))
    }

    /// Whether it ended before its time, which only a failure to write brings about.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is written. The collector must have ended.
    ///
    /// # Errors
    /// Why the recording broke off, if it did.
    pub fn finish(self) -> Result<(), FileError> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn record(mut writer: Writer, records: &Receiver<Arc<Record>>) -> Result<(), FileError> {
    let mut coalesce = Coalesce::new();
    for record in records {
        for record in coalesce.push(&record) {
            writer.write(&record)?;
        }
    }
    coalesce.rest().iter().try_for_each(|record| writer.write(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Mark;

    #[test]
    fn what_is_sent_is_in_the_file_when_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let (recording, sender) = Recording::start(Writer::create(&path).unwrap()).unwrap();
        let mark = Record::Mark(Mark { t_s: 1.0, text: "here".into() });
        sender.send(Arc::new(mark.clone())).unwrap();
        drop(sender);
        recording.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), mark);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_ends_the_recording_with_its_reason() {
        let writer = Writer::open_existing(std::path::Path::new("/dev/full")).unwrap();
        let (recording, sender) = Recording::start(writer).unwrap();
        sender.send(Arc::new(Record::Mark(Mark { t_s: 1.0, text: "here".into() }))).unwrap();
        drop(sender);
        let error = recording.finish().unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("No space"), "{error}");
    }
}
