//! Changes the amounts of load of a series (requests, seconds, keys, clients), for a smaller machine or less time.

use std::str::FromStr;

use super::{Series, SeriesCell};
use crate::{experiment::WordsError, units, workload::Suggested};

/// A factor above 0, up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleFactor(f64);

/// Changes to the amounts in a series, such as numbers of requests and clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scaling {
    /// The factor for requests, seconds, pauses and keys.
    pub amounts: Option<ScaleFactor>,
    /// The factor for clients and threads.
    pub clients: Option<ScaleFactor>,
    /// The length of each cell in seconds. This length replaces the number of requests or the length in the file.
    pub duration: Option<u32>,
}

/// An amount of a load that scaling can change. The pair has the name of the amount in a file, and a function that
/// returns its value.
type Amount = (&'static str, fn(&Suggested) -> Option<u64>);

const AMOUNTS: [Amount; 5] = [
    ("requests", |load| load.requests),
    ("duration", |load| load.duration.map(u64::from)),
    ("keys", |load| load.keys),
    ("clients", |load| load.clients.map(u64::from)),
    ("threads", |load| load.threads.map(u64::from)),
];

/// Returns the amount with this name in the `[load]` table of a file. Returns `None` if there is no such amount.
pub(super) fn amount(name: &str) -> Option<&'static str> {
    AMOUNTS.into_iter().map(|(known, _)| known).find(|known| *known == name)
}

impl FromStr for ScaleFactor {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let scale = text.parse().ok().filter(|scale| *scale > 0.0 && *scale <= 1.0);
        let wrong = || WordsError::of(format!("'{text}' is not a scale above 0 and up to 1, such as 0.01"));
        scale.map(Self).ok_or_else(wrong)
    }
}

impl ScaleFactor {
    /// Returns the factor.
    pub fn part(self) -> f64 {
        self.0
    }

    fn of(self, n: u64) -> u64 {
        // A scaled amount is at least one.
        ((n as f64 * self.0).round() as u64).clamp(n.min(1), n)
    }
}

impl Scaling {
    /// Changes the amounts of all cells of a series, also in their titles. Returns one line with the changes, such as
    /// `changed: requests 3 M to 30 k, clients 256 to 3`; `None` if nothing changes.
    pub fn apply(&self, series: &mut Series) -> Option<String> {
        let before: Vec<_> = series.cells.iter().map(|cell| cell.load.clone()).collect();
        series.cells.iter_mut().for_each(|cell| self.change(cell));
        let range = |loads: &mut dyn Iterator<Item = u64>| {
            let (first, last) = loads.fold(None, |range: Option<(u64, u64)>, n| {
                Some(range.map_or((n, n), |(low, high)| (low.min(n), high.max(n))))
            })?;
            Some(if first == last {
                units::setting(first)
            } else {
                format!("{}..{}", units::setting(first), units::setting(last))
            })
        };
        let effect = |(name, of): Amount| {
            let was = range(&mut before.iter().filter_map(of));
            let is = range(&mut series.cells.iter().filter_map(|cell| of(&cell.load)));
            let seconds = if name == "duration" { "seconds" } else { name };
            match (was, is) {
                (Some(was), Some(is)) if was != is => Some(format!("{seconds} {was} to {is}")),
                (None, Some(is)) => Some(format!("{seconds} {is}")),
                (Some(was), None) => Some(format!("{seconds} not limited to {was} any more")),
                _ => None,
            }
        };
        let effects: Vec<_> = AMOUNTS.into_iter().filter_map(effect).collect();
        (!effects.is_empty()).then(|| format!("changed: {}", effects.join(", ")))
    }

    fn change(&self, cell: &mut SeriesCell) {
        let small = |scale: Option<ScaleFactor>, n: Option<u32>| {
            n.map(|n| scale.map_or(n, |scale| u32::try_from(scale.of(n.into())).unwrap_or(n)))
        };
        let large = |n: Option<u64>| n.map(|n| self.amounts.map_or(n, |scale| scale.of(n)));
        let load = cell.load.clone();
        cell.load = Suggested {
            clients: small(self.clients, load.clients),
            threads: small(self.clients, load.threads),
            keys: large(load.keys),
            requests: large(load.requests).filter(|_| self.duration.is_none()),
            duration: self.duration.or_else(|| small(self.amounts, load.duration)),
            ..load.clone()
        };
        cell.pause_s = small(self.amounts, cell.pause_s);
        for (name, value) in &mut cell.at {
            let Some(amount) = cell.amounts.get(name) else { continue };
            let amount = AMOUNTS.into_iter().find(|(known, _)| known == amount);
            // If each cell ends after a given time, the load has no number of requests. The values of a list
            // of such numbers are then not changed.
            let changed = amount.and_then(|(_, of)| Some((of(&load)?, of(&cell.load)?)));
            if let Some((_, changed)) = changed.filter(|(was, is)| was != is) {
                *value = units::setting(changed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Settings;

    const FILE: &str = r#"
[parameters]
size = [64]
records = ["3M", 7]
clients = [256, 20]
[load]
requests = "$records"
clients = "$clients"
data-size = "$size"
[[run]]
name = "GET"
workload = "get"
pause = 60
"#;

    fn changed(scaling: Scaling) -> (Vec<String>, Vec<Suggested>, Option<String>) {
        let file = ("mine.toml", "mine");
        let mut series = Series::parse(FILE, file, std::path::Path::new(""), &Settings::default()).unwrap();
        let effect = scaling.apply(&mut series);
        let titles = series.cells.iter().map(SeriesCell::title).collect();
        (titles, series.cells.into_iter().map(|cell| cell.load).collect(), effect)
    }

    #[test]
    fn scaled_amounts_are_at_least_one_and_clients_have_their_own_factor() {
        let amounts = "0.01".parse().ok();
        let (titles, loads, effect) = changed(Scaling { amounts, ..Scaling::default() });
        assert_eq!(
            (loads[0].requests, loads[3].requests, loads[0].clients),
            (Some(30_000), Some(1), Some(256))
        );
        assert_eq!(titles[0], "GET, size 64, records 30 k, clients 256");
        assert_eq!(effect.as_deref(), Some("changed: requests 7..3 M to 1..30 k"));
        let (titles, _, effect) = changed(Scaling { clients: amounts, ..Scaling::default() });
        assert_eq!(titles[3], "GET, size 64, records 7, clients 1");
        assert_eq!(effect.as_deref(), Some("changed: clients 20..256 to 1..3"));
        let (titles, loads, effect) = changed(Scaling { duration: Some(5), ..Scaling::default() });
        assert_eq!((loads[0].requests, loads[0].duration), (None, Some(5)));
        assert_eq!(titles[0], "GET, size 64, records 3M, clients 256");
        assert_eq!(effect.as_deref(), Some("changed: requests not limited to 7..3 M any more, seconds 5"));
        assert_eq!(changed(Scaling::default()).2, None);
        for bad in ["0", "-1", "1.5", "nan", "x"] {
            assert!(bad.parse::<ScaleFactor>().is_err(), "{bad}");
        }
    }
}
