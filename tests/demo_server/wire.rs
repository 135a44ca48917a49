//! Over raw sockets.

use std::net::TcpStream;

use redyno::demo::{self, Options};
use redyno::endpoint::Password;

use super::client::{Client, request, server_with};
use crate::support::wait_for;

#[test]
fn a_pipeline_is_answered_in_order_however_it_is_cut() {
    let server = server_with(&[]);
    let pipeline = [
        request(&["SET", "a", "1"]),
        "PING\r\n".to_owned(),
        request(&["INCR", "a"]),
        request(&["GET", "a"]),
        request(&["NOSUCH"]),
        request(&["HELLO", "3"]),
        request(&["GET", "b"]),
        request(&["QUIT"]),
    ]
    .concat();
    let mut at_once = Client::connect(&server);
    at_once.send(&pipeline);
    let expected = String::from_utf8(at_once.rest()).unwrap();
    assert!(
        expected.starts_with("+OK\r\n+PONG\r\n:2\r\n$1\r\n2\r\n-ERR unknown command 'NOSUCH'"),
        "{expected}"
    );
    assert!(expected.ends_with("*0\r\n_\r\n+OK\r\n"), "{expected}");
    let mut byte_by_byte = Client::connect(&server);
    for byte in pipeline.as_bytes() {
        byte_by_byte.send([*byte]);
    }
    let got = String::from_utf8(byte_by_byte.rest()).unwrap();
    // The client's id differs and nothing else.
    assert_eq!(got.replace(":2\r\n$4\r\nmode", ":1\r\n$4\r\nmode"), expected);
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected_and_misses_nothing_before() {
    let server = server_with(&[]);
    let (mut subscriber, mut other) = (Client::connect(&server), Client::connect(&server));
    subscriber.ask("SUBSCRIBE big");
    let publish = request(&["PUBLISH", "big", &"x".repeat(4 << 20)]);
    let mut sent = 0;
    wait_for("a disconnected subscriber", || {
        other.send(&publish);
        sent += 1;
        (other.reply() == ":0\r\n").then_some(())
    });
    assert!(sent > 8, "{sent} messages of 4 MB");
    subscriber.rest();
}

#[test]
fn a_client_that_reads_late_gets_every_byte() {
    let server = server_with(&[]);
    let mut client = Client::connect(&server);
    let value = "0123456789abcdef".repeat(1 << 16);
    client.send(request(&["SET", "big", &value]));
    assert_eq!(client.reply(), "+OK\r\n");
    let rounds = 60;
    client.send(request(&["GET", "big"]).repeat(rounds));
    client.send(request(&["PING"]));
    let mut other = Client::connect(&server);
    assert_eq!(other.ask("PING"), "+PONG\r\n", "others are served meanwhile");
    for _ in 0..rounds {
        let reply = client.reply();
        assert!(reply.len() == value.len() + 12 && reply.contains(&value), "{} bytes", reply.len());
    }
    assert_eq!(client.reply(), "+PONG\r\n");
}

#[test]
fn what_is_no_request_is_answered_with_an_error_and_a_close() {
    let server = server_with(&[]);
    for (bytes, reply) in [
        ("*1\r\nfoo\r\n", "-ERR Protocol error: expected '$', got 'f'\r\n"),
        ("PING\r\n*x\r\n", "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"),
    ] {
        let mut client = Client::connect(&server);
        client.send(bytes);
        assert_eq!(String::from_utf8(client.rest()).unwrap(), reply);
    }
}

#[test]
fn every_request_is_counted_exactly_once() {
    let server = server_with(&[]);
    let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(&server)).collect();
    for round in 0..10 {
        for client in &mut clients {
            client.send(request(&["SET", &format!("k{round}"), "v"]).repeat(3));
            client.send(request(&["GET", "k0"]).repeat(50));
        }
        for client in &mut clients {
            for _ in 0..53 {
                client.reply();
            }
        }
    }
    let info = clients[0].ask("INFO all");
    let field = |start: &str| {
        let line =
            info.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {info}"));
        line[start.len()..].split(',').next().unwrap().to_owned()
    };
    assert_eq!((field("cmdstat_get:calls="), field("cmdstat_set:calls=")), ("10000".into(), "600".into()));
    assert_eq!((field("keyspace_hits:"), field("keyspace_misses:")), ("10000".into(), "0".into()));
    assert_eq!((field("connected_clients:"), field("db0:keys=")), ("20".into(), "10".into()));
    let bytes_in = 200 * (3 * request(&["SET", "k0", "v"]).len() + 50 * request(&["GET", "k0"]).len());
    assert_eq!(field("total_net_input_bytes:"), (bytes_in + "INFO all\r\n".len()).to_string());
}

