//! Which option has an effect in which mode. One without any is an error: whoever gives it counts on it.
//!
//! ```text
//!                screen  lines   latency  history  dist  intrinsic
//! -h -p -u -a …    ×       ×        ×        ×       ×
//! -c -P --rate …   ×    with load
//! --theme …        ×
//! -i               ×                ×        ×       ×
//! ```

use clap::{ArgMatches, Command, CommandFactory, parser::ValueSource};

use super::{Failure, UsageError, args::CommandLine};

/// What the program does when no other command is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Screen,
    /// Lines because stdout is no terminal: what is for the screen may stand there, in an alias or a script.
    Piped,
    Headless,
    Latency,
    LatencyHistory,
    LatencyDist,
    IntrinsicLatency,
}

use Mode::{Headless, IntrinsicLatency, Latency, LatencyDist, LatencyHistory, Piped, Screen};

impl Mode {
    #[cfg(test)]
    const ALL: [Self; 7] = [Screen, Piped, Headless, Latency, LatencyHistory, LatencyDist, IntrinsicLatency];

    fn of(line: &CommandLine, has_terminal: bool) -> Self {
        let oneshot = &line.oneshot;
        match () {
            () if oneshot.intrinsic_latency.is_some() => IntrinsicLatency,
            () if oneshot.latency => Latency,
            () if oneshot.latency_history => LatencyHistory,
            () if oneshot.latency_dist => LatencyDist,
            () if line.session.headless => Headless,
            () if has_terminal => Screen,
            () => Piped,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Screen => "on the screen",
            Piped => "without a screen",
            Headless => "with --headless",
            Latency => "with --latency",
            LatencyHistory => "with --latency-history",
            LatencyDist => "with --latency-dist",
            IntrinsicLatency => "with --intrinsic-latency",
        }
    }

    fn is_oneshot(self) -> bool {
        matches!(self, Latency | LatencyHistory | LatencyDist | IntrinsicLatency)
    }
}

/// Where options have an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Wherever a server is talked to.
    Server,
    /// In a session.
    Session,
    /// In a session that puts load on: on the screen it can be switched on at any time.
    Load,
    /// On the screen.
    Look,
    /// In windows of time.
    Windows,
    /// In one of redis-cli's modes; which of these takes it is said by their plan.
    Oneshot,
    /// In these and in sessions; likewise, and likewise.
    Form,
}

impl Place {
    fn includes(self, mode: Mode) -> bool {
        match self {
            Self::Server => mode != IntrinsicLatency,
            Self::Session | Self::Load => !mode.is_oneshot(),
            Self::Look => matches!(mode, Screen | Piped),
            Self::Windows => matches!(mode, Screen | Piped) || mode.is_oneshot(),
            Self::Oneshot => mode.is_oneshot(),
            Self::Form => true,
        }
    }
}

/// All options but those that are commands of their own, by clap's name.
const PLACES: [(&str, Place); 53] = [
    ("host", Place::Server),
    ("port", Place::Server),
    ("socket", Place::Server),
    ("uri", Place::Server),
    ("user", Place::Server),
    ("password", Place::Server),
    ("db", Place::Server),
    ("resp3", Place::Server),
    ("tls", Place::Server),
    ("cacert", Place::Server),
    ("cacertdir", Place::Server),
    ("cert", Place::Server),
    ("key", Place::Server),
    ("sni", Place::Server),
    ("insecure", Place::Server),
    ("clients", Place::Load),
    ("pipeline", Place::Load),
    ("rate", Place::Load),
    ("arrivals", Place::Load),
    ("backlog", Place::Load),
    ("workload", Place::Load),
    ("ratio", Place::Load),
    ("data_size", Place::Load),
    ("keys", Place::Load),
    ("threads", Place::Load),
    ("timeout", Place::Load),
    ("keep", Place::Load),
    ("key_prefix", Place::Load),
    ("keep_going", Place::Load),
    ("seed", Place::Load),
    ("warmup", Place::Load),
    ("requests", Place::Load),
    ("load", Place::Session),
    ("no_load", Place::Session),
    // Consent, and no setting: a script may give it wherever it goes.
    ("yes", Place::Session),
    ("duration", Place::Session),
    ("record", Place::Session),
    ("headless", Place::Session),
    ("json", Place::Form),
    ("theme", Place::Look),
    ("ascii", Place::Look),
    ("no_mouse", Place::Look),
    ("interval", Place::Windows),
    ("latency", Place::Oneshot),
    ("latency_history", Place::Oneshot),
    ("latency_dist", Place::Oneshot),
    ("intrinsic_latency", Place::Oneshot),
    ("raw", Place::Oneshot),
    ("csv", Place::Oneshot),
    ("latency_percentiles", Place::Oneshot),
    ("mono", Place::Oneshot),
    // Neither is a mode: clap ends the program.
    ("help", Place::Form),
    ("version", Place::Form),
];

