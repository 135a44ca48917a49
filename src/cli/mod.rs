//! One file per command: arguments become a plan. Nothing is measured here.

pub mod headless;
pub mod lines;
pub mod load_args;
pub mod oneshot;
pub mod session_args;
pub mod signals;
pub mod summary;