#[test]
fn clients_are_turned_away_and_counted() {
    let server = server_with(&[]);
    let mut first = Client::connect(&server);
    assert_eq!(first.ask("CONFIG SET maxclients 1"), "+OK\r\n");
    let mut third = Client::connect(&server);
    assert_eq!(third.rest(), b"-ERR max number of clients reached\r\n");
    let info = first.ask("INFO stats");
    assert!(info.contains("rejected_connections:1\r\n"), "{info}");
}

#[test]
fn a_password_and_a_unix_socket_are_served_and_the_file_goes_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.sock");
    let options = Options {
        unix_socket: Some(path.clone()),
        password: Some(Password::new("secret")),
        ..Options::default()
    };
    let server = demo::start(options.clone()).unwrap();
    let mut client = Client::connect_unix(&path);
    assert_eq!(client.ask("GET a"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(client.ask("AUTH secret"), "+OK\r\n");
    assert_eq!(client.ask("SET a 1"), "+OK\r\n");
    assert!(client.ask("CLIENT LIST").contains(&format!("addr={}:0 ", path.display())));
    let second = demo::start(options);
    assert!(second.is_err(), "the file is there");
    server.stop().unwrap();
    assert!(!path.exists());
    assert_eq!(client.rest(), b"");
}

#[test]
fn a_server_that_goes_closes_its_connections_and_frees_its_port() {
    let server = server_with(&["stall 3600s"]);
    let address = server.address;
    let mut client = Client::connect(&server);
    client.send("PING\r\n");
    // It stands in a stall of an hour, and stops all the same.
    drop(server);
    let mut byte = [0];
    assert!(!matches!(std::io::Read::read(&mut client.stream, &mut byte), Ok(1)));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_client_waits_for_an_entry_and_others_are_served_meanwhile() {
    let server = server_with(&[]);
    let (mut reader, mut other) = (Client::connect(&server), Client::connect(&server));
    reader.send(request(&["XREAD", "BLOCK", "0", "STREAMS", "s", "0"]));
    reader.send(request(&["PING"]));
    // The server has read the requests when it has answered a later one of another client.
    assert_eq!(other.ask("PING"), "+PONG\r\n");
    reader.assert_silent();
    let id = other.ask("XADD s MAXLEN ~ 10 * f v");
    let read = reader.reply();
    assert!(read.starts_with("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n") && read.contains(&id), "{read}");
    assert_eq!(reader.reply(), "+PONG\r\n");
    let id = id.lines().nth(1).unwrap();
    assert_eq!(reader.ask(&format!("XREAD BLOCK 20 STREAMS s {id}")), "*-1\r\n", "the wait has an end");
    // In a transaction nothing waits.
    reader.send(
        request(&["MULTI"]) + &request(&["XREAD", "BLOCK", "0", "STREAMS", "t", "0"]) + &request(&["EXEC"]),
    );
    assert_eq!([reader.reply(), reader.reply(), reader.reply()], ["+OK\r\n", "+QUEUED\r\n", "*1\r\n*-1\r\n"]);
    reader.send(request(&["XREAD", "BLOCK", "0", "STREAMS", "t", "0"]));
    drop(reader);
    wait_for("the end of the waiting client", || {
        let clients = other.ask("CLIENT LIST");
        (clients.lines().filter(|line| line.contains("addr=")).count() == 1).then_some(())
    });
}
