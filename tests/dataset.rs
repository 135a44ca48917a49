//! Records of a file are written each once, in any format, without the file being in memory; what is wrong with it is reported
//! before anything is sent.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use redyno::{events::EventKind, session::Record};

use crate::messages::built_in;
use crate::scripted::Scripted;
use crate::support::{
    Server,
    program::{Outcome, Running, redyno, run},
    wait_for,
};

/// Runs redyno against `server`, for a file and a command, with these options.
fn with(server: &Server, file: &Path, options: &[&str], command: &[&str]) -> Outcome {
    let (port, file) = (server.port_text(), file.display().to_string());
    let usual = ["-p", &port, "--headless", "--yes", "--dataset", &file];
    run(&[&usual[..], options, &["--"], command].concat())
}

const HSET: [&str; 6] = ["HSET", "doc:__field:id__", "title", "__field:title__", "n", "__field:n__"];

#[test]
fn every_format_is_written_as_it_was_read() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("docs.csv", "id,title,n\na,\"x, \"\"y\"\"\nz\",1\nb,,2\n"),
        ("docs.tsv", "n\tid\ttitle\n1\ta\tx, \"y\"\\nz\n2\tb\t\n"),
        (
            "docs.jsonl",
            "{\"id\":\"a\",\"title\":\"x, \\\"y\\\"\\nz\",\"n\":1}\n{\"n\":2,\"id\":\"b\",\"title\":\"\"}\n",
        ),
        (
            "docs.xml",
            "<feed>\n<doc><id>a</id><title>x, &quot;y&quot;\nz</title><n>1</n></doc>\n<doc><id>b</id><title/><n>2</n></doc></feed>\n",
        ),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        let outcome = with(&server, &file, &["-c", "3"], &HSET).expect_code(0);
        assert!(outcome.out.contains("  dataset   2 records written in "), "{name}: {}", outcome.out);
        assert_eq!(server.cli(&["DBSIZE"]), "2", "{name}");
        // A tab separates, and nothing else means anything there.
        let title = if name == "docs.tsv" { "x, \"y\"\\nz" } else { "x, \"y\"\nz" };
        assert_eq!(server.cli(&["HMGET", "doc:a", "title", "n"]), format!("{title}\n1"), "{name}");
        assert_eq!(server.cli(&["HMGET", "doc:b", "n", "title"]), "2", "{name}");
        server.cli(&["FLUSHALL"]);
    }
}

/// The most memory that a process had so far, in KiB; nothing when it is gone.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// As many as a file has that is larger than what may be in memory.
#[cfg(target_os = "linux")]
#[test]
fn a_large_file_is_written_and_is_never_in_memory_as_a_whole() {
    const RECORDS: usize = 50_000;
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    let mut text = "id,title,n\n".to_owned();
    let padding = "x".repeat(2500);
    for n in 0..RECORDS {
        writeln!(text, "{n},\"title {n}, {padding}\",{}", n % 7).unwrap();
    }
    fs::write(&file, &text).unwrap();
    assert!(text.len() > 120_000_000, "it is larger than what may be in memory");
    let (port, path) = (server.port_text(), file.display().to_string());
    let args = ["-p", &port, "--headless", "--yes", "--threads", "2", "-P", "8", "--dataset", &path, "--"];
    let running = Running::start(redyno(&[&args[..], &HSET].concat()));
    let mut most = 0;
    while let Some(kib) = peak(running.pid()) {
        most = most.max(kib);
        std::thread::sleep(Duration::from_millis(10));
    }
    let outcome = running.end().expect_code(0);
    assert!(outcome.out.contains("  dataset   50 000 records written in "), "{}", outcome.out);
    assert_eq!((server.cli(&["DBSIZE"]).as_str(), server.calls(&[], "hset")), ("50000", RECORDS as u64));
    assert!(most > 1000 && most * 1024 < 100_000_000, "{most} KiB");
}

/// What a server answers to `questions`, as somebody else than the program asks it; it closes behind them.
fn answers(server: &Server, questions: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut asking = stream.try_clone().unwrap();
    let mut heard = String::new();
    std::thread::scope(|scope| {
        scope.spawn(move || asking.write_all([questions, "QUIT\r\n"].concat().as_bytes()).unwrap());
        stream.read_to_string(&mut heard).unwrap();
    });
    heard
}

