//! The arguments of `redyno replay`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::look_args::LookArgs;

/// The arguments of `redyno replay`.
#[derive(Args, Debug, Clone)]
pub struct ReplayArgs {
    /// The recording, made by --record FILE
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// No screen: all lines of the session at once; also when stdout is no terminal
    #[arg(long)]
    pub headless: bool,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}
