//! Reads a recording line by line. The file may be damaged: there may be invalid lines, or a `kill -9` may have cut the
//! file short.
//!
//! An invalid line becomes an event with the number of the line. The time of this event is the time of the records
//! around the line. All other lines are read. Every record has passed [`validate`](super::validate), because a file may
//! be malicious.
//!
//! The reader builds an index of file positions by time. With the index, the reader can read a part of the recording
//! again.

use std::{
    fs::File,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;

use super::{
    Event, Record, SCHEMA,
    input::RecordingInput,
    places::{FilePosition, PositionIndex},
    validate::validated,
};
use crate::events::EventKind;

/// The longest accepted line, in bytes. The limit is about a hundred times the length of a usual line.
pub(super) const LONGEST_LINE: u64 = 4 << 20;
/// The number of invalid lines that are reported one by one. Further invalid lines are only counted.
const MOST_REPORTED: u64 = 20;

/// The reasons why a file cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// No part of the file can be read again, for example because the file is a pipe.
    #[error(
        "{0} cannot be read a second time ({1}), so its older parts have no details; replay a file instead of a pipe"
    )]
    Once(PathBuf, io::Error),
    /// The file is empty.
    #[error("{0} is empty: nothing was recorded there")]
    Empty(PathBuf),
    /// The first line of the file is not the first line of a recording.
    #[error(
        "{0} is no recording of redyno: its first line is no session record; --record FILE makes a recording"
    )]
    NotARecording(PathBuf),
    /// The file has another schema: another version of redyno wrote it.
    #[error(
        "{0} has records of schema {1}, and this redyno reads schema {SCHEMA}: use the version that wrote this file"
    )]
    OtherSchema(PathBuf, u32),
    /// One of several files has another target than the first file.
    #[error(
        "{0} is a recording of {1}, but {2} is a recording of {3}: replay only files of one server together"
    )]
    OtherTarget(PathBuf, String, PathBuf, String),
    /// Two of several files were recorded at the same time.
    #[error("{0} begins before {1} ends: files that are replayed together must not overlap in time")]
    Overlap(PathBuf, PathBuf),
    /// The recording has no valid start time.
    #[error("{0} has no start time, so redyno cannot put it in order with other files; replay it alone")]
    NoClock(PathBuf),
}

/// A reader of a recording. The reader returns the records in order, and events about invalid lines.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    lines: RecordingInput,
    /// The position of the next line.
    at: FilePosition,
    places: PositionIndex,
    /// The largest number of seconds by which a record is earlier than a record before it. Records may be out of order
    /// in the file.
    lag_s: f64,
    first: Option<Record>,
    skipped: u64,
    has_end: bool,
    is_over: bool,
    is_damage_reported: bool,
}

/// The fields of the first line that exist in every version of the schema.
#[derive(Deserialize)]
struct FirstLine {
    kind: String,
    schema: u32,
}

/// One line of the file.
enum FileLine {
    /// A complete line, with its line end.
    Whole(Vec<u8>),
    /// The last line of a file, if it has no line end.
    Cut(Vec<u8>),
    /// A line that is longer than any record.
    TooLong,
    /// There is no further line.
    None,
}

