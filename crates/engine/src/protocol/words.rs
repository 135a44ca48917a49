//! What a message names differently for each dialect.

/// What a message to a person names by the words of its server.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What a server is called.
    pub server: &'static str,
    /// Its command that does nothing but answer.
    pub ping: &'static str,
    /// The answer to that.
    pub pong: &'static str,
    /// Its command that reports its figures.
    pub figures: &'static str,
    /// What it is asked while there is no load.
    pub questions: &'static str,
    /// What is said where it has not counted any command.
    pub no_commands: &'static str,
    /// Its option for a unix socket.
    pub socket: &'static str,
    /// Its option for the rights of that.
    pub socket_rights: &'static str,
    /// Its option for how many clients it takes.
    pub most_clients: &'static str,
    /// How it gets our credentials.
    pub credentials: &'static str,
    /// What to look at where it does not believe that.
    pub who_we_are: &'static str,
    /// Where a password is given.
    pub password: &'static str,
}

pub(super) static REDIS: Words = Words {
    server: "Redis",
    ping: "PING",
    pong: "PONG",
    figures: "INFO",
    questions: "PING and read-only commands",
    no_commands: "waiting for two answers to INFO",
    socket: "unixsocket",
    socket_rights: "unixsocketperm",
    most_clients: "maxclients",
    credentials: "-a, or in the environment as REDISCLI_AUTH",
    who_we_are: "-a or REDISCLI_AUTH, and --user",
    password: "-a and REDISCLI_AUTH",
};

pub(super) static MEMCACHED: Words = Words {
    server: "memcached",
    ping: "mn",
    pong: "MN",
    figures: "stats",
    questions: "mn, version and stats",
    no_commands: "stats has counted none in this minute",
    socket: "-s",
    socket_rights: "-a",
    most_clients: "-c",
    credentials: "--user and -a, or before an @ in the URI",
    who_we_are: "--user and -a",
    password: "--user and -a",
};
