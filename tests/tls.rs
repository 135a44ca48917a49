//! TLS on every way to the server: the figures are the server's own, what is wrong with certificates and files is reported
//! in one line, and nothing is sent in plain text by mistake.

use std::{io::Write, net::TcpListener, sync::Arc};

use crate::support::{
    certificates::{Authority, TlsServer, Valid, assert_one_line, session},
    free_port,
    program::{Running, redyno, run},
    session::{Driven, at_port, events, intervals, plan},
    terminal::Terminal,
};
use redyno::{
    endpoint::{ClientCertificate, ReachError, Target, Tls, TlsFailure, TlsSettings, Trust, reach},
    knobs::Knobs,
    load::LoadPlan,
    probe::Timing,
    session::{Encryption, Record},
    stats::Latency,
    workload::Workload,
};
use rustix::process::Signal;

const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

fn settings(authority: &Authority) -> TlsSettings {
    let trust = Trust::These { file: Some(authority.path().into()), directory: None };
    TlsSettings { trust, ..TlsSettings::default() }
}

fn target(port: u16, settings: TlsSettings) -> Target {
    let plain = at_port(port);
    Target { tls: Some(Tls::new(settings, &plain.address).unwrap()), ..plain }
}

fn knobs(value_size: u32, pipeline: u32) -> Knobs {
    Knobs {
        load: true,
        workload: Workload::ratio(1, 1),
        keyspace: 200,
        value_size,
        pipeline,
        ..Knobs::default()
    }
}

#[test]
fn the_load_counts_over_tls_what_the_server_counts() {
    // Small replies, many in a record; values of many records, which fill every buffer on the way; one that the
    // server's socket takes in parts. Of large values as little is in flight as a busy machine can answer within the
    // second that a session gives the last replies.
    for (value_size, pipeline, clients, ops) in
        [(32, 1, 50, 1000), (32, 64, 50, 10_000), (40_000, 16, 8, 500), (1_000_000, 3, 2, 50)]
    {
        let (authority, server) = TlsServer::usual(&[]);
        let plan = LoadPlan { threads: 2, ..plan(target(server.port, settings(&authority))) };
        let mut session = Driven::start(&plan, Knobs { clients, ..knobs(value_size, pipeline) });
        session.wait_for_work(1, clients, ops);
        session.wait_for("pings, which speak TLS too", |records| {
            let is_pinged = |record: &Arc<Record>| match &**record {
                Record::Ping(ping) => ping.body.rtt.count() > 0 && ping.body.timing == Some(Timing::Tls),
                _ => false,
            };
            records.iter().any(is_pinged).then_some(())
        });
        let past = session.finish();
        assert_eq!(past.errors(), [].into(), "{value_size} × {pipeline}");
        assert_eq!(past.ops()["SET"], server.server.calls(&[], "set"), "{value_size} × {pipeline}");
        assert_eq!(past.ops()["GET"], server.server.calls(&[], "get"), "{value_size} × {pipeline}");
        assert_eq!(past.end.summary.service.count(), past.end.summary.ops);
        let opening = &past.end.summary.opening;
        let opened = [&opening.connect, &opening.handshake, &opening.greeting].map(Latency::count);
        assert_eq!(opened, [u64::from(clients); 3], "connects, handshakes and greetings are no operations");
    }
}

#[test]
fn tls_1_2_is_spoken_too() {
    let (authority, server) = TlsServer::usual(&["--tls-protocols", "TLSv1.2"]);
    let mut session = Driven::start(&plan(target(server.port, settings(&authority))), knobs(5000, 4));
    session.wait_for_work(1, 50, 1000);
    let past = session.finish();
    assert_eq!(past.errors(), [].into());
    assert_eq!(past.ops()["SET"], server.server.calls(&[], "set"));
}

