//! The values of the knobs. Knobs are the load settings that a user can change during a run.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Arrivals, Backlog, KnobError, RandomLength, Rhythm};
use crate::{
    units,
    workload::{self, DueTimes, MAX_VALUE_SIZE, Workload, WorkloadChoice},
};

/// The largest number of client connections.
pub const MAX_CLIENTS: u32 = 18_000;
/// The deepest pipeline.
pub const MAX_PIPELINE: u32 = 10_000;
/// The largest number of keys. With this limit, the number of a key has at most twelve digits.
pub const MAX_KEYSPACE: u64 = 999_999_999_999;

/// The knobs: all settings of the load at one moment. A change of these settings begins a new segment of
/// redyno's session. Within a segment, the settings do not change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Knobs {
    /// Whether requests are sent.
    pub load: bool,
    /// Connections that send requests, 1 to [`MAX_CLIENTS`].
    pub clients: u32,
    /// Requests that a client sends before it waits for their replies, 1 to [`MAX_PIPELINE`].
    pub pipeline: u32,
    /// The rate of an open loop: the number of requests per second of all clients together. Requests of an open loop
    /// are due on a schedule that does not wait for replies. With `None`, the loop is closed. A client then sends again
    /// when it has received all replies.
    pub rate: Option<u32>,
    /// The distribution of the times when requests are due, in an open loop.
    pub arrivals: Arrivals,
    /// The times of [`Arrivals::Times`]. Recordings do not contain these times.
    #[serde(skip)]
    pub times: Option<DueTimes>,
    /// What happens to requests that cannot be sent in time.
    pub backlog: Backlog,
    /// How soon a client sends again after its replies have arrived.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub rhythm: Rhythm,
    /// A client opens a new connection after this number of replies. The client first waits for all replies
    /// to its pipeline. With `None`, clients keep their connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconnect: Option<u32>,
    /// How long a client of a closed loop pauses after the replies to a batch, before it sends the next batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<RandomLength>,
    /// The length of a client's session. After this time, the client opens a new connection. The client first
    /// waits for all replies to its pipeline. If a connection is lost earlier, the session continues on a new
    /// connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_length: Option<RandomLength>,
    /// The operations and their weights. Clones of the knobs share the workload.
    pub workload: Arc<Workload>,
    /// Size of a value in bytes, 1 to [`MAX_VALUE_SIZE`], unless the workload itself sets the sizes.
    pub value_size: u32,
    /// Number of keys of the workload, 1 to [`MAX_KEYSPACE`].
    pub keyspace: u64,
}

impl Default for Knobs {
    /// Returns the defaults.
    fn default() -> Self {
        Self {
            load: false,
            clients: 50,
            pipeline: 1,
            rate: None,
            arrivals: Arrivals::Constant,
            times: None,
            backlog: Backlog::Queue,
            rhythm: Rhythm::Grouped,
            reconnect: None,
            think: None,
            session_length: None,
            workload: workload::default_workload(),
            value_size: 32,
            // With so few keys, SETs have soon written every key. From then on, the hit rate is steady.
            keyspace: 10_000,
        }
    }
}

/// The largest size of all values in one batch of requests: 256 MiB.
pub const MAX_BATCH: u64 = 256 << 20;

impl Knobs {
    /// Returns the knobs if each knob is in its range.
    ///
    /// # Errors
    /// Fails if a knob is out of range, or if two knobs contradict each other. The error names the knobs and the range.
    pub fn checked(self) -> Result<Self, KnobError> {
        let in_range = |name, given: u64, highest: u64| {
            if (1..=highest).contains(&given) {
                Ok(())
            } else {
                Err(KnobError::of(format!("{name} must be between 1 and {highest}, not {given}")))
            }
        };
        in_range("clients", self.clients.into(), MAX_CLIENTS.into())?;
        in_range("pipeline", self.pipeline.into(), MAX_PIPELINE.into())?;
        in_range("rate", self.rate.unwrap_or(1).into(), u32::MAX.into())?;
        in_range("reconnect", self.reconnect.unwrap_or(1).into(), u32::MAX.into())?;
        in_range("value size", self.value_size.into(), MAX_VALUE_SIZE.into())?;
        in_range("keys", self.keyspace, MAX_KEYSPACE)?;
        if self.arrivals == Arrivals::Times && self.times.is_none() {
            return Err(KnobError::of(
                "arrivals 'times' need a file at the start (--times FILE or --trace FILE); set arrivals to constant or \
                 poisson",
            ));
        }
        if self.think.is_some() && self.rate.is_some() {
            return Err(KnobError::of(
                "think time needs a closed loop; leave out the rate (rate max), or the think time (think none)",
            ));
        }
        self.workload.check()?;
        self.workload.check_keys(self.keyspace)?;
        self.workload.check_values(self.value_size)?;
        let (pipeline, values) = (self.pipeline, self.workload.most_value_bytes(self.value_size));
        if u64::from(pipeline).saturating_mul(values) > MAX_BATCH {
            let (values, most) = (units::bytes(values), units::bytes(MAX_BATCH));
            return Err(KnobError::of(format!(
                "{pipeline} operations with up to {values} of values each exceed the limit of {most} for a batch; lower \
                 the pipeline or the value size"
            )));
        }
        Ok(self)
    }

