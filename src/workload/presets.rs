//! The workloads that have names of their own.

mod records;
mod ycsb;

use std::{
    path::Path,
    str::FromStr,
    sync::{Arc, LazyLock},
};

use thiserror::Error;

use super::{Chosen, FileError, Keyset, MAX_WEIGHT, Operation, ParameterError, Settings, Workload};

/// A workload with a name of its own.
struct Preset {
    /// As it is without settings.
    usual: Chosen,
    source: Source,
}

/// Where a preset comes from.
enum Source {
    /// A file inside of the program.
    File(&'static str),
    /// It is made of its parameters.
    Made(ycsb::Make),
}

/// All presets, in the order in which they are listed.
static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let files = FILES.iter().map(|(name, text)| of_file(name, text));
    files.chain(ycsb::ALL.into_iter().map(made)).collect()
});

/// The files of presets, by their names.
macro_rules! files {
    ($($name:literal),*) => {
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../assets/workloads/", $name, ".toml")))),*];
    };
}

files!(
    "cache",
    "mixed",
    "get",
    "set",
    "incr",
    "ping",
    "timeline",
    "sessions",
    "leaderboard",
    "queue",
    "stream",
    "rate-limiter",
    "alibaba-cluster",
    "alibaba-threads",
    "alibaba-bitmap",
    "timeline-sets",
    "timeline-script",
    "timeline-cas"
);

fn of_file(name: &'static str, text: &'static str) -> Preset {
    let usual = Chosen::parse(text, (name, name), &Settings::default());
    Preset { usual: usual.expect("a test reads every preset's file"), source: Source::File(text) }
}

fn made(make: ycsb::Make) -> Preset {
    let usual = make(&Settings::default()).expect("a test makes every preset");
    Preset { usual, source: Source::Made(make) }
}

/// Why a workload cannot be chosen.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ChoiceError {
    /// There is none of this name.
    #[error("{0}; a file is told by its path, such as ./mine.toml")]
    NoPreset(#[from] NoPreset),
    /// Its file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its parameters are.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl Chosen {
    /// The preset called `text`, or the workload of the file `text`, which has a `/` or ends with `.toml`; with these
    /// settings of its parameters.
    ///
    /// # Errors
    /// When there is none, or it is no workload, or has no such parameter.
    pub fn find(text: &str, settings: &Settings) -> Result<Self, ChoiceError> {
        Self::find_in(Path::new(""), text, settings)
    }

    /// The same with files beside one in `directory`.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_in(directory: &Path, text: &str, settings: &Settings) -> Result<Self, ChoiceError> {
        if is_path(text) {
            return Ok(Self::read(&directory.join(text), settings)?);
        }
        let preset = found(text)?;
        match &preset.source {
            Source::File(file) => {
                if !file.contains("[parameters]") {
                    settings.only([])?;
                }
                Ok(Self::parse(file, (text, text), settings)?)
            }
            Source::Made(make) => Ok(make(settings)?),
        }
    }

    /// The preset called `name`, with the load that it suggests.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_preset(name: &str) -> Result<Self, NoPreset> {
        found(name).map(|preset| preset.usual.clone())
    }

    /// What a file would say of the preset called `name`.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn preset_file(name: &str, settings: &Settings) -> Result<String, ChoiceError> {
        match found(name)?.source {
            Source::File(text) if settings.is_empty() => Ok(text.to_owned()),
            _ => Ok(Self::find(name, settings)?.to_string()),
        }
    }
}

/// Whether a text names a file: it has a `/`, or ends with `.toml`.
pub(crate) fn is_path(text: &str) -> bool {
    text.contains('/') || Path::new(text).extension().is_some_and(|end| end == "toml")
}

fn found(name: &str) -> Result<&'static Preset, NoPreset> {
    PRESETS.iter().find(|preset| preset.usual.workload.name == name).ok_or_else(|| NoPreset(name.to_owned()))
}

/// A name that is no preset's.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("there is no workload '{0}'; there are {names}", names = preset_names())]
pub struct NoPreset(String);