impl Reader {
    /// Opens a recording and reads its first record. The path `-` is standard input.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is empty, is not a recording, or has another schema.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let opened = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        let file = File::open(opened).map_err(|cause| ReadError::Io(path.to_owned(), cause))?;
        Self::of(file, path)
    }

    /// Reads a recording from an open file. Errors call the file `path`.
    ///
    /// # Errors
    /// The errors are the same as for [`open`](Self::open).
    pub(super) fn of(file: File, path: &Path) -> Result<Self, ReadError> {
        let error = |cause| ReadError::Io(path.to_owned(), cause);
        let mut reader = Self {
            path: path.to_owned(),
            lines: RecordingInput::of(file).map_err(error)?,
            at: FilePosition::default(),
            places: PositionIndex::new(FilePosition::default()),
            lag_s: 0.0,
            first: None,
            skipped: 0,
            has_end: false,
            is_over: false,
            is_damage_reported: false,
        };
        let not_one = || ReadError::NotARecording(path.to_owned());
        let line = match reader.next_line()? {
            FileLine::None => return Err(ReadError::Empty(path.to_owned())),
            FileLine::TooLong => return Err(not_one()),
            FileLine::Whole(line) | FileLine::Cut(line) => line,
        };
        let opening: FirstLine = serde_json::from_slice(&line).map_err(|_| not_one())?;
        if opening.kind != "session" {
            return Err(not_one());
        }
        if opening.schema != SCHEMA {
            return Err(ReadError::OtherSchema(path.to_owned(), opening.schema));
        }
        reader.first = Some(validated(&line, &mut reader.at.known).map_err(|_| not_one())?);
        reader.places = PositionIndex::new(reader.at.clone());
        Ok(reader)
    }

    /// Returns the share of the file that has been read, 0 to 1.
    pub fn share(&self) -> f64 {
        self.lines.share(self.at.offset)
    }

    /// Returns the next record, or an event about an invalid line. Returns `None` at the end of the recording.
    ///
    /// # Errors
    /// Fails if the file cannot be read any further.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let record = match self.next_line()? {
                FileLine::None => return Ok(self.close(false)),
                FileLine::TooLong => self.skip("the line is longer than any record"),
                FileLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => None,
                FileLine::Whole(line) => match self.parse(&line) {
                    Ok(record) => return Ok(Some(record)),
                    Err(why) => self.skip(&why),
                },
                FileLine::Cut(line) => match self.parse(&line) {
                    Ok(record) => return Ok(Some(record)),
                    Err(_) => return Ok(self.close(true)),
                },
            };
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Reads a part of the recording again, with the segments in effect before this part. Call this function only after
    /// the whole file was read, because `lag_s` must be known.
    ///
    /// # Errors
    /// Fails if the file cannot be read. Also fails if the file, such as a pipe, can be read only once.
    pub(super) fn reread(
        &mut self,
        from_s: f64,
        to_s: f64,
        mut take: impl FnMut(Record),
    ) -> Result<(), ReadError> {
        let place = self.places.before(from_s);
        let found = self.lines.seek(place.offset);
        found.map_err(|cause| ReadError::Once(self.path.clone(), cause))?;
        (self.at, self.first, self.skipped, self.is_over) = (place, None, 0, false);
        self.at.segments().for_each(|segment| take(segment.clone()));
        while let Some(record) = self.next_record()? {
            if record.t_s().is_some_and(|t_s| t_s > to_s + self.lag_s) {
                break;
            }
            take(record);
        }
        Ok(())
    }

    fn parse(&mut self, line: &[u8]) -> Result<Record, String> {
        let record = validated(line, &mut self.at.known)?;
        let Some(t_s) = record.t_s() else { return Err("it is a second session".to_owned()) };
        self.has_end |= matches!(record, Record::End(_));
        self.lag_s = self.lag_s.max(self.at.t_s - t_s);
        self.at.pass(&record, t_s);
        self.places.note(&self.at);
        Ok(record)
    }

    /// Counts an invalid line. Returns an event about the line, unless too many lines have been reported.
    fn skip(&mut self, why: &str) -> Option<Record> {
        self.skipped += 1;
        let (line, why) = (self.at.line, why.to_owned());
        (self.skipped <= MOST_REPORTED).then(|| self.event(EventKind::LineSkipped { line, why }))
    }

    /// Returns one event for each call. The events are about unreported invalid lines, damage, and a missing end
    /// record, in this order. Returns `None` when all events were returned.
    fn close(&mut self, in_a_record: bool) -> Option<Record> {
        if self.skipped > MOST_REPORTED {
            let lines = std::mem::take(&mut self.skipped) - MOST_REPORTED;
            return Some(self.event(EventKind::MoreLinesSkipped { lines }));
        }
        if let Some(why) = self.lines.damage().filter(|_| !self.is_damage_reported).map(str::to_owned) {
            self.is_damage_reported = true;
            return Some(self.event(EventKind::LineSkipped { line: self.at.line, why }));
        }
        if self.has_end || std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(self.event(EventKind::RecordingCut { in_a_record }))
    }

    fn event(&self, what: EventKind) -> Record {
        Record::Event(Event::new(self.at.t_s, what))
    }

    fn next_line(&mut self) -> Result<FileLine, ReadError> {
        let mut line = Vec::new();
        let error = |cause| ReadError::Io(self.path.clone(), cause);
        let n = (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(error)? as u64;
        self.at.offset += n;
        self.at.line += 1;
        match line.last() {
            None => Ok(FileLine::None),
            Some(b'\n') => Ok(FileLine::Whole(line)),
            Some(_) if n < LONGEST_LINE => Ok(FileLine::Cut(line)),
            Some(_) if self.at.line == 1 => Ok(FileLine::TooLong),
            Some(_) => {
                self.at.offset += self.lines.skip_until(b'\n').map_err(error)? as u64;
                Ok(FileLine::TooLong)
            }
        }
    }
}

#[cfg(test)]
mod tests;
