//! Where the pieces of a file go: as they are, or packed by zstd where its name ends in `.zst`.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use zstd::stream::write::Encoder;

/// The usual level: a recording is histograms for the most part, of which no level makes less.
const LEVEL: i32 = 3;

/// A file that is being written.
pub(super) enum Output {
    Plain(Counted),
    Packed(Box<Encoder<'static, Counted>>),
}

/// A file, and the bytes written to it.
pub(super) struct Counted {
    file: File,
    written: u64,
}

impl Output {
    /// Into `file`, in the form that its name says.
    ///
    /// # Errors
    /// When zstd gets no memory.
    pub(super) fn new(file: File, path: &Path) -> io::Result<Self> {
        let counted = Counted { file, written: 0 };
        match path.extension() {
            Some(extension) if extension == "zst" => {
                let mut packer = Encoder::new(counted, LEVEL)?;
                packer.include_checksum(true)?;
                Ok(Self::Packed(Box::new(packer)))
            }
            _ => Ok(Self::Plain(counted)),
        }
    }

    /// Appends a piece, which is in the file after the next [`flush`](Self::flush) at the latest.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(piece),
            Self::Packed(packer) => packer.write_all(piece),
        }
    }

    /// Sees to it that all up to here can be read, whatever becomes of the rest.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Packed(packer) => packer.flush(),
        }
    }

    /// Nothing more will come.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Packed(packer) => packer.do_finish(),
        }
    }

    /// Bytes that are in the file.
    pub(super) fn written(&self) -> u64 {
        self.counted().written
    }

    /// Whether nobody finds the file any more.
    pub(super) fn is_removed(&self) -> io::Result<bool> {
        Ok(self.counted().file.metadata()?.nlink() == 0)
    }

    fn counted(&self) -> &Counted {
        match self {
            Self::Plain(file) => file,
            Self::Packed(packer) => packer.get_ref(),
        }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
