//! `redyno ab`: two settings in alternation, a line for each pair of them, and a verdict.

mod args;
mod run;

pub use args::AbArgs;
pub use run::{check, run};

use crate::print::ab as lines;
