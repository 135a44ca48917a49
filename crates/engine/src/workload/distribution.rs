//! Key distributions, which define how often each key of a set is drawn.
//!
//! Workload files and recordings contain a distribution as a text (`"zipfian 1.1"`) or as a table
//! (`{ zipfian = 1.1 }`). If the text is only a name, the distribution has its default parameters. A
//! [`Chooser`](super::chooser::Chooser) draws the keys.

use std::{fmt, ops::Range, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::WorkloadError;

/// The default exponent, the same as in YCSB.
const USUAL_EXPONENT: f64 = 0.99;
/// The highest accepted exponent.
pub const MAX_EXPONENT: f64 = 10.0;

/// How often each key of a set is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Distribution {
    /// All keys are drawn equally often.
    #[default]
    Uniform,
    /// All clients together draw the keys in sequence. After the last key, the first key follows.
    Sequential,
    /// Each client draws its own part of the keys in sequence (memtier's P).
    Partitioned,
    /// Each client draws all keys in its own sequence (memtier's S). After the last key, the first key follows.
    SequentialByClient,
    /// Zipf's law: the key of rank r is drawn in proportion to 1/r^exponent. The ranks are scattered over the numbers
    /// of the keys.
    Zipfian(f64),
    /// Zipf's law in the order of the numbers. The key with the lowest number is the hottest (memtier's Z).
    ZipfianInOrder(f64),
    /// Exactly the zipfian distribution of YCSB, with 10^10 ranks and the exponent 0.99. A hash maps the ranks to the
    /// keys. The hottest key gets about 3.78 % of the draws, for any number of keys.
    YcsbZipfian,
    /// Zipf's law by age. The newest key, which has the highest number, is the hottest.
    Latest(f64),
    /// A hotspot. The keys with the lowest numbers get a fixed share of the requests, and the other keys get the rest.
    /// At least one key is in the hotspot.
    Hotspot {
        /// The hotspot's share of the keys, 0 to 1.
        keys: f64,
        /// The hotspot's share of the requests, 0 to 1.
        share: f64,
    },
    /// YCSB's exponential distribution. The newest key is the hottest, and the newest 6/7 of the keys get 95 % of the
    /// draws.
    Exponential,
    /// A bell curve over the numbers of the keys (memtier's G). If a drawn number is outside the set, another
    /// number is drawn.
    Gaussian {
        /// The number at the peak of the curve. By default, the peak is at the middle of the set.
        #[serde(default)]
        median: Option<f64>,
        /// The standard deviation in keys. By default, the standard deviation is a sixth of the number of keys.
        #[serde(default)]
        deviation: Option<f64>,
    },
}

/// The names of all distributions, with their parameters.
pub const DISTRIBUTIONS: &str = "uniform, sequential, partitioned, sequential-by-client, zipfian [EXPONENT], zipfian-in-order [EXPONENT], \
    ycsb-zipfian, latest [EXPONENT], hotspot [KEYS SHARE], exponential, gaussian [MEDIAN DEVIATION]";

