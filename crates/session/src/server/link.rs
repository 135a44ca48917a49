//! One connection to the server with the client library fred, through a [guard]. No other module uses fred.
//!
//! Fred's automatic reconnects are off. When the connection of a [`RedisLink`] is lost, the owner of the link opens a
//! new link. Every lost connection is therefore noticed, and no command is sent twice.

use std::{
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use fred::{
    clients::Client,
    error::{Error, ErrorKind},
    interfaces::{ClientInterface, ClientLike},
    types::{
        Builder, ClusterHash, ConnectHandle, CustomCommand, Value,
        config::{Config, ServerConfig},
    },
};
use tokio::{task::JoinSet, time::timeout};

use super::{
    ServerError,
    guard::{self, Door, REPLY_LIMIT},
    pace::SentCommands,
};
use crate::{endpoint::Talk, untrusted};

/// A part of a reply of any type, independent of the client library fred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Datum {
    Number(i64),
    Text(String),
    List(Vec<Datum>),
    /// Null, or a value of a type that redyno's commands never return.
    Other,
}

impl Datum {
    pub(super) fn list(&self) -> Option<&[Self]> {
        if let Self::List(parts) = self { Some(parts) } else { None }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::List(_) | Self::Other => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// The name of the control connection (CLIENT SETNAME).
pub(crate) const CLIENT_NAME: &str = "redyno-control";

/// The longest accepted field of a marker, in characters. The field has room for the key names of several workloads
/// with the largest number of key sets.
pub(super) const LONGEST_NOTE: usize = 64 * 1024;

/// The time limit for connecting and for some commands that follow one after the other.
const CONNECT_LIMIT: Duration = Duration::from_secs(6);

/// A connection to Redis. Dropping the link closes the socket.
pub(super) struct RedisLink {
    /// The sender of commands.
    pub(super) wire: RedisSender,
    fred: ConnectHandle,
    _guard: JoinSet<()>,
}

impl Drop for RedisLink {
    fn drop(&mut self) {
        // QUIT would wait for a server that may hang.
        self.fred.abort();
    }
}

impl RedisLink {
    /// Starts fred on an open connection after its handshake.
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
            // Each link has nine such channels. Only `wait_for_connect` uses one of them.
            .with_performance_config(|performance| performance.broadcast_channel_capacity = 4)
            .build()
            .map_err(refused)?;
        let (fred, sent) = (client.connect(), SentCommands::to(talk.target()));
        let _guard = guard::start_guard(door, talk, Arc::clone(&breach)).await.map_err(broken)?;
        let wire = RedisSender { client, breach: Arc::clone(&breach), sent, around: CommandFrame::Nothing };
        let link = Self { wire, fred, _guard };
        link.wire.client.wait_for_connect().await.map_err(refused)?;
        // If the server does not have or allow CLIENT SETNAME, the connection is used without a name.
        let wire = &link.wire;
        ServerError::optional(wire.within("CLIENT SETNAME", wire.client.client_setname(CLIENT_NAME)).await)?;
        Ok(link)
    }

    /// Waits until the connection is lost. Returns the reason.
    pub(super) async fn lost(&mut self) -> String {
        let ended = (&mut self.fred).await;
        match (self.wire.breach.get(), ended) {
            (Some(breach), _) => format!("the connection was lost: {breach}"),
            (None, Ok(Err(error))) => {
                format!("the connection was lost: {}", untrusted::text(error.details()))
            }
            (None, Ok(Ok(())) | Err(_)) => "the server closed the connection".to_owned(),
        }
    }
}

/// The sender of commands. Clones share the connection, and their commands are pipelined.
#[derive(Clone)]
pub(super) struct RedisSender {
    client: Client,
    /// The reason why the guard closed the connection; empty while the connection is open.
    breach: Arc<OnceLock<String>>,
    /// The commands that this connection has sent.
    pub(super) sent: SentCommands,
    around: CommandFrame,
}

/// The extra commands around each command. The extra commands are sent together with the command, so no other command
/// of this connection runs in between.
#[derive(Clone, Copy)]
enum CommandFrame {
    Nothing,
    /// SELECT of the command's database before the command, and SELECT of the connection's database after the command.
    Databases([u32; 2]),
    /// ASKING before the command.
    Asking,
}

impl RedisSender {
    /// Returns a sender of commands to the database `db`. `own` is the database of the connection. Use this sender for
    /// reads only. If the server refuses SELECT, the command runs in the database `own`, and its reply is ignored.
    pub(super) fn in_db(&self, db: u32, own: u32) -> Self {
        Self { around: CommandFrame::Databases([db, own]), ..self.clone() }
    }