    /// Returns the knobs with the chosen workload, and with the clients, pipeline, rate, value size and number of keys
    /// that the workload suggests.
    ///
    /// # Errors
    /// Fails if a knob is out of range. The error names the first such knob.
    pub fn with_chosen(&self, WorkloadChoice { workload, load }: &WorkloadChoice) -> Result<Self, KnobError> {
        let knobs = Self {
            workload: workload.clone(),
            clients: load.clients.unwrap_or(self.clients),
            pipeline: load.pipeline.unwrap_or(self.pipeline),
            rate: load.rate.or(self.rate),
            value_size: load.data_size.unwrap_or(self.value_size),
            keyspace: load.keys.unwrap_or(self.keyspace),
            ..self.clone()
        };
        knobs.checked()
    }

    /// Returns the rate as text, followed by arrivals, backlog and rhythm if they are not the default: `max`, `5000/s`,
    /// `5000/s poisson shed`, `max, rhythm spread`. In a closed loop, returns the think time as well:
    /// `max, think 5ms..50ms`.
    pub fn pace(&self) -> String {
        let mut pace = self.rate.map_or_else(|| "max".to_owned(), |rate| units::setting(rate.into()) + "/s");
        if self.rate.is_some() && self.arrivals != Arrivals::default() {
            pace += &format!(" {}", self.arrivals);
        }
        if self.rate.is_some() && self.backlog != Backlog::default() {
            pace += &format!(" {}", self.backlog);
        }
        if self.rhythm != Rhythm::default() {
            pace += &format!(", rhythm {}", self.rhythm);
        }
        if let Some(think) = self.think.filter(|_| self.rate.is_none()) {
            pace += &format!(", think {think}");
        }
        pace
    }

