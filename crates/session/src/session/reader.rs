//! Reads a recording line by line, and takes what it finds: a file that kill -9 cut short, a line of garbage in the
//! middle.
//!
//! A line that is no record becomes an event at its place on the time axis, with its line number; nothing else is lost
//! by it. What is one has passed [`validate`](super::validate): a file may have been made to harm.
//!
//! It remembers where the moments of the session lie in the file, so that a stretch of it can be read once more.

use std::{
    fs::File,
    io::{self, BufRead, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;

use super::{
    Event, Record, SCHEMA,
    input::Input,
    places::{Place, Places},
    timeline::{Excerpt, Reread},
    validate::validated,
};
use crate::events::EventKind;

/// The longest line that is a record: some hundred times what a second of load takes.
pub(super) const LONGEST_LINE: u64 = 4 << 20;
/// This many lines are reported one by one; the rest as a sum.
const MOST_REPORTED: u64 = 20;

/// Why a file is not shown.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// It can be read from its beginning only.
    #[error(
        "{0} cannot be read a second time ({1}), so what is long past is shown no closer; replay a file instead of a pipe"
    )]
    Once(PathBuf, io::Error),
    /// There is nothing in it.
    #[error("{0} is empty: nothing was recorded there")]
    Empty(PathBuf),
    /// It begins otherwise than a recording.
    #[error("{0} is no recording of redyno: its first line is no session record; --record FILE makes one")]
    NotARecording(PathBuf),
    /// Another version wrote it, by this schema.
    #[error(
        "{0} has records of schema {1}, and this redyno reads schema {SCHEMA}: use the version that wrote it"
    )]
    OtherSchema(PathBuf, u32),
}

/// A recording that is being read: its records in order, and events for what is none.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    lines: Input,
    /// Where the next line begins.
    at: Place,
    places: Places,
    /// How far a record was behind the latest before it at the most, in seconds.
    lag_s: f64,
    first: Option<Record>,
    skipped: u64,
    has_end: bool,
    is_over: bool,
    is_damage_reported: bool,
}

/// What the first line has in every schema.
#[derive(Deserialize)]
struct Opening {
    kind: String,
    schema: u32,
}

/// One line of the file.
enum FileLine {
    /// With its end.
    Whole(Vec<u8>),
    /// The file ended before it did.
    Cut(Vec<u8>),
    /// Longer than any record.
    TooLong,
    /// There is none.
    None,
}

impl Reader {
    /// Opens a recording and reads its first record.
    ///
    /// # Errors
    /// When it cannot be read, is empty, is none, or is of a later schema.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|cause| ReadError::Io(path.to_owned(), cause))?;
        Self::of(file, path)
    }

    /// The same of a file that is open already, and called by this name.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(super) fn of(file: File, path: &Path) -> Result<Self, ReadError> {
        let error = |cause| ReadError::Io(path.to_owned(), cause);
        let mut reader = Self {
            path: path.to_owned(),
            lines: Input::of(file).map_err(error)?,
            at: Place::default(),
            places: Places::new(Place::default()),
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
        let opening: Opening = serde_json::from_slice(&line).map_err(|_| not_one())?;
        if opening.kind != "session" {
            return Err(not_one());
        }
        if opening.schema != SCHEMA {
            return Err(ReadError::OtherSchema(path.to_owned(), opening.schema));
        }
        reader.first = Some(validated(&line, &mut reader.at.known).map_err(|_| not_one())?);
        reader.places = Places::new(reader.at.clone());
        Ok(reader)
    }

    /// How much of the file has been read, 0 to 1.
    pub fn share(&self) -> f64 {
        self.lines.share(self.at.offset)
    }

    /// The next record, or an event about what is none; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read any further.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let record = match self.next_line()? {
                FileLine::None => return Ok(self.close(false)),
                FileLine::TooLong => self.skip("it is longer than any record"),
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

    /// Reads a stretch again, after all has been read once: by then it is known how far records are out of order.
    ///
    /// # Errors
    /// When the file cannot be read, or not from anywhere but its beginning, as a pipe.
    pub fn stretch(&mut self, asked: Reread) -> Result<Excerpt, ReadError> {
        let (from_s, to_s) = asked.reach_s();
        let place = self.places.before(from_s);
        let found = self.lines.seek(place.offset);
        found.map_err(|cause| ReadError::Once(self.path.clone(), cause))?;
        (self.at, self.first, self.skipped, self.is_over) = (place, None, 0, false);
        let mut stretch = Excerpt::new(asked);
        self.at.segments().for_each(|segment| stretch.push(segment));
        while let Some(record) = self.next_record()? {
            if record.t_s().is_some_and(|t_s| t_s > to_s + self.lag_s) {
                break;
            }
            stretch.push(&record);
        }
        Ok(stretch)
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

    /// Counts a line that is no record; an event about it, unless there are very many.
    fn skip(&mut self, why: &str) -> Option<Record> {
        self.skipped += 1;
        let (line, why) = (self.at.line, why.to_owned());
        (self.skipped <= MOST_REPORTED).then(|| self.event(EventKind::LineSkipped { line, why }))
    }

    /// The last events, one a call.
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
