//! The options of the load: arguments become knobs and a plan.

use std::{str::FromStr, time::Duration};

use clap::Args;
use thiserror::Error;

use crate::{
    load::{KnobError, Knobs, ParseChoiceError, most_workers},
    units::{ParseQuantityError, parse_bytes, parse_count},
    workload::{KeyNames, NoPreset, RatioError, Workload, preset},
};

/// The longest prefix of keys, in bytes.
const LONGEST_PREFIX: usize = 512;
/// The most worker threads.
const MAX_THREADS: usize = 512;

/// LOAD: what is asked of the server, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Connections that carry load [default: 50]
    #[arg(short = 'c', long, value_name = "CLIENTS")]
    pub clients: Option<String>,
    /// Requests that a client writes before it waits for the replies [default: 1]
    #[arg(short = 'P', long, value_name = "PIPELINE")]
    pub pipeline: Option<String>,
    /// Requests per second over all clients, due whatever the server does [default: as fast as it answers]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// How requests come due under a rate: constant or poisson [default: constant]
    #[arg(long, value_name = "NAME", requires = "rate")]
    pub arrivals: Option<String>,
    /// What becomes of requests that no connection is free for: queue sends them late, shed drops those that are more
    /// than 10 ms late and counts them [default: queue]
    #[arg(long, value_name = "NAME", requires = "rate")]
    pub backlog: Option<String>,
    /// A preset: cache (GET:SET 10:1), mixed (1:1), get, set, incr, ping [default: cache]
    #[arg(long, value_name = "NAME", conflicts_with = "ratio")]
    pub workload: Option<String>,
    /// SETs for each so many GETs [default: 1:10]
    #[arg(long, value_name = "SET:GET")]
    pub ratio: Option<String>,
    /// Bytes of a value, with k or M behind it if you like [default: 32]
    #[arg(short = 'd', long, value_name = "BYTES")]
    pub data_size: Option<String>,
    /// Keys that are chosen from, uniformly [default: 10k]
    #[arg(short = 'r', long, value_name = "KEYS")]
    pub keys: Option<String>,
    /// Worker threads [default: cores less one, at least 1]
    #[arg(long, value_name = "N")]
    pub threads: Option<String>,
    /// How long a connection may wait for its next whole reply before it is given up [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<String>,
    /// Go on where the server refuses the load for good (NOAUTH, WRONGPASS, NOPERM), and count these errors as all
    /// others [default: the load stops]
    #[arg(long)]
    pub keep_going: bool,
    /// Where all random numbers come from: the same seed asks the same [default: another each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Begin with the load on; any option that shapes the load does so too
    #[arg(long, conflicts_with = "no_load")]
    pub load: bool,
    /// Begin with the load off
    #[arg(long)]
    pub no_load: bool,
    /// Leave the keys that the load wrote; the end says how to use them again and how to remove them
    #[arg(long, conflicts_with = "key_prefix")]
    pub keep: bool,
    /// Use keys of your own, NAME and twelve digits, and leave them; asks before it writes over them [default: keys of
    /// the run's own, removed at the end]
    #[arg(long, value_name = "NAME")]
    pub key_prefix: Option<String>,
    /// Write to a server that holds other keys or serves other clients without asking
    #[arg(long)]
    pub yes: bool,
}

