//! The options of redis-cli's latency modes.

use std::time::Duration;

use clap::Args;

use super::plan::{Format, Mode, Percentile, Plan, PlanError};
use crate::{endpoint::Target, units::parse_seconds as seconds};

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
    #[arg(long, group = "mode", value_name = "SECONDS", value_parser = seconds)]
    pub intrinsic_latency: Option<Duration>,
    /// Length of a window; also of the ping windows on the screen [default there: 15]
    #[arg(short = 'i', value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<Duration>,
    /// Figures separated by spaces
    #[arg(long, requires = "mode", conflicts_with_all = ["csv", "json"])]
    pub raw: bool,
    /// Figures separated by commas
    #[arg(long, requires = "mode", conflicts_with = "json")]
    pub csv: bool,
    /// Percentiles to print as well, 50,99,99.9
    #[arg(long, requires = "mode", value_name = "LIST", value_delimiter = ',')]
    pub latency_percentiles: Vec<Percentile>,
    /// Shades of grey in the spectrum
    #[arg(long, requires = "mode")]
    pub mono: bool,
}

impl OneshotArgs {
    /// The plan, if one of the modes is asked for. `json` is the option that sessions have as well.
    ///
    /// # Errors
    /// When options do not go together.
    pub fn plan(&self, target: Target, json: bool) -> Result<Option<Plan>, PlanError> {
        let Some(mode) = self.mode() else { return Ok(None) };
        let plan = Plan {
            format: match (self.raw, self.csv, json) {
                (true, ..) => Format::Raw,
                (_, true, _) => Format::Csv,
                (.., true) => Format::Json,
                _ => Format::Standard,
            },
            interval: self.interval,
            percentiles: self.latency_percentiles.clone(),
            is_mono: self.mono,
            ..Plan::new(target, mode)
        };
        plan.check()?;
        Ok(Some(plan))
    }

    /// The mode that is asked for, if one is.
    pub fn mode(&self) -> Option<Mode> {
        match (self.intrinsic_latency, self.latency, self.latency_history, self.latency_dist) {
            (Some(length), ..) => Some(Mode::IntrinsicLatency(length)),
            (_, true, ..) => Some(Mode::Latency),
            (_, _, true, _) => Some(Mode::LatencyHistory),
            (.., true) => Some(Mode::LatencyDist),
            _ => None,
        }
    }
}
