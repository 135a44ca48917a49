//! Whom TLS trusts, and what is reported of certificates and files that are not to be trusted.

use std::{fs, path::Path, process::Command};

use crate::support::{
    Server,
    certificates::{Authority, HERE, Pair, TlsServer, Valid, assert_one_line, session},
    free_port,
    program::{Running, redyno, run},
};
use redyno::endpoint::{Address, Tls, TlsSettings};

#[test]
fn without_a_ca_the_systems_own_are_trusted() {
    let (authority, server) = TlsServer::usual(&[]);
    let port = server.port_text();
    let args = ["-p", &port, "--tls", "--headless", "--json", "--duration", "1"];
    let with_roots = |file: &str| {
        let mut command = redyno(&args);
        command.env("SSL_CERT_FILE", file).env_remove("SSL_CERT_DIR");
        Running::start(command).end()
    };
    with_roots(&authority.path()).expect_code(0);
    let stranger = Authority::new();
    assert_one_line(
        &with_roots(&stranger.path()),
        1,
        &["no CA that is trusted here has signed", "--cacert FILE"],
    );
    let empty = authority.file("empty.pem");
    fs::write(&empty, "").unwrap();
    assert_one_line(&with_roots(&empty), 2, &["this system has no CA certificates", "--cacert FILE"]);
}

#[test]
fn a_certificate_that_is_not_to_be_trusted_is_reported_with_what_to_do() {
    let authority = Authority::new();
    let ca = authority.path();
    let shown = |pair: &Pair, more: &[&str], parts: &[&str]| {
        let server = TlsServer::start(&authority, pair, &[]);
        let port = server.port_text();
        assert_one_line(&session(&[&["-p", port.as_str(), "--tls"], more].concat()), 1, parts);
        assert_eq!(server.server.calls(&[], "client|setname"), 0, "nobody greets such a server");
    };
    let here = authority.issue(&HERE, Valid::Now);
    let stranger = Authority::new();
    shown(&here, &["--cacert", &stranger.path()], &["no CA that is trusted", "--cacert FILE", "--insecure"]);
    let (named, namesake) = (Authority::named("one name"), Authority::named("one name"));
    let ours = named.issue(&HERE, Valid::Now);
    shown(&ours, &["--cacert", &namesake.path()], &["the same name as the CA that signed", "--cacert FILE"]);
    let elsewhere = authority.issue(&["db.example", "10.1.2.3"], Valid::Now);
    shown(
        &elsewhere,
        &["--cacert", &ca],
        &["is not for 127.0.0.1 but for db.example, 10.1.2.3", "--sni NAME"],
    );
    shown(
        &here,
        &["--cacert", &ca, "--sni", "db.example"],
        &["is not for db.example but for localhost, 127.0.0.1"],
    );
    let nobody = authority.issue(&[], Valid::Now);
    shown(&nobody, &["--cacert", &ca], &["names no host", "subjectAltName", "--tls-ca-only"]);
    shown(&authority.issue(&HERE, Valid::Past), &["--cacert", &ca], &["has expired; renew it"]);
    shown(&authority.issue(&HERE, Valid::Future), &["--cacert", &ca], &["is not valid yet", "clocks"]);
}

