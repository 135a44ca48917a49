//! The table of modes and of the options that have an effect in each mode. If an option has no effect in the
//! chosen mode, redyno reports an error.
//!
//! ```text
//!                screen  tour   lines   plan, verify  latency  history  dist  intrinsic
//! -h -p -u -a …    ×              ×           ×           ×        ×       ×
//! -c -P --rate …   ×           with load      ×
//! --theme …        ×      ×
//! -i               ×      ×                               ×        ×       ×
//! ```

use std::fmt;

use clap::{Arg, ArgMatches, CommandFactory, parser::ValueSource};

use super::args::CommandLine;
use crate::{compare::Condition, compat::redis_cli, knobs::Knobs, runner::UsageError};

/// The modes of the program without a subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunMode {
    Screen,
    /// The screen, with the built-in server as the target and with load.
    Tour,
    /// Printed lines, because stdout is not a terminal. Options of the screen are allowed here, because an
    /// alias or a script may contain them.
    Piped,
    Headless,
    /// `--plan`. All options of a session are allowed.
    Plan,
    /// `--verify`. All options of a session are allowed.
    Verify,
    Oneshot(redis_cli::OneshotMode),
}

impl RunMode {
    fn of(line: &CommandLine, has_terminal: bool) -> Self {
        match line.oneshot.mode() {
            _ if line.session.plan => Self::Plan,
            _ if line.session.verify => Self::Verify,
            Some(mode) => Self::Oneshot(mode),
            None if line.session.headless => Self::Headless,
            None if line.session.tour => Self::Tour,
            None if has_terminal => Self::Screen,
            None => Self::Piped,
        }
    }

    /// Returns whether the mode runs no session, but accepts the options of a session.
    fn is_about_sessions(self) -> bool {
        matches!(self, Self::Plan | Self::Verify)
    }

    fn is_oneshot(self) -> bool {
        matches!(self, Self::Oneshot(_))
    }
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Screen => f.write_str("on the screen"),
            Self::Tour => f.write_str("with --tour"),
            Self::Piped => f.write_str("without a screen"),
            Self::Headless => f.write_str("with --headless"),
            Self::Plan => f.write_str("with --plan"),
            Self::Verify => f.write_str("with --verify"),
            Self::Oneshot(mode) => write!(f, "with {}", mode.flag()),
        }
    }
}

/// The modes in which an option has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionScope {
    /// The option has an effect in every mode that connects to a server.
    Server,
    /// The option has an effect in a session.
    Session,
    /// The option has an effect in a session with load. On the screen, the user can turn the load on at any time.
    Load,
    /// The option has an effect at the end of a session without a screen.
    Lines,
    /// The option has an effect in a session, and turns the load on.
    Experiment,
    /// The option changes the look of the screen.
    Look,
    /// The option has an effect in modes that show results at intervals, such as `--latency-history` and the
    /// screen.
    Windows,
    /// The option has an effect in some of redis-cli's modes. In other modes, the code that plans the mode refuses the
    /// option.
    Oneshot,
    /// The option has an effect in some of redis-cli's modes and in some sessions. In other modes and sessions, the
    /// code that plans them refuses the option.
    Form,
}

impl OptionScope {
    fn includes(self, mode: RunMode) -> bool {
        match self {
            Self::Server => {
                !matches!(mode, RunMode::Oneshot(redis_cli::OneshotMode::IntrinsicLatency(_)) | RunMode::Tour)
            }
            Self::Session => !mode.is_oneshot(),
            Self::Load => !mode.is_oneshot() && mode != RunMode::Tour,
            Self::Experiment => !mode.is_oneshot() && !mode.is_about_sessions() && mode != RunMode::Tour,
            Self::Lines => matches!(mode, RunMode::Piped | RunMode::Headless),
            Self::Look => matches!(mode, RunMode::Screen | RunMode::Tour | RunMode::Piped),
            Self::Windows => mode != RunMode::Headless && !mode.is_about_sessions(),
            Self::Oneshot => mode.is_oneshot(),
            Self::Form => !mode.is_about_sessions(),
        }
    }

