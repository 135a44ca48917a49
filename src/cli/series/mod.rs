//! `redyno series`: published runs and series of one's own, a session a cell, and one table.

mod args;
mod ends;
mod plan;
mod run;

pub(crate) use args::Asked;
pub use args::SeriesArgs;
pub use run::{check, run};

use crate::print::series as lines;
