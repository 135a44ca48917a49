//! `redyno bench` among redyno's commands: its words are taken as they are, since its options are not ours.

use std::ffi::OsString;

use clap::Args;

/// The words behind `bench`.
#[derive(Args, Debug, Clone)]
pub struct BenchArgs {
    /// Options, then a command of your own, or none: redyno bench --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS] [COMMAND ARGS")]
    pub words: Vec<OsString>,
}
