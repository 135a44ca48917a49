//! Elasticsearch and OpenSearch: an index of the run's name is made, filled, searched and deleted, and no other is touched.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use rustix::process::Signal;

use crate::support::{
    certificates::{Authority, HERE, Valid},
    http::{HttpServer, Request, TlsFront, reply},
    memcached::{end, totals},
    program::{Running, redyno, run},
    wait_for,
};

type Indices = Arc<Mutex<BTreeMap<String, u64>>>;

/// The part of the server that a preset needs: indices by name with their numbers of documents, of which one is not redyno's.
fn stand_in() -> (HttpServer, Indices) {
    stand_in_behind(None)
}

/// The same behind a header field, which all but HEAD need.
fn stand_in_behind(field: Option<&'static str>) -> (HttpServer, Indices) {
    let indices = Indices::default();
    for theirs in ["theirs", "redyno-theirs", "redyno-backup-2026"] {
        indices.lock().unwrap().insert(theirs.to_owned(), 7);
    }
    let kept = Arc::clone(&indices);
    let server = HttpServer::start(move |request| {
        let is_let_in = field.is_none_or(|field| request.fields.iter().any(|it| it == field));
        if !is_let_in && request.method != "HEAD" {
            return reply(request, "401 Unauthorized", "");
        }
        let (status, body) = answer(request, &mut kept.lock().unwrap());
        reply(request, status, &body)
    });
    (server, indices)
}

