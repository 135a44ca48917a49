//! The README tells the truth: its key table is the program's, and its commands are such that the program takes them.

use clap::Parser as _;
use redyno::{app, cli::args::CommandLine};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");

fn readme() -> String {
    std::fs::read_to_string(PATH).unwrap_or_else(|error| panic!("{PATH}: {error}"))
}

#[test]
fn the_key_table_is_the_programs_own() {
    let text = readme();
    let (before, rest) = text.split_once("<!-- keys -->").expect("a line <!-- keys --> before the table");
    let (table, after) = rest.split_once("<!-- /keys -->").expect("a line <!-- /keys --> after the table");
    if std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        let table = app::markdown();
        let whole = format!("{before}<!-- keys -->\n{table}<!-- /keys -->{after}");
        std::fs::write(PATH, whole).expect("the README can be written");
        return;
    }
    assert_eq!(
        table.trim(),
        app::markdown().trim(),
        "put this table between <!-- keys --> and <!-- /keys --> in README.md:\n{}",
        app::markdown()
    );
}

/// The lines in blocks of code that begin with `redyno `, without comments and what they are piped into.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block && let Some(command) = line.trim().trim_start_matches("$ ").strip_prefix("redyno")
        {
            let command = command.split(['#', '|', '>']).next().unwrap_or_default();
            found.push(words(command));
        }
    }
    found
}

/// The words of a command line; what stands in single quotes is one.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(n, part)| if n % 2 == 0 { part.split_whitespace().collect() } else { vec![part] })
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_line_in_it_is_one_that_the_program_takes() {
    let lines = command_lines(&readme());
    assert!(!lines.is_empty(), "the README shows no command line that begins with redyno");
    for line in lines {
        let args = std::iter::once("redyno".to_owned()).chain(line.clone());
        if let Err(error) = CommandLine::try_parse_from(args) {
            panic!("redyno {}: {error}", line.join(" "));
        }
    }
}
