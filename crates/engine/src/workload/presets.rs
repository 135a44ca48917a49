//! The built-in workloads.

mod records;
mod ycsb;
mod ycsb_properties;

pub use ycsb_properties::ycsb_parameters;

use std::{
    path::Path,
    str::FromStr,
    sync::{Arc, LazyLock, OnceLock},
};

use super::{Keyset, MAX_WEIGHT, Operation, Settings, Workload, WorkloadChoice, WorkloadError};

/// A built-in workload.
struct BuiltInWorkload {
    source: PresetText,
    /// The workload with the default values of its parameters. redyno makes each preset only when it is used. Making
    /// all presets would take half of the program's start time.
    usual: OnceLock<WorkloadChoice>,
}

/// How a preset is defined.
enum PresetText {
    /// The name and the text of a workload file that is compiled into the program.
    File(&'static str, &'static str),
    /// A function that creates the workload from its parameters.
    Made(ycsb::Make),
}

/// All presets, in the order in which they are listed.
static PRESETS: LazyLock<Vec<BuiltInWorkload>> = LazyLock::new(|| {
    let files = FILES.iter().map(|(name, text)| PresetText::File(name, text));
    let all = files.chain(ycsb::ALL.into_iter().map(PresetText::Made));
    all.map(|source| BuiltInWorkload { source, usual: OnceLock::new() }).collect()
});

/// Includes the files of presets with their names.
macro_rules! files {
    ($($name:literal),*) => {
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../assets/workloads/", $name, ".toml")))),*];
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
    "pubsub",
    "sharded-pubsub",
    "queue",
    "stream",
    "tracking",
    "keyspace",
    "rate-limiter",
    "search",
    "vectors",
    "vector-set",
    "opensearch",
    "opensearch-knn",
    "alibaba-cluster",
    "alibaba-threads",
    "alibaba-bitmap",
    "timeline-sets",
    "timeline-script",
    "timeline-cas"
);

impl BuiltInWorkload {
    fn usual(&self) -> &WorkloadChoice {
        self.usual.get_or_init(|| self.with(&Settings::default()).expect("a test makes every preset"))
    }

    fn with(&self, settings: &Settings) -> Result<WorkloadChoice, WorkloadError> {
        match &self.source {
            PresetText::File(name, text) => {
                if !text.contains("[parameters]") {
                    settings.only([])?;
                }
                WorkloadChoice::parse(text, (name, name), settings).map_err(WorkloadError::of)
            }
            PresetText::Made(make) => make(settings),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        match &self.source {
            PresetText::File(own, _) => *own == name,
            PresetText::Made(_) => self.usual().workload.name == name,
        }
    }
}

impl WorkloadChoice {
    /// Returns the preset called `text`. If `text` has a `/` or ends with `.toml`, it is the path of a
    /// workload file. The settings are values for the workload's parameters.
    ///
    /// # Errors
    /// Fails if the workload does not exist or is invalid, or if `settings` contains a parameter that the workload
    /// lacks.
    pub fn find(text: &str, settings: &Settings) -> Result<Self, WorkloadError> {
        Self::find_in(Path::new(""), text, settings)
    }

    /// Finds a workload as [`find`](Self::find) does, but with file paths relative to `directory`.
    ///
    /// # Errors
    /// The errors are the same as for [`find`](Self::find).
    pub fn find_in(directory: &Path, text: &str, settings: &Settings) -> Result<Self, WorkloadError> {
        if is_path(text) {
            return Self::read(&directory.join(text), settings).map_err(WorkloadError::of);
        }
        let preset =
            found(text).map_err(|error| invalid!("{error}, or a file by its path, such as ./mine.toml"))?;
        preset.with(settings)
    }

    /// Returns the preset called `name`, and the load that it suggests.
    ///
    /// # Errors
    /// Fails if there is no preset with this name.
    pub fn of_preset(name: &str) -> Result<Self, WorkloadError> {
        found(name).map(|preset| preset.usual().clone())
    }

    /// Returns the preset called `name` as the text of a workload file.
    ///
    /// # Errors
    /// The errors are the same as for [`find`](Self::find).
    pub fn preset_file(name: &str, settings: &Settings) -> Result<String, WorkloadError> {
        match found(name)?.source {
            PresetText::File(_, text) if settings.is_empty() => Ok(text.to_owned()),
            _ => Ok(Self::find(name, settings)?.to_string()),
        }
    }
}

/// Returns whether a text is the path of a file. A path has a `/`, or ends with `.toml`.
pub fn is_path(text: &str) -> bool {
    text.contains('/') || Path::new(text).extension().is_some_and(|end| end == "toml")
}

fn found(name: &str) -> Result<&'static BuiltInWorkload, WorkloadError> {
    PRESETS
        .iter()
        .find(|preset| preset.is_called(name))
        .ok_or_else(|| invalid!("there is no workload '{name}'; give one of {}", preset_names()))
}

const NO_RATIO: &str = "--ratio 0:0 sends nothing; give at least one side a weight, such as 1:10";

/// Returns the preset called `name`.
///
/// # Errors
/// Fails if there is no preset with this name. The message lists all presets.
pub fn preset(name: &str) -> Result<Arc<Workload>, WorkloadError> {
    found(name).map(|preset| Arc::clone(&preset.usual().workload))
}

/// Returns all presets.
pub fn presets() -> impl Iterator<Item = &'static Arc<Workload>> {
    PRESETS.iter().map(|preset| &preset.usual().workload)
}

