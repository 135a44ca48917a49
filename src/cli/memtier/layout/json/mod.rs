//! The JSON of a program's run, in memtier_benchmark's schema (format version 2): its names, in its order, with its units.

mod configuration;
mod figures;
mod report;
mod value;

pub(in crate::cli::memtier) use report::json;
