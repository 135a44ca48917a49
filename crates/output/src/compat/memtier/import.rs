//! Reads the file of `--data-import`, which has memcached's dump format, and verifies its records after a
//! run.
//!
//! ```text
//!  dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data
//!  0, 0, 60, 12, 0, 0, 0, 4, key1, "ten ""bytes"
//! ```
//! redyno uses only the key, the data and the expiry of a record. Columns with lengths and flags have no
//! effect.

use std::{path::Path, sync::mpsc::Receiver};

use super::{load::FIND_LIMIT, options::MemtierOptions};
use crate::{
    compat::server::os_error_text,
    endpoint::{Target, talk},
    protocol::Dialect,
    signals::Signal,
    untrusted,
    workload::CompleteRequests,
};

/// The first line of a file.
const HEADING: &str = "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data";
/// The number of columns in a row.
const COLUMNS: usize = 10;
/// The columns that redyno reads, counted from 0.
const EXPIRY: usize = 2;
const KEY: usize = 8;
const DATA: usize = 9;

/// The number of records in one batch of reads.
const RECORDS_PER_BATCH: usize = 256;
/// The largest number of wrong records that are named.
const MAX_NAMED_RECORDS: u64 = 5;

/// The largest length of a key in memcached, in bytes.
const LONGEST_KEY: usize = 250;

/// The names of the two key sets, one for SETs and one for GETs. A key in these sets is the number of an
/// imported record.
pub(super) const SETS: [&str; 2] = ["set", "get"];

/// A record of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImportedRecord {
    key: Vec<u8>,
    data: Vec<u8>,
    /// The expiry in seconds. 0 means no expiry.
    expiry_s: u32,
}

impl MemtierOptions {
    /// Reads the file of `--data-import`, and returns a line about the file. The records of the file become the keys of
    /// the run.
    ///
    /// # Errors
    /// Fails if the file has an error. The message is a line about the first error and its place.
    pub(super) fn read_import(&mut self) -> Result<Option<String>, String> {
        let Some(path) = &self.import.file else { return Ok(None) };
        let mut records = read(path)?;
        let range = self.expiry_range.filter(|_| !self.import.has_no_expiry);
        for record in &mut records {
            record.expiry_s = match range {
                Some(range) => rand::random_range(range.min.max(1)..=range.max),
                None if self.import.has_no_expiry => 0,
                None => record.expiry_s,
            };
        }
        let is_key = |key: &[u8]| {
            (1..=LONGEST_KEY).contains(&key.len()) && !key.iter().any(|byte| *byte <= b' ' || *byte == 127)
        };
        let bad = records.iter().position(|record| !is_key(&record.key));
        if let Some(place) = bad.filter(|_| self.protocol.dialect() == Dialect::Memcached) {
            return Err(format!("record {}: its key is not valid for memcached", place + 1));
        }
        (self.key_minimum, self.key_maximum) = (1, records.len() as u64);
        let line = format!("Reading keys from {}... {} keys read.", untrusted::path(path), records.len());
        self.import.records = records.into();
        Ok(Some(line))
    }
}

impl ImportedRecord {
    fn set(&self, dialect: Dialect) -> Vec<u8> {
        let Self { key, data, expiry_s } = self;
        let expiry = expiry_s.to_string();
        match (dialect, *expiry_s) {
            (Dialect::Memcached, _) => {
                let head = format!(" 0 {expiry} {}\r\n", data.len());
                [b"set ", &key[..], head.as_bytes(), data, b"\r\n"].concat()
            }
            (_, 0) => dialect.encode(&[b"SET", key, data]),
            _ => dialect.encode(&[b"SETEX", key, expiry.as_bytes(), data]),
        }
    }

    fn get(&self, dialect: Dialect) -> Vec<u8> {
        match dialect {
            Dialect::Memcached => [b"get ", &self.key[..], b"\r\n"].concat(),
            _ => dialect.encode(&[b"GET", &self.key]),
        }
    }

    /// Returns the expected reply to a GET of the record.
    fn reply(&self, dialect: Dialect) -> Vec<u8> {
        let (head, end) = match dialect {
            Dialect::Memcached => ([b"VALUE ", &self.key[..], b" 0 "].concat(), "END\r\n"),
            _ => (b"$".to_vec(), ""),
        };
        let length = format!("{}\r\n", self.data.len());
        [&head[..], length.as_bytes(), &self.data, b"\r\n", end.as_bytes()].concat()
    }
}

