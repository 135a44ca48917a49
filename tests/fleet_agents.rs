//! Agents on their own: what they get from their session, that they wait, and that a pause of one is seen.

use rustix::process::Signal;

use crate::{
    fleet::{intervals, ops},
    support::{
        certificates::{Authority, HERE, TlsServer, Valid},
        program::{Running, redyno},
    },
};

/// The command lines of all processes that have this word in theirs.
fn command_lines(word: &str) -> Vec<String> {
    let listed = std::process::Command::new("ps").args(["-ww", "-eo", "args"]).output().unwrap();
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    lines.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

#[test]
fn local_agents_get_tls_and_credentials_and_no_password_is_on_a_command_line() {
    let authority = Authority::new();
    let pair = authority.issue(&HERE, Valid::Now);
    let user = ["--user", "ann", "on", ">nightingale", "~*", "&*", "+@all"];
    let target = TlsServer::start(&authority, &pair, &user);
    let bus = TlsServer::start(&authority, &pair, &user);
    let (port, ca, name) = (target.port_text(), authority.path(), format!("tls-{}", bus.port));
    let target_words = ["-p", &port, "--tls", "--cacert", &ca, "--user", "ann"];
    let fleet_words =
        ["--agents", "2", "--local", "--session", &name, "--load", "--no-prefill", "--rate", "2000"];
    let mut session = redyno(&[&target_words[..], &fleet_words, &["--headless", "--json", "--yes"]].concat());
    session.args(["--bus", &format!("rediss://ann:nightingale@127.0.0.1:{}/3", bus.port)]);
    session.env("REDISCLI_AUTH", "nightingale");
    let session = Running::start(session);
    session.wait_for_lines(1, r#""1":{"ops""#);
    let agents: Vec<_> = command_lines(&name).into_iter().filter(|line| line.contains(" agent ")).collect();
    assert_eq!(agents.len(), 2, "{agents:?}");
    assert!(agents.iter().all(|line| !line.contains("nightingale")), "{agents:?}");
    let clients = bus.server.cli(&["CLIENT", "LIST"]);
    assert!(
        clients.lines().filter(|line| line.contains(" db=3 ") && line.contains(" user=ann ")).count() >= 4,
        "{clients}"
    );
    session.signal(Signal::TERM);
    let outcome = session.end().expect_code(130);
    let counted = ops(&intervals(&outcome));
    assert_eq!(counted, ["get", "set"].map(|command| target.server.calls(&[], command)));
}
