//! The words that redyno's messages use for each protocol. Redis, memcached and HTTP have different words.

/// The words that redyno's messages use for servers of one dialect (protocol).
#[derive(Debug, PartialEq, Eq)]
pub struct DialectWords {
    /// The name of the server.
    pub server: &'static str,
    /// The name of a server with its article.
    pub a_server: &'static str,
    /// The command to which the server only sends a reply, such as PING.
    pub ping: &'static str,
    /// The server's reply to the command `ping`.
    pub pong: &'static str,
    /// The server's command that reports its statistics.
    pub figures: &'static str,
    /// The names of the commands that redyno sends while there is no load.
    pub questions: &'static str,
    /// The message if the server has not counted any command.
    pub no_commands: &'static str,
    /// The server's option for a unix socket.
    pub socket: &'static str,
    /// The server's option for the permissions of the socket.
    pub socket_rights: &'static str,
    /// The server's option for the client limit.
    pub most_clients: &'static str,
    /// The command line options for the credentials.
    pub credentials: &'static str,
    /// The things that a user should check if the server rejects the credentials.
    pub who_we_are: &'static str,
    /// The command line options for a password.
    pub password: &'static str,
}

impl DialectWords {
    /// Returns a text in the words of this dialect. The dialect's own ping command replaces the word `PING`,
    /// and `pings` replaces `PINGs`.
    pub fn worded(&self, text: String) -> String {
        if self.ping == REDIS.ping || !text.contains(REDIS.ping) {
            return text;
        }
        // A key or a path, such as `SHIPPING` or `/PING`, is no such word.
        let is_end = |c: char| c.is_whitespace() || ",;:.()".contains(c);
        let word = |part: &str| match part.trim_end_matches(is_end) {
            "PING" => part.replacen(REDIS.ping, self.ping, 1),
            "PINGs" => part.replacen("PINGs", "pings", 1),
            _ => part.to_owned(),
        };
        text.split_inclusive([' ', '(']).map(word).collect()
    }
}

pub(super) static REDIS: DialectWords = DialectWords {
    server: "Redis",
    a_server: "a Redis",
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

pub(super) static MEMCACHED: DialectWords = DialectWords {
    server: "memcached",
    a_server: "a memcached",
    ping: "mn",
    pong: "MN",
    figures: "stats",
    questions: "mn, version and stats",
    no_commands: "stats counted no command in this minute",
    socket: "-s",
    socket_rights: "-a",
    most_clients: "-c",
    credentials: "--user and -a, or before an @ in the URI",
    who_we_are: "--user and -a",
    password: "--user and -a",
};

pub(super) static HTTP: DialectWords = DialectWords {
    server: "HTTP",
    a_server: "an HTTP server",
    ping: "HEAD",
    pong: "reply by HTTP",
    figures: "figures",
    questions: "HEAD requests",
    no_commands: "an HTTP server counts no commands",
    socket: "address",
    socket_rights: "permissions",
    most_clients: "limit of connections",
    credentials: "the field Authorization of a workload file",
    who_we_are: "the fields of the workload file",
    password: "the fields of a workload file",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_ping_is_replaced() {
        let text = "PING: 3 PINGs (PING, 2 ms) of GET /SHIPPING and /PING";
        assert_eq!(HTTP.worded(text.to_owned()), "HEAD: 3 pings (HEAD, 2 ms) of GET /SHIPPING and /PING");
        assert_eq!(REDIS.worded(text.to_owned()), text);
    }
}
