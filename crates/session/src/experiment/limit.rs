//! Parses the limit of an experiment. A limit is about the latency of requests, such as `p99<1ms`, or about the
//! delivery of messages, such as `delivery p99<5ms`.

use std::{fmt, str::FromStr};

use super::WordsError;
use crate::{
    compare::{BoundedLatency, LatencyBound},
    knobs::Knobs,
    session::{Interval, ReceiverResults},
    stats::{Latency, PERCENTILES},
    units::parse_duration,
};

/// An upper bound of a latency percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The name of the receivers' times: `delivery`; `None` for the times of the replies.
    received: Option<&'static str>,
    /// The percentile: `p99`, or `max`.
    level: &'static str,
    /// The share of the latencies that must be below the bound, from 0 to 1.
    quantile: f64,
    below_ns: u64,
    /// The bound as the user wrote it.
    below: String,
}

/// The name and the quantile of the longest latency.
const MAX: (&str, f64) = ("max", 1.0);

fn known() -> impl Iterator<Item = (&'static str, f64)> {
    PERCENTILES.iter().map(|percentile| (percentile.name, percentile.quantile)).chain([MAX])
}

fn levels() -> String {
    known().map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Limit {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let (level, below) = text
            .split_once('<')
            .ok_or_else(|| WordsError::of(format!("'{text}' is not a limit; write for example p99<1ms")))?;
        let (level, below) = (level.trim(), below.trim());
        let (received, level) = match level.split_once(' ') {
            Some((name, level)) => {
                let known = Self::RECEIVED.into_iter().find(|known| *known == name).ok_or_else(|| {
                    WordsError::of(format!(
                        "'{name}' is not a time that receivers measure; give one of {}",
                        Self::RECEIVED.join(", ")
                    ))
                })?;
                (Some(known), level.trim())
            }
            None => (None, level),
        };
        let (level, quantile) = known().find(|(name, _)| *name == level).ok_or_else(|| {
            WordsError::of(format!("'{level}' is not a percentile; give one of {}", levels()))
        })?;
        // If the bound in nanoseconds does not fit into 64 bits, no latency exceeds it.
        let below_ns = u64::try_from(parse_duration(below)?.as_nanos()).unwrap_or(u64::MAX);
        if below_ns == 0 {
            return Err(WordsError::of("the limit must be above 0"));
        }
        Ok(Self { received, level, quantile, below_ns, below: below.replace(' ', "") })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.received.map_or(Ok(()), |name| write!(f, "{name} "))?;
        write!(f, "{}<{}", self.level, self.below)
    }
}

impl Limit {
    /// The names of the receivers' times, which may precede the percentile.
    pub(super) const RECEIVED: [&str; 3] = ["delivery", "handover", "invalidation"];

    /// Checks that a load with these knobs measures the times of the limit.
    ///
    /// # Errors
    /// Fails if the limit is about receivers that the workload does not have.
    pub fn check(&self, knobs: &Knobs) -> Result<(), WordsError> {
        let kind =
            knobs.workload.receivers.as_ref().map(|receivers| ReceiverResults::name_of(receivers.kind));
        let has = kind.map_or_else(|| "no receivers".to_owned(), |kind| format!("only {kind} times"));
        self.received.filter(|name| kind != Some(*name)).map_or(Ok(()), |name| {
            Err(WordsError::of(format!(
                "the workload has {has}; leave out '{name}' or give another workload"
            )))
        })
    }

