//! The screen, as a person at a terminal meets it: it starts, answers keys, survives, and gives the terminal back.

use std::net::TcpStream;

use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::{Terminal, clock},
    wait_for,
};
use rustix::process::Signal;

const RIGHT: &str = "\x1b[C";
const LEFT: &str = "\x1b[D";
const DOWN: &str = "\x1b[B";

/// The screen over `server`, with the load on.
fn loaded(server: &Server, more: &[&str]) -> Terminal {
    let port = server.port_text();
    let terminal = Terminal::start(&redyno(&[&["-p", &port, "--load"], more].concat()), 120, 36);
    terminal.wait_for_text("● LOAD");
    terminal
}

/// Waits until the server lists `n` connections that carry load.
fn wait_for_clients(server: &Server, n: usize) {
    wait_for(&format!("{n} connections"), || (server.load_ids().len() == n).then_some(()));
}

/// The row of the panel that begins with `name`.
fn knob(screen: &str, name: &str) -> Option<String> {
    let panel = screen.lines().filter_map(|line| line.rsplit_once('│').map(|(_, panel)| panel));
    panel.map(|row| row.trim_start_matches([' ', '▸'])).find(|row| row.starts_with(name)).map(str::to_owned)
}

/// Leaves by `q`, and sees that all is as it was: the terminal, and the server without our keys.
fn quit(mut terminal: Terminal, server: &Server) -> String {
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(server.cli(&["KEYS", "redyno:*"]), "");
    text
}

#[test]
fn without_a_target_it_drives_the_built_in_server_unless_one_listens_on_the_usual_port() {
    let somebody_listens = TcpStream::connect(("127.0.0.1", 6379)).is_ok();
    let mut terminal = Terminal::start(&redyno(&[]), 120, 36);
    if somebody_listens {
        terminal.wait_for_text("load off: only PING and read-only commands are sent");
    } else {
        terminal.wait_for_text("built-in server, 127.0.0.1:");
        terminal.wait_for("throughput", |screen| {
            screen.lines().any(|line| line.contains(" now ") && line.contains("k/s")).then_some(())
        });
    }
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn what_may_fill_the_server_is_asked_about_at_the_start_and_on_the_way() {
    let server = Server::redis().with_args(&["--maxmemory", "64mb"]).start();
    let port = server.port_text();
    let mut terminal = Terminal::start(&redyno(&["-p", &port, "--load", "-d", "1M", "-r", "10M"]), 120, 36);
    terminal.wait_for_text("10 M keys of about 1.00 MiB and 64 B of overhead each may fill 9.54 TiB");
    terminal.press("n");
    terminal.wait_for_text("nothing was written; the load stays off");
    quit(terminal, &server);

    let mut terminal = loaded(&server, &[]);
    terminal.press("jjjjj\r64k\r");
    terminal.wait_for_text("this may do harm");
    terminal.press("n");
    terminal.wait_for_text("nothing was changed");
    terminal.wait_for("32 B", |screen| knob(screen, "value size")?.contains("32 B").then_some(()));
    terminal.wait_for_text("● LOAD");
    quit(terminal, &server);
}

#[test]
fn keys_turn_a_knob_and_the_server_sees_it() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let mut terminal = loaded(&server, &[]);
        wait_for_clients(&server, 50);
        terminal.press(RIGHT);
        terminal.wait_for("100 clients", |screen| knob(screen, "clients")?.contains("100").then_some(()));
        wait_for_clients(&server, 100);
        terminal.press(&LEFT.repeat(2));
        let fewer = terminal.wait_for("fewer clients", |screen| {
            let row = knob(screen, "clients")?;
            row.split_whitespace().nth(1)?.parse().ok().filter(|n: &usize| *n < 50)
        });
        wait_for_clients(&server, fewer);
        terminal.press("u");
        terminal.wait_until_gone(&format!("{fewer} ◂▸"));
        quit(terminal, &server);
    }
}

#[test]
fn a_number_is_typed_into_a_knob_and_one_out_of_range_is_refused() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &[]);
    terminal.press("\r75\r");
    wait_for_clients(&server, 75);
    terminal.press("\r99999\r");
    terminal.wait_for_text("clients must lie between 1 and 10000, not 99999");
    wait_for_clients(&server, 75);
    terminal.press(&DOWN.repeat(2));
    terminal.press("\r5k\r");
    terminal.wait_for("the rate", |screen| knob(screen, "rate")?.contains("5000").then_some(()));
    terminal.press("\r123");
    terminal.wait_for_text("Esc cancel");
    terminal.press("\x1b");
    terminal.wait_until_gone("Esc cancel");
    terminal.wait_for_text("segment 3");
    assert!(knob(&terminal.text(), "rate").unwrap().contains("5000"), "what was dropped changed nothing");
    let text = quit(terminal, &server);
    assert!(text.contains("  clients 75 ") && text.contains("  rate 5000/s "), "{text}");
}

#[test]
fn the_load_goes_off_and_on_by_a_key_and_keeps_its_connections() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &[]);
    wait_for_clients(&server, 50);
    let ids = server.load_ids();
    terminal.press("l");
    terminal.wait_for_text("○ load off");
    assert_eq!(server.load_ids(), ids);
    terminal.press("l");
    terminal.wait_for_text("● LOAD");
    assert_eq!(server.load_ids(), ids);
    quit(terminal, &server);
}