fn answer(request: &Request, indices: &mut BTreeMap<String, u64>) -> (&'static str, String) {
    let path = request.path.split('?').next().unwrap();
    let (name, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let ok = |body: &str| ("200 OK", body.to_owned());
    match (request.method.as_str(), rest) {
        ("HEAD", _) => ok(""),
        ("GET", "indices/redyno-*") => {
            ok(&indices.keys().map(|name| format!("{name}\n")).collect::<String>())
        }
        ("PUT", "") if indices.contains_key(name) => ("400 Bad Request", "{\"error\":\"exists\"}".to_owned()),
        ("PUT", "") => {
            indices.insert(name.to_owned(), 0);
            ok("{\"acknowledged\":true}")
        }
        (_, _) if !indices.contains_key(name) => {
            ("404 Not Found", "{\"error\":\"no such index\"}".to_owned())
        }
        ("DELETE", "") => {
            indices.remove(name);
            ok("{\"acknowledged\":true}")
        }
        ("GET", "") => ok("{}"),
        ("POST", "_bulk") => {
            let lines: Vec<serde_json::Value> =
                request.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(
                lines.len().is_multiple_of(2)
                    && lines.iter().step_by(2).all(|line| line["index"].is_object())
            );
            *indices.get_mut(name).unwrap() += lines.len() as u64 / 2;
            let refuses = request.body.contains("refused");
            ok(&format!("{{\"took\":3,\"errors\":{refuses},\"items\":[]}}"))
        }
        ("POST", "_search" | "_refresh") => {
            ok("{\"took\":5,\"timed_out\":false,\"hits\":{\"hits\":[{\"a\":\"\\\"errors\\\":true\"}]}}")
        }
        _ => ("405 Method Not Allowed", String::new()),
    }
}

/// The names of the indices.
fn names(indices: &Indices) -> Vec<String> {
    indices.lock().unwrap().keys().cloned().collect()
}

const THEIRS: [&str; 3] = ["redyno-backup-2026", "redyno-theirs", "theirs"];

#[test]
fn an_index_of_the_runs_name_is_filled_searched_and_deleted_and_no_other() {
    let (server, indices) = stand_in();
    let load = ["--workload", "opensearch", "-r", "3", "-n", "400", "-c", "4"];
    let asked = server.headless("/", &load).expect_code(2);
    let makes = "the load makes redyno-";
    assert!(asked.err.contains(makes) && asked.err.contains("--yes"), "{}", asked.err);
    assert!(server.log().iter().all(|it| it.method == "HEAD"), "{:?}", server.log());
    let outcome = server.headless("/", &[&["--yes"], &load[..]].concat()).expect_code(0);
    let records = outcome.records();
    assert_eq!((end(&records).summary.ops, end(&records).summary.errors.is_empty()), (400, true));
    let (log, totals) = (server.log(), totals(&records));
    let sent =
        |end: &str| log.iter().filter(|it| it.method == "POST" && it.path.contains(end)).count() as u64;
    let write = totals["write"][0];
    assert_eq!(sent("/_bulk"), 3 + write);
    assert_eq!((sent("/_search"), sent("/_refresh")), (400 - write, 1));
    assert_eq!(sent("request_cache=true"), totals["cached"][0]);
    let made: Vec<_> = log.iter().filter(|it| it.method == "PUT").collect();
    let deleted: Vec<_> = log.iter().filter(|it| it.method == "DELETE").map(|it| &it.path).collect();
    assert!(
        made.len() == 1 && deleted == [&made[0].path] && made[0].path.ends_with("-documents0"),
        "{made:?}"
    );
    let ids: std::collections::BTreeSet<_> = log
        .iter()
        .filter(|it| it.path.contains("/_bulk"))
        .flat_map(|it| it.body.lines().filter(|line| line.contains("_id")).map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 300, "each document of the prefill is another one");
    assert_eq!(names(&indices), THEIRS);
    assert!(outcome.err.contains(&format!("deleted {}", made[0].path)), "{}", outcome.err);
}

#[test]
fn an_index_is_made_and_deleted_by_tls() {
    let (server, indices) = stand_in();
    let authority = Authority::new();
    let front = TlsFront::start(server.port(), &authority.issue(&HERE, Valid::Now));
    let (uri, ca) = (front.uri("/"), authority.path());
    let load =
        [&uri, "--headless", "--workload", "opensearch", "-r", "1", "-n", "20", "--yes", "--cacert", &ca];
    run(&load).expect_code(0);
    assert_eq!((server.count("PUT"), server.count("DELETE")), (1, 1));
    assert_eq!(names(&indices), THEIRS);
    run(&["clean", "-u", &uri, "--cacert", &ca]).expect_code(0);
}

#[test]
fn an_index_that_a_busy_server_deletes_slowly_is_waited_for() {
    let server = HttpServer::start(|request| {
        if request.method == "DELETE" {
            std::thread::sleep(std::time::Duration::from_secs(6));
        }
        let status = if request.method == "GET" { "404 Not Found" } else { "200 OK" };
        reply(request, status, "{}")
    });
    let load = ["--workload", "opensearch", "-r", "1", "-n", "5", "--yes"];
    let outcome = server.headless("/", &load).expect_code(0);
    assert!(outcome.err.contains("deleted /redyno-"), "{}", outcome.err);
}

#[test]
fn clean_deletes_the_index_of_a_killed_session_alone() {
    let (server, indices) = stand_in();
    let uri = server.uri("/");
    let load =
        [&uri, "--headless", "--load", "--workload", "opensearch", "-r", "2", "--yes", "--duration", "60"];
    let running = Running::start(redyno(&load));
    wait_for("searches", || server.log().iter().any(|it| it.path.contains("/_search")).then_some(()));
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(names(&indices).len(), 4);
    let asked = run(&["clean", "-u", &uri]).expect_code(2);
    assert!(
        asked.err.contains("-documents0 would be deleted") && asked.err.contains("--yes"),
        "{}",
        asked.err
    );
    assert_eq!(names(&indices).len(), 4);
    let cleaned = run(&["clean", "-u", &uri, "--yes"]).expect_code(0);
    assert!(cleaned.out.contains("-documents0") && !cleaned.out.contains("db 0"), "{}", cleaned.out);
    assert_eq!(names(&indices), THEIRS);
    let none = run(&["clean", "-u", &uri, "--yes"]).expect_code(0);
    assert!(none.out.contains("nothing to undo"), "{}", none.out);
    let other = HttpServer::start(|request| reply(request, "404 Not Found", ""));
    let unlisted = run(&["clean", "-u", &other.uri("/")]).expect_code(1);
    assert!(unlisted.err.contains("lists no indices (HTTP 404 Not Found"), "{}", unlisted.err);
}

#[test]
fn clean_sends_the_header_fields_of_a_workload_to_a_server_that_wants_a_password() {
    let (server, indices) = stand_in_behind(Some("Authorization: Basic abc"));
    let left = "redyno-4g7k2m9q-docs0".to_owned();
    indices.lock().unwrap().insert(left.clone(), 7);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml").display().to_string();
    let text = "[http]\nheaders = { Authorization = \"Basic abc\" }\n[[operation]]\nname = \"a\"\nsteps = [\"GET /\"]\n";
    fs::write(&file, text).unwrap();
    let uri = server.uri("/");
    let refused = run(&["clean", "-u", &uri, "--yes"]).expect_code(1);
    assert!(refused.err.contains("401 Unauthorized") && !refused.err.contains("abc"), "{}", refused.err);
    let other = run(&["clean", "-p", "1", "--workload", &file]).expect_code(2);
    assert!(other.err.contains("--workload: [http] is for http:// and https://"), "{}", other.err);
    let idle = run(&["clean", "-u", &uri, "--workload", "opensearch"]).expect_code(2);
    assert!(idle.err.contains("--workload: this workload has no [http] headers"), "{}", idle.err);
    assert!(names(&indices).contains(&left));
    let cleaned = run(&["clean", "-u", &uri, "--yes", "--workload", &file]).expect_code(0);
    assert!(cleaned.out.contains(&left), "{}", cleaned.out);
    assert_eq!(names(&indices), THEIRS);
}

/// Documents as JSON lines, of which those with these numbers are refused by the stand-in.
fn documents(count: u64, refused: &[u64]) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("documents.jsonl");
    let text = |n| if refused.contains(&n) { "refused" } else { "hello" };
    let document =
        |n| format!("{{\"id\":\"{n}\",\"url\":\"u\",\"title\":\"t\",\"abstract\":\"{}\"}}\n", text(n));
    fs::write(&path, (0..count).map(document).collect::<String>()).unwrap();
    let path = path.display().to_string();
    (directory, path)
}

