//! HTTP/1.1: every request is in the server's log, every reply is found, and nothing is sent that the user does not allow.

use std::{collections::BTreeMap, fs};

use redyno::session::Record;

use crate::{
    scripted::Crowd,
    support::{
        certificates::{Authority, HERE, Valid},
        http::{HttpServer, Request, TlsFront, reply},
        memcached::{end, totals},
        program::{Outcome, run},
    },
};

/// A server whose replies have all shapes, by the last digit of the path.
fn varied() -> HttpServer {
    HttpServer::start(|request| {
        let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n");
        match request.path.chars().last() {
            _ if request.method == "HEAD" => head("Content-Length: 12345"),
            Some('0' | '1') => {
                head("Transfer-Encoding: chunked") + "5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: t\r\n\r\n"
            }
            Some('2') => head("Connection: close") + "until the end",
            Some('3') => {
                "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n".to_owned()
            }
            Some('4') => reply(request, "404 Not Found", "no"),
            Some('5') => head("Content-Length: 0\r\nConnection: close"),
            _ => reply(request, "200 OK", &"x".repeat(100_000)),
        }
    })
}

/// The number of requests by kind of error.
fn errors(outcome: &Outcome) -> BTreeMap<String, u64> {
    end(&outcome.records()).summary.errors.iter().map(|(kind, n)| (kind.to_string(), *n)).collect()
}

#[test]
fn every_request_is_in_the_servers_log_once_whatever_its_reply_looks_like() {
    let server = varied();
    for (more, connections) in [(&["-n", "4000", "-c", "8"], 8..), (&["-n", "4000", "--rate", "20000"], 50..)]
    {
        let before = server.log().len();
        let outcome =
            server.headless("/", &[more.as_slice(), &["--", "GET", "/items/{key}"]].concat()).expect_code(0);
        let asked: Vec<_> =
            server.log().split_off(before).into_iter().filter(|it| it.method == "GET").collect();
        let summary = end(&outcome.records()).summary.clone();
        let missing = asked.iter().filter(|request| request.path.ends_with('4')).count() as u64;
        assert_eq!(asked.len(), 4000);
        assert_eq!(
            (summary.ops, errors(&outcome)),
            (4000 - missing, [("HTTP 404".to_owned(), missing)].into())
        );
        assert_eq!(summary.service.count(), summary.ops);
        assert!(asked.iter().all(|it| it.path.starts_with("/items/") && it.body.is_empty()));
        let used: std::collections::BTreeSet<_> = asked.iter().map(|it| it.connection).collect();
        assert!(connections.contains(&used.len()), "{}", used.len());
    }
}

#[test]
fn several_requests_at_once_are_answered_in_their_order() {
    let server = HttpServer::start(|request| reply(request, "200 OK", &request.path));
    let outcome =
        server.headless("/", &["-P", "16", "-c", "3", "-n", "960", "--", "GET", "/{number 1..99999}"]);
    assert_eq!(end(&outcome.expect_code(0).records()).summary.ops, 960);
    assert_eq!(server.count("GET"), 960);
}

#[test]
fn https_is_http_by_tls_and_a_certificate_of_an_unknown_ca_is_refused() {
    let server = HttpServer::start(|request| reply(request, "200 OK", &request.path));
    let authority = Authority::new();
    let front = TlsFront::start(server.port(), &authority.issue(&HERE, Valid::Now));
    let (uri, ca) = (front.uri("/"), authority.path());
    let load = [&uri, "--headless", "--json", "--load", "-n", "500", "-c", "5"];
    let unknown = run(&load);
    assert!(unknown.code() == 1 && server.log().is_empty(), "{}", unknown.err);
    let outcome = run(&[&load[..], &["--cacert", &ca, "--", "GET", "/items/{key}"]].concat()).expect_code(0);
    let records = outcome.records();
    let summary = &end(&records).summary;
    assert_eq!((summary.ops, summary.errors.is_empty(), server.count("GET")), (500, true, 500));
    let Record::Session(session) = &records[0] else { panic!("the session comes first") };
    assert!(!session.target.tls.is_none(), "{:?}", session.target);
}

