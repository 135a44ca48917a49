//! Series: every preset can be planned, small ones run to their end on real servers, and the table has all cells.

use std::{fs, net::TcpListener, path::Path};

use redyno::session::Record;
use rustix::process::Signal;

use crate::support::{
    Server, free_port,
    program::{Outcome, Running, records, redyno, run},
};

/// The series that `redyno workloads` lists.
fn listed() -> Vec<String> {
    let list = run(&["workloads"]).expect_code(0).out;
    let (_, series) = list.split_once("\n\nSeries").expect("series behind the workloads");
    series.lines().skip(1).filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The lines of a table, without what stands above it and below.
fn rows(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.out.lines().skip_while(|line| !line.starts_with("run "));
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

fn cells(outcome: &Outcome) -> Vec<serde_json::Value> {
    outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_series_can_be_planned_without_a_connection_and_is_printed_as_a_file_that_is_read() {
    plan_those(listed().into_iter().step_by(5));
}

#[test]
#[ignore = "long: every series; each fifth is in the suite"]
fn every_series_can_be_planned_without_a_connection_and_is_printed_as_a_file_that_is_read() {
    let names = listed();
    assert!(names.len() > 10, "{names:?}");
    plan_those(names);
}

fn plan_those(names: impl IntoIterator<Item = String>) {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    nobody.set_nonblocking(true).unwrap();
    let port = nobody.local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let docs = directory.path().join("docs.jsonl");
    fs::write(&docs, "{\"url\":\"u\",\"title\":\"t\",\"abstract\":\"hello\"}\n").unwrap();
    for name in names {
        let dataset =
            if name.ends_with("search") { vec!["--dataset", docs.to_str().unwrap()] } else { Vec::new() };
        let scheme = if name.starts_with("opensearch") { "http" } else { "redis" };
        let uri = format!("{scheme}://127.0.0.1:{port}/");
        let plan = |series: &str| {
            let args = ["series", series, &uri, "--plan", "--scale", "0.001", "--seed", "7"];
            run(&[&args[..], &dataset].concat()).expect_code(0)
        };
        let shown = plan(&name);
        assert!(shown.out.contains(&format!("{name}: ")) && shown.err.is_empty(), "{shown:?}");
        let path = directory.path().join(format!("{name}.toml"));
        fs::write(&path, run(&["workloads", &name]).expect_code(0).out).unwrap();
        assert_eq!(plan(path.to_str().unwrap()).out, shown.out, "{name}");
    }
    assert!(nobody.accept().is_err(), "it was called");
}

/// A series, which of the servers it is run on, the settings that leave few of its cells, and how many these are.
type Few = (&'static str, usize, &'static [&'static str], usize);

#[test]
fn series_of_both_servers_run_to_their_ends_without_an_error() {
    run_those(&[("timeline-stores", 0, &["clients=100"], 5), ("timeline-stores", 1, &["clients=100"], 2)]);
}

#[test]
#[ignore = "long: every series; one of each server is in the suite"]
fn every_series_runs_to_its_end_without_an_error() {
    run_those(&[
        (
            "redis-io",
            0,
            &[
                "test=ZPOPMIN,LRANGE_100,MSET,SPOP",
                "many=LPOP",
                "pipeline=16",
                "both=GET",
                "size=10",
                "connections=100",
            ],
            10,
        ),
        ("tutorial", 0, &["clients=50"], 10),
        ("tair-cluster", 0, &[], 1),
        ("tair-threads", 0, &["size=64"], 2),
        ("tair-disk", 0, &["recordcount=20M", "operationcount=20M", "threads=32", "rest=1", "pause=1"], 4),
        (
            "tair-bitmap",
            0,
            &[
                "one=RANGE,FLIPRANGE",
                "hundred=SETBITS,SETBITS sorted",
                "bits_of_one=GETBIT",
                "batching=10",
                "parallel=20",
                "many=SCAN",
                "sets=XOR",
                "clients=1",
            ],
            10,
        ),
    ]);
}

/// Runs them, on servers that have what these ask for.
fn run_those(some: &[Few]) {
    let servers = [Server::redis().start(), Server::memcached().start()];
    let uris = [
        format!("redis://127.0.0.1:{}", servers[0].port()),
        format!("memcached://127.0.0.1:{}", servers[1].port()),
    ];
    for &(name, server, settings, count) in some {
        let mut args = vec!["series", name, "-u", &uris[server], "--yes", "--json", "--scale", "0.00002"];
        args.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let cells = cells(&Running::start(redyno(&args)).end_of_writing().expect_code(0));
        assert_eq!(cells.len(), count, "{name}");
        for cell in &cells {
            // What is under way when the time is over has no answer.
            let errors: Vec<_> = cell["errors"].as_object().unwrap().keys().collect();
            assert!(errors.iter().all(|kind| *kind == "unanswered"), "{name}: {cell}");
            assert!(cell["ops"].as_u64() > Some(0), "{name}: {cell}");
        }
    }
    assert_eq!(servers[0].cli(&["DBSIZE"]), "0");
}

#[test]
fn a_published_table_is_run_scaled_with_the_published_figures_below() {
    let server = Server::redis().start();
    let args = ["series", "tair-threads", "-p", &server.port_text(), "--scale", "0.0001", "--published"];
    let outcome = run(&[&args[..], &["--set", "size=64,1024"]].concat()).expect_code(0);
    let lines: Vec<_> = outcome.out.lines().collect();
    assert!(lines[0].contains(&format!("127.0.0.1:{}  redis 7", server.port())), "{lines:?}");
    assert!(lines[1].starts_with("tair-threads: Alibaba Cloud"), "{lines:?}");
    assert_eq!(lines[2], "changed: requests 3 M to 300, keys 100 k to 10");
    let rows = rows(&outcome);
    let words = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (n, cell) in ["GET 64 GET", "GET 1024 GET", "SET 64 SET", "SET 1024 SET"].iter().enumerate() {
        assert_eq!(words(rows[2 * n])[..3].join(" "), *cell, "{}", outcome.out);
        assert_eq!(words(rows[2 * n + 1])[0], "published", "{}", outcome.out);
    }
    assert!(rows.len() == 8 && rows[1].contains("444 k") && rows[1].contains("31.02 %"), "{}", outcome.out);
    let last = lines.last().unwrap();
    assert!(last.starts_with("published: Alibaba Cloud") && last.ends_with("not the figures."), "{last}");
    // 300 of each cell, and no other.
    assert_eq!(server.calls(&[], "get"), 600);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert_eq!(outcome.err.lines().filter(|line| line.contains(" of 4: ")).count(), 4, "{}", outcome.err);
}

#[test]
fn a_scenario_of_ycsb_is_reported_by_operation_and_its_counts_are_the_servers() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let records_in = directory.path().join("records");
    let settings = ["--set", "group=list,zset", "--set", "fieldlength=128", "--scale", "0.0001", "--json"];
    let args = ["series", "tair-memory", "-p", &server.port_text(), "--published", "--record"];
    let outcome = run(&[&args[..], &[records_in.to_str().unwrap()], &settings].concat()).expect_code(0);
    let cells = cells(&outcome);
    let runs: Vec<_> = cells
        .iter()
        .map(|cell| (cell["run"].as_str().unwrap(), cell["at"]["group"].as_str().unwrap()))
        .collect();
    let expected = ["Load", "C", "A"].map(|run| ["list", "zset"].map(|group| (run, group))).concat();
    assert_eq!(runs, expected);
    let ops: Vec<_> = cells.iter().map(|cell| cell["ops"].as_u64().unwrap()).collect();
    assert_eq!(ops, [20, 20, 1000, 1000, 1000, 1000]);
    assert!(cells.iter().all(|cell| cell["errors"] == serde_json::json!({})), "{}", outcome.out);
    let a = &cells[4];
    assert!(a["operations"]["READ"]["mean_us"].as_f64() > Some(0.0), "{a}");
    assert!(a["operations"]["UPDATE"]["ops_per_s"].as_f64() > Some(0.0), "{a}");
    assert_eq!(a["published"]["ops_per_s"], 71696.0, "{a}");
    let updates = |cell: &Path| -> u64 {
        let all = records(&fs::read_to_string(cell).unwrap());
        let of = |record: &Record| match record {
            Record::Interval(interval) => interval.commands.get("UPDATE").map_or(0, |update| update.ops),
            _ => 0,
        };
        all.iter().map(of).sum()
    };
    // Twenty records of three runs.
    assert_eq!(server.calls(&[], "rpush"), 60);
    assert_eq!(server.calls(&[], "lset"), updates(&records_in.join("005.jsonl")));
    assert_eq!(server.calls(&[], "zremrangebyrank"), updates(&records_in.join("006.jsonl")));
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_series_of_ones_own_names_workloads_beside_it_and_counts_the_commands_of_batches() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let workload = "[keys.n]\ncount = 5\n[[operation]]\nname = \"up\"\nsteps = [\"INCR {n}\"]\n";
    fs::write(directory.path().join("up.toml"), workload).unwrap();
    let series = "[parameters]\nclients = [1, 2]\n[load]\nrequests = 30\nclients = \"$clients\"\n\
        [[run]]\nname = \"batch\"\nworkload = \"./up.toml\"\nbatching = 10\n\
        [table]\ncounted = \"commands\"\n";
    let path = directory.path().join("mine.toml");
    fs::write(&path, series).unwrap();
    let (path, port) = (path.to_str().unwrap(), server.port_text());
    let outcome = run(&["series", path, "-p", &port]).expect_code(0);
    assert!(outcome.out.contains("  commands/s  "), "{}", outcome.out);
    assert_eq!(rows(&outcome).len(), 2, "{}", outcome.out);
    assert_eq!((server.calls(&[], "incr"), server.calls(&[], "exec")), (600, 60));
    let json = run(&["series", path, "-p", &port, "--json", "--set", "clients=1"]).expect_code(0);
    let cell = &cells(&json)[0];
    let (ops, length) = (cell["ops"].as_f64().unwrap(), cell["length_s"].as_f64().unwrap());
    let shown = cell["ops_per_s"].as_f64().unwrap();
    assert!(ops == 30.0 && (shown * length / 300.0 - 1.0).abs() < 1e-9, "{cell}");
}

#[test]
fn a_cell_that_fails_says_so_in_its_row_and_the_others_are_run() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let broken = "[setup]\nsteps = [\"FUNCTION LOAD '#!lua name=x\\n broken'\"]\n\
        [[operation]]\nname = \"ping\"\nsteps = [\"PING\"]\n";
    fs::write(directory.path().join("broken.toml"), broken).unwrap();
    let series = "[load]\nrequests = 10\n[[run]]\nname = \"a\"\nworkload = \"broken.toml\"\n\
        [[run]]\nname = \"b\"\nworkload = \"ping\"\n";
    fs::write(&path, series).unwrap();
    let outcome = run(&["series", path.to_str().unwrap(), "-p", &server.port_text()]).expect_code(1);
    let rows = rows(&outcome);
    assert!(rows[0].contains("failed: ") && rows[0].contains("setup step 1"), "{}", outcome.out);
    assert!(rows[1].starts_with("b ") && !rows[1].contains("failed"), "{}", outcome.out);
    assert!(outcome.err.ends_with("redyno: 1 of 2 cells failed\n"), "{}", outcome.err);
}

#[test]
fn an_interrupt_ends_it_with_the_table_so_far_and_nothing_left() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    let series = "[[run]]\nname = \"short\"\nworkload = \"set\"\nload = { requests = 100 }\n\
        [[run]]\nname = \"long\"\nworkload = \"set\"\nload = { duration = 3600 }\n\
        [[run]]\nname = \"never\"\nworkload = \"set\"\nload = { duration = 3600 }\n";
    fs::write(&path, series).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let running = Running::start(redyno(&["series", &path, "-p", &server.port_text(), "--yes"]));
    crate::support::wait_for("the second cell", || (server.calls(&[], "set") > 1000).then_some(()));
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    let rows = rows(&outcome);
    assert!(rows[0].starts_with("short ") && !rows[0].contains("not run"), "{}", outcome.out);
    assert!(rows[1].starts_with("long ") && rows[1].ends_with("failed: interrupted"), "{}", outcome.out);
    assert!(rows[2].starts_with("never ") && rows[2].ends_with("not run"), "{}", outcome.out);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_server_without_the_module_is_reported_in_one_line_and_asked_nothing() {
    let server = Server::redis().start();
    let port = server.port_text();
    for (args, commands) in [
        (
            &["series", "tair-roaring", "--set", "one=SETBIT", "--only", "one key"][..],
            "TR.SETBIT and TR.SETBITS",
        ),
        (&["series", "redis-search", "--only", "term"], "FT.CREATE and FT.SEARCH"),
        (&["series", "tair-search", "--only", "term"], "TFT.SEARCH"),
        (&["--headless", "-n", "5", "--", "FT.SEARCH", "mine", "x"], "FT.SEARCH"),
        (&["--headless", "-n", "5", "--", "TR.SETBIT", "{key}", "5", "1"], "TR.SETBIT"),
    ] {
        let target = ["-p", &port, "--yes"];
        let is_series = args[0] == "series";
        let words = if is_series { [args, &target].concat() } else { [&target, args].concat() };
        let outcome = run(&words).expect_code(1);
        let line = format!("redyno: 127.0.0.1:{port} does not know {commands}: it lacks the module");
        assert!(outcome.err.starts_with(&line) && outcome.err.lines().count() == 1, "{}", outcome.err);
        assert_eq!(outcome.out, "");
    }
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert_eq!(server.cli(&["INFO", "errorstats"]).matches("errorstat_").count(), 0);
}

#[test]
fn only_some_runs_of_a_series_are_run() {
    let server = Server::redis().start();
    let args = ["series", "tair-threads", "-p", &server.port_text(), "--scale", "0.0001", "--set", "size=64"];
    let outcome = run(&[&args[..], &["--only", "SET"]].concat()).expect_code(0);
    assert_eq!((rows(&outcome).len(), server.calls(&[], "get")), (1, 0), "{}", outcome.out);
    let none = run(&[&args[..], &["--only", "PUT"]].concat()).expect_code(2);
    assert!(none.err.contains("--only PUT: the series 'tair-threads' has no such run"), "{}", none.err);
}

#[test]
fn what_cannot_be_is_reported_before_anything_is_asked() {
    let port = free_port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.toml");
    fs::write(&path, "[load]\nrequests = 5\n[[run]]\nname = \"a\"\nwrkload = \"get\"\n").unwrap();
    let path = path.to_str().unwrap();
    for (args, error) in [
        (&["series", path][..], "wrong.toml:5: unknown field `wrkload`"),
        (&["series", "nonsense"], "there is no series 'nonsense'; give one of "),
        (&["series", "tair-threads", "--set", "sizes=1"], "there is no parameter 'sizes'; there are size"),
        (&["series", "tair-threads", "--scale", "2"], "'2' is not a scale above 0 and up to 1"),
        (&["series", "tair-threads", "--dataset", "x"], "--dataset: no run of the series"),
        (&["series", "tair-threads", "--set", "size=0"], "GET, size 0: value size must be between 1"),
    ] {
        let outcome = run(&[args, &["-p", &port]].concat()).expect_code(2);
        assert!(outcome.err.contains(error) && outcome.err.lines().count() == 1, "{}", outcome.err);
    }
}

#[test]
fn a_server_that_others_use_is_asked_about_before_the_first_cell() {
    let server = Server::redis().start();
    server.cli(&["SET", "theirs", "1"]);
    let args = ["series", "tair-threads", "-p", &server.port_text(), "--scale", "0.0001"];
    let outcome = run(&args).expect_code(2);
    assert!(outcome.err.contains("holds 1 key") && outcome.err.contains("Give --yes"), "{}", outcome.err);
    assert_eq!((server.calls(&[], "get"), outcome.out.as_str()), (0, ""));
    assert_eq!(server.cli(&["KEYS", "*"]), "theirs");
}
