//! A sample of all gauges at one moment.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{GAUGES, Gauge};

/// The values of all gauges (figures of a server and its host) at one moment. A gauge may have no value. Only gauges
/// with a value take memory. A history has thousands of samples, and most gauges have no value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gauges {
    /// One bit for each gauge. The bit is set if the gauge has a value.
    known: u128,
    values: Vec<f64>,
}

const _: () = assert!(GAUGES.len() <= u128::BITS as usize, "each gauge has a bit");

fn bit(gauge: Gauge) -> u128 {
    1 << gauge as u32
}

impl<const N: usize> From<[(Gauge, f64); N]> for Gauges {
    fn from(values: [(Gauge, f64); N]) -> Self {
        let mut gauges = Self::default();
        values.into_iter().for_each(|(gauge, value)| gauges.set(gauge, Some(value)));
        gauges
    }
}

impl Gauges {
    /// Returns the value of a gauge.
    pub fn get(&self, gauge: Gauge) -> Option<f64> {
        (self.known & bit(gauge) != 0).then(|| self.values[self.place(gauge)])
    }

    /// Sets a value.
    pub fn set(&mut self, gauge: Gauge, value: Option<f64>) {
        let (place, is_known) = (self.place(gauge), self.known & bit(gauge) != 0);
        let value = value.filter(|value| value.is_finite());
        self.known = if value.is_some() { self.known | bit(gauge) } else { self.known & !bit(gauge) };
        self.values.splice(place..place + usize::from(is_known), value);
    }

    /// Returns the place of a gauge in `values`.
    fn place(&self, gauge: Gauge) -> usize {
        (self.known & (bit(gauge) - 1)).count_ones() as usize
    }

    /// Returns the value of a gauge as a whole number. The gauge must be a count.
    pub fn whole(&self, gauge: Gauge) -> Option<u64> {
        self.get(gauge).map(|value| value as u64)
    }

    /// Returns the value of a gauge that is a flag.
    pub fn flag(&self, gauge: Gauge) -> Option<bool> {
        self.get(gauge).map(|value| value != 0.0)
    }

    /// Returns the gauges that have a value.
    pub fn iter(&self) -> impl Iterator<Item = (Gauge, f64)> {
        let known = GAUGES.into_iter().filter(|gauge| self.known & bit(*gauge) != 0);
        known.zip(self.values.iter().copied())
    }

    /// Raises each gauge to its value in `other`, if this value is higher.
    pub fn raise(&mut self, other: &Self) {
        // The reservation is exact, because a history keeps many samples.
        self.values.reserve_exact((other.known & !self.known).count_ones() as usize);
        for (gauge, value) in other.iter() {
            self.set(gauge, Some(self.get(gauge).map_or(value, |own| own.max(value))));
        }
    }

    /// Sets the gauges that are computed from other gauges.
    pub fn derive(&mut self) {
        if let (Some(hits), Some(misses)) = (self.get(Gauge::Hits), self.get(Gauge::Misses)) {
            self.set(Gauge::HitRate, Some(hits / (hits + misses)));
        }
        if let (Some(us), Some(cycles)) = (self.get(Gauge::LoopTime), self.get(Gauge::LoopCycles)) {
            self.set(Gauge::LoopMean, Some(us / cycles));
        }
        if let (Some(commands), Some(cycles)) = (self.get(Gauge::CommandsRun), self.get(Gauge::LoopCycles)) {
            self.set(Gauge::CommandsPerCycle, Some(commands / cycles));
        }
    }
}

impl Serialize for Gauges {
    /// Writes `{"cpu":0.97,"clients":52,…}`, without gauges that have no value.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// From this number on, floating-point numbers do not represent every whole number.
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let mut map = serializer.serialize_map(None)?;
        for (gauge, value) in self.iter() {
            let name = gauge.about().name;
            match value {
                whole if whole.fract() == 0.0 && whole.abs() < LARGEST => {
                    map.serialize_entry(name, &(whole as i64))?;
                }
                value => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Gauges {
    /// Reads the values from a map.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        let mut gauges = Self::default();
        for gauge in GAUGES {
            gauges.set(gauge, map.get(gauge.about().name).and_then(Value::as_f64));
        }
        gauges.derive();
        Ok(gauges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_written_by_name_and_read_back() {
        let gauges = Gauges::from([(Gauge::Cpu, 0.25), (Gauge::Clients, 52.0), (Gauge::Commands, 0.5)]);
        let text = serde_json::to_string(&gauges).unwrap();
        assert_eq!(text, r#"{"cpu":0.25,"commands":0.5,"clients":52}"#);
        assert_eq!(serde_json::from_str::<Gauges>(&text).unwrap(), gauges);
    }

    #[test]
    fn a_hit_rate_of_nothing_is_none() {
        let mut gauges = Gauges::from([(Gauge::Hits, 0.0), (Gauge::Misses, 0.0)]);
        gauges.derive();
        assert_eq!(gauges.get(Gauge::HitRate), None);
    }
}
