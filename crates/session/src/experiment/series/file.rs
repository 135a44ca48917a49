//! The TOML file of a series. Unknown fields are errors, and errors name the line.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use toml::Spanned;

use super::{
    Published, SeriesCell, TableLayout,
    cell::{KnownWorkloads, RunSpec},
    lists::{MAX_CELLS, SeriesParameter, axes, combinations, first_values, parameters},
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
    /// Groups of lists that advance together: one cell uses the first values of all lists in a group, the
    /// next cell uses the second values, and so on.
    #[serde(default)]
    together: Vec<Vec<String>>,
    #[serde(default)]
    run: Vec<Spanned<RunSpec>>,
    /// The parameters. This field only checks their form: for each cell, the file is read again with the
    /// values of the cell.
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
    /// Reads the file `path` with these values of its parameters; the values of a list are separated by commas.
    ///
    /// # Errors
    /// The error is a message with the file, the line if it is known, and the error.
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
    for (n, run) in first.written.run.iter().enumerate() {
        let workload = run.get_ref().workload.as_deref();
        let raw = Raw {
            run: table.get("run").and_then(|runs| runs.get(n)),
            load: table.get("load"),
            workload: workload.and_then(|name| Some((name, table.get("workload")?.get(name)?))),
        };
        let names = |parameter: &&SeriesParameter| raw.mentions(&parameter.name);
        let lists: Vec<_> = parameters.iter().filter(names).collect();
        named.extend(lists.iter().map(|list| list.name.as_str()));
        let over: Vec<_> = lists.into_iter().filter(|parameter| parameter.is_list).collect();
        let over = axes(&over, &first.written.together).map_err(|cause| first.wrong(n, cause))?;
        for at in combinations(&over) {
            if cells.len() == MAX_CELLS {
                return Err(first.wrong(n, format!("a series has at most {MAX_CELLS} cells")));
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

/// A run as written in the file, with the tables that it uses; parameters are not replaced yet.
struct Raw<'a> {
    run: Option<&'a toml::Value>,
    load: Option<&'a toml::Value>,
    workload: Option<(&'a str, &'a toml::Value)>,
}

impl Raw<'_> {
    fn mentions(&self, name: &str) -> bool {
        let all = [self.run, self.load, self.workload.map(|(_, table)| table)];
        all.into_iter().flatten().any(|value| mentions(value, name))
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
        let table = self.workload.map(|(name, table)| Ok((name.to_owned(), read(filled_in(table, values))?)));
        let tables = table.transpose().map_err(|error: String| error)?.into_iter().collect();
        let known = KnownWorkloads { directory, tables: &tables };
        let amounts = at.iter().filter_map(|(name, _)| Some((name.clone(), self.amount(name)?))).collect();
        SeriesCell::of(&read::<RunSpec>(fill(self.run))?, (at, amounts), &load, &known)
    }

    /// Returns the amount of the load whose value is the parameter `name`: `requests` for
    /// `requests = "$name"`.
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
mod tests {
    use super::*;

    const FILE: &str = r#"
about = "over sizes and clients"

[parameters]
size = [64, "4k"]
clients = [10, 20]
n = "1k"

[load]
requests = "$n"

[[run]]
name = "GET"
workload = "get"
load = { data-size = "$size", clients = "$clients" }

[[run]]
name = "ping"
commands = ["PING", "ECHO \"a b\""]
operations = ["PING"]
"#;

    fn read(text: &str, settings: &[&str]) -> Result<Series, String> {
        let settings = settings.iter().map(|set| set.parse().unwrap()).collect::<Vec<_>>();
        Series::parse(text, ("mine.toml", "mine"), Path::new(""), &Settings::from(settings))
            .map_err(|error| error.to_string())
    }

    fn titles(settings: &[&str]) -> Vec<String> {
        read(FILE, settings).unwrap().cells.iter().map(SeriesCell::title).collect()
    }

    #[test]
    fn a_run_has_a_cell_for_each_combination_of_its_lists() {
        let gets = ["64, clients 10", "64, clients 20", "4k, clients 10", "4k, clients 20"];
        let all = gets.map(|at| format!("GET, size {at}")).into_iter().chain(["ping".to_owned()]);
        assert_eq!(titles(&[]), all.collect::<Vec<_>>());
        let cells = read(FILE, &[]).unwrap().cells;
        let loads: Vec<_> = cells.iter().map(|cell| (cell.load.data_size, cell.load.clients)).collect();
        assert_eq!(loads[2..], [(Some(4000), Some(10)), (Some(4000), Some(20)), (None, None)]);
        assert!(cells.iter().all(|cell| cell.load.requests == Some(1000)), "{cells:?}");
        assert_eq!(cells[4].workload.to_string(), "PING");
    }

    #[test]
    fn a_list_can_be_set_to_other_values() {
        assert_eq!(
            titles(&["size=9", "clients=20,5"]),
            ["GET, size 9, clients 20", "GET, size 9, clients 5", "ping"]
        );
        assert_eq!(read(FILE, &["n=7"]).unwrap().cells[0].load.requests, Some(7));
        assert_eq!(
            read(FILE, &["m=7"]).unwrap_err(),
            "mine.toml: there is no parameter 'm'; there are clients, n, size"
        );
        assert!(
            read(FILE, &["size=64,many"]).unwrap_err().starts_with("mine.toml:12: "),
            "the line of the run"
        );
    }

    #[test]
    fn lists_can_advance_together_and_a_file_can_have_workloads() {
        let text = r#"together = [["batch", "parallel"]]
[parameters]
batch = [10, 50]
kind = ["a", "b"]
parallel = [20, 4]
[load]
requests = 5
clients = "$parallel"
[workload.mine]
[[workload.mine.operation]]
name = "ask"
steps = ["ECHO $kind"]
[[run]]
name = "x"
workload = "mine"
batching = "$batch"
"#;
        let cells = read(text, &[]).unwrap().cells;
        let titles: Vec<_> = cells.iter().map(SeriesCell::title).collect();
        let titles: Vec<_> = titles.iter().map(String::as_str).collect();
        let [a, b] = ["x, batch 10, parallel 20, kind a", "x, batch 10, parallel 20, kind b"];
        assert_eq!((&titles[..2], titles.len()), (&[a, b][..], 4));
        let last = &cells[3];
        assert_eq!(
            (last.load.clients, last.each, last.workload.operations[0].steps.len()),
            (Some(4), 50, 50)
        );
        assert_eq!(last.workload.operations[0].steps[0], "ECHO b");
        let longer = read(text, &["batch=1,2,3"]).unwrap_err();
        assert_eq!(
            longer,
            "mine.toml:13: the lists 'batch' and 'parallel' advance together, but have different lengths"
        );
        let broken = read(&text.replace("steps", "stps"), &[]).unwrap_err();
        assert!(broken.starts_with("mine.toml:13: the workload 'mine': unknown field `stps`"), "{broken}");
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let with = |lines: &str| format!("[load]\nrequests = 5\n{lines}");
        let run = "[[run]]\nname = \"a\"\n";
        for (text, error) in [
            ("abut = \"x\"".to_owned(), "mine.toml:1: unknown field `abut`, expected one of"),
            (with("[[run]]\nnam = \"a\""), "mine.toml:4: unknown field `nam`"),
            (with(""), "mine.toml: the series 'mine' has no [[run]]"),
            (with(run), "mine.toml:3: a run needs a workload or commands"),
            (with(&format!("{run}workload = \"zip\"")), "mine.toml:3: there is no workload 'zip'"),
            (with(&format!("{run}workload = \"./no.toml\"")), "mine.toml:3: ./no.toml: No such file"),
            (
                with(&format!("{run}workload = \"get\"\nset = {{ a = 1 }}")),
                "mine.toml:3: there is no parameter 'a'",
            ),
            (
                with(&format!("{run}workload = \"get\"\noperations = [\"PUT\"]")),
                "mine.toml:3: the workload 'get' has no operation 'PUT'; give one of GET, SET",
            ),
            (with(&format!("{run}commands = [\"GET 'x\"]")), "mine.toml:3: quotes of the step"),
            (format!("{run}workload = \"get\""), "mine.toml:1: the run 'a' would not end; give it requests"),
            (
                with(&format!("{run}workload = \"get\"\nbatching = 0")),
                "mine.toml:3: batching must be between 1 and 1000",
            ),
            (
                with(&format!("[parameters]\nx = 1\n{run}workload = \"get\"")),
                "mine.toml: the parameter x is not used: write $x into a run or [load]",
            ),
            (
                with(&format!("[parameters]\nx = []\n{run}workload = \"get\"")),
                "mine.toml:4: the list 'x' is empty",
            ),
            (
                with(&format!(
                    "{run}workload = \"get\"\n[published]\nsource = \"us\"\ncells = [{{ run = \"b\" }}]"
                )),
                "mine.toml:6: [[published]] names the run 'b', which does not exist",
            ),
            (
                with(&format!(
                    "{run}workload = \"get\"\n[published]\nsource = \"us\"\ncells = [{{ run = \"a\", at = {{ size = 4 }} }}]"
                )),
                "mine.toml:6: [[published]] names the list 'size'",
            ),
        ] {
            let found = read(&text, &[]).unwrap_err();
            assert!(found.starts_with(error), "{text}: {found}");
            assert!(!found.contains('\n'), "{found}");
        }
    }

    #[test]
    fn too_many_cells_are_refused() {
        let list = |name: &str| {
            format!("{name} = [{}]\n", (0..50).map(|n| n.to_string()).collect::<Vec<_>>().join(","))
        };
        let lists: String = ["a", "b", "c", "d", "e", "f"].map(list).concat();
        let run = "[load]\nrequests = 5\n[[run]]\nname = \"x\"\ncommands = [\"ECHO $a$b$c$d$e$f\"]";
        let found = read(&format!("[parameters]\n{lists}{run}"), &[]).unwrap_err();
        assert_eq!(found, "mine.toml:10: a series has at most 1000 cells");
    }
}
