//! Parses a line of a recording and checks the record. Times must be possible in a session. Counts must be
//! small enough to be added up. Texts are made safe to print.
//!
//! A file may be damaged or malicious. The reader reports invalid lines with their numbers. No other code has
//! to check records again.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::{Record, Segment};
use crate::{units::grouped, untrusted, workload::Workload};

/// The limit for times and lengths in a record, in seconds: ten years. Larger values would make the time axis useless.
const LONGEST_S: f64 = 315_360_000.0;
/// The limit for every number, 2^53: JSON numbers above this limit are not exact integers.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// The limit for the sum of all counts in all records, so that sums fit into 64 bits.
const MOST: u64 = 1 << 63;
/// The fields of a distribution to which these limits do not apply: the encoded histogram and the sum.
const OF_DISTRIBUTIONS: [&str; 2] = ["hdr", "sum_ns"];
/// The largest number of segments in a recording. This is enough for an hour with nine changes of the load
/// settings per second. The number is limited because all segments stay in memory.
const MOST_SEGMENTS: u32 = 1 << 15;
/// The kinds of records whose numbers come from the server and are never added up.
const UNBOUNDED: [&str; 3] = ["server", "host", "event"];

/// The state of the validation after the records so far: the sum of all integers in the records, and the number of
/// segments.
#[derive(Debug, Clone, Default)]
pub(super) struct ValidationState {
    sum: u64,
    segments: u32,
    /// The workload of the last segment; the next segment usually has the same workload.
    workload: Option<Arc<Workload>>,
}

/// Reads records from an untrusted source, such as the agent of a fleet, one line after the other.
#[derive(Debug, Default)]
pub(crate) struct RecordLines(ValidationState);

impl RecordLines {
    /// Returns the record of a line.
    ///
    /// # Errors
    /// Returns the reason why the line is not a valid record, as text.
    pub(crate) fn read(&mut self, line: &[u8]) -> Result<Record, String> {
        validated(line, &mut self.0)
    }
}

impl ValidationState {
    /// Counts a segment.
    fn count(&mut self, segment: &mut Segment) {
        self.segments += 1;
        match &self.workload {
            Some(same) if *same == segment.knobs.workload => segment.knobs.workload = Arc::clone(same),
            _ => self.workload = Some(Arc::clone(&segment.knobs.workload)),
        }
    }
}

/// Validates `line`, and returns the record in `line`.
///
/// # Errors
/// Returns the reason why the line is not a valid record, as text.
pub(super) fn validated(line: &[u8], known: &mut ValidationState) -> Result<Record, String> {
    let mut value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let kind = value["kind"].as_str();
    if kind == Some("segment") && known.segments == MOST_SEGMENTS {
        let most = grouped(MOST_SEGMENTS.into());
        return Err(format!("it begins a segment, but a recording has at most {most} segments"));
    }
    let is_bounded = kind.is_none_or(|kind| !UNBOUNDED.contains(&kind));
    let mut pass = Pass { is_bounded, sum: 0 };
    pass.value(&mut value)?;
    let sum = known.sum.checked_add(pass.sum).filter(|sum| *sum < MOST);
    let sum = sum.ok_or("the sum of all counts up to this line is too large for a session")?;
    // The deserializer's messages quote words of the line, which have been validated by now.
    let mut record = Record::deserialize(value).map_err(|error| error.to_string())?;
    timed(&record)?;
    if let Record::Segment(segment) = &mut record {
        known.count(segment);
    }
    known.sum = sum;
    Ok(record)
}

/// The state of the validation of one record.
struct Pass {
    is_bounded: bool,
    sum: u64,
}

impl Pass {
    fn value(&mut self, value: &mut Value) -> Result<(), String> {
        match value {
            Value::String(text) => *text = untrusted::text(text),
            Value::Array(values) => values.iter_mut().try_for_each(|value| self.value(value))?,
            Value::Object(fields) => self.fields(fields)?,
            Value::Number(number) => self.number(number)?,
            Value::Null | Value::Bool(_) => {}
        }
        Ok(())
    }

    fn fields(&mut self, fields: &mut Map<String, Value>) -> Result<(), String> {
        for (name, mut value) in std::mem::take(fields) {
            if !OF_DISTRIBUTIONS.contains(&name.as_str()) {
                self.value(&mut value)?;
            }
            let name = untrusted::text(&name);
            if fields.insert(name.clone(), value).is_some() {
                return Err(format!("it has '{name}' twice"));
            }
        }
        Ok(())
    }

    fn number(&mut self, number: &Number) -> Result<(), String> {
        if !self.is_bounded {
            return Ok(());
        }
        if number.as_f64().is_none_or(|number| number.abs() >= LARGEST) {
            return Err(format!("{number} is too large a number for a session"));
        }
        self.sum = self.sum.saturating_add(number.as_u64().unwrap_or(0));
        Ok(())
    }
}

/// Checks that all times of a record lie within a session.
fn timed(record: &Record) -> Result<(), String> {
    let is_fine = |s: &f64| (0.0..=LONGEST_S).contains(s);
    let length_s = match record {
        Record::Interval(interval) if !is_fine(&interval.paused_s) => interval.paused_s,
        Record::End(end) => end.summary.length_s,
        record => record.length_s().unwrap_or(0.0),
    };
    if let Some(t_s) = record.t_s().filter(|t_s| !is_fine(t_s)) {
        return Err(format!("{t_s:e} s is no moment of a session"));
    }
    if !is_fine(&length_s) {
        return Err(format!("{length_s:e} s is no length of a period in a session"));
    }
    Ok(())
}
