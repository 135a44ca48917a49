//! The content of the config file. redyno also checks that no other user can write the file, because the file
//! contains commands.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use clap::Parser;
use rustix::fs::OFlags;
use toml::{Table, Value};

use crate::{
    cli::{load_args::LoadArgs, session_args::LookArgs, target_args::TargetArgs},
    endpoint::{Address, Target, parse_uri},
    runner::UsageError,
    untrusted,
};

/// The largest accepted size of the file, in bytes.
const LONGEST: u64 = 64 * 1024;
/// The long names of the options that the table of defaults may contain.
const DEFAULTS: [&str; 9] =
    ["theme", "ascii", "no-mouse", "clients", "pipeline", "data-size", "keys", "threads", "timeout"];
/// The options that the table of a target may contain.
const TARGET: [&str; 12] = [
    "address",
    "user",
    "db",
    "tls",
    "cacert",
    "cacertdir",
    "cert",
    "key",
    "sni",
    "tls-ca-only",
    "insecure",
    "password-command",
];
/// Options without a value.
const FLAGS: [&str; 5] = ["ascii", "no-mouse", "tls", "tls-ca-only", "insecure"];
const IN_CLEAR: &str = "the config file must contain no password: name a command that prints the password \
                        (password-command), or use --askpass or the environment variable REDISCLI_AUTH";

/// The options in a table of the file, parsed like options of the command line.
#[derive(Debug, Default, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
pub struct ConfigOptions {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub look: LookArgs,
}

/// A named target of the config file.
#[derive(Debug, Clone)]
pub struct NamedTarget {
    pub options: TargetArgs,
    pub password_command: Option<String>,
}

/// The content of the config file. Empty if there is no file.
#[derive(Debug, Default)]
pub struct ConfigFile {
    path: Option<PathBuf>,
    is_there: bool,
    tables: Table,
    pub defaults: ConfigOptions,
    targets: BTreeMap<String, NamedTarget>,
}

impl ConfigFile {
    /// Reads the config file.
    ///
    /// # Errors
    /// Fails if other users can write the file, or the file is invalid. The error is one line with the path of the
    /// file.
    pub fn read(path: Option<PathBuf>) -> Result<Self, UsageError> {
        let mut config = Self { path, ..Self::default() };
        let Some(path) = config.path.clone() else { return Ok(config) };
        let read = text(&path).and_then(|text| match text {
            Some(text) => config.take(&text, path.parent().unwrap_or(&path)),
            None => Ok(()),
        });
        read.map_err(|cause| UsageError::Line(format!("{}: {cause}", untrusted::path(&path))))?;
        Ok(config)
    }

    fn take(&mut self, text: &str, directory: &Path) -> Result<(), String> {
        self.is_there = true;
        self.tables = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |at| at.start);
            let line = text.bytes().take(before).filter(|byte| *byte == b'\n').count() + 1;
            format!("line {line}: {}", error.message().replace('\n', ", "))
        })?;
        for (name, table) in &self.tables {
            match (name.as_str(), table) {
                ("defaults", Value::Table(table)) => {
                    let found = options(
                        table,
                        &DEFAULTS,
                        "these set the look of the screen and numbers of the load; options that write to servers, keep \
                         keys or skip questions belong on the command line",
                    );
                    self.defaults = found
                        .and_then(|it| it.load.knobs(false).map(|_| it).map_err(|error| error.to_string()))
                        .map_err(|cause| format!("[defaults]: {cause}"))?;
                }
                ("targets", Value::Table(tables)) => {
                    for (name, table) in tables {
                        let found = target(name, table, directory);
                        let found = found.map_err(|cause| format!("[targets.{name}]: {cause}"))?;
                        self.targets.insert(name.clone(), found);
                    }
                }
                _ => {
                    return Err(format!(
                        "'{name}' is no table of the file; there are [defaults] and [targets.NAME]"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the target of this name.
    ///
    /// # Errors
    /// Fails if there is no such target.
    pub fn target(mut self, name: &str) -> Result<NamedTarget, UsageError> {
        let names = self.names().collect::<Vec<_>>().join(", ");
        let names = if names.is_empty() { "none".to_owned() } else { names };
        let none = format!("there is no target '@{name}'; there are {names}; config {self}");
        self.targets.remove(name).ok_or(UsageError::Line(none))
    }

    /// Returns the names of all targets, such as `@prod`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.targets.keys().map(|name| format!("@{name}"))
    }

    /// Returns the default of an option as written in the file. Returns `None` if the file does not set the option.
    /// Also returns `None` for the value `false`, because this value changes nothing.
    pub fn value_of(&self, name: &str) -> Option<String> {
        let value = self.tables.get("defaults")?.get(name)?;
        (value.as_bool() != Some(false)).then(|| written(value))
    }

    /// Returns a row for each target: name, address, and options without secrets.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        self.targets.iter().map(|(name, target)| {
            let table = self.tables["targets"][name].as_table().into_iter().flatten();
            let options = table.filter(|(key, _)| *key != "address").map(|(key, value)| match key.as_str() {
                "password-command" => "password ***".to_owned(),
                key => format!("{key} {}", written(value)),
            });
            let Target { address, dialect, .. } = target.options.server.clone().unwrap_or_default();
            let address = if dialect.needs_uri() { address.uri(dialect) } else { address.to_string() };
            vec![format!("@{name}"), address, options.collect::<Vec<_>>().join(", ")]
        })
    }
}

