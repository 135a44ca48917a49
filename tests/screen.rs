//! The screen, as a person at a terminal meets it: it starts, answers keys, survives, and gives the terminal back.

use std::net::TcpStream;

use crate::support::terminal::{DOWN, LEFT, RIGHT, loaded, quit, wait_for_clients};
use crate::support::{
    Server,
    program::redyno,
    terminal::{Terminal, clock},
    wait_for,
};

/// The row of the panel that begins with `name`.
fn knob(screen: &str, name: &str) -> Option<String> {
    let panel = screen.lines().filter_map(|line| line.rsplit_once('│').map(|(_, panel)| panel));
    panel.map(|row| row.trim_start_matches([' ', '▸'])).find(|row| row.starts_with(name)).map(str::to_owned)
}

#[test]
fn without_a_target_it_drives_the_built_in_server_unless_one_listens_on_the_usual_port() {
    let somebody_listens = TcpStream::connect(("127.0.0.1", 6379)).is_ok();
    let mut terminal = Terminal::start(&redyno(&[]), 120, 36);
    if somebody_listens {
        terminal.wait_for_text("load off: redyno sends only PING and read-only commands");
    } else {
        terminal.wait_for_text("built-in server, 127.0.0.1:");
        terminal.wait_for("throughput", |screen| {
            screen.lines().any(|line| line.contains(" now ") && line.contains("k/s")).then_some(())
        });
        // Its keys are written before the load.
        terminal.wait_for_text("hits 100 %");
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
    terminal.wait_for_text("clients must be between 1 and 18000, not 99999");
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
    // Its end is reached on narrow terminals, too, and further keys do not have to be taken back.
    terminal.resize(50, 24);
    terminal.wait_for("lines of 50 columns", |screen| {
        screen.lines().any(|line| line.ends_with('┐') && line.chars().count() == 50).then_some(())
    });
    terminal.press(&"\x1b[6~".repeat(100));
    terminal.wait_for_text("Esc closes");
    terminal.press("\x1b[A");
    terminal.wait_for_text(" 1 more, ");
    terminal.resize(80, 24);
    terminal.press("\x1b[6~");
    terminal.wait_for_text("Esc closes");
    terminal.press("q");
    terminal.wait_until_gone("Esc closes");
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
                (40, 10) => screen.contains("/s") && screen.contains("charts need 46x14"),
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
fn a_target_that_is_not_there_is_reported_with_its_cause_and_comes_alive_when_it_starts() {
    let mut server = Server::redis().start();
    server.kill();
    let port = server.port_text();
    let terminal = Terminal::start(&redyno(&["-p", &port, "--load", "--rate", "1000"]), 160, 36);
    terminal.wait_for_text("UNREACHABLE");
    terminal.wait_for_text("UNREACHABLE since ");
    terminal.wait_for_text(&format!("tries again: nothing listens on 127.0.0.1:{port}"));
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
    let mut terminal = Terminal::start(&redyno(&["-p", &port, "--load", "--rate", "1000"]), 100, 30);
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

#[test]
fn segments_are_compared_and_the_log_is_searched_while_the_load_runs() {
    let server = Server::redis().start();
    let mut terminal = loaded(&server, &["-c", "2", "-r", "100"]);
    terminal.press(RIGHT);
    wait_for_clients(&server, 5);
    terminal.press("4");
    terminal.wait_for_text("2 segments");
    terminal.press(&format!("{DOWN}b"));
    terminal.wait_for_text("segment 1 is the baseline; press b again");
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
