//! The command line: one file per command; arguments become a plan, and nothing is measured here.

pub mod clean;
pub mod headless;
pub mod lines;
pub mod load_args;
pub mod oneshot;
pub mod session_args;
pub mod signals;
pub mod summary;
pub mod target_args;