#[test]
fn a_series_writes_the_dataset_in_bulk_and_a_bulk_that_refuses_a_document_is_an_error() {
    let (server, indices) = stand_in();
    let (_directory, path) = documents(950, &[201, 202, 940]);
    let uri = server.uri("/");
    let args =
        ["series", "opensearch-search", &uri, "--scale", "0.001", "--yes", "--json", "--dataset", &path];
    let outcome = run(&args).expect_code(0);
    let lines: Vec<serde_json::Value> =
        outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let runs: Vec<_> = lines.iter().map(|line| line["run"].as_str().unwrap()).collect();
    assert_eq!(runs, ["write", "term", "phrase", "range", "sorted", "aggregate", "cached"]);
    assert_eq!(lines[0]["errors"]["BULK"].as_u64(), Some(2), "{}", lines[0]);
    let log = server.log();
    let first = &log.iter().find(|it| it.method == "PUT").unwrap().path;
    let bodies: Vec<_> = log.iter().filter(|it| it.path.starts_with(&format!("{first}/_bulk"))).collect();
    assert_eq!(bodies.iter().map(|it| it.body.lines().count()).max(), Some(200));
    assert_eq!((bodies.len(), bodies.iter().map(|it| it.body.lines().count()).sum::<usize>()), (10, 1900));
    assert!(bodies.iter().all(|it| it.fields.contains(&"Content-Type: application/json".to_owned())));
    assert_eq!(
        (log.iter().filter(|it| it.path.contains("/_search")).count(), server.count("DELETE")),
        (600, 7)
    );
    assert_eq!(names(&indices), THEIRS);
    let redis = run(&["series", "opensearch-search", "-p", "1", "--yes"]).expect_code(2);
    assert!(redis.err.contains("has no run for"), "{}", redis.err);
    let mixed = ["--dataset", &path, "-n", "1", "--yes", "--", "POST", "/__field:id__", "__bulk:9__"];
    let mixed = server.headless("/", &mixed).expect_code(2);
    assert!(mixed.err.contains("__bulk:9__ sends several whole records"), "{}", mixed.err);
}

#[test]
fn a_setup_makes_and_changes_only_what_bears_the_runs_name() {
    let (server, indices) = stand_in();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.toml").display().to_string();
    let write = |steps: &str| {
        let text =
            "[keys.index]\ncount = 1\n[[operation]]\nname = \"a\"\nweight = 1\nsteps = [\"GET /{index}\"]\n";
        fs::write(&file, format!("{text}[setup]\nsteps = [{steps}]\n")).unwrap();
    };
    let begin = |steps: &str| {
        write(steps);
        server.headless("/", &["--workload", &file, "-n", "5", "--yes"])
    };
    for path in ["/theirs", "/{index},theirs", "/*", "/redyno-00000000-x", "/_all/_close", "/x/{index}"] {
        let refused = begin(&format!("\"PUT /{{index}}\", \"PUT {path}\"")).expect_code(1);
        assert!(refused.err.contains("its first part must be a key of this run"), "{path}: {}", refused.err);
        assert_eq!(names(&indices), THEIRS, "what the first step made is gone");
    }
    let failed = begin("\"PUT /{index}\", \"POST /{index}/_nothing x\"").expect_code(1);
    assert!(failed.err.contains("setup step 2: HTTP 405 Method Not Allowed"), "{}", failed.err);
    assert!(begin("\"SET a b\"").expect_code(2).err.contains("the setup: 'SET' is no method"));
    assert_eq!(names(&indices), THEIRS);
    let gone = begin("\"PUT /{index}\", \"DELETE /{index}/\"").expect_code(1);
    assert!(gone.err.ends_with("redyno: no request succeeded\n"), "{}", gone.err);
    assert!(gone.err.contains("000000000000 was gone already"), "{}", gone.err);
    assert_eq!(names(&indices), THEIRS);
}

