//! Reads the file of a dataset. The first pass only counts and checks the records. A separate thread reads the file
//! again during the load, for the workers.
//!
//! The reader decompresses gzip files, counts lines, and limits the size of a record.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use flate2::bufread::MultiGzDecoder;

use super::{
    error::{DatasetError, RecordError},
    format::RecordReader,
    portion::{FieldBuffer, Portion, RecordBatch},
};
use crate::{untrusted, workload::WorkloadError};

/// The maximum number of records in a batch.
const RECORDS: usize = 512;
/// A batch with at least this many bytes gets no further record.
const BYTES: usize = 256 * 1024;
/// The number of batches that the thread reads ahead.
const AHEAD: usize = 16;

/// The file of a dataset, and the records and parts to read from it.
#[derive(Debug, Clone)]
pub(super) struct RecordFile {
    pub(super) file: PathBuf,
    /// The parts of each record that are sent.
    pub(super) portions: Vec<Portion>,
    /// The maximum number of records to read.
    pub(super) most: u64,
    /// The file's version when the dataset was opened.
    pub(super) version: Version,
}

/// The version of a file: its identity, length and modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl Version {
    /// Returns the current version of the file.
    pub(super) fn of(file: &Path) -> Result<Self, DatasetError> {
        let now = file.metadata().map_err(unreadable(file))?;
        Ok(Self { file: (now.dev(), now.ino()), length: now.len(), changed: (now.mtime(), now.mtime_nsec()) })
    }

    /// Checks that the file still has this version.
    ///
    /// # Errors
    /// Fails if the file has changed or is missing.
    pub(super) fn check(self, file: &Path) -> Result<(), DatasetError> {
        let changed =
            || io::Error::other("it has changed since the start, so old and new records would be mixed");
        if Self::of(file)? == self { Ok(()) } else { Err(unreadable(file)(changed())) }
    }
}

/// Adds the file's name to an error of the operating system.
pub(super) fn unreadable(file: &Path) -> impl Fn(io::Error) -> DatasetError {
    move |error| DatasetError::Unreadable { file: file.display().to_string(), what: error.to_string() }
}

impl RecordFile {
    /// Reads all records in batches, and passes each batch to `give`. If `give` returns false, the function stops and
    /// returns `None`. Otherwise, the function returns the number of records. A change of the file since the first pass
    /// is an error.
    fn pass(&self, mut give: impl FnMut(RecordBatch) -> bool) -> Result<Option<u64>, DatasetError> {
        let mut rows = RecordReader::open(&self.file).map_err(unreadable(&self.file))?;
        let (mut count, mut left, mut is_last) = (0, self.most, false);
        while !is_last {
            let mut batch = RecordBatch::of(self.portions.len());
            while batch.records < RECORDS && batch.fields.bytes() < BYTES && !is_last {
                let mut next = || self.next(&mut rows, &mut left, &mut batch.fields);
                // If the file is being rewritten, an error about the change is more useful than an error about an
                // invalid record.
                let wrong =
                    |fault: RecordError| self.version.check(&self.file).err().unwrap_or(fault.of(&self.file));
                is_last = !next().map_err(wrong)?;
                count += u64::from(!is_last);
                batch.records += usize::from(!is_last);
            }
            self.version.check(&self.file)?;
            if batch.records > 0 && !give(batch) {
                return Ok(None);
            }
        }
        Ok(Some(count))
    }

    /// Appends the parts of the next request: parts of one record, or a body of several records. `left` is the number
    /// of records that may still be read. Returns false if there is no further record.
    fn next(
        &self,
        rows: &mut RecordReader,
        left: &mut u64,
        to: &mut FieldBuffer,
    ) -> Result<bool, RecordError> {
        if *left == 0 {
            return Ok(false);
        }
        let [Portion::Bulk(_)] = &self.portions[..] else {
            *left -= 1;
            return rows.next(&self.portions, to);
        };
        let (mut row, mut taken) = (FieldBuffer::default(), 0);
        while taken < Portion::records(&self.portions).min(*left) && rows.next(&self.portions, &mut row)? {
            [b"{\"index\":{}}\n", row.get(0), b"\n"].into_iter().for_each(|piece| to.extend(piece));
            row.clear();
            taken += 1;
        }
        *left -= taken;
        if taken > 0 {
            to.end();
        }
        Ok(taken > 0)
    }

