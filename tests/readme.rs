//! The README and its pages tell the truth: their commands are such that the program takes them, and their links lead
//! somewhere.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use clap::CommandFactory as _;
use redyno::cli::args::CommandLine;

use crate::support::program::run;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// What a person reads before deciding, as `wc -w` counts; all else has a page of its own.
const MOST_WORDS: usize = 900;
/// What a page shows without scrolling sideways, in blocks of code.
const MOST_COLUMNS: usize = 100;

/// The README, then the pages, each with its text.
pub fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(ROOT);
    let docs = fs::read_dir(root.join("docs")).expect("a directory docs");
    let mut paths: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.insert(0, root.join("README.md"));
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The lines in blocks of code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        in_block && !is_fence
    })
}

/// A text with each line that ends in a backslash and the next one as one line.
pub fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |whole, part| whole + part.trim_start())
}

/// The lines of code that begin with `redyno `, without comments and what they are piped into.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    code(&joined(text)).filter_map(command).map(words).collect()
}

/// What stands behind `redyno` in a line of a shell, or of a pipeline's file.
pub fn command(line: &str) -> Option<&str> {
    let line = ["$ ", "- ", "run: "].iter().fold(line.trim(), |line, before| line.trim_start_matches(before));
    line.strip_prefix("redyno ").or(Some("").filter(|_| line == "redyno"))
}

/// The words of a command line up to a comment, a pipe or a redirection; what stands in quotes is one.
fn words(line: &str) -> Vec<String> {
    let parts = line.split(['\'', '"']).enumerate();
    let words =
        parts.flat_map(|(n, part)| if n % 2 == 0 { part.split_whitespace().collect() } else { vec![part] });
    words.take_while(|word| !["#", "|", ">", ">>"].contains(word)).map(str::to_owned).collect()
}

/// Fails where the program does not take these words behind its name.
fn assert_taken(place: &str, line: &[String]) {
    // Commands of one's own are not clap's.
    let options = line.iter().take_while(|word| *word != "--").cloned();
    let args: Vec<_> = std::iter::once("redyno".to_owned()).chain(options).map(OsString::from).collect();
    if let Err(error) = CommandLine::read(&args) {
        panic!("{place}: redyno {}: {error}", line.join(" "));
    }
}

#[test]
fn every_command_line_in_them_is_one_that_the_program_takes() {
    let mut count = 0;
    for (path, text) in pages() {
        for line in command_lines(&text) {
            count += 1;
            assert_taken(&path.display().to_string(), &line);
        }
    }
    assert!(count > 20, "{count} command lines");
}

#[test]
fn every_help_has_examples_that_the_program_takes() {
    let line = CommandLine::command();
    let names = line.get_subcommands().map(|command| Some(command.get_name()));
    for name in std::iter::once(None).chain(names) {
        let args: Vec<_> = name.into_iter().chain(["--help"]).collect();
        let help = run(&args).expect_code(0).out;
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{args:?}: {help}"));
        // In the help of all there is a word for each beside it.
        let lines = examples.lines().take_while(|line| line.starts_with("  "));
        let lines = lines.map(|line| line.trim().split("   ").next().unwrap_or_default());
        let mut count = 0;
        for line in lines {
            let line = command(line).unwrap_or_else(|| panic!("{args:?}: {line}"));
            assert_taken(name.unwrap_or_default(), &words(line));
            count += 1;
        }
        assert!(count > 0, "{args:?}: {help}");
    }
}

/// Where the links and pictures of a page lead.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .collect::<String>();
        kept.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_of_it() {
    for (path, text) in pages() {
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, anchor) =
                link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link}", path.display());
            if let Some(anchor) = anchor {
                let known = anchors(&fs::read_to_string(&target).unwrap());
                assert!(known.contains(anchor), "{}: {link} is none of {known:?}", path.display());
            }
        }
    }
}

#[test]
fn the_readme_is_short_and_it_and_the_index_name_every_page() {
    let pages = pages();
    let (_, readme) = &pages[0];
    let words = readme.split_whitespace().count();
    assert!(words <= MOST_WORDS, "{words} words");
    let index = pages.iter().find(|(path, _)| path.ends_with("docs/README.md")).expect("an index");
    for (path, _) in &pages[1..] {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            links(readme).any(|link| link.starts_with(&format!("docs/{name}"))),
            "no link to docs/{name}"
        );
        assert!(
            *path == index.0 || links(&index.1).any(|link| link == name),
            "the index has no link to {name}"
        );
    }
}

#[test]
fn lines_of_code_fit_a_page() {
    for (path, text) in pages() {
        let wide = code(&text).find(|line| line.chars().count() > MOST_COLUMNS);
        assert_eq!(wide, None, "{}", path.display());
    }
}
