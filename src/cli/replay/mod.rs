//! `redyno replay FILE`: the screen over a recording, or its lines where there is no screen.

mod args;
mod picture;
mod run;
mod source;

pub use args::ReplayArgs;
