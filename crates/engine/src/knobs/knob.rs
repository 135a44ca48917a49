//! A knob: its name, how its value is shown, how a step changes it, and which values can be typed.

use std::sync::Arc;

use thiserror::Error;

use super::{
    Arrivals, KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, ParseArrivalsError,
    ParseChoiceError, ParseLengthError,
    steps::{
        Direction, doubled, step_125, stepped, turned_distribution, turned_exponent, turned_percent,
        turned_rate, turned_weight,
    },
};
use crate::{
    units::{self, ParseQuantityError},
    workload::{
        MAX_EXPONENT, MAX_RECEIVERS, MAX_SEARCH_NUMBER, MAX_VALUE_SIZE, MAX_WEIGHT, Operation, SearchNumber,
        WorkloadError,
    },
};

/// A knob: a setting that a user can change while the load runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Knob {
    /// The number of connections.
    #[default]
    Clients,
    /// Requests in flight on each connection.
    Pipeline,
    /// The number of requests that are due per second. One step above the highest rate is `max`, which makes the loop
    /// closed.
    Rate,
    /// How the due times of requests are distributed.
    Arrivals,
    /// The share of GETs among all GETs and SETs.
    Reads,
    /// The size of a value, in bytes.
    ValueSize,
    /// The number of keys of the workload.
    Keys,
    /// The distribution of the keys in the requests.
    Distribution,
    /// The exponent of the distribution of keys, if the distribution has one.
    Exponent,
    /// The number of receivers of the messages that the workload sends.
    Receivers,
    /// A number in the searches for nearest vectors, such as the number of neighbours.
    Search(SearchNumber),
    /// The weight of the operation with this index in the workload.
    Weight(u16),
}