    /// Returns the latencies that the limit is about. A limit on receivers is about the receivers' times. Returns
    /// `None` without receivers. Any other limit is about the response times of an open loop, or about the service
    /// times of a closed loop.
    pub fn latency<'a>(&self, measured: &'a Interval) -> Option<&'a Latency> {
        match self.received {
            Some(name) => {
                measured.arrivals.iter().find(|(known, _)| *known == name).map(|(_, got)| &got.times)
            }
            None => Some(measured.response.as_ref().unwrap_or(&measured.service)),
        }
    }

    /// Returns whether enough latencies of a measurement are below the bound. A lost message counts as above the bound.
    pub fn is_kept(&self, measured: &Interval) -> bool {
        let lost = measured.arrivals.iter().filter(|(name, _)| Some(*name) == self.received);
        let lost = lost.filter_map(|(_, got)| got.lost).sum::<u64>() as f64;
        self.latency(measured).is_some_and(|latency| {
            self.holds(latency) && lost <= (latency.count() as f64 + lost) * (1.0 - self.quantile) + 1e-9
        })
    }

    /// Returns whether enough of these latencies are below the bound. Returns false without any latencies.
    fn holds(&self, latency: &Latency) -> bool {
        self.holds_without(latency, &Latency::default())
    }

    /// Returns whether enough of these latencies are below the bound. The latencies in `left_out` count as below the
    /// bound.
    fn holds_without(&self, latency: &Latency, left_out: &Latency) -> bool {
        let most = latency.count() as f64 * (1.0 - self.quantile);
        let beyond = latency.count_from(self.below_ns).saturating_sub(left_out.count_from(self.below_ns));
        !latency.is_empty() && beyond as f64 <= most + 1e-9
    }

    /// Returns whether the limit would be kept without the requests that waited for a core of this machine.
    pub(super) fn is_kept_without_waits(&self, measured: &Interval) -> bool {
        let held = measured.client.as_ref().and_then(|client| client.held.as_ref());
        let of_replies = self.latency(measured).filter(|_| self.received.is_none());
        of_replies.zip(held).is_some_and(|(latency, held)| self.holds_without(latency, held))
    }

    /// Returns the limit's percentile of these latencies, in microseconds; `None` with too few samples.
    pub fn level_us(&self, latency: &Latency) -> Option<f64> {
        let ns = if self.quantile < 1.0 {
            latency.percentile(self.quantile)
        } else {
            (!latency.is_empty()).then(|| latency.max_ns())
        };
        ns.map(|ns| ns as f64 / 1e3)
    }

    /// Returns the limit as a [`LatencyBound`]. Conditions use this type, too.
    pub fn bound(&self) -> LatencyBound {
        LatencyBound {
            words: self.to_string(),
            quantile: self.quantile,
            ns: self.below_ns,
            of: BoundedLatency::Requests,
        }
    }

    /// Returns the number of samples that the percentile needs.
    pub fn enough(&self) -> u64 {
        if self.quantile < 1.0 { (11.0 / (1.0 - self.quantile)).ceil() as u64 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        session::ReceivedMessages,
        stats::fixture::latency_of,
        workload::{Settings, WorkloadChoice},
    };

    const MS: u64 = 1_000_000;

    #[test]
    fn a_limit_is_a_percentile_and_an_upper_bound() {
        let limit: Limit = " p99.9 < 1.5 ms".parse().unwrap();
        assert_eq!(
            (limit.to_string(), limit.below_ns, limit.enough()),
            ("p99.9<1.5ms".into(), 1_500_000, 11_000)
        );
        for (text, expected) in [
            ("p99", "'p99' is not a limit; write for example p99<1ms"),
            ("p98<1ms", "'p98' is not a percentile; give one of p50, p90, p95, p99, p99.9, p99.99, max"),
            ("p99<1", "'1' is not a duration such as 100us, "),
            ("p99<0ms", "the limit must be above 0"),
        ] {
            let error = text.parse::<Limit>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn it_holds_if_enough_latencies_are_below_it() {
        let latency = latency_of((0..1000).map(|n| if n < 990 { 900_000 } else { 1_100_000 }));
        let holds = |text: &str| text.parse::<Limit>().unwrap().holds(&latency);
        assert!(holds("p99<1ms") && holds("max<2ms"));
        assert!(!holds("p99.9<1ms") && !holds("max<1ms") && !holds("p50<900us"));
        let limit: Limit = "max<1ms".parse().unwrap();
        assert_eq!((limit.level_us(&latency), limit.level_us(&Latency::default())), (Some(1100.0), None));
        assert!(!limit.holds(&Latency::default()), "nothing was seen");
    }

    #[test]
    fn a_limit_of_the_delivery_is_about_the_messages_and_not_about_their_senders() {
        let limit: Limit = "delivery  p99 < 1s".parse().unwrap();
        assert_eq!(limit.to_string(), "delivery p99<1s");
        let got = |lost| ReceivedMessages {
            times: latency_of((0..1000).map(|_| MS * 20)),
            lost: Some(lost),
            ..Default::default()
        };
        let of = |lost| Interval {
            service: latency_of((0..1000).map(|_| MS)),
            arrivals: ReceiverResults { delivery: Some(got(lost).into()), ..ReceiverResults::default() },
            ..Interval::default()
        };
        let is_kept = |text: &str, lost| text.parse::<Limit>().unwrap().is_kept(&of(lost));
        assert!(limit.is_kept(&of(10)) && !limit.is_kept(&of(11)), "1 % of 1010 may be lost");
        assert!(is_kept("p99<2ms", 0) && !is_kept("delivery p99<2ms", 0) && !is_kept("handover p99<1s", 0));
        let refused = |text: &str| limit_error(text, &Knobs::default());
        assert_eq!(
            refused("receipt p99<1s"),
            "'receipt' is not a time that receivers measure; give one of delivery, handover, invalidation"
        );
        assert!(refused("delivery p99<1s").starts_with("the workload has no receivers"));
        let workload = WorkloadChoice::find("queue", &Settings::default()).unwrap().workload;
        let queue = Knobs { workload, ..Knobs::default() };
        assert_eq!(
            limit_error("delivery p99<1s", &queue),
            "the workload has only handover times; leave out 'delivery' or give another workload"
        );
    }

    fn limit_error(text: &str, knobs: &Knobs) -> String {
        text.parse::<Limit>().and_then(|limit| limit.check(knobs)).unwrap_err().to_string()
    }
}
