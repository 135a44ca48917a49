//! Reads the bytes of a recording. The first bytes of the file show whether the file is compressed with zstd.
//!
//! If a compressed file was cut off, redyno reads the file up to the last complete block. If a file is damaged, redyno
//! reads the file up to the damage. The file may be malicious, so memory and compression ratio are limited.

use std::{
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use zstd::stream::read::Decoder;

/// The first bytes of a compressed file.
const PACKED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The largest accepted zstd window, as a binary logarithm. The limit is 8 MiB, the window of `zstd -19`.
const LARGEST_WINDOW: u32 = 23;
/// The largest accepted compression ratio. The limit is ten times the ratio of a recording without any load.
const MOST_OF_ONE: u64 = 500;
/// The number of decompressed bytes for which any compression ratio is accepted. These bytes are too few to compute the
/// ratio.
const MOST_OF_FIRST: u64 = 16 << 20;
const BUFFER: usize = 1 << 18;

/// The reader of a recording's bytes.
pub(super) struct RecordingInput {
    /// A second handle of the same file, for reading the file again.
    file: File,
    bytes: Bytes,
    /// The number of bytes read from the file so far. `length` is the size of the file when it was opened.
    taken: Arc<AtomicU64>,
    length: u64,
}

enum Bytes {
    Plain(BufReader<CountingFile>),
    Packed(Box<BufReader<Unpacking>>),
}

/// A file that counts the bytes read from it.
struct CountingFile {
    file: File,
    taken: Arc<AtomicU64>,
}

/// A file that is read in small portions, so that damage affects only the output of one portion.
struct Portions {
    file: BufReader<CountingFile>,
    largest: usize,
}

/// The decompressed bytes of a file.
struct Unpacking {
    decoder: Decoder<'static, Portions>,
    /// A second handle of the file, for reading the file again.
    file: File,
    taken: Arc<AtomicU64>,
    unpacked: u64,
    /// Whether damage was found. If true, the file is decompressed byte by byte, up to the damaged position.
    is_careful: bool,
    /// The reason why the file ends early, as text.
    damage: Option<String>,
}

/// Returns whether a file is compressed.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn is_packed(path: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    File::open(path)?.take(PACKED.len() as u64).read_to_end(&mut first)?;
    Ok(first == PACKED)
}

impl Bytes {
    fn reader(&mut self) -> &mut dyn BufRead {
        match self {
            Self::Plain(plain) => plain,
            Self::Packed(packed) => packed,
        }
    }
}

impl RecordingInput {
    /// Opens a recording.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is compressed and cannot be decompressed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::of(File::open(path)?)
    }

    /// Reads a recording from an open file.
    ///
    /// # Errors
    /// The errors are the same as for [`open`](Self::open).
    pub(super) fn of(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let taken = Arc::<AtomicU64>::default();
        let taking = CountingFile { file: file.try_clone()?, taken: Arc::clone(&taken) };
        let mut plain = BufReader::with_capacity(BUFFER, taking);
        if !plain.fill_buf()?.starts_with(&PACKED) {
            return Ok(Self { file, bytes: Bytes::Plain(plain), taken, length });
        }
        let bytes = Unpacking::of(plain, &file, &taken)?;
        let mut input = Self { file, bytes, taken, length };
        input.fill_buf()?;
        match input.damage() {
            Some(damage) => Err(io::Error::new(io::ErrorKind::InvalidData, damage)),
            None => Ok(input),
        }
    }

    /// Returns the share of the file that had to be read for the first `offset` bytes of the recording, 0 to 1.
    pub(super) fn share(&self, offset: u64) -> f64 {
        let read = match &self.bytes {
            Bytes::Plain(_) => offset,
            Bytes::Packed(_) => self.taken.load(Ordering::Relaxed),
        };
        if self.length == 0 { 1.0 } else { (read as f64 / self.length as f64).min(1.0) }
    }

    /// Moves to byte `offset`. A compressed file is decompressed again from its beginning to this byte.
    ///
    /// # Errors
    /// Fails if the file can be read only from its beginning, for example because it is a pipe.
    pub(super) fn seek(&mut self, offset: u64) -> io::Result<()> {
        if let Bytes::Plain(plain) = &mut self.bytes {
            return plain.seek(SeekFrom::Start(offset)).map(drop);
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.taken.store(0, Ordering::Relaxed);
        let taking = CountingFile { file: self.file.try_clone()?, taken: Arc::clone(&self.taken) };
        self.bytes = Unpacking::of(BufReader::with_capacity(BUFFER, taking), &self.file, &self.taken)?;
        io::copy(&mut self.by_ref().take(offset), &mut io::sink()).map(drop)
    }

    /// Returns a description of the damage that ends a compressed file; `None` if the file is complete or was cut off.
    pub(super) fn damage(&self) -> Option<&str> {
        match &self.bytes {
            Bytes::Plain(_) => None,
            Bytes::Packed(packed) => packed.get_ref().damage.as_deref(),
        }
    }
}

