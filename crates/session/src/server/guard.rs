//! A proxy between the client library fred and a server. This proxy (the guard) passes only complete replies of limited
//! depth and size to fred. The guard closes the connection if a reply is not acceptable.
//!
//! ```text
//! fred ◄── a unix socket of this process ──► guard, a task ◄── Dialogue: TCP, TLS or unix socket ──► server
//! ```
//! Fred decodes nested replies recursively, and accepts replies of any size. Whenever more bytes of an incomplete reply
//! arrive, fred decodes the whole reply again. If one of several replies is the error CLUSTERDOWN, fred closes the
//! connection without passing on the replies. Fred drops replies that look like messages of a channel. Fred also needs
//! an address, and cannot use an open connection. Fred therefore connects to the guard, and the guard sends fred's
//! requests over the connection to the server.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use fred::types::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::Instant,
};

use super::dialogue::Dialogue;
use crate::{
    endpoint::{GreetingError, ReachError, Talk, UNREQUESTED_REPLY},
    protocol::{Dialect, Reply},
    untrusted,
};

/// The time limit for a reply. A server that takes longer is reported as hanging.
pub(super) const REPLY_LIMIT: Duration = Duration::from_secs(2);

/// The size of the buffer for requests from fred, in bytes.
const READ_SIZE: usize = 16 * 1024;

/// The largest size of a reply: 64 MiB. The reply to CLIENT LIST with 10 000 clients has about 4 MiB.
const LONGEST_REPLY: usize = 64 << 20;

/// The time limit for the replies to requests that were sent together. Callers of the crate `fred` stop waiting before
/// this limit.
const PATIENCE: Duration = REPLY_LIMIT.saturating_mul(2);

/// The error of a node while its cluster serves no keys.
pub(super) const CLUSTER_DOWN: &str = "CLUSTERDOWN";

/// The word that the guard puts before [`CLUSTER_DOWN`], so that fred passes on the error.
const AHEAD: &str = "ERR ";

/// The endings of words that fred misunderstands. If the first word of a reply of three or four parts has such an
/// ending, fred treats the reply as a message of a channel, and drops the reply. For example, the reply to `LATENCY
/// HISTOGRAM subscribe get` has four parts.
const MESSAGES: [&[u8]; 2] = [b"subscribe", b"message"];

/// The part that the guard adds to such replies until they have five parts.
const FILLER: &str = "redyno: not a message";

/// The number of bytes of an unexpected reply that an error shows.
const SHOWN: usize = 60;

