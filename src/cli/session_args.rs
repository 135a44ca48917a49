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
    print::{page_server::MetricsAddress, words::choose_characters},
    runner::{Export, UsageError, push},
    tui::theme::{Theme, ThemeChoice},
    workload::Suggested,
};

/// SESSION: the duration, the recording and the output of a session.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// End after this many seconds [default: run until you quit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Send the load for this many seconds before the measurement. The summary does not include this warm-up
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warmup: Option<Duration>,
    /// End after exactly this many requests. This number includes lost and dropped requests, but not the requests of
    /// the warm-up [default: no limit]
    #[arg(short = 'n', long, value_name = "REQUESTS", value_parser = requests)]
    pub requests: Option<u64>,
    /// Write a recording to this new file, as JSON lines. redyno compresses the file if its name ends in .zst [default:
    /// a file that 'redyno sessions' lists]
    #[arg(long, value_name = "FILE")]
    pub record: Option<Option<PathBuf>>,
    /// Start a new file of the recording after every period of this length, such as 30m or 1h. You can open each file
    /// alone; the file's name contains the time
    #[arg(long, value_name = "TIME", value_parser = rotation, requires = "record")]
    pub record_rotate: Option<Duration>,
    /// Measure replication lag: the time from a write to a primary until its replicas return the new value. The load
    /// can be on or off. redyno writes at most ten test values per second in total, and asks before the first write
    #[arg(long, conflicts_with_all = ["redact", "one_node", "key_prefix", "own_names"])]
    pub probe_lag: bool,
    /// Remove the server's own texts from all output: error messages, addresses, and the arguments and clients in the
    /// slow log
    #[arg(long)]
    pub redact: bool,
    /// Include the full arguments from the server's slow log in recordings, JSON lines and exports. Without this
    /// option, only the screen shows all arguments
    #[arg(long, conflicts_with = "redact")]
    pub with_arguments: bool,
    /// Also write the figures to FILE in one of the formats of 'redyno export'; can be given several times
    #[arg(long, value_name = "FORMAT:FILE")]
    pub export: Vec<Export>,
    /// Without a screen: exit with code 3 if this condition is true at the end of the run. Examples: 'p99 > 2ms',
    /// 'errors > 0', or with --base 'ops < -5%'. You can give this option several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
    /// The recording with which --fail-if compares this run, in conditions such as 'ops < -5%'
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    pub base: Option<String>,
    /// Without a screen: end the run with exit code 3 when this condition has been true for 5 seconds in a row, such as
    /// 'p99 > 50ms', 'ops < 1000' or 'errors > 0'. You can give this option several times
    #[arg(long, value_name = "CONDITION")]
    pub abort_if: Vec<Condition>,
    /// Run this shell command when redyno finds a problem that is at least a warning. The command reads the problem (a
    /// finding) as JSON from stdin. redyno runs one command at a time, for up to 10 s, and at most once a minute for
    /// each kind of finding
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub on_finding: Option<String>,
    /// Serve the figures as OpenMetrics at http://ADDRESS/metrics; ADDRESS is a port, IP:PORT, or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<MetricsAddress>,
    /// Push the figures every 10 s and at the end of the run. Short runs can end before a scrape; a push still sends
    /// their figures. The destination is otlp:URL (OpenTelemetry, as http/json) or remote-write:URL (Prometheus). You
    /// can give this option several times
    #[arg(long, value_name = "PROTOCOL:URL")]
    pub push: Vec<push::PushDestination>,
    /// The interval of --push, in seconds [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "push")]
    pub push_every: Option<Duration>,
    /// Send the headers in this file with each push. The file has one header per line, such as 'Authorization: Bearer
    /// TOKEN'. For OTLP, redyno also sends the headers in the environment variable OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "FILE", requires = "push")]
    pub push_headers: Option<PathBuf>,
    /// Run without the screen, and print a line per second. This is the default if stdout is not a terminal
    #[arg(long)]
    pub headless: bool,
    /// With --headless: print all records as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Also print the results in YCSB's format after the summary
    #[arg(long, conflicts_with = "json")]
    pub ycsb_summary: bool,
    /// Print what the run would send, and do not connect. The output shows requests and their shares, hottest keys,
    /// bytes, and the size of the prefill
    #[arg(long)]
    pub plan: bool,
    /// Check the records that an earlier run with --dataset and the same options wrote with SET or HSET. redyno reads
    /// each record from the server, and compares it with the file. --verify writes nothing. The exit code is 3 if a
    /// record is missing or different
    #[arg(long, conflicts_with = "plan")]
    pub verify: bool,
    /// Play a five-minute tour of the screen on the built-in server. Any key ends the tour
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
    /// Use ASCII characters only, on the screen and in printed text
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
