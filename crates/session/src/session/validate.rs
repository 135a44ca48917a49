//! Parses a line of a recording and checks the record. Times must be possible in a session. Counts must be
//! small enough to be added up. Texts are made safe to print.
//!
//! A file may be damaged or malicious. The reader reports invalid lines with their numbers. No other code has
//! to check records again.

use std::{fmt, sync::Arc};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{Record, Segment, whole::of_line};
use crate::{units::grouped, untrusted, workload::Workload};

/// The limit for times and lengths in a record, in seconds: ten years. Larger values would make the time axis useless.
const LONGEST_S: f64 = 315_360_000.0;
/// The limit for every number, 2^53. JSON numbers above this limit are not exact integers.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// The limit for the sum of all counts in all records. With this limit, sums fit into 64 bits.
const MOST: u64 = 1 << 63;
/// The fields of a distribution to which these limits do not apply: the encoded histogram and the sum.
const OF_DISTRIBUTIONS: [&str; 2] = ["hdr", "sum_ns"];
/// The largest number of segments in a recording. The limit is enough for an hour with nine changes of the load
/// settings per second. The number is limited because all segments stay in memory.
const MOST_SEGMENTS: u32 = 1 << 15;
/// The beginning of the line of an interval, as redyno writes it.
const INTERVAL: &[u8] = br#"{"kind":"interval","#;
/// The kinds of records whose numbers come from the server and are never added up.
const UNBOUNDED: [&str; 3] = ["server", "host", "event"];

/// The state of the validation after the records so far: the sum of all integers in the records, and the number of
/// segments.
#[derive(Debug, Clone, Default)]
pub(super) struct ValidationState {
    sum: u64,
    segments: u32,
    /// The workload of the last segment. The next segment usually has the same workload.
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
    let message = |error: serde_json::Error| error.to_string();
    let mut scan = Scan { is_bounded: true, is_plain: true, sum: 0 };
    // Most lines are intervals without any text that must be cleaned. Reading them directly takes a third of the time.
    let mut record =
        if line.starts_with(INTERVAL) && scan.line(line).map(|()| scan.is_plain).map_err(message)? {
            Record::Interval(of_line(line).map_err(message)?)
        } else {
            cleaned(line, known, &mut scan)?
        };
    let sum = known.sum.checked_add(scan.sum).filter(|sum| *sum < MOST);
    let sum = sum.ok_or("the sum of all counts up to this line is too large for a session")?;
    timed(&record)?;
    if let Record::Segment(segment) = &mut record {
        known.count(segment);
    }
    known.sum = sum;
    Ok(record)
}

/// Returns the record of any line, with cleaned texts. Counts its numbers in `scan`.
fn cleaned(line: &[u8], known: &ValidationState, scan: &mut Scan) -> Result<Record, String> {
    let mut value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let kind = value["kind"].as_str();
    if kind == Some("segment") && known.segments == MOST_SEGMENTS {
        let most = grouped(MOST_SEGMENTS.into());
        return Err(format!("it begins a segment, but a recording has at most {most} segments"));
    }
    let is_bounded = kind.is_none_or(|kind| !UNBOUNDED.contains(&kind));
    *scan = Scan { is_bounded, is_plain: true, sum: 0 };
    scan.deserialize(&value).map_err(|error| error.to_string())?;
    if !scan.is_plain {
        clean(&mut value)?;
    }
    // The deserializer's messages quote words of the line, which are clean by now.
    Record::deserialize(value).map_err(|error| error.to_string())
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

/// Cleans all texts of a value.
pub(crate) fn clean(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => *text = untrusted::text(text),
        Value::Array(values) => values.iter_mut().try_for_each(clean)?,
        Value::Object(fields) => clean_fields(fields)?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn clean_fields(fields: &mut Map<String, Value>) -> Result<(), String> {
    for (name, mut value) in std::mem::take(fields) {
        if !OF_DISTRIBUTIONS.contains(&name.as_str()) {
            clean(&mut value)?;
        }
        let name = untrusted::text(&name);
        if fields.insert(name.clone(), value).is_some() {
            return Err(format!("it has '{name}' twice"));
        }
    }
    Ok(())
}

/// Checks and adds up the numbers of a record, and checks whether all texts are plain.
struct Scan {
    is_bounded: bool,
    is_plain: bool,
    sum: u64,
}

impl Scan {
    fn line(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(line);
        self.deserialize(&mut json)?;
        json.end()
    }

    /// Counts a number. `whole` is the number itself if it is a whole number from 0 on, and otherwise 0.
    fn number<E: Error>(&mut self, number: f64, whole: u64) -> Result<(), E> {
        if self.is_bounded && number.abs() >= LARGEST {
            return Err(E::custom(format_args!("{number} is too large a number for a session")));
        }
        self.sum = self.sum.saturating_add(if self.is_bounded { whole } else { 0 });
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Scan {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Scan {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(number as f64, number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(number as f64, 0)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number, 0)
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.is_plain &= untrusted::is_plain(text.as_bytes(), untrusted::LONGEST);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        while values.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<String>()? {
            if OF_DISTRIBUTIONS.contains(&name.as_str()) {
                fields.next_value::<IgnoredAny>()?;
            } else {
                fields.next_value_seed(&mut *self)?;
            }
            self.is_plain &= untrusted::is_plain(name.as_bytes(), untrusted::LONGEST);
        }
        Ok(())
    }
}