#[test]
fn a_server_that_is_killed_and_started_again_is_an_outage_and_no_end() {
    let (authority, mut server) = TlsServer::usual(&[]);
    let mut session = Driven::start(&plan(target(server.port, settings(&authority))), knobs(32, 4));
    session.wait_for_work(1, 50, 1000);
    server.server.kill();
    for name in ["load lost", "ping lost"] {
        session.wait_for(name, |records| events(records).contains(&name).then_some(()));
    }
    server.server.restart();
    for name in ["load back", "ping back"] {
        session.wait_for(name, |records| events(records).contains(&name).then_some(()));
    }
    let working = |records: &[_]| intervals(records).filter(|i| i.clients == 50 && i.ops > 0).count();
    let before = session.wait_for("the intervals", |records| Some(working(records)));
    session.wait_for("replies again", |records| (working(records) >= before + 2).then_some(()));
    let past = session.finish();
    let errors = past.errors();
    assert!(errors.keys().all(|kind| ["reset", "refused"].contains(&kind.as_str())), "{errors:?}");
    assert!(errors.values().sum::<u64>() <= 200, "a connection has four requests in flight: {errors:?}");
    assert!(past.end.summary.connections_lost.values().sum::<u64>() >= 50, "{:?}", past.end.summary);
}

#[test]
fn a_server_that_hangs_in_the_handshake_and_goes_on_is_no_error() {
    let (authority, server) = TlsServer::usual(&[]);
    server.server.pause();
    let mut session = Driven::start(&plan(target(server.port, settings(&authority))), knobs(32, 1));
    session.wait_for("a tick without a connection", |records| {
        intervals(records).any(|interval| interval.clients == 0).then_some(())
    });
    server.server.resume();
    session.wait_for_work(1, 50, 500);
    assert_eq!(session.finish().errors(), [].into());
}

#[test]
fn options_and_uris_speak_tls_and_the_recording_says_so() {
    let (authority, server) = TlsServer::usual(&["--requirepass", "s3cret"]);
    let (port, ca) = (server.port_text(), authority.path());
    let uri = format!("rediss://:s3cret@localhost:{port}/3");
    let directory = authority.directory().to_str().unwrap();
    for (way, encryption) in [
        (vec!["-p", &port, "-a", "s3cret", "--tls", "--cacert", &ca], Encryption::Verified),
        (vec!["-p", &port, "-a", "s3cret", "-3", "--tls", "--cacertdir", directory], Encryption::Verified),
        (vec!["-u", &uri, "--cacert", &ca], Encryption::Verified),
        (vec!["-u", &uri, "--insecure"], Encryption::Unverified),
    ] {
        let outcome = session(&way).expect_code(0);
        let records = outcome.records();
        let Record::Session(start) = &records[0] else { panic!("{:?} comes first", records[0]) };
        assert_eq!(start.target.tls, encryption, "{way:?}");
        assert!(start.target.server.starts_with("redis 7."), "the control plane speaks TLS too");
        let Some(Record::End(end)) = records.last() else { panic!("no end record") };
        assert!(end.summary.ops > 0 && end.summary.errors.is_empty(), "{way:?}: {:?}", end.summary.errors);
        let warned = outcome.err.contains("--insecure: encrypted, but the server's identity is not verified");
        assert_eq!(warned, encryption == Encryption::Unverified, "{}", outcome.err);
        assert_eq!(server.server.cli(&["-a", "s3cret", "-n", "3", "DBSIZE"]), "0", "its keys are removed");
    }
}

#[test]
fn the_name_that_is_asked_for_is_the_one_that_the_certificate_must_have() {
    let authority = Authority::new();
    let pair = authority.issue(&["db.example"], Valid::Now);
    let server = TlsServer::start(&authority, &pair, &[]);
    let named = TlsSettings { server_name: Some("db.example".into()), ..settings(&authority) };
    reach(&target(server.port, named), LIMIT).unwrap();
    let (port, ca) = (server.port_text(), authority.path());
    session(&["-p", &port, "--tls", "--cacert", &ca, "--sni", "db.example"]).expect_code(0);
    session(&["-p", &port, "--tls", "--insecure"]).expect_code(0);
}