impl fmt::Display for ConfigFile {
    /// Writes the path of the file, or the path at which redyno expects it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.path {
            None => {
                f.write_str("file: none; its path is unknown, since neither XDG_CONFIG_HOME nor HOME is set")
            }
            Some(path) if self.is_there => write!(f, "file: {}", untrusted::path(path)),
            Some(path) => write!(f, "file: none; it would be {}", untrusted::path(path)),
        }
    }
}

/// Returns a value as text for output.
fn written(value: &Value) -> String {
    untrusted::text(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str())
}

/// Returns the text of the file, if the file exists.
fn text(path: &Path) -> Result<Option<String>, String> {
    let unread = |error: io::Error| format!("cannot read it: {error}");
    // Without NONBLOCK, opening a named pipe would wait for a writer.
    let file = match File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)
    {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        opened => opened.map_err(unread)?,
    };
    let about = file.metadata().map_err(unread)?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    refuse_others(path, &about)?;
    // For a link, the directories of both the link and its target must be safe.
    let real = path.canonicalize().map_err(unread)?;
    for directory in [path, &real].into_iter().filter_map(Path::parent) {
        refuse_others(directory, &fs::metadata(directory).map_err(unread)?)?;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it has more than {LONGEST} bytes, the limit for a config file"));
    }
    io::read_to_string(&bytes[..]).map(Some).map_err(|_| "it is no UTF-8 text".to_owned())
}

/// Refuses a file or directory if a user other than this user and root owns the file or directory, or can write to it.
fn refuse_others(path: &Path, about: &Metadata) -> Result<(), String> {
    let path = untrusted::path(path);
    if ![0, rustix::process::geteuid().as_raw()].contains(&about.uid()) {
        return Err(format!(
            "{path} belongs to another user, but the config file contains commands; make it yours with chown"
        ));
    }
    if about.mode() & 0o022 != 0 {
        return Err(format!("others can write {path}, but the config file contains commands; chmod go-w it"));
    }
    Ok(())
}

/// Returns the options of a table. Fails for an option that is not in `known`. The error message contains the `reason`.
fn options(table: &Table, known: &[&str], reason: &str) -> Result<ConfigOptions, String> {
    let mut words = Vec::new();
    for (key, value) in table {
        let is_flag = FLAGS.contains(&key.as_str());
        match value {
            _ if ["password", "pass"].contains(&key.as_str()) => return Err(IN_CLEAR.to_owned()),
            _ if !known.contains(&key.as_str()) => {
                return Err(format!("'{key}' is refused; this table takes {} ({reason})", known.join(", ")));
            }
            Value::Boolean(is_on) if is_flag => words.extend(is_on.then(|| format!("--{key}"))),
            Value::String(text) if !is_flag => words.push(format!("--{key}={text}")),
            Value::Integer(_) | Value::Float(_) if !is_flag => words.push(format!("--{key}={value}")),
            _ if is_flag => return Err(format!("{key} must be true or false")),
            _ => return Err(format!("{key} must be a text or a number")),
        }
    }
    ConfigOptions::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let what = text.split("\n\n").next().unwrap_or_default().split_whitespace();
        what.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
    })
}

fn target(name: &str, table: &Value, directory: &Path) -> Result<NamedTarget, String> {
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
        return Err("a name has letters, digits, '-', '_' and '.' only".to_owned());
    }
    let mut table = table.as_table().ok_or("it is no table")?.clone();
    let mut text = |key: &str| match table.remove(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(format!("{key} must be a text")),
        None => Ok(None),
    };
    let (address, password_command) = (text("address")?, text("password-command")?);
    let mut options = options(&table, &TARGET, "address, user and TLS")?.target;
    let address = address.ok_or("its address is missing, such as address = \"10.0.0.5:6379\"")?;
    let tls = &mut options.tls;
    for file in [&mut tls.cacert, &mut tls.cacertdir, &mut tls.cert, &mut tls.key].into_iter().flatten() {
        *file = directory.join(&*file);
    }
    let mut server = Target { address: Address::Unix(address.clone().into()), ..Target::default() };
    if !address.starts_with('/') {
        let uri = if address.contains("://") { address } else { format!("redis://{address}") };
        let parsed = parse_uri(&uri).map_err(|error| format!("address: {error}"))?;
        tls.tls |= parsed.tls;
        server = parsed.target;
    }
    if server.credentials.is_some() {
        return Err(format!("address: {IN_CLEAR}"));
    }
    if let Some((option, _)) = tls.given().next().filter(|_| !tls.tls) {
        let key = option.trim_start_matches('-');
        return Err(format!("{key} needs TLS; add tls = true, or remove {key}"));
    }
    options.server = Some(server);
    Ok(NamedTarget { options, password_command })
}

#[cfg(test)]
mod tests;
