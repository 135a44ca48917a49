//! The built-in series: published benchmark runs.

use std::path::Path;

use super::Series;
use crate::{
    experiment::WordsError,
    workload::{Settings, is_path},
};

/// The files of the series, by name.
macro_rules! files {
    ($($name:literal),*) => {
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../../assets/series/", $name, ".toml")))),*];
    };
}

files!(
    "redis-io",
    "tutorial",
    "tair-cluster",
    "tair-threads",
    "tair-memory",
    "tair-disk",
    "tair-bitmap",
    "tair-roaring",
    "tair-search",
    "redis-search",
    "redis-vectors",
    "redis-vector-set",
    "opensearch-search",
    "opensearch-vectors",
    "timeline-stores"
);

impl Series {
    /// Returns the built-in series called `text`. If `text` has a `/` or ends with `.toml`, `text` is the path of a
    /// file with a series. `settings` has values for the parameters.
    ///
    /// # Errors
    /// Fails if the series does not exist or is invalid, or if `settings` has a parameter that the series
    /// does not have.
    pub fn find(text: &str, settings: &Settings) -> Result<Self, WordsError> {
        if is_path(text) {
            return Self::read(Path::new(text), settings).map_err(WordsError::of);
        }
        let none = || {
            WordsError::of(format!(
                "there is no series '{text}'; give one of {}, or a file by its path, such as ./mine.toml",
                names()
            ))
        };
        let file = series_file(text).ok_or_else(none)?;
        Self::parse(file, (text, text), Path::new(""), settings).map_err(WordsError::of)
    }
}

/// Returns the text of the file of the built-in series `name`.
pub fn series_file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns the name and the description of each built-in series.
pub fn series_presets() -> impl Iterator<Item = (&'static str, String)> {
    // Reading a whole series takes much longer, because it makes the workloads of all runs.
    let about = |text: &str| Some(text.parse::<toml::Table>().ok()?.get("about")?.as_str()?.to_owned());
    FILES.iter().map(move |(name, text)| (*name, about(text).unwrap_or_default()))
}

fn names() -> String {
    FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{experiment::series::SeriesCell, workload::preset};

    #[test]
    fn each_cell_prefills_only_the_keys_that_its_operation_uses() {
        let prefilled = |name: &str, run: &str, operation: &str| {
            let series = Series::find(name, &Settings::default()).unwrap();
            let is_cell =
                |cell: &&SeriesCell| cell.run == run && cell.workload.operations[0].name == operation;
            let cell = series.cells.iter().find(is_cell).unwrap();
            cell.workload
                .prefill
                .steps
                .iter()
                .map(|step| step.split(' ').next().unwrap().to_owned())
                .collect()
        };
        let first = |operation: &str| -> Vec<String> { prefilled("redis-io", "-n 100000", operation) };
        assert_eq!((first("PING"), first("INCR")), (Vec::new(), Vec::new()));
        assert_eq!([first("SET"), first("ZPOPMIN"), first("LPOP")], [["SET"], ["ZADD"], ["RPUSH"]]);
        let search: Vec<String> = prefilled("redis-search", "term", "term");
        assert_eq!(search, ["HSET"], "a search finds keys without their names");
    }

    #[test]
    fn every_series_has_its_own_name_and_a_description() {
        for (name, about) in series_presets() {
            let series = Series::find(name, &Settings::default()).unwrap_or_else(|error| panic!("{error}"));
            assert!(series.name == name && !about.is_empty() && series.about == about, "{name}");
            assert!(preset(name).is_err(), "{name} is a workload's name");
        }
    }
}
