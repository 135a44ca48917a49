//! The bytes of requests that the socket of a load connection has not accepted yet.

use std::io::{self, IoSlice, Write};

use crate::workload::{OutgoingRequests, Values};

/// The largest number of slices in one write call.
const PIECES: usize = 16;

/// The unwritten bytes of a write.
#[derive(Debug)]
pub(super) struct UnsentBytes {
    rest: OutgoingRequests,
    /// The values of the requests. The bytes in `rest` do not contain the values.
    values: Option<Values>,
    /// How many bytes of `rest` and `values` together are written.
    written: usize,
}

impl UnsentBytes {
    /// Creates the unwritten part of a write from a copy of these bytes.
    pub(super) fn whole(bytes: &[u8]) -> Self {
        Self { rest: OutgoingRequests::whole(bytes.to_vec()), values: None, written: 0 }
    }

    /// Creates the unwritten part of a write. The values of its requests are in `values`. The function copies the
    /// other bytes, because they are few.
    pub(super) fn apart(out: &OutgoingRequests, values: &Values) -> Self {
        Self { rest: out.clone(), values: Some(values.clone()), written: 0 }
    }

    /// Writes as many bytes as the socket accepts. Returns whether all bytes are written.
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
