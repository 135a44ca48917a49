//! One connection to a memcached. A reply is handed on whole, and bounded in its bytes.

use std::{
    collections::VecDeque,
    convert::Infallible,
    io,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use thiserror::Error;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split},
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    endpoint::{Reached, Target, TurnedDown},
    foreign,
    protocol::{Dialect, Introduction, ProtocolError, Reply},
    server::{
        ServerError,
        guard::{Stream, connect},
        link::REPLY_LIMIT,
    },
};

/// Room for one read.
const READ_SIZE: usize = 16 * 1024;
/// The most bytes of one reply, 1 MiB: `stats conns` of 10 000 clients has some.
const LONGEST_REPLY: usize = 1 << 20;
/// Commands that wait for those before them to be written.
const COMMANDS: usize = 64;
/// How long the rest of what a server says is waited for that takes no commands any more.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long it may take to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(6);

/// Why the connection is over.
#[derive(Debug, Error)]
enum Broken {
    #[error("the server closed the connection")]
    Closed,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the server sent what is no reply: {0}")]
    Protocol(#[from] ProtocolError),
    #[error("the server sent a reply of more than {} MiB", LONGEST_REPLY >> 20)]
    Endless,
    #[error("the server sent a reply that nothing had asked for")]
    Unasked,
    #[error("{0}")]
    TurnedDown(#[from] TurnedDown),
}

/// A connection. Dropping it closes the socket.
pub(in crate::server) struct Link {
    wire: Wire,
    task: JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What commands are sent by. Clones share the connection; commands of several are pipelined.
#[derive(Clone)]
pub(in crate::server) struct Wire(Arc<Shared>);

struct Shared {
    /// What is to be written, whole, whoever stops waiting meanwhile; and who waits for its replies.
    commands: mpsc::Sender<(Vec<u8>, Waiting)>,
    /// Who waits for replies, in their order.
    waiting: Mutex<VecDeque<Waiting>>,
    /// Why the connection ended, once it has.
    breach: OnceLock<String>,
}

/// Somebody who waits for so many replies.
struct Waiting {
    left: usize,
    replies: Vec<Said>,
    answer: oneshot::Sender<Vec<Said>>,
}

/// A reply, or the line of an error.
type Said = Result<Vec<u8>, String>;

impl Link {
    /// Connects to a target that was `reached` a moment ago, and says who we are.
    pub(in crate::server) async fn open(target: &Target, reached: Reached) -> Result<Self, ServerError> {
        let connecting = || "connecting".to_owned();
        let late = |_| ServerError::Timeout { command: connecting(), after: CONNECT_LIMIT };
        let broken = |cause: io::Error| ServerError::Lost { command: connecting(), cause: cause.to_string() };
        let stream = timeout(CONNECT_LIMIT, connect(target, reached)).await.map_err(late)?.map_err(broken)?;
        let (reader, writer) = split(stream);
        let (commands, to_write) = mpsc::channel(COMMANDS);
        let shared = Arc::new(Shared { commands, waiting: Mutex::default(), breach: OnceLock::new() });
        let (wire, told) = (Wire(Arc::clone(&shared)), shared);
        let task = tokio::spawn(async move {
            let mut heard = pin!(listen(reader, &told));
            let Err(broken) = tokio::select! {
                ended = write_on(writer, to_write, &told) => match ended {
                    // What the server said before it hung up is worth more than a write that fails.
                    Err(unwritten) => timeout(LAST_WORDS, heard).await.unwrap_or(Err(unwritten.into())),
                },
                ended = &mut heard => ended,
            };
            // Set once. Who waits is told by the end of its channel.
            let _ = told.breach.set(broken.to_string());
            told.waiting().clear();
        });
        let link = Self { wire, task };
        let who = target.credentials.as_ref();
        let who = Introduction {
            user: who.and_then(|who| who.user.as_deref()),
            password: who.map(|who| who.password.reveal()),
            db: 0,
            name: None,
        };
        for (step, bytes) in Dialect::Memcached.introduce(&who) {
            link.wire.ask(Dialect::Memcached.named(step), &bytes, 1).await?;
        }
        Ok(link)
    }

    /// What commands are sent by.
    pub(in crate::server) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Waits until the connection is lost, and says why.
    pub(in crate::server) async fn lost(&mut self) -> String {
        // A panic there was printed there.
        let _ = (&mut self.task).await;
        let cause = self.wire.0.breach.get().map_or("the server closed the connection", String::as_str);
        format!("the connection was lost: {cause}")
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        // No holder leaves it half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire {
    /// The reply to `command`, a line of text, which is text of many lines.
    pub(super) async fn text(&self, command: &str) -> Result<String, ServerError> {
        let said = self.ask(command, format!("{command}\r\n").as_bytes(), 1).await?;
        Ok(said.first().map(|bytes| foreign::lines(bytes)).unwrap_or_default())
    }

    /// The replies to `bytes`, so many, which are commands that are called `command` in messages.
    ///
    /// # Errors
    /// When one of them is an error, too.
    pub(super) async fn ask(
        &self,
        command: &str,
        bytes: &[u8],
        replies: usize,
    ) -> Result<Vec<Vec<u8>>, ServerError> {
        let late = |_| ServerError::Timeout { command: command.to_owned(), after: REPLY_LIMIT };
        let said = timeout(REPLY_LIMIT, self.say(command, bytes, replies)).await.map_err(late)??;
        let refused = |message| ServerError::Refused { command: command.to_owned(), message };
        said.into_iter().collect::<Result<_, _>>().map_err(refused)
    }

    async fn say(&self, command: &str, bytes: &[u8], replies: usize) -> Result<Vec<Said>, ServerError> {
        let (answer, said) = oneshot::channel();
        let waiting = Waiting { left: replies, replies: Vec::new(), answer };
        // After the end nobody takes it, and the answer's end tells.
        drop(self.0.commands.send((bytes.to_vec(), waiting)).await);
        said.await.map_err(|_| {
            let cause = self.0.breach.get().cloned().unwrap_or_else(|| "it was closed".to_owned());
            ServerError::Lost { command: command.to_owned(), cause }
        })
    }
}

/// Writes commands one after the other, each whole.
async fn write_on(
    mut writer: WriteHalf<Box<dyn Stream>>,
    mut commands: mpsc::Receiver<(Vec<u8>, Waiting)>,
    shared: &Shared,
) -> io::Result<Infallible> {
    while let Some((bytes, waiting)) = commands.recv().await {
        shared.waiting().push_back(waiting);
        writer.write_all(&bytes).await?;
        writer.flush().await?;
    }
    // Never: what it reads from has its other end here.
    std::future::pending().await
}

/// Hands whole replies to who waits for them.
async fn listen(mut reader: ReadHalf<Box<dyn Stream>>, shared: &Shared) -> Result<Infallible, Broken> {
    let (mut buffer, mut held) = (vec![0; READ_SIZE], Vec::new());
    let mut skipper = Dialect::Memcached.skipper();
    loop {
        let n = reader.read(&mut buffer).await?;
        if n == 0 {
            return Err(Broken::Closed);
        }
        let mut input = &buffer[..n];
        loop {
            let before = input;
            let said = skipper.next(&mut input)?.map(|reply| match reply {
                Reply::Error(line) => Some(foreign::bytes(line)),
                _ => None,
            });
            held.extend_from_slice(&before[..before.len() - input.len()]);
            if held.len() > LONGEST_REPLY {
                return Err(Broken::Endless);
            }
            let Some(error) = said else { break };
            let reply = std::mem::take(&mut held);
            hand_over(shared, error.map_or(Ok(reply), Err))?;
        }
    }
}

fn hand_over(shared: &Shared, said: Said) -> Result<(), Broken> {
    let mut waiting = shared.waiting();
    let Some(first) = waiting.front_mut() else {
        let turned_down = |line: String| TurnedDown::unasked(Dialect::Memcached, line.as_bytes()).into();
        return Err(said.map_or_else(turned_down, |_| Broken::Unasked));
    };
    first.replies.push(said);
    first.left -= 1;
    if first.left == 0
        && let Some(done) = waiting.pop_front()
    {
        // Who asked may have stopped waiting.
        let _ = done.answer.send(done.replies);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
        sync::mpsc::channel,
    };

    use super::*;
    use crate::endpoint::Address;

    /// More than the buffers of two sockets take.
    const LARGE: usize = 32 << 20;

    #[tokio::test]
    async fn a_command_that_nobody_waits_for_any_longer_is_still_written_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let (given_up, reads_on) = channel();
        let server = std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let (mut lines, mut lengths) = (BufReader::new(stream.try_clone().unwrap()).lines(), Vec::new());
            assert_eq!(lines.next().unwrap().unwrap(), "mn");
            stream.write_all(b"MN\r\n").unwrap();
            reads_on.recv().unwrap();
            for line in lines {
                lengths.push(line.unwrap().len());
                stream.write_all(format!("VERSION {}\r\n", lengths.len()).as_bytes()).unwrap();
            }
            lengths
        });
        let address = Address::Tcp { host: peer.ip().to_string(), port: peer.port() };
        let target = Target { address, dialect: Dialect::Memcached, ..Target::default() };
        let link = Link::open(&target, Reached { peer: Some(peer) }).await.unwrap();
        let large = "x".repeat(LARGE) + "\r\n";
        let late = link.wire().ask("large", large.as_bytes(), 1).await.unwrap_err();
        assert!(matches!(late, ServerError::Timeout { .. }), "{late}");
        given_up.send(()).unwrap();
        assert_eq!(link.wire().text("version").await.unwrap(), "VERSION 2\r\n");
        drop(link);
        // The connection ends where this waits.
        let read = tokio::task::spawn_blocking(|| server.join().unwrap()).await.unwrap();
        assert_eq!(read, [LARGE, "version".len()]);
    }
}