/// Returns the SETs and the GETs of all records.
pub(super) fn requests(options: &MemtierOptions) -> [CompleteRequests; 2] {
    let (records, dialect) = (&options.import.records, options.protocol.dialect());
    let [set, get] = SETS;
    [
        CompleteRequests::new(set, records.iter().map(|record| record.set(dialect))),
        CompleteRequests::new(get, records.iter().map(|record| record.get(dialect))),
    ]
}

/// The result of a verification.
#[derive(Debug, Default)]
pub(super) struct Verification {
    pub(super) good: u64,
    pub(super) bad: u64,
    /// The number of records that were not read back because of Ctrl-C.
    pub(super) left: usize,
    /// A line for each of the first records that differ.
    pub(super) lines: Vec<String>,
}

impl Verification {
    /// Returns the result as memtier_benchmark prints it.
    pub(super) fn text(&self) -> String {
        let Self { good, bad, left, .. } = self;
        let how = match left {
            0 => "completed:".to_owned(),
            left => format!("interrupted by user (Ctrl+C), {left} keys were not read back:"),
        };
        format!("Data verification {how}\n{good:<10} keys verified successfuly.\n{bad:<10} keys failed.\n")
    }
}

/// Reads all records back from the server, each once, until Ctrl-C is pressed.
///
/// # Errors
/// Fails if the server cannot be reached.
pub(super) fn verify(
    options: &MemtierOptions,
    target: &Target,
    interrupts: &Receiver<Signal>,
) -> Result<Verification, String> {
    let mut verified = Verification::default();
    let mut talk = talk(target, None, FIND_LIMIT).map_err(|error| error.to_string())?;
    for records in options.import.records.chunks(RECORDS_PER_BATCH) {
        if interrupts.try_recv().is_ok() {
            verified.left = options.import.records.len() - (verified.good + verified.bad) as usize;
            break;
        }
        let questions: Vec<_> = records.iter().flat_map(|record| record.get(target.dialect)).collect();
        let mut expected = records.iter();
        let heard = talk.ask(&questions, records.len(), FIND_LIMIT, |bytes, _| {
            let Some(record) = expected.next() else { return };
            if bytes == record.reply(target.dialect) {
                verified.good += 1;
                return;
            }
            verified.bad += 1;
            if verified.bad <= MAX_NAMED_RECORDS {
                let key = untrusted::bytes(&record.key);
                verified.lines.push(format!("error: key [{key}]: it is not as in the file"));
            }
        });
        heard.map_err(|error| error.to_string())?;
    }
    Ok(verified)
}

/// Reads the records of a file.
fn read(path: &Path) -> Result<Vec<ImportedRecord>, String> {
    let name = untrusted::path(path);
    let bytes = std::fs::read(path).map_err(|error| format!("{name}: {}", os_error_text(&error)))?;
    let mut rest = match bytes.strip_prefix(HEADING.as_bytes()) {
        Some(rest) => rest.trim_ascii_start(),
        None => return Err(format!("{name}: the first line must be: {HEADING}")),
    };
    let mut records = Vec::new();
    while !rest.is_empty() {
        let number = records.len() + 1;
        let faulty = |what: &str| format!("{name}: record {number}: {what}");
        let row = row(&mut rest).map_err(|what| faulty(&what))?;
        let expiry_s = untrusted::bytes(&row[EXPIRY]).parse();
        let expiry_s = expiry_s.map_err(|_| faulty("the column exptime must be a number of seconds"))?;
        let [key, data] = [KEY, DATA].map(|column| row[column].clone());
        records.push(ImportedRecord { key, data, expiry_s });
    }
    if records.is_empty() { Err(format!("{name}: it has no records")) } else { Ok(records) }
}

/// Returns the columns of the next row, and removes the row from `rest`.
fn row(rest: &mut &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let mut columns = Vec::new();
    loop {
        *rest = without(rest, b" ");
        columns.push(column(rest)?);
        let is_further = rest.first() == Some(&b',');
        *rest = &rest[usize::from(is_further)..];
        if !is_further {
            break;
        }
    }
    *rest = without(without(rest, b"\r"), b"\n");
    match columns.len() {
        COLUMNS => Ok(columns),
        n => Err(format!(
            "it has {n} columns in place of {COLUMNS}; write keys and data with commas in quotes"
        )),
    }
}

/// Returns the bytes without `beginning`, if the bytes begin with `beginning`.
fn without<'a>(bytes: &'a [u8], beginning: &[u8]) -> &'a [u8] {
    bytes.strip_prefix(beginning).unwrap_or(bytes)
}

