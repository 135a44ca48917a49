//! The reasons why a server cannot be reached. Each message is one line, with the cause and with advice.

use std::{fmt, io, path::PathBuf};

use thiserror::Error;

use super::{Address, Target, TlsFailure};
use crate::{
    protocol::{Dialect, DialectWords},
    untrusted::{self, code},
};

/// The server that an error is about: its address, and the protocol that it should speak. A `Party` is displayed as its
/// address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The address.
    pub address: Address,
    /// The protocol.
    pub dialect: Dialect,
}

impl Party {
    /// Returns the address and protocol of `target`.
    pub fn of(target: &Target) -> Self {
        Self { address: target.address.clone(), dialect: target.dialect }
    }

    fn words(&self) -> &'static DialectWords {
        self.dialect.words()
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// The reason why [`reach`](super::reach()) failed. No message contains a password.
#[derive(Debug, Error)]
pub enum ReachError {
    /// The host name has no address, or the resolver failed.
    #[error(
        "the host '{}' was not found ({cause}); check its spelling and the network",
        untrusted::text(host)
    )]
    HostNotFound {
        /// The name.
        host: String,
        /// The resolver's message.
        cause: io::Error,
    },
    /// Nothing listens at the address.
    #[error("nothing listens on {0} (connection refused); is the server running, and is this its address?")]
    Refused(Address),
    /// The host did not reply to the attempt to connect.
    #[error("connecting to {0} timed out; is the host up, and does a firewall let this port through?")]
    ConnectTimeout(Address),
    /// The unix socket does not exist.
    #[error("there is no socket {path}; is the server running, and is this its '{}'?", .words.socket, path = untrusted::path(.path))]
    NoSuchSocket {
        /// The file.
        path: PathBuf,
        /// The server's own terms.
        words: &'static DialectWords,
    },
    /// The user has no permission to open the unix socket.
    #[error(
        "this user may not open the socket {path}; see the server's '{}'",
        .words.socket_rights,
        path = untrusted::path(.path)
    )]
    SocketForbidden {
        /// The file.
        path: PathBuf,
        /// The server's own terms.
        words: &'static DialectWords,
    },
    /// The operating system reported another error.
    #[error("{address} cannot be reached: {cause}")]
    Io {
        /// The target.
        address: Address,
        /// The system's message.
        cause: io::Error,
    },
    /// The server accepted the connection and sent nothing.
    #[error(
        "{0} accepted the connection and sent no reply; it hangs, or it expects another protocol such as TLS (--tls)"
    )]
    Silent(Address),
    /// The server accepted the connection and did not answer the TLS handshake.
    #[error(
        "{0} accepted the connection and did not answer the TLS handshake; it hangs, or does not speak TLS (leave out \
         --tls, or write {scheme}://)", scheme = .0.dialect.scheme(false)
    )]
    SilentToTls(Party),
    /// The server uses TLS, and did not complete the TLS handshake.
    #[error("{0} did not complete the TLS handshake in time; it hangs or is overloaded")]
    SlowTls(Address),
    /// The server began a reply and did not complete it.
    #[error(
        "{party} began a reply and did not complete it: \"{bytes}\"; it hangs, or it is not {}", .party.words().a_server
    )]
    HalfAnswer {
        /// The target.
        party: Party,
        /// The received data, as printable text.
        bytes: String,
    },
    /// The server accepted the connection and closed it.
    #[error(
        "{0} closed the connection without a reply; does it expect TLS (--tls), or is it shutting down or out of \
         connections?"
    )]
    Closed(Address),
    /// The server closed the connection during the TLS handshake.
    #[error(
        "{0} closed the connection during the TLS handshake; does it speak TLS, or is it shutting down or out of \
         connections?"
    )]
    ClosedToTls(Address),
    /// The server requires TLS. The server sent a TLS alert, or answered a TLS handshake.
    #[error("{0} speaks TLS; add --tls, or write {scheme}:// in the URI", scheme = .0.dialect.scheme(true))]
    SpeaksTls(Party),
    /// The server does not speak TLS. The server answered a TLS handshake or a PING in plain text.
    #[error(
        "{0} speaks {server} without TLS; leave out --tls (or write {scheme}://), or name its TLS port",
        server = .0.words().server,
        scheme = .0.dialect.scheme(false)
    )]
    SpeaksPlain(Party),
    /// TLS failed.
    #[error("{address}: {failure}")]
    Tls {
        /// The target.
        address: Address,
        /// The cause, with advice.
        failure: TlsFailure,
    },
    /// The server answered as a web server does.
    #[error("{party} is an HTTP server, not {}: it answered \"{line}\"; check the port", .party.words().a_server)]
    Http {
        /// The target.
        party: Party,
        /// The server's status line.
        line: String,
    },
    /// The server answered as memcached does, but Redis or Valkey was expected.
    #[error("{0} is a memcached; write -u {uri}", uri = .0.address.uri(Dialect::Memcached))]
    Memcached(Party),
    /// The server answered as Redis or Valkey does, but memcached was expected.
    #[error("{0} is a Redis or Valkey, not a memcached; write -u {uri}", uri = .0.address.uri(Dialect::Resp2))]
    Redis(Party),
    /// The server answered in another known protocol.
    #[error("{party} speaks {protocol}, not {}: it sent \"{text}\"; check the port", .party.words().server)]
    OtherProtocol {
        /// The target.
        party: Party,
        /// The protocol.
        protocol: &'static str,
        /// The data, printable.
        text: String,
    },
    /// The server answered in an unknown protocol.
    #[error("{party} is not {}: it sent \"{bytes}\"; check the port", .party.words().a_server)]
    UnknownProtocol {
        /// The target.
        party: Party,
        /// The server's first bytes, as printable text.
        bytes: String,
    },
    /// The server requires a password: `NOAUTH`.
    #[error("{0} wants a password: give it with {how}", how = .0.words().credentials)]
    PasswordNeeded(Party),
    /// The server refused the password: `WRONGPASS`.
    #[error("{party} refused the password of {user}; check {}", .party.words().who_we_are)]
    WrongPassword {
        /// The target.
        party: Party,
        /// The user as text: `user 'ann'` or `the default user`.
        user: String,
    },
    /// A password was given, but the server needs no password.
    #[error("{0} has no password set, but one was given; leave out {options}", options = .0.words().password)]
    PasswordNotAsked(Party),
    /// The user has no permission for a command: `NOPERM`.
    #[error("{address} does not permit this user the command {command}: {message}; extend its ACL rules")]
    NotPermitted {
        /// The target.
        address: Address,
        /// The command.
        command: &'static str,
        /// The server's message.
        message: String,
    },
    /// The server is loading its data: `LOADING`.
    #[error("{0} is still loading its data; wait until it is done")]
    Loading(Address),
    /// The server has reached its client limit: `ERR max number of clients reached`.
    #[error("{0} has reached its limit of clients; close some, or raise its '{option}'", option = .0.words().most_clients)]
    TooManyClients(Party),
    /// The server is in protected mode: `DENIED`.
    #[error(
        "{0} is in protected mode and accepts local clients only; set a password there, or run redyno on its host"
    )]
    ProtectedMode(Address),
    /// SELECT was refused.
    #[error("{address} has no database {db} ({message}); choose another with --db")]
    NoSuchDb {
        /// The target.
        address: Address,
        /// The requested number.
        db: u32,
        /// The server's message.
        message: String,
    },
    /// HELLO 3 was refused.
    #[error("{0} does not speak RESP3, which came with Redis 6; leave out -3")]
    NoResp3(Address),
    /// The memcached is too old, because it has no meta commands.
    #[error("{0} does not know the command 'mn': redyno needs memcached 1.6 or later")]
    TooOld(Address),
    /// The server is busy for a while: `BUSY`, `MASTERDOWN`, `CLUSTERDOWN`, `TRYAGAIN`.
    #[error("{address} cannot serve now: {message}")]
    Busy {
        /// The target.
        address: Address,
        /// The server's message.
        message: String,
    },
    /// The server sent a reply that is longer than the longest accepted reply.
    #[error("{0} sends an endless reply to a single command; is it {server}?", server = .0.words().a_server)]
    Endless(Party),
    /// Another error reply.
    #[error("{address} answered {command} with an error: {message}")]
    ErrorReply {
        /// The target.
        address: Address,
        /// The command.
        command: &'static str,
        /// The server's message.
        message: String,
    },
}

impl ReachError {
    /// Returns the error without the server's text. Only the error code is kept.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        use ReachError::*;
        match &mut self {
            HalfAnswer { bytes: text, .. }
            | Http { line: text, .. }
            | OtherProtocol { text, .. }
            | UnknownProtocol { bytes: text, .. }
            | NotPermitted { message: text, .. }
            | NoSuchDb { message: text, .. }
            | Busy { message: text, .. }
            | ErrorReply { message: text, .. } => *text = code(text),
            _ => {}
        }
        self
    }

    /// Returns whether a server answers at the address but cannot be measured now.
    pub fn is_answer(&self) -> bool {
        !matches!(
            self,
            crate::any_of!(Self HostNotFound Refused ConnectTimeout NoSuchSocket SocketForbidden Io Silent
                HalfAnswer Closed)
        )
    }

    /// Returns whether a later attempt with the same command line may succeed. For example, the server may start,
    /// recover or finish loading. Other errors are permanent.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            crate::any_of!(Self HostNotFound Refused ConnectTimeout NoSuchSocket Io Silent HalfAnswer
                SilentToTls SlowTls Closed ClosedToTls Loading TooManyClients Busy)
        )
    }
}
