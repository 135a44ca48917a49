//! Changes a knob by a step, or to a typed value.

use std::sync::Arc;

use super::{
    Arrivals, Knob, KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, RandomLength,
    knob::{NEVER, NONE},
    steps::{
        Direction, doubled, step_125, turned_distribution, turned_exponent, turned_percent, turned_rate,
        turned_weight,
    },
};
use crate::workload::{
    MAX_EXPONENT, MAX_RECEIVERS, MAX_SEARCH_NUMBER, MAX_VALUE_SIZE, MAX_WEIGHT, WorkloadChoice,
};

impl Knob {
    /// Returns this knob's value as a number: a whole number as it is, a fixed length of time in µs (0 means `none`).
    /// Returns `None` for other values.
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

    /// Returns `knobs` with this number as the knob's value. A knob without numbers stays the same.
    ///
    /// # Errors
    /// Fails if the number is too large, or if all operations would have the weight 0.
    pub fn with_number(self, knobs: &Knobs, number: u64) -> Result<Knobs, KnobError> {
        let workload = &knobs.workload;
        let mut set = knobs.clone();
        let narrow = || {
            u32::try_from(number).map_err(|_| {
                KnobError::of(format!("{} must be at most {}, not {number}", self.name(), self.most()))
            })
        };
        let fixed = |us| (us > 0).then_some(RandomLength::Uniform { from_us: us, to_us: us });
        match self {
            Self::Clients => set.clients = narrow()?,
            Self::Pipeline => set.pipeline = narrow()?,
            Self::Rate => set.rate = Some(narrow()?),
            Self::Reads if number > 100 => {
                let text = format!("reads must be between 0 and 100 percent, not {number}");
                return Err(KnobError::of(text));
            }
            Self::Reads => set.workload = workload.with_read_percent(narrow()?),
            Self::ValueSize => set.value_size = narrow()?,
            Self::Keys => set.keyspace = number,
            Self::Receivers => set.workload = Arc::new(workload.with_receivers(narrow()?)?),
            Self::Search(of) => set.workload = Arc::new(workload.with_search_number(of, narrow()?)?),
            Self::Weight(place) if number == 0 && workload.is_only_weighted(place.into()) => {
                let name = self.called(knobs);
                let what = "is the only operation with a weight; first give a weight to another operation";
                return Err(KnobError::of(format!("{name} {what}")));
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
    ) -> Result<Knobs, KnobError> {
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
                let distribution = workload.distribution().ok_or_else(|| {
                    KnobError::of(
                        "this workload has several distributions of keys; type one for all of them, such as zipfian 1.1",
                    )
                })?;
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
            let (name, value) = (self.called(knobs), self.value(knobs));
            return Err(KnobError::of(format!("{name} is at its {end}, {value}")));
        }
        turned.checked()
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

    /// Returns `knobs` with this knob set to the typed value. The value can be a count or size with an optional suffix,
    /// a percentage, `max` for a rate, or a distribution with parameters.
    ///
    /// # Errors
    /// Fails if the text is invalid or out of range. The message gives the reason.
    pub fn typed(self, knobs: &Knobs, text: &str) -> Result<Knobs, KnobError> {
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
                let no_number = |_| KnobError::of(format!("'{text}' is not an exponent such as 0.99 or 1.2"));
                let exponent = text.parse().map_err(no_number)?;
                typed.workload = knobs.workload.with_exponent(exponent);
            }
            Self::WeightByName => return weighed(knobs, text),
            Self::Backlog => typed.backlog = text.parse()?,
            Self::Rhythm => typed.rhythm = text.parse()?,
            Self::Think => typed.think = length()?,
            Self::SessionLength => typed.session_length = length()?,
            Self::Workload => return knobs.with_chosen(&WorkloadChoice::of_preset(text)?),
            _ => typed = self.with_number(knobs, self.parse(text)?)?,
        }
        typed.checked()
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
    fn check_effect(self, knobs: &Knobs) -> Result<(), KnobError> {
        let workload = &knobs.workload;
        let is_of_requests = matches!(
            self,
            Self::Reads
                | Self::ValueSize
                | Self::Keys
                | Self::Distribution
                | Self::Exponent
                | Self::Receivers
                | Self::Search(_)
                | Self::Weight(_)
        );
        Err(KnobError::of(match self {
            Self::Arrivals if knobs.rate.is_none() => {
                "in a closed loop, requests are not due at set times; first set a rate"
            }
            _ if is_of_requests && workload.trace.is_some() => {
                "a trace sends the commands of its file; change clients, pipeline, rate or arrivals instead"
            }
            Self::Reads if workload.read_share().is_none() => {
                "this workload lacks GET or SET, so the share of reads is fixed; change the weights of its operations instead"
            }
            Self::ValueSize if workload.has_own_sizes() => {
                "this workload sets the sizes of its values itself, so there is no value size to change"
            }
            Self::Keys if workload.has_own_keys() => {
                "this workload sets the number of its keys itself, so there is no number to change"
            }
            Self::Distribution if workload.keys.is_empty() => return Err(workload.has_no_keys().into()),
            Self::Exponent if workload.exponent().is_none() => {
                "the keys of this workload have no exponent, or several; first choose a distribution with an exponent, such \
                 as zipfian 0.99"
            }
            _ => return Ok(()),
        }))
    }
}

/// Parses a text such as `GET 5`, and returns `knobs` with the weight 5 for the operation GET.
fn weighed(knobs: &Knobs, text: &str) -> Result<Knobs, KnobError> {
    let text = text.trim();
    let operations = &knobs.workload.operations;
    let place = |name: &str| {
        let is_alike = |known: &&str| known.eq_ignore_ascii_case(name);
        let names = || operations.iter().map(|operation| operation.name.as_str());
        names().position(|known| known == name).or_else(|| names().position(|known| is_alike(&known)))
    };
    let found = text.rsplit_once(' ').and_then(|(name, weight)| Some((place(name.trim())?, weight)));
    let first = operations.first().map_or("GET", |operation| &operation.name);
    let (place, weight) = found.ok_or_else(|| {
        KnobError::of(format!(
            "'{text}' is not an operation with a weight; write for example weight {first} 5"
        ))
    })?;
    Knob::Weight(place as u16).typed(knobs, weight)
}

#[cfg(test)]
mod tests;
