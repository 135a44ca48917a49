//! Where only ASCII is wanted, or the locale has no more, all that people read is ASCII: lines and summaries as the screen.

use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::Terminal,
};

/// What the program writes to both streams in a locale.
fn written(args: &[&str], locale: &str) -> String {
    let mut command = redyno(args);
    command.env("LC_ALL", locale);
    let outcome = Running::start(command).end().expect_code(0);
    outcome.out + &outcome.err
}

#[test]
fn lines_and_summaries_are_ascii_where_that_is_asked_for_or_the_locale_has_no_more() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    let (port, file) = (server.port_text(), file.to_str().unwrap());
    let load = ["-p", &port, "--headless", "--yes", "-c", "2", "-n", "3000", "--rate", "2000"];
    let recorded = [&load[..], &["--record", file]].concat();
    let of_all = written(&recorded, "C.UTF-8");
    assert!(of_all.contains('\u{b5}') && of_all.contains('\u{d7}'), "{of_all}");
    let replay = ["replay", file, "--headless"];
    let plan = ["-p", &port, "--plan", "--load"];
    for args in [&load[..], &replay, &plan] {
        let ascii = [args, &["--ascii"]].concat();
        for (args, locale) in [(args, "C"), (args, "POSIX"), (&ascii, "C.UTF-8")] {
            let shown = written(args, locale);
            assert!(shown.is_ascii() && shown.len() > 100, "{args:?} {locale}: {shown}");
        }
    }
    let json = written(&["export", file, "--format", "json"], "C");
    assert!(json.starts_with('{'), "{json:.100}");
}

#[test]
fn the_summary_behind_the_screen_is_ascii_too() {
    let server = Server::redis().start();
    let args = ["-p", &server.port_text(), "--load", "--yes", "-c", "2", "--ascii"];
    let mut terminal = Terminal::start(&redyno(&args), 120, 36);
    terminal.wait_for_text("* LOAD");
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("measured") && text.is_ascii(), "{text}");
}