    /// Returns a sender of commands for keys of a slot that is being moved to this node.
    pub(super) fn asking(&self) -> Self {
        Self { around: CommandFrame::Asking, ..self.clone() }
    }

    /// Sets one parameter with CONFIG SET.
    pub(super) async fn config_set(&self, name: &str, value: &str) -> Result<(), ServerError> {
        // The next poll may show the new value before this reply is read.
        self.sent.set(name, value);
        let answered = self.ask(&["CONFIG", "SET", name, value]).await;
        answered.inspect_err(|error| self.sent.note_failed_set(name, error)).map(|_| ())
    }

    /// Sends a command. Returns its reply as a text with several lines.
    pub(super) async fn text(&self, words: &[&str]) -> Result<String, ServerError> {
        lines(words[0], &self.ask(words).await?)
    }

    /// Sends a command. Returns its reply as a count.
    pub(super) async fn count(&self, words: &[&str]) -> Result<u64, ServerError> {
        self.ask(words).await?.as_u64().ok_or_else(|| unexpected(words[0]))
    }

    /// Sends a command. Returns its reply as a list of texts.
    pub(super) async fn texts(&self, words: &[&str]) -> Result<Vec<String>, ServerError> {
        texts(words[0], &self.ask(words).await?)
    }

    /// Sends a command, and returns its reply as a list of a marker's fields. Fields may be longer than other
    /// texts. A missing field is `None`.
    pub(super) async fn notes(&self, words: &[&str]) -> Result<Vec<Option<String>>, ServerError> {
        let Value::Array(elements) = self.ask(words).await? else { return Err(unexpected(words[0])) };
        let note = |value: &Value| value.as_bytes().map(|bytes| untrusted::at_most(bytes, LONGEST_NOTE));
        Ok(elements.iter().map(note).collect())
    }

    /// Sends a command. Returns a reply of any type.
    pub(super) async fn data(&self, words: &[&str]) -> Result<Datum, ServerError> {
        self.ask(words).await.map(datum)
    }

    /// Sends one SCAN for keys that match `pattern`. Returns the next cursor (`"0"` at the end) and the found
    /// keys.
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

    /// Sends `command` (EXISTS, UNLINK or DEL) with keys. Returns the number of keys that existed.
    pub(super) async fn of_keys(&self, command: &str, keys: &[Vec<u8>]) -> Result<u64, ServerError> {
        let keys = keys.iter().map(|key| Value::Bytes(key.clone().into())).collect();
        self.send(command, keys).await?.as_u64().ok_or_else(|| unexpected(command))
    }

    /// Sends `command` once for each list of keys, in one pipeline. Returns the numbers of keys that existed.
    pub(super) async fn of_keys_of_slots(
        &self,
        command: &'static str,
        slots: impl Iterator<Item = &Vec<Vec<u8>>>,
    ) -> Result<Vec<Result<u64, ServerError>>, ServerError> {
        let bytes = |keys: &Vec<Vec<u8>>| keys.iter().map(|key| Value::Bytes(key.clone().into())).collect();
        let commands: Vec<_> = slots.map(|keys| (plain(command), bytes(keys))).collect();
        commands.iter().for_each(|_| self.sent.count(command, None));
        let replies = self.within(command, self.send_together(commands)).await?;
        let count = |reply: Result<Value, Error>| match reply {
            Ok(value) => value.as_u64().ok_or_else(|| unexpected(command)),
            Err(error) => Err(from_fred(command, &error, &self.breach)),
        };
        Ok(replies.into_iter().map(count).collect())
    }

    /// Sends a command that may contain any bytes. Ignores the reply unless it is an error.
    pub(super) async fn run(&self, words: &[Vec<u8>]) -> Result<(), ServerError> {
        let Some((command, arguments)) = words.split_first() else { return Ok(()) };
        let arguments = arguments.iter().map(|word| Value::Bytes(word.clone().into())).collect();
        self.send(&untrusted::bytes(command), arguments).await.map(|_| ())
    }

    /// Sends a command and returns its reply.
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Value, ServerError> {
        let arguments = words[1..].iter().map(|word| Value::from(*word)).collect();
        self.send(words[0], arguments).await
    }

