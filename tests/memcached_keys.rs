//! What is no key of memcached is not sent: a blank or the end of a line in it would begin another command.

use std::{fs, path::Path};

use redyno::{
    events::EventKind,
    session::{Record, Summary},
};

use crate::support::{
    Server,
    program::{Running, redyno, run},
};

fn verbose() -> Server {
    // One thread, so that no line of its log is cut by another.
    Server::memcached().with_args(&["-vv", "-t", "1"]).start()
}

fn uri(server: &Server) -> String {
    format!("memcached://127.0.0.1:{}", server.port())
}

/// The commands that the server was sent, in its own words; its log tells everything else of a connection likewise.
fn commands(server: &Server) -> Vec<String> {
    let log = server.log();
    let command = |line: &str| {
        let (number, command) = line.strip_prefix('<')?.split_once(' ')?;
        let is_ones = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_other = ["new auto-negotiating client", "connection closed", "server listening"]
            .iter()
            .any(|o| command.starts_with(o));
        (is_ones && !is_other).then(|| command.to_owned())
    };
    log.lines().filter_map(command).collect()
}

/// What it asks a memcached besides the load.
fn is_a_question(command: &str) -> bool {
    ["mn", "version", "stats", "stats conns", "stats settings"].contains(&command)
}

fn summary(records: &[Record]) -> &Summary {
    match records.last() {
        Some(Record::End(end)) => &end.summary,
        other => panic!("the last record is {other:?}"),
    }
}