/// Why the load options are no load.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LoadArgsError {
    /// An option's value is no quantity.
    #[error("{option}: {cause}")]
    Quantity {
        /// The option as it is given.
        option: &'static str,
        /// What is wrong.
        cause: ParseQuantityError,
    },
    /// A number beyond every range.
    #[error("{option}: {given} is far too large")]
    TooLarge {
        /// The option as it is given.
        option: &'static str,
        /// What was given.
        given: u64,
    },
    /// A knob is out of its range.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The workload is none.
    #[error(transparent)]
    Workload(#[from] NoPreset),
    /// The ratio is none.
    #[error(transparent)]
    Ratio(#[from] RatioError),
    /// Arrivals or backlog is none of the choices.
    #[error("{option}: {cause}")]
    Choice {
        /// The option as it is given.
        option: &'static str,
        /// What is wrong.
        cause: ParseChoiceError,
    },
    /// A run of no requests.
    #[error("-n must be at least 1; leave it out for a run without a limit")]
    NoRequests,
    /// A prefix that is none, or too long.
    #[error("--key-prefix must be a name of 1 to {LONGEST_PREFIX} bytes, such as app:; it has {0}")]
    Prefix(usize),
    /// Too many threads, or none.
    #[error("--threads must lie between 1 and {MAX_THREADS}, not {0}")]
    Threads(u64),
    /// No time.
    #[error("{option} must be a number of seconds above 0, not '{given}'")]
    Seconds {
        /// The option as it is given.
        option: &'static str,
        /// What was given.
        given: String,
    },
}

impl LoadArgs {
    /// Whether any option here asks for load by being there.
    fn asks_for_load(&self) -> bool {
        let shape = [
            &self.clients,
            &self.pipeline,
            &self.rate,
            &self.workload,
            &self.ratio,
            &self.data_size,
            &self.keys,
        ];
        self.load || shape.into_iter().any(Option::is_some)
    }

    /// The knobs to begin with. `unless_told` is whether the load is on when no option says.
    ///
    /// # Errors
    /// Names the first option that is wrong.
    pub fn knobs(&self, unless_told: bool) -> Result<Knobs, LoadArgsError> {
        let default = Knobs::default();
        let workload = match (&self.workload, &self.ratio) {
            (Some(name), _) => preset(name)?,
            (None, Some(ratio)) => Workload::parse_ratio(ratio)?,
            (None, None) => default.workload,
        };
        let knobs = Knobs {
            load: !self.no_load && (unless_told || self.asks_for_load()),
            clients: count("-c", self.clients.as_deref(), default.clients.into())?,
            pipeline: count("-P", self.pipeline.as_deref(), default.pipeline.into())?,
            rate: self.rate.as_deref().map(|rate| count("--rate", Some(rate), 0)).transpose()?,
            arrivals: choice("--arrivals", self.arrivals.as_deref(), default.arrivals)?,
            backlog: choice("--backlog", self.backlog.as_deref(), default.backlog)?,
            workload,
            value_size: fitting(
                "-d",
                quantity("-d", self.data_size.as_deref(), default.value_size.into(), parse_bytes)?,
            )?,
            keyspace: quantity("-r", self.keys.as_deref(), default.keyspace, parse_count)?,
        };
        Ok(knobs.checked()?)
    }

    /// Worker threads.
    ///
    /// # Errors
    /// When their number is none, or out of range.
    pub fn worker_threads(&self) -> Result<usize, LoadArgsError> {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = quantity(
            "--threads",
            self.threads.as_deref(),
            cores.saturating_sub(1).clamp(1, most_workers()) as u64,
            parse_count,
        )?;
        if threads == 0 || threads > MAX_THREADS as u64 {
            return Err(LoadArgsError::Threads(threads));
        }
        Ok(threads as usize)
    }

    /// How the keys are called, if a user says.
    ///
    /// # Errors
    /// When the name is empty or too long.
    pub fn names(&self) -> Result<Option<KeyNames>, LoadArgsError> {
        let given = self.key_prefix.as_deref();
        match given.map(str::len) {
            Some(length) if length == 0 || length > LONGEST_PREFIX => Err(LoadArgsError::Prefix(length)),
            _ => Ok(given.map(KeyNames::given)),
        }
    }

    /// How long a reply may take.
    ///
    /// # Errors
    /// When it is no time.
    pub fn reply_timeout(&self) -> Result<Duration, LoadArgsError> {
        self.timeout.as_deref().map_or(Ok(Duration::from_secs(5)), |given| seconds("--timeout", given))
    }

    /// The seed, a random one unless given.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }
}

/// Reads a number of seconds above 0, `2.5`.
///
/// # Errors
/// Names `option` and what was given.
pub fn seconds(option: &'static str, given: &str) -> Result<Duration, LoadArgsError> {
    let error = || LoadArgsError::Seconds { option, given: given.to_owned() };
    let seconds: f64 = given.parse().map_err(|_| error())?;
    Duration::try_from_secs_f64(seconds).ok().filter(|d| !d.is_zero()).ok_or_else(error)
}

fn count(option: &'static str, given: Option<&str>, default: u64) -> Result<u32, LoadArgsError> {
    fitting(option, quantity(option, given, default, parse_count)?)
}

fn choice<T>(option: &'static str, given: Option<&str>, default: T) -> Result<T, LoadArgsError>
where
    T: FromStr<Err = ParseChoiceError>,
{
    let parsed = given.map_or(Ok(default), str::parse);
    parsed.map_err(|cause| LoadArgsError::Choice { option, cause })
}

/// No knob that takes a `u32` goes beyond it.
fn fitting(option: &'static str, given: u64) -> Result<u32, LoadArgsError> {
    u32::try_from(given).map_err(|_| LoadArgsError::TooLarge { option, given })
}

pub(super) fn quantity(
    option: &'static str,
    given: Option<&str>,
    default: u64,
    parse: fn(&str) -> Result<u64, ParseQuantityError>,
) -> Result<u64, LoadArgsError> {
    given.map_or(Ok(default), |text| parse(text).map_err(|cause| LoadArgsError::Quantity { option, cause }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_option_that_shapes_the_load_asks_for_it() {
        let none = LoadArgs::default();
        assert!(!none.knobs(false).unwrap().load);
        assert!(none.knobs(true).unwrap().load);
        let with_clients = LoadArgs { clients: Some("200".into()), ..LoadArgs::default() };
        let knobs = with_clients.knobs(false).unwrap();
        assert_eq!((knobs.load, knobs.clients), (true, 200));
        assert!(!LoadArgs { no_load: true, ..with_clients }.knobs(true).unwrap().load);
    }

    #[test]
    fn wrong_values_are_named_with_their_option() {
        let message = |args: LoadArgs| args.knobs(false).unwrap_err().to_string();
        let with = LoadArgs::default;
        assert_eq!(
            message(LoadArgs { clients: Some("many".into()), ..with() }),
            "-c: 'many' is not a count such as 50, 100k or 1.5M"
        );
        assert_eq!(
            message(LoadArgs { clients: Some("99999999999".into()), ..with() }),
            "-c: 99999999999 is far too large"
        );
        assert_eq!(
            message(LoadArgs { rate: Some("0".into()), ..with() }),
            "rate must lie between 1 and 4294967295, not 0"
        );
        assert!(message(LoadArgs { ratio: Some("0:0".into()), ..with() }).contains("asks for nothing"));
        assert!(LoadArgs { threads: Some("0".into()), ..with() }.worker_threads().is_err());
        assert!(LoadArgs { timeout: Some("-1".into()), ..with() }.reply_timeout().is_err());
        assert!(LoadArgs { timeout: Some("nan".into()), ..with() }.reply_timeout().is_err());
    }
}
