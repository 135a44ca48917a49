//! Every workload that the program has runs to its end on real servers, without an error, and leaves nothing there.

use std::{fs, io::Write as _};

use redyno::{events::EventKind, session::Record};

use crate::{
    messages::built_in,
    support::{Recipe, Server, cli_at, program::run},
};

/// The workloads that `redyno workloads` lists, before the series.
fn listed() -> Vec<String> {
    let list = run(&["workloads"]).expect_code(0).out;
    let workloads = list.lines().take_while(|line| !line.is_empty());
    workloads.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Those that memcached alone has.
const OF_MEMCACHED: [&str; 1] = ["timeline-cas"];

/// Those of a module, and what its name contains.
const OF_MODULES: [(&str, &str); 3] =
    [("search", "search"), ("vectors", "search"), ("vector-set", "vectorset")];

/// Those of servers by HTTP.
const OF_HTTP: [&str; 2] = ["opensearch", "opensearch-knn"];

/// Those that both have.
const OF_BOTH: [&str; 8] =
    ["cache", "mixed", "get", "set", "incr", "ping", "alibaba-cluster", "alibaba-threads"];

/// Those of Redis and Valkey.
fn of_redis() -> Vec<String> {
    let mut names = listed();
    assert!(names.len() > 10 && names.iter().any(|name| name == OF_MEMCACHED[0]), "{names:?}");
    names.retain(|name| !OF_MEMCACHED.iter().chain(&OF_HTTP).any(|other| other == name));
    names
}

fn run_without_an_error(names: impl IntoIterator<Item = String>, server: &Server) {
    let port = server.port_text();
    for name in names {
        let args = ["-p", &port, "--headless", "--json", "--yes", "--workload", &name];
        let load = ["-c", "5", "-r", "200", "-n", "1000"];
        let outcome = run(&[&args[..], &load].concat());
        let module = OF_MODULES.iter().find(|(workload, _)| *workload == name);
        if module.is_some_and(|(_, module)| !server.cli(&["MODULE", "LIST"]).contains(module)) {
            assert!(outcome.expect_code(1).err.contains("lacks the module"));
            continue;
        }
        let records = outcome.expect_code(0).records();
        let Some(Record::End(end)) = records.last() else { panic!("{name}: no end record") };
        assert!(end.summary.ops == 1000 && end.summary.errors.is_empty(), "{name}: {:?}", end.summary.errors);
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{name}");
        expect_all_bytes_to_be_of_operations(&records, &name);
    }
}

// Every preset, in two tests at a time: these are the last tests of the suite.
#[test]
fn every_preset_of_an_even_number_runs_on_redis() {
    run_without_an_error(of_redis().into_iter().step_by(2), &Server::redis().start());
}

#[test]
fn every_preset_of_an_odd_number_runs_on_redis() {
    run_without_an_error(of_redis().into_iter().skip(1).step_by(2), &Server::redis().start());
}

#[test]
#[ignore = "long: every preset on another server"]
fn every_preset_runs_on_valkey() {
    run_without_an_error(of_redis(), &with_search().start());
}

#[test]
#[ignore = "long: every preset on another server"]
fn every_preset_runs_on_redis_8() {
    run_without_an_error(of_redis(), &Server::redis8().start());
}

/// Valkey with the search module that tests/long installs.
fn with_search() -> Recipe {
    let module = std::env::var("SEARCH_MODULE").expect("the path of redisearch.so in SEARCH_MODULE");
    Server::valkey().with_args(&["--loadmodule", &module])
}

#[test]
fn a_vector_set_of_the_built_in_server_names_all_neighbours() {
    let (_demo, port) = built_in(&["-p", "0"]);
    let args = ["-p", &port, "--headless", "--json", "--workload", "vector-set", "-r", "200", "--rate", "50"];
    let records = run(&[&args[..], &["--sweep", "neighbours 3,7"]].concat()).expect_code(0).records();
    let events = records.iter().filter_map(|record| match record {
        Record::Event(event) => Some(&event.what),
        _ => None,
    });
    let measured: Vec<_> = events
        .filter_map(|what| match what {
            EventKind::Stepped { step } => Some((step.value, step.recall)),
            EventKind::RecallMeasured { neighbours, mean, .. } => Some((*neighbours, Some(*mean))),
            _ => None,
        })
        .collect();
    // After each step is over, the event of its recall follows; then that of the knob's old value.
    assert_eq!(measured[..4], [3, 3, 7, 7].map(|neighbours| (neighbours, Some(1.0))), "{measured:?}");
    assert_eq!(cli_at(port.parse().unwrap(), &["DBSIZE"]), "0");
}

#[test]
#[ignore = "long: it needs a search module, which is 56 MB"]
fn the_series_of_vectors_has_the_recall_of_each_cell() {
    recall_rises(&with_search().start(), "redis-vectors", &["--set", "k=10"]);
}

#[test]
#[ignore = "long: it needs Redis 8, which is 24 MB"]
fn the_series_of_a_vector_set_has_the_recall_of_each_cell() {
    recall_rises(&Server::redis8().start(), "redis-vector-set", &["--set", "quantization=Q8"]);
}

fn recall_rises(server: &Server, series: &str, set: &[&str]) {
    let port = server.port_text();
    let args = ["series", series, "-p", &port, "--scale", "0.02", "--duration", "4", "--yes", "--json"];
    let outcome = run(&[&args[..], &["--set", "ef=10,200"], set].concat()).expect_code(0);
    let recalls: Vec<f64> = outcome
        .out
        .lines()
        .map(|line| {
            let cell: serde_json::Value = serde_json::from_str(line).unwrap();
            cell["gauges"]["recall"].as_f64().unwrap_or_else(|| panic!("{line}"))
        })
        .collect();
    assert!(recalls.len() == 2 && recalls[1] > 0.9 && recalls[1] >= recalls[0], "{recalls:?}");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
#[ignore = "long: it needs a search module, which is 56 MB"]
fn the_series_of_searches_runs_on_a_real_module() {
    let server = with_search().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("documents.jsonl");
    let document = |n| format!("{{\"url\":\"u{n}\",\"title\":\"t{n}\",\"abstract\":\"hello {n}\"}}\n");
    std::fs::write(&path, (0..100).map(document).collect::<String>()).unwrap();
    let port = server.port_text();
    let args = ["series", "redis-search", "-p", &port, "--scale", "0.01", "--yes", "--json", "--dataset"];
    let outcome = run(&[&args[..], &[path.to_str().unwrap()]].concat()).expect_code(0);
    assert_eq!(outcome.out.lines().count(), 6, "{}", outcome.out);
    assert_eq!((server.calls(&[], "FT.SEARCH"), server.calls(&[], "FT.AGGREGATE")), (4000, 1000));
    // 100 documents, 1000 in each of five indexes, and twice the marker of each run.
    assert_eq!(server.calls(&[], "hset"), 100 + 5 * 1000 + 6 * 2);
    assert_eq!((server.cli(&["DBSIZE"]), server.cli(&["FT._LIST"])), ("0".to_owned(), String::new()));
}

#[test]
fn every_preset_of_it_runs_on_memcached_and_no_other_is_begun() {
    let server = Server::memcached().start();
    let uri = format!("memcached://127.0.0.1:{}", server.port());
    for name in listed() {
        let args = ["-u", &uri, "--headless", "--json", "--yes", "--workload", &name];
        let outcome = run(&[&args[..], &["-c", "5", "-r", "200", "-n", "1000"]].concat());
        if !OF_BOTH.iter().chain(&OF_MEMCACHED).any(|known| *known == name) {
            let shown = outcome.expect_code(2).err;
            assert!(shown.contains("memcached") && shown.trim_end().lines().count() == 1, "{name}: {shown}");
            continue;
        }
        let records = outcome.expect_code(0).records();
        let Some(Record::End(end)) = records.last() else { panic!("{name}: no end record") };
        assert!(end.summary.ops == 1000 && end.summary.errors.is_empty(), "{name}: {:?}", end.summary.errors);
        expect_all_bytes_to_be_of_operations(&records, &name);
    }
}

/// Each byte of a reply is of one operation, whatever parts of replies count.
fn expect_all_bytes_to_be_of_operations(records: &[Record], name: &str) {
    for record in records {
        if let Record::Interval(interval) = record {
            let of_operations: u64 = interval.commands.values().map(|operation| operation.bytes_in).sum();
            assert_eq!(of_operations, interval.bytes_in, "{name}: {interval:?}");
        }
    }
}

#[test]
fn a_preset_that_is_printed_is_a_file_that_runs() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let text = run(&["workloads", "timeline"]).expect_code(0).out;
    fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let (port, path) = (server.port_text(), path.to_str().unwrap().to_owned());
    let args = ["-p", &port, "--headless", "--json", "-r", "100", "-n", "500", "--workload", &path];
    let records = run(&args).expect_code(0).records();
    let Some(Record::End(end)) = records.last() else { panic!("no end record") };
    assert!(end.summary.ops == 500 && end.summary.errors.is_empty());
    assert!(records.iter().any(|record| {
        matches!(record, Record::Segment(segment) if segment.knobs.workload.name == "mine")
    }));
}

#[test]
fn a_file_that_is_wrong_is_reported_with_its_line_before_anything_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.toml");
    fs::write(&path, "[[operation]]\nname = \"a\"\nwieght = 1\n").unwrap();
    let path = path.to_str().unwrap();
    let shown = run(&["-p", "1", "--headless", "--workload", path]).expect_code(2).err;
    assert!(shown.contains("wrong.toml:3: unknown field `wieght`"), "{shown}");
    let none = run(&["-p", "1", "--headless", "--workload", "nonsense"]).expect_code(2).err;
    assert!(none.contains("there is no workload 'nonsense'; give one of cache, "), "{none}");
}