#[test]
fn a_frozen_view_stands_still_while_the_measurement_goes_on() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &[]);
    terminal.wait_for_time("00:00:01");
    terminal.press(" ");
    terminal.wait_for_text("FROZEN");
    let held = clock(&terminal.text()).unwrap().to_owned();
    let before = server.calls(&[], "get");
    terminal.wait_for("two seconds behind", |screen| {
        let behind = screen.split_once(" behind")?.0.rsplit(' ').next()?;
        (behind >= "00:00:02").then_some(())
    });
    assert!(server.calls(&[], "get") > before);
    assert_eq!(clock(&terminal.text()), Some(held.as_str()));
    terminal.press(" ");
    terminal.wait_until_gone("FROZEN");
    quit(terminal, &server);
}

#[test]
fn the_help_opens_scrolls_and_closes() {
    let server = Server::redis().start();
    let mut terminal = Terminal::start(&redyno(&["-p", &server.port_text()]), 80, 24);
    terminal.wait_for_text("load off");
    terminal.press("?");
    terminal.wait_for_text("find: ");
    terminal.press(&"\x1b[6~".repeat(30));
    terminal.wait_for_text("Ctrl-Z");
    terminal.press("q");
    terminal.wait_until_gone("Ctrl-Z");
    assert!(terminal.text().contains("q quit"), "q closes the help, not the program");
    quit(terminal, &server);
}

#[test]
fn every_size_draws_something_true() {
    let server = Server::redis().start();
    let terminal = loaded(&server, &[]);
    for (columns, rows) in [(80, 24), (200, 60), (40, 10), (10, 3), (1, 1), (120, 36)] {
        terminal.resize(columns, rows);
        // The whole is painted anew, so what stands there is of this size.
        terminal.wait_for(&format!("{columns}×{rows}"), |screen| {
            let drawn = match (columns, rows) {
                (80.., 24..) => {
                    screen.contains("● LOAD") && screen.contains("q quit") && screen.contains("p99.9")
                }
                (40, 10) => screen.contains("LOAD"),
                (10, 3) => screen.contains("/s"),
                _ => !screen.trim().is_empty(),
            };
            drawn.then_some(())
        });
    }
    quit(terminal, &server);
    let mut tiny = Terminal::start(&redyno(&["-p", &server.port_text(), "--load"]), 10, 3);
    tiny.wait_for_text("/s");
    tiny.press("q");
    assert_eq!(tiny.end().0, Some(0));
}

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

#[test]
fn a_target_that_is_not_there_is_told_with_its_cause_and_comes_alive_when_it_starts() {
    let mut server = Server::redis().start();
    server.kill();
    let port = server.port_text();
    let terminal = Terminal::start(&redyno(&["-p", &port, "--load"]), 160, 36);
    terminal.wait_for_text("UNREACHABLE");
    terminal.wait_for_text("since 00:00");
    terminal.wait_for_text(&format!("trying again: nothing listens on 127.0.0.1:{port}"));
    terminal.wait_for_text("connection refused");
    server.restart();
    terminal.wait_until_gone("UNREACHABLE");
    terminal.wait_for_text("● LOAD");
    terminal.wait_for_text("redis 7.");
    wait_for_clients(&server, 50);
    // Gone in the middle of it: the screen says so, and goes on when it is back.
    server.kill();
    terminal.wait_for_text("UNREACHABLE");
    server.restart();
    terminal.wait_until_gone("UNREACHABLE");
    wait_for_clients(&server, 50);
    quit(terminal, &server);
}

#[test]
fn before_a_first_write_beside_other_keys_the_screen_asks() {
    let server = Server::redis().start();
    server.cli(&["SET", "theirs", "1"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let port = server.port_text();
    let mut terminal = Terminal::start(&redyno(&["-p", &port, "--load"]), 100, 30);
    terminal.wait_for_text("holds 1 key; the load writes keys under redyno:");
    terminal.press("n");
    terminal.wait_for_text("nothing was written; the load stays off");
    terminal.wait_for_text("○ load off");
    assert_eq!(["set", "hset"].map(|command| server.calls(&[], command)), [0, 0]);
    terminal.press("l");
    terminal.wait_for_text("holds 1 key; the load writes keys under redyno:");
    terminal.press("y");
    terminal.wait_for_text("● LOAD");
    wait_for("a SET", || (server.calls(&[], "set") > 0).then_some(()));
    quit(terminal, &server);
    assert_eq!(server.cli(&["KEYS", "*"]), "theirs");
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
    command.args(["-c", DYING_TERMINAL]).arg(program).args(["-p", &server.port_text(), "--load"]);
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

#[test]
fn segments_are_compared_and_the_log_is_searched_while_the_load_runs() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &["-c", "2", "-r", "100"]);
    terminal.press(RIGHT);
    wait_for_clients(&server, 5);
    terminal.press("4");
    terminal.wait_for_text("2 segments");
    terminal.press(&format!("{DOWN}b"));
    terminal.wait_for_text("segment 1 is the baseline; b again lets it go");
    terminal.wait_for_text("ops/s vs 1");
    terminal.press("2");
    terminal.wait_for("the baseline beside the present", |screen| {
        (screen.contains("base 1") && screen.contains("percentiles, the whole segment")).then_some(())
    });
    terminal.press("5/CLIENTS 5\r");
    terminal.wait_for_text("/clients 5");
    terminal.press("1z");
    terminal.wait_for("the throughput alone", |screen| {
        (screen.contains("throughput, replies/s") && !screen.contains("knobs ─")).then_some(())
    });
    terminal.press("\x1b");
    terminal.wait_for_text("knobs ─");
    quit(terminal, &server);
}
