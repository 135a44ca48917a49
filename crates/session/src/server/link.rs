//! One connection to the server by fred, through a [`Guard`]. Nothing else knows fred.
//!
//! fred could reconnect by itself; it does not here. A [`RedisLink`] lives as long as its connection, and who wants
//! another opens another, so that every loss is seen, and no command is ever sent twice.

use std::{
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use fred::{
    clients::Client,
    error::{Error, ErrorKind},
    interfaces::{
        ClientInterface, ClientLike, ClusterInterface, ConfigInterface, ServerInterface, SlowlogInterface,
    },
    types::{
        Builder, ClusterHash, ConnectHandle, CustomCommand, Value,
        config::{Config, ServerConfig},
    },
};
use tokio::time::timeout;

use super::{
    ServerError,
    datum::Datum,
    guard::{Door, Guard, REPLY_LIMIT},
};
use crate::{endpoint::Talk, untrusted};

/// The name that the control connection gives itself.
pub(super) const CLIENT_NAME: &str = "redyno-control";

/// The longest note of ours, in characters: some workloads of as many sets of keys as there may be.
pub(super) const LONGEST_NOTE: usize = 64 * 1024;

/// How long it may take to connect: some commands, one after the other.
const CONNECT_LIMIT: Duration = Duration::from_secs(6);

/// A connection. Dropping it closes the socket.
pub(super) struct RedisLink {
    wire: Wire,
    task: ConnectHandle,
    guard: Guard,
}

impl Drop for RedisLink {
    fn drop(&mut self) {
        // A polite QUIT would wait for a server that may hang.
        self.task.abort();
    }
}

impl RedisLink {
    /// Begins on a connection that is greeted.
    pub(super) async fn open(talk: Talk) -> Result<Self, ServerError> {
        let late = |_| ServerError::Timeout { command: "connecting".to_owned(), after: CONNECT_LIMIT };
        timeout(CONNECT_LIMIT, Self::begin(talk)).await.map_err(late)?
    }

    async fn begin(talk: Talk) -> Result<Self, ServerError> {
        let broken = |cause: io::Error| ServerError::Lost {
            command: "connecting".to_owned(),
            cause: cause.to_string(),
        };
        let breach = Arc::default();
        let refused = |error| from_fred("connecting", &error, &breach);
        let door = Door::new().map_err(broken)?;
        let server = ServerConfig::Unix { path: door.path().to_owned() };
        let client = Builder::from_config(Config { server, ..Config::default() })
            .with_connection_config(|connection| {
                connection.connection_timeout = CONNECT_LIMIT;
                connection.internal_command_timeout = CONNECT_LIMIT;
                connection.max_command_attempts = 1;
                connection.disable_cluster_health_check = true;
            })
            .build()
            .map_err(refused)?;
        let task = client.connect();
        let guard = Guard::stand(door, talk, Arc::clone(&breach)).await.map_err(broken)?;
        let link = Self { task, wire: Wire { client, breach: Arc::clone(&breach), apart: None }, guard };
        link.wire.client.wait_for_connect().await.map_err(refused)?;
        // A server that does not know names, or does not permit them, works as well without.
        let wire = &link.wire;
        match wire.within("CLIENT SETNAME", wire.client.client_setname(CLIENT_NAME)).await {
            Err(error) if error.ends_connection() => Err(error),
            _ => Ok(link),
        }
    }

    /// What commands are sent by.
    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Waits until the connection is lost, and says why.
    pub(super) async fn lost(&mut self) -> String {
        let ended = (&mut self.task).await;
        match (self.guard.breach(), ended) {
            (Some(breach), _) => format!("the connection was lost: {breach}"),
            (None, Ok(Err(error))) => {
                format!("the connection was lost: {}", untrusted::text(error.details()))
            }
            (None, Ok(Ok(())) | Err(_)) => "the server closed the connection".to_owned(),
        }
    }
}

/// What commands are sent by. Clones share the connection; commands of several are pipelined.
#[derive(Clone)]
pub(super) struct Wire {
    client: Client,
    /// Why the guard hung up, once it has.
    breach: Arc<OnceLock<String>>,
    /// The database that commands are sent to, and that of the connection, where these are two.
    apart: Option<[u32; 2]>,
}

impl Wire {
    /// The same for another database than that of the connection, `own`. Only to ask: where the other may not be selected, the
    /// question reaches that of the connection, and its answer is left.
    pub(super) fn in_db(&self, db: u32, own: u32) -> Self {
        Self { apart: Some([db, own]), ..self.clone() }
    }

    /// INFO, with the sections that a server sends by default.
    pub(super) async fn info(&self) -> Result<String, ServerError> {
        lines("INFO", &self.within("INFO", self.client.info(None)).await?)
    }

    /// CLIENT LIST, of all kinds of clients.
    pub(super) async fn client_list(&self) -> Result<String, ServerError> {
        lines("CLIENT", &self.within("CLIENT", self.client.client_list::<_, String>(None, None)).await?)
    }

    /// CLUSTER INFO.
    pub(super) async fn cluster_info(&self) -> Result<String, ServerError> {
        lines("CLUSTER", &self.within("CLUSTER", self.client.cluster_info()).await?)
    }

    /// CLUSTER NODES.
    pub(super) async fn cluster_nodes(&self) -> Result<String, ServerError> {
        lines("CLUSTER", &self.within("CLUSTER", self.client.cluster_nodes()).await?)
    }

    /// The newest `count` entries of the slow log.
    pub(super) async fn slow_log(&self, count: i64) -> Result<Datum, ServerError> {
        self.within("SLOWLOG", self.client.slowlog_get(Some(count))).await.map(datum)
    }

    /// The number of keys of the database.
    pub(super) async fn dbsize(&self) -> Result<u64, ServerError> {
        self.within("DBSIZE", self.client.dbsize::<Value>())
            .await?
            .as_u64()
            .ok_or_else(|| unexpected("DBSIZE"))
    }

    /// CONFIG GET of one name or pattern: names and values in turn.
    pub(super) async fn config_get(&self, name: &str) -> Result<Vec<String>, ServerError> {
        texts("CONFIG", &self.within("CONFIG", self.client.config_get(name)).await?)
    }

    /// CONFIG SET of one parameter.
    pub(super) async fn config_set(&self, name: &str, value: &str) -> Result<(), ServerError> {
        self.within("CONFIG", self.client.config_set(name, value)).await
    }

    /// A reply that is a text of many lines.
    pub(super) async fn text(&self, words: &[&str]) -> Result<String, ServerError> {
        lines(words[0], &self.ask(words).await?)
    }

    /// A reply that is a count.
    pub(super) async fn count(&self, words: &[&str]) -> Result<u64, ServerError> {
        self.ask(words).await?.as_u64().ok_or_else(|| unexpected(words[0]))
    }

    /// A reply that is a list of texts.
    pub(super) async fn texts(&self, words: &[&str]) -> Result<Vec<String>, ServerError> {
        texts(words[0], &self.ask(words).await?)
    }

    /// A reply that is a list of notes of ours, which are longer than what others say; `None` is one that is not there.
    pub(super) async fn notes(&self, words: &[&str]) -> Result<Vec<Option<String>>, ServerError> {
        let Value::Array(elements) = self.ask(words).await? else { return Err(unexpected(words[0])) };
        let note = |value: &Value| value.as_bytes().map(|bytes| untrusted::at_most(bytes, LONGEST_NOTE));
        Ok(elements.iter().map(note).collect())
    }

    /// A reply of any shape.
    pub(super) async fn data(&self, words: &[&str]) -> Result<Datum, ServerError> {
        self.ask(words).await.map(datum)
    }

    /// One step of a SCAN over keys that match `pattern`: the next cursor (`"0"` ends the round) and what it found.
    pub(super) async fn scan(
        &self,
        cursor: &str,
        pattern: &str,
        count: u32,
    ) -> Result<(String, Vec<Vec<u8>>), ServerError> {
        let reply = self.ask(&["SCAN", cursor, "MATCH", pattern, "COUNT", &count.to_string()]).await?;
        let understood = || match reply {
            Value::Array(parts) => {
                let [cursor, Value::Array(keys)] = parts.as_slice() else { return None };
                let keys =
                    keys.iter().map(|key| key.as_bytes().map(<[u8]>::to_vec)).collect::<Option<_>>()?;
                Some((word(cursor)?, keys))
            }
            _ => None,
        };
        understood().ok_or_else(|| unexpected("SCAN"))
    }

    /// Gives keys to `command` (EXISTS, UNLINK or DEL); how many were there.
    pub(super) async fn of_keys(&self, command: &str, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        let keys = keys.iter().map(|key| Value::Bytes(key.clone().into())).collect();
        self.send(command, keys).await?.as_u64().ok_or_else(|| unexpected(command))
    }

    /// A command of bytes, whatever its reply, if that is good.
    pub(super) async fn run(&self, words: &[Vec<u8>]) -> Result<(), ServerError> {
        let Some((command, arguments)) = words.split_first() else { return Ok(()) };
        let arguments = arguments.iter().map(|word| Value::Bytes(word.clone().into())).collect();
        self.send(&untrusted::bytes(command), arguments).await.map(|_| ())
    }

    /// Any command.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Value, ServerError> {
        let arguments = words[1..].iter().map(|word| Value::from(*word)).collect();
        self.send(words[0], arguments).await
    }

    async fn send(&self, command: &str, arguments: Vec<Value>) -> Result<Value, ServerError> {
        let custom = CustomCommand::new(command, ClusterHash::FirstKey, false);
        match self.apart {
            None => self.within(command, self.client.custom(custom, arguments)).await,
            Some(apart) => self.within(command, self.send_apart(custom, arguments, apart)).await,
        }
    }

    /// What fred brings for `command`, if that is within the limit of time. fred's futures are large: they do not go on the stack.
    fn within<T>(
        &self,
        command: &str,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, ServerError>> {
        let asked = Box::pin(asked);
        async move {
            match timeout(REPLY_LIMIT, asked).await {
                Ok(reply) => reply.map_err(|error| from_fred(command, &error, &self.breach)),
                Err(_) => {
                    let command = command.to_owned();
                    // What was asked of a connection that is closed waits in fred.
                    Err(match self.breach.get() {
                        Some(breach) => ServerError::Lost { command, cause: breach.clone() },
                        None => ServerError::Timeout { command, after: REPLY_LIMIT },
                    })
                }
            }
        }
    }

    /// Sends a command between a SELECT and the one back. All three are written at once, so that no command of anybody else on
    /// this connection comes between them.
    async fn send_apart(
        &self,
        custom: CustomCommand,
        arguments: Vec<Value>,
        [db, own]: [u32; 2],
    ) -> Result<Value, Error> {
        let pipeline = self.client.pipeline();
        for (command, arguments) in [select(db), (custom, arguments), select(own)] {
            let _: Value = pipeline.custom(command, arguments).await?;
        }
        let mut replies = pipeline.try_all::<Value>().await.into_iter();
        let mut next = || replies.next().unwrap_or_else(|| Err(Error::new(ErrorKind::Canceled, "closed")));
        let (selected, reply, back) = (next(), next(), next());
        if back.is_err() {
            // Whatever is written on it would stand in the wrong database.
            drop(self.client.quit().await);
        }
        selected.and(reply)
    }
}

fn select(db: u32) -> (CustomCommand, Vec<Value>) {
    (CustomCommand::new("SELECT", ClusterHash::FirstKey, false), vec![db.to_string().into()])
}

fn datum(value: Value) -> Datum {
    match value {
        Value::Integer(number) => Datum::Number(number),
        Value::Array(parts) => Datum::List(parts.into_iter().map(datum).collect()),
        value => word(&value).map_or(Datum::Other, Datum::Text),
    }
}

/// A reply that is a text of many lines.
fn lines(command: &str, reply: &Value) -> Result<String, ServerError> {
    reply.as_bytes().map(untrusted::lines).ok_or_else(|| unexpected(command))
}

/// A reply that is a list of texts.
fn texts(command: &str, reply: &Value) -> Result<Vec<String>, ServerError> {
    let Value::Array(elements) = reply else { return Err(unexpected(command)) };
    elements.iter().map(word).collect::<Option<_>>().ok_or_else(|| unexpected(command))
}

/// A reply that is one text, or a number as text.
fn word(value: &Value) -> Option<String> {
    match value.as_bytes() {
        Some(bytes) => Some(untrusted::bytes(bytes)),
        None => value.as_str().map(|text| untrusted::text(&text)),
    }
}

fn unexpected(command: &str) -> ServerError {
    ServerError::Unexpected { command: command.to_owned() }
}

fn from_fred(command: &str, error: &Error, breach: &OnceLock<String>) -> ServerError {
    let (command, words) = (command.to_owned(), untrusted::text(error.details()));
    if let Some(breach) = breach.get() {
        // What the guard saw says more than that there was an end.
        return ServerError::Lost { command, cause: breach.clone() };
    }
    match error.kind() {
        ErrorKind::IO | ErrorKind::Canceled | ErrorKind::Protocol | ErrorKind::Backpressure => {
            ServerError::Lost { command, cause: words }
        }
        // fred's own word for a connection that went while a command waited.
        ErrorKind::Unknown if words == "channel closed" => {
            ServerError::Lost { command, cause: "it was closed".to_owned() }
        }
        ErrorKind::Timeout => ServerError::Timeout { command, after: REPLY_LIMIT },
        ErrorKind::Parse | ErrorKind::NotFound => ServerError::Unexpected { command },
        // The rest are error replies; fred sorts them by their first word and keeps the text.
        _ => ServerError::Refused { command, message: words },
    }
}
