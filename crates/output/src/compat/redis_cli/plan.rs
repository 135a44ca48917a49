//! The plan of a mode with redis-cli's output (such as `--latency`): its options, and the check for contradictory
//! options.

use std::{str::FromStr, time::Duration};

use clap::Args;

use crate::{
    endpoint::Target,
    protocol::Dialect,
    stats::quantile_of_percent,
    units::{LONGEST, parse_seconds, whole_number},
};

/// The shortest window. redyno sends a PING every 10 ms.
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

/// One of redis-cli's modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OneshotMode {
    /// `--latency`. On a terminal, the mode redraws one line until Ctrl-C, or for the time of `-i`. Without a terminal,
    /// the mode prints one line after 1 s, or after the time of `-i`.
    #[default]
    Latency,
    /// `--latency-history`: a line for each window. A window lasts 15 s, or the time of `-i`.
    LatencyHistory,
    /// `--latency-dist`: a row of coloured characters for each window. A window lasts 1 s, or the time of `-i`.
    LatencyDist,
    /// `--intrinsic-latency`: the longest gap in a busy loop of this length. The mode needs no server.
    IntrinsicLatency(Duration),
    /// `--stat`: a line with figures of INFO, every second or at the interval of `-i`.
    Stat,
    /// `--bigkeys`: for each type, the key with the most elements.
    BigKeys,
    /// `--memkeys`: for each type, the key with the most memory.
    MemKeys,
    /// `--keystats`: memory and elements of all keys, and their distributions.
    KeyStats,
    /// `--hotkeys`: the most used keys, under an LFU policy.
    HotKeys,
}

/// The format of figures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FigureFormat {
    /// The format for people on a terminal. Without a terminal, this format is the same as `Raw`.
    #[default]
    Standard,
    /// `--raw`: figures separated by spaces.
    Raw,
    /// `--csv`: figures separated by commas.
    Csv,
    /// `--json`: a JSON object per line.
    Json,
}

/// A percentile of `--latency-percentiles`, above 0 and up to 100.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedPercentile {
    /// The text that the user gave, such as `99.9`.
    pub text: String,
    /// The share of samples at or below the percentile, 0 to 1.
    pub quantile: f64,
}

impl FromStr for RequestedPercentile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let error = || format!("'{text}' is not a percentile above 0 and up to 100, such as 99.9");
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Err(error());
        }
        let quantile = quantile_of_percent(text.parse().map_err(|_| error())?);
        if quantile > 0.0 && quantile <= 1.0 {
            Ok(Self { text: text.to_owned(), quantile })
        } else {
            Err(error())
        }
    }
}

/// The settings of a mode.
#[derive(Debug, Clone, Default)]
pub struct OneshotPlan {
    /// The server. [`OneshotMode::IntrinsicLatency`] does not connect to a server.
    pub target: Target,
    /// The mode.
    pub mode: OneshotMode,
    /// The format of figures.
    pub format: FigureFormat,
    /// The options of the modes.
    pub options: OneshotArgs,
}

impl OneshotMode {
    /// The modes that need a server.
    pub const OF_SERVERS: [Self; 8] = [
        Self::Latency,
        Self::LatencyHistory,
        Self::LatencyDist,
        Self::Stat,
        Self::BigKeys,
        Self::MemKeys,
        Self::KeyStats,
        Self::HotKeys,
    ];

    /// Returns the option of the mode.
    pub fn flag(self) -> &'static str {
        match self {
            Self::Latency => "--latency",
            Self::LatencyHistory => "--latency-history",
            Self::LatencyDist => "--latency-dist",
            Self::IntrinsicLatency(_) => "--intrinsic-latency",
            Self::Stat => "--stat",
            Self::BigKeys => "--bigkeys",
            Self::MemKeys => "--memkeys",
            Self::KeyStats => "--keystats",
            Self::HotKeys => "--hotkeys",
        }
    }
}

impl OneshotPlan {
    /// Creates a plan without options.
    pub fn new(target: Target, mode: OneshotMode) -> Self {
        Self { target, mode, ..Self::default() }
    }

