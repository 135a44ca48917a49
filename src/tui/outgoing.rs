//! Files that are made of the session's records, by a thread, so that neither the screen nor the session waits.
//!
//! ```text
//! Effect::Write ─► begin ─► thread: records so far ─► segment? ─► sink ─► new file ─► look ─► a line, the path copied
//! ```

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use crate::{
    app::{Destination, Form, Outgoing, Written},
    export::OneSegment,
    report::{Recording, Report},
    session::{FileError, Kept, Sink, Writer},
    units, untrusted,
};

/// Why there are no records where none are kept.
const NOTHING: &str = "nothing is kept of this session that could be exported";

/// What becomes of one file.
type Made = Result<Written, String>;

/// The files that are being made.
#[derive(Debug)]
pub struct Files {
    kept: Option<Arc<Mutex<Kept>>>,
    under_way: VecDeque<JoinHandle<Made>>,
}

impl Files {
    /// Those of these records.
    pub fn of(kept: Option<Kept>) -> Self {
        Self { kept: kept.map(|kept| Arc::new(Mutex::new(kept))), under_way: VecDeque::new() }
    }

    /// Begins to make a file in the working directory, behind those before it.
    ///
    /// # Errors
    /// In words, when there are no records, or the system gives no thread.
    pub fn begin(&mut self, outgoing: Outgoing) -> Result<(), String> {
        let kept = Arc::clone(self.kept.as_ref().ok_or(NOTHING)?);
        let body = move || {
            // Its place in the file is that of all readers.
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            make(&outgoing, &mut kept, Path::new("."))
        };
        let began = std::thread::Builder::new().name("export".to_owned()).spawn(body);
        self.under_way.push_back(began.map_err(|error| format!("cannot export: {error}"))?);
        Ok(())
    }

    /// What has become of the first, if it is made.
    pub fn look(&mut self) -> Option<Made> {
        self.under_way.pop_front_if(|made| made.is_finished()).map(finished)
    }

    /// What becomes of the rest. Waits until all are made.
    pub fn rest(self) -> impl Iterator<Item = Made> {
        self.under_way.into_iter().map(finished)
    }
}

fn finished(thread: JoinHandle<Made>) -> Made {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn make(outgoing: &Outgoing, kept: &mut Kept, folder: &Path) -> Made {
    let sink: Box<dyn Sink + Send> = match outgoing.form {
        Form::Figures(format, rows) => format.sink(rows, None),
        Form::Report(form) => {
            let source = Recording { name: kept.name(), segments: Vec::new() };
            Box::new(Report::of(form, vec![source]))
        }
    };
    let writer = new_file(outgoing, folder, sink).map_err(|error| error.to_string())?;
    let path = writer.path().to_owned();
    let size = write(outgoing, kept, writer).inspect_err(|_| {
        // What is said is why it was not finished.
        let _ = std::fs::remove_file(&path);
    })?;
    let (shown, path) = (untrusted::path(&path), whole(&path)?);
    Ok(Written { path, told: format!("{shown}: {outgoing}, {}", units::bytes(size)) })
}

fn new_file(outgoing: &Outgoing, folder: &Path, sink: Box<dyn Sink + Send>) -> Result<Writer, FileError> {
    match &outgoing.to {
        Destination::Named(file) => Writer::create_as(&folder.join(file), sink),
        Destination::Fresh(name) => Writer::fresh_as(folder, name, outgoing.form.extension(), sink),
    }
}

/// Writes the records that are wanted; how many bytes these are.
fn write(outgoing: &Outgoing, kept: &mut Kept, mut writer: Writer) -> Result<u64, String> {
    let mut segment = outgoing.segment.map(OneSegment::numbered);
    for record in kept.records().map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        // Figures are of the target that the screen shows in full, the first; a report is of all.
        let told = Some(&record).filter(|record| matches!(outgoing.form, Form::Report(_)) || record.is_of(0));
        if let Some(told) = told.filter(|told| segment.as_mut().is_none_or(|segment| segment.has(told))) {
            writer.write(told).map_err(|error| error.to_string())?;
        }
    }
    writer.finish().map_err(|error| error.to_string())
}

/// A path that leads there from anywhere.
fn whole(path: &Path) -> Result<String, String> {
    let failed = |error: io::Error| format!("cannot find {} again: {error}", path.display());
    let path: PathBuf = path.canonicalize().map_err(failed)?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        export::{CSV, Rows},
        knobs::Knobs,
        session::{Interval, Record, Segment, ServerIdentity, SessionStart, line},
    };

    /// Two segments with a second each.
    fn recording(folder: &Path) -> Kept {
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
        Kept::recording(path)
    }

    fn csv(segment: Option<u32>, to: Destination) -> Outgoing {
        Outgoing { form: Form::Figures(CSV, Rows::Segments), segment, to }
    }

    #[test]
    fn a_segment_is_written_alone_and_no_file_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = recording(folder.path());
        let lines = |written: &Written| std::fs::read_to_string(&written.path).unwrap().lines().count();
        for (segment, rows) in [(Some(2), 1), (None, 2)] {
            let fresh = csv(segment, Destination::Fresh("a".to_owned()));
            let written = make(&fresh, &mut kept, folder.path()).unwrap();
            assert_eq!(lines(&written), 1 + rows, "{written:?}");
            assert!(written.told.contains(&format!(": {fresh}, ")), "{written:?}");
        }
        let named = csv(None, Destination::Named("b.csv".to_owned()));
        assert_eq!(lines(&make(&named, &mut kept, folder.path()).unwrap()), 3);
        assert!(make(&named, &mut kept, folder.path()).unwrap_err().contains("b.csv is there already"));
    }

    #[test]
    fn what_cannot_be_read_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = Kept::recording(folder.path().join("none"));
        let told =
            make(&csv(None, Destination::Fresh("a".to_owned())), &mut kept, folder.path()).unwrap_err();
        assert!(told.contains("cannot read"), "{told}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut files = Files::of(None);
        assert_eq!(files.begin(csv(None, Destination::Named("a".to_owned()))).unwrap_err(), NOTHING);
    }
}
