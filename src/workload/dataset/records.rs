//! A dataset as workers share it: each record is taken by one of them.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc::Receiver},
};

use super::{
    batch::{Batch, Taken},
    error::DatasetError,
    format::Rows,
    portion::Portion,
    reading::{Source, unreadable},
    version::Version,
};

/// Records of a file, which all copies of this take from.
#[derive(Clone)]
pub struct Dataset(Arc<Shared>);

struct Shared {
    source: Source,
    /// How many there are.
    records: u64,
    stream: Mutex<Stream>,
}

/// How far the records are taken.
#[derive(Default)]
struct Stream {
    /// What the thread that reads has read ahead; `None` until the first record is taken.
    ahead: Option<Receiver<Result<Batch, DatasetError>>>,
    /// The batch that is taken from.
    current: Option<Arc<Batch>>,
    /// Why there are no more.
    failed: Option<DatasetError>,
}

impl Dataset {
    /// The first `most` records of a file, of which these portions are sent. The file is read once, to count them.
    ///
    /// # Errors
    /// When it cannot be read, has not these fields, or a record is broken: names the first.
    pub fn open(file: &Path, portions: Vec<Portion>, most: Option<u64>) -> Result<Self, DatasetError> {
        let version = Version::of(file)?;
        let has = Rows::open(file).map_err(unreadable(file))?.names().map_err(|fault| fault.of(file))?;
        let is_missing = |portion: &&Portion| matches!(portion, Portion::Field(name) if !has.contains(name));
        if let Some(Portion::Field(field)) = portions.iter().find(is_missing) {
            let (file, field) = (file.display().to_string(), field.clone());
            return Err(match has.is_empty() {
                true => DatasetError::Unreadable { file, what: "it has no records".to_owned() },
                false => DatasetError::NoField { file, field, has },
            });
        }
        let source = Source { file: file.to_owned(), portions, most: most.unwrap_or(u64::MAX), version };
        let records = source.count()?;
        Ok(Self(Arc::new(Shared { source, records, stream: Mutex::default() })))
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.0.records
    }

    /// What is sent of each.
    pub fn portions(&self) -> &[Portion] {
        &self.0.source.portions
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.0.source.file
    }

    /// The first `most` of them, of which none is taken yet.
    #[must_use]
    pub(in crate::workload) fn first(&self, most: u64) -> Self {
        let records = self.records().min(most);
        let source = Source { most: records, ..self.0.source.clone() };
        Self(Arc::new(Shared { source, records, stream: Mutex::default() }))
    }

    /// The number of a portion that is sent.
    pub(in crate::workload) fn number(&self, portion: &Portion) -> Option<u16> {
        self.0.source.portions.iter().position(|known| known == portion).map(|place| place as u16)
    }

    /// Takes the next record, the first again after the last, into `taken`; or says there why that cannot be.
    pub(in crate::workload) fn take(&self, taken: &mut Taken) {
        while !taken.advance() && taken.failure().is_none() {
            taken.follow(self.batch());
        }
    }

    /// The batch that is taken from, or the next one where that is used up.
    fn batch(&self) -> Result<Arc<Batch>, DatasetError> {
        let mut stream = self.0.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(batch) = stream.current.as_ref().filter(|batch| !batch.is_used_up()) {
            return Ok(Arc::clone(batch));
        }
        if let Some(error) = &stream.failed {
            return Err(error.clone());
        }
        let next = self.receive(&mut stream);
        stream.current = next.as_ref().ok().cloned();
        stream.failed = next.as_ref().err().cloned();
        next
    }

    fn receive(&self, stream: &mut Stream) -> Result<Arc<Batch>, DatasetError> {
        let (source, file) = (&self.0.source, self.0.source.file.as_path());
        if stream.ahead.is_none() {
            stream.ahead = Some(source.clone().read_on(self.0.records).map_err(unreadable(file))?);
        }
        let next = stream.ahead.as_ref().and_then(|ahead| ahead.recv().ok());
        let dead = || unreadable(file)(std::io::Error::other("its reader died"));
        next.unwrap_or_else(|| Err(dead())).map(Arc::new)
    }
}