    /// Returns the number of records or bodies that can be sent. A file without records is an error.
    pub(super) fn count(&self) -> Result<u64, DatasetError> {
        let count = self.pass(|_| true)?.unwrap_or(0);
        let none = || DatasetError::Unreadable {
            file: self.file.display().to_string(),
            what: "it has no records".to_owned(),
        };
        if count == 0 { Err(none()) } else { Ok(count) }
    }

    /// Starts a thread that reads the `count` records again and again. The thread ends when the receiving end
    /// of the channel is dropped.
    pub(super) fn spawn_reader(self, count: u64) -> io::Result<Receiver<Result<RecordBatch, DatasetError>>> {
        let (to, batches) = sync_channel(AHEAD);
        let read = move || {
            if let Err(error) = self.read_until_untaken(count, &to) {
                // If the receiving end of the channel is gone, the error is not needed.
                drop(to.send(Err(error)));
            }
        };
        std::thread::Builder::new().name("dataset".to_owned()).spawn(read)?;
        Ok(batches)
    }

    fn read_until_untaken(
        &self,
        count: u64,
        to: &SyncSender<Result<RecordBatch, DatasetError>>,
    ) -> Result<(), DatasetError> {
        while let Some(read) = self.pass(|batch| to.send(Ok(batch)).is_ok())? {
            if read != count {
                let what = format!("it had {count} records and has {read} now");
                return Err(DatasetError::Unreadable { file: self.file.display().to_string(), what });
            }
        }
        Ok(())
    }
}

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The number of bytes read from the file at a time.
const CHUNK: usize = 64 * 1024;
/// The maximum size of a record in bytes. Without this limit, a quote or a tag that is never closed would fill the
/// memory.
pub(super) const LARGEST_RECORD: u64 = 16 << 20;

/// A file that is being read. The type stores the current line number and the limit of the current record.
pub(in crate::workload) struct Input {
    from: Box<dyn BufRead + Send>,
    /// The number of the current line, from 1.
    pub(in crate::workload) line: u64,
    /// The number of bytes that may still be read for the current record.
    left: u64,
}

impl Input {
    pub(in crate::workload) fn open(path: &Path) -> io::Result<Self> {
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
        let is_packed = file.fill_buf()?.starts_with(&GZIP);
        let from: Box<dyn BufRead + Send> = if is_packed {
            Box::new(BufReader::with_capacity(CHUNK, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { from, line: 1, left: LARGEST_RECORD })
    }

    /// Calls `take` with each line of a file, without white space at its ends, and with the line's number.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if `take` fails. The error names the file and the line.
    pub(in crate::workload) fn each_line(
        file: &Path,
        mut take: impl FnMut(&[u8], u64) -> Result<(), String>,
    ) -> Result<(), WorkloadError> {
        let name = untrusted::path(file);
        let mut input = Self::open(file).map_err(|error| invalid!("{name}: {error}"))?;
        let mut line = Vec::new();
        loop {
            let number = input.line;
            line.clear();
            input.begin_record();
            let read = input.read_until(b'\n', &mut line).map_err(|error| error.to_string());
            match read.and_then(|n| if n > 0 { take(line.trim_ascii(), number) } else { Ok(()) }) {
                Err(what) => return Err(invalid!("{name}: line {number}: {what}")),
                Ok(()) if line.is_empty() => return Ok(()),
                Ok(()) => {}
            }
        }
    }

    /// Begins a record, and resets the size limit.
    pub(in crate::workload) fn begin_record(&mut self) {
        self.left = LARGEST_RECORD;
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other(format!("a record has more than {} MiB", LARGEST_RECORD >> 20)));
        }
        let available = self.from.fill_buf()?;
        let most = available.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        Ok(&available[..most])
    }

    fn consume(&mut self, n: usize) {
        if n > 0
            && let Ok(taken) = self.from.fill_buf()
        {
            self.line += memchr::memchr_iter(b'\n', &taken[..n]).count() as u64;
        }
        self.left = self.left.saturating_sub(n as u64);
        self.from.consume(n);
    }
}

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let n = available.len().min(to.len());
        to[..n].copy_from_slice(&available[..n]);
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_records_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("f.csv", "id\n"), ("f.jsonl", "\n"), ("f.xml", "<feed></feed>")] {
            let file = directory.path().join(name);
            std::fs::write(&file, text).unwrap();
            let version = Version::of(&file).unwrap();
            let error =
                RecordFile { file, portions: Vec::new(), most: 9, version }.count().unwrap_err().to_string();
            assert!(error.ends_with("it has no records"), "{error}");
        }
    }
}
