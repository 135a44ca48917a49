//! If the server does not speak the expected protocol, finds out the kind of the server from its first bytes.

use super::{Party, ReachError, Target};
use crate::{protocol::Dialect, untrusted};

/// An unexpected server.
#[derive(Debug, PartialEq, Eq)]
enum UnknownServer {
    /// An HTTP server, with its status line.
    Http(String),
    /// A memcached, which answers unknown lines with `ERROR`.
    Memcached,
    /// A Redis or Valkey, which answers unknown lines with a RESP error.
    Redis,
    /// A server that requires TLS and has sent a TLS alert.
    Tls,
    /// A server of another known protocol, with the name of the protocol and the server's data as text.
    Other(&'static str, String),
    /// Unknown bytes.
    Unknown,
}

/// Returns the error for a server that sent `bytes`.
pub(super) fn diagnosis(target: &Target, bytes: &[u8]) -> ReachError {
    let party = Party::of(target);
    match recognize(bytes) {
        UnknownServer::Http(line) if target.dialect.has_keys() => ReachError::Http { party, line },
        UnknownServer::Memcached if target.dialect.lists_keys() => ReachError::Memcached(party),
        UnknownServer::Redis if target.dialect == Dialect::Memcached => ReachError::Redis(party),
        UnknownServer::Tls => ReachError::SpeaksTls(party),
        UnknownServer::Other(protocol, text) => ReachError::OtherProtocol { party, protocol, text },
        _ => ReachError::UnknownProtocol { party, bytes: printable(bytes) },
    }
}

/// Identifies a server by its first bytes.
fn recognize(bytes: &[u8]) -> UnknownServer {
    let line = || printable(bytes.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii());
    match bytes {
        [b'H', b'T', b'T', b'P', b'/', ..] => UnknownServer::Http(line()),
        // A web server may answer a request that it does not understand with a page without a status line, as in
        // HTTP/0.9.
        [b'<', b'!', b'D' | b'd', ..] | [b'<', b'h' | b'H', b't' | b'T', ..] => UnknownServer::Http(line()),
        [b'E', b'R', b'R', b'O', b'R', b'\r', b'\n', ..] => UnknownServer::Memcached,
        [b'C', b'L', b'I', b'E', b'N', b'T', b'_', b'E', b'R', b'R', b'O', b'R', ..] => {
            UnknownServer::Memcached
        }
        [b'-', b'E', b'R', b'R', b' ', ..] | [b'-', b'N', b'O', b'A', b'U', b'T', b'H', ..] => {
            UnknownServer::Redis
        }
        [b'-', b'D', b'E', b'N', b'I', b'E', b'D', ..] => UnknownServer::Redis,
        // A TLS record of type alert (21), version 3.x.
        [0x15, 0x03, ..] => UnknownServer::Tls,
        [b'S', b'S', b'H', b'-', ..] => UnknownServer::Other("SSH", line()),
        [b'2', b'2', b'0', b' ' | b'-', ..] => UnknownServer::Other("SMTP or FTP", line()),
        [b'*', b' ', b'O', b'K', ..] => UnknownServer::Other("IMAP", line()),
        [b'+', b'O', b'K', ..] => UnknownServer::Other("POP3", line()),
        // Packet length (3 bytes), sequence number 0, protocol version 10, then the version up to a NUL.
        [_, _, _, 0, 10, version @ ..] => {
            UnknownServer::Other("MySQL", printable(version.split(|b| *b == 0).next().unwrap_or_default()))
        }
        // An ErrorResponse: E, its length in 4 bytes, fields.
        [b'E', 0, 0, _, _, ..] => UnknownServer::Other("PostgreSQL", printable(bytes)),
        _ => UnknownServer::Unknown,
    }
}

/// Returns the first 48 bytes as printable text.
pub(super) fn printable(bytes: &[u8]) -> String {
    const SHOWN: usize = 48;
    let shown = untrusted::bytes(&bytes[..bytes.len().min(SHOWN)]);
    if bytes.len() > SHOWN { format!("{shown}…") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_servers_are_recognized_by_their_first_bytes() {
        let other = |name, text: &str| UnknownServer::Other(name, text.to_owned());
        let cases: [(&[u8], UnknownServer); 11] = [
            (
                b"HTTP/1.1 400 Bad Request\r\nServer: x",
                UnknownServer::Http("HTTP/1.1 400 Bad Request".into()),
            ),
            (b"ERROR\r\nERROR\r\n", UnknownServer::Memcached),
            (b"CLIENT_ERROR unauthenticated\r\n", UnknownServer::Memcached),
            (b"-ERR unknown command `mn`", UnknownServer::Redis),
            (b"\x15\x03\x03\x00\x02\x02\x16", UnknownServer::Tls),
            (b"SSH-2.0-OpenSSH_9.2\r\n", other("SSH", "SSH-2.0-OpenSSH_9.2")),
            (b"220 mail ESMTP\r\n", other("SMTP or FTP", "220 mail ESMTP")),
            (b"+OK ready\r\n", other("POP3", "+OK ready")),
            (b"\x4a\0\0\0\x0a8.0.36\0\x08\0\0\0", other("MySQL", "8.0.36")),
            (b"E\0\0\0\x20SFATAL\0", other("PostgreSQL", "E\\x00\\x00\\x00 SFATAL\\x00")),
            (b"\xff\x00\x01", UnknownServer::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(recognize(bytes), expected);
        }
    }

    #[test]
    fn garbage_is_shown_printable_and_short() {
        assert_eq!(printable(b"\xffa\0"), "\\xffa\\x00");
        assert_eq!(printable(&[b'a'; 60]).chars().count(), 49);
    }
}