    /// Returns the modes in which an option has an effect. The modes follow from the option's heading in the help, with
    /// some exceptions.
    fn of(option: &Arg) -> Self {
        match (option.get_id().as_str(), option.get_help_heading()) {
            ("warmup" | "requests", _) => Self::Load,
            ("fail_if" | "base" | "abort_if", _) => Self::Lines,
            ("find" | "sweep" | "script", _) => Self::Experiment,
            ("theme" | "no_mouse", _) => Self::Look,
            // --yes is consent and not a setting: a script may always pass it. --ascii also applies to printed lines.
            ("load" | "no_load" | "yes" | "ascii" | "one_node" | "nodes" | "hash", _) => Self::Session,
            ("interval", _) => Self::Windows,
            ("json", _) => Self::Form,
            (_, Some("Target" | "TLS")) => Self::Server,
            (_, Some("Load" | "Fleet")) => Self::Load,
            (_, Some("Session")) => Self::Session,
            (_, Some(_)) => Self::Oneshot,
            // These are help and version, after which clap ends the program.
            (_, None) => Self::Form,
        }
    }
}

/// Returns the options on the command line.
fn options(given: &ArgMatches) -> Vec<Arg> {
    let is_given =
        |option: &&Arg| given.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine);
    CommandLine::command().get_arguments().filter(is_given).cloned().collect()
}

/// Refuses options that have no effect in this mode.
///
/// # Errors
/// Fails if an option has no effect. The error names the option and the mode.
pub fn check_mode(given: &ArgMatches, line: &CommandLine, has_terminal: bool) -> Result<(), UsageError> {
    let mode = RunMode::of(line, has_terminal);
    let needless = options(given).into_iter().find(|option| !OptionScope::of(option).includes(mode));
    let Some(option) = needless else { return Ok(()) };
    // In the modes of redis-cli, -n is the database.
    let is_db = option.get_id() == "requests" && mode.is_oneshot();
    let option = if is_db { option.short(None) } else { option };
    match option.get_id().as_str() {
        "cursor" | "top" if !mode.is_oneshot() => Err(refused(&option, "without --keystats")),
        _ => Err(refused(&option, &mode.to_string())),
    }
}

/// Refuses options that have no effect in a session without a screen that starts with these load settings
/// (knobs).
///
/// # Errors
/// Fails if an option has no effect. The error names the option and the mode.
pub fn check_load(given: &ArgMatches, line: &CommandLine, knobs: &Knobs) -> Result<(), UsageError> {
    let of_settings = line.session.fail_if.iter().find(|condition| condition.is_of_settings());
    if let Some(condition) = of_settings.filter(|_| line.experiment.is_given()) {
        return Err(UsageError::of(format!(
            "--fail-if '{condition}' is about a setting that the experiment changes; give a condition on a result, such \
             as 'errors > 0'"
        )));
    }
    if knobs.load {
        return line.load.check_rate(knobs.rate.is_some() || line.experiment.is_given());
    }
    // Without a screen, knobs do not change.
    let with = if line.load.no_load { "with --no-load" } else { "without load (add --load)" };
    let of_load = |condition: &Condition| !condition.is_of_pings();
    if let Some(condition) = line.session.abort_if.iter().find(|condition| of_load(condition)) {
        return Err(UsageError::of(format!(
            "--abort-if '{condition}' has no effect {with}; give a condition on PING, such as 'ping_p99 > 5ms'"
        )));
    }
    let is_needless = |option: &&Arg| OptionScope::of(option) == OptionScope::Load;
    options(given).iter().find(is_needless).map_or(Ok(()), |option| Err(refused(option, with)))
}

fn refused(option: &Arg, with: &str) -> UsageError {
    UsageError::of(format!("{} has no effect {with}; leave it out", option_text(option)))
}