/// An OpenSearch of its own, which ends with the test.
struct OpenSearch {
    child: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl OpenSearch {
    /// Starts it from the jars that tests/long installs; `None` where they cannot be had.
    fn start() -> Option<Self> {
        let jars = std::env::var("OPENSEARCH_JARS").ok().filter(|jars| !jars.is_empty())?;
        let data = tempfile::tempdir().unwrap();
        let mut child = Command::new("java")
            .args(["-Xmx1g", "-cp", &format!("{jars}/*"), "org.codelibs.opensearch.runner.OpenSearchRunner"])
            .args(["-numOfNode", "1", "-clusterName", "redyno-tests", "-basePath"])
            .arg(data.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("java starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("HttpServerTransport") && line.contains("127.0.0.1:"));
        let line = line.expect("it tells where it listens");
        let port = line.split("127.0.0.1:").nth(1).unwrap().split('}').next().unwrap().parse().unwrap();
        // What it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, port, _data: data })
    }

    fn get(&self, path: &str) -> String {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        String::from_utf8(Command::new("curl").args(["-s", &url]).output().unwrap().stdout).unwrap()
    }
}

impl Drop for OpenSearch {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "long: it needs OpenSearch, which is 48 MB, and Java 17"]
fn what_is_counted_on_a_real_opensearch_is_what_its_index_counts() {
    let Some(server) = OpenSearch::start() else {
        return eprintln!("OpenSearch cannot be had here: its test is left out");
    };
    let uri = format!("http://127.0.0.1:{}/", server.port);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script").display().to_string();
    fs::write(&script, "at 0s clients 4\nat 20s load off\nat 3600s end\n").unwrap();
    let load =
        [&uri, "--headless", "--json", "--yes", "--workload", "opensearch", "-r", "20", "--script", &script];
    let running = Running::start(redyno(&load));
    running.wait_for_lines(1, r#""load":false"#);
    let index = server.get("/_cat/indices/redyno-*?h=index").trim().to_owned();
    assert!(index.ends_with("-documents0"), "{index}");
    let json = |path: &str| serde_json::from_str::<serde_json::Value>(&server.get(path)).unwrap();
    let stats = json(&format!("/{index}/_stats"));
    let count =
        |pointer: &str| stats.pointer(&format!("/_all/primaries/{pointer}")).unwrap().as_u64().unwrap();
    let (added, searched) = (count("indexing/index_total"), count("search/query_total"));
    server.get(&format!("/{index}/_refresh"));
    let kept = json(&format!("/{index}/_count"))["count"].as_u64().unwrap();
    running.signal(Signal::INT);
    let outcome = running.end();
    let records = outcome.records();
    assert!(end(&records).summary.errors.is_empty(), "{:?}", end(&records).summary.errors);
    let totals = totals(&records);
    // A busy machine may not have come to a write; the prefill's requests are called POST.
    let write = totals.get("write").map_or(0, |counts| counts[0]);
    let is_search = |name: &str| name != "write" && !name.starts_with("POST");
    let queries: u64 = totals.iter().filter(|(name, _)| is_search(name)).map(|(_, counts)| counts[0]).sum();
    assert_eq!((added, kept, searched), (100 * (20 + write), 100 * (20 + write), queries));
    assert!(queries > 0, "{totals:?}");
    assert_eq!(server.get("/_cat/indices/redyno-*?h=index"), "");
    let (_directory, path) = documents(1950, &[]);
    let args =
        ["series", "opensearch-search", &uri, "--scale", "0.002", "--yes", "--json", "--dataset", &path];
    let outcome = run(&args).expect_code(0);
    assert_eq!(outcome.out.lines().count(), 7, "{}", outcome.out);
    assert!(!outcome.out.contains("BULK") && !outcome.out.contains("HTTP"), "{}", outcome.out);
    assert_eq!(server.get("/_cat/indices/redyno-*?h=index"), "");
}
