//! The TOML file of a series. An unknown field is an error. Messages of errors name the line.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Published, SeriesCell, TableLayout,
    cell::{KnownWorkloads, RunSpec},
    lists::{MAX_CELLS, SeriesParameter, axes, check_together, combinations, first_values, parameters},
    scale::amount,
};
use crate::workload::{
    PositionedError, Settings, Suggested, WorkloadFileError, line_start, replace_parameters, text_of,
};

/// A series.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// A description in one line.
    pub about: String,
    /// The runs, in order.
    pub cells: Vec<SeriesCell>,
    /// The layout of the table of this series.
    pub layout: TableLayout,
    /// Measurements that others published.
    pub published: Published,
}

/// The fields of the file of a series.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeriesFile {
    name: Option<String>,
    #[serde(default)]
    about: String,
    /// Groups of lists that advance together. One cell uses the first values of all lists in a group, the next cell
    /// uses the second values, and so on.
    #[serde(default)]
    together: Vec<Vec<String>>,
    #[serde(default)]
    run: Vec<Spanned<RunSpec>>,
    /// The parameters. This field only checks their form. For each cell, the file is parsed again with the values of
    /// the cell.
    #[serde(default, rename = "parameters")]
    _parameters: BTreeMap<String, toml::Value>,
    #[serde(default, rename = "load")]
    _load: Suggested,
    #[serde(default, rename = "workload")]
    _workload: BTreeMap<String, toml::Table>,
    #[serde(default)]
    table: TableLayout,
    published: Option<Spanned<Published>>,
}

impl Series {
    /// Reads the file `path` with these values of its parameters. Commas separate the values of a list.
    ///
    /// # Errors
    /// The error is a message with the name of the file, the cause and, if known, the line.
    pub fn read(path: &Path, settings: &Settings) -> Result<Self, WorkloadFileError> {
        let (text, file) = (text_of(path)?, path.display().to_string());
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::parse(&text, (&file, &name), directory, settings)
    }

    /// Parses a file's text. `name` is the name of the series if the text has no name. Paths in the text are relative
    /// to `directory`.
    ///
    /// # Errors
    /// The errors are the same as for [`read`](Self::read).
    pub(super) fn parse(
        text: &str,
        (file, name): (&str, &str),
        directory: &Path,
        settings: &Settings,
    ) -> Result<Self, WorkloadFileError> {
        parse(text, name, directory, settings).map_err(|wrong| wrong.in_file(file, text))
    }
}

fn parse(text: &str, name: &str, directory: &Path, settings: &Settings) -> Result<Series, PositionedError> {
    let table: toml::Table = text.parse()?;
    let parameters = parameters(text, settings)?;
    let mut cells = Vec::new();
    let mut named = BTreeSet::new();
    // The first value of each parameter is enough to find errors in the runs.
    let first = FilledFile::of(text, &first_values(&parameters))?;
    check_together(&parameters, &first.written.together).map_err(PositionedError::anywhere)?;
    for n in 0..first.written.run.len() {
        let raw = Raw {
            run: table.get("run").and_then(|runs| runs.get(n)),
            load: table.get("load"),
            workloads: table.get("workload").and_then(toml::Value::as_table),
        };
        let names = |parameter: &&SeriesParameter| raw.mentions(&parameter.name);
        let lists: Vec<_> = parameters.iter().filter(names).collect();
        named.extend(lists.iter().map(|list| list.name.as_str()));
        let over: Vec<_> = lists.into_iter().filter(|parameter| parameter.is_list).collect();
        let over = axes(&over, &first.written.together).map_err(|cause| first.wrong(n, cause))?;
        for at in combinations(&over) {
            if cells.len() == MAX_CELLS {
                return Err(first.wrong(
                    n,
                    format!("a series has at most {MAX_CELLS} runs, counting each value of a list"),
                ));
            }
            let mut values = first_values(&parameters);
            values.extend(at.iter().map(|(name, value)| (name.as_str(), value.clone())));
            let cell = raw.cell(&values, at.clone(), directory);
            cells.push(cell.map_err(|cause| first.wrong(n, cause))?);
        }
    }
    if let Some(idle) = parameters.iter().find(|parameter| !named.contains(parameter.name.as_str())) {
        return Err(PositionedError::anywhere(format!(
            "the parameter {0} is not used: write ${0} into a run or [load]",
            idle.name
        )));
    }
    if cells.is_empty() {
        return Err(PositionedError::anywhere(format!("the series '{name}' has no [[run]]")));
    }
    let SeriesFile { name: own, about, table, published, .. } = first.written;
    let published = match published {
        Some(published) => {
            let at = line_start(text, &first.text, published.span().start);
            let published = published.into_inner();
            published.check(&cells, &table).map_err(|error| PositionedError::at(at, error))?;
            published
        }
        None => Published::default(),
    };
    Ok(Series { name: own.unwrap_or_else(|| name.to_owned()), about, cells, layout: table, published })
}