#[test]
fn a_client_certificate_is_shown_where_it_is_asked_for() {
    for protocols in ["TLSv1.2", "TLSv1.3"] {
        let (authority, server) =
            TlsServer::usual(&["--tls-auth-clients", "yes", "--tls-protocols", protocols]);
        let (port, ca) = (server.port_text(), authority.path());
        let ours = authority.issue(&["me"], Valid::Now);
        let (cert, key) = (ours.certificate.to_str().unwrap(), ours.key.to_str().unwrap());
        let way = ["-p", &port, "--tls", "--cacert", &ca];
        session(&[&way[..], &["--cert", cert, "--key", key]].concat()).expect_code(0);
        assert_one_line(&session(&way), 1, &["client certificate", "--cert", "--key"]);
    }
}

#[test]
fn a_client_certificate_of_another_ca_is_refused_and_the_load_counts_it_as_tls() {
    let (authority, server) = TlsServer::usual(&["--tls-auth-clients", "yes"]);
    let strangers = Authority::new();
    let theirs = strangers.issue(&["me"], Valid::Now);
    let client = Some(ClientCertificate { certificate: theirs.certificate, key: theirs.key });
    let target = target(server.port, TlsSettings { client, ..settings(&authority) });
    let error = reach(&target, LIMIT).unwrap_err();
    assert!(matches!(error, ReachError::Tls { failure: TlsFailure::Refused(_), .. }), "{error}");
    assert!(!error.is_transient() && error.to_string().contains("--cert"), "{error}");
    let mut session = Driven::start(&plan(target), knobs(32, 1));
    session.wait_for("failed attempts", |records| {
        intervals(records).any(|interval| interval.connects_failed.contains_key("tls")).then_some(())
    });
    session.wait_for("lost pings", |records| {
        let mut pings = records.iter().filter_map(|record| match &**record {
            Record::Ping(ping) => Some(&ping.body),
            _ => None,
        });
        pings.any(|ping| ping.errors.contains_key("tls")).then_some(())
    });
    let past = session.finish();
    assert_eq!(past.end.summary.ops, 0);
    assert!(past.end.summary.first_errors["tls"].contains("--cert"), "{:?}", past.end.summary.first_errors);
}

#[test]
fn plain_text_to_a_tls_port_and_tls_to_a_plain_port_are_distinguished() {
    let (authority, server) = TlsServer::usual(&[]);
    let (tls, plain, ca) = (server.port_text(), server.server.port_text(), authority.path());
    assert_one_line(&session(&["-p", &tls]), 1, &["speaks TLS; add --tls, or write rediss://"]);
    let way = ["--tls", "--cacert", &ca];
    assert_one_line(
        &session(&[&["-p", &plain], &way[..]].concat()),
        1,
        &["speaks Redis without TLS; leave out --tls"],
    );
    let valkey = crate::support::Server::valkey().start();
    assert_one_line(
        &session(&[&["-p", &valkey.port_text()], &way[..]].concat()),
        1,
        &["speaks Redis without TLS; leave out --tls"],
    );
    let outcome = run(&["-p", &tls, "--latency"]);
    assert!(outcome.code() == 1 && outcome.err.contains("speaks TLS; add --tls"), "{outcome:?}");
}

/// Somebody who says `words` to whoever comes, and holds the connection.
fn stranger(words: &'static [u8]) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            if stream.write_all(words).is_ok() {
                held.push(stream);
            }
        }
    });
    port
}

#[test]
fn whoever_answers_a_handshake_in_another_protocol_is_named() {
    for (words, part) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "an HTTP server, not a Redis"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks SSH, not Redis"),
        (b"-DENIED Redis is running in protected mode\r\n", "speaks Redis without TLS"),
        (b"", "did not answer the TLS handshake"),
    ] {
        assert_one_line(&session(&["-p", &stranger(words), "--tls", "--insecure"]), 1, &[part]);
    }
    let nobody = free_port().to_string();
    assert_one_line(&session(&["-p", &nobody, "--tls", "--insecure"]), 1, &["connection refused"]);
    let memcached = crate::support::Server::memcached().start();
    let outcome = session(&["-p", &memcached.port_text(), "--tls", "--insecure"]);
    assert_eq!(outcome.code(), 1, "{outcome:?}");
}

