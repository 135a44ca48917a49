//! Compares, and tells.

use std::io::Write as _;

use anyhow::Context as _;

use super::{
    CompareArgs,
    gate::{add_to_job_summary, end, refuse},
    lines::Told,
    read::read_all,
};
use crate::{
    cli::{Failure, UsageError, words::Words},
    compare::{Table, misfits},
};

/// Whether it is clear what is to be compared with what.
///
/// # Errors
/// When it is not.
pub fn check(args: &CompareArgs) -> Result<(), UsageError> {
    args.sides().map(|_| ()).map_err(UsageError::Line)
}

/// Compares the recordings, and looks at the conditions.
///
/// # Errors
/// When one cannot be read, when they may not be compared, or when a condition is met.
pub fn run(args: &CompareArgs, out: &mut Words) -> Result<(), Failure> {
    let (base, new) = args.sides().map_err(UsageError::Line)?;
    let (base, new) = (read_all(base)?, read_all(new)?);
    let misfits = misfits(&base, &new);
    if !args.anyway {
        refuse(&misfits)?;
    }
    let table = Table::of(&base, &new);
    let crossed: Vec<_> =
        args.fail_if.iter().filter_map(|condition| condition.of_runs(&base, &new)).collect();
    let told = Told { base: &base, new: &new, table: &table, misfits: &misfits, crossed: &crossed };
    let text = match (args.json, args.markdown) {
        (true, _) => told.json(),
        (_, true) => told.markdown(),
        _ => told.text(),
    };
    out.write_all(text.as_bytes()).context("cannot write to stdout")?;
    add_to_job_summary(&told.markdown())?;
    end(&crossed)
}