    /// Returns the life of a connection as text: a number of replies such as `reconnect 100`, or a time such as
    /// `sessions 30s`. Returns `None` if clients keep their connections.
    pub fn renewal(&self) -> Option<String> {
        let reconnect = self.reconnect.map(|n| format!("reconnect {n}"));
        let sessions = self.session_length.map(|length| format!("sessions {length}"));
        let words: Vec<_> = reconnect.into_iter().chain(sessions).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// Returns, as text, the number of keys, and the distribution of keys if it is not uniform: `10 k keys`,
    /// `10 k keys, zipfian 0.99`.
    pub fn keys(&self) -> String {
        let drawn = self.workload.distributions().into_iter().map(|distribution| format!(", {distribution}"));
        let count = super::Knob::Keys.value(self);
        let noun = if count == "1" { "key" } else { "keys" };
        format!("{count} {noun}{}", drawn.collect::<String>())
    }

    /// Returns the workload, its values and its keys as text: `SET, 32 B values, 10 k keys`, or `SET, 32 B, 10 k keys`
    /// if `is_short` is true. For HTTP, the text has no values or keys if the requests contain none.
    pub fn requests(&self, is_short: bool) -> String {
        let (workload, size) = (&self.workload, super::Knob::ValueSize.value(self));
        let values = if is_short { size } else { size + " values" };
        let is_other = !workload.is_by_http();
        let values = (is_other || workload.most_value_bytes(1) > 0).then_some(values);
        let keys = (is_other || workload.draws_keys()).then(|| self.keys());
        [Some(workload.to_string()), values, keys].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Knobs {
    /// Writes `50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys, zipfian 0.99`. If clients do
    /// not keep their connections, `reconnect 100` follows. If the load is off, writes `load off`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if !self.load {
            return f.write_str("load off");
        }
        write!(
            f,
            "{} client{} × {}, rate {}, {}",
            self.clients,
            if self.clients == 1 { "" } else { "s" },
            self.pipeline,
            self.pace(),
            self.requests(false),
        )?;
        self.renewal().map_or(Ok(()), |words| write!(f, ", {words}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_outside_its_range_is_named_with_the_range() {
        assert_eq!(Knobs::default().checked(), Ok(Knobs::default()));
        let error = Knobs { clients: 0, ..Knobs::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "clients must be between 1 and 18000, not 0");
        assert!(Knobs { rate: Some(0), ..Knobs::default() }.checked().is_err());
        let error = Knobs { reconnect: Some(0), ..Knobs::default() }.checked().unwrap_err();
        assert_eq!(error.to_string(), "reconnect must be between 1 and 4294967295, not 0");
    }

    #[test]
    fn values_and_keys_are_left_out_if_http_requests_do_not_contain_them() {
        let of = |step: &str| {
            let workload = Workload {
                operations: vec![workload::Operation::command(step, 1)],
                ..(*Workload::ratio(1, 1)).clone()
            };
            Knobs { workload: workload.into(), ..Knobs::default() }.requests(true)
        };
        assert_eq!(of("GET /"), "GET");
        assert_eq!(of("GET /items/{key}"), "GET, 10 k keys");
        assert_eq!(of("POST /items {value}"), "POST, 32 B");
        assert_eq!(of("PING"), "PING, 32 B, 10 k keys");
    }

    #[test]
    fn one_client_and_one_key_have_singular_nouns() {
        let one = Knobs { load: true, clients: 1, keyspace: 1, ..Knobs::default() };
        assert_eq!(one.to_string(), "1 client × 1, rate max, SET:GET 1:10, 32 B values, 1 key");
    }

    #[test]
    fn an_open_loop_is_described_by_its_rate_and_unusual_settings() {
        let open = Knobs { rate: Some(5000), ..Knobs::default() };
        assert_eq!((Knobs::default().pace(), open.pace()), ("max".into(), "5000/s".into()));
        let unusual = Knobs { arrivals: Arrivals::Poisson, backlog: Backlog::Shed, ..open };
        assert_eq!(unusual.pace(), "5000/s poisson shed");
        let spread = Knobs { rhythm: Rhythm::Spread, ..unusual };
        assert_eq!(spread.pace(), "5000/s poisson shed, rhythm spread");
    }

    #[test]
    fn pauses_and_sessions_are_named_and_think_time_needs_a_closed_loop() {
        let think = Some("5ms..50ms".parse().unwrap());
        let session_length = Some("exponential 30s".parse().unwrap());
        let knobs = Knobs { load: true, think, session_length, reconnect: Some(9), ..Knobs::default() };
        let text = knobs.to_string();
        assert!(text.starts_with("50 clients × 1, rate max, think 5ms..50ms, SET:GET"), "{text}");
        assert!(text.ends_with(", reconnect 9, sessions exponential 30s"), "{text}");
        let error = Knobs { rate: Some(9), ..knobs }.checked().unwrap_err().to_string();
        assert!(error.starts_with("think time needs a closed loop; leave out the rate"), "{error}");
    }

    #[test]
    fn keys_are_described_with_their_distribution_unless_it_is_uniform() {
        let text = |knobs: &Knobs| Knobs { load: true, ..knobs.clone() }.to_string();
        assert!(text(&Knobs::default()).ends_with(", 32 B values, 10 k keys"));
        let zipfian = Knobs::default().workload.with_distribution("zipfian".parse().unwrap());
        let zipfian = Knobs { workload: zipfian, ..Knobs::default() };
        assert!(text(&zipfian).ends_with(", 10 k keys, zipfian 0.99"), "{}", text(&zipfian));
        let wrong = "gaussian 99999 -".parse().unwrap();
        let error =
            Knobs { workload: zipfian.workload.with_distribution(wrong), ..zipfian }.checked().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the keys 'key' cannot be drawn: the median of a gaussian distribution must be among the numbers of its keys, 0 to 9999, not 99999"
        );
    }

    #[test]
    fn a_batch_that_is_too_large_is_refused() {
        let error =
            Knobs { pipeline: 10_000, value_size: 1 << 20, ..Knobs::default() }.checked().unwrap_err();
        assert_eq!(
            error.to_string(),
            "10000 operations with up to 1.00 MiB of values each exceed the limit of 256 MiB for a batch; lower the \
             pipeline or the value size"
        );
    }
}
