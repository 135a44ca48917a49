//! A server that means harm: whatever it answers, redyno ends with one line or goes on with errors counted, keeps its
//! memory within bounds, and obeys `--duration`, Ctrl-C and SIGTERM.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use redyno::gauge::{GAUGES, GaugeSource};

use crate::{
    scripted::{Crowd, Peer},
    support::{
        program::{Outcome, Running, redyno, run},
        terminal::Terminal,
        wait_for,
    },
};
use rustix::process::Signal;

/// As much address space as redyno may take here, in KiB; what it needs is a tenth of that.
const MEMORY_KIB: u32 = 1_500_000;

/// What a server may pour out instead of an answer: its name, how it begins, and what it goes on with.
type Flood = (&'static str, &'static [u8], &'static [u8]);
const NESTING: Flood = ("nesting", b"", b"*1\r\n");
const BULK: Flood = ("an endless bulk", b"$999999999999\r\n", b"x");
const LONG_BULK: Flood = ("a bulk within the bounds of a number only", b"$2000000000\r\n", b"x");
const ARRAY: Flood = ("an endless array", b"*999999999999\r\n", b":1\r\n");
const LINE: Flood = ("an endless line", b"+", b"x");
const PUSHES: Flood = ("pushes", b"", b">0\r\n");
const ATTRIBUTES: Flood = ("attributes", b"", b"|0\r\n");
const UNASKED: Flood = ("answers to nothing", b"", b"+OK\r\n");

const FLOODS: [Flood; 8] = [NESTING, BULK, LONG_BULK, ARRAY, LINE, PUSHES, ATTRIBUTES, UNASKED];

/// What the ping probe asks; a PING alone is first contact's.
const PING: &str = "redyno-ping PING";

/// A server that answers as a small one does until the client says something that begins with `to`, or has a name with
/// which it does: the answer to that is a flood.
fn flooding(to: &'static str, flood: Flood) -> Crowd {
    flooding_and(to, flood, Arc::default())
}

/// The same; `flooded` is set when the flood begins.
fn flooding_and(to: &'static str, (_, head, flood): Flood, flooded: Arc<AtomicBool>) -> Crowd {
    Crowd::start(move |peer, _| {
        let mut name = String::new();
        while let Some(command) = peer.command() {
            if let Some(given) = command.strip_prefix("CLIENT SETNAME ") {
                name = given.to_owned();
            }
            if command.starts_with(to) || format!("{name} {command}").starts_with(to) {
                flooded.store(true, Ordering::SeqCst);
                peer.pour_after(head, flood);
                return;
            }
            answer(peer, &command);
        }
    })
}

pub fn answer(peer: &mut Peer, command: &str) {
    let info = "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nrun_id:1\r\n# Keyspace\r\n";
    let info = format!("${}\r\n{info}\r\n", info.len());
    peer.say(match command.split(' ').next().unwrap_or_default() {
        "PING" => "+PONG\r\n",
        "INFO" => &info,
        "DBSIZE" | "EXISTS" | "DEL" | "UNLINK" => ":0\r\n",
        "SCAN" => "*2\r\n$1\r\n0\r\n*0\r\n",
        "GET" => "$-1\r\n",
        "SLOWLOG" | "LATENCY" | "CONFIG" | "HGETALL" | "SMEMBERS" => "*0\r\n",
        _ if command.starts_with("CLIENT ID") => ":7\r\n",
        _ if command.starts_with("CLIENT LIST") => "$0\r\n\r\n",
        _ => "+OK\r\n",
    });
}

/// The program with `args` against `server`, with little memory.
pub fn confined(server: &Crowd, args: &[&str]) -> Command {
    let port = server.port().to_string();
    let plain = redyno(&[args, &["-p", &port]].concat());
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""));
    command.arg(plain.get_program()).args(plain.get_args()).env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// Runs the program against each kind of server at a time.
fn against_all(cases: Vec<(&'static str, Flood)>, args: &[&'static str], check: fn(Outcome, &str)) {
    thread::scope(|scope| {
        for (to, flood) in cases {
            scope.spawn(move || {
                let server = flooding(to, flood);
                let outcome = Running::start(confined(&server, args)).end();
                check(outcome, &format!("{} to {to}", flood.0));
            });
        }
    });
}

/// The questions that an attached session asks by itself.
const QUESTIONS: [&str; 6] = ["CLIENT SETNAME", "INFO", "SLOWLOG", "CONFIG GET", "LATENCY", "CLIENT LIST"];

#[test]
fn a_session_obeys_its_duration_whatever_the_control_plane_receives() {
    let deep = QUESTIONS.map(|to| (to, NESTING));
    let all = FLOODS.map(|flood| [("INFO", flood), (PING, flood)]);
    // The first contact has as long as the session, and nine of them share the machine.
    let args = ["--headless", "--no-load", "--duration", "4"];
    against_all([deep.as_slice(), all.as_flattened()].concat(), &args, |outcome, context| {
        assert_eq!(outcome.status.code(), Some(0), "{context}: {outcome:?}");
    });
}

#[test]
fn clean_ends_with_one_line_whatever_it_receives() {
    let questions = ["INFO", "SCAN", "DBSIZE"].map(|to| (to, NESTING));
    let all = FLOODS.map(|flood| ("SCAN", flood));
    against_all([questions.as_slice(), &all].concat(), &["clean"], |outcome, context| {
        assert_eq!(outcome.status.code(), Some(1), "{context}: {outcome:?}");
        assert_eq!(outcome.err.lines().count(), 1, "{context}: {outcome:?}");
        assert!(outcome.err.len() < 400, "{context}: {outcome:?}");
    });
}