/// Returns whether a text in `value` contains `$name`.
fn mentions(value: &toml::Value, name: &str) -> bool {
    match value {
        toml::Value::String(text) => replace_parameters(text, &[(name, String::new())].into()) != *text,
        toml::Value::Array(values) => values.iter().any(|value| mentions(value, name)),
        toml::Value::Table(table) => table.values().any(|value| mentions(value, name)),
        _ => false,
    }
}

/// A run as written in the file, with the tables that the run can use. Its parameters are not replaced yet.
struct Raw<'a> {
    run: Option<&'a toml::Value>,
    load: Option<&'a toml::Value>,
    workloads: Option<&'a toml::Table>,
}

impl Raw<'_> {
    fn mentions(&self, name: &str) -> bool {
        let workload = self.run.and_then(|run| run.get("workload")?.as_str()).unwrap_or_default();
        let is_used = |(known, _): &(&String, _)| *known == workload || workload.contains('$');
        let tables = self.workloads.into_iter().flatten().filter(is_used).map(|(_, table)| table);
        [self.run, self.load].into_iter().flatten().chain(tables).any(|value| mentions(value, name))
    }

    /// Returns the cell of this run for these values.
    fn cell(
        &self,
        values: &BTreeMap<&str, String>,
        at: Vec<(String, String)>,
        directory: &Path,
    ) -> Result<SeriesCell, String> {
        fn read<T: for<'de> Deserialize<'de>>(value: toml::Value) -> Result<T, String> {
            T::deserialize(value).map_err(|error| error.message().replace('\n', ", "))
        }
        let fill = |value: Option<&toml::Value>| {
            value.map_or_else(|| toml::Value::Table(toml::Table::new()), |value| filled_in(value, values))
        };
        let load: Suggested = read(fill(self.load))?;
        let run: RunSpec = read(fill(self.run))?;
        let table = run.workload.clone().and_then(|name| Some((self.workloads?.get(&name)?, name)));
        let table = table.map(|(table, name)| Ok((name, read(filled_in(table, values))?)));
        let tables = table.transpose().map_err(|error: String| error)?.into_iter().collect();
        let known = KnownWorkloads { directory, tables: &tables };
        let amounts = at.iter().filter_map(|(name, _)| Some((name.clone(), self.amount(name)?))).collect();
        SeriesCell::of(&run, (at, amounts), &load, &known)
    }

    /// Returns the amount of the load that the parameter `name` sets: `requests` for `requests = "$name"`.
    fn amount(&self, name: &str) -> Option<&'static str> {
        let of_run = self.run.and_then(|run| run.get("load"));
        let loads = [of_run, self.load].into_iter().flatten().filter_map(toml::Value::as_table);
        let is_it = |(_, value): &(_, &toml::Value)| value.as_str() == Some(&format!("${name}"));
        loads.flatten().filter(is_it).find_map(|(known, _)| amount(known))
    }
}

/// Returns `value` with all parameters replaced by `values`.
fn filled_in(value: &toml::Value, values: &BTreeMap<&str, String>) -> toml::Value {
    match value {
        toml::Value::String(text) => toml::Value::String(replace_parameters(text, values)),
        toml::Value::Array(all) => {
            all.iter().map(|value| filled_in(value, values)).collect::<Vec<_>>().into()
        }
        toml::Value::Table(table) => {
            let filled = table.iter().map(|(name, value)| (name.clone(), filled_in(value, values)));
            toml::Value::Table(filled.collect())
        }
        other => other.clone(),
    }
}

/// The text of a file with all parameters replaced by values.
struct FilledFile<'a> {
    of: &'a str,
    text: String,
    written: SeriesFile,
}

impl<'a> FilledFile<'a> {
    fn of(of: &'a str, values: &BTreeMap<&str, String>) -> Result<Self, PositionedError> {
        let text = replace_parameters(of, values);
        let written = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let at = error.span().map(|span| line_start(of, &text, span.start));
            let cause = error.message().replace('\n', ", ");
            at.map_or_else(|| PositionedError::anywhere(&cause), |at| PositionedError::at(at, &cause))
        })?;
        Ok(Self { of, text, written })
    }

    /// Returns an error in a run.
    fn wrong(&self, run: usize, cause: String) -> PositionedError {
        PositionedError::at(line_start(self.of, &self.text, self.written.run[run].span().start), cause)
    }
}

#[cfg(test)]
mod tests;