/// Each record of a file, whatever stands in its columns, is on the server as the file has it; and a record that is not is
/// found by whoever wrote it.
#[test]
fn all_records_are_read_back_and_compared() {
    const RECORDS: usize = 20_000;
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    let title = |n: usize| match n % 4 {
        0 => format!("title {n}"),
        1 => format!("\"{n}\", a\r\nb"),
        2 => String::new(),
        _ => "\u{e4}\0 ".repeat(n % 100),
    };
    let mut text = "id,title,n\n".to_owned();
    let (mut questions, mut expected) = (String::new(), String::new());
    for n in 0..RECORDS {
        let title = title(n);
        writeln!(text, "{n},\"{}\",{}", title.replace('"', "\"\""), n % 7).unwrap();
        write!(questions, "HMGET doc:{n} title n\r\n").unwrap();
        write!(expected, "*2\r\n${}\r\n{title}\r\n$1\r\n{}\r\n", title.len(), n % 7).unwrap();
    }
    fs::write(&file, text).unwrap();
    with(&server, &file, &["--threads", "2", "-P", "8"], &HSET).expect_code(0);
    assert!(answers(&server, &questions) == expected + "+OK\r\n", "not all are as they were written");
    let (port, path) = (server.port_text(), file.display().to_string());
    let verify = |options: &[&str]| {
        run(&[&["-p", &port, "--verify", "--dataset", &path], options, &["--"], &HSET].concat())
    };
    let writes = server.calls(&[], "hset");
    let good = verify(&["--threads", "2", "-P", "8"]).expect_code(0);
    assert!(good.out.starts_with("20 000 records read back in "), "{}", good.out);
    assert!(good.out.ends_with(" s: all are as in the file\n") && good.err.is_empty(), "{good:?}");
    server.cli(&["DEL", "doc:7"]);
    server.cli(&["HDEL", "doc:8", "n"]);
    server.cli(&["HSET", "doc:19999", "title", "another"]);
    server.cli(&["DEL", "doc:9"]);
    server.cli(&["SET", "doc:9", "x"]);
    let bad = verify(&[]).expect_code(3);
    let (head, named) = bad.out.split_once('\n').unwrap();
    assert!(head.ends_with(" s: 1 missing, 3 different"), "{head}");
    let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
    let lines = [
        "8, doc:7: is missing",
        "9, doc:8: differs",
        &format!("10, doc:9: {wrong_type}"),
        "20 000, doc:19999: differs",
    ];
    assert_eq!(named, lines.map(|line| format!("  record {line}\n")).concat());
    assert_eq!(
        bad.err,
        format!("redyno: missing or different from the file: 4 records on 127.0.0.1:{port}\n")
    );
    assert!(verify(&["--maxdocs", "7"]).expect_code(0).out.starts_with("7 records read back"));
    // What the two changes by hand wrote aside.
    assert_eq!(server.calls(&[], "hset"), writes + 1);
    let several = run(&["-p", &port, "--verify", "--dataset", &path, "--", "APPEND", "__field:id__", "x"]);
    let refusal = "--verify reads back only records written by SET key value or HSET key field value ...; it cannot check 'APPEND __field:id__ x'";
    assert!(several.expect_code(2).err.contains(refusal));
}

/// Each record is compared with its own answers. This is also so after a record that differs, and if the run wrote only
/// a part of the file.
#[test]
fn records_of_several_steps_are_read_back_one_by_one() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    fs::write(&file, "id,t\na,1\nb,2\nc,3\nd,4\n").unwrap();
    let workload = directory.path().join("two.toml");
    let steps = "[[operation]]\nname = \"write\"\nsteps = [\"SET s:__field:id__ __field:t__\", \"HSET h:__field:id__ t __field:t__\"]\n";
    fs::write(&workload, steps).unwrap();
    let (port, path, workload) =
        (server.port_text(), file.display().to_string(), workload.display().to_string());
    let usual = ["-p", &port, "--dataset", &path, "--workload", &workload];
    run(&[&usual[..], &["--headless", "--yes", "-n", "3"]].concat()).expect_code(0);
    let verify = |options: &[&str]| run(&[&usual[..], &["--verify"], options].concat());
    let part = verify(&["-n", "3"]).expect_code(0);
    assert!(part.out.starts_with("3 records read back in "), "{}", part.out);
    server.cli(&["DEL", "s:a"]);
    server.cli(&["HSET", "h:c", "t", "x"]);
    let bad = verify(&[]).expect_code(3);
    let (head, named) = bad.out.split_once('\n').unwrap();
    assert!(head.starts_with("4 records read back") && head.ends_with(": 2 missing, 1 different"), "{head}");
    assert_eq!(named, "  record 1, s:a: is missing\n  record 3, h:c: differs\n  record 4, s:d: is missing\n");
    let refused = verify(&["--duration", "5"]).expect_code(2).err;
    assert!(
        refused.contains("--verify cannot know how many records a run with a duration wrote"),
        "{refused}"
    );
}

