//! The terminal of a screen: it is taken and given back, whatever ends it.

use crate::support::terminal::{RIGHT, loaded, quit};
use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::Terminal,
    wait_for,
};
use rustix::process::Signal;

#[test]
fn leaving_gives_the_terminal_back_and_leaves_a_summary_in_the_scrollback() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &[]);
    assert!(!terminal.is_given_back());
    terminal.press(RIGHT);
    terminal.wait_for_text("segment 2");
    terminal.press("q");
    terminal.wait_for("the main screen", |screen| {
        (terminal.is_given_back() && screen.contains(" measured")).then_some(())
    });
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0));
    for part in ["removed ", " ops in ", "knobs     50 clients × 1", "  50×1 ", "  clients 100 "] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
}

#[test]
fn signals_give_the_terminal_back_and_remove_the_keys() {
    let server = Server::valkey().start();
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let terminal = loaded(&server, &[]);
        wait_for("a key", || (server.cli(&["DBSIZE"]) != "0").then_some(()));
        terminal.signal(signal);
        terminal.wait_for("the main screen", |screen| {
            (terminal.is_given_back() && screen.contains(" measured")).then_some(())
        });
        assert_eq!(terminal.end().0, Some(130), "{signal:?}");
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{signal:?}");
    }
    let mut terminal = loaded(&server, &[]);
    terminal.press("\x03");
    terminal.wait_for("the main screen", |_| terminal.is_given_back().then_some(()));
    assert_eq!(terminal.end().0, Some(0), "Ctrl-C is a key here, and means quit");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_the_process_goes_on() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &[]);
    for by_key in [true, false] {
        if by_key {
            terminal.press("\x1a");
        } else {
            terminal.signal(Signal::TSTP);
        }
        terminal.wait_for("the stop", |_| (terminal.is_stopped() && terminal.is_given_back()).then_some(()));
        terminal.signal(Signal::CONT);
        terminal.wait_for("the screen again", |screen| {
            (!terminal.is_given_back() && screen.contains("● LOAD")).then_some(())
        });
    }
    terminal.press("?");
    terminal.wait_for_text("find: ");
    terminal.press("q");
    terminal.wait_until_gone("find: ");
    quit(terminal, &server);
}

/// Runs the program in a terminal of its own, takes the terminal away once there is throughput, and prints the
/// program's process id and, when it has ended, its exit code.
const DYING_TERMINAL: &str = "\
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
print(pid, flush=True)
seen = b''
while b'k/s' not in seen:
    seen += os.read(fd, 65536)
os.close(fd)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

/// Ends an orphan, should it still be there.
struct Orphan(rustix::process::Pid);

impl Drop for Orphan {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = rustix::process::kill_process(self.0, Signal::KILL);
    }
}

#[test]
fn a_terminal_that_dies_ends_the_session_and_the_keys_are_removed() {
    let server = Server::redis().start();
    let mut command = std::process::Command::new("python3");
    let program = redyno(&[]).get_program().to_owned();
    command.args(["-c", DYING_TERMINAL]).arg(program).args([
        "-p",
        &server.port_text(),
        "--load",
        "--rate",
        "1000",
    ]);
    command.env("TERM", "xterm-256color");
    let running = Running::start(command);
    let pid = running.wait_for("its process id", |out| out.lines().next()?.parse().ok());
    let orphan = Orphan(rustix::process::Pid::from_raw(pid).unwrap());
    let outcome = running.end().expect_code(0);
    // By the signal or by the failing terminal, whichever is noticed first.
    let code = outcome.out.lines().nth(1).unwrap_or_default();
    assert!(["130", "1"].contains(&code), "{outcome:?}");
    std::mem::forget(orphan);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_key_whose_sequence_breaks_off_does_not_stop_the_screen() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &["-c", "2"]);
    terminal.press("\x1b[1;");
    terminal.wait_for_time("00:00:03");
    terminal.press("5C");
    quit(terminal, &server);
}

#[test]
fn a_key_and_a_new_size_that_come_at_once_both_count() {
    let mut terminal = Terminal::start(&redyno(&["-p", "1"]), 120, 36);
    terminal.wait_for_text("127.0.0.1:1");
    for round in 0..200 {
        let (width, is_open) = (100 + round % 2, round % 2 == 0);
        terminal.resize(width, 36);
        terminal.press("?");
        terminal.wait_for("both", |screen| {
            let has_size = screen.lines().any(|line| line.chars().count() == usize::from(width));
            (has_size && screen.contains("redyno 0.1.0: help") == is_open).then_some(())
        });
    }
}

#[test]
fn the_reader_of_keys_sleeps_while_no_key_is_pressed() {
    let server = Server::redis().start();
    let terminal = loaded(&server, &["-c", "2"]);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", terminal.pid().as_raw_nonzero())).unwrap();
    let stats = tasks.map(|task| task.unwrap().path().join("stat"));
    let keys =
        stats.into_iter().find(|stat| std::fs::read_to_string(stat).unwrap().contains("(keys)")).unwrap();
    let used_ticks = || -> u64 {
        let stat = std::fs::read_to_string(&keys).unwrap();
        stat.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    };
    terminal.wait_for_time("00:00:05");
    assert!(used_ticks() <= 3, "{} hundredths of a second", used_ticks());
    quit(terminal, &server);
}

/// The numbers in a colour command that name a colour.
fn colours(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let commands = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';' || c == ':'))?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    let is_colour =
        |n: &str| n.parse().is_ok_and(|n: u32| (30..=48).contains(&n) && n != 39 || (90..=107).contains(&n));
    commands.filter(|command| command.split([';', ':']).any(is_colour)).collect()
}

#[test]
fn no_color_sends_no_colour_and_ascii_sends_nothing_but_ascii() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--load", "--ascii"];
    let mut command = redyno(&args);
    command.env("NO_COLOR", "1");
    let mut mono = Terminal::start(&command, 120, 36);
    mono.wait_for_text("* LOAD");
    mono.press("?");
    mono.wait_for_text("find: ");
    mono.press("q");
    mono.wait_for_time("00:00:02");
    let bytes = mono.bytes();
    assert_eq!(colours(&bytes), [""; 0]);
    assert!(bytes.is_ascii(), "{:?}", String::from_utf8_lossy(&bytes).chars().find(|c| !c.is_ascii()));
    quit(mono, &server);

    let colourful = loaded(&server, &[]);
    assert!(!colours(&colourful.bytes()).is_empty(), "this test would see colours if there were any");
    quit(colourful, &server);
}
