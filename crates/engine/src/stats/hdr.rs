//! Writes and reads latency distributions in HdrHistogram's V2 text format.
//!
//! ```text
//! base64( cookie, length, zlib( cookie, length, offset, digits, lowest, highest, ratio, counts… ) )
//! ```
//! A text may be malicious. For example, 60 bytes can claim a histogram of gigabytes. The decoder therefore builds no
//! histogram, and limits the number of unpacked bytes and cells, whatever sizes the text claims.

use std::cell::RefCell;

use base64::{DecodeError as Base64Error, Engine, engine::general_purpose::STANDARD as BASE64};
use miniz_oxide::{
    deflate::core::{
        CompressionStrategy, CompressorOxide, TDEFLFlush, compress_to_output,
        create_comp_flags_from_zip_params,
    },
    inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit},
};
use thiserror::Error;

use super::{HIGHEST_NS, recorder::SIGNIFICANT_DIGITS, totals::Cell};

/// The first bytes (the cookie) of the compressed form.
const PACKED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// The first bytes (the cookie) of the uncompressed content.
const UNPACKED: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();
/// The size of the header in bytes: the cookie, length, offset and digits (32 bits each), and the lowest value, highest
/// value and ratio (64 bits each).
const HEADER: usize = 40;
/// The longest encoding of a count: nine bytes. The first eight bytes contain seven bits of the count each,
/// and the last byte contains eight bits.
const COUNT_BYTES: usize = 9;
/// The largest number of cells in a text. A recorder has 27 000 cells, and no valid range has more than this limit.
const MOST_CELLS: usize = 1 << 16;
/// The largest number of values in a distribution. Every count up to 2^53 is exact in JSON.
pub(super) const MOST: u64 = 1 << 53;