impl Distribution {
    /// Returns the names of all distributions, without parameters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DISTRIBUTIONS.split(", ").filter_map(|form| form.split(' ').next())
    }

    /// Checks that each parameter is in its range.
    ///
    /// # Errors
    /// Fails if a parameter is out of its range. The error names this parameter.
    pub fn check(self) -> Result<(), WorkloadError> {
        match self {
            Self::Zipfian(exponent) | Self::ZipfianInOrder(exponent) | Self::Latest(exponent)
                if !(exponent > 0.0 && exponent <= MAX_EXPONENT) =>
            {
                Err(invalid!(
                    "the exponent of a distribution must be above 0 and at most {MAX_EXPONENT}, not {exponent}"
                ))
            }
            Self::Hotspot { keys, share } => {
                let bad = [keys, share].into_iter().find(|share| !(0.0..=1.0).contains(share));
                bad.map_or(Ok(()), |share| {
                    Err(invalid!("the shares of a hotspot must be between 0 and 1, not {share}"))
                })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the parameters fit a set of keys with these numbers. The set must have at least one key.
    ///
    /// # Errors
    /// Fails if a parameter does not fit. The error names this parameter.
    pub fn check_over(self, numbers: &Range<u64>) -> Result<(), WorkloadError> {
        let Self::Gaussian { median, deviation } = self else { return Ok(()) };
        let keys = numbers.end - numbers.start;
        let is_inside = |median: &f64| (numbers.start as f64..numbers.end as f64).contains(median);
        let is_wide = |deviation: &f64| *deviation > 0.0 && *deviation <= keys as f64;
        if let Some(median) = median.filter(|median| !is_inside(median)) {
            let among = format!("among the numbers of its keys, {} to {}", numbers.start, numbers.end - 1);
            return Err(invalid!("the median of a gaussian distribution must be {among}, not {median}"));
        }
        let bad = deviation.filter(|deviation| !is_wide(deviation));
        bad.map_or(Ok(()), |deviation| {
            let lies = format!("must be above 0 and at most {keys}, the number of keys");
            Err(invalid!("the deviation of a gaussian distribution {lies}, not {deviation}"))
        })
    }
}

impl FromStr for Distribution {
    type Err = WorkloadError;

    /// Parses the name of a distribution, with all parameters or without parameters: `zipfian 1.1`, `hotspot 0.2 0.8`,
    /// `gaussian`, `gaussian - 100`. A `-` in the place of a parameter selects the parameter's default.
    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let unknown = || invalid!("'{text}' is not a distribution of keys; give one of {DISTRIBUTIONS}");
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(unknown)?;
        let number =
            |word: &str| word.parse().map(Some).or(if word == "-" { Ok(None) } else { Err(unknown()) });
        let parameters = words.map(number).collect::<Result<Vec<Option<f64>>, _>>()?;
        let first = parameters.first().copied().flatten();
        let exponent = first.unwrap_or(USUAL_EXPONENT);
        let read = match (name, parameters.as_slice()) {
            ("uniform", []) => Self::Uniform,
            ("sequential", []) => Self::Sequential,
            ("partitioned", []) => Self::Partitioned,
            ("sequential-by-client", []) => Self::SequentialByClient,
            ("zipfian", [] | [Some(_)]) => Self::Zipfian(exponent),
            ("zipfian-in-order", [] | [Some(_)]) => Self::ZipfianInOrder(exponent),
            ("ycsb-zipfian", []) => Self::YcsbZipfian,
            ("latest", [] | [Some(_)]) => Self::Latest(exponent),
            ("hotspot", []) => Self::Hotspot { keys: 0.2, share: 0.8 },
            ("hotspot", [Some(keys), Some(share)]) => Self::Hotspot { keys: *keys, share: *share },
            ("exponential", []) => Self::Exponential,
            ("gaussian", []) => Self::Gaussian { median: None, deviation: None },
            ("gaussian", [median, deviation]) => Self::Gaussian { median: *median, deviation: *deviation },
            _ => return Err(unknown()),
        };
        read.check().map(|()| read)
    }
}

impl fmt::Display for Distribution {
    /// Writes the distribution in the syntax that `from_str` parses.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let optional =
            |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Sequential => f.write_str("sequential"),
            Self::Partitioned => f.write_str("partitioned"),
            Self::SequentialByClient => f.write_str("sequential-by-client"),
            Self::Zipfian(exponent) => write!(f, "zipfian {exponent}"),
            Self::ZipfianInOrder(exponent) => write!(f, "zipfian-in-order {exponent}"),
            Self::YcsbZipfian => f.write_str("ycsb-zipfian"),
            Self::Latest(exponent) => write!(f, "latest {exponent}"),
            Self::Hotspot { keys, share } => write!(f, "hotspot {keys} {share}"),
            Self::Exponential => f.write_str("exponential"),
            Self::Gaussian { median: None, deviation: None } => f.write_str("gaussian"),
            Self::Gaussian { median, deviation } => {
                write!(f, "gaussian {} {}", optional(*median), optional(*deviation))
            }
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOrTable)
    }
}

struct TextOrTable;

