//! Writes the file of a recording or export: plain, or compressed with zstd if the file name ends in `.zst`.

use std::{
    fs::{File, Metadata},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use zstd::stream::write::Encoder;

/// The compression level, which is the default of zstd. Recordings consist mostly of histograms, and higher levels do
/// not compress histograms better.
const LEVEL: i32 = 3;

/// A file that is being written.
pub(super) enum FileOutput {
    Plain(CountedFile),
    Packed(Box<Encoder<'static, CountedFile>>),
}

/// A change that another process has made to the file while redyno writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChange {
    /// The file was removed.
    Removed,
    /// The file's length differs from the number of written bytes.
    Changed,
}

/// A file, and the number of bytes written to this file. If nothing could be written, the empty file is removed.
pub(super) struct CountedFile {
    file: File,
    path: PathBuf,
    written: u64,
    is_finished: bool,
}

impl FileOutput {
    /// Returns an output that writes into `file`. The output is compressed if the name of `path` ends in `.zst`.
    ///
    /// # Errors
    /// Fails if zstd cannot allocate memory.
    pub(super) fn new(file: File, path: &Path) -> io::Result<Self> {
        let counted = CountedFile { file, path: path.to_owned(), written: 0, is_finished: false };
        match path.extension() {
            Some(extension) if extension == "zst" => {
                let mut packer = Encoder::new(counted, LEVEL)?;
                packer.include_checksum(true)?;
                Ok(Self::Packed(Box::new(packer)))
            }
            _ => Ok(Self::Plain(counted)),
        }
    }

    /// Appends a piece. The file contains the piece after the next [`flush`](Self::flush) at the latest.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(piece),
            Self::Packed(packer) => packer.write_all(piece),
        }
    }

    /// Writes all output so far to the file, so that this output can be read even if later output is lost.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Packed(packer) => packer.flush(),
        }
    }

    /// Ends the output.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.is_finished = true,
            Self::Packed(packer) => packer.do_finish()?,
        }
        Ok(())
    }

    /// Returns the number of bytes in the file.
    pub(super) fn written(&self) -> u64 {
        self.counted().written
    }

    /// Returns whether another process has removed or changed the file.
    pub(super) fn harm(&self) -> io::Result<Option<FileChange>> {
        let (counted, file) = (self.counted(), self.counted().file.metadata()?);
        Ok(match () {
            () if file.nlink() == 0 => Some(FileChange::Removed),
            // A device has no length.
            () if file.is_file() && file.len() != counted.written => Some(FileChange::Changed),
            () => None,
        })
    }

    fn counted(&self) -> &CountedFile {
        match self {
            Self::Plain(file) => file,
            Self::Packed(packer) => packer.get_ref(),
        }
    }
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        // Another file may have this name by now.
        let is_same = |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        let is_empty = |file: &Metadata| file.is_file() && file.len() == 0;
        let (Ok(file), Ok(named)) = (self.file.metadata(), std::fs::symlink_metadata(&self.path)) else {
            return;
        };
        if !self.is_finished && is_empty(&file) && is_same(&file, &named) {
            // The error says why nothing was written.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