/// The socket that fred connects to.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Creates a socket with a random name. On Linux, the socket has no file. The socket therefore works with a full or
    /// read-only disk, and a killed process leaves no file behind.
    pub(super) fn new() -> io::Result<Self> {
        let name = format!("redyno-{}-{:016x}", std::process::id(), rand::random::<u64>());
        let path = if cfg!(target_os = "linux") {
            PathBuf::from(format!("\0{name}"))
        } else {
            std::env::temp_dir().join(name)
        };
        Ok(Self { listener: UnixListener::bind(&path)?, path })
    }

    /// Returns the path of the socket.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for fred. Connections from other processes are closed. Other processes could otherwise send commands with
    /// this session's permissions.
    async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?.pid();
            if peer.is_none_or(|pid| u32::try_from(pid) == Ok(std::process::id())) {
                return Ok(stream);
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // An abstract socket has no file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Waits until fred connects to the `door`, then starts a task that passes fred's requests to `talk`. If the connection
/// breaks, the task puts the reason into `breach`. Dropping the result ends the task.
pub(super) async fn start_guard(
    door: Door,
    talk: Talk,
    breach: Arc<OnceLock<String>>,
) -> io::Result<JoinSet<()>> {
    let mut fred = door.accept().await?;
    let mut server = Dialogue::new(talk.bounded(LONGEST_REPLY))?;
    let mut guard = JoinSet::new();
    guard.spawn(async move {
        if let Err(why) = relay(&mut fred, &mut server).await {
            // Only the first reason is kept.
            let _ = breach.set(why);
        }
    });
    Ok(guard)
}

/// Passes requests from fred to the server and complete replies back to fred, until fred disconnects.
///
/// # Errors
/// The error is the reason why the connection ended before fred disconnected.
async fn relay(fred: &mut UnixStream, server: &mut Dialogue) -> Result<(), String> {
    let mut questions = Vec::with_capacity(READ_SIZE);
    // Requests are encoded like replies.
    let mut requests = Dialect::Resp2.skipper();
    // The last reply, if it was an error.
    let mut last = None;
    loop {
        questions.clear();
        let mut message = String::new();
        tokio::select! {
            biased;
            spoken = server.hear(1, |bytes, reply| message = unasked(bytes, reply)) => {
                return Err(spoken.map_or_else(|error| cause(error, last.as_deref()), |()| message));
            }
            read = fred.read_buf(&mut questions) => if !matches!(read, Ok(1..)) {
                return Ok(());
            }
        }
        let (mut input, mut asked) = (&*questions, 0);
        while let Ok(Some(_)) = requests.next(&mut input) {
            asked += 1;
        }
        server.send(&questions);
        let deadline = Instant::now() + PATIENCE;
        for _ in 0..asked {
            let mut answer = Vec::new();
            let take = |bytes: &[u8], reply: Reply| {
                last = if let Reply::Error(line) = reply { Some(untrusted::bytes(line)) } else { None };
                answer = for_fred(bytes, reply);
            };
            let answered = server.ask(1, deadline, take).await;
            answered.map_err(|error| cause(error, last.as_deref()))?;
            // The next read shows whether fred has disconnected.
            drop(fred.write_all(&answer).await);
        }
    }
}

/// Returns a reply in a form that fred passes on.
fn for_fred(bytes: &[u8], reply: Reply) -> Vec<u8> {
    if matches!(reply, Reply::Error(line) if line.starts_with(CLUSTER_DOWN.as_bytes())) {
        return [b"-", AHEAD.as_bytes(), &bytes[1..]].concat();
    }
    // The first word: `*4`, then `$9`, then `subscribe`.
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    let added: &[_] = match lines.next() {
        Some(b"*3") => &[FILLER, FILLER],
        Some(b"*4") => &[FILLER],
        _ => &[],
    };
    let is_message = lines.nth(1).is_some_and(|word| MESSAGES.iter().any(|kind| word.ends_with(kind)));
    if added.is_empty() || !is_message {
        return bytes.to_vec();
    }
    let added: Vec<_> = added.iter().map(|word| format!("+{word}\r\n")).collect();
    [b"*5", &bytes[2..], added.concat().as_bytes()].concat()
}

/// Returns a reply that fred passed on in the form in which the server sent the reply.
pub(super) fn without_fillers(mut reply: Value) -> Value {
    if let Value::Array(parts) = &mut reply {
        while parts.last().and_then(Value::as_str).is_some_and(|word| word == FILLER) {
            parts.pop();
        }
    }
    reply
}

/// Returns an error reply that fred passed on in the form in which the server sent the error.
pub(super) fn as_sent(error: &str) -> &str {
    error.strip_prefix(AHEAD).filter(|rest| rest.starts_with(CLUSTER_DOWN)).unwrap_or(error)
}

/// Returns the description of an unexpected reply. If the server sends an error without a request, the error says why
/// the server closes the connection.
fn unasked(bytes: &[u8], reply: Reply) -> String {
    if let Reply::Error(line) = reply {
        return GreetingError::from_unrequested(Dialect::Resp2, line).to_string();
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let beginning = untrusted::bytes(&line[..line.len().min(SHOWN)]);
    format!("{UNREQUESTED_REPLY}: '{beginning}'")
}

/// Returns the reason for a missing reply. `last` is the text of the previous reply, if that was an error.
fn cause(error: ReachError, last: Option<&str>) -> String {
    let after = last.map(|last| format!(" after '{last}'")).unwrap_or_default();
    match error {
        ReachError::Io { cause, .. } if cause.kind() == io::ErrorKind::TimedOut => cause.to_string(),
        // A server that disconnects without reading a request resets the connection.
        ReachError::Io { cause, .. } if last.is_some() || cause.kind() == io::ErrorKind::UnexpectedEof => {
            format!("the server closed the connection{after}")
        }
        ReachError::Io { cause, .. } => cause.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        endpoint::{Address, Target, talk},
        server::{ServerError, link::RedisLink},
    };

    /// Starts a node that replies CLUSTERDOWN to SADD, and `+OK` to all other commands. Returns its target.
    fn node() -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let is = |word: &[u8]| buffer[..n].windows(word.len()).any(|bytes| bytes == word);
                    let reply = match () {
                        () if is(b"SADD") => "-CLUSTERDOWN The cluster is down\r\n",
                        () if is(b"PING") => "+PONG\r\n",
                        () if is(b"HISTOGRAM") => "*4\r\n$9\r\nsubscribe\r\n*0\r\n$4\r\ninfo\r\n*0\r\n",
                        () if is(b"SMEMBERS") => "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n",
                        () => "+OK\r\n",
                    };
                    if stream.write_all(reply.as_bytes()).is_err() {
                        break;
                    }
                }
            }
        });
        Target { address: Address::Tcp { host: "127.0.0.1".to_owned(), port }, ..Target::default() }
    }

    #[tokio::test]
    async fn a_reply_that_looks_like_a_message_of_a_channel_arrives_as_it_was_sent() {
        let link = RedisLink::open(talk(&node(), None, REPLY_LIMIT).unwrap()).await.unwrap();
        let members = link.wire.texts(&["SMEMBERS", "names"]).await;
        assert_eq!(members.unwrap(), ["message", "a", "b"]);
        let times = link.wire.data(&["LATENCY", "HISTOGRAM", "subscribe", "info"]).await.unwrap();
        assert_eq!(times.list().map(<[_]>::len), Some(4), "{times:?}");
    }

    #[tokio::test]
    async fn a_node_whose_cluster_is_down_refuses_a_command_and_its_connection_stays_open() {
        let link = RedisLink::open(talk(&node(), None, REPLY_LIMIT).unwrap()).await.unwrap();
        let (command, message) = ("SADD".to_owned(), "CLUSTERDOWN The cluster is down".to_owned());
        let refused = link.wire.count(&["SADD", "k", "m"]).await;
        assert_eq!(refused, Err(ServerError::Refused { command, message }));
        assert_eq!(link.wire.text(&["LASTSAVE"]).await.as_deref(), Ok("OK"));
    }
}