/// Refuses options that would change nothing.
///
/// # Errors
/// Names the first of them, and what it is given with.
pub fn check(given: &ArgMatches, line: &CommandLine, has_terminal: bool) -> Result<(), Failure> {
    let mode = Mode::of(line, has_terminal);
    let command = CommandLine::command();
    let is_given = |name: &str| given.value_source(name) == Some(ValueSource::CommandLine);
    let refuse = |name: &str, with: &str| {
        let text = format!("{} has no effect {with}; leave it out", written(&command, name));
        Err(UsageError::Line(text).into())
    };
    if let Some((name, _)) = PLACES.iter().find(|(name, place)| is_given(name) && !place.includes(mode)) {
        return refuse(name, mode.name());
    }
    if !matches!(mode, Piped | Headless) {
        return Ok(());
    }
    // Nobody is there to turn a knob.
    let knobs = line.load.knobs(line.session.requests.is_some())?;
    let of_load = || PLACES.iter().filter(|(_, place)| *place == Place::Load).map(|(name, _)| *name);
    let with = if line.load.no_load { "with --no-load" } else { "without load (add --load)" };
    of_load().find(|name| !knobs.load && is_given(name)).map_or(Ok(()), |name| refuse(name, with))
}

/// An option as it is given: `-n`, `--rate`.
fn written(command: &Command, name: &str) -> String {
    let option = command.get_arguments().find(|option| option.get_id() == name);
    let short = option.and_then(clap::Arg::get_short).map(|short| format!("-{short}"));
    let long = || option.and_then(clap::Arg::get_long).map(|long| format!("--{long}"));
    short.or_else(long).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{FromArgMatches, Parser};

    use super::*;

    /// A value that the option takes, where it takes one.
    const VALUES: [(&str, &str); 32] = [
        ("host", "h"),
        ("port", "1"),
        ("socket", "/s"),
        ("uri", "redis://h"),
        ("user", "u"),
        ("password", "p"),
        ("db", "1"),
        ("cacert", "f"),
        ("cacertdir", "d"),
        ("cert", "f --key=f"),
        ("key", "f --cert=f"),
        ("sni", "n"),
        ("clients", "5"),
        ("pipeline", "5"),
        ("rate", "5"),
        ("arrivals", "poisson --rate=5"),
        ("backlog", "shed --rate=5"),
        ("workload", "get"),
        ("ratio", "1:1"),
        ("data_size", "5"),
        ("keys", "5"),
        ("threads", "1"),
        ("timeout", "5"),
        ("seed", "5"),
        ("warmup", "5"),
        ("requests", "5"),
        ("key_prefix", "mine:"),
        ("duration", "5"),
        ("record", "f"),
        ("theme", "dark"),
        ("interval", "5"),
        ("latency_percentiles", "50"),
    ];

    /// What `redyno LINE` is told, if it is refused.
    fn refusal(line: &str, has_terminal: bool) -> Option<String> {
        let words = std::iter::once("redyno").chain(line.split_whitespace());
        let given =
            CommandLine::command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
        let parsed = CommandLine::from_arg_matches(&given).unwrap();
        check(&given, &parsed, has_terminal).err().map(|failure| failure.to_string())
    }

    fn option(name: &str) -> String {
        let command = CommandLine::command();
        let takes = command.get_arguments().find(|option| option.get_id() == name).unwrap();
        let value = VALUES.iter().find(|(named, _)| *named == name).map_or("", |(_, value)| value);
        assert_eq!(takes.get_action().takes_values(), !value.is_empty(), "{name}");
        format!("{} {value}", written(&command, name))
    }

    /// The command line of a mode, and whether stdout is a terminal.
    fn line_of(mode: Mode) -> (&'static str, bool) {
        match mode {
            Screen => ("", true),
            Piped => ("--load", false),
            Headless => ("--headless --load", false),
            Latency => ("--latency", false),
            LatencyHistory => ("--latency-history", true),
            LatencyDist => ("--latency-dist", true),
            IntrinsicLatency => ("--intrinsic-latency 1", false),
        }
    }

    #[test]
    fn every_option_has_a_place_and_every_place_an_option() {
        let command = CommandLine::command();
        let options: BTreeSet<_> = command.get_arguments().map(|option| option.get_id().as_str()).collect();
        let mut placed: BTreeSet<_> = PLACES.iter().map(|(name, _)| *name).collect();
        assert_eq!(placed.len(), PLACES.len(), "each once");
        // clap's own, which it adds when it parses.
        placed.remove("version");
        placed.remove("help");
        let options: BTreeSet<_> = options.into_iter().filter(|name| *name != "help").collect();
        assert_eq!(options, placed);
    }

    #[test]
    fn in_every_mode_every_option_without_effect_is_named() {
        let modes = ["latency", "latency_history", "latency_dist", "intrinsic_latency", "help", "version"];
        // With these there is no load, which is looked at below; and --headless is a mode.
        let other = ["no_load", "headless", "load"];
        for (name, place) in PLACES.iter().filter(|(name, _)| !modes.contains(name) && !other.contains(name))
        {
            for mode in Mode::ALL {
                let needs_a_mode = matches!(*name, "raw" | "csv" | "latency_percentiles" | "mono");
                if needs_a_mode && !mode.is_oneshot() {
                    continue;
                }
                let (line, has_terminal) = line_of(mode);
                let line = format!("{line} {}", option(name));
                let refused = refusal(&line, has_terminal);
                assert_eq!(refused.is_none(), place.includes(mode), "{line}: {refused:?}");
                let Some(refused) = refused else { continue };
                assert!(refused.contains("has no effect with") && refused.lines().count() == 1, "{refused}");
            }
        }
    }

    #[test]
    fn without_load_and_without_a_screen_the_options_of_a_load_have_no_effect() {
        for line in ["--headless --seed 1", "--headless --warmup 3", "--headless --timeout 3 --yes"] {
            let refused = refusal(line, false).unwrap();
            assert!(refused.contains("has no effect without load (add --load)"), "{refused}");
        }
        for (name, _) in PLACES.iter().filter(|(_, place)| *place == Place::Load) {
            let line = format!("--no-load {}", option(name));
            assert!(refusal(&line, false).unwrap().contains("has no effect with --no-load"), "{line}");
            assert_eq!(refusal(&line, true), None, "on the screen it can be switched on: {line}");
        }
        for fine in ["--headless", "--headless --yes --no-load", "--headless -n 5", "--duration 3 --record x"]
        {
            assert_eq!(refusal(fine, false), None, "{fine}");
        }
    }

    #[test]
    fn what_has_no_effect_is_named_as_it_was_given() {
        assert_eq!(
            refusal("--latency -n 5", false).unwrap(),
            "-n has no effect with --latency; leave it out"
        );
        assert_eq!(
            refusal("--intrinsic-latency 1 --tls", false).unwrap(),
            "--tls has no effect with --intrinsic-latency; leave it out"
        );
        assert!(CommandLine::try_parse_from(["redyno", "--raw"]).is_err(), "clap's own");
    }
}
