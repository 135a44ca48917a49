//! What happens on a real server becomes events, and its figures come with every status.

use std::{
    io::Write as _,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use crate::support::{Server, wait_among};
use redyno::{
    clock::Clock,
    endpoint::{Address, Credentials, Password, Target},
    events::EventKind,
    server::{
        ClientRow, Control, ControlMessage, Ledger, Parameter, Restored, ServerError, Status, TunedParameter,
    },
    stats::Buckets,
};

const POLL: Duration = Duration::from_millis(20);
/// Long enough for any answer; nothing is judged by it.
const LIMIT: Duration = Duration::from_secs(30);

fn servers(args: &[&str]) -> [Server; 2] {
    [Server::redis(), Server::valkey()].map(|recipe| recipe.with_args(args).start())
}

fn at(server: &Server) -> Target {
    Target { address: Address::Tcp { host: "127.0.0.1".into(), port: server.port() }, ..Target::default() }
}

/// A control plane that has looked once.
fn start(target: Target) -> (Control, Receiver<ControlMessage>) {
    let (news, messages) = channel();
    let control = Control::start(target, Clock::start(), POLL, news).unwrap();
    status(&messages, |_| true);
    (control, messages)
}

fn status(messages: &Receiver<ControlMessage>, is_wanted: impl Fn(&Status) -> bool) -> Status {
    wait_among(messages, "such a status", |message| match message {
        ControlMessage::Status { status, .. } if is_wanted(status) => Some((**status).clone()),
        _ => None,
    })
}

/// The detail of the next event of that name in which `part` stands.
fn event(messages: &Receiver<ControlMessage>, wanted: &str, part: &str) -> String {
    wait_among(messages, &format!("{wanted} with '{part}'"), |message| match message {
        ControlMessage::Event { what, .. } if what.name() == wanted => {
            Some(what.to_string()).filter(|detail| detail.contains(part))
        }
        _ => None,
    })
}

#[test]
fn a_slow_command_is_reported_by_slow_log_and_latency_monitor() {
    let args = ["--enable-debug-command", "local", "--latency-monitor-threshold", "5"];
    for server in servers(&args) {
        server.cli(&["DEBUG", "SLEEP", "0.011"]);
        let (_control, messages) = start(at(&server));
        server.cli(&["DEBUG", "SLEEP", "0.025"]);
        let (reported, arguments) = wait_among(&messages, "the slow command", |message| match message {
            ControlMessage::Event { what: what @ EventKind::SlowCommand { arguments, .. }, .. } => {
                Some((what.to_string(), arguments.clone()))
            }
            _ => None,
        });
        assert!(reported.contains(" ms DEBUG SLEEP from ") && !reported.starts_with("11"), "{reported}");
        assert_eq!(arguments, ["SLEEP", "0.025"]);
        let reported = event(&messages, "latency", "command ");
        assert!(reported.contains("the longest so far"), "{reported}");
        let status = status(&messages, |status| !status.latency_events.is_empty());
        assert!(status.latency_events.iter().any(|event| event.name == "command" && event.max_ms >= 25));
    }
}

#[test]
fn a_large_reply_is_reported_by_valkeys_command_log() {
    let server = Server::valkey().with_args(&["--commandlog-reply-larger-than", "1000"]).start();
    let (_control, messages) = start(at(&server));
    // Entries of the log from before the first poll are no news.
    status(&messages, |status| status.poll_s.is_some());
    server.cli(&["SET", "big", &"x".repeat(2000)]);
    server.cli(&["GET", "big"]);
    let reported = event(&messages, "commandlog", "a reply of");
    assert!(reported.starts_with("a reply of 1.9") && reported.contains(": GET big from "), "{reported}");
}

#[test]
fn a_parameter_that_anybody_changes_is_an_event_and_one_that_is_set_here_is_none() {
    for server in servers(&[]) {
        let (control, messages) = start(at(&server));
        let hz = Parameter::named("hz").unwrap();
        control.set_config(hz, "20".to_owned(), &Ledger::unmarked()).wait(LIMIT).unwrap().unwrap();
        status(&messages, |status| status.config.get("hz").is_some_and(|hz| hz == "20"));
        server.cli(&["CONFIG", "SET", "slowlog-max-len", "77"]);
        assert_eq!(event(&messages, "config", ""), "slowlog-max-len 128 → 77");
    }
}

#[test]
fn clients_are_listed_with_their_name_and_last_command_and_redynos_own_are_marked() {
    for server in servers(&[]) {
        let mut app = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        app.write_all(b"CLIENT SETNAME app\r\nMULTI\r\nGET a\r\nGET b\r\n").unwrap();
        let (control, messages) = start(at(&server));
        let clients = wait_among(&messages, "the client in its transaction", |message| {
            let ControlMessage::Status { status, .. } = message else { return None };
            let is_open = |client: &ClientRow| client.multi == Some(2);
            status.clients.clone().filter(|clients| clients.rows.iter().any(is_open))
        });
        let row = |name| clients.rows.iter().find(|row| row.name.as_deref() == Some(name)).unwrap();
        let (app_row, own) = (row("app"), row("redyno-control"));
        assert_eq!((app_row.last.as_str(), app_row.is_own, own.is_own), ("get", false, true), "{clients:?}");
        assert!(app_row.address.as_deref().unwrap().starts_with("127.0.0.1:") && app_row.memory.is_some());
        assert_eq!(clients.total, 2);
        drop(control);
    }
}

#[test]
fn what_redyno_asks_itself_is_counted_as_its_own() {
    for server in servers(&[]) {
        let (_control, messages) = start(at(&server));
        let reported = status(&messages, |status| status.own.contains_key("config|get"));
        for (name, calls) in &reported.own {
            assert_eq!(reported.command_stats[name].calls, *calls, "{name} of {reported:?}");
            assert_eq!(reported.of_others(name), None);
        }
        assert!(reported.own.keys().any(|name| reported.own_us(name) > 0.0));
        server.cli(&["SET", "a"]);
        server.cli(&["LPUSH", "a", "b"]);
        server.cli(&["GET", "a"]);
        status(&messages, |status| status.errors.get("WRONGTYPE") == Some(&1));
    }
}

#[test]
fn a_snapshot_is_a_fork_and_a_save() {
    for server in servers(&[]) {
        let (_control, messages) = start(at(&server));
        // Fast enough to be two within a second, or one within a poll.
        for _ in 0..3 {
            assert_eq!(server.cli(&["BGSAVE"]), "Background saving started");
            assert!(event(&messages, "fork", "").starts_with("a fork paused the server for "));
            assert!(event(&messages, "save", "ended").ends_with(": ok"));
        }
    }
}

#[test]
fn evictions_are_reported_when_they_begin_and_when_they_are_over() {
    for server in servers(&["--maxmemory-policy", "allkeys-lru"]) {
        let (_control, messages) = start(at(&server));
        server.cli(&["EVAL", "for i=1,20000 do redis.call('SET','key:'..i,string.rep('x',100)) end", "0"]);
        server.cli(&["CONFIG", "SET", "maxmemory", "2mb"]);
        for i in 0..20 {
            server.cli(&["SET", &format!("more:{i}"), "x"]);
        }
        assert!(event(&messages, "eviction", "evicted").contains(" keys evicted"));
        assert!(event(&messages, "eviction", "ended").contains(" keys in "));
    }
}

#[test]
fn commands_are_counted_between_polls() {
    for server in servers(&[]) {
        let (_control, messages) = start(at(&server));
        for _ in 0..3 {
            server.cli(&["GET", "a"]);
        }
        server.cli(&["GET"]);
        let (mut calls, mut rejected) = (0, 0);
        wait_among(&messages, "3 calls and a rejected one", |message| {
            let ControlMessage::Status { status, .. } = message else { return None };
            if let Some(get) = status.command_stats.get("get") {
                calls += get.calls;
                rejected += get.rejected.unwrap();
                assert!(status.poll_s.unwrap() > 0.0 && status.policy.is_some());
            }
            ((calls, rejected) == (3, 1)).then_some(())
        });
    }
}

/// What `LATENCY HISTOGRAM` says of one command, as its buckets are cumulative.
fn histogram(server: &Server, command: &str) -> Vec<(u64, u64)> {
    let text = server.cli(&["LATENCY", "HISTOGRAM", command]);
    let numbers: Vec<u64> = text.lines().skip(4).map(|line| line.trim().parse().unwrap()).collect();
    numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

#[test]
fn the_times_of_commands_are_those_of_latency_histogram_over_the_same_calls() {
    for server in servers(&[]) {
        let (_control, messages) = start(at(&server));
        server.cli(&["EVAL", "for i=1,4000 do redis.call('RPUSH','l',string.rep('x',40)) end", "0"]);
        let read = |calls: u64| {
            let script = format!("for i=1,{calls} do redis.call('LRANGE','l',0,i%400*(i%7)) end");
            server.cli(&["EVAL", &script, "0"]);
        };
        // It is asked about once it is known to be called.
        let (mut reported, mut sent) = (0, 0);
        let mut is_asked = false;
        while !is_asked || reported < sent {
            read(u64::from(!is_asked));
            sent += u64::from(!is_asked);
            let seen = status(&messages, |_| true);
            if let Some(stat) = seen.command_stats.get("lrange") {
                reported += stat.calls;
                is_asked |= stat.times.is_some();
            }
        }
        let before = histogram(&server, "lrange");
        read(5000);
        let mut times = Buckets::default();
        wait_among(&messages, "the times of 5000 calls", |message| {
            let ControlMessage::Status { status, .. } = message else { return None };
            if let Some(stat) = status.command_stats.get("lrange") {
                times.merge(stat.times.as_ref().unwrap());
            }
            (times.count() == 5000).then_some(())
        });
        let expected = Buckets::between(&before, &histogram(&server, "lrange")).unwrap();
        assert_eq!(times, expected);
        assert!(
            times.percentile(0.99) > times.percentile(0.5) && times.percentile(0.99).is_some(),
            "{times:?}"
        );
    }
}

#[test]
fn the_first_calls_of_a_command_have_their_times_as_all_others() {
    for server in servers(&[]) {
        // Some it has answered before anybody looks, and others never.
        (0..3).for_each(|_| drop(server.cli(&["GET", "a"])));
        let (_control, messages) = start(at(&server));
        for (name, command) in [("get", ["GET", "a"]), ("llen", ["LLEN", "l"]), ("get", ["GET", "b"])] {
            (0..5).for_each(|_| drop(server.cli(&command)));
            let (mut calls, mut times) = (0, 0);
            wait_among(&messages, &format!("5 calls of {name} and their times"), |message| {
                let ControlMessage::Status { status, .. } = message else { return None };
                if let Some(stat) = status.command_stats.get(name) {
                    calls += stat.calls;
                    times += stat.times.as_ref().map_or(0, Buckets::count);
                }
                ((calls, times) == (5, 5)).then_some(())
            });
        }
    }
}

#[test]
fn without_latency_histogram_percentiles_since_the_start_stand_for_the_times() {
    let args = ["--user", "ann", "on", ">pw", "~*", "+@all", "-latency"];
    for server in servers(&args) {
        let who = Credentials { user: Some("ann".into()), password: Password::new("pw") };
        let (_control, messages) = start(Target { credentials: Some(who), ..at(&server) });
        let get = wait_among(&messages, "percentiles of GET", |message| {
            server.cli(&["GET", "a"]);
            let ControlMessage::Status { status, .. } = message else { return None };
            status.command_stats.get("get").filter(|get| !get.since_start_us.is_empty()).cloned()
        });
        assert_eq!(get.times, None);
        assert_eq!(get.since_start_us.keys().collect::<Vec<_>>(), ["p50", "p99", "p99.9"]);
    }
}

#[test]
fn what_a_user_may_not_ask_is_reported_once_and_the_others_go_on() {
    let args = ["--user", "ann", "on", ">pw", "~*", "+@all", "-slowlog", "-latency", "-config", "-client"];
    for server in servers(&args) {
        let who = Credentials { user: Some("ann".into()), password: Password::new("pw") };
        let (news, messages) = channel();
        let target = Target { credentials: Some(who), ..at(&server) };
        let control = Control::start(target, Clock::start(), POLL, news).unwrap();
        let mut reported = Vec::new();
        let mut polls = 0;
        // Many polls, and what is refused is refused from the first on.
        wait_among(&messages, "many polls", |message| {
            match message {
                ControlMessage::Status { .. } => polls += 1,
                ControlMessage::Event { what: EventKind::NotPermitted { cause }, .. } => {
                    reported.push(cause.clone());
                }
                ControlMessage::Event { .. } | ControlMessage::SetupRequests { .. } => {}
            }
            (polls == 30).then_some(())
        });
        assert_eq!(reported.len(), 4, "{reported:?}");
        for command in ["SLOWLOG", "LATENCY", "CONFIG", "CLIENT"] {
            assert!(
                reported.iter().any(|detail| detail.contains(&format!("refused {command}: NOPERM"))),
                "{reported:?}"
            );
        }
        server.cli(&["GET", "a"]);
        status(&messages, |status| status.command_stats.contains_key("get"));
        let refused = control
            .set_config(Parameter::named("hz").unwrap(), "20".to_owned(), &Ledger::unmarked())
            .wait(LIMIT)
            .unwrap();
        assert!(matches!(&refused, Err(ServerError::Refused { message, .. }) if message.contains("NOPERM")));
    }
}

#[test]
fn a_parameter_is_set_and_set_back_unless_somebody_else_did() {
    for server in servers(&[]) {
        let (control, messages) = start(at(&server));
        let ledger = Ledger::unmarked();
        let set = |name, value: &str| {
            let parameter = Parameter::named(name).unwrap();
            control
                .set_config(parameter, value.to_owned(), &ledger)
                .wait(LIMIT)
                .unwrap()
                .map(|turned| turned.change)
        };
        let change = set("maxmemory", "100mb").unwrap();
        assert_eq!((change.from.as_str(), change.to.as_str()), ("0", "104857600"));
        status(&messages, |status| status.config.get("maxmemory").is_some_and(|value| value == "104857600"));
        let tuned = TunedParameter::with_change(None, "maxmemory", &change.from, &change.to);
        assert_eq!(control.restore_config(tuned.clone(), &ledger).wait(LIMIT), Some(Ok(Restored::Restored)));
        assert!(server.cli(&["CONFIG", "GET", "maxmemory"]).ends_with("\n0"));
        set("maxmemory", "100mb").unwrap();
        server.cli(&["CONFIG", "SET", "maxmemory", "7mb"]);
        let left = Restored::ChangedByOthers("7340032".to_owned());
        assert_eq!(control.restore_config(tuned, &ledger).wait(LIMIT), Some(Ok(left)));
        let refused = set("hz", "many").unwrap_err().to_string();
        assert!(refused.starts_with("the server refused CONFIG: ") && !refused.contains('\n'), "{refused}");
    }
}
