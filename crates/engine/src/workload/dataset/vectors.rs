//! Reads datasets from files of vectors. In the formats fvecs and bvecs, each vector begins with its number
//! of dimensions. The format npy is the array format of numpy.
//!
//! A record has three fields. `id` is the number of the vector, from 0. `vector` contains the vector's components as
//! FP32. `list` contains the components as a list in JSON. In an error, the number of the vector, from 1, replaces the
//! line number.

use std::io::{self, BufRead, Read};

use super::{
    error::RecordError,
    portion::{FieldBuffer, Portion},
    reading::Input,
};
use crate::{
    protocol::{list_of, vector_of},
    untrusted,
};

/// The maximum number of dimensions of a vector.
const MOST_DIMENSIONS: u64 = 65_536;
/// The maximum size of an npy file's header in bytes.
const LONGEST_HEAD: usize = 65_536;
/// The first bytes of an npy file.
pub(super) const NPY: &[u8] = b"\x93NUMPY";

/// The format of a file of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorFormat {
    /// Each vector begins with its number of dimensions (32 bits). One FP32 per dimension follows.
    Fvecs,
    /// Each vector begins with its number of dimensions (32 bits). One byte per dimension follows.
    Bvecs,
    /// A text header, followed by the components of all vectors.
    Npy,
}

/// Reads the vectors of a file.
pub(super) struct Vectors {
    input: Input,
    layout: VectorFormat,
    /// The size of a component: 1 for a byte, 4 or 8 for a float.
    width: usize,
    /// The number of dimensions, or 0 while the number is unknown.
    dimensions: usize,
    /// The number of vectors, if the file has a header.
    count: Option<u64>,
    /// The number of vectors that were read.
    read: u64,
    /// The components of the last vector as FP32.
    bytes: Vec<u8>,
}

