//! What a session does while nobody watches: a command for each finding, and an end when it gets too slow.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{
    Server,
    program::{Running, redyno},
    wait_for,
};

/// How long the server stands still: long enough for a finding, and short enough that its connections stay open.
const STALL: Duration = Duration::from_millis(2200);

/// Lets the server stand still after the session's first PINGs.
fn stall(server: &Server) {
    let before = server.calls(&[], "ping");
    wait_for("PINGs", || (server.calls(&[], "ping") > before + 20).then_some(()));
    server.pause();
    std::thread::sleep(STALL);
    server.resume();
}

#[test]
fn a_finding_is_json_on_the_input_of_the_command_and_nowhere_else() {
    let server = Server::redis().start();
    let (port, folder) = (server.port_text(), tempfile::tempdir().unwrap());
    let place = folder.path().display();
    // The shell's own arguments and environment, and what came in.
    let command =
        format!("tr '\\0' ' ' < /proc/$$/cmdline >> {place}/words; env >> {place}/words; cat >> {place}/in");
    for session in [&["doctor"][..], &["--headless"]] {
        let args = [session, &["-p", &port, "--duration", "5", "--on-finding", &command]].concat();
        let mut program = redyno(&args);
        program.env("REDISCLI_AUTH", "");
        let running = Running::start(program);
        stall(&server);
        let outcome = running.end();
        assert!([0, 3].contains(&outcome.code()) && !outcome.err.contains("--on-finding"), "{outcome:?}");
        let input = fs::read_to_string(folder.path().join("in")).unwrap();
        let findings: Vec<Value> = input.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let known = findings.iter().find(|it| it["rule"] == "slow server" || it["rule"] == "stall");
        let finding = known.unwrap_or_else(|| panic!("{input}"));
        assert_eq!(finding["target"], format!("127.0.0.1:{port}"));
        assert!(finding["times"] == 1 && finding["started"].is_string(), "{finding}");
        let words = fs::read_to_string(folder.path().join("words")).unwrap();
        for text in ["REDISCLI_AUTH", "PING waited", "no reply", "severity"] {
            assert!(!words.contains(text), "{text}: {words}");
        }
        fs::remove_file(folder.path().join("in")).unwrap();
    }
}

#[test]
fn a_command_that_does_not_end_is_ended_with_what_it_started() {
    let server = Server::redis().start();
    let (port, folder) = (server.port_text(), tempfile::tempdir().unwrap());
    let file = folder.path().join("pids");
    let command = format!("sleep 600 & echo $$ $! >> {}; wait", file.display());
    let running =
        Running::start(redyno(&["-p", &port, "--headless", "--duration", "4", "--on-finding", &command]));
    stall(&server);
    let pids = wait_for("the command", || fs::read_to_string(&file).ok().filter(|pids| pids.ends_with('\n')));
    let outcome = running.end().expect_code(0);
    assert!(outcome.err.contains("redyno: --on-finding: "), "{}", outcome.err);
    for pid in pids.split_whitespace() {
        let process = Path::new("/proc").join(pid).join("stat");
        // A process whose parent is gone may still wait to be reaped.
        wait_for("the end of the command", || {
            let state = fs::read_to_string(&process).ok();
            state.is_none_or(|state| state.contains(") Z ")).then_some(())
        });
    }
}

#[test]
fn a_run_ends_when_a_condition_was_met_for_five_seconds() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--load", "--yes", "-c", "4", "--duration", "600"];
    let running =
        Running::start(redyno(&[&args[..], &["--abort-if", "p99 > 60s", "--abort-if", "ops > 0"]].concat()));
    let began = Instant::now();
    let outcome = running.end().expect_code(3);
    assert!(began.elapsed() < Duration::from_secs(60), "the run was ended");
    let line = outcome.err.lines().last().unwrap();
    assert!(line.starts_with("redyno: --abort-if 'ops > 0' was met for 5 s: ops/s "), "{}", outcome.err);
    assert!(outcome.out.contains("load stopped: --abort-if 'ops > 0'"), "{}", outcome.out);
    assert_eq!(server.cli(&["DBSIZE"]), "0", "the keys were removed");
}

#[test]
fn conditions_that_could_never_end_a_run_are_refused() {
    let refused = |args: &[&str]| {
        let outcome = Running::start(redyno(&[&["-p", "1", "--headless"], args].concat())).end();
        outcome.expect_code(2).err
    };
    assert!(
        refused(&["--abort-if", "p99 > 1ms"]).contains("'p99 > 1ms' has no effect without load (add --load)")
    );
    assert!(
        refused(&["--load", "--abort-if", "p99 > +10%"])
            .contains("is a condition on the change from another run")
    );
    assert!(refused(&["--on-finding", ""]).contains("--on-finding"));
}