#[test]
fn without_a_load_only_head_of_the_path_is_sent_and_a_load_without_commands_gets_it() {
    let server = HttpServer::start(|request| reply(request, "200 OK", "hello"));
    let outcome =
        run(&[&server.uri("/health?full=1"), "--headless", "--json", "--no-load", "--duration", "1"]);
    let records = outcome.expect_code(0).records();
    let log = server.log();
    assert!(
        log.len() > 3 && log.iter().all(|it| it.method == "HEAD" && it.path == "/health?full=1"),
        "{log:?}"
    );
    assert!(records.iter().any(|it| matches!(it, Record::Ping(ping) if ping.body.rtt.count() > 0)));
    let Record::Session(session) = &records[0] else { panic!("{:?} comes first", records[0]) };
    assert_eq!(session.target.server, "http 1.1");
    let host = format!("Host: 127.0.0.1:{}", server.port());
    let usual = ["User-Agent: redyno/", "Accept-Encoding: identity", &host];
    assert!(usual.iter().all(|usual| log[0].fields.iter().any(|field| field.starts_with(usual))), "{log:?}");
    server.headless("/health?full=1", &["-n", "5"]).expect_code(0);
    let gets = server.log().into_iter().filter(|it| it.method == "GET");
    assert_eq!(gets.map(|it| it.path).collect::<Vec<_>>(), ["/health?full=1"; 5]);
}

#[test]
fn a_ping_uses_another_connection_after_a_reply_that_announces_the_end() {
    for head in ["HTTP/1.1 200 OK\r\nConnection: close", "HTTP/1.0 200 OK\r\nServer: SimpleHTTP"] {
        let server = Crowd::start(move |peer, connection| {
            // The server closes late.
            if Request::read(peer, connection).is_some() {
                peer.say(&format!("{head}\r\n\r\n"));
                while Request::read(peer, connection).is_some() {}
            }
        });
        let uri = format!("http://127.0.0.1:{}/", server.port());
        let outcome = run(&[&uri, "--headless", "--json", "--no-load", "--duration", "1"]).expect_code(0);
        let records = outcome.records();
        let pings =
            records.iter().filter_map(|it| if let Record::Ping(ping) = it { Some(&ping.body) } else { None });
        let (answered, errors) = pings.fold((0, 0), |(answered, errors), ping| {
            (answered + ping.rtt.count(), errors + ping.errors.values().sum::<u64>())
        });
        assert!(answered > 5 && errors == 0, "{answered} {errors}");
        assert!(!outcome.out.contains("lost"), "{}", outcome.out);
    }
}

#[test]
fn a_method_that_may_change_data_is_sent_only_with_yes() {
    let server = HttpServer::start(|request| reply(request, "201 Created", ""));
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let words = ["-n", "3", "--", method, "/a/{key}", "{\"n\": \"{value}\"}"];
        let asked = server.headless("/", &words).expect_code(2);
        let expected =
            format!("the load sends {method} /a/, which may change data there, and does not undo that");
        assert!(asked.err.contains(&expected) && asked.err.contains("--yes"), "{}", asked.err);
        assert_eq!(server.count(method), 0);
        let outcome = server.headless("/", &[&["--yes"], words.as_slice()].concat()).expect_code(0);
        assert_eq!(totals(&outcome.records())[method][0], 3);
        assert_eq!(server.count(method), 3);
    }
    for method in ["GET", "HEAD", "OPTIONS"] {
        server.headless("/", &["-n", "3", "--", method, "/a"]).expect_code(0);
    }
    let post = server.log().into_iter().find(|it| it.method == "POST").unwrap();
    assert!(post.body.starts_with("{\"n\": \"") && post.body.len() == 41, "{post:?}");
    assert!(post.fields.contains(&"Content-Type: application/json".to_owned()), "{post:?}");
}

#[test]
fn errors_are_counted_by_status_and_say_what_the_server_suggests() {
    let server = HttpServer::start(|request| match request.path.as_str() {
        "/busy" => {
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n".to_owned()
        }
        "/moved" => {
            "HTTP/1.1 301 Moved Permanently\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"
                .to_owned()
        }
        _ => reply(request, "200 OK", ""),
    });
    let commands = ["-n", "30", "--", "1:GET", "/busy", ";", "1:GET", "/moved", ";", "1:GET", "/"];
    let outcome = server.headless("/", &commands).expect_code(0);
    let counted = errors(&outcome);
    let asked =
        |path: &str| server.log().iter().filter(|it| it.method == "GET" && it.path == path).count() as u64;
    let expected = [("HTTP 301".to_owned(), asked("/moved")), ("HTTP 503".to_owned(), asked("/busy"))];
    assert_eq!(counted, expected.into());
    assert!(outcome.out.contains("HTTP 503 Service Unavailable (Retry-After: 120)"), "{}", outcome.out);
    assert!(
        outcome.out.contains("HTTP 301 Moved Permanently (Location: http://elsewhere/)"),
        "{}",
        outcome.out
    );
}

