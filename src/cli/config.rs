//! The config file: defaults for options, named targets, and how redyno adds both to a command. `redyno
//! config` prints the values in use.
//!
//! ```text
//!                     ┌ [defaults] ──► options that were not given
//! config.toml ─ read ─┤
//!                     └ [targets.NAME] ──► @NAME: address and options ┐
//!            password-command, --askpass ─────────────────────────────┴─► TargetArgs
//! ```
//! If several sources set an option, the first of these counts: the command line, the target, the defaults of
//! the file, the built-in default.

mod file;
mod password;

use std::env;

use anyhow::Context as _;
use clap::Args;

use self::file::{ConfigFile, ConfigOptions};
use super::{
    command::{Arguments, Invocation, PlanResult},
    load_args::LoadArgs,
    recordings,
    target_args::{PASSWORD_VARIABLE, TargetArgs},
};
use crate::{
    endpoint::Password,
    runner::{Failure, UsageError, text_plan},
    tui::theme::{Theme, ThemeChoice},
    units::aligned,
    untrusted,
};

const AFTER: &str = "\
[defaults] sets default values for the look of the screen and for load options such as clients. Write long option \
names without --. [targets.NAME] defines the target @NAME:
  [defaults]
  theme = \"dark\"
  clients = 100

  [targets.prod]
  address = \"10.0.0.5:6379\"    # or a path, or a URI such as memcached://10.0.0.5
  user = \"ann\"
  tls = true
  cacert = \"ca.pem\"            # beside the config file
  password-command = \"pass show redis/prod\"

The file must not contain a password. Other users must not have write access to the file, because redyno runs the \
commands in it.

Examples:
  redyno config
  redyno @prod
  redyno versus @prod redis://127.0.0.1";

/// The arguments of `redyno config`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct ConfigArgs {}

impl Arguments for ConfigArgs {
    fn plan(self: Box<Self>, given: Invocation) -> PlanResult {
        Ok(text_plan(text(&read(given.is_real)?)))
    }
}

/// Reads the config file if the command will be carried out (`is_real`). Otherwise returns an empty config.
fn read(is_real: bool) -> Result<ConfigFile, UsageError> {
    let place = || Some(recordings::own_directory("XDG_CONFIG_HOME", ".config")?.join("config.toml"));
    ConfigFile::read(is_real.then(place).flatten())
}

/// Returns the options that the file sets for all commands.
///
/// # Errors
/// Fails if the file is invalid.
pub(super) fn defaults(given: Invocation) -> Result<ConfigOptions, UsageError> {
    Ok(read(given.is_real)?.defaults)
}

/// Returns the names of all targets, such as `@prod`. Returns no names if the file is invalid.
pub(super) fn target_names() -> Vec<String> {
    read(true).map(|file| file.names().collect()).unwrap_or_default()
}

/// Adds the options and the password of the named target to `args`, unless `args` already contain them. Requests a
/// password only if `asks` is set: the command will then connect to the target.
///
/// # Errors
/// Fails if there is no such target, if the file is invalid, or if no password can be obtained.
pub(super) fn resolve(args: &mut TargetArgs, given: Invocation, asks: bool) -> Result<(), Failure> {
    let mut command = None;
    if let Some(name) = &args.named {
        let found = read(given.is_real)?.target(name)?;
        command = found.password_command;
        args.follow(found.options);
    }
    let place = || format!("target '@{}'", args.named.as_deref().unwrap_or_default());
    if args.password.is_none() && (args.askpass || command.is_some()) {
        args.password = Some(match command {
            _ if !asks || !given.is_real => Password::new("not asked for"),
            Some(command) if !args.askpass => password::password_of_command(&command).with_context(place)?,
            _ => password::ask()?,
        });
    }
    Ok(())
}

/// Returns the default values of options, and their origin.
fn text(file: &ConfigFile) -> String {
    let set = |variable: &str| env::var_os(variable).is_some_and(|value| !value.is_empty());
    let load = LoadArgs::default();
    let knobs = load.knobs(false).unwrap_or_default();
    let theme = Theme::from_env(ThemeChoice::default(), false);
    let built_in = [
        ("theme", if theme.has_colours() { "auto" } else { "mono" }.to_owned(), !theme.has_colours()),
        ("ascii", (!theme.has_braille()).to_string(), !theme.has_braille()),
        ("no-mouse", false.to_string(), false),
        ("clients", knobs.clients.to_string(), false),
        ("pipeline", knobs.pipeline.to_string(), false),
        ("data-size", knobs.value_size.to_string(), false),
        ("keys", knobs.keyspace.to_string(), false),
        ("threads", load.worker_threads().to_string(), false),
        ("timeout", load.reply_timeout().as_secs().to_string(), false),
        ("password", if set(PASSWORD_VARIABLE) { "***" } else { "none" }.to_owned(), set(PASSWORD_VARIABLE)),
        ("recordings", untrusted::path(&recordings::directory()), set("XDG_STATE_HOME")),
    ];
    let row = |(name, usual, is_environments): (&str, String, bool)| {
        let from = if is_environments { "environment" } else { "built in" };
        let (value, from) = file.value_of(name).map_or((usual, from), |value| (value, "file"));
        vec![name.to_owned(), value, from.to_owned()]
    };
    let heads = |heads: [&str; 3]| vec![heads.map(str::to_owned).to_vec()];
    let settings: Vec<_> = heads(["option", "value", "from"]).into_iter().chain(built_in.map(row)).collect();
    let mut targets = heads(["target", "address", "options"]);
    targets.extend(file.rows());
    let targets =
        if targets.len() > 1 { "\n".to_owned() + &aligned(&targets, |_| false) } else { String::new() };
    format!("{file}\n\n{}{targets}", aligned(&settings, |_| false))
}
