//! Reads a recording line by line, and takes what it finds: a file that kill -9 cut short, a line of garbage in the
//! middle, a later program's kinds of records.
//!
//! What is not a record is told as an event at its place on the time axis, with its line number; nothing else is lost
//! by it. What is one has passed [`sound`](super::sound): a file may have been made to harm.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use thiserror::Error;

use super::{
    Event, Record, SCHEMA,
    sound::{Counted, made_sound},
};
use crate::happening::Happening;

/// The longest line that is a record: some hundred times what a second of load takes.
const LONGEST_LINE: u64 = 4 << 20;
/// Lines that are told one by one; the rest is told in sum.
const TOLD: u64 = 20;

/// Why a file is not shown.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// There is nothing in it.
    #[error("{0} is empty: nothing was recorded there")]
    Empty(PathBuf),
    /// It begins otherwise than a recording.
    #[error("{0} is no recording of redyno: its first line is no session record; --record FILE makes one")]
    NotARecording(PathBuf),
    /// A later program wrote it, by this schema.
    #[error("{0} has records of schema {1}, and this redyno reads up to {SCHEMA}: use a newer redyno")]
    Newer(PathBuf, u32),
}

/// A recording that is being read: its records in order, and events for what is none.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    lines: BufReader<File>,
    /// The length of the file when it was opened, in bytes.
    length: u64,
    read: u64,
    line: u64,
    first: Option<Record>,
    /// The moment of the latest record.
    t_s: f64,
    /// What the records so far counted.
    counted: Counted,
    skipped: u64,
    has_end: bool,
    is_over: bool,
}

/// What the first line must have, whatever else a later schema adds to it.
#[derive(Deserialize)]
struct Opening {
    kind: String,
    schema: u32,
}

