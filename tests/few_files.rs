//! Few open files: a client needs some, and where they are too few that is said.

use std::process::Command;

use crate::support::{
    Server,
    nodes::Nodes,
    program::{Running, redyno},
    terminal::Terminal,
};

/// The program with `args` where no more than so many files may be open.
fn with_files(files: u32, args: &[&str]) -> Command {
    let plain = redyno(args);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""));
    command
        .arg(plain.get_program())
        .args(plain.get_args())
        .env("LC_ALL", "C.UTF-8")
        .env_remove("REDISCLI_AUTH");
    command
}

#[test]
fn a_few_files_are_enough_for_a_client() {
    let server = Server::redis().start();
    let port = server.port_text();
    let recording = tempfile::tempdir().unwrap();
    let file = recording.path().join("session");
    let args = [
        "--headless",
        "--load",
        "-c",
        "1",
        "--rate",
        "1000",
        "--duration",
        "1",
        "-p",
        &port,
        "--record",
        file.to_str().unwrap(),
    ];
    let outcome = Running::start(with_files(64, &args)).end().expect_code(0);
    assert!(outcome.out.contains("ops/s"), "{outcome:?}");
    for threads in [&["--threads", "1"][..], &[]] {
        let mut terminal = Terminal::start(&with_files(64, &[&["-c", "1"], threads].concat()), 120, 40);
        terminal.wait_for_text("● LOAD");
        terminal.wait_for_text("k/s");
        terminal.press("q");
        assert_eq!(terminal.end().0, Some(0));
    }
    let outcome = Running::start(with_files(30, &args)).end().expect_code(2);
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    assert!(outcome.err.contains("leaves no room for a client"), "{outcome:?}");
}

#[test]
fn clients_that_could_not_reach_all_nodes_are_refused() {
    let nodes = Nodes::start(Server::redis, false);
    let port = nodes.0[0].port_text();
    let args = ["--headless", "--load", "-n", "1000", "--threads", "1", "-p", &port, "-c"];
    // 40 files are reserved for the session, 10 for each node, and 4 for the thread.
    Running::start(with_files(100, &[&args[..], &["25"]].concat())).end().expect_code(0);
    let outcome = Running::start(with_files(100, &[&args[..], &["26"]].concat())).end().expect_code(2);
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
    let expected = "open files leaves 26 connections for the load, which is less than the 27";
    assert!(outcome.err.contains(expected), "{outcome:?}");
}