#[test]
fn records_on_other_nodes_of_a_cluster_are_not_called_different() {
    let node = Scripted::start(vec![Box::new(|peer| {
        while let Some(words) = peer.words() {
            peer.say(if words[0] == "GET" { "-MOVED 5 127.0.0.1:1\r\n" } else { "+PONG\r\n" });
        }
    })]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    fs::write(&file, "id\na\n").unwrap();
    let (port, path) = (node.address.port().to_string(), file.display().to_string());
    let words = ["-p", &port, "--verify", "--dataset", &path, "--", "SET", "__field:id__", "x"];
    let refused = run(&words).expect_code(1);
    assert!(refused.out.is_empty() && refused.err.contains("a cluster divides the records"), "{refused:?}");
    node.join();
}

#[test]
fn a_number_of_requests_goes_over_the_records_again_and_again() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docs.csv");
    fs::write(&file, "id\na\nb\nc\nd\n").unwrap();
    let options = ["-n", "8", "--maxdocs", "3", "-c", "2"];
    with(&server, &file, &options, &["HINCRBY", "doc:__field:id__", "times", "1"]).expect_code(0);
    let times = ["a", "b", "c", "d"].map(|id| server.cli(&["HGET", &format!("doc:{id}"), "times"]));
    assert_eq!(times, ["3", "3", "2", ""]);
}

#[test]
fn what_is_wrong_is_reported_before_anything_is_sent() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let good = file("good.csv", "id,title,n\n1,a,b\n");
    let broken = file("broken.csv", "id,title,n\n1,a,b\n2,a\n3,a,b\n");
    let json = file("broken.jsonl", "{\"id\":1,\"title\":2,\"n\":3}\n{\"id\":1,\"title\":\n");
    for (file, options, command, shown) in [
        (
            &good,
            &[][..],
            &["SET", "__field:no__", "x"][..],
            "good.csv has no field 'no'; it has id, title, n",
        ),
        (&broken, &[], &HSET, "broken.csv:3: the row has 2 columns, but the heading has 3"),
        (&json, &[], &HSET, "broken.jsonl:2: not a JSON object, at column "),
        (&good, &[], &["PING"], "--dataset has no effect: no operation has a __field:NAME__ or __record__"),
        (&good, &[], &["GET", "__field:id__", ";", "PING"], "the dataset does not end the run; give -n"),
        (&good, &["--maxdocs", "0"], &HSET, "it must be at least 1"),
    ] {
        let outcome = with(&server, file, options, command).expect_code(2);
        assert!(outcome.err.contains(shown), "{}", outcome.err);
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    }
    let port = server.port_text();
    let outcome = run(&[&["-p", &port, "--headless", "-n", "1", "--"], &HSET[..]].concat()).expect_code(2);
    assert!(outcome.err.contains("__field:id__ needs a dataset; give the file with --dataset"));
    let asked =
        run(&[&["-p", &port, "--headless", "--dataset", &good.display().to_string(), "--"], &HSET[..]]
            .concat());
    assert!(
        asked.expect_code(2).err.contains("runs HSET doc:, which may write to keys that are not its own")
    );
    assert_eq!((server.cli(&["DBSIZE"]).as_str(), server.calls(&[], "hset")), ("0", 0));
    let some = ["--duration", "0.3", "-c", "2"];
    with(&server, &good, &some, &["GET", "__field:id__", ";", "PING"]).expect_code(0);
}

#[test]
fn a_whole_record_is_sent_as_json() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    for (name, text, json) in [
        ("docs.jsonl", "{\"id\":\"a\", \"tags\": [1.0, null]}\n", "{\"id\":\"a\", \"tags\": [1.0, null]}"),
        ("docs.csv", "id,title\na,\"x \"\"y\"\"\"\n", "{\"id\":\"a\",\"title\":\"x \\\"y\\\"\"}"),
        ("docs.xml", "<f><d><id>a</id><t>&lt;</t></d></f>", "{\"id\":\"a\",\"t\":\"<\"}"),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, text).unwrap();
        with(&server, &file, &["-c", "1"], &["SET", "doc:__field:id__", "__record__"]).expect_code(0);
        assert_eq!(server.cli(&["GET", "doc:a"]), json, "{name}");
    }
}

#[test]
fn a_workloads_file_sends_records_too() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let [file, workload] = ["docs.jsonl", "mine.toml"].map(|name| directory.path().join(name));
    fs::write(&file, (0..100).map(|n| format!("{{\"id\":{n},\"text\":\"t {n}\"}}\n")).collect::<String>())
        .unwrap();
    let steps = "[[operation]]\nname = \"write\"\ntogether = \"multi\"\nsteps = [\"SET {key}:__field:id__ <__field:text__>\", \"SADD {key}:ids __field:id__\"]\n[keys.key]\ncount = 1\n";
    fs::write(&workload, steps).unwrap();
    let port = server.port_text();
    let [file, workload] = [file, workload].map(|path| path.display().to_string());
    let args = ["-p", &port, "--headless", "--yes", "--workload", &workload, "--dataset", &file];
    run(&args).expect_code(0);
    let keys = server.cli(&["KEYS", "redyno:*:000000000000:*"]);
    let ids: BTreeSet<_> =
        keys.lines().filter_map(|key| key.rsplit(':').next()?.parse::<u32>().ok()).collect();
    assert_eq!(ids, (0..100).collect());
    let key = keys.lines().find(|key| key.ends_with(":42")).unwrap();
    assert_eq!(server.cli(&["GET", key]), "<t 42>");
}