/// One line of the file.
enum Line {
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
        let error = |cause| ReadError::Io(path.to_owned(), cause);
        let file = File::open(path).map_err(error)?;
        let length = file.metadata().map_err(error)?.len();
        let mut reader = Self {
            path: path.to_owned(),
            lines: BufReader::with_capacity(1 << 18, file),
            length,
            read: 0,
            line: 0,
            first: None,
            t_s: 0.0,
            counted: Counted::default(),
            skipped: 0,
            has_end: false,
            is_over: false,
        };
        let not_one = || ReadError::NotARecording(path.to_owned());
        let line = match reader.next_line()? {
            Line::None => return Err(ReadError::Empty(path.to_owned())),
            Line::TooLong => return Err(not_one()),
            Line::Whole(line) | Line::Cut(line) => line,
        };
        let opening: Opening = serde_json::from_slice(&line).map_err(|_| not_one())?;
        if opening.kind != "session" {
            return Err(not_one());
        }
        if opening.schema > SCHEMA {
            return Err(ReadError::Newer(path.to_owned(), opening.schema));
        }
        reader.first = Some(made_sound(&line, &mut reader.counted).map_err(|_| not_one())?);
        Ok(reader)
    }

    /// How much of the file has been read, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.length == 0 { 1.0 } else { (self.read as f64 / self.length as f64).min(1.0) }
    }

    /// How many bytes of the file have been read: where the next record begins.
    pub fn place(&self) -> u64 {
        self.read
    }

    /// Goes on at byte `place`, where a record begins.
    ///
    /// # Errors
    /// When the file cannot be read there.
    pub fn go_to(&mut self, place: u64) -> Result<(), ReadError> {
        self.first = None;
        let sought = self.lines.seek(SeekFrom::Start(place));
        self.read = sought.map_err(|cause| ReadError::Io(self.path.clone(), cause))?;
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
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
            let told = match self.next_line()? {
                Line::None => return Ok(self.close(false)),
                Line::TooLong => self.skip("it is longer than any record"),
                Line::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => None,
                Line::Whole(line) => match self.parse(&line) {
                    Ok(record) => return Ok(Some(record)),
                    Err(why) => self.skip(&why),
                },
                Line::Cut(line) => match self.parse(&line) {
                    Ok(record) => return Ok(Some(record)),
                    Err(_) => return Ok(self.close(true)),
                },
            };
            if told.is_some() {
                return Ok(told);
            }
        }
    }

    fn parse(&mut self, line: &[u8]) -> Result<Record, String> {
        let record = made_sound(line, &mut self.counted)?;
        let Some(t_s) = record.t_s() else { return Err("it is a second session".to_owned()) };
        self.has_end |= matches!(record, Record::End(_));
        self.t_s = self.t_s.max(t_s);
        Ok(record)
    }

    /// Counts a line that is no record; an event about it, unless there are very many.
    fn skip(&mut self, why: &str) -> Option<Record> {
        self.skipped += 1;
        let (line, why) = (self.line, why.to_owned());
        (self.skipped <= TOLD).then(|| self.event(Happening::LineSkipped { line, why }))
    }

    /// The last events, one a call.
    fn close(&mut self, in_a_record: bool) -> Option<Record> {
        if self.skipped > TOLD {
            let lines = std::mem::take(&mut self.skipped) - TOLD;
            return Some(self.event(Happening::MoreLinesSkipped { lines }));
        }
        if self.has_end || std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        Some(self.event(Happening::RecordingCut { in_a_record }))
    }

    fn event(&self, what: Happening) -> Record {
        Record::Event(Event::new(self.t_s, what))
    }

    fn next_line(&mut self) -> Result<Line, ReadError> {
        let mut line = Vec::new();
        let error = |cause| ReadError::Io(self.path.clone(), cause);
        let n = (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(error)? as u64;
        self.read += n;
        self.line += 1;
        match line.last() {
            None => Ok(Line::None),
            Some(b'\n') => Ok(Line::Whole(line)),
            Some(_) if n < LONGEST_LINE => Ok(Line::Cut(line)),
            Some(_) if self.line == 1 => Ok(Line::TooLong),
            Some(_) => {
                self.read += self.lines.skip_until(b'\n').map_err(error)? as u64;
                Ok(Line::TooLong)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauge::Gauge;
    use crate::session::{Interval, Mark, ServerIdentity, SessionStart, line};

    fn session() -> String {
        line(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap()
    }

    fn mark(t_s: f64) -> String {
        line(&Record::Mark(Mark { t_s, text: "m".to_owned() })).unwrap()
    }

    fn open(text: &[u8]) -> Result<Reader, ReadError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        Reader::open(&path)
    }

    /// What is told beside records that can be read, and how many of those there are.
    fn read(text: &str) -> (usize, Vec<String>) {
        let mut reader = open(text.as_bytes()).unwrap();
        let (mut n, mut told) = (0, Vec::new());
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Event(event) if event.what.name() == "recording" => told.push(event.what.to_string()),
                _ => n += 1,
            }
        }
        assert_eq!(reader.share(), 1.0);
        (n, told)
    }

    #[test]
    fn a_recording_that_was_cut_short_is_read_up_to_there() {
        let whole = session() + &mark(1.0) + &mark(2.0);
        assert_eq!(
            read(&whole),
            (
                3,
                vec![
                    "the recording ends without an end record: redyno was killed, or still records"
                        .to_owned()
                ]
            )
        );
        for cut in 1..mark(2.0).len() - 1 {
            let told = vec!["the recording ends in the middle of a record".to_owned()];
            assert_eq!(read(&whole[..whole.len() - 1 - cut]), (2, told), "{cut}");
        }
    }

    #[test]
    fn garbage_in_the_middle_is_told_with_its_line_and_skipped() {
        let text = session() + &mark(1.0) + "{\"kind\":\n\u{0}\n" + &mark(9e99) + &session() + &mark(2.0);
        let (n, told) = read(&text);
        assert_eq!((n, told.len()), (3, 5));
        assert!(told[0].starts_with("line 3 is no record and is skipped: "), "{told:?}");
        assert!(told[2].contains("line 5") && told[3].contains("line 6"), "{told:?}");
        let many = session() + &"x\n".repeat(1000);
        let (_, told) = read(&many);
        assert_eq!((told.len(), told[20].as_str()), (22, "980 more lines are no records and are skipped"));
    }

    #[test]
    fn a_line_made_to_harm_is_an_event_and_nothing_else() {
        let interval = |part: &str, instead: &str| {
            let whole =
                line(&Record::Interval(Box::new(Interval { t_s: 1.0, ops: 5, ..Interval::default() })));
            let whole = whole.unwrap();
            assert!(whole.contains(part), "{whole}");
            whole.replace(part, instead)
        };
        let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
        let harm = [
            interval("\"t_s\":1.0", "\"t_s\":-1.0"),
            interval("\"t_s\":1.0", "\"t_s\":1e300"),
            interval("\"t_s\":1.0", "\"t_s\":1e999"),
            interval("\"length_s\":0.0", "\"length_s\":1e300"),
            interval("\"length_s\":0.0", "\"length_s\":-3"),
            interval("\"ops\":5", "\"ops\":18446744073709551615"),
            interval("\"behind_us\":0", "\"behind_us\":18446744073709551615"),
            interval("\"max_us\":0.0", "\"max_us\":-1.0"),
            interval("\"errors\":{}", "\"errors\":{\"a\\u0007\":1,\"a\\\\x07\":2}"),
            deep,
            format!("\"{}\"\n", "x".repeat(5 << 20)),
        ];
        let (n, told) = read(&(session() + &harm.concat() + &mark(2.0)));
        assert_eq!((n, told.len()), (2, harm.len() + 1), "{told:?}");
        assert!(told.iter().all(|text| text.len() < 700), "{told:?}");
    }

    #[test]
    fn counts_that_together_exceed_every_session_are_not_added_up() {
        let many = Record::Interval(Box::new(Interval { ops: (1 << 53) - 1, ..Interval::default() }));
        let (n, told) = read(&(session() + &line(&many).unwrap().repeat(1030)));
        assert_eq!((n, told[0].contains("together")), (1 + 1024, true), "{told:?}");
    }

    #[test]
    fn no_text_of_a_recording_is_obeyed() {
        let event = r#"{"kind":"event","t_s":1,"name":"x\u001b]0;a\u0007","detail":"\u009b2J\u202etxt"}"#;
        let unknown = r#"{"kind":"\u001b[2J","t_s":1}"#;
        let mut reader = open(format!("{}{event}\n{unknown}\n", session()).as_bytes()).unwrap();
        let mut shown = String::new();
        while let Some(record) = reader.next_record().unwrap() {
            shown += &format!("{record:?}");
        }
        assert!(!shown.contains("\\u{1b}") && !shown.contains("\\u{9b}"), "{shown}");
        assert!(shown.contains(r"x\\x1b]0;a\\x07") && shown.contains(r"\\x9b2J\\u{202e}txt"), "{shown}");
    }

    /// Figures in groups, flags, means without sums, events in words only, no ticks.
    #[test]
    fn a_recording_of_the_first_version_still_opens_whole() {
        let mut reader = Reader::open(Path::new("tests/fixtures/recording-0.1.0.jsonl")).unwrap();
        let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
        let lines = include_str!("../../tests/fixtures/recording-0.1.0.jsonl").lines().count();
        assert_eq!(records.len(), lines, "no line is skipped, and nothing is told of any");
        for record in &records {
            match record {
                Record::Event(event) => assert!(matches!(event.what, Happening::Foreign { .. }), "{event:?}"),
                Record::Server(moment) => {
                    let gauges = &moment.body.gauges;
                    let told = [Gauge::PeakMemory, Gauge::SavedOk, Gauge::MaxClients, Gauge::Replicas];
                    assert!(told.iter().all(|gauge| gauges[*gauge].is_some()), "{gauges:?}");
                    assert_eq!(moment.body.policy.as_deref(), Some("noeviction"));
                }
                Record::Interval(interval) => {
                    let service = &interval.service;
                    assert!(service.sum_ns() > u128::from(service.count()), "{service:?}");
                    assert!(!interval.commands.is_empty());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_no_recording_is_refused_in_one_line() {
        let message = |text: &[u8]| open(text).unwrap_err().to_string();
        assert!(message(b"").contains("is empty"));
        for text in
            [&b"hello\n"[..], b"{}\n", b"\xff\xfe\n", &mark(1.0).into_bytes(), b"{\"kind\":\"session\"}"]
        {
            assert!(message(text).contains("is no recording of redyno"), "{text:?}");
        }
        let newer = message(b"{\"kind\":\"session\",\"schema\":2,\"new\":1}\n");
        assert!(newer.contains("schema 2") && newer.contains("reads up to 1"), "{newer}");
        assert!(message(&vec![b'x'; 5 << 20]).contains("is no recording"));
    }
}
