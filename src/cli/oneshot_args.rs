//! The options of redis-cli's latency modes.

use std::time::Duration;

use clap::Args;

use super::{
    UsageError,
    load_args::seconds,
    oneshot::{Format, Mode, Palette, Percentile, Plan},
};
use crate::target::Target;

/// ONE-SHOT: what `redis-cli --latency` and its kin do, with the same output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "As redis-cli does, without the screen")]
pub struct OneshotArgs {
    /// Send PINGs and show how long the answers take
    #[arg(long, group = "mode")]
    pub latency: bool,
    /// The same, with a line for each window of 15 s
    #[arg(long, group = "mode")]
    pub latency_history: bool,
    /// The same as a spectrum, a row a second
    #[arg(long, group = "mode")]
    pub latency_dist: bool,
    /// Measure for so long what this machine itself does to latency; needs no server
    #[arg(long, group = "mode", value_name = "SECONDS")]
    pub intrinsic_latency: Option<String>,
    /// Length of a window; also of the ping windows on the screen [default there: 15]
    #[arg(short = 'i', value_name = "SECONDS")]
    pub interval: Option<String>,
    /// Figures separated by spaces
    #[arg(long, requires = "mode", conflicts_with_all = ["csv", "json"])]
    pub raw: bool,
    /// Figures separated by commas
    #[arg(long, requires = "mode", conflicts_with = "json")]
    pub csv: bool,
    /// Percentiles to print as well, 50,99,99.9
    #[arg(long, requires = "mode", value_name = "LIST")]
    pub latency_percentiles: Option<String>,
    /// Shades of grey in the spectrum
    #[arg(long, requires = "mode")]
    pub mono: bool,
}

impl OneshotArgs {
    /// The length of a window, if one is given.
    ///
    /// # Errors
    /// When it is no number of seconds.
    pub fn window(&self) -> Result<Option<Duration>, UsageError> {
        Ok(self.interval.as_deref().map(|given| seconds("-i", given)).transpose()?)
    }

    /// The plan, if one of the modes is asked for. `json` is the option that sessions have as well.
    ///
    /// # Errors
    /// When options do not go together, or a value is none.
    pub fn plan(&self, target: Target, json: bool) -> Result<Option<Plan>, UsageError> {
        let Some(mode) = self.mode()? else {
            return Ok(None);
        };
        let percentiles =
            self.latency_percentiles.as_deref().map_or(Ok(Vec::new()), Percentile::parse_list)?;
        let plan = Plan {
            format: match (self.raw, self.csv, json) {
                (true, ..) => Format::Raw,
                (_, true, _) => Format::Csv,
                (.., true) => Format::Json,
                _ => Format::Standard,
            },
            interval: self.window()?,
            percentiles,
            palette: if self.mono { Palette::Grey } else { Palette::Colour },
            ..Plan::new(target, mode)
        };
        plan.check()?;
        Ok(Some(plan))
    }

    fn mode(&self) -> Result<Option<Mode>, UsageError> {
        Ok(match (&self.intrinsic_latency, self.latency, self.latency_history, self.latency_dist) {
            (Some(length), ..) => Some(Mode::IntrinsicLatency(seconds("--intrinsic-latency", length)?)),
            (_, true, ..) => Some(Mode::Latency),
            (_, _, true, _) => Some(Mode::LatencyHistory),
            (.., true) => Some(Mode::LatencyDist),
            _ => None,
        })
    }
}
