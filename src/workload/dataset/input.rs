//! A file as it is read: unpacked where it is packed, its lines counted, and no record without an end.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;

/// The first bytes of a file that gzip packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes that are read at a time.
const CHUNK: usize = 64 * 1024;
/// The most bytes of one record: a quote or a tag that is never closed must not fill the memory.
pub(super) const LARGEST_RECORD: u64 = 16 << 20;

/// A file that is being read.
pub(super) struct Input {
    from: Box<dyn BufRead + Send>,
    line: u64,
    /// How many bytes the record may still have.
    left: u64,
}

impl Input {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is no file, and a dataset is read twice"));
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

    /// The line that is read now, from 1 on.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// A record begins.
    pub(super) fn begin_record(&mut self) {
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
