//! Tests of the stream with a TLS server in the same thread, without a socket or a clock.

use std::{collections::VecDeque, sync::Arc};

use rcgen::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, crypto::ring, pki_types::PrivateKeyDer};

use super::*;
use crate::endpoint::{Address, TlsSettings, Trust};

/// A simulated socket with a TLS server. A read returns at most `part` bytes. At most `room` bytes can be written
/// before the socket blocks.
#[derive(Debug)]
struct Peer {
    server: ServerConnection,
    arriving: VecDeque<u8>,
    part: usize,
    room: usize,
    heard: Vec<u8>,
    closed: bool,
    broken: bool,
}

impl Peer {
    fn say(&mut self, words: &[u8]) {
        self.server.writer().write_all(words).unwrap();
        self.send();
    }

    fn send(&mut self) {
        let mut records = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut records).unwrap();
        }
        self.arriving.extend(records);
    }
}

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.part.min(self.arriving.len()).min(buffer.len());
        if n == 0 {
            return if self.closed { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        buffer.iter_mut().zip(self.arriving.drain(..n)).for_each(|(to, from)| *to = from);
        Ok(n)
    }
}

impl Write for Peer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.room.min(bytes.len());
        if self.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if n == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.room -= n;
        let mut taken = &bytes[..n];
        while !taken.is_empty() {
            self.server.read_tls(&mut taken).unwrap();
            // An alert of redyno is an error on the server's side.
            let _ = self.server.process_new_packets();
            let mut words = [0; 1 << 16];
            while let Ok(n @ 1..) = self.server.reader().read(&mut words) {
                self.heard.extend_from_slice(&words[..n]);
            }
        }
        self.send();
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a stream after its handshake.
fn stream() -> TlsStream<Peer> {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["h".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    server.set_buffer_limit(None);
    let (arriving, heard) = (VecDeque::new(), Vec::new());
    let peer =
        Peer { server, arriving, part: usize::MAX, room: usize::MAX, heard, closed: false, broken: false };
    let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
    let tls = Tls::new(settings, &Address::Tcp { host: "h".into(), port: 1 }).unwrap();
    let mut stream = TlsStream::new(&tls, peer).unwrap();
    while !stream.shake_hands().unwrap() {}
    stream
}

fn blocks(result: &io::Result<usize>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

#[test]
fn a_read_that_does_not_fill_the_buffer_leaves_no_data_behind() {
    let mut stream = stream();
    let said: Vec<u8> = (0..100_000_u32).map(|n| n as u8).collect();
    for part in [usize::MAX, 5_000, 4_096, 1_000, 7] {
        for chunk in said.chunks(9_000) {
            stream.socket.say(chunk);
        }
        stream.socket.part = part;
        for size in [64 * 1024, 10_000, 100] {
            let mut heard = Vec::new();
            let mut buffer = vec![0; size];
            while heard.len() < said.len() {
                let n = stream.read(&mut buffer).unwrap();
                heard.extend_from_slice(&buffer[..n]);
                assert_eq!(stream.has_more(), n == size, "{part} {size}");
                // Between two parts, the socket is empty for a moment. If all data arrives as one part, only
                // the last read does not fill the buffer.
                let in_one = part == usize::MAX;
                assert!(n == size || !in_one || heard.len() == said.len(), "{size}: {n}");
            }
            assert_eq!(heard, said);
            stream.socket.say(&said);
        }
        let mut rest = vec![0; said.len() + 1];
        stream.socket.part = usize::MAX;
        assert_eq!(stream.read(&mut rest).unwrap(), said.len());
        assert!(blocks(&stream.read(&mut rest)));
    }
}

#[test]
fn an_incomplete_record_is_waited_for() {
    let mut stream = stream();
    stream.socket.say(b"+PONG\r\n");
    let last = stream.socket.arriving.pop_back().unwrap();
    let mut buffer = [0; 64];
    assert!(blocks(&stream.read(&mut buffer)));
    stream.socket.arriving.push_back(last);
    assert_eq!(stream.read(&mut buffer).unwrap(), 7);
}

#[test]
fn bytes_that_the_socket_does_not_accept_wait_and_nothing_is_lost() {
    let mut stream = stream();
    let words: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    stream.socket.room = 20_000;
    let mut taken = stream.write(&words).unwrap();
    assert!(taken < words.len() && stream.wants_write());
    while taken < words.len() || stream.wants_write() {
        stream.socket.room = 20_000;
        match stream.write(&words[taken..]) {
            Ok(n) => taken += n,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
    assert_eq!(stream.socket().heard, words);
}

#[test]
fn the_end_comes_after_the_data_and_needs_no_close_message() {
    let mut stream = stream();
    stream.socket.say(b"-ERR bye\r\n");
    stream.socket.closed = true;
    let mut buffer = [0; 64];
    assert_eq!(stream.read(&mut buffer).unwrap(), 10);
    assert_eq!(stream.read(&mut buffer).unwrap(), 0);
    assert_eq!(stream.read(&mut buffer).unwrap(), 0);
}

#[test]
fn the_servers_reason_for_closing_is_reported_instead_of_the_failed_write() {
    let mut stream = stream();
    // The server gives its reason in plain text, because a TLS alert would need keys here.
    stream.socket.arriving.extend(*b"-DENIED\r\n");
    stream.socket.broken = true;
    let error = stream.write(b"PING\r\n").unwrap_err();
    assert!(TlsFailure::of(&error).is_some(), "{error}");
}

#[test]
fn garbage_among_records_is_a_failure_after_the_data_before_it() {
    let mut stream = stream();
    stream.socket.say(&[b'x'; 5_000]);
    stream.socket.arriving.extend(*b"HTTP/1.1 400 Bad Request\r\n");
    let mut buffer = [0; 6_000];
    let failed = (0..3).find_map(|_| stream.read(&mut buffer).err()).unwrap();
    assert!(TlsFailure::of(&failed).is_some(), "{failed}");
}