/// The reason why a knob cannot be changed.
#[derive(Debug, Error, PartialEq)]
pub enum KnobChangeError {
    /// The knob is at its limit.
    #[error("{0} is at its {1}, {2}")]
    AtTheEnd(String, &'static str, String),
    /// The workload lacks GET or SET, or both have the weight 0.
    #[error(
        "this workload lacks GET or SET, so the share of reads is fixed; change the weights of its operations instead"
    )]
    NoReads,
    /// The knob has no effect on the commands of a trace (a file of recorded commands).
    #[error("a trace sends the commands of its file; change clients, pipeline, rate or arrivals instead")]
    Traced,
    /// The workload sets the sizes of all its values, so the knob has no effect.
    #[error("this workload sets the sizes of its values itself, so there is no value size to change")]
    OwnSizes,
    /// The workload sets the number of keys in each of its sets of keys, so the knob has no effect.
    #[error("this workload sets the number of its keys itself, so there is no number to change")]
    OwnKeys,
    /// The workload's sets of keys have different distributions.
    #[error("this workload has several distributions of keys; type one for all of them, such as zipfian 1.1")]
    Several,
    /// No set of keys has a distribution with an exponent, or the exponents differ.
    #[error(
        "the keys of this workload have no exponent, or several; first choose a distribution with an exponent, such as zipfian 0.99"
    )]
    NoExponent,
    /// The change would leave no operation with a weight.
    #[error("{0} is the only operation with a weight; first give a weight to another operation")]
    LastOperation(String),
    /// The operation is unknown.
    #[error("'{0}' is not an operation with a weight; write for example {1} 5")]
    NoOperation(String, String),
    /// The typed exponent is not a number.
    #[error("'{0}' is not an exponent such as 0.99 or 1.2")]
    Exponent(String),
    /// The loop is closed, so requests have no due times.
    #[error("in a closed loop, requests are not due at set times; first set a rate")]
    Closed,
    /// The typed word is not a value of the setting.
    #[error(transparent)]
    Choice(#[from] ParseChoiceError),
    /// The typed text does not describe arrivals.
    #[error(transparent)]
    Arrivals(#[from] ParseArrivalsError),
    /// The typed text does not describe a length of time.
    #[error(transparent)]
    Length(#[from] ParseLengthError),
    /// The typed distribution or workload is unknown or invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The typed text is not a quantity.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// A new setting is out of range, or two new settings contradict each other.
    #[error(transparent)]
    Range(#[from] KnobError),
    /// The typed number does not fit into 32 bits. The last field is the largest value of the knob.
    #[error("{0} must be at most {2}, not {1}")]
    TooLarge(&'static str, u64, u32),
    /// The share of reads is above 100 %.
    #[error("reads must be between 0 and 100 percent, not {0}")]
    Share(u64),
}

impl Knob {
    /// All knobs except the weights of operations.
    pub const ALL: [Self; 12] = [
        Self::Clients,
        Self::Pipeline,
        Self::Rate,
        Self::Arrivals,
        Self::Reads,
        Self::ValueSize,
        Self::Keys,
        Self::Distribution,
        Self::Exponent,
        Self::Receivers,
        Self::Search(SearchNumber::Neighbours),
        Self::Search(SearchNumber::Ef),
    ];

    /// Returns the knobs that are available with these settings, in the order of the panel. A workload of
    /// only GET and SET has a knob for the share of reads. Any other workload with several operations has a
    /// knob for the weight of each operation.
    pub fn of(knobs: &Knobs) -> Vec<Self> {
        let workload = &knobs.workload;
        let is_there = |knob: &Self| match knob {
            Self::Reads => workload.has_get_and_set_alone(),
            Self::Distribution => !workload.keys.is_empty() && workload.trace.is_none(),
            Self::Exponent => workload.exponent().is_some(),
            Self::Receivers => workload.receivers.is_some(),
            Self::Search(number) => workload.search_number(*number).is_some(),
            _ => true,
        };
        let several = workload.operations.len() > 1 && !workload.has_get_and_set_alone();
        let operations = if several { workload.operations.len() } else { 0 };
        let weights = (0..operations).map(|place| Self::Weight(place as u16));
        Self::ALL.into_iter().filter(is_there).chain(weights).collect()
    }

    /// Returns the operation whose weight this knob is, or `None` for other knobs.
    fn operation(self, knobs: &Knobs) -> Option<&Operation> {
        let Self::Weight(place) = self else { return None };
        knobs.workload.operations.get(usize::from(place))
    }

    /// Returns the knob's name in a list of knobs. The knob of a weight has the name of the operation.
    pub fn called(self, knobs: &Knobs) -> &str {
        self.operation(knobs).map_or(self.name(), |operation| &operation.name)
    }

    /// Returns the knob's name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Pipeline => "pipeline",
            Self::Rate => "rate",
            Self::Arrivals => "arrivals",
            Self::Reads => "reads",
            Self::ValueSize => "value size",
            Self::Keys => "keys",
            Self::Distribution => "distribution",
            Self::Exponent => "exponent",
            Self::Receivers => "receivers",
            Self::Search(number) => number.name(),
            Self::Weight(_) => "weight",
        }
    }

    /// Returns whether the values of the knob are always whole numbers. Only such a knob can be varied by a
    /// sweep.
    pub fn is_whole_number(self) -> bool {
        !matches!(self, Self::Arrivals | Self::Distribution | Self::Exponent | Self::Weight(_))
    }

    /// Returns the knob's value in `knobs`, with its unit.
    pub fn value(self, knobs: &Knobs) -> String {
        match self {
            Self::Clients => knobs.clients.to_string(),
            Self::Pipeline => knobs.pipeline.to_string(),
            Self::Rate => {
                knobs.rate.map_or_else(|| "max".to_owned(), |rate| units::setting(rate.into()) + "/s")
            }
            Self::Arrivals => knobs.rate.map_or_else(|| "closed".to_owned(), |_| knobs.arrivals.to_string()),
            Self::Reads => knobs.workload.read_share().map_or_else(|| "none".to_owned(), units::percent),
            Self::ValueSize if knobs.workload.has_own_sizes() => "its own".to_owned(),
            Self::ValueSize => units::bytes(knobs.value_size.into()),
            Self::Keys if knobs.workload.has_own_keys() => "its own".to_owned(),
            Self::Keys => units::setting(knobs.keyspace),
            Self::Distribution => match knobs.workload.distribution() {
                None if knobs.workload.keys.is_empty() => "none".to_owned(),
                None => "several".to_owned(),
                // The exponent is a knob of its own.
                Some(distribution) if distribution.exponent().is_some() => distribution.name(),
                Some(distribution) => distribution.to_string(),
            },
            Self::Exponent => {
                knobs.workload.exponent().map_or_else(|| "none".to_owned(), |exponent| exponent.to_string())
            }
            Self::Receivers => {
                knobs.workload.receiver_count().map_or_else(|| "none".to_owned(), |n| n.to_string())
            }
            Self::Search(number) => {
                knobs.workload.search_number(number).map_or_else(|| "none".to_owned(), |n| n.to_string())
            }
            Self::Weight(_) => {
                self.operation(knobs).map_or_else(|| "none".to_owned(), |o| o.weight.to_string())
            }
        }
    }

    /// Returns `knobs` with this knob changed by one step. The first step down from the rate `max` sets the next rate
    /// below `ops_per_s`, the present throughput.
    ///
    /// # Errors
    /// Fails if the knob is at its limit, if there is nothing to change, or if the new value contradicts another knob.
    pub fn turned(
        self,
        knobs: &Knobs,
        direction: Direction,
        ops_per_s: Option<f64>,
    ) -> Result<Knobs, KnobChangeError> {
        self.check_trace(knobs)?;
        let mut turned = knobs.clone();
        match self {
            Self::Clients => turned.clients = stepped(knobs.clients, direction, MAX_CLIENTS),
            Self::Pipeline => turned.pipeline = stepped(knobs.pipeline, direction, MAX_PIPELINE),
            Self::Rate => turned.rate = turned_rate(knobs.rate, direction, ops_per_s),
            Self::Arrivals => {
                knobs.rate.ok_or(KnobChangeError::Closed)?;
                turned.arrivals = match (knobs.arrivals, direction) {
                    (Arrivals::Times, Direction::Down) => Arrivals::Poisson,
                    (Arrivals::Poisson | Arrivals::Times, Direction::Up) if knobs.times.is_some() => {
                        Arrivals::Times
                    }
                    (_, Direction::Down) => Arrivals::Constant,
                    (_, Direction::Up) => Arrivals::Poisson,
                };
            }
            Self::Reads => {
                let percent = knobs.workload.read_share().ok_or(KnobChangeError::NoReads)? * 100.0;
                turned.workload = knobs.workload.with_read_percent(turned_percent(percent, direction));
            }
            Self::ValueSize if knobs.workload.has_own_sizes() => return Err(KnobChangeError::OwnSizes),
            Self::ValueSize => turned.value_size = doubled(knobs.value_size, direction, MAX_VALUE_SIZE),
            Self::Keys if knobs.workload.has_own_keys() => return Err(KnobChangeError::OwnKeys),
            Self::Keys => turned.keyspace = step_125(knobs.keyspace, direction).clamp(1, MAX_KEYSPACE),
            Self::Distribution => {
                let distribution = knobs.workload.distribution().ok_or(KnobChangeError::Several)?;
                turned.workload =
                    knobs.workload.with_distribution(turned_distribution(distribution, direction));
            }
            Self::Exponent => {
                let exponent = knobs.workload.exponent().ok_or(KnobChangeError::NoExponent)?;
                turned.workload =
                    knobs.workload.with_exponent(turned_exponent(exponent, direction, MAX_EXPONENT));
            }
            Self::Receivers => {
                let receivers =
                    stepped(knobs.workload.receiver_count().unwrap_or(1), direction, MAX_RECEIVERS);
                turned.workload = Arc::new(knobs.workload.with_receivers(receivers)?);
            }
            Self::Search(number) => {
                let value = knobs.workload.search_number(number).unwrap_or(1);
                let value = stepped(value, direction, MAX_SEARCH_NUMBER);
                turned.workload = Arc::new(knobs.workload.with_search_number(number, value)?);
            }
            Self::Weight(place) => {
                let weight = self.operation(knobs).map_or(0, |operation| operation.weight);
                let weight = turned_weight(weight, direction, MAX_WEIGHT);
                turned = self.weighing(knobs, place.into(), weight)?;
            }
        }
        if turned == *knobs {
            let end = if direction == Direction::Up { "highest" } else { "lowest" };
            return Err(KnobChangeError::AtTheEnd(self.called(knobs).to_owned(), end, self.value(knobs)));
        }
        Ok(turned.checked()?)
    }

    /// Returns `knobs` with this knob set to the typed value: a count or size with an optional suffix, a percentage,
    /// `max` for a rate, or a distribution with its parameters.
    ///
    /// # Errors
    /// Fails if the text is invalid or out of range. The message gives the reason.
    pub fn typed(self, knobs: &Knobs, text: &str) -> Result<Knobs, KnobChangeError> {
        self.check_trace(knobs)?;
        let mut typed = knobs.clone();
        let text = text.trim();
        let too_large = |n| KnobChangeError::TooLarge(self.name(), n, self.most());
        let narrow = |n: u64| u32::try_from(n).map_err(|_| too_large(n));
        match self {
            Self::Clients => typed.clients = narrow(units::parse_count(text)?)?,
            Self::Pipeline => typed.pipeline = narrow(units::parse_count(text)?)?,
            Self::Rate if text.eq_ignore_ascii_case("max") => typed.rate = None,
            Self::Rate => {
                let bare = text.strip_suffix("/s").unwrap_or(text);
                typed.rate = Some(narrow(units::parse_count(bare)?)?);
            }
            Self::Arrivals => {
                knobs.rate.ok_or(KnobChangeError::Closed)?;
                typed.arrivals = text.parse()?;
            }
            Self::Reads => {
                knobs.workload.read_share().ok_or(KnobChangeError::NoReads)?;
                let percent = units::parse_count(text.trim_end_matches('%').trim_end())?;
                let percent = u32::try_from(percent).ok().filter(|p| *p <= 100);
                let percent = percent.ok_or_else(|| KnobChangeError::Share(percent_of(text)))?;
                typed.workload = knobs.workload.with_read_percent(percent);
            }
            Self::ValueSize if knobs.workload.has_own_sizes() => return Err(KnobChangeError::OwnSizes),
            Self::ValueSize => typed.value_size = narrow(units::parse_bytes(text)?)?,
            Self::Keys if knobs.workload.has_own_keys() => return Err(KnobChangeError::OwnKeys),
            Self::Keys => typed.keyspace = units::parse_count(text)?,
            Self::Distribution if knobs.workload.keys.is_empty() => {
                return Err(knobs.workload.has_no_keys().into());
            }
            Self::Distribution => typed.workload = knobs.workload.with_distribution(text.parse()?),
            Self::Exponent => {
                knobs.workload.exponent().ok_or(KnobChangeError::NoExponent)?;
                let exponent = text.parse().map_err(|_| KnobChangeError::Exponent(text.to_owned()))?;
                typed.workload = knobs.workload.with_exponent(exponent);
            }
            Self::Receivers => {
                typed.workload = Arc::new(knobs.workload.with_receivers(narrow(units::parse_count(text)?)?)?);
            }
            Self::Search(number) => {
                let value = narrow(units::parse_count(text)?)?;
                typed.workload = Arc::new(knobs.workload.with_search_number(number, value)?);
            }
            Self::Weight(place) => {
                typed = self.weighing(knobs, place.into(), narrow(units::parse_count(text)?)?)?;
            }
        }
        Ok(typed.checked()?)
    }

    /// Returns the largest value of this knob, if it fits into 32 bits.
    fn most(self) -> u32 {
        match self {
            Self::Clients => MAX_CLIENTS,
            Self::Pipeline => MAX_PIPELINE,
            Self::ValueSize => MAX_VALUE_SIZE,
            Self::Receivers => MAX_RECEIVERS,
            Self::Search(_) => MAX_SEARCH_NUMBER,
            Self::Weight(_) => MAX_WEIGHT,
            Self::Rate | Self::Arrivals | Self::Reads | Self::Keys | Self::Distribution | Self::Exponent => {
                u32::MAX
            }
        }
    }

    /// Refuses knobs that have no effect on the requests of a trace.
    fn check_trace(self, knobs: &Knobs) -> Result<(), KnobChangeError> {
        let applies = matches!(self, Self::Clients | Self::Pipeline | Self::Rate | Self::Arrivals);
        if applies || knobs.workload.trace.is_none() { Ok(()) } else { Err(KnobChangeError::Traced) }
    }

    /// Returns `knobs` with this weight for the operation with index `place`.
    fn weighing(self, knobs: &Knobs, place: usize, weight: u32) -> Result<Knobs, KnobChangeError> {
        if weight == 0 && knobs.workload.is_only_weighted(place) {
            return Err(KnobChangeError::LastOperation(self.called(knobs).to_owned()));
        }
        Ok(Knobs { workload: knobs.workload.with_weight(place, weight), ..knobs.clone() })
    }
}

fn percent_of(text: &str) -> u64 {
    units::parse_count(text.trim_end_matches('%').trim_end()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
