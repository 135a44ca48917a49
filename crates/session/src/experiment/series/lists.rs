//! The parameters of a series. A parameter may have a list of values. This module computes all combinations of the
//! values.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use crate::workload::{PositionedError, Settings, check_value, value_text};

/// The maximum number of cells. Each cell is a session.
pub(super) const MAX_CELLS: usize = 1000;

/// A parameter with its values: one value, or the values of a list.
pub(super) struct SeriesParameter {
    pub(super) name: String,
    pub(super) values: Vec<String>,
    pub(super) is_list: bool,
}

/// Returns the parameters in the order of the file. Values in `settings` replace the values of the file.
pub(super) fn parameters(text: &str, settings: &Settings) -> Result<Vec<SeriesParameter>, PositionedError> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(default)]
        parameters: BTreeMap<String, Spanned<toml::Value>>,
    }
    let head: Head = toml::from_str(text)?;
    settings.only(head.parameters.keys().map(String::as_str)).map_err(PositionedError::anywhere)?;
    let mut found: Vec<_> = head.parameters.into_iter().collect();
    found.sort_by_key(|(_, value)| value.span().start);
    let parameter = |(name, value): (String, Spanned<toml::Value>)| {
        let list = value.get_ref().as_array().map(|list| list.iter().map(value_text).collect::<Vec<_>>());
        let is_list = list.is_some();
        let values = match (settings.get(&name), list) {
            (Some(set), Some(_)) => set.split(',').map(|value| value.trim().to_owned()).collect(),
            (Some(set), None) => vec![set.to_owned()],
            (None, list) => list.unwrap_or_else(|| vec![value_text(value.get_ref())]),
        };
        let checked = values.iter().try_for_each(|value| check_value(&name, value).map(drop));
        checked.map_err(|error| PositionedError::at(value.span().start, error))?;
        if values.is_empty() {
            return Err(PositionedError::at(value.span().start, format!("the list '{name}' is empty")));
        }
        Ok(SeriesParameter { name, values, is_list })
    };
    found.into_iter().map(parameter).collect()
}

pub(super) fn first_values(parameters: &[SeriesParameter]) -> BTreeMap<&str, String> {
    parameters.iter().map(|parameter| (parameter.name.as_str(), parameter.values[0].clone())).collect()
}

/// One axis of a series: a list, or several lists that advance together. Each entry has one value for each of these
/// lists, with the name of the list.
pub(super) type CellAxis = Vec<Vec<(String, String)>>;

/// Checks the groups of lists that advance together.
///
/// # Errors
/// Fails if a name is not a list, or is in two groups.
pub(super) fn check_together(parameters: &[SeriesParameter], together: &[Vec<String>]) -> Result<(), String> {
    let mut named = BTreeSet::new();
    for name in together.iter().flatten() {
        if !parameters.iter().any(|parameter| parameter.name == *name && parameter.is_list) {
            return Err(format!("'together' names '{name}', which is not a list of [parameters]"));
        }
        if !named.insert(name) {
            return Err(format!("'together' names the list '{name}' twice; a list can be in one group only"));
        }
    }
    Ok(())
}

/// Returns the axes of these lists. `together` has the groups of lists that advance together.
pub(super) fn axes(lists: &[&SeriesParameter], together: &[Vec<String>]) -> Result<Vec<CellAxis>, String> {
    let mut axes: Vec<CellAxis> = Vec::new();
    let mut done = BTreeSet::new();
    for list in lists {
        let group = together.iter().find(|group| group.contains(&list.name));
        let is_of_it = |other: &&&SeriesParameter| {
            other.name == list.name || group.is_some_and(|group| group.contains(&other.name))
        };
        let group: Vec<_> = lists.iter().filter(is_of_it).collect();
        if let Some(other) = group.iter().find(|other| other.values.len() != list.values.len()) {
            let names = (&list.name, &other.name);
            return Err(format!(
                "the lists '{}' and '{}' advance together, but have different lengths",
                names.0, names.1
            ));
        }
        if done.insert(list.name.as_str()) {
            done.extend(group.iter().map(|other| other.name.as_str()));
            let value = |n: usize| group.iter().map(|of| (of.name.clone(), of.values[n].clone())).collect();
            axes.push((0..list.values.len()).map(value).collect());
        }
    }
    Ok(axes)
}

/// Returns all combinations of entries, one from each axis. The last axis changes fastest.
pub(super) fn combinations(axes: &[CellAxis]) -> CellAxis {
    axes.iter().fold(vec![Vec::new()], |so_far, axis| {
        let longer = |at: &Vec<(String, String)>| {
            axis.iter().map(|value| [at.as_slice(), value].concat()).collect::<Vec<_>>()
        };
        // One cell more than allowed is enough to refuse the series.
        so_far.iter().flat_map(longer).take(MAX_CELLS + 1).collect()
    })
}
