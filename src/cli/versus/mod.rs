//! `redyno versus`: two targets under the same load in alternation, one table of their differences, and a verdict.

mod args;
mod run;

pub use args::VersusArgs;
pub use run::{check, run};

use crate::print::versus as lines;
