//! Reads and writes workload files in TOML. Unknown fields are errors, and an error names its line.
//!
//! ```text
//! text ──► [parameters] and --set ──► $name in texts replaced ──► fields ──► checked ──► WorkloadChoice
//! ```

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{
    HttpFields, Keyset, MAX_VALUE_SIZE, Operation, Receivers, Settings, Steps, Suggested, ValueKind,
    Workload, parameters,
};

/// The maximum size of a file in bytes.
const LONGEST: u64 = 1 << 20;

/// A workload with the load settings that it suggests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadChoice {
    /// The workload.
    pub workload: Arc<Workload>,
    /// The suggested load settings.
    pub load: Suggested,
}

/// An error in a file, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadFileError {
    /// The path of the file.
    pub file: String,
    /// The number of the line, from 1, if it is known.
    pub line: Option<usize>,
    /// The reason, and what to write instead.
    pub cause: String,
}

impl std::error::Error for WorkloadFileError {}

impl fmt::Display for WorkloadFileError {
    /// Writes the error in the form `mine.toml:3: unknown field …`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.cause),
            None => write!(f, "{}: {}", self.file, self.cause),
        }
    }
}

/// The content of a workload file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    about: String,
    /// The parameters. Before the text is parsed, the value of `name` replaces `$name` in the text.
    #[serde(default, rename = "parameters", skip_serializing)]
    _parameters: BTreeMap<String, toml::Value>,
    #[serde(default, skip_serializing_if = "Suggested::is_empty")]
    load: Suggested,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, Spanned<Keyset>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, Spanned<ValueKind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    receivers: Option<Receivers>,
    #[serde(default)]
    operation: Vec<Spanned<Operation>>,
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    setup: Steps,
    #[serde(default, skip_serializing_if = "Steps::is_empty")]
    prefill: Steps,
    #[serde(default, skip_serializing_if = "HttpFields::is_empty")]
    http: HttpFields,
}

impl WorkloadFile {
    fn of(WorkloadChoice { workload, load }: &WorkloadChoice) -> Self {
        let Workload { name, about, keys, values, receivers, operations, setup, prefill, http, .. } =
            Workload::clone(workload);
        Self {
            name: Some(name),
            about,
            _parameters: BTreeMap::new(),
            load: load.clone(),
            keys: keys.into_iter().map(|(name, keys)| (name, anywhere(keys))).collect(),
            values: values.into_iter().map(|(name, kind)| (name, anywhere(kind))).collect(),
            receivers,
            operation: operations.into_iter().map(anywhere).collect(),
            setup,
            prefill,
            http,
        }
    }

    /// Returns the workload of the file. The workload gets the name `name` if the file contains no name.
    fn workload(self, name: &str) -> Workload {
        let Self { about, keys, values, receivers, operation, setup, prefill, http, .. } = self;
        Workload {
            name: self.name.unwrap_or_else(|| name.to_owned()),
            about,
            keys: keys.into_iter().map(|(name, keys)| (name, keys.into_inner())).collect(),
            values: values.into_iter().map(|(name, kind)| (name, kind.into_inner())).collect(),
            receivers,
            operations: operation.into_iter().map(Spanned::into_inner).collect(),
            setup,
            prefill,
            http,
            ..Workload::default()
        }
    }
}

/// Wraps a value that has no position in the text.
fn anywhere<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

/// An error with its position in a text.
pub struct PositionedError {
    at: Option<usize>,
    cause: String,
}

impl PositionedError {
    /// Creates an error at byte `at` of the text.
    pub fn at(at: usize, cause: impl fmt::Display) -> Self {
        Self { at: Some(at), cause: cause.to_string() }
    }

    /// Creates an error without a position in the text.
    pub fn anywhere(cause: impl fmt::Display) -> Self {
        Self { at: None, cause: cause.to_string() }
    }

    /// Returns the error with the name of the file, and with the line number in `text`.
    pub fn in_file(self, file: &str, text: &str) -> WorkloadFileError {
        let line = |at| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        WorkloadFileError { file: file.to_owned(), line: self.at.map(line), cause: self.cause }
    }
}

impl From<toml::de::Error> for PositionedError {
    fn from(error: toml::de::Error) -> Self {
        let cause = error.message().replace('\n', ", ");
        Self { at: error.span().map(|span| span.start), cause }
    }
}

impl WorkloadChoice {
    /// Reads the workload file `path`, with these values for its parameters.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is invalid. The error names the file, and the line if the line is known.
    pub fn read(path: &Path, settings: &Settings) -> Result<Self, WorkloadFileError> {
        let file = path.display().to_string();
        let text = text_of(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&text, (&file, &name), settings)
    }