/// Returns the next column without its quotes, and removes the column from `rest`.
fn column(rest: &mut &[u8]) -> Result<Vec<u8>, String> {
    let Some(mut quoted) = rest.strip_prefix(b"\"") else {
        let end = memchr::memchr3(b',', b'\r', b'\n', rest).unwrap_or(rest.len());
        let (column, behind) = rest.split_at(end);
        *rest = behind;
        return Ok(column.to_vec());
    };
    let mut column = Vec::new();
    loop {
        let end = memchr::memchr(b'"', quoted).ok_or("a quote is never closed")?;
        column.extend_from_slice(&quoted[..end]);
        quoted = &quoted[end + 1..];
        if quoted.first() != Some(&b'"') {
            break;
        }
        column.push(b'"');
        quoted = &quoted[1..];
    }
    *rest = quoted;
    match rest.first() {
        None | Some(b',' | b'\r' | b'\n') => Ok(column),
        Some(_) => Err("neither a comma nor the end of the line follows a closing quote".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
        sync::mpsc,
    };

    use super::*;
    use crate::endpoint::parse_uri;

    fn imported(rows: &str) -> Result<Vec<ImportedRecord>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{HEADING}\n{rows}")).unwrap();
        read(file.path()).map_err(|error| error.split_once(": ").unwrap().1.to_owned())
    }

    #[test]
    fn records_have_quotes_or_none_and_any_bytes_within_them() {
        let record =
            |key: &str, data: &str, expiry_s| ImportedRecord { key: key.into(), data: data.into(), expiry_s };
        let rows = "0, 0, 10, 12, 0, 0, 0, 4, key1, xxxxxxxxxx\r\n0,0,0,0,0,0,0,0,\"k,\"\"2\", \"a\r\n\"\n";
        assert_eq!(imported(rows), Ok(vec![record("key1", "xxxxxxxxxx", 10), record("k,\"2", "a\r\n", 0)]));
        let good = "0, 0, 0, 3, 0, 0, 0, 1, k, x\n";
        for (row, expected) in [
            ("", "it has no records"),
            (
                "0, 0, 0, 3, 0, 0, 0, 1, k, x,y",
                "record 1: it has 11 columns in place of 10; write keys and data",
            ),
            (&format!("{good}0, 0, a, 3, 0, 0, 0, 1, k, x"), "record 2: the column exptime must be a number"),
            (&format!("{good}0, 0, 0, 3, 0, 0, 0, 1, k, \"x"), "record 2: a quote is never closed"),
            ("0, 0, 0, 3, 0, 0, 0, 1, \"k\"x, x", "record 1: neither a comma"),
        ] {
            let error = imported(row).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    /// Verifies 600 records against a memcached that replies with exactly these records. If `is_interrupted`, Ctrl-C is
    /// pressed after the first batch.
    fn verified(key: &[u8], is_interrupted: bool) -> Verification {
        let record = ImportedRecord { key: key.to_vec(), data: b"data".to_vec(), expiry_s: 0 };
        let reply = [b"VALUE ", key, b" 0 4\r\ndata\r\nEND\r\n"].concat();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("memcached://{}", listener.local_addr().unwrap());
        let (sender, interrupts) = mpsc::channel();
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).split(b'\n');
            while let Some(Ok(line)) = lines.next() {
                if !line.starts_with(b"get ") {
                    (&stream).write_all(b"MN\r\n").unwrap();
                    continue;
                }
                if is_interrupted {
                    sender.send(Signal::Interrupt).unwrap();
                }
                (&stream).write_all(&reply).unwrap();
            }
        });
        let mut options = crate::compat::memtier::parse::tests::options("");
        options.import.records = vec![record; 600].into();
        let verified = verify(&options, &parse_uri(&uri).unwrap().target, &interrupts).unwrap();
        server.join().unwrap();
        verified
    }

    #[test]
    fn keys_of_any_bytes_are_verified_and_ctrl_c_ends_the_verification() {
        let whole = verified(b"k\xff\xe4", false);
        assert_eq!((whole.good, whole.bad, whole.left), (600, 0, 0));
        let part = verified(b"k", true);
        assert_eq!((part.good, part.bad, part.left), (256, 0, 344));
        assert!(part.text().starts_with(
            "Data verification interrupted by user (Ctrl+C), 344 keys were not read back:\n256 "
        ));
    }
}
