//! Requests that are to be written: bytes that were put together, and large values that stay in their pool.
//!
//! ```text
//!  bytes    *3 … $70000\r\n│\r\n*3 … $70000\r\n│\r\n
//!  wire     *3 … $70000\r\n┤ value ├\r\n*3 … $70000\r\n┤ value ├\r\n
//! ```

use std::io::IoSlice;

use super::Values;

/// Values of more bytes are not copied.
pub(super) const LARGE: usize = 64 * 1024;

/// Requests, some of whose values lie elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    pub(super) bytes: Vec<u8>,
    /// Where values are left out in `bytes`, and where they begin in the pool.
    pub(super) cuts: Vec<(usize, usize)>,
    /// The keys that the operation which is being put together repeats, by their sets.
    pub(super) noted: Vec<u64>,
}

impl Outgoing {
    /// These bytes.
    pub fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Forgets the requests, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.cuts.clear();
    }

    /// The bytes, if no value lies elsewhere.
    #[inline]
    pub fn as_whole(&self) -> Option<&[u8]> {
        self.cuts.is_empty().then_some(&self.bytes)
    }

    /// How many bytes there are on the wire, with the values of `values`.
    #[inline]
    pub fn length(&self, values: &Values) -> usize {
        self.bytes.len() + self.cuts.len() * values.size()
    }

    /// Fills `slices` with what follows the first `written` bytes, as far as there is room; the values that lie elsewhere are
    /// those of `values`. How many were filled.
    pub fn slices<'a>(
        &'a self,
        values: Option<&'a Values>,
        mut written: usize,
        slices: &mut [IoSlice<'a>],
    ) -> usize {
        let starts = [0].into_iter().chain(self.cuts.iter().map(|(at, _)| *at));
        let ends = self.cuts.iter().map(|(at, _)| *at).chain([self.bytes.len()]);
        let texts = starts.zip(ends).map(|(from, to)| &self.bytes[from..to]);
        let lying = self.cuts.iter().map(|(_, offset)| values.map_or(&[][..], |values| values.at(*offset)));
        let lying = lying.chain([&[][..]]);
        let left = texts.zip(lying).flat_map(|(text, value)| [text, value]).filter_map(|piece| {
            let skipped = written.min(piece.len());
            written -= skipped;
            Some(&piece[skipped..]).filter(|left| !left.is_empty())
        });
        slices.iter_mut().zip(left).map(|(slice, piece)| *slice = IoSlice::new(piece)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, Program, Workload},
    };

    /// Three SETs of values of this size, as they are on the wire behind the first `written` bytes.
    fn wire(size: usize, written: usize) -> (bool, usize, Vec<u8>) {
        let (values, names) = (Values::new(size, 1), KeyNames::given("k:"));
        let program = Program::new(&Workload::ratio(1, 0), Dialect::Resp2, 10, values, &names);
        let (mut draws, mut out) = (Draws::new(3), Outgoing::default());
        (0..3).for_each(|_| assert_eq!(program.append(&mut draws, &mut out).index(), 1));
        let mut slices = [IoSlice::new(&[]); 16];
        let n = out.slices(Some(program.values()), written, &mut slices);
        let bytes = slices[..n].iter().flat_map(|slice| slice.to_vec()).collect();
        (out.as_whole().is_some(), out.length(program.values()), bytes)
    }

    #[test]
    fn a_large_value_is_on_the_wire_what_it_would_be_in_the_bytes() {
        let head = |size: usize| format!("*3\r\n$3\r\nSET\r\n$14\r\nk:000000000000\r\n${size}\r\n").len() + 2;
        for (size, is_whole) in [(LARGE, true), (LARGE + 1, false)] {
            let (whole, length, bytes) = wire(size, 0);
            assert_eq!((whole, length, bytes.len()), (is_whole, 3 * (head(size) + size), length));
            for request in bytes.chunks(head(size) + size) {
                assert!(request.starts_with(b"*3\r\n$3\r\nSET\r\n") && request.ends_with(b"\r\n"));
            }
            for written in [1, 40, head(size) - 2, head(size), 2 * size, length - 1, length] {
                assert_eq!(wire(size, written).2, bytes[written..], "{size} behind {written}");
            }
        }
    }
}