    /// Reads a workload from a table of another file. The workload gets the name `name` if the table contains no name.
    ///
    /// # Errors
    /// Fails if the table is not a valid workload.
    pub fn of_table(name: &str, table: &toml::Table, settings: &Settings) -> Result<Self, String> {
        let text = toml::to_string(table).map_err(|error| error.to_string())?;
        parse(&text, name, settings).map_err(|wrong| wrong.cause)
    }

    /// Parses the text of a workload file. The workload gets the name `name` if the text contains no name.
    ///
    /// # Errors
    /// The errors are the same as for [`read`](Self::read).
    pub(super) fn parse(
        text: &str,
        (file, name): (&str, &str),
        settings: &Settings,
    ) -> Result<Self, WorkloadFileError> {
        parse(text, name, settings).map_err(|wrong| wrong.in_file(file, text))
    }
}

/// Reads the text of a file that a user has written: a workload, a series or a script.
///
/// # Errors
/// Fails if the file cannot be read, or is too long.
pub fn text_of(path: &Path) -> Result<String, WorkloadFileError> {
    let wrong = |cause| WorkloadFileError { file: path.display().to_string(), line: None, cause };
    let mut bytes = Vec::new();
    // The reported size of a device or a pipe has no meaning.
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
    let text = read.and_then(|_| io::read_to_string(&bytes[..]));
    if bytes.len() as u64 > LONGEST {
        return Err(wrong(format!("it has more than {LONGEST} bytes, the limit for such a file")));
    }
    text.map_err(|error| wrong(error.to_string()))
}

fn parse(text: &str, name: &str, settings: &Settings) -> Result<WorkloadChoice, PositionedError> {
    let table: toml::Table = text.parse()?;
    let filled = parameters::fill(text, &table, settings).map_err(PositionedError::anywhere)?;
    let in_text = |at| line_start(text, &filled, at);
    let written: WorkloadFile = toml::from_str(&filled).map_err(|error| {
        let wrong = PositionedError::from(error);
        PositionedError { at: wrong.at.map(in_text), ..wrong }
    })?;
    let at = |span: std::ops::Range<usize>, error| PositionedError::at(in_text(span.start), error);
    for (name, keys) in &written.keys {
        keys.get_ref().check(name, 1).map_err(|error| at(keys.span(), error))?;
    }
    for (name, kind) in &written.values {
        kind.get_ref().check_named(name, MAX_VALUE_SIZE).map_err(|error| at(kind.span(), error))?;
    }
    let spans: Vec<_> = written.operation.iter().map(Spanned::span).collect();
    let load = written.load.clone();
    let workload = written.workload(name).with_step_definitions();
    workload.check_operations().map_err(|(place, error)| match spans.get(place) {
        Some(span) => at(span.clone(), error),
        None => PositionedError::anywhere(error),
    })?;
    workload.check().map_err(PositionedError::anywhere)?;
    Ok(WorkloadChoice { workload: Arc::new(workload), load })
}

/// Converts a position in `filled` to the beginning of the same line in `text`. `filled` is the text after its
/// parameters were replaced. Replacing parameters does not change line numbers.
pub fn line_start(text: &str, filled: &str, at: usize) -> usize {
    let line = filled[..at].matches('\n').count();
    text.match_indices('\n').nth(line.wrapping_sub(1)).map_or(0, |(end, _)| end + 1)
}

impl fmt::Display for WorkloadChoice {
    /// Writes the workload and its load settings as the text of a workload file.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&toml::to_string_pretty(&WorkloadFile::of(self)).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::presets;

    const FILE: &str = r#"
about = "posts by a few, read by all"

[parameters]
posts = "1k"
oldest = 3600

[load]
clients = 20
data-size = "1k"

[keys.post]
prefix = "post:"
count = "$posts"

[[operation]]
name = "read"
weight = 10
steps = ["GET {post}"]

[[operation]]
name = "write"
together = "multi"
steps = ["SET {post} {value} EX {number 60..$oldest}", "EVAL 'return $posts_of' 0"]

[prefill]
steps = ["SET {post} {value}"]
"#;

