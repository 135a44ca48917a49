//! A load by itself, to its end.

use std::{ops::ControlFlow, time::Duration};

use crate::session::{Alone, End, Record, Summary};

/// How often a load is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Runs it until it is over, or `heed` breaks it off, and tells the sum of all. `heed` is given each record, and while it runs
/// the sum so far.
///
/// # Errors
/// As `heed`; the load is ended then.
pub fn to_its_end<E>(
    mut alone: Alone,
    mut heed: impl FnMut(&Record, Option<&Summary>) -> Result<ControlFlow<()>, E>,
) -> Result<End, E> {
    let mut goes_on = true;
    while goes_on && !alone.is_over() {
        std::thread::sleep(LOOK_EVERY);
        for record in alone.take() {
            goes_on &= heed(&record, Some(alone.summary()))?.is_continue();
        }
    }
    let mut end = None;
    for record in alone.finish() {
        // It is over, whatever this says.
        let _ = heed(&record, None)?;
        if let Record::End(record) = record {
            end = Some(*record);
        }
    }
    Ok(end.expect("the last record of a load is its end"))
}