#[test]
fn a_file_that_changes_while_it_is_sent_ends_the_run_with_an_error() {
    type Change = fn(&Path);
    let changes: [(Change, &str); 2] = [
        (|file| fs::remove_file(file).unwrap(), "docs.csv: No such file or directory (os error 2)"),
        (
            |file| fs::write(file, "id\nx\ny\nz\n").unwrap(),
            "docs.csv: it has changed since the start, so old and new records would be mixed",
        ),
    ];
    for ((change, shown), pace) in
        changes.into_iter().flat_map(|change| [(change, &[][..]), (change, &["--rate", "5k"])])
    {
        let server = Server::redis().start();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("docs.csv");
        fs::write(&file, "id\na\nb\nc\n").unwrap();
        let (port, path) = (server.port_text(), file.display().to_string());
        let args = [
            "-p",
            &port,
            "--headless",
            "--yes",
            "--duration",
            "600",
            "--threads",
            "2",
            "-c",
            "4",
            "--dataset",
            &path,
        ];
        let command = ["--", "INCR", "__field:id__"];
        let running = Running::start(redyno(&[&args[..], pace, &command].concat()));
        wait_for("records to be written", || (server.cli(&["DBSIZE"]) == "3").then_some(()));
        change(&file);
        let outcome = running.end().expect_code(1);
        assert!(outcome.err.ends_with(&format!("{shown}\n")), "{}", outcome.err);
        assert!(outcome.out.contains(&format!("load stopped: {path}")), "{}", outcome.out);
        let lost =
            outcome.out.lines().find(|line| line.starts_with("  errors ") || line.starts_with("  lost "));
        assert_eq!(lost, None);
        assert_eq!(server.cli(&["KEYS", "[xyz]"]), "", "only records of before were sent");
        let written: u64 =
            ["a", "b", "c"].iter().map(|id| server.cli(&["GET", id]).parse::<u64>().unwrap()).sum();
        assert!(
            outcome.out.contains(&format!("  load      {written} ops in ")),
            "{written}: {}",
            outcome.out
        );
    }
}

#[test]
fn the_recall_of_searches_among_the_vectors_of_a_file_shows_which_of_them_the_server_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let (file, workload) = (directory.path().join("base.fvecs"), directory.path().join("nearest.toml"));
    let component = |n: u32| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6 - 8.0;
    let vector = |n: u32| {
        let components = (0..8).flat_map(|at| component(n * 8 + at + 1).to_le_bytes());
        [&8_i32.to_le_bytes()[..], &components.collect::<Vec<_>>()].concat()
    };
    fs::write(&file, (0..200).flat_map(vector).collect::<Vec<_>>()).unwrap();
    let store = "VADD sift FP32 __field:vector__ __field:id__";
    let search = "VSIM sift FP32 __field:vector__ COUNT 10";
    let operation = |name, weight, step| {
        format!("[[operation]]\nname = '{name}'\nweight = {weight}\nsteps = ['{step}']\n")
    };
    fs::write(&workload, operation("store", 0, store) + &operation("nearest", 1, search)).unwrap();
    let (_demo, port) = built_in(&["-p", "0"]);
    let path = file.display().to_string();
    let usual = ["-p", &port, "--headless", "--yes", "--dataset", &path];
    let mut means = Vec::new();
    for stored in ["100", "200"] {
        let words: Vec<&str> = store.split(' ').collect();
        run(&[&usual[..], &["--maxdocs", stored, "--"], &words].concat()).expect_code(0);
        let searches = ["--json", "--duration", "2", "--rate", "50", "--workload"];
        let outcome = run(&[&usual[..], &searches, &[workload.to_str().unwrap()]].concat()).expect_code(0);
        means.extend(outcome.records().iter().find_map(|record| match record {
            Record::Event(event) => match &event.what {
                EventKind::RecallMeasured { searches: 1.., neighbours: 10, mean, .. } => Some(*mean),
                _ => None,
            },
            _ => None,
        }));
    }
    // The server searches exactly, so only the vectors that it does not have are missing.
    assert!(means.len() == 2 && means[0] > 0.0 && means[0] < 0.9 && means[1] == 1.0, "{means:?}");
}
