//! What is typed, what a file is called and what a script or a workload's file says comes to a terminal through the gate: the
//! program is run with it, and nothing that it prints is obeyed.

use std::{ffi::OsString, fmt::Write as _, fs, path::Path};

use redyno::{
    untrusted,
    workload::{Settings, WorkloadChoice},
};

use super::{Dice, cases};
use crate::support::program::{Running, redyno};

const HARM: [&str; 9] = [
    "\u{1b}]0;OWNED\u{7}",
    "\u{9b}31m",
    "\u{202e}abc",
    "\u{1b}[2J",
    "\u{8}\u{8}",
    "\r",
    "a\u{0}b",
    "\u{7f}",
    "\u{1b}P1$r\u{1b}\\",
];

/// A text without the end of a line or of a string.
fn harm(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..=dice.below(3) {
        text += dice.pick(&["x", "ö", " ", "k"]);
        text += dice.pick(&HARM);
    }
    text.replace('\0', "")
}

fn script(dice: &mut Dice) -> String {
    let mut text = "at 0s clients 1, rate 20\n".to_owned();
    for n in 0..20 {
        writeln!(text, "at {}s mark {}", 0.02 * f64::from(n), harm(dice).replace('\r', "")).unwrap();
    }
    if dice.once_in(3) {
        writeln!(text, "at 0.4s {}", harm(dice)).unwrap();
    }
    text + "at 0.5s end\n"
}

fn workload(dice: &mut Dice) -> String {
    let name =
        |dice: &mut Dice| harm(dice).escape_unicode().to_string().replace("\\u{", "\\U").replace('}', "");
    let padded = |name: String| name.split("\\U").skip(1).map(|c| format!("\\U{c:0>8}")).collect::<String>();
    let [about, operation, step] = [(); 3].map(|()| padded(name(dice)));
    format!("about = \"{about}\"\n[[operation]]\nname = \"{operation}\"\nsteps = [\"GET k {step}\"]\n")
}

/// A command line with harm somewhere; what stands in its files is harm too. One that needs a server has none of its own.
fn line(dice: &mut Dice, port: &str, folder: &Path) -> (Vec<OsString>, u64) {
    let (name, play, file) = (harm(dice), folder.join("play.script"), folder.join("w.toml"));
    let named = folder.join(harm(dice).replace('/', ""));
    fs::write(&play, script(dice)).unwrap();
    fs::write(&file, workload(dice)).unwrap();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let short = ["-p", port, "--headless", "--yes", "-c", "1", "--rate", "20"];
    let with = |more: &[&str]| words(&[&short[..], more].concat());
    match dice.below(9) {
        0 => (with(&["--script", play.to_str().unwrap()]), 22),
        1 => (with(&["--workload", file.to_str().unwrap(), "-n", "2"]), 3),
        2 => (with(&["-n", "2", "--record", named.to_str().unwrap()]), 1),
        3 => (words(&["--latency", "-i", "0.1", "-h", &name]), 1),
        4 => (
            words(&["memtier", "-p", port, "-c", "1", "-t", "1", "-n", "2", "-o", named.to_str().unwrap()]),
            1,
        ),
        5 => (words(&["replay", named.to_str().unwrap()]), 1),
        6 => (words(&["compare", named.to_str().unwrap(), &name]), 1),
        7 => (with(&["-n", "2", "--", "SET", &name, "x"]), 1),
        _ => (words(&["bench", "-p", port, "-n", "2", "-c", "1", "-q", "SET", &name, "x"]), 1),
    }
}

#[test]
fn nothing_that_is_typed_or_named_is_obeyed_by_who_reads_what_is_printed() {
    let server = redyno::demo::start(redyno::demo::Options::default()).unwrap();
    let port = server.address.port().to_string();
    let mut cases = cases("names and notes", 800);
    let mut obeyed = Vec::new();
    while let Some(case) = cases.next() {
        let dice = &mut Dice::new(case);
        let folder = tempfile::tempdir().unwrap();
        let (words, inputs) = line(dice, &port, folder.path());
        let mut command = redyno(&[]);
        command.args(&words).current_dir(folder.path()).env("XDG_STATE_HOME", folder.path());
        let outcome = Running::start(command).end();
        cases.held(inputs);
        for text in [&outcome.out, &outcome.err] {
            // These tell how far they are in a line that they write again.
            let text = if ["bench", "memtier"].map(OsString::from).contains(&words[0]) {
                text.replace('\r', "")
            } else {
                text.clone()
            };
            if text.contains(|c: char| c != '\n' && untrusted::is_interpreted(c)) {
                obeyed.push(format!("case {case}: {words:?}: {text:?}"));
            }
        }
    }
    assert!(obeyed.is_empty(), "{obeyed:#?}");
    server.stop().unwrap();
}

/// A step of a workload's file: words, quotes, placeholders, and as many braces as somebody likes.
fn step(dice: &mut Dice) -> String {
    const PARTS: &str = "{|}|{{|}}|{key}|{value}|{value 1..|{number 5..|{number below 0}|{repeat 3: {i}}|{repeat 999999999: {i}}|\
        {key zipfian}|{now}|{cas}|{k.same}|{k.new}|'|\\\"|\\\\x4|a b|GET|SET|{repeat|:|__field:a__|__record__|{ö|..";
    let parts: Vec<_> = PARTS.split('|').collect();
    let mut text = "SET ".to_owned();
    (0..dice.below(12)).for_each(|_| text += dice.pick(&parts));
    if dice.once_in(100) {
        text += &dice.pick(&["{", "}", "{}", "{key", "{{}"]).repeat(1 << dice.below(12));
    }
    text
}

#[test]
fn a_step_of_a_workload_is_read_or_refused_whatever_stands_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml");
    let mut read = 0;
    for case in cases("steps of workloads", 10) {
        let dice = &mut Dice::new(case);
        let step = step(dice).replace('\\', "\\\\").replace("\\\\\"", "\\\"");
        fs::write(&file, format!("[keys.k]\ncount = 5\n[[operation]]\nname = \"o\"\nsteps = [\"{step}\"]\n"))
            .unwrap();
        match WorkloadChoice::read(&file, &Settings::default()) {
            Ok(_) => read += 1,
            Err(error) => {
                let reported = error.to_string();
                assert!(!reported.contains(untrusted::is_interpreted), "case {case}: {step:?}: {reported:?}");
            }
        }
    }
    assert!(read > 0);
}
