//! The options of a session: how long, where to, in which form.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    load_args::{LoadArgsError, quantity, seconds},
    look_args::LookArgs,
};
use crate::units::parse_count;

/// SESSION: how long it lasts, and who watches.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// End after so many seconds [default: when you quit]
    #[arg(long, value_name = "SECONDS")]
    pub duration: Option<String>,
    /// Leave the load of the first so many seconds out of the summary, as a segment of its own
    #[arg(long, value_name = "SECONDS")]
    pub warmup: Option<String>,
    /// End after exactly so many requests, the warm-up not counted [default: no limit]
    #[arg(short = 'n', long, value_name = "REQUESTS")]
    pub requests: Option<String>,
    /// Write all records to a new file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// No screen: a line a second; also when stdout is no terminal
    #[arg(long)]
    pub headless: bool,
    /// With --headless: all records, one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}

impl SessionArgs {
    /// When the session ends by itself.
    ///
    /// # Errors
    /// When the duration is no number of seconds.
    pub fn length(&self) -> Result<Option<Duration>, LoadArgsError> {
        self.duration.as_deref().map(|given| seconds("--duration", given)).transpose()
    }

    /// How many requests are sent in all.
    ///
    /// # Errors
    /// When it is no count, or none at all.
    pub fn requests(&self) -> Result<Option<u64>, LoadArgsError> {
        let given = self.requests.as_deref();
        let requests = given.map(|text| quantity("-n", Some(text), 0, parse_count)).transpose()?;
        if requests == Some(0) { Err(LoadArgsError::NoRequests) } else { Ok(requests) }
    }

    /// How long the warm-up is.
    ///
    /// # Errors
    /// When it is no number of seconds.
    pub fn warmup_length(&self) -> Result<Option<Duration>, LoadArgsError> {
        self.warmup.as_deref().map(|given| seconds("--warmup", given)).transpose()
    }
}
