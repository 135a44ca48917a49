//! Whatever listens where a Redis was expected gets a diagnosis and not a hang.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener},
    thread,
    time::Duration,
};

use crate::support::{Server, free_port};
use redyno::endpoint::{Address, Credentials, Password, ReachError, Target, reach};
use redyno::protocol::Dialect;

const LIMIT: Duration = Duration::from_secs(20);
/// For strangers that never answer: as long as this test has to last.
const SHORT: Duration = Duration::from_millis(150);

fn at(port: u16) -> Target {
    Target { address: Address::Tcp { host: "127.0.0.1".into(), port }, ..Target::default() }
}

fn with_password(target: Target, user: Option<&str>, password: &str) -> Target {
    let who = Credentials { user: user.map(str::to_owned), password: Password::new(password) };
    Target { credentials: Some(who), ..target }
}

/// Answers one connection: waits for the first bytes (or not), says `words`, and closes.
fn stranger(listens_first: bool, words: &'static [u8]) -> Target {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut heard = [0; 512];
        if listens_first {
            let _ = socket.read(&mut heard);
        }
        let _ = socket.write_all(words);
        let _ = socket.shutdown(Shutdown::Write);
        while matches!(socket.read(&mut heard), Ok(1..)) {}
    });
    at(port)
}

fn diagnosis(target: &Target) -> ReachError {
    let error = reach(target, LIMIT).unwrap_err();
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[test]
fn redis_and_valkey_are_reached_by_name_by_address_and_by_socket() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        reach(&at(server.port()), LIMIT).unwrap();
        let named = Target {
            address: Address::Tcp { host: "localhost".into(), port: server.port() },
            db: 3,
            dialect: Dialect::Resp3,
            ..Target::default()
        };
        reach(&named, LIMIT).unwrap();
        let by_socket = Target { address: Address::Unix(server.socket()), ..Target::default() };
        reach(&by_socket, LIMIT).unwrap();
    }
}

#[test]
fn passwords_and_users_are_diagnosed() {
    let args = ["--requirepass", "hunter2", "--user", "ann", "on", ">pw-ann", "~*", "+@all", "-ping"];
    let server = Server::redis().with_args(&args).start();
    let target = at(server.port());
    assert!(matches!(diagnosis(&target), ReachError::PasswordNeeded(_)));
    reach(&with_password(target.clone(), None, "hunter2"), LIMIT).unwrap();
    let wrong = diagnosis(&with_password(target.clone(), Some("bob"), "hunter3"));
    assert!(matches!(wrong, ReachError::WrongPassword { .. }) && !wrong.is_transient(), "{wrong}");
    assert!(wrong.to_string().contains("user 'bob'") && !wrong.to_string().contains("hunter3"));
    let ann = diagnosis(&with_password(target, Some("ann"), "pw-ann"));
    assert!(matches!(ann, ReachError::NotPermitted { command: "PING", .. }), "{ann}");
}

#[test]
fn a_password_for_a_server_without_one_and_a_database_that_is_not_there_are_diagnosed() {
    let server = Server::redis().start();
    let error = diagnosis(&with_password(at(server.port()), None, "x"));
    assert!(matches!(error, ReachError::PasswordNotAsked(_)), "{error}");
    let error = diagnosis(&Target { db: 16, ..at(server.port()) });
    assert!(matches!(error, ReachError::NoSuchDb { db: 16, .. }), "{error}");
}