impl fmt::Debug for RecordingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Read for RecordingInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.reader().read(buffer)
    }
}

impl BufRead for RecordingInput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.bytes.reader().fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.reader().consume(amount);
    }
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.taken.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Seek for CountingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Read for Portions {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.largest);
        self.file.read(&mut buffer[..most])
    }
}

impl BufRead for Portions {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.file.fill_buf()?;
        Ok(&bytes[..bytes.len().min(self.largest)])
    }

    fn consume(&mut self, amount: usize) {
        self.file.consume(amount);
    }
}

fn decoder(file: BufReader<CountingFile>, largest: usize) -> io::Result<Decoder<'static, Portions>> {
    let mut decoder = Decoder::with_buffer(Portions { file, largest })?;
    decoder.window_log_max(LARGEST_WINDOW)?;
    Ok(decoder)
}

impl Unpacking {
    fn of(packed: BufReader<CountingFile>, file: &File, taken: &Arc<AtomicU64>) -> io::Result<Bytes> {
        let (decoder, file, taken) = (decoder(packed, BUFFER)?, file.try_clone()?, Arc::clone(taken));
        let unpacking = Self { decoder, file, taken, unpacked: 0, is_careful: false, damage: None };
        Ok(Bytes::Packed(Box::new(BufReader::with_capacity(BUFFER, unpacking))))
    }

    /// Starts again at the beginning of the file, and decompresses byte by byte to the same position.
    fn begin_carefully(&mut self) -> io::Result<()> {
        self.is_careful = true;
        self.file.seek(SeekFrom::Start(0))?;
        let taking = CountingFile { file: self.file.try_clone()?, taken: Arc::clone(&self.taken) };
        self.decoder = decoder(BufReader::with_capacity(BUFFER, taking), 1)?;
        io::copy(&mut self.decoder.by_ref().take(self.unpacked), &mut io::sink()).map(drop)
    }
}

impl Read for Unpacking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_some() {
            return Ok(0);
        }
        let mut read = self.decoder.read(buffer);
        let is_cut = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
        if read.as_ref().is_err_and(|error| !is_cut(error)) && !self.is_careful {
            read = self.begin_carefully().and_then(|()| self.decoder.read(buffer));
        }
        let n = match read {
            Ok(n) => n,
            // The file was cut, or is still being written.
            Err(error) if is_cut(&error) => 0,
            Err(error) => {
                self.damage = Some(format!("the compressed data is damaged from here on: {error}"));
                0
            }
        };
        self.unpacked += n as u64;
        if self.unpacked > MOST_OF_FIRST + MOST_OF_ONE * self.taken.load(Ordering::Relaxed) {
            self.damage = Some("it decompresses to more data than any recording has".to_owned());
            return Ok(0);
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn opened(bytes: &[u8]) -> io::Result<RecordingInput> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, bytes).unwrap();
        RecordingInput::open(&path)
    }

    #[test]
    fn seek_finds_a_position_in_a_compressed_file() {
        let text: Vec<u8> = (0..400_000_u32).flat_map(u32::to_be_bytes).collect();
        let mut input = opened(&zstd::encode_all(&text[..], 3).unwrap()).unwrap();
        let mut all = Vec::new();
        input.read_to_end(&mut all).unwrap();
        assert!(all == text && input.share(0) == 1.0);
        for offset in [0, 7, 1_000_000] {
            input.seek(offset).unwrap();
            let mut four = [0; 4];
            input.read_exact(&mut four).unwrap();
            assert_eq!(four, text[offset as usize..][..4]);
        }
    }

    #[test]
    fn a_compression_bomb_is_refused() {
        let bomb = zstd::encode_all(io::repeat(b'\n').take(1 << 30), 1).unwrap();
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        let mut input = opened(&bomb).unwrap();
        let unpacked = io::copy(&mut input, &mut io::sink()).unwrap();
        assert!(unpacked < 1 << 29, "{unpacked}");
        assert!(input.damage().is_some_and(|why| why.contains("more data than any")), "{:?}", input.damage());
    }

    #[test]
    fn a_zstd_window_of_a_gigabyte_is_refused() {
        let mut packer = zstd::Encoder::new(Vec::new(), 1).unwrap();
        packer.long_distance_matching(true).unwrap();
        packer.window_log(30).unwrap();
        packer.write_all(&[b'x'; 1 << 16]).unwrap();
        assert!(opened(&packer.finish().unwrap()).is_err());
    }
}
