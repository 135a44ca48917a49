//! Recordings as runs.

use std::path::Path;

use crate::{
    cli::Failure,
    compare::Run,
    session::{Reader, Timeline},
};

/// The run of a recording; `FILE#N` is its segment N, unless there is a file of that name.
///
/// # Errors
/// When it cannot be read, or is no run of one setting.
pub(super) fn read(name: &str) -> Result<Run, Failure> {
    let (file, segment) = named(name);
    let mut reader = Reader::open(Path::new(file)).map_err(anyhow::Error::from)?;
    let mut timeline = Timeline::with_all_segments();
    while let Some(record) = reader.next_record().map_err(anyhow::Error::from)? {
        timeline.push(&record);
    }
    Ok(Run::of(file, &timeline, segment).map_err(anyhow::Error::from)?)
}

/// The file that is meant, and the number of the segment that is.
pub(in crate::cli) fn named(name: &str) -> (&str, Option<u32>) {
    let numbered = || {
        let (file, number) = name.rsplit_once('#')?;
        Some((file, number.parse::<u32>().ok()?))
    };
    match numbered() {
        Some((file, number)) if !Path::new(name).exists() => (file, Some(number)),
        _ => (name, None),
    }
}

/// All of them.
///
/// # Errors
/// As [`read`], of the first that is none.
pub(super) fn read_all(names: &[String]) -> Result<Vec<Run>, Failure> {
    names.iter().map(|name| read(name)).collect()
}
