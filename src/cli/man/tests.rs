//! Tests the pages of the manual, as a reader sees them.

use clap::CommandFactory;

use super::{all, ascii, notes, page};
use crate::{app::bindings, cli::args::CommandLine};

/// Returns a page without troff's markup.
fn text(page: &str) -> String {
    let page = page.replace("\\fB", "").replace("\\fR", "").replace("\\fI", "").replace("\\-", "-");
    page.replace("\\*(Aq", "'").replace("\\&", "")
}

#[test]
fn the_pages_name_every_option_every_command_every_key_and_every_exit_code() {
    let commands = all(CommandLine::command());
    let pages: Vec<_> = commands.iter().map(|command| text(&page(command, "2026-11-22"))).collect();
    for (command, page) in commands.iter().zip(&pages) {
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            if let Some(long) = option.get_long() {
                assert!(page.contains(&format!("--{long}")), "{}: --{long}", command.get_name());
            }
        }
    }
    for command in &commands[1..] {
        let entry = format!("\nredyno-{}(1)\n{}\n", command.get_name(), command.get_about().unwrap());
        assert!(pages[0].contains(&entry), "{entry}");
    }
    for code in ["0", "1", "2", "3", "4", "130"] {
        assert!(pages[0].contains(&format!("\n.TP\n{code}\n")), "{code}");
    }
    for binding in bindings() {
        assert!(pages[0].contains(&text(&ascii(binding.help))), "{}", binding.help);
    }
}

/// Tests that the pages contain none of the errors that mandoc and groff report.
#[test]
fn pages_are_valid_troff_source() {
    for command in all(CommandLine::command()) {
        let page = page(&command, "2026-11-22");
        assert!(page.is_ascii(), "{page}");
        assert_eq!(page.matches(".ds Aq").count(), 2, "{page}");
        let title = page.lines().find(|line| line.starts_with(".TH ")).unwrap();
        let name = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(title, format!(".TH {name} 1 2026-11-22 \"redyno {version}\" redyno"));
        let lines: Vec<_> = page.lines().collect();
        assert!(lines.iter().all(|line| !line.is_empty() && !line.starts_with(' ')), "{page}");
        for pair in lines.windows(2) {
            let starts =
                |line: &str, macros: &[&str]| macros.iter().any(|name| line.split(' ').next() == Some(name));
            let is_empty =
                starts(pair[0], &[".PP", ".SH", ".TP", ".br"]) && starts(pair[1], &[".PP", ".SH", ".br"]);
            assert!(!is_empty, "{pair:?} in {page}");
        }
    }
}

#[test]
fn a_help_text_keeps_its_examples_unchanged() {
    let page = notes("NOTES", "One.\nTwo:\n  redyno  -p 1\n  redyno man\n\nThree.").render();
    let section = &page[page.find(".SH").unwrap()..];
    assert_eq!(
        section,
        ".SH NOTES\nOne.\n.PP\nTwo:\n.RS 4\n.nf\nredyno  \\-p 1\nredyno man\n.fi\n.RE\n.PP\nThree.\n"
    );
    assert_eq!(ascii("µ→"), "\\[u00B5]\\[u2192]");
}
