//! What a socket did not take yet.

use std::io::{self, IoSlice, Write};

use crate::workload::{Outgoing, Values};

/// Pieces that are written at a time.
const PIECES: usize = 16;

/// The rest of what is to be written.
#[derive(Debug)]
pub(super) struct Unsent {
    rest: Outgoing,
    /// Where the values lie that are left out in `rest`.
    values: Option<Values>,
    /// How much is written.
    written: usize,
}

impl Unsent {
    /// These bytes.
    pub(super) fn whole(bytes: &[u8]) -> Self {
        Self { rest: Outgoing::whole(bytes.to_vec()), values: None, written: 0 }
    }

    /// Requests whose values lie in `values`. Their other bytes are few, and copied.
    pub(super) fn apart(out: &Outgoing, values: &Values) -> Self {
        Self { rest: out.clone(), values: Some(values.clone()), written: 0 }
    }

    /// Writes as much as is taken now. Whether that is all.
    pub(super) fn write(&mut self, to: &mut impl Write) -> io::Result<bool> {
        loop {
            let mut slices = [IoSlice::new(&[]); PIECES];
            let n = self.rest.slices(self.values.as_ref(), self.written, &mut slices);
            if n == 0 {
                return Ok(true);
            }
            match to.write_vectored(&slices[..n]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