/// The load, the probes and the control plane check the certificate of each server against the name of this server.
#[test]
fn each_of_several_servers_has_a_certificate_for_its_own_name() {
    let authority = Authority::new();
    let servers = HERE.map(|name| {
        let server = TlsServer::start(&authority, &authority.issue(&[name], Valid::Now), &[]);
        (format!("rediss://{name}:{}", server.port), server)
    });
    let ca = authority.path();
    let words = [&servers[0].0, &servers[1].0, "--hash", "ketama", "--cacert", &ca, "-n", "400"];
    let outcome = session(&words).expect_code(0);
    assert!(outcome.out.contains(r#""errors":{}"#) && !outcome.out.contains("\"tls\":1"), "{}", outcome.out);
    for (_, server) in &servers {
        assert!(server.server.calls(&[], "get") > 20, "the load is spread");
    }
}

/// A certificate without a name, checked against the CA alone: by an option, and in the modes of other tools, which do
/// this without being asked.
#[test]
fn the_ca_alone_is_checked_by_an_option_and_by_the_modes_of_other_tools() {
    let authority = Authority::new();
    let nobody = authority.issue(&[], Valid::Now);
    let server = TlsServer::start(&authority, &nobody, &[]);
    let other = Authority::new();
    let (port, ca, stranger) = (server.port_text(), authority.path(), other.path());
    let with = |args: &[&str], ca: &str| run(&[args, &["-p", &port, "--tls", "--cacert", ca]].concat());
    let session: &[&str] = &["--headless", "--json", "--duration", "1", "--tls-ca-only"];
    let outcome = with(session, &ca).expect_code(0);
    assert!(outcome.out.contains(r#""tls":"caonly""#), "{}", outcome.out);
    assert_one_line(&with(session, &stranger), 1, &["no CA that is trusted"]);
    for tool in
        [&["bench", "-t", "ping", "-n", "10"][..], &["memtier", "-n", "10"], &["--latency", "-i", "1"]]
    {
        with(tool, &ca).expect_code(0);
        assert_ne!(with(tool, &stranger).status.code(), Some(0), "{tool:?}");
    }
}

#[test]
fn a_server_with_too_many_clients_ends_idle_connections_with_an_error() {
    let (authority, server) = TlsServer::usual(&["--maxclients", "5"]);
    let idle = ["bench", "-I", "-c", "10", "-p", &server.port_text(), "--tls", "--cacert", &authority.path()];
    let outcome = run(&idle).expect_code(1);
    assert!((outcome.out + &outcome.err).contains("Error: "), "{idle:?}");
}

/// A certificate of version 1, as OpenSSL 3.0 signs requests without a file of extensions.
#[test]
fn a_certificate_of_version_1_is_refused_with_how_to_make_another() {
    let authority = Authority::new();
    let old = authority.issue_version_1();
    let server = TlsServer::start(&authority, &old, &[]);
    let options = ["-p", &server.port_text(), "--tls", "--cacert", &authority.path(), "--tls-ca-only"];
    assert_one_line(&session(&options), 1, &["X.509 version 1", "openssl x509", "subjectAltName"]);
    let [cert, key] = [&old.certificate, &old.key].map(|path| path.to_str().unwrap());
    let options = ["-p", &server.port_text(), "--tls", "--insecure", "--cert", cert, "--key", key];
    assert_one_line(
        &session(&options),
        2,
        &["--cert", cert, "X.509 version 1", "openssl x509", "clientAuth"],
    );
}

#[test]
fn files_that_are_not_what_they_should_be_are_named_before_anything_starts() {
    let authority = Authority::new();
    let (one, two) = (authority.issue(&["a"], Valid::Now), authority.issue(&["b"], Valid::Now));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (cert, key, other_key) = (path(&one.certificate), path(&one.key), path(&two.key));
    let (text, broken, locked, empty) =
        (authority.file("text"), authority.file("broken"), authority.file("locked"), authority.file("none"));
    fs::write(&text, "nothing to see here").unwrap();
    fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    fs::write(&locked, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
        .unwrap();
    let old = authority.file("old");
    fs::write(
        &old,
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAA==\n-----END RSA PRIVATE KEY-----\n",
    )
    .unwrap();
    fs::create_dir(&empty).unwrap();
    let (missing, pipe) = (authority.file("missing"), authority.file("pipe"));
    // Nobody ever writes to it.
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Nothing listens there: the error has to be printed before anybody looks.
    let port = free_port().to_string();
    for (args, parts) in [
        (vec!["--cacert", &missing], vec!["--cacert", &missing, "No such file"]),
        (vec!["--cacert", &text], vec!["--cacert", &text, "no certificate in PEM form"]),
        (vec!["--cacert", &key], vec!["--cacert", &key, "no certificate in PEM form"]),
        (vec!["--cacert", &broken], vec!["--cacert", &broken, "broken"]),
        (vec!["--cacert", "/dev/zero"], vec!["--cacert", "/dev/zero", "more than 16 MiB"]),
        (vec!["--cacert", &pipe], vec!["--cacert", &pipe, "no certificate in PEM form"]),
        (vec!["--cacert", "/"], vec!["--cacert", "/", "Is a directory"]),
        (
            vec!["--insecure", "--cert", &cert, "--key", "/dev/zero"],
            vec!["--key", "/dev/zero", "more than 16 MiB"],
        ),
        (vec!["--cacertdir", &missing], vec!["--cacertdir", &missing, "No such file"]),
        (vec!["--cacertdir", &empty], vec!["--cacertdir", &empty, "no certificate in PEM form"]),
        (vec!["--insecure", "--cert", &missing, "--key", &key], vec!["--cert", &missing, "No such file"]),
        (vec!["--insecure", "--cert", &cert, "--key", &text], vec!["--key", &text, "no private key"]),
        (vec!["--insecure", "--cert", &cert, "--key", &locked], vec!["--key", &locked, "is encrypted"]),
        (vec!["--insecure", "--cert", &cert, "--key", &old], vec!["--key", &old, "is encrypted"]),
        (vec!["--insecure", "--cert", &cert, "--key", &other_key], vec![&other_key, "not the key of", &cert]),
        (
            vec!["--insecure", "--sni", "no name"],
            vec!["a certificate cannot have the name 'no name'", "--sni"],
        ),
    ] {
        for command in [&["--headless"][..], &["--latency"], &[]] {
            let outcome = run(&[command, &["-p", &port, "--tls"], &args].concat());
            assert_one_line(&outcome, 2, &parts);
            assert_eq!(outcome.out, "");
        }
        let clean = run(&[&["clean", "-p", &port, "--tls"][..], &args].concat());
        assert_one_line(&clean, 2, &parts);
    }
}

#[test]
fn a_unix_socket_takes_no_tls() {
    let tls = Tls::new(TlsSettings::default(), &Address::Unix("/s".into()));
    assert!(tls.is_err());
    assert_one_line(
        &run(&["-s", "/s", "--tls", "--insecure"]),
        2,
        &["a unix socket takes no TLS; leave out --tls"],
    );
}

#[test]
fn a_drop_in_that_asks_a_server_without_tls_for_tls_ends_with_a_line() {
    let server = Server::redis().start();
    let port = server.port_text();
    let ends = |words: &[&str]| {
        let running = Running::start(redyno(&[words, &["-p", &port, "--tls"]].concat()));
        let outcome = running.end().expect_code(1);
        assert!(outcome.err.contains("no answer to the TLS handshake for 5 s"), "{}", outcome.err);
        assert!(!outcome.out.contains("requests per second"), "{}", outcome.out);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| ends(&["bench", "-t", "set", "-n", "10", "-q", "--insecure"]));
        scope.spawn(|| ends(&["bench", "-I", "-c", "3", "--insecure"]));
        scope.spawn(|| ends(&["memtier", "-n", "10", "-t", "1", "-c", "1", "--tls-skip-verify"]));
    });
}
