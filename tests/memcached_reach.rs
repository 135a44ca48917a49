//! memcached is found, named and let in by password, socket and TLS; what is something else is said.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use crate::support::memcached::{LIMIT, Spawned, end, headless, memcached, stats, target, uri};
use crate::support::{
    Server,
    certificates::{Authority, Valid},
    free_port,
    program::run,
    session::at_port,
    wait_for,
};
use redyno::{
    endpoint::{Credentials, Password, ReachError, Target, reach},
    protocol::Dialect,
};

#[test]
fn one_without_meta_commands_is_refused_as_too_old() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for line in lines.map_while(Result::ok) {
                let answer = if line == "version" { "VERSION 1.4.39\r\n" } else { "ERROR\r\n" };
                // Who asks may be gone.
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    let error = reach(&Target { dialect: Dialect::Memcached, ..at_port(port) }, LIMIT).unwrap_err();
    assert!(matches!(error, ReachError::TooOld(_)), "{error}");
    let uri = format!("memcached://127.0.0.1:{port}");
    for more in [&["--latency"][..], &["--headless", "--duration", "1"]] {
        let outcome = run(&[&["-u", &uri], more].concat()).expect_code(1);
        assert!(outcome.err.contains("redyno needs memcached 1.6 or later"), "{}", outcome.err);
    }
}

#[test]
fn what_speaks_redis_only_says_so_in_a_line() {
    let server = memcached(&[]);
    let port = server.port().to_string();
    for (args, expected) in [
        (&["bench", "-p", &port, "-n", "10"][..], "is a memcached, and bench speaks to Redis and Valkey"),
        (&["bench", "-u", &uri(&server), "-n", "10"], "Invalid URI scheme: bench speaks to Redis and Valkey"),
        (&["-p", &port, "--bigkeys"], "is a memcached: --bigkeys works only with Redis and Valkey"),
        (&["-p", &port, "--stat"], "is a memcached: --stat works only with Redis and Valkey"),
    ] {
        let outcome = run(args).expect_code(1);
        assert!(
            outcome.err.contains(expected) && outcome.err.trim_end().lines().count() == 1,
            "{}",
            outcome.err
        );
    }
}

#[test]
fn a_password_is_sent_to_a_server_that_asks_and_to_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users");
    std::fs::write(&file, "ann:s3cret\n").unwrap();
    let port = free_port();
    let listens = ["-l", "127.0.0.1", "-p", &port.to_string(), "-Y", file.to_str().unwrap()];
    let _asking = Spawned::start(&listens);
    wait_for("the port", || TcpStream::connect(("127.0.0.1", port)).ok());
    let unknown = Target { dialect: Dialect::Memcached, ..at_port(port) };
    let with = |password: &str| {
        let who = Credentials { user: Some("ann".into()), password: Password::new(password) };
        Target { credentials: Some(who), ..unknown.clone() }
    };
    assert!(matches!(reach(&unknown, LIMIT), Err(ReachError::PasswordNeeded(_))));
    assert!(matches!(reach(&with("wrong"), LIMIT), Err(ReachError::WrongPassword { .. })));
    reach(&with("s3cret"), LIMIT).unwrap();
    let uri = format!("memcached://ann:s3cret@127.0.0.1:{port}");
    let records = headless(&uri, &["--duration", "1"]).expect_code(0).records();
    let summary = &end(&records).summary;
    assert!(summary.ops > 0 && summary.errors.is_empty(), "{summary:?}");
    let open = memcached(&[]);
    let shown = Target { address: target(&open).address, ..with("s3cret") };
    assert!(matches!(reach(&shown, LIMIT), Err(ReachError::PasswordNotAsked(_))));
    assert_eq!(stats(open.port())["total_items"], 0, "the password is no item");
}

#[test]
fn redis_and_memcached_are_distinguished() {
    let (redis, server) = (Server::redis().start(), memcached(&[]));
    let error = reach(&Target { dialect: Dialect::Memcached, ..at_port(redis.port()) }, LIMIT).unwrap_err();
    assert!(matches!(error, ReachError::Redis(_)), "{error}");
    assert!(error.to_string().ends_with(&format!("write -u redis://127.0.0.1:{}", redis.port())), "{error}");
    let error = reach(&at_port(server.port()), LIMIT).unwrap_err();
    assert!(error.to_string().ends_with(&format!("write -u {}", uri(&server))), "{error}");
    let outcome = run(&["clean", "-u", &uri(&server)]).expect_code(1);
    assert!(outcome.err.contains("cannot list its keys"), "{}", outcome.err);
}

#[test]
fn a_unix_socket_and_tls_lead_to_it_too() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let _by_socket = Spawned::start(&["-s", socket.to_str().unwrap(), "-a", "777"]);
    wait_for("the socket", || std::os::unix::net::UnixStream::connect(&socket).ok());
    let by_socket = format!("memcached://{}", socket.display());
    let authority = Authority::new();
    let pair = authority.issue(&["127.0.0.1"], Valid::Now);
    let port = free_port();
    let (certificate, key) =
        (format!("ssl_chain_cert={}", pair.certificate.display()), format!("ssl_key={}", pair.key.display()));
    let listens =
        ["-l", "127.0.0.1", "-p", &port.to_string(), "-Z", "-o", &certificate, "-o", &key].map(str::to_owned);
    let _by_tls = Spawned::start(&listens.each_ref().map(String::as_str));
    wait_for("the port", || TcpStream::connect(("127.0.0.1", port)).ok());
    let (by_tls, file) = (format!("memcacheds://127.0.0.1:{port}"), authority.path());
    for (uri, more) in [(&by_socket, &[][..]), (&by_tls, &["--cacert", &file][..])] {
        let more = [&["--duration", "1", "--yes"], more].concat();
        let records = headless(uri, &more).expect_code(0).records();
        let summary = &end(&records).summary;
        assert!(summary.ops > 0 && summary.errors.is_empty(), "{uri}: {summary:?}");
    }
}
