//! Why a server cannot be reached: each cause with the next step, in one line.

use std::{io, path::PathBuf};

use thiserror::Error;

use super::{Address, TlsFailure};

/// Why [`reach`](super::reach()) failed. No message holds a password.
#[derive(Debug, Error)]
pub enum ReachError {
    /// The name has no address, or the resolver failed.
    #[error("the host '{host}' was not found ({cause}); check its spelling and the network")]
    HostNotFound {
        /// The name.
        host: String,
        /// What the resolver said.
        cause: io::Error,
    },
    /// Nothing listens there.
    #[error("nothing listens on {0} (connection refused); is the server running, and is this its address?")]
    Refused(Address),
    /// No answer to the connection attempt.
    #[error("connecting to {0} timed out; is the host up, and does a firewall let this port through?")]
    ConnectTimeout(Address),
    /// There is no such file.
    #[error("there is no socket {path}; is the server running, and is this its 'unixsocket'?", path = .0.display())]
    NoSuchSocket(PathBuf),
    /// The file may not be used by this user.
    #[error("the socket {path} may not be opened by this user; see the server's 'unixsocketperm'", path = .0.display())]
    SocketForbidden(PathBuf),
    /// Another failure of the system.
    #[error("{address} cannot be reached: {cause}")]
    Io {
        /// The target.
        address: Address,
        /// What the system said.
        cause: io::Error,
    },
    /// It accepted and said nothing.
    #[error(
        "{0} accepted the connection and said nothing; it hangs, or it expects another protocol such as TLS (--tls)"
    )]
    Silent(Address),
    /// It accepted and did not begin the handshake.
    #[error(
        "{0} accepted the connection and did not answer the TLS handshake; it hangs, or does not speak TLS (leave out \
         --tls, or write redis://)"
    )]
    SilentToTls(Address),
    /// It began a reply and did not end it.
    #[error("{address} began an answer and did not end it: \"{bytes}\"; it hangs, or it is not a Redis")]
    HalfAnswer {
        /// The target.
        address: Address,
        /// What came, printable.
        bytes: String,
    },
    /// It accepted and closed.
    #[error(
        "{0} closed the connection without a word; does it expect TLS (--tls), or is it shutting down or out of \
         connections?"
    )]
    Closed(Address),
    /// It closed in the middle of the handshake.
    #[error(
        "{0} closed the connection during the TLS handshake; does it speak TLS, or is it shutting down or out of \
         connections?"
    )]
    ClosedToTls(Address),
    /// It answered with a TLS alert, or to a TLS handshake.
    #[error("{0} speaks TLS; add --tls, or write rediss:// in the URI")]
    SpeaksTls(Address),
    /// It answered a TLS handshake, or else a PING, in plain RESP.
    #[error("{0} speaks Redis without TLS; leave out --tls (or write redis://), or name its TLS port")]
    SpeaksPlain(Address),
    /// TLS failed.
    #[error("{address}: {failure}")]
    Tls {
        /// The target.
        address: Address,
        /// Why, with what to do.
        failure: TlsFailure,
    },
    /// It answered like a web server.
    #[error("{address} is an HTTP server, not a Redis: it answered \"{line}\"; check the port")]
    Http {
        /// The target.
        address: Address,
        /// Its status line.
        line: String,
    },
    /// It answered like a memcached.
    #[error("{0} is a memcached, which redyno cannot measure yet; name the port of a Redis or Valkey")]
    Memcached(Address),
    /// It answered in another protocol that is known.
    #[error("{address} speaks {protocol}, not Redis: it said \"{said}\"; check the port")]
    OtherProtocol {
        /// The target.
        address: Address,
        /// What it speaks.
        protocol: &'static str,
        /// What it said, printable.
        said: String,
    },
    /// It answered in no protocol that is known.
    #[error("{address} is not a Redis: it sent \"{bytes}\"; check the port")]
    NotRedis {
        /// The target.
        address: Address,
        /// Its first bytes, printable.
        bytes: String,
    },
    /// `NOAUTH`.
    #[error("{0} wants a password: give it with -a, or in the environment as REDISCLI_AUTH")]
    PasswordNeeded(Address),
    /// `WRONGPASS`.
    #[error("{address} refused the password of {user}; check -a or REDISCLI_AUTH, and --user")]
    WrongPassword {
        /// The target.
        address: Address,
        /// `user 'ann'` or `the default user`.
        user: String,
    },
    /// AUTH where there is no password.
    #[error("{0} has no password set, but one was given; leave out -a and REDISCLI_AUTH")]
    PasswordNotAsked(Address),
    /// `NOPERM`.
    #[error("{address} does not permit this user the command {command}: {message}; extend its ACL rules")]
    NotPermitted {
        /// The target.
        address: Address,
        /// What was asked.
        command: &'static str,
        /// What the server said.
        message: String,
    },
    /// `LOADING`.
    #[error("{0} is still loading its data; wait until it is done")]
    Loading(Address),
    /// `ERR max number of clients reached`.
    #[error("{0} has reached its limit of clients; close some, or raise its 'maxclients'")]
    TooManyClients(Address),
    /// `DENIED`.
    #[error(
        "{0} is in protected mode and takes local clients only; set a password there, or run redyno on its host"
    )]
    ProtectedMode(Address),
    /// SELECT was refused.
    #[error("{address} has no database {db} ({message}); choose another with --db")]
    NoSuchDb {
        /// The target.
        address: Address,
        /// The number asked for.
        db: u32,
        /// What the server said.
        message: String,
    },
    /// HELLO 3 was refused.
    #[error("{0} does not speak RESP3 (it came with Redis 6); leave out -3")]
    NoResp3(Address),
    /// It is busy with something that ends: `BUSY`, `MASTERDOWN`, `CLUSTERDOWN`, `TRYAGAIN`.
    #[error("{address} cannot serve now: {message}")]
    Busy {
        /// The target.
        address: Address,
        /// What the server said.
        message: String,
    },
    /// An answer that does not end.
    #[error("{0} answers a single command without end; is it a Redis?")]
    Endless(Address),
    /// Another error reply.
    #[error("{address} answered {command} with an error: {message}")]
    ErrorReply {
        /// The target.
        address: Address,
        /// What was asked.
        command: &'static str,
        /// What the server said.
        message: String,
    },
}