    async fn send(&self, command: &str, arguments: Vec<Value>) -> Result<Value, ServerError> {
        self.sent.count(command, arguments.first().and_then(Value::as_str).as_deref());
        let custom = plain(command);
        let reply = match self.around {
            CommandFrame::Nothing => self.within(command, self.client.custom(custom, arguments)).await,
            CommandFrame::Databases(apart) => {
                self.within(command, self.send_apart(custom, arguments, apart)).await
            }
            CommandFrame::Asking => self.within(command, self.send_asking(custom, arguments)).await,
        };
        reply.map(guard::without_fillers)
    }

    /// Waits for fred's result of `command` for at most [`REPLY_LIMIT`]. Fred's futures are boxed because they are
    /// large.
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
                    // A command on a closed connection waits in fred.
                    Err(match self.breach.get() {
                        Some(breach) => ServerError::Lost { command, cause: breach.clone() },
                        None => ServerError::Timeout { command, after: REPLY_LIMIT },
                    })
                }
            }
        }
    }

    /// Sends SELECT `db`, the command, and SELECT `own`.
    async fn send_apart(
        &self,
        custom: CustomCommand,
        arguments: Vec<Value>,
        [db, own]: [u32; 2],
    ) -> Result<Value, Error> {
        let sent = self.send_together([select(db), (custom, arguments), select(own)]).await?;
        let [selected, reply, back]: [_; 3] = sent.try_into().map_err(|_| closed())?;
        if back.is_err() {
            // If the second SELECT fails, further commands would run in the wrong database.
            drop(self.client.quit().await);
        }
        selected.and(reply)
    }

    /// Sends ASKING and the command.
    async fn send_asking(&self, custom: CustomCommand, arguments: Vec<Value>) -> Result<Value, Error> {
        self.sent.count("ASKING", None);
        let sent = self.send_together([(plain("ASKING"), Vec::new()), (custom, arguments)]).await?;
        let [asked, reply]: [_; 2] = sent.try_into().map_err(|_| closed())?;
        asked.and(reply)
    }

    /// Sends commands together and returns their replies.
    async fn send_together(
        &self,
        commands: impl IntoIterator<Item = (CustomCommand, Vec<Value>)>,
    ) -> Result<Vec<Result<Value, Error>>, Error> {
        let (pipeline, mut count) = (self.client.pipeline(), 0);
        for (command, arguments) in commands {
            let _: Value = pipeline.custom(command, arguments).await?;
            count += 1;
        }
        let mut replies = pipeline.try_all().await;
        replies.resize_with(count, || Err(closed()));
        Ok(replies)
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Canceled, "closed")
}

fn plain(command: &str) -> CustomCommand {
    CustomCommand::new(command, ClusterHash::FirstKey, false)
}

fn select(db: u32) -> (CustomCommand, Vec<Value>) {
    (plain("SELECT"), vec![db.to_string().into()])
}

fn datum(value: Value) -> Datum {
    match value {
        Value::Integer(number) => Datum::Number(number),
        Value::Array(parts) => Datum::List(parts.into_iter().map(datum).collect()),
        value => word(&value).map_or(Datum::Other, Datum::Text),
    }
}

/// Returns a reply as a text with several lines.
fn lines(command: &str, reply: &Value) -> Result<String, ServerError> {
    reply.as_bytes().map(untrusted::lines).ok_or_else(|| unexpected(command))
}

/// Returns a reply as a list of texts.
fn texts(command: &str, reply: &Value) -> Result<Vec<String>, ServerError> {
    let Value::Array(elements) = reply else { return Err(unexpected(command)) };
    elements.iter().map(word).collect::<Option<_>>().ok_or_else(|| unexpected(command))
}

/// Returns a text, or a number as text.
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
        // The guard's reason is more precise than fred's error.
        return ServerError::Lost { command, cause: breach.clone() };
    }
    match error.kind() {
        ErrorKind::IO | ErrorKind::Canceled | ErrorKind::Protocol | ErrorKind::Backpressure => {
            ServerError::Lost { command, cause: words }
        }
        // Fred's message for a connection that was closed while a command waited.
        ErrorKind::Unknown if words == "channel closed" => {
            ServerError::Lost { command, cause: "it was closed".to_owned() }
        }
        ErrorKind::Timeout => ServerError::Timeout { command, after: REPLY_LIMIT },
        ErrorKind::Parse | ErrorKind::NotFound => ServerError::Unexpected { command },
        // All other errors are error replies. Fred chooses the kind by the first word of the reply, and keeps
        // the text.
        _ => ServerError::Refused { command, message: guard::as_sent(&words).to_owned() },
    }
}
