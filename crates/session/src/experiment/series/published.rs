//! Measurements that others published, for comparison with the results of a series. The results of redyno may differ
//! from these measurements.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{CellFigures, Figures, SeriesCell, TableLayout};
use crate::workload::value_text;

/// Published figures of a series.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The publisher of the measurements, and the place where they are published.
    pub source: String,
    /// The figures by cell.
    #[serde(default)]
    cells: Vec<PublishedCell>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PublishedCell {
    run: String,
    /// The values of lists to which the figures apply. The figures apply to all values of a list that is not named
    /// here.
    #[serde(default)]
    at: BTreeMap<String, toml::Value>,
    ops_per_s: Option<f64>,
    mean_us: Option<f64>,
    p99_us: Option<f64>,
    #[serde(default)]
    within: Vec<f64>,
    #[serde(default)]
    operations: BTreeMap<String, Figures>,
}

impl PublishedCell {
    fn is_of(&self, cell: &SeriesCell) -> bool {
        let has = |(name, value): (&String, _)| {
            cell.listed.iter().any(|(list, at)| list == name && *at == value_text(value))
        };
        self.run == cell.run && self.at.iter().all(has)
    }
}

impl Published {
    /// Returns whether there are no published figures.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Returns the published figures for `cell`.
    pub fn of(&self, cell: &SeriesCell) -> Option<CellFigures> {
        let found = self.cells.iter().find(|published| published.is_of(cell))?;
        let PublishedCell { ops_per_s, mean_us, p99_us, ref within, ref operations, .. } = *found;
        let all = Figures { ops_per_s, mean_us, p99_us, within: within.clone(), ..Figures::default() };
        Some(CellFigures { all, operations: operations.clone() })
    }

    /// Checks that all figures belong to existing runs and lists, and have no more time limits than the table.
    pub(super) fn check(&self, cells: &[SeriesCell], layout: &TableLayout) -> Result<(), String> {
        for published in &self.cells {
            let run = &published.run;
            let Some(cell) = cells.iter().find(|cell| cell.run == *run) else {
                return Err(format!("[[published]] names the run '{run}', which does not exist"));
            };
            let is_list = |name: &&String| cell.at.iter().any(|(list, _)| list == *name);
            if let Some(name) = published.at.keys().find(|name| !is_list(name)) {
                return Err(format!(
                    "[[published]] names the list '{name}', which the run '{run}' does not have"
                ));
            }
            let all =
                [&published.within].into_iter().chain(published.operations.values().map(|of| &of.within));
            if all.into_iter().any(|within| within.len() > layout.within_ms.len()) {
                return Err(format!(
                    "[[published]] has more shares for the run '{run}' than 'within-ms' has limits"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        experiment::series::{Series, series_presets},
        workload::Settings,
    };

    #[test]
    fn every_published_figure_belongs_to_one_cell() {
        for (name, _) in series_presets() {
            let series = Series::find(name, &Settings::default()).unwrap();
            for published in &series.published.cells {
                let of = series.cells.iter().filter(|cell| published.is_of(cell)).count();
                assert_eq!(of, 1, "{}: {published:?}", series.name);
                let cell = series.cells.iter().find(|cell| published.is_of(cell)).unwrap();
                for name in published.operations.keys() {
                    let is_asked = cell.workload.active_operations().any(|operation| operation.name == *name);
                    assert!(is_asked, "{}: {name}", series.name);
                }
                assert!(published.ops_per_s.is_some(), "{}: {published:?}", series.name);
            }
        }
    }
}
