//! What is typed: any command line is taken, or refused in one line that holds nobody's password. Nothing is connected,
//! started or written.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
};

use clap::{Command, CommandFactory};
use redyno::{
    cli::{args::CommandLine, refusal},
    untrusted,
};

use super::{Dice, cases, rounds};

/// What must stand in no message; a part of every password below.
const SECRET: &str = "hunter2";
const PASSWORDS: [&str; 6] =
    ["hunter2", "--hunter2", "-hunter2", "a\nhunter2", "hunter2\u{7}", "p@ss/hunter2:x"];
const URIS: [&str; 14] = [
    "redis://u:hunter2@h:1/2",
    "rediss://:hunter2@[::1]:6379",
    "redis://:hunter2@h:99999",
    "redis://:a\nhunter2@h",
    "redis://:a\n\nhunter2@h",
    "redis://u:a@hunter2@h/x?y#z",
    "redis://:hunter2\u{1b}]0;x\u{7}@h",
    "redis://:hun%ter2hunter2@h",
    "http://u:hunter2@h",
    "REDIS:// :hunter2 @h",
    "unix://u:hunter2@/s?db=x",
    "://hunter2@",
    "redis://:hunter2@h/9999999999999999999999",
    "redis://h://:hunter2@h",
];
const VALUES: &str = "0|1|-1|5|50|10001|4294967296|18446744073709551615|18446744073709551616|1e300|-0|nan|inf|0.01|1.5|5k|\
    1.5M|999999G|1kk|h|::1|localhost|[|/s|/dev/null|/no/such/file|.|1:1|0:0|1:10:3|:|get|cache|mixed|zip|poisson|constant|\
    queue|shed|dark|mono|16|auto|light|x.svg|x.txt|x|80x24|0x0|65536x1|log|server|50,99,99.9|0,101|,|p99|stall 5ms every 1s|\
    explode|error LOADING 1%|slow GET 99999999999999999999s|=|--|-|''|%s|{}|demo|replay|clean|--help|--version|é̱|日本";

fn value(dice: &mut Dice) -> OsString {
    match dice.below(16) {
        0 => OsString::from_vec(dice.bytes(20)),
        1 => dice
            .pick(&["", " ", "\n", "a\nb", "a\n\nb\r\n", "\t\u{1b}[2J", "\u{202e}abc\u{9b}", "\u{0}"])
            .into(),
        2 => "x1:,%".repeat(1 << dice.below(14)).into(),
        3 | 4 => dice.pick(&URIS).into(),
        _ => dice.pick(&VALUES.split('|').collect::<Vec<_>>()).into(),
    }
}

/// An option as it may be given, with a value or without, whether it takes one or not.
fn put_option(dice: &mut Dice, command: &Command, words: &mut Vec<OsString>) {
    let options: Vec<_> = command.get_arguments().collect();
    if options.is_empty() {
        return words.push(value(dice));
    }
    let option = options[dice.below(options.len())];
    let long = option.get_long().filter(|_| dice.once_in(2)).map(|long| format!("--{long}"));
    let short = option.get_short().map(|short| format!("-{short}"));
    let Some(name) = long.or(short).or_else(|| Some(format!("--{}", option.get_long()?))) else {
        return words.push(value(dice));
    };
    let value = match option.get_id().as_str() {
        "password" => dice.pick(&PASSWORDS).into(),
        "uri" if !dice.once_in(4) => dice.pick(&URIS).into(),
        _ => value(dice),
    };
    let takes_one = option.get_action().takes_values() != dice.once_in(12);
    match (takes_one, dice.below(3)) {
        (false, _) => words.push(name.into()),
        (true, 0) => {
            let joined = if name.starts_with("--") { name + "=" } else { name };
            words.push([OsStr::new(&joined), &value].into_iter().collect());
        }
        (true, _) => words.extend([name.into(), value]),
    }
}

fn words(dice: &mut Dice, whole: &Command) -> Vec<OsString> {
    let mut words = vec!["redyno".into()];
    let commands: Vec<_> = whole.get_subcommands().collect();
    let mut command = whole;
    if dice.once_in(4) {
        command = commands[dice.below(commands.len())];
        words.push(command.get_name().into());
        if dice.once_in(2) {
            words.push(value(dice));
        }
    }
    for _ in 0..dice.below(5) {
        match dice.below(20) {
            0 => words.push(value(dice)),
            1 => words.push(dice.pick(&URIS).into()),
            // Those of another command.
            2 => {
                let other = dice.pick(&[whole, commands[0], commands[1], commands[2]]);
                put_option(dice, other, &mut words);
            }
            // A password by itself would be no secret any more, but the name of a file.
            3 if words.len() > 1 && !PASSWORDS.map(OsString::from).contains(&words[words.len() - 1]) => {
                words.push(words[words.len() - 1].clone());
            }
            _ => put_option(dice, command, &mut words),
        }
    }
    words
}

#[test]
fn a_command_line_is_taken_or_refused_in_one_line_without_a_password() {
    let whole = CommandLine::command();
    let mut taken = 0;
    for round in cases("command lines", 8) {
        let dice = &mut Dice::new(round);
        let words = words(dice, &whole);
        let has_terminal = dice.once_in(2);
        let Some(reported) = refusal(&words, has_terminal) else {
            taken += 1;
            continue;
        };
        let is_shown = !reported.is_empty() && !reported.contains(untrusted::is_interpreted);
        assert!(is_shown && !reported.contains(SECRET), "round {round}: {words:?}: {reported:?}");
    }
    // Else the dice are so bad that nothing beyond the parser was asked.
    assert!(taken > 0, "none of {} was taken", rounds());
}