/// Returns an option as the user writes it, such as `-n` or `--rate`.
fn option_text(option: &Arg) -> String {
    match (option.get_short(), option.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, long) => format!("--{}", long.unwrap_or(option.get_id().as_str())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{FromArgMatches, Parser};

    use super::*;

    /// Returns all options, with the modes in which they have an effect.
    fn all_options() -> Vec<(String, OptionScope)> {
        let command = CommandLine::command();
        command.get_arguments().map(|option| (option.get_id().to_string(), OptionScope::of(option))).collect()
    }

    /// Values for options that do not accept a number.
    const VALUES: &[(&str, &str)] = &[
        ("uri", "redis://h"),
        ("cert", "f --key=f"),
        ("key", "f --cert=f"),
        ("arrivals", "poisson --rate=5"),
        ("backlog", "shed --rate=5"),
        ("rhythm", "spread"),
        ("think", "5ms"),
        ("session_length", "30s"),
        ("read_from", "replica"),
        ("find", "p99<1ms"),
        // The underscore becomes a blank in the code below.
        ("sweep", "clients_1..9"),
        ("script", "/dev/null"),
        ("workload", "get"),
        ("receivers", "5 --workload=pubsub"),
        ("distribution", "latest"),
        ("set", "a=1 --workload=get"),
        ("maxdocs", "5 --dataset=f"),
        ("speed", "2 --trace=f"),
        ("hash", "ketama"),
        ("ratio", "1:1"),
        ("threads", "1"),
        ("cpus", "0"),
        ("io", "epoll"),
        ("key_prefix", "mine:"),
        ("record_rotate", "1h --record=f"),
        ("export", "csv:f"),
        ("fail_if", "p99>1ms"),
        ("abort_if", "p99>1ms"),
        ("base", "f --fail-if=p99>1ms"),
        ("push", "otlp:http://h"),
        ("push_every", "5 --push=otlp:http://h"),
        ("push_headers", "f --push=otlp:http://h"),
        ("agents", "2 --bus=redis://h"),
        ("bus", "redis://h --agents=2"),
        ("name", "n --agents=2 --bus=redis://h"),
        ("theme", "dark"),
        ("latency_percentiles", "50"),
    ];

    /// Returns the error for `redyno LINE`, if redyno refuses this command line.
    fn refusal(line: &str, has_terminal: bool) -> Option<String> {
        let words =
            std::iter::once("redyno").chain(line.split_whitespace()).map(|word| word.replace('_', " "));
        let given =
            CommandLine::command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
        let parsed = CommandLine::from_arg_matches(&given).unwrap();
        let checked = check_mode(&given, &parsed, has_terminal).and_then(|()| {
            let is_load = parsed.session.requests.is_some() || parsed.experiment.is_given();
            match RunMode::of(&parsed, has_terminal) {
                RunMode::Piped | RunMode::Headless => {
                    check_load(&given, &parsed, &parsed.load.knobs(is_load).unwrap())
                }
                _ => Ok(()),
            }
        });
        checked.err().map(|refused| refused.to_string())
    }

    fn option(name: &str) -> String {
        let command = CommandLine::command();
        let takes = command.get_arguments().find(|option| option.get_id() == name).unwrap();
        let named = VALUES.iter().find(|(named, _)| *named == name).map(|(_, value)| *value);
        let takes_values = takes.get_action().takes_values();
        assert!(takes_values || named.is_none(), "{name}");
        let value = named.unwrap_or(if takes_values { "5" } else { "" });
        format!("{} {value}", option_text(takes))
    }

    /// A command line for each mode, and whether stdout is a terminal.
    const LINES: [(&str, bool); 9] = [
        ("", true),
        ("--load", false),
        ("--headless --load", false),
        ("--plan", true),
        ("--verify", true),
        ("--latency", false),
        ("--latency-history", true),
        ("--latency-dist", true),
        ("--intrinsic-latency 1", false),
    ];

    #[test]
    fn every_heading_of_the_help_is_known_here() {
        let command = CommandLine::command();
        let headings: BTreeSet<_> = command.get_arguments().filter_map(Arg::get_help_heading).collect();
        assert_eq!(
            headings.into_iter().collect::<Vec<_>>(),
            [
                "Fleet",
                "Load",
                "Probes in the format of redis-cli, without the screen",
                "Session",
                "TLS",
                "Target"
            ]
        );
        // The check also covers options under the heading of another group.
        for named in
            ["warmup", "requests", "load", "no_load", "yes", "theme", "ascii", "no_mouse", "interval", "json"]
        {
            assert!(all_options().iter().any(|(name, _)| name == named), "{named}");
        }
    }

    #[test]
    fn in_every_mode_every_option_without_effect_is_named() {
        let modes = ["latency", "latency_history", "latency_dist", "intrinsic_latency", "help", "version"];
        let modes = [
            &modes[..],
            &["stat", "bigkeys", "memkeys", "keystats", "hotkeys", "memkeys_samples", "keystats_samples"],
        ]
        .concat();
        // The tests below cover the options that turn the load off; --headless, --plan and --verify are modes.
        let other = ["no_load", "headless", "load", "plan", "verify"];
        let named = |list: &[&str], name: &str| list.contains(&name);
        let lines = LINES.map(|(line, has_terminal)| {
            let words = std::iter::once("redyno").chain(line.split_whitespace());
            (line, has_terminal, RunMode::of(&CommandLine::try_parse_from(words).unwrap(), has_terminal))
        });
        for (name, place) in
            all_options().into_iter().filter(|(name, _)| !named(&modes, name) && !named(&other, name))
        {
            for (line, has_terminal, mode) in lines {
                let needs_a_mode = matches!(name.as_str(), "raw" | "csv" | "latency_percentiles" | "mono");
                if needs_a_mode && !mode.is_oneshot() {
                    continue;
                }
                let line = format!("{line} {}", option(&name));
                let refused = refusal(&line, has_terminal);
                assert_eq!(refused.is_none(), place.includes(mode), "{line}: {refused:?}");
                let Some(refused) = refused else { continue };
                assert!(refused.contains("has no effect ") && refused.lines().count() == 1, "{refused}");
            }
        }
    }

    #[test]
    fn without_load_and_without_a_screen_the_options_of_a_load_have_no_effect() {
        for line in ["--headless --seed 1", "--headless --warmup 3", "--headless --timeout 3 --yes"] {
            let refused = refusal(line, false).unwrap();
            assert!(refused.contains("has no effect without load (add --load)"), "{refused}");
        }
        for (name, _) in all_options().into_iter().filter(|(_, place)| *place == OptionScope::Load) {
            let line = format!("--no-load {}", option(&name));
            assert!(refusal(&line, false).unwrap().contains("has no effect with --no-load"), "{line}");
            assert_eq!(refusal(&line, true), None, "on the screen it can be switched on: {line}");
        }
        let without_rate = refusal("--headless --load --arrivals poisson", false).unwrap();
        assert!(without_rate.contains("--arrivals has no effect without a rate"), "{without_rate}");
        assert_eq!(refusal("--headless --find p99<1ms --arrivals poisson", false), None);
        for fine in ["--headless", "--headless --yes --no-load", "--headless -n 5", "--duration 3 --record x"]
        {
            assert_eq!(refusal(fine, false), None, "{fine}");
        }
    }

    #[test]
    fn an_option_without_effect_is_named_as_the_user_wrote_it() {
        assert_eq!(
            refusal("--latency --requests 5", false).unwrap(),
            "--requests has no effect with --latency; leave it out"
        );
        assert_eq!(
            refusal("--intrinsic-latency 1 --tls", false).unwrap(),
            "--tls has no effect with --intrinsic-latency; leave it out"
        );
        for option in ["--cursor", "--top"] {
            let refused = refusal(&format!("{option} 5"), true).unwrap();
            assert_eq!(refused, format!("{option} has no effect without --keystats; leave it out"));
        }
        assert!(CommandLine::try_parse_from(["redyno", "--raw"]).is_err(), "clap's own");
    }
}
