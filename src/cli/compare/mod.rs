//! `redyno compare BASE NEW`: two recordings, or several of each, and what is more than noise between them.

mod args;
mod gate;
mod read;
mod run;

pub use args::CompareArgs;
pub use gate::{after_session, check_conditions};
pub(super) use read::named;
pub use run::{check, run};

use crate::print::compare as lines;
