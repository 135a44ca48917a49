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
    #[arg(long, conflicts_with_all = ["theme", "ascii", "no_mouse"])]
    pub headless: bool,
    /// No screen either: draw it once into a new file, as SVG or, if its name ends in .txt, as text
    #[arg(long, value_name = "OUT", conflicts_with_all = ["headless", "no_mouse"])]
    pub screenshot: Option<PathBuf>,
    /// Columns and rows of the picture
    #[arg(long, value_name = "WxH", default_value = "120x36", requires = "screenshot")]
    pub size: String,
    /// Which screen it shows: overview, latency, server, segments or log
    #[arg(long, value_name = "NAME", default_value = "overview", requires = "screenshot")]
    pub screen: String,
    /// The moment it shows, in seconds of the session [default: the end]
    #[arg(long, value_name = "SECONDS", requires = "screenshot")]
    pub at: Option<String>,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}
