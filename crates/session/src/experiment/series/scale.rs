//! Scales a series down for a smaller machine.

use std::str::FromStr;

use crate::{experiment::WordsError, units, workload::Suggested};

/// A factor above 0 and up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale(f64);

/// A function that returns one of the numbers to scale.
type Number = fn(&Suggested) -> Option<u64>;

impl FromStr for Scale {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let scale = text.parse().ok().filter(|scale| *scale > 0.0 && *scale <= 1.0);
        let wrong = || WordsError::of(format!("'{text}' is not a scale above 0 and up to 1, such as 0.01"));
        scale.map(Self).ok_or_else(wrong)
    }
}

impl Scale {
    /// Returns the factor as written.
    pub fn part(self) -> f64 {
        self.0
    }

    fn of(self, n: u64) -> u64 {
        // At least one.
        ((n as f64 * self.0).round() as u64).clamp(n.min(1), n)
    }

    fn of_32(self, n: u32) -> u32 {
        // At most the original.
        u32::try_from(self.of(n.into())).unwrap_or(n)
    }

    /// Returns the load with fewer requests, seconds, keys, clients and threads; absent values stay absent.
    pub fn scaled(self, load: &Suggested) -> Suggested {
        Suggested {
            clients: load.clients.map(|n| self.of_32(n)),
            keys: load.keys.map(|n| self.of(n)),
            duration: load.duration.map(|n| self.of_32(n)),
            requests: load.requests.map(|n| self.of(n)),
            threads: load.threads.map(|n| self.of_32(n)),
            ..load.clone()
        }
    }

    /// Returns a line with the effect on these loads: `requests 3 M to 30 k, clients 256 to 3`.
    pub fn words(self, loads: &[&Suggested]) -> String {
        let numbers: [(_, Number); 5] = [
            ("requests", |load| load.requests),
            ("seconds", |load| load.duration.map(u64::from)),
            ("keys", |load| load.keys),
            ("clients", |load| load.clients.map(u64::from)),
            ("threads", |load| load.threads.map(u64::from)),
        ];
        let word = |(name, number): (&str, Number)| {
            let mut all: Vec<_> = loads.iter().filter_map(|load| number(load)).collect();
            all.sort_unstable();
            let (first, last) = (*all.first()?, *all.last()?);
            let range = |first: u64, last: u64| match first == last {
                true => units::setting(first),
                false => format!("{}..{}", units::setting(first), units::setting(last)),
            };
            Some(format!("{name} {} to {}", range(first, last), range(self.of(first), self.of(last))))
        };
        numbers.into_iter().filter_map(word).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scaled_becomes_less_but_never_nothing_and_is_reported() {
        let scale: Scale = "0.01".parse().unwrap();
        let load = |requests, clients| Suggested {
            requests: Some(requests),
            clients: Some(clients),
            data_size: Some(64),
            ..Suggested::default()
        };
        let scaled = scale.scaled(&load(3_000_000, 256));
        assert_eq!(scaled, load(30_000, 3));
        assert_eq!(scale.scaled(&load(7, 20)), load(1, 1));
        let loads = [&load(3_000_000, 256), &load(3_000_000, 20)];
        assert_eq!(scale.words(&loads), "requests 3 M to 30 k, clients 20..256 to 1..3");
        let whole: Scale = "1".parse().unwrap();
        assert_eq!(whole.scaled(&load(7, 20)), load(7, 20));
        for bad in ["0", "-1", "1.5", "nan", "x"] {
            assert!(bad.parse::<Scale>().is_err(), "{bad}");
        }
    }
}
