//! Carries out the screen's file actions: writes pictures of the screen, copies text to the clipboard, and
//! reads files that the user names.
//!
//! Exports and reports are made from the session's records. Separate threads write these files. Neither the screen nor
//! the session therefore waits.
//!
//! ```text
//! Effect::Write ─► begin ─► thread: records so far ─► segment? ─► sink ─► new file ─► poll ─► a message, and the path is copied
//! ```

use std::{
    collections::VecDeque,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use ratatui::layout::Rect;

use super::{screens, svg, theme::Theme};
use crate::{
    app::{FileDestination, FileForm, FileRequest, Model, Picture, WrittenFile},
    export::{OneSegment, Rows},
    report::{Report, ReportSource},
    session::{SessionFileError, SessionRecords, SessionWriter, Sink, fresh_file},
    units, untrusted,
    workload::{Settings, WorkloadChoice, text_of},
};

/// The longest text for the clipboard, in bytes. xterm and similar terminals do not accept a longer text.
const MOST_COPIED: usize = 74_994;

/// Returns the screen as a picture in this form.
pub fn picture(form: Picture, model: &Model, theme: Theme, area: Rect) -> String {
    let buffer = screens::picture(area, theme, model);
    match form {
        Picture::Svg => svg::render(&buffer, theme),
        Picture::Text => svg::text(&buffer),
    }
}

/// Saves a picture to a new file in `folder`. Returns a message with the path.
///
/// # Errors
/// Returns a message if the file cannot be written.
pub fn save(folder: &Path, form: Picture, picture: &str) -> Result<String, String> {
    let failed =
        |path: &Path, error| format!("redyno cannot save the screen to {}: {error}", untrusted::path(path));
    let (path, mut file) =
        fresh_file(folder, "redyno", form.extension()).map_err(|(path, error)| failed(&path, error))?;
    file.write_all(picture.as_bytes()).map_err(|error| {
        // An incomplete picture is useless. If the file cannot be removed, the first error is reported.
        let _ = fs::remove_file(&path);
        failed(&path, error)
    })?;
    Ok(format!("saved the screen to {}, {}", untrusted::path(&path), units::bytes(picture.len() as u64)))
}

/// Returns the escape sequence that copies `text` to the terminal's clipboard (OSC 52). Terminals do not reply to this
/// sequence.
///
/// # Errors
/// Returns a message if the text is longer than terminals accept.
pub fn copying(what: &str, text: &str) -> Result<Vec<u8>, String> {
    if text.len() > MOST_COPIED {
        return Err(format!(
            "{what} is {} but a terminal's clipboard takes at most {}; quit with q to see it in the scrollback",
            units::bytes(text.len() as u64),
            units::bytes(MOST_COPIED as u64)
        ));
    }
    Ok(format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes())
}

/// Returns the name of a file that the user typed, and its text.
///
/// If the file cannot be read without blocking, returns an error message in place of the text.
pub fn read(path: &Path) -> (String, Result<String, String>) {
    let name = untrusted::path(Path::new(path.file_name().unwrap_or(path.as_os_str())));
    let text = match fs::metadata(path) {
        Ok(about) if about.is_file() => text_of(path).map_err(|error| error.cause),
        Ok(_) => Err("not a regular file".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    (name, text)
}

/// The error message if the session keeps no records.
const NO_RECORDS: &str = "this session keeps no records, so redyno cannot export anything";

/// Returns the workload in a file that the user typed.
///
/// # Errors
/// Fails if the file cannot be read without blocking, or is not a workload.
pub fn workload(path: &str) -> Result<WorkloadChoice, String> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(format!("{} is not a regular file", untrusted::path(Path::new(path))));
    }
    WorkloadChoice::find(path, &Settings::default()).map_err(|error| error.to_string())
}

/// The result of making a file.
type FileResult = Result<WrittenFile, String>;

/// The files that are being made.
pub struct Files {
    kept: Option<Arc<Mutex<SessionRecords>>>,
    threads: VecDeque<JoinHandle<FileResult>>,
}

impl Files {
    /// Prepares to make files from these records.
    pub fn of(kept: Option<SessionRecords>) -> Self {
        Self { kept: kept.map(|kept| Arc::new(Mutex::new(kept))), threads: VecDeque::new() }
    }

    /// Begins to make a file in the working directory, in a new thread.
    ///
    /// # Errors
    /// Returns a message if there are no records, or the system cannot start a thread.
    pub fn begin(&mut self, outgoing: FileRequest) -> Result<(), String> {
        let kept = Arc::clone(self.kept.as_ref().ok_or(NO_RECORDS)?);
        let body = move || {
            // All threads share the read position in the file of records, so one thread reads at a time.
            let mut kept = kept.lock();
            make(&outgoing, &mut kept, Path::new("."))
        };
        let began = std::thread::Builder::new().name("export".to_owned()).spawn(body);
        self.threads.push_back(began.map_err(|error| format!("cannot export: {error}"))?);
        Ok(())
    }

    /// Returns the result of the oldest file, if this file is finished.
    pub fn next_result(&mut self) -> Option<FileResult> {
        self.threads.pop_front_if(|made| made.is_finished()).map(finished)
    }

    /// Waits until all remaining files are finished. Returns their results.
    pub fn rest(self) -> impl Iterator<Item = FileResult> {
        self.threads.into_iter().map(finished)
    }
}

fn finished(thread: JoinHandle<FileResult>) -> FileResult {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn make(outgoing: &FileRequest, kept: &mut SessionRecords, folder: &Path) -> FileResult {
    let sink: Box<dyn Sink + Send> = match outgoing.form {
        FileForm::Figures(format, rows) => format.sink(rows, None),
        FileForm::Report(form) => {
            let source = ReportSource { name: kept.name(), segments: Vec::new() };
            Box::new(Report::of(form, vec![source]))
        }
    };
    let writer = new_file(outgoing, folder, sink).map_err(|error| error.to_string())?;
    let path = writer.path().to_owned();
    let (size, has_row) = write(outgoing, kept, writer).inspect_err(|_| {
        // If the unfinished file cannot be removed, the first error is reported.
        let _ = std::fs::remove_file(&path);
    })?;
    let (shown, path) = (untrusted::path(&path), whole(&path)?);
    let lack = rows(outgoing).filter(|_| !has_row);
    let lack =
        lack.map_or_else(String::new, |rows| format!("; the session has no such row ({})", rows.about()));
    Ok(WrittenFile { path, message: format!("{shown}: {outgoing}, {}{lack}", units::bytes(size)) })
}

fn new_file(
    outgoing: &FileRequest,
    folder: &Path,
    sink: Box<dyn Sink + Send>,
) -> Result<SessionWriter, SessionFileError> {
    match &outgoing.to {
        FileDestination::Named(file) => SessionWriter::create_as(&folder.join(file), sink),
        FileDestination::Fresh(name) => {
            SessionWriter::fresh_as(folder, name, outgoing.form.extension(), sink)
        }
    }
}

/// Returns the kind of rows; `None` if the rows of the file are fixed.
fn rows(outgoing: &FileRequest) -> Option<Rows> {
    match outgoing.form {
        FileForm::Figures(format, rows) if format.has_rows() => Some(rows),
        _ => None,
    }
}

/// Writes the requested records. Returns the number of bytes, and whether there was a row of the requested kind.
fn write(
    outgoing: &FileRequest,
    kept: &mut SessionRecords,
    mut writer: SessionWriter,
) -> Result<(u64, bool), String> {
    let (rows, mut has_row) = (rows(outgoing), false);
    let mut segment = outgoing.segment.map(OneSegment::numbered);
    for record in kept.records().map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        if segment.as_mut().is_none_or(|segment| segment.has(&record)) {
            has_row |= record.is_of(0) && rows.is_some_and(|rows| rows.has_row_of(&record));
            writer.write(&record).map_err(|error| error.to_string())?;
        }
    }
    Ok((writer.finish().map_err(|error| error.to_string())?, has_row))
}

/// Returns the absolute path.
fn whole(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("cannot find {} again: {error}", path.display());
    let path: PathBuf = path.canonicalize().map_err(failed)?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        export::CSV,
        knobs::Knobs,
        session::{Interval, Record, Segment, ServerIdentity, SessionStart, line},
    };

    #[test]
    fn a_file_is_read_and_anything_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.script");
        std::fs::write(&path, "at 5s end").unwrap();
        assert_eq!(read(&path), ("a.script".to_owned(), Ok("at 5s end".to_owned())));
        assert_eq!(read(folder.path()).1, Err("not a regular file".to_owned()));
        let missing = read(&folder.path().join("b")).1.unwrap_err();
        assert!(missing.starts_with("No such file"), "{missing}");
        let device = workload("/dev/zero").unwrap_err();
        assert_eq!(device, "/dev/zero is not a regular file");
        assert!(workload("/nowhere/a.toml").unwrap_err().contains("No such file"));
    }

    #[test]
    fn each_picture_is_saved_to_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..2 {
            let said = save(folder.path(), Picture::Text, &format!("picture {n}")).unwrap();
            assert!(said.starts_with("saved the screen to ") && said.ends_with(".txt, 9 B"), "{said}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let error = save(Path::new("/nowhere"), Picture::Svg, "x").unwrap_err();
        assert!(error.starts_with("redyno cannot save the screen to /nowhere/redyno-"), "{error}");
    }

    #[test]
    fn a_text_is_copied_by_osc_52_unless_it_is_too_long() {
        assert_eq!(copying("it", "hi").unwrap(), b"\x1b]52;c;aGk=\x1b\\");
        assert!(copying("it", &"x".repeat(MOST_COPIED)).is_ok());
        assert!(copying("it", &"x".repeat(MOST_COPIED + 1)).unwrap_err().contains("clipboard takes"));
    }

    /// Returns a recording with two segments of one second each.
    fn recording(folder: &Path) -> SessionRecords {
        let mut text = line(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        for number in [1, 2] {
            let t_s = f64::from(number);
            let knobs = Knobs { load: true, ..Knobs::default() };
            text += &line(&Record::Segment(Segment::new(t_s - 1.0, number, knobs))).unwrap();
            let interval = Interval {
                t_s,
                length_s: 1.0,
                segment: number,
                ops: u64::from(number),
                ..Interval::default()
            };
            text += &line(&Record::Interval(Box::new(interval))).unwrap();
        }
        let path = folder.join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        SessionRecords::recording(vec![path])
    }

    fn csv(segment: Option<u32>, to: FileDestination) -> FileRequest {
        FileRequest { form: FileForm::Figures(CSV, Rows::Segments), segment, to }
    }

    #[test]
    fn a_segment_is_written_alone_and_no_file_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = recording(folder.path());
        let lines = |written: &WrittenFile| std::fs::read_to_string(&written.path).unwrap().lines().count();
        for (segment, rows) in [(Some(2), 1), (None, 2)] {
            let fresh = csv(segment, FileDestination::Fresh("a".to_owned()));
            let written = make(&fresh, &mut kept, folder.path()).unwrap();
            assert_eq!(lines(&written), 1 + rows, "{written:?}");
            assert!(written.message.contains(&format!(": {fresh}, ")), "{written:?}");
        }
        let named = csv(None, FileDestination::Named("b.csv".to_owned()));
        assert_eq!(lines(&make(&named, &mut kept, folder.path()).unwrap()), 3);
        assert!(make(&named, &mut kept, folder.path()).unwrap_err().contains("b.csv is there already"));
        let form = FileForm::Figures(CSV, Rows::Nodes);
        let empty = FileRequest { form, ..csv(None, FileDestination::Named("nodes.csv".to_owned())) };
        let said = make(&empty, &mut kept, folder.path()).unwrap().message;
        assert!(
            said.ends_with(&format!("; the session has no such row ({})", Rows::Nodes.about())),
            "{said}"
        );
        assert!(
            !make(&csv(None, FileDestination::Fresh("c".to_owned())), &mut kept, folder.path())
                .unwrap()
                .message
                .contains("no such row")
        );
    }

    #[test]
    fn records_that_cannot_be_read_leave_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = SessionRecords::recording(vec![folder.path().join("none")]);
        let error =
            make(&csv(None, FileDestination::Fresh("a".to_owned())), &mut kept, folder.path()).unwrap_err();
        assert!(error.contains("cannot read"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut files = Files::of(None);
        assert_eq!(files.begin(csv(None, FileDestination::Named("a".to_owned()))).unwrap_err(), NO_RECORDS);
    }
}