#[test]
fn first_contact_ends_with_one_line_whatever_it_receives() {
    let all = FLOODS.map(|flood| ("PING", flood));
    against_all(all.to_vec(), &["clean", "-a", "pw"], |outcome, context| {
        assert_eq!(outcome.status.code(), Some(1), "{context}: {outcome:?}");
        assert_eq!(outcome.err.lines().filter(|line| line.starts_with("redyno: ")).count(), 1, "{outcome:?}");
        assert!(outcome.err.len() < 600, "{context}: {outcome:?}");
    });
}

#[test]
fn the_one_shot_modes_obey_signals_whatever_a_ping_receives() {
    for flood in [NESTING, BULK, PUSHES, ATTRIBUTES] {
        for mode in ["--latency", "--latency-history", "--latency-dist"] {
            let flooded = Arc::new(AtomicBool::new(false));
            let server = flooding_and(PING, flood, Arc::clone(&flooded));
            let program = Running::start(confined(&server, &[mode]));
            wait_for("a PING", || flooded.load(Ordering::SeqCst).then_some(()));
            program.signal(Signal::TERM);
            let outcome = program.end();
            assert!(outcome.status.code().is_some(), "{mode} {}: {outcome:?}", flood.0);
        }
    }
}

/// What a server says of itself whose every figure is as great as it can be, in every other answer.
fn greatest(command: &str, n: usize) -> Option<String> {
    let bulk = |text: &str| format!("${}\r\n{text}\r\n", text.len());
    let most = if n.is_multiple_of(2) { i64::MAX } else { 0 };
    Some(match command {
        "INFO" => {
            let fixed = "redis_version:7.0.0\r\nredis_mode:standalone\r\nrun_id:1\r\nrole:master\r\n";
            let counts = GAUGES.iter().filter_map(|gauge| match gauge.about().source {
                GaugeSource::Info(name) | GaugeSource::InfoOrStat(name, _) => {
                    Some(format!("{name}:{most}\r\n"))
                }
                _ => None,
            });
            let more = ["evicted_keys", "rejected_connections", "latest_fork_usec", "total_forks"];
            let more = more.map(|name| format!("{name}:{most}\r\n")).concat();
            let dbs = format!("# Keyspace\r\ndb0:keys={most}\r\ndb1:keys={most}\r\ndb2:keys={most}\r\n");
            bulk(&format!("{fixed}{}{more}{dbs}", counts.collect::<String>()))
        }
        "INFO commandstats errorstats" => {
            let name = |end: usize| format!("cmdstat_{end}{}", "x".repeat(2000));
            let stat = |end| {
                format!(
                    "{}:calls={most},usec={most},rejected_calls={most},failed_calls={most}\r\n",
                    name(end)
                )
            };
            bulk(&(0..2000).map(stat).collect::<String>())
        }
        _ if command.starts_with("SLOWLOG") => {
            let id = i64::MAX - 100 + n as i64;
            format!("*1\r\n*6\r\n:{id}\r\n:{most}\r\n:{most}\r\n*1\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n")
        }
        _ if command.starts_with("LATENCY LATEST") => {
            format!("*1\r\n*4\r\n$4\r\nfork\r\n:{}\r\n:{most}\r\n:{most}\r\n", -most)
        }
        _ => return None,
    })
}

#[test]
fn what_a_server_counts_to_the_end_of_64_bits_is_recorded_so_that_it_can_be_read() {
    let server = Crowd::start(|peer, _| {
        let mut n = 0;
        while let Some(command) = peer.command() {
            n += usize::from(command == "INFO");
            match greatest(&command, n) {
                Some(shown) => peer.say(&shown),
                None => answer(peer, &command),
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    let file = file.to_str().unwrap();
    let port = server.port().to_string();
    let running = Running::start(redyno(&[
        "-p",
        &port,
        "--headless",
        "--no-load",
        "--duration",
        "60",
        "--record",
        file,
    ]));
    // Commands beyond a thousand are one.
    let wanted = ["9223372036854775807", "\"event\":\"eviction_began\"", "\"other\":{\"calls\""];
    wait_for("the largest counts", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        wanted.iter().all(|part| text.contains(part)).then_some(())
    });
    running.signal(Signal::INT);
    running.end();
    let replayed = run(&["replay", file, "--headless"]).expect_code(0);
    assert!(
        !replayed.out.contains("is skipped") && replayed.out.contains("eviction"),
        "{:.3000}",
        replayed.out
    );
}

#[test]
fn the_screen_lives_and_gives_the_terminal_back_whatever_the_server_says() {
    for to in ["INFO", PING] {
        for flood in [NESTING, BULK, PUSHES] {
            let flooded = Arc::new(AtomicBool::new(false));
            let server = flooding_and(to, flood, Arc::clone(&flooded));
            let port = server.port().to_string();
            let mut terminal = Terminal::start(&redyno(&["-p", &port]), 120, 40);
            terminal.wait_for_text("quit");
            wait_for("a flood", || flooded.load(Ordering::SeqCst).then_some(()));
            terminal.press("q");
            assert_eq!(terminal.exit_code(), Some(0), "{} to {to}", flood.0);
            assert!(terminal.is_given_back(), "{} to {to}", flood.0);
        }
    }
}
