//! A page: what the command line says of a command, and around it what it does not.

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::roff::{ascii, lines, list, notes, paragraphs};
use crate::{
    app::{Context, bindings},
    compat::{
        memtier,
        redis_benchmark::{self, Flavour},
    },
};

const DESCRIPTION: [&str; 3] = [
    "redyno shows the latency of a Redis or Valkey server and puts load on it. On a terminal it is a screen: throughput, \
     percentiles over a heat map, probes, the server's own figures and its events on one time axis, and knobs (clients, \
     pipeline, rate, reads, value size, keys) that are turned while the load runs. Each change begins a segment with figures \
     of its own.",
    "With a target and without an option of the load nothing is written: PING and commands that only read are sent. The load \
     writes keys below a prefix of its own run and removes exactly these at the end; it asks before the first write to a \
     server that others use. Without a target, where nothing listens on 127.0.0.1:6379, a built-in server is started and \
     driven.",
    "When standard output is no terminal, or with --headless, it prints a line a second and a summary, or with --json all \
     records.",
];

/// Exit codes and what they mean.
pub(super) const EXIT: [(&str, &str); 6] = [
    ("0", "done"),
    ("1", "failed: the server cannot be reached, a file cannot be written, output was lost"),
    ("2", "bad usage; nothing was started"),
    (
        "3",
        "a limit is not held (--find, --sweep), a condition is met (--fail-if), or the second setting is worse (ab)",
    ),
    ("4", "not decided in the time there was, or by what was measured (--find, --fail-if, ab)"),
    ("130", "interrupted by a signal; what was measured was written, and the keys were removed"),
];

const ENVIRONMENT: [(&str, &str); 6] = [
    ("XDG_STATE_HOME", "Where recordings without a name of their own are put, in a directory redyno."),
    ("REDISCLI_AUTH", "The password, where neither -a nor the URI has one."),
    ("NO_COLOR", "No colours on the screen, unless --theme names some."),
    ("TERM, COLORTERM", "What the terminal can draw."),
    ("LC_ALL, LC_CTYPE, LANG", "ASCII characters only, where these name no UTF-8."),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "The CAs that are trusted, in place of the system's."),
];

const FILES: [(&str, &str); 3] = [
    (
        "$XDG_STATE_HOME/redyno/TARGET-DATE-TIME.jsonl",
        "A recording, begun by the key r or by --record without a name; else in ~/.local/state/redyno.",
    ),
    ("redyno-DATE-TIME.svg, .txt", "A picture of the screen, by the keys e and E."),
    (
        "redyno:runs, redyno:RUN",
        "On the server while a run has something there to undo: the list of runs, and its marker.",
    ),
];

const PEERS: &str =
    "redis-cli(1), redis-benchmark(1), memtier_benchmark(1), valkey-cli(1), valkey-benchmark(1)";

/// redyno, which is `command`, then each of its commands.
pub(super) fn all(mut command: Command) -> Vec<Command> {
    command.build();
    let commands: Vec<_> = command.get_subcommands().cloned().collect();
    std::iter::once(command).chain(commands).collect()
}

/// The page of a command, made on `date`, as troff takes it.
pub(super) fn page(command: &Command, date: &str) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let source = concat!("redyno ", env!("CARGO_PKG_VERSION"));
    let mut head = Roff::new();
    head.control("TH", [&name.to_uppercase(), "1", date, source, "redyno"]);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let is_redyno = command.has_subcommands();
    let mut before = vec![
        paragraphs("NAME", [format!("{name} - {about}").as_str()]),
        lines("SYNOPSIS", usage.trim_start_matches("Usage:").lines().map(str::trim)),
    ];
    let mut after = Vec::new();
    if is_redyno {
        before.push(paragraphs("DESCRIPTION", DESCRIPTION));
        after.extend([commands(command), keys()]);
    }
    after.extend(command.get_after_help().map(|text| notes("NOTES", &text.to_string())));
    if is_redyno {
        after.extend([list("EXIT STATUS", EXIT), list("ENVIRONMENT", ENVIRONMENT), list("FILES", FILES)]);
    }
    after.push(paragraphs("SEE ALSO", [if is_redyno { PEERS } else { "redyno(1)" }]));
    let mut text = head.render();
    before.iter().map(Roff::render).for_each(|part| text += sections(&part));
    text += sections(&options(command));
    after.iter().map(Roff::render).for_each(|part| text += sections(&part));
    ascii(&text)
}

/// A text of sections without what defines troff's quotes, which stands before the first of the page.
fn sections(text: &str) -> &str {
    &text[text.find(".SH ").unwrap_or(text.len())..]
}

/// The options of a command; those of a stand-in are no redyno's and stand in a table of their own.
fn options(command: &Command) -> String {
    let (entries, deviations): (Vec<_>, &[&str]) = match command.get_name() {
        "bench" => (redis_benchmark::options(Flavour::Redyno).collect(), &redis_benchmark::DEVIATIONS),
        "memtier" => (memtier::options().collect(), &memtier::DEVIATIONS),
        _ => {
            let mut text = Vec::new();
            Man::new(command.clone()).render_options_section(&mut text).expect("memory takes all of it");
            return String::from_utf8(text).expect("it is made of text");
        }
    };
    let options = list("OPTIONS", entries.iter().map(|option| (option.written, option.help)));
    let different = paragraphs("DIFFERENT ON PURPOSE", deviations.iter().copied());
    options.render() + sections(&different.render())
}

/// The commands, each by the name of its page.
fn commands(command: &Command) -> Roff {
    let entry = |sub: &Command| {
        (
            format!("redyno-{}(1)", sub.get_name()),
            sub.get_about().map(ToString::to_string).unwrap_or_default(),
        )
    };
    let entries: Vec<_> = command.get_subcommands().map(entry).collect();
    list("COMMANDS", entries.iter().map(|(name, about)| (name.as_str(), about.as_str())))
}

/// The table of keys, by place.
fn keys() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["KEYS"]);
    for context in Context::all() {
        section.control("SS", [context.title()]);
        for binding in bindings().filter(|binding| binding.context == context) {
            section.control("TP", []).text([bold(binding.written)]).text([roman(binding.help)]);
        }
    }
    section
}