/// Stores the item of a user; what it is now.
fn users_item(server: &Server, ask: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(format!("{ask}quit\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn hostile_records(folder: &Path) -> String {
    let long = "x".repeat(300);
    let text = format!(
        "id,title\ngood,one\na b,flush_all\n\"x 0 0 0\r\n\r\nflush_all\r\nset y\",two\n\"c,flush_all\",three\n{long},four\n\
         \u{1}\u{0}\u{7f},five\n,six\n"
    );
    let file = folder.join("docs.csv");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_record_that_cannot_be_a_key_is_counted_and_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = hostile_records(folder.path());
    for more in [&["-c", "1"][..], &["-c", "2", "-P", "16"], &["-c", "1", "--rate", "50"]] {
        let server = verbose();
        users_item(&server, "set mine 0 0 2\r\nhi\r\n");
        let (uri, usual) = (uri(&server), ["--headless", "--json", "--load", "--yes", "--dataset", &file]);
        let load = ["--", "set", "doc:__field:id__", "__field:title__"];
        let outcome = run(&[&["-u", &uri], &usual[..], more, &load].concat()).expect_code(0);
        let records = outcome.records();
        let sum = summary(&records);
        assert_eq!((sum.due, sum.ops), (7, 3), "{more:?}: {sum:?}");
        assert_eq!(sum.errors.iter().collect::<Vec<_>>(), [(&"bad-key".to_owned(), &4)], "{more:?}");
        let is_reported = records.iter().any(|record| {
            matches!(record, Record::Event(event)
                if matches!(&event.what, EventKind::FirstError { error, message, .. }
                    if error == "bad-key" && message.contains("is no key of memcached")))
        });
        assert!(is_reported, "{}", outcome.out);
        assert_eq!(users_item(&server, "get mine\r\n"), "VALUE mine 0 2\r\nhi\r\nEND\r\n", "{more:?}");
        let sent: Vec<_> = commands(&server).into_iter().filter(|command| !is_a_question(command)).collect();
        let mut stored: Vec<_> =
            sent.iter().filter(|c| c.starts_with("set doc:")).map(String::as_str).collect();
        stored.sort_unstable();
        assert_eq!(stored, ["set doc: 0 0 3", "set doc:c,flush_all 0 0 5", "set doc:good 0 0 3"], "{more:?}");
        let others: Vec<_> = sent.iter().filter(|command| !command.starts_with("set doc:")).collect();
        assert_eq!(others, ["set mine 0 0 2", "quit", "get mine", "quit"], "{more:?}");
    }
}

#[test]
fn such_a_record_is_not_sent_to_any_of_several_servers() {
    let folder = tempfile::tempdir().unwrap();
    let file = hostile_records(folder.path());
    for more in [&["-c", "1"][..], &["-c", "2", "-P", "16"], &["-c", "1", "--rate", "50"]] {
        let servers = [verbose(), verbose()];
        let uris = servers.each_ref().map(uri);
        let usual = ["--hash", "ketama", "--headless", "--json", "--load", "--yes", "--dataset", &file];
        let load = ["--", "set", "doc:__field:id__", "__field:title__"];
        let outcome = run(&[&[&*uris[0], &uris[1]], &usual[..], more, &load].concat()).expect_code(0);
        let records = outcome.records();
        let sum = summary(&records);
        assert_eq!((sum.due, sum.ops), (7, 3), "{more:?}: {sum:?}");
        assert_eq!(sum.errors.iter().collect::<Vec<_>>(), [(&"bad-key".to_owned(), &4)], "{more:?}");
        assert_eq!(outcome.out.matches(r#""event":"first_error""#).count(), 1, "{}", outcome.out);
        let sent = servers.iter().flat_map(commands).filter(|command| !is_a_question(command));
        let mut stored: Vec<_> = sent.filter(|command| !command.ends_with("quit")).collect();
        stored.sort_unstable();
        assert_eq!(stored, ["set doc: 0 0 3", "set doc:c,flush_all 0 0 5", "set doc:good 0 0 3"], "{more:?}");
    }
}

#[test]
fn a_value_in_a_key_breaks_no_connection_and_ends_no_program() {
    for (words, errors, ops) in [
        (&["set", "k:{value json}", "x"][..], 200, 0),
        (&["get", "k:{value 300}"], 200, 0),
        (&["get", "k:{value 20}"], 0, 200),
        // The longest of these keys has 250 bytes.
        (&["get", &format!("k:{}{{number 1..9}}", "k".repeat(247))], 0, 200),
        (&["set", "{value text}", "x"], 200, 0),
    ] {
        let server = verbose();
        let uri = uri(&server);
        let usual =
            ["-u", &uri, "--headless", "--json", "--load", "--yes", "-d", "40", "-c", "2", "-n", "200", "--"];
        let outcome = run(&[&usual[..], words].concat()).expect_code(i32::from(ops == 0));
        let records = outcome.records();
        let sum = summary(&records);
        let counted = sum.errors.get("bad-key").copied().unwrap_or_default();
        assert_eq!((sum.due, sum.ops, counted), (200, ops, errors), "{words:?}: {sum:?}");
        assert!(sum.errors.keys().all(|kind| kind == "bad-key"), "{words:?}: {:?}", sum.errors);
        let strange: Vec<_> = commands(&server)
            .into_iter()
            .filter(|command| !is_a_question(command) && (errors > 0 || !command.starts_with("get k:")))
            .collect();
        assert_eq!(strange, Vec::<String>::new(), "{words:?}");
    }
}

#[test]
fn a_key_that_a_script_makes_too_long_is_counted_and_one_that_fits_is_sent() {
    let (server, folder) = (verbose(), tempfile::tempdir().unwrap());
    let script = folder.path().join("turns.script");
    fs::write(&script, "at 0s value 20\nat 1s value 300\nat 2s value 30\nat 3s end\n").unwrap();
    let (uri, script) = (uri(&server), script.display().to_string());
    let usual = ["-u", &uri, "--headless", "--json", "--load", "--yes", "-c", "2", "--script", &script, "--"];
    let running = Running::start(redyno(&[&usual[..], &["get", "k:{value}"]].concat()));
    let records = running.end_of_writing().expect_code(0).records();
    let sum = summary(&records);
    assert!(sum.ops > 0 && sum.errors["bad-key"] > 0 && sum.errors.len() == 1, "{sum:?}");
    assert!(commands(&server).iter().all(|command| command.len() < 250));
}

/// A step that waits for the one before is not sent either, and neither is the one before.
#[test]
fn an_operation_is_sent_as_a_whole_or_not_at_all() {
    let (server, folder) = (verbose(), tempfile::tempdir().unwrap());
    let file = folder.path().join("steps.toml");
    let text = "[keys.item]\nprefix = \"item:\"\ncount = 5\n\
        [[operation]]\nname = \"bad\"\ntogether = \"sequence\"\nsteps = [\"gets {item}\", \"set k:{value 300} x\"]\n\
        [[operation]]\nname = \"good\"\ntogether = \"sequence\"\nsteps = [\"gets {item}\", \"cas {item.same} {cas} {value 9}\"]\n\
        [prefill]\nsteps = [\"set {item} {value}\"]\n";
    fs::write(&file, text).unwrap();
    let (uri, file) = (uri(&server), file.display().to_string());
    let usual = ["-u", &uri, "--headless", "--json", "--load", "--yes", "-c", "2", "-P", "4", "-n", "400"];
    let records = run(&[&usual[..], &["--workload", &file]].concat()).expect_code(0).records();
    let sum = summary(&records);
    let refused = sum.errors["bad-key"];
    assert!((100..300).contains(&refused) && sum.errors.len() == 1, "{sum:?}");
    assert_eq!(sum.ops + refused, 400, "{sum:?}");
    let count =
        |begin: &str| commands(&server).iter().filter(|command| command.starts_with(begin)).count() as u64;
    assert_eq!((count("gets "), count("cas "), count("set k:")), (sum.ops, sum.ops, 0));
}

#[test]
fn new_keys_that_could_not_be_removed_are_refused() {
    let (server, folder) = (Server::memcached().start(), tempfile::tempdir().unwrap());
    let file = folder.path().join("inserts.toml");
    fs::write(&file, "[keys.k]\n[[operation]]\nname = 'insert'\nsteps = ['SET {k.new} {value}']\n").unwrap();
    let (uri, file) = (uri(&server), file.display().to_string());
    let load = ["-u", &uri, "--workload", &file, "-n", "20", "-c", "1", "--headless", "--yes"];
    let refused = run(&load);
    assert!(
        refused.code() != 0 && refused.err.contains("give --keep, --own-names or --key-prefix"),
        "{refused:?}"
    );
    let is_empty = || users_item(&server, "stats\r\n").contains("STAT curr_items 0\r\n");
    assert!(is_empty());
    run(&[&load[..], &["--keep"]].concat()).expect_code(0);
    assert!(!is_empty());
}
