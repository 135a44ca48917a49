//! Reads intervals. Recordings and agents leave out the histogram of `service`. The histogram of `service` is the sum
//! of the operations' histograms.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use super::Interval;

/// Reads an interval as a part of a record.
///
/// # Errors
/// Fails if the input is not an interval, or if its service times disagree with the service times of its operations.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Interval>, D::Error> {
    let fields = Value::deserialize(deserializer)?;
    Box::deserialize(fields).and_then(with_service).map_err(D::Error::custom)
}

/// Reads the interval in the line of a record.
///
/// # Errors
/// Fails in the same cases as [`whole`].
pub(super) fn of_line(line: &[u8]) -> serde_json::Result<Box<Interval>> {
    serde_json::from_slice(line).and_then(with_service)
}

/// Computes the histogram of `service` if it was left out.
fn with_service(mut interval: Box<Interval>) -> serde_json::Result<Box<Interval>> {
    if interval.service.lacks_cells() {
        let count = interval.service.count();
        interval.service = interval.of_operations();
        if count != interval.service.count() {
            return Err(Error::custom(
                "'service' has no histogram, and its count is not the sum of the operations' counts",
            ));
        }
    }
    Ok(interval)
}