#[test]
fn a_path_with_a_value_is_checked_when_it_is_made_and_a_bad_one_is_not_sent() {
    let server = HttpServer::start(|request| reply(request, "200 OK", ""));
    let good = server.headless("/", &["-n", "20", "-d", "30", "--", "GET", "/v/{value}"]).expect_code(0);
    assert_eq!((end(&good.records()).summary.ops, server.count("GET")), (20, 20));
    assert!(server.log().iter().all(|it| it.method == "HEAD" || it.path.len() == 33));
    let long = server.headless("/", &["-n", "20", "-d", "300", "--", "GET", "/v/{value}"]).expect_code(0);
    assert_eq!((end(&long.records()).summary.ops, server.count("GET")), (20, 40));
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("r.csv");
    fs::write(&records, "name\nüber\n").unwrap();
    let records = records.display().to_string();
    for words in [
        &["-d", "8001", "--", "GET", "/v/{value}"][..],
        &["--dataset", &records, "--", "GET", "/v/__field:name__"],
    ] {
        let bad = server.headless("/", &[&["-n", "20"], words].concat()).expect_code(1);
        assert_eq!(
            (errors(&bad), server.count("GET")),
            ([("bad-key".to_owned(), 20)].into(), 40),
            "{words:?}"
        );
        assert!(bad.out.contains("is no path for HTTP: a path has at most 8000 ASCII bytes"), "{}", bad.out);
    }
}

#[test]
fn a_workload_file_gives_header_fields_and_a_recording_does_not_contain_them() {
    let server = HttpServer::start(|request| reply(request, "200 OK", ""));
    let folder = tempfile::tempdir().unwrap();
    let [workload, recording] =
        ["w.toml", "r.jsonl"].map(|name| folder.path().join(name).display().to_string());
    let text = |field: &str| {
        format!(
            "[http]\nheaders = {{ {field} }}\n[[operation]]\nname = \"get\"\nweight = 1\nsteps = [\"GET /a\"]\n"
        )
    };
    fs::write(&workload, text("Authorization = \"Bearer s3cret\", User-Agent = \"mine\"")).unwrap();
    server.headless("/", &["--workload", &workload, "-n", "3", "--record", &recording]).expect_code(0);
    let get = server.log().into_iter().find(|it| it.method == "GET").unwrap();
    assert!(get.fields.contains(&"Authorization: Bearer s3cret".to_owned()), "{get:?}");
    let agents = get.fields.iter().filter(|field| field.starts_with("User-Agent: "));
    assert_eq!(agents.collect::<Vec<_>>(), ["User-Agent: mine"]);
    assert!(!fs::read_to_string(&recording).unwrap().contains("s3cret"));
    for (field, expected) in [
        ("Content-Length = \"5\"", "redyno sets 'Content-Length' itself"),
        ("expect = \"100-continue\"", "redyno does not support what 'expect' asks for"),
        ("Upgrade = \"h2c\"", "redyno does not support what 'Upgrade' asks for"),
        ("TE = \"trailers\"", "redyno does not support what 'TE' asks for"),
        ("a = \"s3\", A = \"s3\"", "'A' is there twice"),
        ("'a b' = \"5\"", "'a b' is no name of a header field"),
        ("A = \"s3\\r\\nB: c\"", "the value of 'A' has characters other than plain ASCII"),
    ] {
        fs::write(&workload, text(field)).unwrap();
        let wrong = server.headless("/", &["--workload", &workload]).expect_code(2);
        assert!(wrong.err.contains(expected) && !wrong.err.contains("s3"), "{}", wrong.err);
    }
    let text = "[[operation]]\nname = \"a\"\nweight = 1\nwrites = false\nsteps = [\"DELETE /a\"]\n";
    fs::write(&workload, text).unwrap();
    let said = server.headless("/", &["--workload", &workload]).expect_code(2);
    assert!(
        said.err.contains("by HTTP, the method says whether data changes; remove 'writes'"),
        "{}",
        said.err
    );
    let text = "[[operation]]\nname = \"a\"\nweight = 1\ntogether = \"sequence\"\nsteps = [\"GET /a\", \"GET /b\"]\n";
    fs::write(&workload, text).unwrap();
    let said = server.headless("/", &["--workload", &workload]).expect_code(2);
    assert!(
        said.err.contains(
            "by HTTP, the server may close a connection after any reply; write together = \"pipeline\""
        ),
        "{}",
        said.err
    );
    fs::write(
        &workload,
        "[http]\nheaders = { A = \"b\" }\n[[operation]]\nname = \"a\"\nweight = 1\nsteps = [\"PING\"]\n",
    )
    .unwrap();
    let redis = run(&["--workload", &workload, "--headless", "--plan"]).expect_code(2);
    assert!(redis.err.contains("[http] is for http:// and https://"), "{}", redis.err);
}

