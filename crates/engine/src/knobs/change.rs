//! How a knob changes: by a step, or to a typed value.

use std::sync::Arc;

use thiserror::Error;

use super::{
    Arrivals, Knob, KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, ParseArrivalsError,
    ParseChoiceError, ParseLengthError, RandomLength,
    knob::{NEVER, NONE},
    steps::{
        Direction, doubled, step_125, turned_distribution, turned_exponent, turned_percent, turned_rate,
        turned_weight,
    },
};
use crate::{
    units::ParseQuantityError,
    workload::{
        MAX_EXPONENT, MAX_RECEIVERS, MAX_SEARCH_NUMBER, MAX_VALUE_SIZE, MAX_WEIGHT, WorkloadChoice,
        WorkloadError,
    },
};

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
    TooLarge(&'static str, u64, u64),
    /// The share of reads is above 100 %.
    #[error("reads must be between 0 and 100 percent, not {0}")]
    Share(u64),
}

impl Knob {
    /// Returns the knob's value in `knobs` if it is a whole number, or a length of time that is always the same, in µs.
    /// A length of 0 is `none`.
    pub fn number(self, knobs: &Knobs) -> Option<u64> {
        let workload = &knobs.workload;
        let fixed = |length: Option<RandomLength>| length.map_or(Some(0), RandomLength::fixed_us);
        match self {
            Self::Clients => Some(knobs.clients.into()),
            Self::Pipeline => Some(knobs.pipeline.into()),
            Self::Rate => knobs.rate.map(u64::from),
            Self::Reads => workload.read_share().map(|share| (share * 100.0).round() as u64),
            Self::ValueSize => (!workload.has_own_sizes()).then_some(knobs.value_size.into()),
            Self::Keys => (!workload.has_own_keys()).then_some(knobs.keyspace),
            Self::Receivers => workload.receiver_count().map(u64::from),
            Self::Search(number) => workload.search_number(number).map(u64::from),
            Self::Weight(_) => self.operation(knobs).map(|operation| operation.weight.into()),
            Self::Reconnect => knobs.reconnect.map(u64::from),
            Self::Think => fixed(knobs.think),
            Self::SessionLength => fixed(knobs.session_length),
            _ => None,
        }
    }

    /// Returns `knobs` with this number as the knob's value. Knobs that have no numbers stay the same.
    ///
    /// # Errors
    /// Fails if the number is too large, or if it would leave no operation with a weight.
    pub fn with_number(self, knobs: &Knobs, number: u64) -> Result<Knobs, KnobChangeError> {
        let workload = &knobs.workload;
        let mut set = knobs.clone();
        let narrow = || {
            let too_large = |_| KnobChangeError::TooLarge(self.name(), number, self.most());
            u32::try_from(number).map_err(too_large)
        };
        let fixed = |us| (us > 0).then_some(RandomLength::Uniform { from_us: us, to_us: us });
        match self {
            Self::Clients => set.clients = narrow()?,
            Self::Pipeline => set.pipeline = narrow()?,
            Self::Rate => set.rate = Some(narrow()?),
            Self::Reads if number > 100 => return Err(KnobChangeError::Share(number)),
            Self::Reads => set.workload = workload.with_read_percent(narrow()?),
            Self::ValueSize => set.value_size = narrow()?,
            Self::Keys => set.keyspace = number,
            Self::Receivers => set.workload = Arc::new(workload.with_receivers(narrow()?)?),
            Self::Search(of) => set.workload = Arc::new(workload.with_search_number(of, narrow()?)?),
            Self::Weight(place) if number == 0 && workload.is_only_weighted(place.into()) => {
                return Err(KnobChangeError::LastOperation(self.called(knobs).to_owned()));
            }
            Self::Weight(place) => set.workload = workload.with_weight(place.into(), narrow()?),
            Self::Reconnect => set.reconnect = Some(narrow()?),
            Self::Think => set.think = fixed(narrow()?),
            Self::SessionLength => set.session_length = fixed(narrow()?),
            _ => {}
        }
        Ok(set)
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
        self.check_effect(knobs)?;
        let workload = &knobs.workload;
        let mut turned = knobs.clone();
        match self {
            Self::Rate => turned.rate = turned_rate(knobs.rate, direction, ops_per_s),
            Self::Arrivals => {
                turned.arrivals = match (knobs.arrivals, direction) {
                    (Arrivals::Times, Direction::Down) => Arrivals::Poisson,
                    (Arrivals::Poisson | Arrivals::Times, Direction::Up) if knobs.times.is_some() => {
                        Arrivals::Times
                    }
                    (_, Direction::Down) => Arrivals::Constant,
                    (_, Direction::Up) => Arrivals::Poisson,
                };
            }
            Self::Distribution => {
                let distribution = workload.distribution().ok_or(KnobChangeError::Several)?;
                turned.workload = workload.with_distribution(turned_distribution(distribution, direction));
            }
            Self::Exponent => {
                let exponent = workload.exponent().unwrap_or(1.0);
                turned.workload = workload.with_exponent(turned_exponent(exponent, direction, MAX_EXPONENT));
            }
            _ => turned = self.with_number(knobs, self.next_number(knobs, direction))?,
        }
        if turned == *knobs {
            let end = if direction == Direction::Up { "highest" } else { "lowest" };
            return Err(KnobChangeError::AtTheEnd(self.called(knobs).to_owned(), end, self.value(knobs)));
        }
        Ok(turned.checked()?)
    }

