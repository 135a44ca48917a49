//! Cleaning up removes redyno's keys and nothing else.

use std::{sync::mpsc::channel, time::Duration};

use crate::support::{Server, wait_for};
use clap::Parser;
use redyno::{
    cli::clean::{CleanArgs, CleanError, run},
    clock::Clock,
    server::{Cleaned, Control, Owner},
    target::{Address, Target},
};

const LIMIT: Duration = Duration::from_secs(30);

/// 4000 keys of ours, 4000 that only look like it, and the marker.
fn fill(server: &Server) {
    let script = "for i=1,4000 do redis.call('SET','redyno:'..i,1); redis.call('SET','redyno'..i,1) end";
    server.cli(&["EVAL", script, "0"]);
    server.cli(&["HSET", "redyno:session", "started", "2026-11-21T07:08:00Z", "host", "box", "pid", "4711"]);
    server.cli(&["RPUSH", "redyno:list", "a", "b"]);
    assert_eq!(server.cli(&["DBSIZE"]), "8002");
}

fn control(server: &Server) -> Control {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: server.port() };
    let (news, _) = channel();
    let target = Target { address, ..Target::default() };
    Control::start(target, Clock::start(), Duration::from_secs(1), news).unwrap()
}

#[derive(Parser)]
#[command(disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    clean: CleanArgs,
}

fn run_clean(args: &[&str]) -> (Result<(), CleanError>, String) {
    let args = Line::parse_from([&["redyno"], args].concat()).clean;
    let mut out = Vec::new();
    let result = run(&args, &mut out);
    (result, String::from_utf8(out).unwrap())
}

#[test]
fn exactly_the_keys_under_the_prefix_are_removed_on_redis_and_valkey() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        fill(&server);
        server.cli(&["-n", "1", "SET", "redyno:1", "in another database"]);
        let cleaning = control(&server).clean_up();
        assert_eq!(cleaning, Cleaned { removed: 4001, marker: true, complete: true });
        assert_eq!(server.cli(&["DBSIZE"]), "4000");
        assert_eq!(server.cli(&["--scan", "--pattern", "redyno:*"]), "");
        assert_eq!(server.cli(&["-n", "1", "DBSIZE"]), "1");
        assert_eq!(server.cli(&["GET", "redyno17"]), "1");
    }
}

/// Waits for a whole clean-up.
trait CleanUp {
    fn clean_up(&self) -> Cleaned;
}

impl CleanUp for Control {
    fn clean_up(&self) -> Cleaned {
        let cleaning = self.clean();
        let cleaned = cleaning.wait(LIMIT).unwrap().unwrap();
        let progress = cleaning.progress();
        assert_eq!(progress.removed, cleaned.removed);
        assert!(progress.total >= cleaned.removed && progress.scanned > 0, "{progress:?}");
        cleaned
    }
}

#[test]
fn a_server_without_unlink_is_cleaned_by_del() {
    let server = Server::redis().with_args(&["--rename-command", "UNLINK", ""]).start();
    fill(&server);
    assert_eq!(control(&server).clean_up(), Cleaned { removed: 4001, marker: true, complete: true });
    assert!(server.cli(&["INFO", "commandstats"]).contains("cmdstat_del:"));
    assert_eq!(server.cli(&["DBSIZE"]), "4000");
}

#[test]
fn a_stopped_cleaning_says_that_it_is_not_complete_and_leaves_the_marker() {
    let server = Server::redis().start();
    fill(&server);
    let control = control(&server);
    server.pause();
    let cleaning = control.clean();
    cleaning.stop();
    server.resume();
    let cleaned = cleaning.wait(LIMIT).unwrap().unwrap();
    assert!(!cleaned.complete && !cleaned.marker, "{cleaned:?}");
    assert_eq!(server.cli(&["EXISTS", "redyno:session"]), "1");
    assert!(control.clean_up().complete);
}

#[test]
fn the_command_says_whose_keys_it_removed_and_later_that_there_is_nothing() {
    let server = Server::valkey().start();
    fill(&server);
    let port = server.port().to_string();
    let (result, said) = run_clean(&["-p", &port]);
    result.unwrap();
    let place = format!("127.0.0.1:{port} db 0: ");
    let expected = format!(
        "{place}a session begun 2026-11-21T07:08:00Z on host box, process 4711 left its keys behind\n\
         {place}removed 4 001 keys under redyno: and the marker of that session\n"
    );
    assert_eq!(said, expected);
    let (result, said) = run_clean(&["-p", &port]);
    result.unwrap();
    assert_eq!(said, format!("{place}nothing to remove, no key is under redyno:\n"));
}

#[test]
fn a_session_at_work_is_not_robbed_without_yes() {
    let server = Server::redis().start();
    fill(&server);
    let mut load = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    std::io::Write::write_all(&mut load, b"CLIENT SETNAME redyno-load\r\n").unwrap();
    wait_for("the load's name", || server.cli(&["CLIENT", "LIST"]).contains("redyno-load").then_some(()));
    let port = server.port().to_string();
    let (result, _) = run_clean(&["-p", &port]);
    let error = result.unwrap_err();
    assert!(error.to_string().contains("(1 connection)"), "{error}");
    assert_eq!((error.exit_code(), server.cli(&["DBSIZE"])), (1, "8002".to_owned()));
    run_clean(&["-p", &port, "--yes"]).0.unwrap();
    assert_eq!(server.cli(&["DBSIZE"]), "4000");
}

#[test]
fn bad_usage_and_an_absent_server_have_their_exit_codes() {
    let usage = run_clean(&["-p", "0"]).0.unwrap_err();
    assert_eq!(usage.exit_code(), 2);
    let absent = run_clean(&["-p", &crate::support::free_port().to_string()]).0.unwrap_err();
    assert_eq!(absent.exit_code(), 1);
    assert!(absent.to_string().contains("nothing listens"), "{absent}");
}

#[test]
fn a_marker_alone_is_removed_too() {
    let server = Server::redis().start();
    let control = control(&server);
    control.mark(Owner::default()).wait(LIMIT).unwrap().unwrap();
    assert_eq!(control.clean_up(), Cleaned { removed: 0, marker: true, complete: true });
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}
