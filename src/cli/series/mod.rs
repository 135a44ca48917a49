//! `redyno series`: published runs and series of one's own, a session a cell, and one table.

mod args;
mod ends;
mod lines;
mod plan;
mod run;

pub use args::SeriesArgs;
pub use run::{check, run};