impl Vectors {
    pub(super) fn new(input: Input, layout: VectorFormat) -> Self {
        let width = if layout == VectorFormat::Bvecs { 1 } else { 4 };
        Self { input, layout, width, dimensions: 0, count: None, read: 0, bytes: Vec::new() }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, RecordError> {
        let names = ["id", "vector", "list"].map(str::to_owned);
        Ok(if self.read()? { names.into() } else { Vec::new() })
    }

    /// Appends the `wanted` parts of the next vector. Returns the number of the vector, from 1.
    pub(super) fn next(
        &mut self,
        wanted: &[Portion],
        to: &mut FieldBuffer,
    ) -> Result<Option<u64>, RecordError> {
        if !self.read()? {
            return Ok(None);
        }
        let id = self.read - 1;
        for portion in wanted {
            match portion.field().map(String::as_str) {
                Some("id") => to.push(id.to_string().as_bytes()),
                Some("vector") => to.push(&self.bytes),
                Some("list") => to.push(self.list()?.as_bytes()),
                Some(name) => return Err(self.fault(format!("the record has no field '{name}'"))),
                None => to.push(format!("{{\"id\":{id},\"vector\":{}}}", self.list()?).as_bytes()),
            }
        }
        Ok(Some(self.read))
    }

    /// Returns the last vector as a list in JSON.
    fn list(&self) -> Result<String, RecordError> {
        let wrong = "the vector has an infinite number or NaN, which JSON cannot contain";
        let is_finite = vector_of(&self.bytes).all(f32::is_finite);
        is_finite.then(|| list_of(&self.bytes)).ok_or_else(|| self.fault(wrong))
    }

    /// Reads the next vector. Returns false after the last vector.
    fn read(&mut self) -> Result<bool, RecordError> {
        self.input.begin_record();
        if self.layout == VectorFormat::Npy && self.read == 0 {
            self.read_head()?;
        }
        self.read += 1;
        let number = self.read;
        let waiting = self.input.fill_buf().map_err(|error| RecordError::at(number, error))?;
        let is_at_end = waiting.is_empty();
        match self.count {
            Some(count) if self.read > count && is_at_end => return Ok(false),
            Some(count) if self.read > count => {
                return Err(self.fault(format!("the header has {count} vectors, but more bytes follow")));
            }
            Some(count) if is_at_end => {
                return Err(self.fault(format!("the file ends here, but its header has {count} vectors")));
            }
            None if is_at_end => return Ok(false),
            Some(_) => {}
            None => {
                let dimensions = i32::from_le_bytes(self.take()?).into();
                self.set_dimensions(dimensions)?;
            }
        }
        self.bytes.resize(self.dimensions * self.width, 0);
        let read = self.input.read_exact(&mut self.bytes);
        read.map_err(|error| self.broken(&error))?;
        let narrow = |it: &[u8; 8]| {
            let wide = f64::from_le_bytes(*it);
            Some(wide as f32).filter(|it| it.is_finite() == wide.is_finite())
        };
        let floats: Option<Vec<f32>> = match self.width {
            1 => Some(self.bytes.iter().map(|it| f32::from(*it)).collect()),
            8 => self.bytes.as_chunks().0.iter().map(narrow).collect(),
            _ => return Ok(true),
        };
        let floats = floats.ok_or_else(|| self.fault("a component is too large for a float of 32 bits"))?;
        self.bytes = floats.into_iter().flat_map(f32::to_le_bytes).collect();
        Ok(true)
    }

    /// Reads the header of an npy file.
    fn read_head(&mut self) -> Result<(), RecordError> {
        let (magic, version): ([u8; 6], [u8; 2]) = (self.take()?, self.take()?);
        let length = match version[0] {
            1 => usize::from(u16::from_le_bytes(self.take()?)),
            2 | 3 => u32::from_le_bytes(self.take()?) as usize,
            _ => 0,
        };
        if magic != NPY || !(1..=LONGEST_HEAD).contains(&length) {
            return Err(self.fault("it is no npy file of version 1 to 3 with a header of at most 64 KiB"));
        }
        let mut head = vec![0; length];
        let read = self.input.read_exact(&mut head);
        read.map_err(|error| self.broken(&error))?;
        let head = untrusted::bytes(head.trim_ascii());
        let after = |name: &str| head.split_once(name).map_or("", |(_, value)| value.trim_start());
        let shape = after("'shape':").strip_prefix('(').and_then(|shape| shape.split_once(')'));
        let shape = shape.map_or("", |(shape, _)| shape).split(',').map(|it| it.trim().parse::<u64>().ok());
        let width = ["'<f4'", "'<f8'"].iter().position(|it| after("'descr':").starts_with(it));
        let is_by_row = after("'fortran_order':").starts_with("False");
        let (Some(width), true, [Some(count), Some(dimensions)]) =
            (width, is_by_row, &shape.collect::<Vec<_>>()[..])
        else {
            return Err(self.fault(format!(
                "it has {head}; give rows of float32 or float64 as numpy.ascontiguousarray(array, '<f4') makes them"
            )));
        };
        (self.width, self.count) = (4 << width, Some(*count));
        self.set_dimensions(i64::try_from(*dimensions).unwrap_or(i64::MAX))
    }

    fn set_dimensions(&mut self, dimensions: i64) -> Result<(), RecordError> {
        let possible = u64::try_from(dimensions).ok().filter(|it| (1..=MOST_DIMENSIONS).contains(it));
        let known = possible.filter(|it| self.dimensions == 0 || *it == self.dimensions as u64);
        self.dimensions = known.ok_or_else(|| match possible {
            Some(_) => self.fault(format!(
                "the vector has {dimensions} dimensions, but the first vector has {}",
                self.dimensions
            )),
            None => self.fault(format!(
                "the vector has {dimensions} dimensions, but only 1 to {MOST_DIMENSIONS} are possible"
            )),
        })? as usize;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut bytes = [0; N];
        let read = self.input.read_exact(&mut bytes);
        read.map_err(|error| self.broken(&error)).map(|()| bytes)
    }

    fn broken(&self, error: &io::Error) -> RecordError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.fault("the file ends within this vector"),
            _ => self.fault(error),
        }
    }

    fn fault(&self, what: impl std::fmt::Display) -> RecordError {
        RecordError::at(self.read.max(1), what)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workload::dataset::format::RecordReader;

    type IdAndVector = (String, Vec<f32>);

    /// Returns the ids and vectors of a file, and the file's last record as JSON. Fails if the file is invalid.
    fn read(path: &Path) -> Result<(Vec<IdAndVector>, String), String> {
        let wanted = ["__field:id__", "__field:vector__", "__record__"].map(|it| Portion::of(it).unwrap());
        let written = |fault: RecordError| format!("{}: {}", fault.line, fault.what);
        let names = RecordReader::open(path).unwrap().names().map_err(written)?;
        assert!(names.is_empty() || names == ["id", "vector", "list"], "{names:?}");
        let (mut rows, mut all, mut json) = (RecordReader::open(path).unwrap(), Vec::new(), String::new());
        let mut fields = FieldBuffer::default();
        while rows.next(&wanted, &mut fields).map_err(written)? {
            let [id, record] = [0, 2].map(|n| String::from_utf8(fields.get(n).to_vec()).unwrap());
            all.push((id, vector_of(fields.get(1)).collect()));
            json = record;
            fields.clear();
        }
        Ok((all, json))
    }

    #[test]
    fn vector_files_are_read_as_floats_of_32_bits() {
        let file = |name: &str| Path::new("../../tests/fixtures").join(name);
        for name in ["vectors-f4.npy", "vectors-f8-v2.npy", "vectors.fvecs"] {
            let (all, json) = read(&file(name)).unwrap();
            let expected = [[0.0, 1.0, 2.0], [0.5, -1.25, 1e-3], [3e38, -0.0, 7.0]];
            let expected = [0, 1, 2].map(|n| (n.to_string(), expected[n].to_vec()));
            assert_eq!(all, expected, "{name}");
            assert_eq!(json, "{\"id\":2,\"vector\":[3e+38,-0.0,7.0]}", "{name}");
        }
        let (all, _) = read(&file("vectors.bvecs")).unwrap();
        assert_eq!(all[1], ("1".to_owned(), vec![9.0, 8.0, 7.0]));
    }

    #[test]
    fn hostile_vector_files_are_refused_in_one_line() {
        let head = |descr: &str, order: &str, shape: &str, data: usize| {
            let head = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
            let length = (head.len() as u16).to_le_bytes();
            [NPY, &[1, 0], &length, head.as_bytes(), &vec![0; data]].concat()
        };
        let floats = |shape, data| head("'<f4'", "False", shape, data);
        let vector =
            |dimensions: i32, bytes: usize| [&dimensions.to_le_bytes()[..], &vec![0; bytes]].concat();
        let too_large = [&head("'<f8'", "False", "(1, 1)", 0)[..], &1e300_f64.to_le_bytes()].concat();
        let range = "but only 1 to 65536 are possible";
        for (name, bytes, expected) in [
            ("v.fvecs", vector(-5, 9), ["1: the vector has -5 dimensions", range]),
            ("v.fvecs", vector(i32::MAX, 9), ["1: the vector has 2147483647", range]),
            ("v.fvecs", vector(3, 11), ["1: the file ends within this vector", ""]),
            ("v.fvecs", vec![1, 0], ["1: the file ends within this vector", ""]),
            (
                "v.fvecs",
                [vector(1, 4), vector(2, 8)].concat(),
                ["2: the vector has 2 dimensions, but the first vector has 1", ""],
            ),
            ("v.npy", floats("(9, 3)", 17), ["2: the file ends within this vector", ""]),
            (
                "v.npy",
                floats("(18446744073709551615, 1)", 4),
                ["2: the file ends here, but its header has 18446744", ""],
            ),
            ("v.npy", floats("(1, 1)", 5), ["2: the header has 1 vectors, but more bytes follow", ""]),
            ("v.npy", floats("(1, 4000000000000)", 5), ["1: the vector has 4000000000000", range]),
            (
                "v.npy",
                floats("(-1, 4)", 5),
                ["1: it has {'descr': '<f4'", "(-1, 4), }; give rows of float32"],
            ),
            ("v.npy", floats("(4,)", 16), ["1: it has {", "give rows of float32"]),
            ("v", head("'<f4'", "True", "(2, 2)", 16), ["1: it has {", "'fortran_order': True"]),
            ("v.npy", head("'>f4'", "False", "(2, 2)", 16), ["1: it has {", "'>f4'"]),
            ("v.npy", head("[('a\x1b', '<f4')]", "False", "(2, 2)", 16), ["1: it has {", "\\x1b"]),
            (
                "v.npy",
                [NPY, &[2, 0], &[255; 4]].concat(),
                ["1: it is no npy file of version 1 to 3", "64 KiB"],
            ),
            ("v.npy", b"id,title\n1,a\n".to_vec(), ["1: it is no npy file", ""]),
            ("v.npy", too_large, ["1: a component is too large for a float of 32 bits", ""]),
            (
                "v.fvecs",
                [&vector(1, 0)[..], &f32::NAN.to_le_bytes()].concat(),
                ["1: the vector has an infinite number or NaN", ""],
            ),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let fault = read(&path).unwrap_err();
            assert!(fault.starts_with(expected[0]) && fault.contains(expected[1]), "{name}: {fault}");
            assert_eq!(fault.lines().count(), 1, "{fault}");
        }
    }
}