impl PartialEq for Dataset {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Dataset").field("source", &self.0.source).field("records", &self.0.records).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn csv(records: usize) -> (tempfile::TempDir, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("docs.csv");
        let rows: String = (0..records).map(|n| format!("{n},title {n}\n")).collect();
        std::fs::write(&file, format!("id,title\n{rows}")).unwrap();
        (directory, file)
    }

    fn fields(names: &[&str]) -> Vec<Portion> {
        names.iter().map(|name| Portion::Field((*name).to_owned())).collect()
    }

    #[test]
    fn each_record_is_taken_once_in_a_pass_over_all_threads() {
        let (_directory, file) = csv(5000);
        let dataset = Dataset::open(&file, fields(&["title", "id"]), None).unwrap();
        let number = |name: &str| dataset.number(&Portion::Field(name.to_owned()));
        assert_eq!((dataset.records(), number("id"), number("n")), (5000, Some(1), None));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let dataset = dataset.clone();
                std::thread::spawn(move || {
                    let mut taken = Taken::default();
                    let mut take = || {
                        dataset.take(&mut taken);
                        let [title, id] = [0, 1].map(|n| String::from_utf8(taken.field(n).to_vec()).unwrap());
                        assert_eq!(title, format!("title {id}"));
                        id
                    };
                    (0..3750).map(|_| take()).collect::<Vec<_>>()
                })
            })
            .collect();
        let mut times = HashMap::new();
        for id in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            *times.entry(id).or_insert(0) += 1;
        }
        assert!(times.len() == 5000 && times.values().all(|n| *n == 3), "three passes");
    }

    #[test]
    fn only_so_many_records_are_taken_as_are_wanted() {
        let (_directory, file) = csv(2000);
        let dataset = Dataset::open(&file, fields(&["id"]), Some(700)).unwrap();
        assert_eq!(dataset.records(), 700);
        let mut taken = Taken::default();
        for n in 0..1500 {
            dataset.take(&mut taken);
            assert_eq!(taken.field(0), (n % 700).to_string().as_bytes());
        }
        assert_eq!(Dataset::open(&file, fields(&["id"]), Some(9000)).unwrap().records(), 2000);
    }

    #[test]
    fn a_file_that_is_another_than_it_was_is_told() {
        type Change = fn(&Path);
        let changes: [(Change, &str); 3] = [
            (|file| std::fs::remove_file(file).unwrap(), "docs.csv: No such file or directory"),
            (
                |file| std::fs::write(file, "id,title\n0,x\n").unwrap(),
                "docs.csv: it has changed since the start",
            ),
            (
                |file| {
                    // As editors save: another file, as long as the first.
                    let other = file.with_extension("new");
                    std::fs::write(&other, std::fs::read(file).unwrap()).unwrap();
                    std::fs::rename(other, file).unwrap();
                },
                "docs.csv: it has changed since the start",
            ),
        ];
        for (change, expected) in changes {
            let (_directory, file) = csv(50_000);
            let dataset = Dataset::open(&file, fields(&["id"]), None).unwrap();
            let mut taken = Taken::default();
            dataset.take(&mut taken);
            change(&file);
            let mut records = 0;
            while taken.failure().is_none() {
                assert_eq!(taken.field(0), records.to_string().as_bytes(), "only records of before");
                records += 1;
                dataset.take(&mut taken);
            }
            assert!(records < 50_000, "a part was read ahead");
            for _ in 0..2 {
                let told = taken.failure().unwrap().to_string();
                assert!(told.contains(expected), "{told}");
                assert_eq!(taken.field(0), b"");
                dataset.take(&mut taken);
            }
        }
    }

    #[test]
    fn what_a_file_has_not_is_told_with_what_it_has() {
        let (directory, file) = csv(5);
        let told = |file: &Path, names| Dataset::open(file, fields(names), None).unwrap_err().to_string();
        assert!(told(&file, &["id", "body"]).ends_with("docs.csv has no field 'body'; it has id, title"));
        assert!(told(directory.path(), &["id"]).ends_with("it is no file, and a dataset is read twice"));
        assert!(told(&directory.path().join("none"), &["id"]).contains("none: No such file"));
        std::fs::write(&file, "").unwrap();
        assert!(told(&file, &["id"]).ends_with("it has no records"));
    }
}
