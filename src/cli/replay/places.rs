//! Where in a recording what stands, to read a stretch of it again without the rest.

use std::path::Path;

use crate::session::{ReadError, Reader, Record, timeline::Detail};

/// A place is kept for each so many seconds.
const EVERY_S: f64 = 2.0;
/// Records of a tick come in any order, and some late.
const LATE_S: f64 = 2.0;

/// Where records stand in a file.
#[derive(Debug, Default)]
pub struct Places {
    /// Moments and the byte at which the first record since then begins.
    at: Vec<(f64, u64)>,
    /// The segments, which hold until the next one.
    segments: Vec<Record>,
}

impl Places {
    /// Takes the next record, which began at byte `at`.
    pub fn note(&mut self, record: &Record, at: u64) {
        if matches!(record, Record::Segment(_)) {
            self.segments.push(record.clone());
        }
        let Some(t_s) = record.t_s() else { return };
        if self.at.last().is_none_or(|(last_s, _)| t_s >= last_s + EVERY_S) {
            self.at.push((t_s, at));
        }
    }

    /// Reads what was measured from `from_s` to `to_s` again.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn read(&self, path: &Path, (from_s, to_s): (f64, f64)) -> Result<Detail, ReadError> {
        let mut detail = Detail::new(from_s, to_s);
        let first = self.at.partition_point(|(t_s, _)| *t_s <= from_s - LATE_S).saturating_sub(1);
        let Some((begins_s, byte)) = self.at.get(first).copied() else { return Ok(detail) };
        let earlier = |record: &&Record| record.t_s().is_some_and(|t_s| t_s < begins_s);
        self.segments.iter().filter(earlier).for_each(|record| detail.push(record));
        let mut reader = Reader::open(path)?;
        reader.go_to(byte)?;
        while let Some(record) = reader.next_record()? {
            if record.t_s().is_some_and(|t_s| t_s > to_s + LATE_S) {
                break;
            }
            if let Some(record) = record.of(0) {
                detail.push(record);
            }
        }
        Ok(detail)
    }
}