impl ReachError {
    /// Whether something is there that answers, and not as a server that can be measured now.
    pub fn is_answer(&self) -> bool {
        !matches!(
            self,
            Self::HostNotFound { .. }
                | Self::Refused(_)
                | Self::ConnectTimeout(_)
                | Self::NoSuchSocket(_)
                | Self::SocketForbidden(_)
                | Self::Io { .. }
                | Self::Silent(_)
                | Self::HalfAnswer { .. }
                | Self::Closed(_)
        )
    }

    /// Whether trying again may help without anybody changing the command line: the server may start, wake up or
    /// finish loading. What is not transient never helps itself.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::HostNotFound { .. }
            | Self::Refused(_)
            | Self::ConnectTimeout(_)
            | Self::NoSuchSocket(_)
            | Self::Io { .. }
            | Self::Silent(_)
            | Self::HalfAnswer { .. }
            | Self::SilentToTls(_)
            | Self::Closed(_)
            | Self::ClosedToTls(_)
            | Self::Loading(_)
            | Self::TooManyClients(_)
            | Self::Busy { .. } => true,
            Self::SocketForbidden(_)
            | Self::SpeaksTls(_)
            | Self::SpeaksPlain(_)
            | Self::Tls { .. }
            | Self::Http { .. }
            | Self::Memcached(_)
            | Self::OtherProtocol { .. }
            | Self::NotRedis { .. }
            | Self::Endless(_)
            | Self::PasswordNeeded(_)
            | Self::WrongPassword { .. }
            | Self::PasswordNotAsked(_)
            | Self::NotPermitted { .. }
            | Self::ProtectedMode(_)
            | Self::NoSuchDb { .. }
            | Self::NoResp3(_)
            | Self::ErrorReply { .. } => false,
        }
    }
}
