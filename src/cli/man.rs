//! `redyno man`: the manual page, made of the command line and the table of keys, so that neither says what the program
//! does not.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{args::CommandLine, bench, memtier, words::Words};
use crate::app::{Context, bindings};

const SYNOPSIS: [&str; 19] = [
    "redyno [TARGET] [LOAD] [SESSION] [-- COMMAND ARG...]",
    "redyno --latency | --latency-history | --latency-dist | --intrinsic-latency SECONDS",
    "redyno [TARGET] --headless --find LIMIT | --sweep 'KNOB A..B'",
    "redyno ab [TARGET] [LOAD] --from KNOBS --to KNOBS",
    "redyno versus URI URI [LOAD]",
    "redyno series NAME|FILE [TARGET]",
    "redyno bench [OPTIONS] [COMMAND ARGS...]",
    "redyno memtier [OPTIONS]",
    "redyno replay FILE",
    "redyno export FILE --format FORMAT",
    "redyno compare BASE NEW",
    "redyno sessions",
    "redyno demo",
    "redyno clean [TARGET]",
    "redyno workloads [NAME]",
    "redyno man | man -l -",
    "redyno completions SHELL",
    "redyno help formats | records",
    "redyno [COMMAND] --help",
];

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
const EXIT: [(&str, &str); 6] = [
    ("0", "done"),
    ("1", "failed: the server cannot be reached, a file cannot be written, output was lost"),
    ("2", "bad usage; nothing was started"),
    ("3", "a limit is not held (--find, --sweep), or the second setting is worse (ab)"),
    ("4", "not decided in the time there was (--find, ab)"),
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

/// Prints the page.
///
/// # Errors
/// When standard output takes no more.
pub fn run(out: &mut Words) -> io::Result<()> {
    io::Write::write_all(out, &page()?)
}

/// The page as troff takes it.
fn page() -> io::Result<Vec<u8>> {
    let mut command = CommandLine::command();
    command.build();
    let man = Man::new(command.clone()).manual("redyno");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis().to_writer(&mut page)?;
    paragraphs("DESCRIPTION", &DESCRIPTION).to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    for sub in command.get_subcommands() {
        of_command(sub, &mut page)?;
    }
    keys().to_writer(&mut page)?;
    list("EXIT STATUS", EXIT).to_writer(&mut page)?;
    list("ENVIRONMENT", ENVIRONMENT).to_writer(&mut page)?;
    list("FILES", FILES).to_writer(&mut page)?;
    paragraphs(
        "SEE ALSO",
        &["redis-cli(1), redis-benchmark(1), memtier_benchmark(1), valkey-cli(1), valkey-benchmark(1)"],
    )
    .to_writer(&mut page)?;
    Ok(page)
}

fn synopsis() -> Roff {
    let mut section = Roff::new();
    section.control("SH", ["SYNOPSIS"]);
    for line in SYNOPSIS {
        section.text([roman(line)]).control("br", []);
    }
    section
}

fn paragraphs(title: &str, texts: &[&str]) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for text in texts {
        section.text([roman(*text)]).control("PP", []);
    }
    section
}

fn list<'a>(title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) -> Roff {
    list_of("SH", title, items)
}

/// A list below a heading of this level.
fn list_of<'a>(level: &str, title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) -> Roff {
    let mut section = Roff::new();
    section.control(level, [title]);
    for (name, text) in items {
        section.control("TP", []).text([bold(name)]).text([roman(text)]);
    }
    section
}

/// What a command is for, and its options below that.
fn of_command(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let mut options = Vec::new();
    Man::new(command.clone()).render_options_section(&mut options)?;
    let options = String::from_utf8_lossy(&options).replacen(".SH OPTIONS\n", "", 1);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut section = Roff::new();
    section.control("SH", [format!("REDYNO {}", command.get_name().to_uppercase()).as_str()]);
    section.text([roman(about)]);
    section.to_writer(page)?;
    page.extend(options.replace(".SH ", ".SS ").bytes());
    let (entries, deviations): (Vec<_>, &[&str]) = match command.get_name() {
        "bench" => (bench::entries(bench::Flavour::Redyno).collect(), &bench::DEVIATIONS),
        "memtier" => (memtier::entries().collect(), &memtier::DEVIATIONS),
        _ => return Ok(()),
    };
    list_of("SS", "Options", entries.iter().map(|(names, help)| (names.as_str(), *help))).to_writer(page)?;
    list_of("SS", "Different on purpose", deviations.iter().map(|text| ("-", *text))).to_writer(page)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The page without what troff marks it up with.
    fn text() -> String {
        let page = String::from_utf8(page().unwrap()).unwrap();
        let page = page.replace("\\fB", "").replace("\\fR", "").replace("\\fI", "").replace("\\-", "-");
        page.replace("\\*(Aq", "'").replace("\\&", "")
    }

    #[test]
    fn it_names_every_option_every_command_every_key_and_every_exit_code() {
        let text = text();
        let mut command = CommandLine::command();
        command.build();
        let commands = command.get_subcommands().chain([&command]).collect::<Vec<_>>();
        for option in commands.iter().flat_map(|command| command.get_arguments()) {
            if let Some(long) = option.get_long().filter(|_| !option.is_hide_set()) {
                assert!(text.contains(&format!("--{long}")), "--{long}");
            }
        }
        for sub in command.get_subcommands() {
            assert!(
                text.contains(&format!("REDYNO {}", sub.get_name().to_uppercase())),
                "{}",
                sub.get_name()
            );
        }
        for binding in bindings() {
            assert!(text.contains(binding.help), "{}", binding.help);
        }
        for (code, meaning) in EXIT {
            assert!(text.contains(&format!("{code}\n{meaning}")), "{code}");
        }
    }
}
