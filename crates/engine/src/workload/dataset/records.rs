//! A dataset that all workers of the load share. In each pass over the file, exactly one worker gets each record.

use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError},
    },
    time::Duration,
};

use parking_lot::Mutex;

use super::{
    error::DatasetError,
    format::RecordReader,
    portion::{CurrentRecord, Portion, RecordBatch},
    reading::{RecordFile, Version, unreadable},
};
use crate::workload::shared::Shared;

/// The time between two checks whether an awaited record has been read.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// The records of a file. All copies share the position in the file.
pub type Dataset = Shared<DatasetContent>;

/// The records of a file, with the position in the file.
pub struct DatasetContent {
    source: RecordFile,
    /// The number of records, or the number of bodies if a body has several records.
    pub records: u64,
    /// Whether to wait for a record that has not been read yet.
    waits: bool,
    stream: Mutex<RecordStream>,
}

/// The current position in the records.
#[derive(Default)]
struct RecordStream {
    /// The channel from the thread that reads the file. `None` before the first record is used.
    ahead: Option<Receiver<Result<RecordBatch, DatasetError>>>,
    /// The current batch.
    current: Option<Arc<RecordBatch>>,
    /// The error, if no further records can be read.
    failed: Option<DatasetError>,
}

impl Dataset {
    /// Opens a dataset of the first `most` records of a file. `portions` are the parts of each record that
    /// are sent. Reads the file once to count the records.
    ///
    /// # Errors
    /// Fails if the file cannot be read, has no records, lacks a field, or contains an invalid record. The error names
    /// the first invalid record.
    pub fn open(file: &Path, portions: Vec<Portion>, most: Option<u64>) -> Result<Self, DatasetError> {
        let version = Version::of(file)?;
        let has =
            RecordReader::open(file).map_err(unreadable(file))?.names().map_err(|fault| fault.of(file))?;
        let named = portions.iter().filter_map(Portion::field);
        if let Some(field) = named.into_iter().find(|name| !has.contains(name)) {
            let (file, field) = (file.display().to_string(), field.clone());
            return Err(match has.is_empty() {
                true => DatasetError::Unreadable { file, what: "it has no records".to_owned() },
                false => DatasetError::NoField { file, field, has },
            });
        }
        let source = RecordFile { file: file.to_owned(), portions, most: most.unwrap_or(u64::MAX), version };
        let records = source.count()?;
        Ok(Self::new(DatasetContent { source, records, waits: false, stream: Mutex::default() }))
    }
}