    /// Returns the number that follows the knob's number in this direction.
    fn next_number(self, knobs: &Knobs, direction: Direction) -> u64 {
        let number = self.number(knobs).unwrap_or(1);
        let next = match self {
            Self::Reads => {
                let percent = knobs.workload.read_share().unwrap_or(0.0) * 100.0;
                turned_percent(percent, direction)
            }
            Self::ValueSize => doubled(number, direction),
            Self::Weight(_) => turned_weight(number, direction),
            _ => step_125(number, direction),
        };
        next.min(self.most())
    }

    /// Returns `knobs` with this knob set to the typed value: a count or size with an optional suffix, a percentage,
    /// `max` for a rate, or a distribution with its parameters.
    ///
    /// # Errors
    /// Fails if the text is invalid or out of range. The message gives the reason.
    pub fn typed(self, knobs: &Knobs, text: &str) -> Result<Knobs, KnobChangeError> {
        self.check_effect(knobs)?;
        let text = text.trim();
        let length = || Some(text).filter(|text| *text != NONE).map(str::parse).transpose();
        let mut typed = knobs.clone();
        match self {
            Self::Rate if text.eq_ignore_ascii_case("max") => typed.rate = None,
            Self::Reconnect if text == NEVER => typed.reconnect = None,
            Self::Arrivals => typed.arrivals = text.parse()?,
            Self::Distribution => typed.workload = knobs.workload.with_distribution(text.parse()?),
            Self::Exponent => {
                let exponent = text.parse().map_err(|_| KnobChangeError::Exponent(text.to_owned()))?;
                typed.workload = knobs.workload.with_exponent(exponent);
            }
            Self::WeightByName => return weighed(knobs, text),
            Self::Backlog => typed.backlog = text.parse()?,
            Self::Rhythm => typed.rhythm = text.parse()?,
            Self::Think => typed.think = length()?,
            Self::SessionLength => typed.session_length = length()?,
            Self::Workload => return Ok(knobs.with_chosen(&WorkloadChoice::of_preset(text)?)?),
            _ => typed = self.with_number(knobs, self.parse(text)?)?,
        }
        Ok(typed.checked()?)
    }

    /// Returns the largest value of a knob with numbers.
    fn most(self) -> u64 {
        match self {
            Self::Clients => MAX_CLIENTS.into(),
            Self::Pipeline => MAX_PIPELINE.into(),
            Self::Reads => 100,
            Self::ValueSize => MAX_VALUE_SIZE.into(),
            Self::Keys => MAX_KEYSPACE,
            Self::Receivers => MAX_RECEIVERS.into(),
            Self::Search(_) => MAX_SEARCH_NUMBER.into(),
            Self::Weight(_) => MAX_WEIGHT.into(),
            _ => u32::MAX.into(),
        }
    }

    /// Refuses a knob that has no effect on the requests of the workload, or on a closed loop.
    fn check_effect(self, knobs: &Knobs) -> Result<(), KnobChangeError> {
        let workload = &knobs.workload;
        match self {
            Self::Arrivals if knobs.rate.is_none() => Err(KnobChangeError::Closed),
            Self::Reads
            | Self::ValueSize
            | Self::Keys
            | Self::Distribution
            | Self::Exponent
            | Self::Receivers
            | Self::Search(_)
            | Self::Weight(_)
                if workload.trace.is_some() =>
            {
                Err(KnobChangeError::Traced)
            }
            Self::Reads if workload.read_share().is_none() => Err(KnobChangeError::NoReads),
            Self::ValueSize if workload.has_own_sizes() => Err(KnobChangeError::OwnSizes),
            Self::Keys if workload.has_own_keys() => Err(KnobChangeError::OwnKeys),
            Self::Distribution if workload.keys.is_empty() => Err(workload.has_no_keys().into()),
            Self::Exponent if workload.exponent().is_none() => Err(KnobChangeError::NoExponent),
            _ => Ok(()),
        }
    }
}

/// Parses a text such as `GET 5`, and returns `knobs` with the weight 5 for the operation GET.
fn weighed(knobs: &Knobs, text: &str) -> Result<Knobs, KnobChangeError> {
    let text = text.trim();
    let operations = &knobs.workload.operations;
    let place = |name: &str| {
        let is_alike = |known: &&str| known.eq_ignore_ascii_case(name);
        let names = || operations.iter().map(|operation| operation.name.as_str());
        names().position(|known| known == name).or_else(|| names().position(|known| is_alike(&known)))
    };
    let found = text.rsplit_once(' ').and_then(|(name, weight)| Some((place(name.trim())?, weight)));
    let first = operations.first().map_or("GET", |operation| &operation.name);
    let (place, weight) =
        found.ok_or_else(|| KnobChangeError::NoOperation(text.to_owned(), format!("weight {first}")))?;
    Knob::Weight(place as u16).typed(knobs, weight)
}

#[cfg(test)]
mod tests;