impl<'de> Visitor<'de> for TextOrTable {
    type Value = Distribution;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a distribution of keys: {DISTRIBUTIONS}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Distribution, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Distribution, A::Error> {
        let read = Distribution::deserialize(MapAccessDeserializer::new(table))?;
        read.check().map(|()| read).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_json(json: &str) -> Result<Distribution, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_written_distribution_is_read_back() {
        let gaussian = |median, deviation| Distribution::Gaussian { median, deviation };
        for (text, distribution) in [
            ("uniform", Distribution::Uniform),
            ("sequential", Distribution::Sequential),
            ("partitioned", Distribution::Partitioned),
            ("zipfian 1.1", Distribution::Zipfian(1.1)),
            ("zipfian-in-order 0.5", Distribution::ZipfianInOrder(0.5)),
            ("ycsb-zipfian", Distribution::YcsbZipfian),
            ("latest 0.99", Distribution::Latest(0.99)),
            ("hotspot 0.1 0.9", Distribution::Hotspot { keys: 0.1, share: 0.9 }),
            ("exponential", Distribution::Exponential),
            ("gaussian", gaussian(None, None)),
            ("gaussian 500 -", gaussian(Some(500.0), None)),
            ("gaussian - 12.5", gaussian(None, Some(12.5))),
        ] {
            assert_eq!(text.parse(), Ok(distribution));
            assert_eq!(distribution.to_string(), text);
            assert_eq!(of_json(&serde_json::to_string(&distribution).unwrap()), Ok(distribution));
        }
    }

    #[test]
    fn a_name_alone_has_the_usual_parameters_and_a_table_names_them() {
        for (json, distribution) in [
            (r#""zipfian""#, Distribution::Zipfian(0.99)),
            (r#""hotspot""#, Distribution::Hotspot { keys: 0.2, share: 0.8 }),
            (r#"{"zipfian":1}"#, Distribution::Zipfian(1.0)),
            (r#"{"hotspot":{"keys":0.1,"share":1.0}}"#, Distribution::Hotspot { keys: 0.1, share: 1.0 }),
            (
                r#"{"gaussian":{"deviation":3}}"#,
                Distribution::Gaussian { median: None, deviation: Some(3.0) },
            ),
        ] {
            assert_eq!(of_json(json), Ok(distribution), "{json}");
        }
    }

    #[test]
    fn an_invalid_distribution_is_reported_in_one_line() {
        let error = |text: &str| text.parse::<Distribution>().unwrap_err().to_string();
        assert_eq!(
            error("zipf"),
            "'zipf' is not a distribution of keys; give one of uniform, sequential, partitioned, sequential-by-client, zipfian [EXPONENT], \
             zipfian-in-order [EXPONENT], ycsb-zipfian, latest [EXPONENT], hotspot [KEYS SHARE], exponential, \
             gaussian [MEDIAN DEVIATION]"
        );
        for bad in ["", "uniform 1", "zipfian x", "zipfian -", "zipfian 1 2", "hotspot 0.2", "gaussian 1"] {
            assert!(error(bad).starts_with(&format!("'{bad}' is not a distribution")), "{bad}");
        }
        for bad in ["zipfian 0", "latest -1", "zipfian-in-order 10.5", "zipfian NaN", "zipfian inf"] {
            assert!(
                error(bad).starts_with("the exponent of a distribution must be above 0 and at most 10"),
                "{bad}"
            );
        }
        assert_eq!(error("hotspot 0.2 80"), "the shares of a hotspot must be between 0 and 1, not 80");
        for (json, said) in [
            (r#"{"zipfian":0}"#, "the exponent of a distribution"),
            (r#"{"hotspot":{"keys":0.1,"part":1.0}}"#, "unknown field `part`"),
            (r#"{"zipf":1}"#, "unknown variant `zipf`"),
            ("3", "expected a distribution of keys: uniform, "),
        ] {
            let error = of_json(json).unwrap_err();
            assert!(error.contains(said), "{json}: {error}");
        }
    }

    #[test]
    fn the_median_of_a_gaussian_distribution_is_among_its_keys() {
        let check = |median, deviation| {
            let error = Distribution::Gaussian { median, deviation }.check_over(&(100..200)).err();
            error.map(|error| error.to_string())
        };
        assert_eq!(check(Some(100.0), Some(100.0)), None);
        let median = "the median of a gaussian distribution must be among the numbers of its keys, 100 to 199, not 200";
        assert_eq!(check(Some(200.0), None).as_deref(), Some(median));
        let deviation = "the deviation of a gaussian distribution must be above 0 and at most 100, the number of keys, not 0";
        assert_eq!(check(None, Some(0.0)).as_deref(), Some(deviation));
        assert!(check(None, Some(100.5)).is_some() && check(Some(f64::NAN), None).is_some());
    }
}
