//! `redyno memtier` among redyno's commands: its words are taken as they are, since its options are not ours.

use std::ffi::OsString;

use clap::Args;

/// The words behind `memtier`.
#[derive(Args, Debug, Clone)]
pub struct MemtierArgs {
    /// memtier_benchmark's options: redyno memtier --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub words: Vec<OsString>,
}