/// Returns the names of all presets, as a list for messages and help texts.
pub fn preset_names() -> String {
    presets().map(|preset| preset.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the default workload: one SET for every ten GETs, as in memtier_benchmark.
pub fn default_workload() -> Arc<Workload> {
    Arc::clone(&PRESETS[0].usual().workload)
}

impl Workload {
    /// Creates the workload with `set` SETs for every `get` GETs.
    pub fn ratio(set: u32, get: u32) -> Arc<Self> {
        Arc::new(strings(set, get))
    }

    /// Parses memtier_benchmark's `SET:GET`.
    ///
    /// # Errors
    /// Fails if the text has another form, or both weights are 0.
    pub fn parse_ratio(text: &str) -> Result<Arc<Self>, WorkloadError> {
        let form = || invalid!("'{text}' is not a ratio SET:GET of two whole numbers, such as 1:10");
        let (set, get) = text.split_once(':').ok_or_else(form)?;
        let weight = |part: &str| u32::from_str(part.trim()).map_err(|_| form());
        match (weight(set)?, weight(get)?) {
            (0, 0) => Err(WorkloadError::of(NO_RATIO)),
            (set, get) if get.max(set) > MAX_WEIGHT => {
                Err(invalid!("the weights of a ratio must be at most {MAX_WEIGHT}, not '{text}'"))
            }
            (set, get) => Ok(Self::ratio(set, get)),
        }
    }
}

/// Creates a workload of GETs and SETs that use the same keys.
fn strings(set: u32, get: u32) -> Workload {
    let operations = vec![Operation::command("GET {key}", get), Operation::command("SET {key} {value}", set)];
    let keys = [("key".to_owned(), Keyset::default())].into();
    Workload { name: "ratio".to_owned(), keys, operations, ..Workload::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_lists_set_before_get() {
        assert_eq!(Workload::parse_ratio("1:10"), Ok(Workload::ratio(1, 10)));
        assert_eq!(Workload::ratio(1, 10).to_string(), "SET:GET 1:10");
        assert_eq!(Workload::parse_ratio("0:0"), Err(WorkloadError::of(NO_RATIO)));
        for bad in ["1", "1:", "a:b", "1:2:3", "-1:2"] {
            assert_eq!(
                Workload::parse_ratio(bad),
                Err(invalid!("'{bad}' is not a ratio SET:GET of two whole numbers, such as 1:10"))
            );
        }
    }

    #[test]
    fn an_unknown_preset_names_the_known_ones() {
        let message = preset("zip").unwrap_err().to_string();
        assert!(
            message.starts_with("there is no workload 'zip'; give one of cache, mixed, get, "),
            "{message}"
        );
    }

    #[test]
    fn every_preset_is_valid_and_shows_its_operations() {
        let said: Vec<_> = presets().map(|preset| (preset.check(), preset.to_string())).collect();
        let asks = ["SET:GET 1:10", "SET:GET 1:1", "GET", "SET", "INCR", "PING", "read:newest:write 10:5:1"];
        assert_eq!(said[..asks.len()], asks.map(|asked| (Ok(()), asked.to_owned())));
        assert!(said.iter().all(|(checked, _)| checked.is_ok()), "{said:?}");
        // For HTTP, every method that may change data counts as a command with literal keys.
        let named = |preset: &Workload| !preset.literal_writes().is_empty();
        assert!(presets().all(
            |preset| !preset.about.is_empty() && named(preset) == (preset.name.starts_with("opensearch"))
        ));
    }
}
