//! The connection of one receiver of messages. The connection is a state machine over a socket that never blocks.
//!
//! ```text
//! Connecting ──► Greeting ──► Open: every frame goes to the dialog, and its next commands are written
//! ```

use std::{
    io::{self, Read, Write},
    ops::Range,
    os::fd::AsRawFd,
};

use mio::{Interest, Registry, Token, unix::SourceFd};

use super::{
    dialog::{MessageContext, ReceiverDialog, subscribe},
    words::frame,
};
use crate::{
    clock::Clock,
    endpoint::{Endpoint, Greeter, Greeting, GreetingStep, Tls, Transport},
    load::broken::ConnectionFailure,
    protocol::Skipper,
    workload::Messages,
};

/// The largest number of reads in one turn of a connection.
const READS: usize = 4;
/// The longest frame: 64 MiB.
const LONGEST_FRAME: usize = 64 << 20;

enum ReceiverPhase {
    Connecting,
    Greeting(Greeter, Box<Skipper>),
    Open,
}

/// The connection of a receiver.
pub(super) struct ReceiverConnection {
    transport: Transport,
    phase: ReceiverPhase,
    is_connected: bool,
    /// Bytes that are not written yet.
    out: Vec<u8>,
    /// The received bytes of an incomplete frame.
    inbox: Vec<u8>,
    /// Whether the socket may contain more data, because the last turn stopped after [`READS`] reads.
    pub(super) has_more: bool,
}

/// The data of the thread that a connection needs to read.
pub(super) struct ConnectionContext<'a, 'd> {
    pub(super) greeting: &'a Greeting,
    pub(super) desk: &'a mut MessageContext<'d>,
    pub(super) clock: Clock,
    pub(super) buffer: &'a mut [u8],
    pub(super) words: &'a mut Vec<Range<usize>>,
}

impl ReceiverConnection {
    /// Begins to connect.
    pub(super) fn open(
        endpoint: &Endpoint,
        tls: Option<&Tls>,
        registry: &Registry,
        token: Token,
    ) -> io::Result<Self> {
        let transport = Transport::connect(endpoint, tls)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut SourceFd(&transport.as_raw_fd()), token, interest)?;
        let (out, inbox) = (Vec::new(), Vec::new());
        Ok(Self {
            transport,
            phase: ReceiverPhase::Connecting,
            is_connected: false,
            out,
            inbox,
            has_more: false,
        })
    }

    /// Handles a ready socket: continues to connect, writes and reads.
    ///
    /// # Errors
    /// Fails if the connection has ended, and returns the reason.
    pub(super) fn attend(
        &mut self,
        dialog: &mut ReceiverDialog,
        around: &mut ConnectionContext,
    ) -> Result<(), ConnectionFailure> {
        if let ReceiverPhase::Connecting = self.phase {
            self.is_connected = self.is_connected || self.transport.is_connected()?;
            if !self.is_connected || !self.transport.shake_hands()? {
                return Ok(());
            }
            if around.greeting.is_empty() {
                self.begin(dialog, around.desk);
            } else {
                let (greeter, bytes) = around.greeting.begin();
                self.out.extend_from_slice(bytes);
                self.phase = ReceiverPhase::Greeting(greeter, Box::new(around.greeting.dialect().skipper()));
            }
        }
        self.write()?;
        self.read(dialog, around)?;
        self.write()
    }

    /// Returns whether the server has not accepted the connection yet.
    pub(super) fn is_connecting(&self) -> bool {
        !self.is_connected
    }

    /// Subscribes to a further channel of the dialog. The command is written at the next [`attend`](Self::attend).
    pub(super) fn subscribe(&mut self, messages: &Messages, channel: usize) {
        if let ReceiverPhase::Open = self.phase {
            subscribe(messages.kind, &[&messages.names[channel]], &mut self.out);
        }
    }

    fn begin(&mut self, dialog: &mut ReceiverDialog, desk: &MessageContext) {
        self.phase = ReceiverPhase::Open;
        dialog.begin(desk.messages, desk.now_ns, &mut self.out);
    }

    fn write(&mut self) -> Result<(), ConnectionFailure> {
        let mut written = 0;
        while written < self.out.len() || self.transport.wants_write() {
            match self.transport.write(&self.out[written..]) {
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.drain(..written);
        Ok(())
    }

    fn read(
        &mut self,
        dialog: &mut ReceiverDialog,
        around: &mut ConnectionContext,
    ) -> Result<(), ConnectionFailure> {
        self.has_more = false;
        for _ in 0..READS {
            let read = self.transport.read(around.buffer);
            // The clock is read after the socket, so that no latency is too short.
            around.desk.now_ns = around.clock.now_ns();
            match read {
                Ok(0) => return Err(ConnectionFailure::Closed),
                Ok(n) if self.inbox.is_empty() => {
                    let buffer = std::mem::take(&mut around.buffer);
                    let taken = self.take(&buffer[..n], dialog, around);
                    self.inbox.extend_from_slice(&buffer[taken.as_ref().copied().unwrap_or(n)..n]);
                    around.buffer = buffer;
                    taken?;
                }
                Ok(n) => {
                    self.inbox.extend_from_slice(&around.buffer[..n]);
                    let inbox = std::mem::take(&mut self.inbox);
                    let taken = self.take(&inbox, dialog, around)?;
                    self.inbox = inbox;
                    self.inbox.drain(..taken);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if self.inbox.len() > LONGEST_FRAME {
                return Err(ConnectionFailure::UnexpectedReply);
            }
        }
        self.has_more = true;
        Ok(())
    }

    /// Handles all whole frames in `bytes`. Returns the number of handled bytes.
    fn take(
        &mut self,
        bytes: &[u8],
        dialog: &mut ReceiverDialog,
        around: &mut ConnectionContext,
    ) -> Result<usize, ConnectionFailure> {
        let mut rest = bytes;
        while let ReceiverPhase::Greeting(greeter, skipper) = &mut self.phase {
            match skipper.next(&mut rest)? {
                None => return Ok(bytes.len()),
                Some(reply) => match greeter.process_reply(reply, around.greeting)? {
                    GreetingStep::AwaitReply => {}
                    GreetingStep::SendNext(bytes) => self.out.extend_from_slice(bytes),
                    GreetingStep::Done => self.begin(dialog, around.desk),
                },
            }
        }
        while let Some(frame) = frame(rest, around.words)? {
            let (whole, behind) = rest.split_at(frame.length);
            dialog.handle_frame((frame, whole, around.words), around.desk, &mut self.out)?;
            rest = behind;
        }
        Ok(bytes.len() - rest.len())
    }
}
