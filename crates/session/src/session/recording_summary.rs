//! Reads the summary of a recording from the beginning and the end of its file. The records between the beginning and
//! the end are not read.

use std::{
    fs::{self, File},
    io::{self, BufRead, Read, Seek, SeekFrom},
    path::Path,
};

use super::{
    ReadError, Reader, Record, SessionEnd, SessionStart, Tally,
    input::{RecordingInput, is_packed},
    reader::LONGEST_LINE,
    validate::{ValidationState, validated},
};

/// A summary of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingSummary {
    /// The first record of the recording.
    pub session: SessionStart,
    /// The end record of the recording. If the recording has no end record, this record is computed from all records.
    pub end: SessionEnd,
    /// Whether the recording has an end record. A recording without an end record is still being written, or was cut
    /// off.
    pub has_end: bool,
}

impl RecordingSummary {
    /// Reads the first and the last record of the recording `path`. If there is no end record, reads the
    /// whole file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not a recording.
    pub fn at(path: &Path) -> Result<Self, ReadError> {
        let not_one = || ReadError::NotARecording(path.to_owned());
        // Reading a pipe would block.
        let file = fs::metadata(path).map_err(|cause| ReadError::Io(path.to_owned(), cause))?;
        if !file.is_file() {
            return Err(not_one());
        }
        let mut reader = Reader::open(path)?;
        let Some(Record::Session(session)) = reader.next_record()? else { return Err(not_one()) };
        if let Some(end) = end(path).map_err(|cause| ReadError::Io(path.to_owned(), cause))? {
            return Ok(Self { session, end, has_end: true });
        }
        let (mut tally, mut t_s) = (Tally::default(), 0.0_f64);
        while let Some(record) = reader.next_record()? {
            if record.is_of(0) {
                t_s = record.t_s().map_or(t_s, |record_s| record_s.max(t_s));
                tally.push(&record);
            }
        }
        Ok(Self { session, end: tally.end(t_s), has_end: false })
    }
}

/// Returns the end record of a file; `None` if its last line is another record.
fn end(path: &Path) -> io::Result<Option<SessionEnd>> {
    let line = if is_packed(path)? { last_unpacked(path)? } else { last(path)? };
    match validated(&line, &mut ValidationState::default()) {
        Ok(Record::End(end)) => Ok(Some(*end)),
        _ => Ok(None),
    }
}

fn last(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_LINE)))?;
    let mut last = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut last)?;
    let line = last.trim_ascii_end();
    let begins = memchr::memrchr(b'\n', line).map_or(0, |at| at + 1);
    Ok(line[begins..].to_owned())
}

/// Returns the last line of a compressed file. This decompresses the whole file.
fn last_unpacked(path: &Path) -> io::Result<Vec<u8>> {
    let mut lines = RecordingInput::open(path)?;
    let (mut line, mut next) = (Vec::new(), Vec::new());
    while lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut next)? > 0 {
        std::mem::swap(&mut line, &mut next);
        next.clear();
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Segment, ServerIdentity, SessionWriter},
    };

    /// Returns the summary of a recording of one second, with or without an end record.
    fn glance(has_end: bool) -> RecordingSummary {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = SessionWriter::create(&path).unwrap();
        let knobs = Knobs { load: true, ..Knobs::default() };
        let interval = Interval { t_s: 2.0, length_s: 2.0, segment: 1, ops: 500, ..Interval::default() };
        let mut tally = Tally::default();
        let records = [
            Record::Session(SessionStart::now(ServerIdentity::default())),
            Record::Segment(Segment::new(0.0, 1, knobs)),
            Record::Interval(Box::new(interval)),
        ];
        for record in records {
            tally.push(&record);
            writer.write(&record).unwrap();
        }
        if has_end {
            writer.write(&Record::End(Box::new(tally.end(7.0)))).unwrap();
        }
        RecordingSummary::at(&path).unwrap()
    }

    #[test]
    fn the_end_is_the_end_record_or_computed_from_the_records() {
        let (whole, cut) = (glance(true), glance(false));
        assert_eq!((whole.has_end, whole.end.t_s, whole.end.peak_ops_per_s), (true, 7.0, Some(250.0)));
        assert_eq!((cut.has_end, cut.end.t_s, cut.end.peak_ops_per_s), (false, 2.0, Some(250.0)));
        assert_eq!(cut.end.summary.ops, 500);
    }

    #[test]
    fn a_file_that_is_not_a_recording_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "{}\n").unwrap();
        assert!(RecordingSummary::at(&path).unwrap_err().to_string().contains("is no recording"));
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for none in [pipe.as_path(), folder.path()] {
            assert!(RecordingSummary::at(none).unwrap_err().to_string().contains("is no recording"));
        }
    }
}