/// The reason why a text is not a valid distribution.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is not base64.
    #[error("the histogram text is not base64: {0}")]
    Base64(#[from] Base64Error),
    /// The bytes are not an HDR histogram.
    #[error("the histogram text is damaged: {0}")]
    Damaged(&'static str),
    /// The figures that accompany the text in the JSON object are impossible.
    #[error("the figures of a distribution contradict each other: {0}")]
    Figures(&'static str),
}

/// From this number of bytes on, the compressor uses no back references, because repeated counts are too rare.
const SELDOM_REPEATED: usize = 256;
/// The number of bytes that share a table of Huffman codes. Separate tables save space because the counts in the middle
/// of a distribution differ from the counts in its tail.
const OF_ONE_TABLE: usize = 768;

/// Encodes `cells` as text, in a layout with this number of significant `digits`. Without cells, the text is empty.
pub(super) fn encode(cells: impl ExactSizeIterator<Item = (u64, u64)>, digits: u8) -> String {
    if cells.len() == 0 {
        return String::new();
    }
    let counts = counts(CellLayout::new(digits.into(), 1, HIGHEST_NS), cells);
    let mut body = UNPACKED.to_vec();
    body.extend((counts.len() as u32).to_be_bytes());
    body.extend([0; 4]);
    body.extend(u32::from(digits).to_be_bytes());
    body.extend(1_u64.to_be_bytes());
    body.extend(HIGHEST_NS.to_be_bytes());
    body.extend(1_f64.to_be_bytes());
    body.extend(counts);
    let packed = pack(&body);
    BASE64.encode([&PACKED[..], &(packed.len() as u32).to_be_bytes(), &packed].concat())
}

/// Returns a function from a value to the highest value of its cell, in a layout with `digits` significant digits.
/// Encoding and decoding do not change these values.
pub(super) fn cell_end(digits: u8) -> impl Fn(u64) -> u64 {
    let layout = CellLayout::new(digits.into(), 1, HIGHEST_NS);
    move |ns| layout.upper(layout.index(ns))
}

/// Encodes the counts of all cells as bytes, from the first cell on. A negative number -n represents n empty cells.
fn counts(layout: CellLayout, cells: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let (mut bytes, mut next) = (Vec::new(), 0);
    let mut cells = cells.map(|(ns, n)| (layout.index(ns), n)).peekable();
    while let Some((index, mut count)) = cells.next() {
        while let Some((_, more)) = cells.next_if(|(later, _)| *later == index) {
            count += more;
        }
        match index - next {
            0 => {}
            1 => push_number(&mut bytes, 0),
            empty => push_number(&mut bytes, -(empty as i64)),
        }
        push_number(&mut bytes, count as i64);
        next = index + 1;
    }
    bytes
}

/// Appends a number in the format of [`take_number`], with the sign in the lowest bit.
fn push_number(bytes: &mut Vec<u8>, number: i64) {
    let mut zigzag = (number << 1 ^ number >> 63) as u64;
    for _ in 1..COUNT_BYTES {
        if zigzag < 0x80 {
            break;
        }
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
}

thread_local! {
    // A compressor has 300 kB. Allocating it takes longer than compressing a distribution. It is boxed, because every
    // thread has space for its thread-local values, even a thread that compresses nothing.
    static REPEATED: RefCell<Box<CompressorOxide>> = compressor(CompressionStrategy::Default);
    static SELDOM: RefCell<Box<CompressorOxide>> = compressor(CompressionStrategy::HuffmanOnly);
}

/// Creates a compressor of the highest level (9) in the zlib format (15 bits of window).
fn compressor(strategy: CompressionStrategy) -> RefCell<Box<CompressorOxide>> {
    RefCell::new(Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(9, 15, strategy as i32))))
}

/// Compresses `body` in the zlib format.
fn pack(body: &[u8]) -> Vec<u8> {
    let compressor = if body.len() < SELDOM_REPEATED { &REPEATED } else { &SELDOM };
    compressor.with_borrow_mut(|compressor| {
        compressor.reset();
        let mut packed = Vec::new();
        let mut parts = body.chunks(OF_ONE_TABLE).peekable();
        while let Some(part) = parts.next() {
            let flush = if parts.peek().is_some() { TDEFLFlush::NoSync } else { TDEFLFlush::Finish };
            compress_to_output(compressor, part, flush, |bytes| {
                packed.extend(bytes);
                true
            });
        }
        packed
    })
}

/// Decodes the cells of a text as ascending pairs of (highest value of the cell in ns, count). An empty text has no
/// cells.
///
/// # Errors
/// Fails if the text is not an HDR histogram, if its range differs from the range of recorders, or if it contains more
/// than [`MOST`] values.
pub(super) fn decode(text: &str) -> Result<Vec<(u64, u64)>, DecodeError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let packed = BASE64.decode(text)?;
    let unpacked = unpack(&packed)?;
    let (layout, counts) = CellLayout::read(&unpacked)?;
    cells(layout, counts)
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let body = match packed.split_at_checked(8) {
        Some((head, body)) if head.starts_with(&PACKED) => body,
        _ => return Err(DecodeError::Damaged("it does not begin as a compressed V2 histogram")),
    };
    const MOST_BYTES: usize = HEADER + MOST_CELLS * COUNT_BYTES;
    decompress_to_vec_zlib_with_limit(body, MOST_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => {
            DecodeError::Damaged("its unpacked size exceeds every valid distribution")
        }
        _ => DecodeError::Damaged("it cannot be unpacked"),
    })
}

/// The layout of cells, which maps values to cells.
#[derive(Debug, Clone, Copy)]
struct CellLayout {
    /// The binary logarithm of the lowest value that can be distinguished from 0.
    unit_bits: u32,
    /// The binary logarithm of half the number of cells in a bucket.
    half_bits: u32,
    /// The number of cells up to the highest value.
    cells: usize,
}

impl CellLayout {
    /// Reads the layout from the header. Returns the layout and the remaining bytes.
    fn read(unpacked: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let Some((header, counts)) = unpacked.split_first_chunk::<HEADER>() else {
            return Err(DecodeError::Damaged("it ends within its header"));
        };
        let word = |at: usize| u64::from(u32::from_be_bytes([0, 1, 2, 3].map(|i| header[at + i])));
        let long = |at: usize| word(at) << 32 | word(at + 4);
        if !header.starts_with(&UNPACKED) || word(8) != 0 || long(32) != 1_f64.to_bits() {
            return Err(DecodeError::Damaged("it is no V2 histogram of whole numbers"));
        }
        if word(4) != counts.len() as u64 {
            return Err(DecodeError::Damaged("its length differs from the length in its header"));
        }
        let (digits, lowest, highest) = (word(12), long(16), long(24));
        let is_known = (1..=u64::from(SIGNIFICANT_DIGITS)).contains(&digits);
        if !is_known || lowest == 0 || highest > HIGHEST_NS || lowest > highest / 2 {
            return Err(DecodeError::Damaged(
                "redyno never records with such a number of digits or such a range",
            ));
        }
        Ok((Self::new(digits as u32, lowest, highest), counts))
    }