#[test]
fn a_server_that_begins_the_handshake_and_is_slow_is_not_taken_for_one_without_tls() {
    let slow = stranger(b"\x16\x03\x03\x00\x7a\x02");
    let part = "did not complete the TLS handshake in time; it hangs or is overloaded";
    assert_one_line(&session(&["-p", &slow, "--tls", "--insecure"]), 1, &[part]);
}

#[test]
fn the_modes_of_redis_cli_and_clean_speak_tls() {
    let (authority, server) = TlsServer::usual(&[]);
    let (port, ca) = (server.port_text(), authority.path());
    let way = ["-p", &port, "--tls", "--cacert", &ca];
    let outcome = run(&[&way[..], &["--latency", "-i", "0.3", "--raw"]].concat()).expect_code(0);
    assert!(outcome.err_without_unanswered().is_empty(), "{outcome:?}");
    let fields: Vec<f64> = outcome.out.split_whitespace().map(|field| field.parse().unwrap()).collect();
    assert!(fields.len() == 4 && fields[0] > 0.0 && fields[3] > 0.0, "{}", outcome.out);
    let insecure = run(&["-p", &port, "--tls", "--insecure", "--latency", "-i", "0.3"]).expect_code(0);
    let unverified = "redyno: --insecure: encrypted, but the server's identity is not verified";
    assert_eq!(insecure.err_without_unanswered(), [unverified]);
    let wrong = run(&["-p", &port, "--tls", "--cacert", &Authority::new().path(), "--latency"]);
    assert!(wrong.code() == 1 && wrong.err.contains("no CA that is trusted here"), "{wrong:?}");
    server.server.cli(&["SET", "redyno:4g7k2m9q:000000000001", "left behind"]);
    server.server.cli(&["SADD", "redyno:runs", "4g7k2m9q"]);
    let outcome = run(&[&["clean"], &way[..]].concat()).expect_code(0);
    assert!(outcome.out.contains("removed 1 key"), "{}", outcome.out);
}

#[test]
fn the_screen_says_whether_tls_is_on_and_checked() {
    let (authority, server) = TlsServer::usual(&[]);
    let (port, ca) = (server.port_text(), authority.path());
    let address = format!("127.0.0.1:{port}  TLS");
    for (more, text) in [
        (&["--cacert", ca.as_str()][..], format!("{address}  redis 7.")),
        (&["--insecure"], format!("{address}, unverified  redis 7.")),
    ] {
        let command = redyno(&[&["-p", &port, "--tls"], more].concat());
        let mut terminal = Terminal::start(&command, 120, 36);
        terminal.wait_for_text(&text);
        terminal.press("q");
        assert_eq!(terminal.end().0, Some(0));
    }
}

#[test]
fn a_session_over_tls_goes_on_through_a_restart() {
    let (authority, mut server) = TlsServer::usual(&[]);
    let (port, ca) = (server.port_text(), authority.path());
    let args = ["-p", &port, "--tls", "--cacert", &ca, "--headless", "--json", "--load", "--rate", "1000"];
    let running = Running::start(redyno(&args));
    running.wait_for_lines(1, r#""kind":"interval""#);
    server.server.kill();
    running.wait_for_lines(1, r#""name":"unreachable""#);
    server.server.restart();
    for name in ["load back", "reachable"] {
        running.wait_for_lines(1, &format!(r#""name":"{name}""#));
    }
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    assert!(!outcome.err.contains("panicked"), "{}", outcome.err);
    assert_eq!(server.server.cli(&["DBSIZE"]), "0", "the keys of the second life are removed too");
}