    /// Checks that the options do not contradict each other. [`run`](fn@super::run) makes the same checks. The command
    /// line makes these checks first, to report a mistake as bad usage.
    ///
    /// # Errors
    /// Fails if there is a mistake. The error is one line about the first mistake.
    pub fn check(&self) -> Result<(), String> {
        if let Some(option) = self.meaningless_option() {
            let instead = match self.mode {
                OneshotMode::LatencyDist => ", which draws a picture (--latency-history gives figures)",
                _ => "",
            };
            return Err(format!("{option} has no effect with {}{instead}; leave it out", self.mode.flag()));
        }
        if let Some(refusal) = self.refusal_of(self.target.dialect) {
            return Err(refusal);
        }
        if self.options.interval.is_some_and(|interval| !(SHORTEST_WINDOW..=LONGEST).contains(&interval)) {
            return Err("-i must be between 0.01 s and a year".to_owned());
        }
        match self.mode {
            OneshotMode::IntrinsicLatency(length) if length.is_zero() || length > LONGEST => {
                Err("--intrinsic-latency needs a number of seconds above 0, up to a year".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Returns the error if a server with this dialect does not know the commands of the mode.
    pub(super) fn refusal_of(&self, dialect: Dialect) -> Option<String> {
        // The first three modes send only PINGs.
        let needs_keys = OneshotMode::OF_SERVERS[3..].contains(&self.mode);
        let (flag, server) = (self.mode.flag(), dialect.words().server);
        (needs_keys && !dialect.lists_keys()).then(|| {
            format!(
                "{flag} works only with Redis and Valkey; for {server} give --latency, or leave {flag} out to see the server's figures"
            )
        })
    }

    fn meaningless_option(&self) -> Option<&'static str> {
        let writes_figures = matches!(self.mode, OneshotMode::Latency | OneshotMode::LatencyHistory);
        let is_stats = self.mode == OneshotMode::KeyStats;
        let is_intrinsic = matches!(self.mode, OneshotMode::IntrinsicLatency(_));
        let options = &self.options;
        let given = [
            (self.format == FigureFormat::Raw, "--raw", writes_figures),
            (self.format == FigureFormat::Csv, "--csv", writes_figures),
            (self.format == FigureFormat::Json, "--json", writes_figures),
            (!options.latency_percentiles.is_empty(), "--latency-percentiles", writes_figures),
            (options.memkeys_samples.is_some(), "--memkeys-samples", self.mode == OneshotMode::MemKeys),
            (options.keystats_samples.is_some(), "--keystats-samples", is_stats),
            (options.cursor.is_some(), "--cursor", is_stats),
            (options.top.is_some(), "--top", is_stats),
            (options.mono, "--mono", self.mode == OneshotMode::LatencyDist),
            (options.interval.is_some(), "-i", !is_intrinsic),
        ];
        given
            .into_iter()
            .find(|(is_given, _, has_meaning)| *is_given && !has_meaning)
            .map(|(_, name, _)| name)
    }
}

/// ONE-SHOT: the modes of redis-cli, such as `redis-cli --latency`, with the same output.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Probes in the format of redis-cli, without the screen")]
pub struct OneshotArgs {
    /// Send PINGs and print their round-trip times
    #[arg(long, group = "mode")]
    pub latency: bool,
    /// Send PINGs, and print a line of round-trip times every 15 s
    #[arg(long, group = "mode")]
    pub latency_history: bool,
    /// Send PINGs, and print a row of a spectrum of round-trip times every second
    #[arg(long, group = "mode")]
    pub latency_dist: bool,
    /// For this many seconds, measure the latency that this machine itself adds; needs no server
    #[arg(long, group = "mode", value_name = "SECONDS", value_parser = parse_seconds)]
    pub intrinsic_latency: Option<Duration>,
    /// Print a line with the server's figures every second
    #[arg(long, group = "mode")]
    pub stat: bool,
    /// For each type, find the key with the most elements
    #[arg(long, group = "mode")]
    pub bigkeys: bool,
    /// For each type, find the key that uses the most memory
    #[arg(long, group = "mode")]
    pub memkeys: bool,
    /// Print the biggest keys, and how memory and elements are distributed over all keys
    #[arg(long, group = "mode")]
    pub keystats: bool,
    /// Find the most used keys; needs an LFU eviction policy
    #[arg(long, group = "mode")]
    pub hotkeys: bool,
    /// Number of elements that --memkeys samples in each collection. 0 means all elements; this can block the server
    /// for seconds
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    pub memkeys_samples: Option<u64>,
    /// Number of elements that --keystats samples in each collection. 0 means all elements
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    pub keystats_samples: Option<u64>,
    /// Continue an interrupted --keystats from the cursor that the interrupted run printed
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    pub cursor: Option<u64>,
    /// Number of biggest keys that --keystats shows [default: 10]
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>(0..=u64::MAX))]
    pub top: Option<usize>,
    /// Seconds that each printed line covers. On the screen, each line of the list of PING results covers this time
    /// [default on the screen: 15]. With --bigkeys and similar modes, redyno pauses for this many seconds after every
    /// 100 SCANs [default with these modes: redyno pauses 98 % of the time]
    #[arg(short = 'i', value_name = "SECONDS", value_parser = parse_seconds)]
    pub interval: Option<Duration>,
    /// Separate figures by spaces
    #[arg(long, requires = "mode", conflicts_with_all = ["csv", "json"])]
    pub raw: bool,
    /// Separate figures by commas
    #[arg(long, requires = "mode", conflicts_with = "json")]
    pub csv: bool,
    /// Also print these percentiles, such as 50,99,99.9
    // As in redis-cli, a percentile is printed even if few samples are above it, beside the number of samples.
    #[arg(long, requires = "mode", value_name = "LIST", value_delimiter = ',')]
    pub latency_percentiles: Vec<RequestedPercentile>,
    /// Use shades of grey in the spectrum
    #[arg(long, requires = "mode")]
    pub mono: bool,
}

impl OneshotArgs {
    /// Returns the plan, if one of the modes was requested. `json` is true if `--json` is given. Sessions have this
    /// option, too.
    ///
    /// # Errors
    /// Fails if options contradict each other.
    pub fn plan(&self, target: Target, json: bool) -> Result<Option<OneshotPlan>, String> {
        let Some(mode) = self.mode() else { return Ok(None) };
        let format = match (self.raw, self.csv, json) {
            (true, ..) => FigureFormat::Raw,
            (_, true, _) => FigureFormat::Csv,
            (.., true) => FigureFormat::Json,
            _ => FigureFormat::Standard,
        };
        let plan = OneshotPlan { target, mode, format, options: self.clone() };
        plan.check()?;
        Ok(Some(plan))
    }