    /// Computes HdrHistogram's layout. Up to twice 10^digits, each cell is one unit wide. In each further octave, the
    /// cells are twice as wide.
    fn new(digits: u32, lowest: u64, highest: u64) -> Self {
        let cells_of_bucket = (2 * 10_u64.pow(digits)).next_power_of_two();
        let unit_bits = lowest.ilog2();
        let first_untracked = |buckets: u32| u128::from(cells_of_bucket) << (unit_bits + buckets - 1);
        let mut buckets = 1;
        while first_untracked(buckets) <= u128::from(highest) {
            buckets += 1;
        }
        let cells = (buckets as usize + 1) * (cells_of_bucket as usize / 2);
        Self { unit_bits, half_bits: cells_of_bucket.ilog2() - 1, cells }
    }

    /// Returns the cell of `ns`, in a layout with units of 1 ns.
    fn index(self, ns: u64) -> usize {
        let first_octave = (2 << self.half_bits) - 1;
        let octave = (ns | first_octave).ilog2() - self.half_bits;
        ((octave as usize) << self.half_bits) + (ns >> octave) as usize
    }

    /// Returns the highest value of cell `index`.
    fn upper(self, index: usize) -> u64 {
        let (half, index) = (1 << self.half_bits, index as u64);
        let bucket = (index >> self.half_bits).saturating_sub(1) as u32;
        let within = index - u64::from(bucket) * half;
        ((within + 1) << (bucket + self.unit_bits)) - 1
    }
}

/// Decodes the counts of the cells from the first cell on. A negative number -n skips n empty cells.
fn cells(layout: CellLayout, mut counts: &[u8]) -> Result<Vec<(u64, u64)>, DecodeError> {
    let mut cells = Vec::new();
    let (mut index, mut sum) = (0_usize, 0);
    while !counts.is_empty() {
        let zigzag = take_number(&mut counts)?;
        let number = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let step = if number < 0 { number.unsigned_abs() } else { 1 };
        if step > (layout.cells - index) as u64 {
            return Err(DecodeError::Damaged("it has more cells than fit into its range"));
        }
        if number > 0 {
            // A layout with large units and few cells has cells far above its highest value.
            if layout.upper(index) >= HIGHEST_NS.next_power_of_two() {
                return Err(DecodeError::Damaged("it has values above its range"));
            }
            sum += number.unsigned_abs();
            if sum > MOST || number.unsigned_abs() > Cell::MOST {
                return Err(DecodeError::Damaged("it counts more than any session can"));
            }
            cells.push((layout.upper(index), number.unsigned_abs()));
        }
        index += step as usize;
    }
    Ok(cells)
}