#[test]
fn a_server_whose_auth_was_renamed_does_not_get_the_password_into_the_message() {
    let server = Server::redis().with_args(&["--rename-command", "AUTH", ""]).start();
    let error = diagnosis(&with_password(at(server.port()), None, "hunter2"));
    assert!(matches!(error, ReachError::ErrorReply { command: "AUTH", .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

#[test]
fn a_server_without_room_for_clients_says_so() {
    let server = Server::redis().with_args(&["--maxclients", "1"]).start();
    let held = accepted_connection(&server);
    let error = diagnosis(&at(server.port()));
    assert!(matches!(error, ReachError::TooManyClients(_)) && error.is_transient(), "{error}");
    drop(held);
}

/// A connection that the server has surely accepted.
fn accepted_connection(server: &Server) -> std::net::TcpStream {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // The connection that the start was tested by may not be gone yet.
    crate::support::wait_for("room for one client", || {
        let mut reply = [0; 7];
        stream.write_all(b"PING\r\n").ok()?;
        match stream.read_exact(&mut reply) {
            Ok(()) if &reply == b"+PONG\r\n" => Some(()),
            _ => {
                stream = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
                None
            }
        }
    });
    stream
}

#[test]
fn where_nothing_listens_the_connection_is_refused() {
    let error = diagnosis(&at(free_port()));
    assert!(matches!(error, ReachError::Refused(_)) && error.is_transient(), "{error}");
    let directory = tempfile::tempdir().unwrap();
    let missing = Address::Unix(directory.path().join("none.sock"));
    let error = diagnosis(&Target { address: missing, ..Target::default() });
    assert!(matches!(error, ReachError::NoSuchSocket { .. }), "{error}");
}

#[test]
fn a_name_without_an_address_is_not_found() {
    let address = Address::Tcp { host: "no-such-host.invalid".into(), port: 6379 };
    let error = diagnosis(&Target { address, ..Target::default() });
    assert!(matches!(error, ReachError::HostNotFound { .. }), "{error}");
}

#[test]
fn a_silent_socket_and_a_paused_server_are_silent() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let silent = at(listener.local_addr().unwrap().port());
    let error = reach(&silent, SHORT).unwrap_err();
    assert!(matches!(error, ReachError::Silent(_)) && error.is_transient(), "{error}");
    let server = Server::redis().start();
    server.pause();
    for address in [at(server.port()).address, Address::Unix(server.socket())] {
        let error = reach(&Target { address, ..Target::default() }, SHORT).unwrap_err();
        assert!(matches!(error, ReachError::Silent(_)), "{error}");
    }
}

#[test]
fn an_http_server_is_recognized_by_its_status_line() {
    let error = diagnosis(&stranger(true, b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"));
    assert!(error.to_string().contains("an HTTP server, not a Redis"), "{error}");
    assert!(error.to_string().contains("HTTP/1.1 400 Bad Request") && !error.is_transient(), "{error}");
}

#[test]
fn a_memcached_is_recognized_by_its_error() {
    let server = Server::memcached().start();
    let error = diagnosis(&at(server.port()));
    assert!(matches!(error, ReachError::Memcached(_)) && !error.is_transient(), "{error}");
}

#[test]
fn servers_that_speak_first_and_garbage_are_shown() {
    let error = diagnosis(&stranger(false, b"SSH-2.0-OpenSSH_9.2\r\n"));
    assert!(matches!(error, ReachError::OtherProtocol { protocol: "SSH", .. }), "{error}");
    let error = diagnosis(&stranger(false, b"\x4a\0\0\0\x0a8.0.36\0rest"));
    assert!(matches!(error, ReachError::OtherProtocol { protocol: "MySQL", .. }), "{error}");
    let error = diagnosis(&stranger(true, b"\xfe\xffgarbage"));
    assert!(error.to_string().contains("\\xfe\\xffgarbage"), "{error}");
    let error = diagnosis(&stranger(true, b"$100\r\nhalf"));
    assert!(matches!(error, ReachError::UnknownProtocol { .. }), "{error}");
}

#[test]
fn a_close_without_a_word_and_a_tls_alert_speak_of_tls() {
    let error = diagnosis(&stranger(true, b""));
    assert!(matches!(error, ReachError::Closed(_)) && error.is_transient(), "{error}");
    let error = diagnosis(&stranger(true, b"\x15\x03\x03\0\x02\x02\x46"));
    assert!(matches!(error, ReachError::SpeaksTls(_)), "{error}");
}

#[test]
fn a_server_that_loads_or_is_in_protected_mode_says_so() {
    let error = diagnosis(&stranger(true, b"-LOADING Redis is loading the dataset in memory\r\n"));
    assert!(matches!(error, ReachError::Loading(_)) && error.is_transient(), "{error}");
    let error = diagnosis(&stranger(false, b"-DENIED Redis is running in protected mode because ...\r\n"));
    assert!(matches!(error, ReachError::ProtectedMode(_)) && !error.is_transient(), "{error}");
}

#[test]
fn an_unknown_server_gets_no_password() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        let mut part = [0; 512];
        let n = socket.read(&mut part).unwrap();
        heard.extend_from_slice(&part[..n]);
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = socket.read_to_end(&mut heard);
        heard
    });
    diagnosis(&with_password(at(port), None, "hunter2"));
    assert!(!String::from_utf8_lossy(&heard.join().unwrap()).contains("hunter2"));
}
