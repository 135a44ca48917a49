//! The options of a session: how long, where to, in which form.
//!
//! How a screen looks: the options that a live session and a replay share.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    load_args::LoadArgs,
    values::{requests, rotation, seconds},
};
use crate::{
    compare::Condition,
    print::words::choose_characters,
    runner::{Export, UsageError, metrics},
    tui::theme::{Choice, Theme},
    workload::Suggested,
};

/// SESSION: how long it lasts, and who watches.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// End after so many seconds [default: when you quit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Leave the load of the first so many seconds out of the summary, as a segment of its own
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warmup: Option<Duration>,
    /// End when exactly so many requests were due, the warm-up not counted; those that were lost or shed count
    /// [default: no limit]
    #[arg(short = 'n', long, value_name = "REQUESTS", value_parser = requests)]
    pub requests: Option<u64>,
    /// Write all records to a new file, one JSON object a line, packed if its name ends in .zst [default: one that redyno
    /// sessions lists]
    #[arg(long, value_name = "FILE")]
    pub record: Option<Option<PathBuf>>,
    /// Go on in a new file at each full 30m or 1h of the session; each opens by itself, and its name tells the time
    #[arg(long, value_name = "TIME", value_parser = rotation, requires = "record")]
    pub record_rotate: Option<Duration>,
    /// Leave out of all that is shown and written what the server says in its own words: arguments and clients in the slow log,
    /// messages of errors, addresses
    #[arg(long)]
    pub redact: bool,
    /// Write its figures in the form of other tools as well, as redyno export does; may be given several times
    #[arg(long, value_name = "FORMAT:FILE")]
    pub export: Vec<Export>,
    /// Without a screen: exit with 3 if this is so at the end: 'p99 > 2ms', 'errors > 0', with --base also 'ops < -5%'; may be given
    /// several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
    /// The recording that changes in --fail-if are against
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    pub base: Option<String>,
    /// Serve its figures as OpenMetrics at http://ADDRESS/metrics: a port of this machine, an IP and a port, or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<metrics::Address>,
    /// No screen: a line a second; also when stdout is no terminal
    #[arg(long)]
    pub headless: bool,
    /// With --headless: all records, one JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Print what YCSB would have printed behind the summary, as its tools read it
    #[arg(long, conflicts_with = "json")]
    pub ycsb_summary: bool,
    /// Print what would be sent, and end: requests, shares, hottest keys, bytes, and what a prefill makes; nothing is
    /// connected, asked or recorded
    #[arg(long)]
    pub plan: bool,
    /// Read back each record of --dataset that a run with the same words has written by SET or HSET, compare it with the
    /// file, and end; writes nothing. Exit code 3 where one is missing or different
    #[arg(long, conflicts_with = "plan")]
    pub verify: bool,
    /// Play the five-minute tour of the screen on the built-in server, until you press a key
    #[arg(long, conflicts_with_all = ["headless", "json", "plan", "verify"])]
    pub tour: bool,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}

impl SessionArgs {
    /// Takes over how long a load suggests to be where no option says how long.
    pub fn follow(&mut self, load: &Suggested) {
        if self.duration.is_none() && self.requests.is_none() {
            self.requests = load.requests;
            self.duration = load.duration.map(|s| Duration::from_secs(s.into()));
        }
    }

    /// Has a run that nobody watches end after one pass over the dataset of its load, where nothing else ends it.
    ///
    /// # Errors
    /// When nobody knows how many requests that is.
    pub fn end_after_a_pass(&mut self, load: &LoadArgs) -> Result<(), UsageError> {
        if self.requests.is_none() && self.duration.is_none() {
            self.requests = load.requests_of_a_pass().map_err(UsageError::of)?;
        }
        Ok(())
    }
}

/// Colours and characters of a screen.
#[derive(Debug, Clone, Default, Args)]
pub struct LookArgs {
    /// Colours of the screen: auto, 16 (the terminal's own), dark, light (24-bit, for such a background) or mono
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<Choice>,
    /// Draw and write with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal, for selecting text without Shift
    #[arg(long)]
    pub no_mouse: bool,
}

impl LookArgs {
    /// Takes over what the config file says where no option does.
    pub fn follow(&mut self, file: &Self) {
        self.theme = self.theme.or(file.theme);
        self.ascii |= file.ascii;
        self.no_mouse |= file.no_mouse;
        if file.ascii {
            choose_characters(true);
        }
    }

    /// Whether the screen listens to the mouse: not on a terminal that has none.
    pub fn mouse(&self) -> bool {
        let term = std::env::var("TERM").unwrap_or_default();
        !self.no_mouse && !["", "dumb", "linux"].contains(&term.as_str())
    }

    /// The theme that they and the environment mean.
    pub fn theme(&self) -> Theme {
        Theme::from_env(self.theme.unwrap_or_default(), self.ascii)
    }
}
