//! The command line's options of a session: its duration, and the destinations and the form of its output.
//! Live sessions and replays share the options for the look of the screen.

use std::{path::PathBuf, time::Duration};

use clap::{Args, builder::NonEmptyStringValueParser};

use super::{
    load_args::LoadArgs,
    values::{requests, rotation, seconds},
};
use crate::{
    compare::Condition,
    print::words::choose_characters,
    runner::{Export, UsageError, metrics, push},
    tui::theme::{Theme, ThemeChoice},
    workload::Suggested,
};

/// SESSION: the duration, the recording and the output of a session.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// End after this many seconds [default: when you quit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Warm-up: send the load for this many seconds first. The summary leaves this time out
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warmup: Option<Duration>,
    /// End after exactly this many requests. Lost and shed (dropped) requests count, but requests of the warm-up do not
    /// [default: no limit]
    #[arg(short = 'n', long, value_name = "REQUESTS", value_parser = requests)]
    pub requests: Option<u64>,
    /// Record to this new file, as JSON lines. redyno compresses the file if its name ends in .zst [default: a file
    /// that 'redyno sessions' lists]
    #[arg(long, value_name = "FILE")]
    pub record: Option<Option<PathBuf>>,
    /// Begin a new file of the recording after this time, such as 30m or 1h. You can open each file by itself; its name
    /// contains the time
    #[arg(long, value_name = "TIME", value_parser = rotation, requires = "record")]
    pub record_rotate: Option<Duration>,
    /// Measure the time from a write to a primary until its replicas return the written value, with or without a load.
    /// redyno writes at most ten test values per second in total, and asks before the first write
    #[arg(long, conflicts_with_all = ["redact", "one_node", "key_prefix", "own_names"])]
    pub probe_lag: bool,
    /// Leave texts from the server out of all output: error messages, addresses, and the arguments and clients of the
    /// slow log
    #[arg(long)]
    pub redact: bool,
    /// Write all arguments in the server's slow log to recordings, JSON lines and exports. Without this option, only
    /// the screen shows all arguments
    #[arg(long, conflicts_with = "redact")]
    pub with_arguments: bool,
    /// Also write the figures to FILE in one of the formats of 'redyno export'; can be given several times
    #[arg(long, value_name = "FORMAT:FILE")]
    pub export: Vec<Export>,
    /// Without a screen: exit with code 3 if this condition is true at the end of the run. Examples: 'p99 > 2ms',
    /// 'errors > 0', and with --base also 'ops < -5%'. Can be given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
    /// Compare this run with this recording, for conditions of --fail-if on a change, such as 'ops < -5%'
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    pub base: Option<String>,
    /// Without a screen: end the run with exit code 3 when this condition is true in each of 5 consecutive seconds,
    /// such as 'p99 > 50ms', 'ops < 1000' or 'errors > 0'. Can be given several times
    #[arg(long, value_name = "CONDITION")]
    pub abort_if: Vec<Condition>,
    /// Run this shell command for each finding (a problem that redyno reports) that is a warning or worse. The command
    /// reads the finding as JSON from stdin. redyno runs one command at a time, for up to 10 s, and at most once a
    /// minute for each kind of finding
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub on_finding: Option<String>,
    /// Serve the figures as OpenMetrics at http://ADDRESS/metrics; ADDRESS is a port, IP:PORT, or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<metrics::MetricsAddress>,
    /// Push the figures every 10 s and at the end, for runs that are too short for a scrape. The destination is
    /// otlp:URL (OpenTelemetry, as http/json) or remote-write:URL (Prometheus). Can be given several times
    #[arg(long, value_name = "PROTOCOL:URL")]
    pub push: Vec<push::PushDestination>,
    /// The interval of --push, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "push")]
    pub push_every: Option<Duration>,
    /// Send the headers in this file with each push. The file has one header per line, such as 'Authorization: Bearer
    /// TOKEN'. For OTLP, redyno also sends the headers in the environment variable OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "FILE", requires = "push")]
    pub push_headers: Option<PathBuf>,
    /// No screen: print a line per second; this is the default when stdout is not a terminal
    #[arg(long)]
    pub headless: bool,
    /// With --headless: print all records as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Also print the results in YCSB's format after the summary
    #[arg(long, conflicts_with = "json")]
    pub ycsb_summary: bool,
    /// Print what the run would send, without connecting: requests, shares, hottest keys, bytes and size of the prefill
    #[arg(long)]
    pub plan: bool,
    /// Check what an earlier run with --dataset and the same options wrote. redyno reads each record that the run wrote
    /// by SET or HSET, and compares it with the file. --verify writes nothing. The exit code is 3 if a record is
    /// missing or different
    #[arg(long, conflicts_with = "plan")]
    pub verify: bool,
    /// Play the five-minute tour of the screen on the built-in server, until you press a key
    #[arg(long)]
    pub tour: bool,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArgs,
}

impl SessionArgs {
    /// Adopts the duration or the number of requests that a workload suggests, unless an option sets the duration or
    /// the number.
    pub fn follow(&mut self, load: &Suggested) {
        if self.duration.is_none() && self.requests.is_none() {
            self.requests = load.requests;
            self.duration = load.duration.map(|s| Duration::from_secs(s.into()));
        }
    }

    /// Limits a run without a screen to one pass over its dataset, if no option limits the length of the run.
    ///
    /// # Errors
    /// Fails if the number of requests in a pass is unknown.
    pub fn end_after_a_pass(&mut self, load: &LoadArgs) -> Result<(), UsageError> {
        if self.requests.is_none() && self.duration.is_none() {
            self.requests = load.requests_per_pass().map_err(UsageError::of)?;
        }
        Ok(())
    }
}

/// Colours and characters of the screen.
#[derive(Debug, Clone, Default, Args)]
pub struct LookArgs {
    /// Colours: auto, 16 (the terminal's own), dark or light (24-bit, for a dark or light background), or mono
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<ThemeChoice>,
    /// Use ASCII characters only, on the screen and in text
    #[arg(long)]
    pub ascii: bool,
    /// Do not use the mouse, so that you can select text in the terminal without Shift
    #[arg(long)]
    pub no_mouse: bool,
}

impl LookArgs {
    /// Adopts the values of the config file, unless an option sets a value.
    pub fn follow(&mut self, file: &Self) {
        self.theme = self.theme.or(file.theme);
        self.ascii |= file.ascii;
        self.no_mouse |= file.no_mouse;
        if file.ascii {
            choose_characters(true);
        }
    }

    /// Returns whether the screen uses the mouse. Some terminals have no mouse.
    pub fn mouse(&self) -> bool {
        let term = std::env::var("TERM").unwrap_or_default();
        !self.no_mouse && !["", "dumb", "linux"].contains(&term.as_str())
    }

    /// Returns the theme that the options and the environment choose.
    pub fn theme(&self) -> Theme {
        Theme::from_env(self.theme.unwrap_or_default(), self.ascii)
    }
}
