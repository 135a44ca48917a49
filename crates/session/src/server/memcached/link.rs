//! One connection of the control plane to memcached. A task sends one request after the other, and accepts
//! only complete replies of limited size.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, OnceLock},
};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use crate::{
    endpoint::{ReachError, Talk, UNREQUESTED_REPLY},
    protocol::Reply,
    server::{ServerError, dialogue::Dialogue, guard::REPLY_LIMIT},
    untrusted,
};

/// The largest size of a reply: 1 MiB.
const LONGEST_REPLY: usize = 1 << 20;
const CLOSED: &str = "the server closed the connection";

/// A connection to memcached. The connection is closed when the link and all its [`MemcachedSender`]s are dropped.
pub(in crate::server) struct MemcachedLink {
    /// The sender of commands.
    pub(in crate::server) wire: MemcachedSender,
    ended: oneshot::Receiver<Infallible>,
}

/// The sender of commands. Clones share the connection.
#[derive(Clone)]
pub(in crate::server) struct MemcachedSender {
    questions: mpsc::UnboundedSender<MemcachedRequest>,
    /// The reason why the connection ended.
    breach: Arc<OnceLock<String>>,
}

struct MemcachedRequest {
    bytes: Vec<u8>,
    replies: usize,
    answer: oneshot::Sender<io::Result<Vec<MemcachedReply>>>,
}

/// The bytes of a reply, or the text of an error reply.
type MemcachedReply = Result<Vec<u8>, String>;

impl MemcachedLink {
    /// Starts the task on an open connection after its handshake.
    pub(in crate::server) fn open(talk: Talk) -> Result<Self, ServerError> {
        let (questions, mut asked) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let wire = MemcachedSender { questions, breach: Arc::default() };
        let breach = Arc::clone(&wire.breach);
        let lost = |cause: io::Error| ServerError::Lost {
            command: "connecting".to_owned(),
            cause: cause.to_string(),
        };
        let mut server = Dialogue::new(talk.bounded(LONGEST_REPLY)).map_err(lost)?;
        tokio::spawn(async move {
            serve(&mut server, &mut asked, &breach).await;
            drop(end);
        });
        Ok(Self { wire, ended })
    }

    /// Waits until the connection is lost. Returns the reason. A connection that the server closes is noticed
    /// only at the next request.
    pub(in crate::server) async fn lost(&mut self) -> String {
        // The channel carries no message; it is closed when the connection ends.
        let _ = (&mut self.ended).await;
        format!("the connection was lost: {}", self.wire.cause())
    }
}

/// Sends one request after the other, until all senders are dropped or a reply is missing.
async fn serve(
    server: &mut Dialogue,
    questions: &mut mpsc::UnboundedReceiver<MemcachedRequest>,
    breach: &OnceLock<String>,
) {
    while let Some(MemcachedRequest { bytes, replies, answer }) = questions.recv().await {
        let mut received = Vec::new();
        let take = |bytes: &[u8], reply: Reply| {
            received.push(match reply {
                Reply::Error(line) => Err(untrusted::bytes(line)),
                _ => Ok(bytes.to_vec()),
            });
        };
        server.send(&bytes);
        let heard = server.ask(replies, Instant::now() + REPLY_LIMIT, take).await;
        let heard = heard.map_err(cause).and_then(|()| match server.has_more() {
            false => Ok(()),
            true => Err(io::Error::other(UNREQUESTED_REPLY)),
        });
        let is_over = heard.is_err();
        if let Err(error) = &heard {
            let is_closed = error.kind() == io::ErrorKind::UnexpectedEof;
            // Only the first reason is kept.
            let _ = breach.set(if is_closed { CLOSED.to_owned() } else { error.to_string() });
        }
        // The requester may have stopped waiting.
        drop(answer.send(heard.map(|()| received)));
        if is_over {
            return;
        }
    }
}

/// Returns the cause of a broken connection: the system's error, if there is one.
fn cause(error: ReachError) -> io::Error {
    match error {
        ReachError::Io { cause, .. } => cause,
        error => io::Error::other(error.to_string()),
    }
}

impl MemcachedSender {
    /// Returns the reply to one command.
    pub(super) async fn text(&self, command: &str) -> Result<String, ServerError> {
        let received = self.ask(command, format!("{command}\r\n").as_bytes(), 1).await?;
        Ok(received.first().map(|bytes| untrusted::lines(bytes)).unwrap_or_default())
    }

    /// Sends `bytes`, and waits for this number of `replies`. If one of the replies is an error, the result is this
    /// error.
    pub(super) async fn ask(
        &self,
        command: &str,
        bytes: &[u8],
        replies: usize,
    ) -> Result<Vec<Vec<u8>>, ServerError> {
        let (answer, received) = oneshot::channel();
        let command = command.to_owned();
        // If the task has ended, the request and its reply channel are dropped, and the result is `Lost`.
        drop(self.questions.send(MemcachedRequest { bytes: bytes.to_vec(), replies, answer }));
        match received.await {
            Ok(Ok(received)) => {
                let refused = |message| ServerError::Refused { command, message };
                received.into_iter().collect::<Result<_, _>>().map_err(refused)
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::TimedOut => {
                Err(ServerError::Timeout { command, after: REPLY_LIMIT })
            }
            Ok(Err(_)) | Err(_) => Err(ServerError::Lost { command, cause: self.cause() }),
        }
    }

    fn cause(&self) -> String {
        self.breach.get().map_or(CLOSED, String::as_str).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
        thread,
        time::Duration,
    };

    use tokio::task::spawn_blocking;

    use super::*;
    use crate::{
        endpoint::{Address, Target, talk},
        protocol::Dialect,
    };

    #[tokio::test]
    async fn a_request_without_a_reply_ends_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for _ in 0..3 {
                assert_eq!(lines.next().unwrap().unwrap(), "mn");
                stream.write_all(b"MN\r\n").unwrap();
            }
            lines.map_while(Result::ok).collect::<Vec<_>>()
        });
        let address = Address::Tcp { host: peer.ip().to_string(), port: peer.port() };
        let target = Target { address, dialect: Dialect::Memcached, ..Target::default() };
        let talk = spawn_blocking(move || talk(&target, None, Duration::from_secs(6))).await.unwrap();
        let mut link = MemcachedLink::open(talk.unwrap()).unwrap();
        let late = link.wire.text("stats").await.unwrap_err();
        assert!(matches!(late, ServerError::Timeout { .. }), "{late}");
        assert_eq!(link.lost().await, "the connection was lost: timed out");
        let lost = link.wire.text("stats").await.unwrap_err();
        assert!(lost.ends_connection() && matches!(lost, ServerError::Lost { .. }), "{lost}");
        drop(link);
        assert_eq!(spawn_blocking(|| server.join().unwrap()).await.unwrap(), ["stats"]);
    }
}
