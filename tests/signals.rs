//! Signals that would kill a program which does not expect them: the terminal is given back, keys are removed.

use std::{fs, process::Command, thread::sleep, time::Duration};

use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::Terminal,
    wait_for,
};
use redyno::{
    events::EventKind,
    session::{Record, Summary},
};
use rustix::process::Signal;

const DEADLY: [Signal; 5] = [Signal::QUIT, Signal::USR1, Signal::USR2, Signal::ALARM, Signal::XCPU];

#[test]
fn whatever_asks_for_the_end_gets_the_terminal_and_no_keys() {
    let server = Server::redis().start();
    for signal in DEADLY {
        let port = server.port_text();
        let mut terminal = Terminal::start(&redyno(&["-p", &port, "--load", "--rate", "1000"]), 120, 40);
        terminal.wait_for_text("● LOAD");
        wait_for("a key", || (server.cli(&["DBSIZE"]) != "0").then_some(()));
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), Some(130), "{signal:?}");
        terminal.wait_for("the terminal as it was", |_| terminal.is_given_back().then_some(()));
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{signal:?}");
    }
}

#[test]
fn without_a_screen_they_end_it_as_ctrl_c_does() {
    let server = Server::redis().start();
    for signal in DEADLY {
        let program =
            Running::start(redyno(&["--headless", "--load", "--rate", "1000", "-p", &server.port_text()]));
        program.wait_for_lines(1, "ops/s");
        program.signal(signal);
        assert_eq!(program.end().code(), 130, "{signal:?}");
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{signal:?}");
    }
}

#[test]
fn a_recording_beyond_the_limit_of_file_sizes_is_reported_and_kills_nobody() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session");
    let file_text = file.to_str().unwrap();
    let args = [
        "--headless",
        "--load",
        "--rate",
        "1000",
        "--duration",
        "4",
        "-p",
        &server.port_text(),
        "--record",
        file_text,
    ];
    let plain = redyno(&args);
    let mut command = Command::new("sh");
    // 8 blocks of 512 or of 1024 bytes, as the shell counts.
    command.arg("-c").arg("ulimit -f 8; exec \"$0\" \"$@\"").arg(plain.get_program()).args(plain.get_args());
    let outcome = Running::start(command).end();
    assert!(outcome.status.code().is_some(), "{outcome:?}");
    assert!(outcome.err.contains("File too large"), "{outcome:?}");
    assert!(fs::metadata(&file).unwrap().len() <= 8 * 1024);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_stop_is_a_gap_between_intervals_and_time_of_the_session() {
    let server = Server::redis().start();
    let args =
        ["--headless", "--json", "--load", "--rate", "1000", "--duration", "5", "-p", &server.port_text()];
    let program = Running::start(redyno(&args));
    program.wait_for_lines(1, r#""kind":"interval""#);
    program.signal(Signal::STOP);
    // A stop has a length.
    sleep(Duration::from_millis(1500));
    program.signal(Signal::CONT);
    let records = program.end().expect_code(0).records();
    let paused = records.iter().find_map(|record| match record {
        Record::Event(event) => match event.what {
            EventKind::Paused { length_s } => Some(length_s),
            _ => None,
        },
        _ => None,
    });
    let paused_s = paused.expect("an event tells of the stop");
    assert!(paused_s > 1.0, "{paused_s}");
    let Some(Record::End(end)) = records.last() else { panic!("an end record") };
    let sum = |length_s: fn(&Record) -> f64| records.iter().map(length_s).sum::<f64>();
    let pings_s = sum(|r| if let Record::Ping(ping) = r { ping.length_s } else { 0.0 });
    let intervals_s = sum(|r| if let Record::Interval(interval) = r { interval.timed_s() } else { 0.0 });
    let gap_s = sum(|r| if let Record::Interval(interval) = r { interval.paused_s } else { 0.0 });
    for measured_s in [intervals_s, pings_s] {
        assert!(measured_s <= end.t_s - paused_s + 0.1, "{measured_s} of {} s, {paused_s} s paused", end.t_s);
    }
    // A thousand a second were due, and sent after the stop: 1506/s were shown where its time was left out.
    let Summary { length_s, ops_per_s, ops, due, .. } = &end.summary;
    assert!((length_s - intervals_s - gap_s).abs() < 1e-3, "{length_s} s of {intervals_s} and {gap_s}");
    assert!((gap_s - paused_s).abs() < 0.2, "{gap_s} of {paused_s}");
    assert!(
        (*due as f64 / length_s - 1000.0).abs() < 5.0 && (ops_per_s - *ops as f64 / length_s).abs() < 1e-3
    );
}