impl DatasetContent {
    /// Returns the parts of each record that are sent.
    pub fn portions(&self) -> &[Portion] {
        &self.source.portions
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &Path {
        &self.source.file
    }

    /// Returns a dataset of the first `most` records of the file. A load must not use this dataset, because reading a
    /// record can block.
    #[must_use]
    pub(in crate::workload) fn first(&self, most: u64) -> Dataset {
        let records = self.records.min(most);
        let most = records.saturating_mul(Portion::records(self.portions())).min(self.source.most);
        let source = RecordFile { most, ..self.source.clone() };
        Dataset::new(DatasetContent { source, records, waits: true, stream: Mutex::default() })
    }

    /// Returns the index of a part among the parts of a record that are sent.
    pub(in crate::workload) fn number(&self, portion: &Portion) -> Option<u16> {
        self.source.portions.iter().position(|known| known == portion).map(|place| place as u16)
    }

    /// Moves `taken` to the next record. After the last record, the first record follows. An error is stored in
    /// `taken`. Returns false if the record has not been read yet. The thread of the load does not wait for the record,
    /// because the disk may hang.
    pub(in crate::workload) fn take(&self, taken: &mut CurrentRecord) -> bool {
        while !taken.advance() && taken.failure().is_none() {
            match self.batch() {
                Some(batch) => taken.follow(batch),
                None if self.waits => std::thread::sleep(LOOK_EVERY),
                None => {
                    taken.is_awaited = true;
                    return false;
                }
            }
        }
        taken.is_awaited = false;
        true
    }

    /// Returns the current batch, or the next batch if the current batch is used up. Returns `None` if the next batch
    /// has not been read yet.
    fn batch(&self) -> Option<Result<Arc<RecordBatch>, DatasetError>> {
        let mut stream = self.stream.lock();
        if let Some(batch) = stream.current.as_ref().filter(|batch| !batch.is_used_up()) {
            return Some(Ok(Arc::clone(batch)));
        }
        if let Some(error) = &stream.failed {
            return Some(Err(error.clone()));
        }
        let next = self.receive(&mut stream)?;
        stream.current = next.as_ref().ok().cloned();
        stream.failed = next.as_ref().err().cloned();
        Some(next)
    }

    fn receive(&self, stream: &mut RecordStream) -> Option<Result<Arc<RecordBatch>, DatasetError>> {
        let (source, file) = (&self.source, self.source.file.as_path());
        if stream.ahead.is_none() {
            match source.clone().spawn_reader(self.records) {
                Ok(ahead) => stream.ahead = Some(ahead),
                Err(error) => return Some(Err(unreadable(file)(error))),
            }
        }
        let next = stream.ahead.as_ref().map_or(Err(TryRecvError::Disconnected), Receiver::try_recv);
        let dead = || unreadable(file)(std::io::Error::other("its reader died"));
        match next {
            Ok(batch) => Some(batch.map(Arc::new)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(dead())),
        }
    }

    /// Returns a dataset with the same records for a load. The reader of this dataset hangs and never sends a
    /// batch.
    #[cfg(test)]
    pub(crate) fn with_hanging_reader(&self) -> (Dataset, impl Sized + use<>) {
        self.read_by_hand(None)
    }

    /// Returns a dataset with the same records for a load. The reader of this dataset sends records without
    /// fields. A worker that uses such a record panics.
    #[cfg(test)]
    pub(crate) fn with_broken_records(&self) -> (Dataset, impl Sized + use<>) {
        let mut broken = RecordBatch::of(1);
        broken.records = 1000;
        self.read_by_hand(Some(broken))
    }

    #[cfg(test)]
    fn read_by_hand(&self, first: Option<RecordBatch>) -> (Dataset, impl Sized + use<>) {
        let (reader, ahead) = std::sync::mpsc::sync_channel(1);
        first.into_iter().for_each(|batch| reader.send(Ok(batch)).unwrap());
        let stream = Mutex::new(RecordStream { ahead: Some(ahead), ..RecordStream::default() });
        let (source, records) = (self.source.clone(), self.records);
        (Dataset::new(DatasetContent { source, records, waits: false, stream }), reader)
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
        let dataset = Dataset::open(&file, fields(&["title", "id"]), None).unwrap().first(u64::MAX);
        let number = |name: &str| dataset.number(&Portion::Field(name.to_owned()));
        assert_eq!((dataset.records, number("id"), number("n")), (5000, Some(1), None));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let dataset = dataset.clone();
                std::thread::spawn(move || {
                    let mut taken = CurrentRecord::default();
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
    fn at_most_the_requested_number_of_records_is_used() {
        let (_directory, file) = csv(2000);
        let dataset = Dataset::open(&file, fields(&["id"]), Some(700)).unwrap().first(u64::MAX);
        assert_eq!(dataset.records, 700);
        let mut taken = CurrentRecord::default();
        for n in 0..1500 {
            dataset.take(&mut taken);
            assert_eq!(taken.field(0), (n % 700).to_string().as_bytes());
        }
        assert_eq!(Dataset::open(&file, fields(&["id"]), Some(9000)).unwrap().records, 2000);
    }

    #[test]
    fn a_body_has_several_records_and_the_last_body_has_the_rest() {
        let (_directory, file) = csv(30);
        let bulk = |count: &str| vec![Portion::of(&format!("__bulk:{count}__")).unwrap()];
        let dataset = Dataset::open(&file, bulk("10"), Some(25)).unwrap();
        let (mut taken, first) = (CurrentRecord::default(), dataset.first(u64::MAX));
        let lines: Vec<_> = (0..4)
            .map(|_| {
                first.take(&mut taken);
                String::from_utf8(taken.field(0).to_vec())
                    .unwrap()
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(
            (dataset.records, lines.iter().map(Vec::len).collect::<Vec<_>>()),
            (3, vec![20, 20, 10, 20])
        );
        assert_eq!(lines[2][8..], ["{\"index\":{}}", "{\"id\":\"24\",\"title\":\"title 24\"}"]);
        assert_eq!((dataset.first(1).records, dataset.first(2).records), (1, 2));
        let bad = ["__bulk:0__", "__bulk:1001__", "__bulk:__", "__bulk:x__", "__bulk:9"];
        assert!(bad.iter().all(|bad| Portion::of(bad).is_none()));
        assert_eq!(Dataset::open(&file, bulk("1"), None).unwrap().records, 30);
    }

    #[test]
    fn a_file_that_has_changed_is_reported() {
        type Change = fn(&Path);
        let changes: [(Change, &str); 3] = [
            (|file| std::fs::remove_file(file).unwrap(), "docs.csv: No such file or directory"),
            (
                |file| std::fs::write(file, "id,title\n0,x\n").unwrap(),
                "docs.csv: it has changed since the start",
            ),
            (
                |file| {
                    // Editors save like this: another file of the same length replaces the old file.
                    let other = file.with_extension("new");
                    std::fs::write(&other, std::fs::read(file).unwrap()).unwrap();
                    std::fs::rename(other, file).unwrap();
                },
                "docs.csv: it has changed since the start",
            ),
        ];
        for (change, expected) in changes {
            let (_directory, file) = csv(50_000);
            let dataset = Dataset::open(&file, fields(&["id"]), None).unwrap().first(u64::MAX);
            let mut taken = CurrentRecord::default();
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
                let error = taken.failure().unwrap().to_string();
                assert!(error.contains(expected), "{error}");
                assert_eq!(taken.field(0), b"");
                dataset.take(&mut taken);
            }
        }
    }

    #[test]
    fn a_missing_field_is_reported_with_the_existing_fields() {
        let (directory, file) = csv(5);
        let error = |file: &Path, names| Dataset::open(file, fields(names), None).unwrap_err().to_string();
        assert!(error(&file, &["id", "body"]).ends_with("docs.csv has no field 'body'; it has id, title"));
        assert!(error(directory.path(), &["id"]).ends_with("it is not a regular file"));
        assert!(error(&directory.path().join("none"), &["id"]).contains("none: No such file"));
        std::fs::write(&file, "").unwrap();
        assert!(error(&file, &["id"]).ends_with("it has no records"));
    }
    #[test]
    fn a_load_does_not_wait_for_a_record_that_is_not_read_yet() {
        let (_directory, file) = csv(5);
        let dataset = Dataset::open(&file, fields(&["id"]), None).unwrap();
        let (dataset, reader) = dataset.with_hanging_reader();
        let mut taken = CurrentRecord::default();
        dataset.take(&mut taken);
        assert!(taken.is_awaited && taken.failure().is_none());
        drop(reader);
        dataset.take(&mut taken);
        assert!(taken.failure().unwrap().to_string().ends_with("its reader died") && !taken.is_awaited);
    }
}