#[test]
fn what_redacts_records_no_query_and_its_experiments_still_send_it() {
    let server = HttpServer::start(|request| reply(request, "200 OK", "hello"));
    let folder = tempfile::tempdir().unwrap();
    let [file, script] = ["a.jsonl", "script"].map(|name| folder.path().join(name));
    fs::write(&script, "at 0s clients 2\nat 2s end\n").unwrap();
    let options = ["--record", file.to_str().unwrap(), "--script", script.to_str().unwrap(), "-c", "1"];
    let load = ["--", "GET", "/x?token=s3cret&n={number 1..5}"];
    let redacted = server.headless("/", &[&options[..], &["--redact"], &load].concat()).expect_code(0);
    for text in [&redacted.out, &redacted.err, &fs::read_to_string(&file).unwrap()] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    assert!(redacted.out.contains(r#"GET \"/x\""#), "{}", redacted.out);
    let gets: Vec<_> = server.log().into_iter().filter(|it| it.method == "GET").collect();
    assert!(gets.iter().all(|it| it.path.starts_with("/x?token=s3cret&n=")), "{gets:?}");
}

#[test]
fn what_http_does_not_have_is_refused_in_one_line() {
    let server = HttpServer::start(|request| reply(request, "200 OK", ""));
    let uri = server.uri("/");
    for (words, expected) in [
        (&["--prefill"][..], "which an HTTP server does not have"),
        (&["--keep"], "which an HTTP server does not have"),
        (&["--ratio", "1:1"], "an HTTP path begins with /"),
        (&["--", "SET", "a", "b"], "'SET' is no method that redyno sends by HTTP"),
        (&["--", "GET", "a"], "an HTTP path begins with /"),
        (&["--", "GET", "/a b"], "an HTTP path has at most 8000 bytes, and no spaces"),
        (&["--", "HEAD", "/", "x"], "HEAD has no body"),
        (&["--", "GET", "/", "x"], "GET has no body"),
        (
            &["--", "GET", "/i/{key", "x}"],
            "a brace of this HTTP path belongs to no placeholder; write %7B or %7D",
        ),
        (&["--", "GET", "/i/{kee}"], "write %7B or %7D"),
        (&["--", "GET", "/", ";", "HEAD", "/"], "HEAD cannot be mixed"),
        (&["--", "POST", "/", "a", "b"], "for HTTP write POST /PATH [BODY]"),
        (&["--user", "ann", "-a", "s3cret"], "an HTTP address takes no user and password"),
        (&["-3"], "leave it out for other servers"),
        (&["--db", "1"], "the argument '--uri <URI>' cannot be used with"),
    ] {
        let outcome = run(&[&[&uri, "--headless", "--load"], words].concat()).expect_code(2);
        assert!(outcome.err.contains(expected), "{words:?}: {}", outcome.err);
    }
    for (words, code, expected) in [
        (&["capture", "-u", &uri, "--output", "x"][..], 2, "HTTP has no MONITOR"),
        (&["bench", "-u", &uri], 1, "bench speaks to Redis and Valkey"),
        (&["memtier", "-u", &uri], 2, "memtier has no HTTP"),
        (
            &[&uri, "--agents", "2", "--local", "--load", "--headless"],
            2,
            "cannot be used with an HTTP server",
        ),
        (&[&uri, "http://127.0.0.1:1/", "--hash", "ketama", "--load", "--headless"], 2, "differ in protocol"),
        (&["--bus", &uri, "--agents", "2", "--load", "--headless"], 2, "HTTP has no streams"),
    ] {
        let outcome = run(words).expect_code(code);
        assert!(format!("{}{}", outcome.out, outcome.err).contains(expected), "{words:?}: {}", outcome.err);
    }
    for (uri, expected) in [
        ("http://ann:s3cret@h/", "takes no user and password"),
        ("http://h/#a", "does not send a #"),
        ("http://a%0d%0ab/", "the host in the URI is not well-formed"),
        ("http+unix:///run/x", "begins with redis://"),
    ] {
        let outcome = run(&["-u", uri, "--headless"]).expect_code(2);
        assert!(outcome.err.contains(expected) && !outcome.err.contains("s3cret"), "{}", outcome.err);
    }
    assert!(server.log().is_empty());
}

#[test]
fn versus_compares_http_servers_under_the_same_load_and_asks_for_each_of_them() {
    let server = HttpServer::start(|request| reply(request, "200 OK", ""));
    let elsewhere = format!("http://0.0.0.0:{}/", server.port());
    for (b, code, expected) in [
        ("redis://127.0.0.1:1", 2, "an HTTP server is compared only with another HTTP server"),
        (&server.uri("/b"), 2, "the URIs have different paths, but both servers get the same load"),
        (&elsewhere, 2, "this HTTP service is not on this machine"),
    ] {
        let outcome = run(&["versus", &server.uri("/"), b, "--part", "1"]).expect_code(code);
        assert!(outcome.err.contains(expected), "{b}: {}", outcome.err);
    }
    assert_eq!(server.count("GET"), 0);
}