    fn read(text: &str, settings: &[&str]) -> Result<WorkloadChoice, String> {
        let settings = settings.iter().map(|set| set.parse().unwrap()).collect::<Vec<_>>();
        WorkloadChoice::parse(text, ("mine.toml", "mine"), &Settings::from(settings))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_contains_operations_keys_and_suggested_load_settings() {
        let chosen = read(FILE, &[]).unwrap();
        let workload = &chosen.workload;
        assert_eq!((workload.name.as_str(), workload.to_string()), ("mine", "read:write 10:1".to_owned()));
        assert_eq!(workload.keys["post"].count, Some(1000));
        assert_eq!(workload.operations[1].steps[0], "SET {post} {value} EX {number 60..3600}");
        assert_eq!(workload.operations[1].steps[1], "EVAL 'return $posts_of' 0", "that is no parameter");
        assert_eq!((chosen.load.clients, chosen.load.data_size), (Some(20), Some(1000)));
    }

    #[test]
    fn parameters_are_set_by_name() {
        let chosen = read(FILE, &["posts=2M", "oldest=61"]).unwrap();
        assert_eq!(chosen.workload.keys["post"].count, Some(2_000_000));
        assert_eq!(chosen.workload.operations[1].steps[0], "SET {post} {value} EX {number 60..61}");
        let unknown = read(FILE, &["post=1"]).unwrap_err();
        assert_eq!(unknown, "mine.toml: there is no parameter 'post'; there are oldest, posts");
        for number in ["-1", "many", ""] {
            let error = read(FILE, &[&format!("oldest={number}")]).unwrap_err();
            assert!(error.ends_with("it must be a number"), "{error}");
        }
        let none = read("[[operation]]\nname = \"a\"\nsteps = [\"PING\"]", &["a=1"]).unwrap_err();
        assert_eq!(none, "mine.toml: there is no parameter 'a'; this workload has none");
        let broken = read(FILE, &["posts=\"\n"]).unwrap_err();
        assert!(broken.starts_with("mine.toml: the value of 'posts'"), "{broken}");
    }

    #[test]
    fn an_error_is_reported_with_its_line() {
        let operation = "name = \"a\"\nsteps = [\"GET {post}\"]";
        for (text, error) in [
            ("nam = \"x\"", "mine.toml:1: unknown field `nam`, expected one of"),
            ("\n\n[keys.post]\nprefx = \"a\"", "mine.toml:4: unknown field `prefx`"),
            ("[[operation]]\nname = \"a\"\nwieght = 1", "mine.toml:3: unknown field `wieght`"),
            ("[[operation]]\nname = \"a\"\nweight = -1", "mine.toml:3: "),
            ("name = \"x", "mine.toml:1: "),
            ("", "mine.toml: the workload 'mine' sends nothing"),
        ] {
            let refused = read(text, &[]).unwrap_err();
            assert!(refused.starts_with(error), "{text}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
        let heavy = format!(
            "\n[[operation]]\n{operation}\n\n[[operation]]\nname = \"b\"\nweight = \"2M\"\nsteps = [\"PING\"]"
        );
        assert_eq!(
            read(&heavy, &[]).unwrap_err(),
            "mine.toml:6: the weights of operations must be at most 1000000, but 'b' has more"
        );
        let twice = format!("[[operation]]\n{operation}\n[[operation]]\n{operation}");
        assert_eq!(
            read(&twice, &[]).unwrap_err(),
            "mine.toml:4: two operations are called 'a'; rename one of them"
        );
    }

    #[test]
    fn an_error_without_an_operation_has_no_line() {
        let keys: String = (0..65).map(|n| format!("[keys.k{n}]\n")).collect();
        assert_eq!(
            read(&keys, &[]).unwrap_err(),
            "mine.toml: a workload can have at most 64 sets of keys, not 65"
        );
    }

    #[test]
    fn the_line_of_an_error_does_not_depend_on_the_values_of_parameters() {
        let text = "[parameters]\nlong = \"long enough for a whole line of text\"\n\n[[operation]]\nname = \"a\"\n\
                    steps = [\"ECHO '$long'\"]\nwieght = 1\n\n[prefill]\n";
        for value in ["x".repeat(200), "x".to_owned()] {
            let error = read(text, &[&format!("long={value}")]).unwrap_err();
            assert!(error.starts_with("mine.toml:7: unknown field `wieght`"), "{error}");
        }
    }

    #[test]
    fn every_printed_preset_is_read_back() {
        for preset in presets() {
            let chosen = WorkloadChoice { workload: Arc::clone(preset), load: Suggested::default() };
            assert_eq!(read(&chosen.to_string(), &[]), Ok(chosen), "{}", preset.name);
        }
        let chosen = read(FILE, &[]).unwrap();
        assert_eq!(read(&chosen.to_string(), &[]), Ok(chosen));
    }
}