    /// Returns the requested mode, if there is one.
    pub fn mode(&self) -> Option<OneshotMode> {
        let given = [
            (self.latency, OneshotMode::Latency),
            (self.latency_history, OneshotMode::LatencyHistory),
            (self.latency_dist, OneshotMode::LatencyDist),
            (self.stat, OneshotMode::Stat),
            (self.bigkeys, OneshotMode::BigKeys),
            (self.memkeys, OneshotMode::MemKeys),
            (self.keystats, OneshotMode::KeyStats),
            (self.hotkeys, OneshotMode::HotKeys),
            // As in redis-cli, these two options also choose a mode.
            (self.memkeys_samples.is_some(), OneshotMode::MemKeys),
            (self.keystats_samples.is_some(), OneshotMode::KeyStats),
        ];
        let given = given.into_iter().find(|(is_given, _)| *is_given).map(|(_, mode)| mode);
        self.intrinsic_latency.map(OneshotMode::IntrinsicLatency).or(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(mode: OneshotMode, change: impl Fn(&mut OneshotPlan)) -> String {
        let mut plan = OneshotPlan::new(Target::default(), mode);
        assert_eq!(plan.check(), Ok(()));
        change(&mut plan);
        plan.check().unwrap_err()
    }

    #[test]
    fn options_without_effect_are_refused_and_named() {
        let intrinsic = OneshotMode::IntrinsicLatency(Duration::from_secs(1));
        assert_eq!(
            refused(OneshotMode::LatencyDist, |plan| plan.format = FigureFormat::Csv),
            "--csv has no effect with --latency-dist, which draws a picture (--latency-history gives figures); leave it out"
        );
        assert_eq!(
            refused(intrinsic, |plan| plan.options.interval = Some(Duration::from_secs(1))),
            "-i has no effect with --intrinsic-latency; leave it out"
        );
        assert_eq!(
            refused(intrinsic, |plan| plan.options.latency_percentiles = vec!["50".parse().unwrap()]),
            "--latency-percentiles has no effect with --intrinsic-latency; leave it out"
        );
        assert_eq!(
            refused(OneshotMode::Latency, |plan| plan.options.mono = true),
            "--mono has no effect with --latency; leave it out"
        );
    }

    #[test]
    fn modes_for_redis_name_what_works_with_other_servers() {
        let memcached = |plan: &mut OneshotPlan| plan.target.dialect = Dialect::Memcached;
        let advice = "for memcached give --latency, or leave --bigkeys out to see the server's figures";
        assert!(refused(OneshotMode::BigKeys, memcached).ends_with(advice));
        assert!(refused(OneshotMode::Stat, memcached).starts_with("--stat works only with Redis and Valkey"));
    }

    #[test]
    fn lengths_must_be_possible() {
        assert_eq!(
            refused(OneshotMode::Latency, |plan| plan.options.interval = Some(Duration::ZERO)),
            "-i must be between 0.01 s and a year"
        );
        let endless = OneshotPlan::new(Target::default(), OneshotMode::IntrinsicLatency(Duration::MAX));
        assert!(endless.check().unwrap_err().starts_with("--intrinsic-latency needs a number of seconds"));
    }

    #[test]
    fn percentiles_are_read_exactly_and_kept_as_written() {
        let list = ["50", " 99", "99.90"].map(|text| text.parse::<RequestedPercentile>().unwrap());
        assert_eq!(list.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["50", "99", "99.90"]);
        assert_eq!(list.iter().map(|p| p.quantile).collect::<Vec<_>>(), [0.5, 0.99, 0.999]);
        for bad in ["", "0", "100.1", "-1", "p99", "1e1", "nan", "50,99", "."] {
            assert!(bad.parse::<RequestedPercentile>().is_err(), "{bad:?} was taken");
        }
    }
}