/// Removes a number from the front of `bytes`. Each byte contributes seven bits. A ninth byte contributes eight bits.
fn take_number(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut number = 0;
    for i in 0..COUNT_BYTES {
        let Some((&byte, rest)) = bytes.split_first() else {
            return Err(DecodeError::Damaged("it ends within a count"));
        };
        *bytes = rest;
        let is_last = i == COUNT_BYTES - 1;
        number |= u64::from(if is_last { byte } else { byte & 0x7F }) << (7 * i);
        if is_last || byte < 0x80 {
            break;
        }
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::ZlibEncoder};
    use hdrhistogram::{
        Histogram,
        serialization::{Deserializer, Serializer as _, V2DeflateSerializer},
    };
    use proptest::prelude::*;

    use super::*;

    /// Builds a text with this header and these counts, valid or not.
    fn text(digits: u32, lowest: u64, highest: u64, claimed: u32, counts: &[u8]) -> String {
        let mut body = UNPACKED.to_vec();
        body.extend(claimed.to_be_bytes());
        body.extend([0; 4]);
        body.extend(digits.to_be_bytes());
        body.extend(lowest.to_be_bytes());
        body.extend(highest.to_be_bytes());
        body.extend(1_f64.to_be_bytes());
        body.extend(counts);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(&body).unwrap();
        let zlib = zlib.finish().unwrap();
        let length = u32::try_from(zlib.len()).unwrap();
        BASE64.encode([&PACKED[..], &length.to_be_bytes(), &zlib].concat())
    }

    fn refusal(text: &str) -> String {
        decode(text).unwrap_err().to_string()
    }

    #[test]
    fn a_short_text_that_claims_gigabytes_is_refused_without_allocating_memory() {
        // A length of 4 GiB is refused. After that, digits and ranges that redyno never writes are refused.
        assert!(refusal(&text(3, 1, HIGHEST_NS, u32::MAX, &[])).contains("its length differs"));
        for (digits, lowest, highest) in
            [(5, 1, u64::MAX), (5, 1, HIGHEST_NS), (4, 1, 1000), (0, 1, 1000), (3, 1, u64::MAX), (3, 0, 1000)]
        {
            let refused = refusal(&text(digits, lowest, highest, 0, &[]));
            assert!(
                refused.contains("such a number of digits or such a range"),
                "{digits} {lowest} {highest}: {refused}"
            );
        }
        // Half a gigabyte of zeros compressed to half a megabyte; each zero is an empty cell.
        let zeros = text(3, 1, HIGHEST_NS, 64 << 20, &vec![0; 64 << 20]);
        assert!(zeros.len() < 128 << 10, "{}", zeros.len());
        assert!(refusal(&zeros).contains("unpacked size exceeds"));
    }

    #[test]
    fn too_many_cells_and_too_large_counts_are_refused() {
        let of = |counts: &[u8]| refusal(&text(3, 1, HIGHEST_NS, counts.len() as u32, counts));
        assert!(of(&[0xFF; 9]).contains("more cells"), "i64::MIN cells without anything");
        assert!(of(&[0xFF, 0xFF, 0x7F]).contains("more cells"));
        assert!(of(&vec![2; MOST_CELLS]).contains("more cells"));
        assert!(of(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]).contains("counts more"));
        assert!(of(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]).contains("counts more"), "2^48 in a cell");
        assert!(of(&[0x80]).contains("ends within a count"));
        // A skip of 31 cells, and then a latency of 9 minutes.
        assert!(refusal(&text(1, HIGHEST_NS / 2, HIGHEST_NS, 2, &[61, 2])).contains("above its range"));
        assert!(refusal("HISTFAAA").contains("begin"));
        assert!(refusal("!").contains("not base64"));
    }

    proptest! {
        #[test]
        fn texts_of_the_hdrhistogram_crate_are_decoded(
            digits in 1_u8..=3,
            lowest in 1_u64..5000,
            values in proptest::collection::vec((0_u64..HIGHEST_NS, 1_u64..1 << 40), 0..50),
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(lowest, HIGHEST_NS, digits).unwrap();
            for (value, n) in values {
                histogram.record_n(value, n).unwrap();
            }
            let mut encoded = Vec::new();
            V2DeflateSerializer::new().serialize(&histogram, &mut encoded).unwrap();
            let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut encoded.as_slice()).unwrap();
            let theirs: Vec<_> =
                theirs.iter_recorded().map(|c| (c.value_iterated_to(), c.count_at_value())).collect();
            prop_assert_eq!(decode(&BASE64.encode(encoded)).unwrap(), theirs);
        }

        #[test]
        fn the_hdrhistogram_crate_decodes_our_texts(
            digits in 1_u8..=3,
            values in proptest::collection::vec((0_u64..HIGHEST_NS, 0_u32..36, 1_u64..1 << 40), 0..3000),
        ) {
            let mut all = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
            let mut wanted = Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, digits).unwrap();
            for (value, octave, n) in values {
                all.record_n(value >> octave, n).unwrap();
                wanted.record_n(value >> octave, n).unwrap();
            }
            let cells = |of: &Histogram<u64>| -> Vec<_> {
                of.iter_recorded().map(|c| (c.value_iterated_to(), c.count_at_value())).collect()
            };
            let text = encode(cells(&all).into_iter(), digits);
            prop_assert_eq!(decode(&text).unwrap(), cells(&wanted));
            prop_assume!(!text.is_empty());
            let bytes = BASE64.decode(&text).unwrap();
            let theirs: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!((theirs.sigfig(), cells(&theirs)), (digits, cells(&wanted)));
        }

        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let counts = bytes.as_slice();
            let _ = decode(&text(3, 1, HIGHEST_NS, counts.len() as u32, counts));
            let _ = decode(&BASE64.encode([&PACKED[..], counts].concat()));
        }
    }
}
