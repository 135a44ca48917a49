//! Encodes the commands of a trace, with the prefix of the run before each key.

use super::{
    Draws, OpId, OutgoingRequests, Trace,
    trace::{WordRole, moved_keys},
};
use crate::protocol::{Dialect, append_header};

/// A trace in a program, with the prefix of its keys.
#[derive(Debug)]
pub(super) struct TraceEncoder {
    trace: Trace,
    prefix: String,
    /// The text that replaces missing values.
    filler: Vec<u8>,
}

/// The length in bytes of the text that replaces missing values. The text is repeated for longer values.
const FILLER: usize = 64 * 1024;

impl TraceEncoder {
    /// Prepares a trace whose keys get this prefix.
    pub(super) fn new(trace: Trace, prefix: &str) -> Self {
        let mut draws = Draws::new(1);
        let filler = (0..FILLER).map(|_| b'A' + draws.below(26) as u8).collect();
        Self { trace, prefix: prefix.to_owned(), filler }
    }

    /// Returns whether an operation belongs to the trace.
    pub(super) fn has(&self, op: OpId) -> bool {
        self.trace.senders.contains(&op.0)
    }

    /// Appends the next command. Returns the number of the command's operation.
    pub(super) fn append(&self, draws: &mut Draws, out: &mut OutgoingRequests) -> OpId {
        let place = self.trace.take(|count| draws.below(count));
        let (words, operation) = self.trace.command(place);
        append_header(b'*', words.len(), &mut out.bytes);
        let mut from = place.wrapping_mul(61) % FILLER;
        for (word, role) in words {
            match role {
                WordRole::Plain => append_word([word, b""], &mut out.bytes),
                WordRole::Key => append_word([self.prefix.as_bytes(), word], &mut out.bytes),
                WordRole::LeftOut(length) => {
                    append_header(b'$', length as usize, &mut out.bytes);
                    let mut left = length as usize;
                    while left > 0 {
                        let piece = &self.filler[from..FILLER.min(from + left)];
                        out.bytes.extend_from_slice(piece);
                        left -= piece.len();
                        from = (from + piece.len()) % FILLER;
                    }
                    out.bytes.extend_from_slice(b"\r\n");
                }
            }
        }
        out.appended += 1;
        OpId(operation)
    }

    /// Looks at the first commands of the file. Returns for each operation how many of these commands belong to it, and
    /// their size in bytes. Afterwards, the position is at the first command again.
    pub(super) fn sums(&self) -> Vec<(u64, u64)> {
        let mut sums = vec![(0, 0); self.trace.senders.len()];
        for _ in 0..self.trace.count().min(LOOKED_AT) {
            let mut out = OutgoingRequests::default();
            let op = self.append(&mut Draws::new(1), &mut out);
            let (count, bytes) = &mut sums[op.index()];
            (*count, *bytes) = (*count + 1, *bytes + out.length() as u64);
        }
        self.trace.times.rewind();
        sums
    }
}

/// The shares and sizes of operations are computed from at most this number of commands.
const LOOKED_AT: u64 = 100_000;
/// The number of words at the beginning of a command that are searched for the first key.
const FIRST_WORDS: usize = 32;

impl TraceEncoder {
    /// Returns the first key in the bytes of a command. Only the first words of the command are searched.
    pub(super) fn first_key(bytes: &[u8]) -> Option<&[u8]> {
        let word = |place| Dialect::Resp2.request_word(bytes, 0, place);
        let words: Vec<_> = (0..FIRST_WORDS).map_while(word).map(<[u8]>::to_vec).collect();
        word(*moved_keys(&words)?.first()?)
    }
}

/// Appends a word that consists of two parts.
fn append_word([before, word]: [&[u8]; 2], out: &mut Vec<u8>) {
    append_header(b'$', before.len() + word.len(), out);
    out.extend_from_slice(before);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}
