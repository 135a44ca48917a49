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
    /// The command that lists the open connections.
    pub connections: &'static str,
    /// The advice if the client limit is reached.
    pub more_clients: &'static str,
    /// The option for the memory limit.
    pub memory_limit: &'static str,
    /// How to find out which keys use the memory.
    pub large_keys: &'static str,
    /// How to make large replies smaller.
    pub smaller_replies: &'static str,
    /// The advice if the server uses all of its CPU time.
    pub more_cores: &'static str,
    /// How to find out whether keys were deleted.
    pub deleted_keys: &'static str,
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

pub(super) const REDIS: DialectWords = DialectWords {
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
    connections: "CLIENT LIST",
    more_clients: "CONFIG SET maxclients raises the limit; CLIENT LIST shows who is connected",
    memory_limit: "maxmemory (CONFIG SET maxmemory)",
    large_keys: "redis-cli --memkeys finds large keys",
    smaller_replies: "read only parts of a key (GETRANGE, HMGET, LRANGE), or split or compress its value",
    more_cores: "spread the keys over more servers (cluster), or read from replicas",
    deleted_keys: "INFO keyspace counts keys, INFO commandstats shows DEL, UNLINK and FLUSHALL",
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
    connections: "stats conns",
    more_clients: "raise memcached's option -c; stats conns shows the connections",
    memory_limit: "memcached's option -m",
    large_keys: "stats slabs shows the memory by item size",
    smaller_replies: "split or compress large values",
    more_cores: "spread the keys over more servers, or start memcached with more threads (-t)",
    deleted_keys: "stats shows curr_items, delete_hits and cmd_flush",
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
    ..REDIS
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