/// Why a text is no ratio.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RatioError {
    /// Not of the form `SET:GET`.
    #[error("'{0}' is not a ratio SET:GET of two whole numbers, such as 1:10")]
    Form(String),
    /// A side above [`MAX_WEIGHT`].
    #[error("the weights of a ratio go up to {MAX_WEIGHT}, '{0}' goes beyond")]
    TooLarge(String),
    /// Both sides are 0.
    #[error("a ratio of 0:0 asks for nothing; give at least one side a weight, such as 1:10")]
    Nothing,
}

/// The preset called `name`.
///
/// # Errors
/// When there is none; the message lists those there are.
pub fn preset(name: &str) -> Result<Arc<Workload>, NoPreset> {
    found(name).map(|preset| Arc::clone(&preset.usual.workload))
}

/// All presets.
pub fn presets() -> impl Iterator<Item = &'static Arc<Workload>> {
    PRESETS.iter().map(|preset| &preset.usual.workload)
}

/// The names of all presets, for a message or a help text.
pub fn preset_names() -> String {
    presets().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What is asked where nobody says: ten GET for each SET, as memtier_benchmark does.
pub fn usual() -> Arc<Workload> {
    Arc::clone(&PRESETS[0].usual.workload)
}

impl Workload {
    /// `set` SETs for every `get` GETs.
    pub fn ratio(set: u32, get: u32) -> Arc<Self> {
        Arc::new(strings(set, get))
    }

    /// Reads memtier_benchmark's `SET:GET`.
    ///
    /// # Errors
    /// When the text has another form, or asks for nothing.
    pub fn parse_ratio(text: &str) -> Result<Arc<Self>, RatioError> {
        let form = || RatioError::Form(text.to_owned());
        let (set, get) = text.split_once(':').ok_or_else(form)?;
        let weight = |part: &str| u32::from_str(part.trim()).map_err(|_| form());
        match (weight(set)?, weight(get)?) {
            (0, 0) => Err(RatioError::Nothing),
            (set, get) if get.max(set) > MAX_WEIGHT => Err(RatioError::TooLarge(text.to_owned())),
            (set, get) => Ok(Self::ratio(set, get)),
        }
    }
}

/// GETs and SETs of the same keys.
fn strings(set: u32, get: u32) -> Workload {
    let operations = vec![Operation::command("GET {key}", get), Operation::command("SET {key} {value}", set)];
    let keys = [("key".to_owned(), Keyset::default())].into();
    Workload { name: "ratio".to_owned(), keys, operations, ..Workload::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_set_before_get() {
        assert_eq!(Workload::parse_ratio("1:10"), Ok(Workload::ratio(1, 10)));
        assert_eq!(Workload::ratio(1, 10).to_string(), "GET:SET 10:1");
        assert_eq!(Workload::parse_ratio("0:0"), Err(RatioError::Nothing));
        for bad in ["1", "1:", "a:b", "1:2:3", "-1:2"] {
            assert_eq!(Workload::parse_ratio(bad), Err(RatioError::Form(bad.to_owned())));
        }
    }

    #[test]
    fn an_unknown_preset_names_the_known_ones() {
        let message = preset("zip").unwrap_err().to_string();
        assert!(
            message.starts_with("there is no workload 'zip'; there are cache, mixed, get, "),
            "{message}"
        );
    }

    #[test]
    fn every_preset_can_be_run_and_says_what_it_asks() {
        let said: Vec<_> = presets().map(|preset| (preset.check(), preset.to_string())).collect();
        let asks = ["GET:SET 10:1", "GET:SET 1:1", "GET", "SET", "INCR", "PING", "read:newest:write 10:5:1"];
        assert_eq!(said[..asks.len()], asks.map(|asked| (Ok(()), asked.to_owned())));
        assert!(said.iter().all(|(checked, _)| checked.is_ok()), "{said:?}");
        assert!(presets().all(|preset| !preset.about.is_empty() && preset.written_by_name().is_empty()));
    }
}
