//! The io_uring ring of a load worker. One system call sends requests and receives replies on many connections. This
//! file contains all unsafe code of the ring.
//!
//! ```text
//!  send, send, … ──► queue ──► one system call ──► a group of completions ──► Arrival, Arrival, …
//! ```
//! - **Receiving**: each connection has one multishot receive operation, which completes each time data arrives. The
//!   kernel writes the data into one of several shared buffers. The worker copies the data, and then gives the buffer
//!   back.
//! - **Sending**: one area of memory keeps the bytes of up to [`SENDS`] batches until they are submitted. A send
//!   never waits (`MSG_DONTWAIT`), so the send ends during its submission. The kernel reports only sends that failed
//!   or were incomplete.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    collections::VecDeque,
    io,
    os::fd::RawFd,
    ptr::NonNull,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use io_uring::{
    IoUring, cqueue, opcode, squeue,
    types::{BufRingEntry, Fd, SubmitArgs, Timespec},
};

use super::{RingEvent, RingEventKind, Tag};

/// The largest number of batches in one submission.
const SENDS: usize = 32;
/// The size of the area for the bytes of batches.
const ROOM: usize = 128 * 1024;
/// The largest batch that is sent by the ring, in bytes.
const LONGEST: usize = ROOM / SENDS;
const ENTRIES: u32 = 256;
/// The size of the completion queue. If the queue is full, the kernel stores further completions elsewhere.
const COMPLETIONS: u32 = 4096;
/// The number of shared buffers, a power of two.
const BUFFERS: u16 = 512;
/// The size of each shared buffer, in bytes.
const BUFFER: usize = 2048;
const GROUP: u16 = 0;

/// The user data of the entry that watches the poll loop.
const POLL: u64 = u64::MAX;
/// The bit in the user data of entries that send.
const SEND: u64 = 1 << 63;

/// A worker's io_uring ring, with its buffers.
pub(super) struct Uring {
    ring: IoUring,
    buffers: Buffers,
    /// The bytes of `sends`. The bytes stay in place until all entries of the ring are submitted.
    room: Box<[u8]>,
    used: usize,
    sends: Vec<PendingSend>,
    arrived: VecDeque<cqueue::Entry>,
    unsent: VecDeque<RingEvent>,
    poll: RawFd,
    has_polled: bool,
}

/// A send whose end is not known yet.
struct PendingSend {
    tag: Tag,
    from: usize,
    upto: usize,
}

impl Uring {
    /// Creates a ring that also watches the poll loop `poll`.
    ///
    /// # Errors
    /// Fails if the kernel does not support or permit io_uring, or lacks a required feature.
    pub(super) fn new(poll: RawFd) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_submit_all().setup_cqsize(COMPLETIONS);
        let ring = builder.build(ENTRIES)?;
        let buffers = Buffers::new(&ring)?;
        let mut new = Self {
            ring,
            buffers,
            room: vec![0; ROOM].into(),
            used: 0,
            sends: Vec::with_capacity(SENDS),
            arrived: VecDeque::new(),
            unsent: VecDeque::new(),
            poll,
            has_polled: false,
        };
        new.watch_poll()?;
        Ok(new)
    }

    fn watch_poll(&mut self) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(self.poll), libc::POLLIN as u32).multi(true).build();
        self.push(&entry.user_data(POLL))
    }

    /// Receives from a socket until the connection ends.
    pub(super) fn receive(&mut self, tag: Tag, socket: RawFd) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fd(socket), GROUP).build();
        self.push(&entry.user_data(tag.to_bits()))
    }

    /// Sends `bytes` with the next submission. Returns false if there are too many bytes or no submission is possible.
    /// If the function returns false, the caller must write the bytes itself.
    #[inline]
    pub(super) fn send(&mut self, tag: Tag, socket: RawFd, bytes: &[u8]) -> io::Result<bool> {
        if bytes.len() > LONGEST {
            return Ok(false);
        }
        // A submission discards all bytes in `room`. So nothing may be submitted after these bytes are copied
        // and before their entry is queued.
        if self.has_no_room() {
            self.flush()?;
        }
        if self.has_no_room() {
            return Ok(false);
        }
        let (from, upto) = (self.used, self.used + bytes.len());
        let place = &mut self.room[from..upto];
        place.copy_from_slice(bytes);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let entry = opcode::Send::new(Fd(socket), place.as_ptr(), bytes.len() as u32).flags(flags).build();
        let data = SEND | self.sends.len() as u64;
        self.used = upto;
        self.sends.push(PendingSend { tag, from, upto });
        self.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(data))?;
        Ok(true)
    }

    /// Returns whether a submission is needed before another send can be queued.
    #[inline]
    fn has_no_room(&mut self) -> bool {
        self.sends.len() == SENDS || self.ring.submission().is_full()
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        if self.ring.submission().is_full() {
            self.flush()?;
        }
        // SAFETY: a send points into `room`. These bytes stay until the entry is submitted, when the send has ended.
        // The other entries contain no pointers.
        unsafe { self.ring.submission().push(entry) }.map_err(io::Error::other)
    }

    /// Submits everything that is queued.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if !self.ring.submission().is_empty() {
            settled(self.ring.submit())?;
            self.collect();
        }
        Ok(())
    }

    /// Submits everything that is queued, and waits at most `timeout` for a completion. Returns whether the poll loop
    /// has events to read.
    pub(super) fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let is_due = !self.arrived.is_empty() || !self.unsent.is_empty() || self.has_polled;
        let timeout = Timespec::from(if is_due { Duration::ZERO } else { timeout });
        settled(self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout)))?;
        self.collect();
        Ok(std::mem::take(&mut self.has_polled))
    }

    /// Reads all completions.
    fn collect(&mut self) {
        let mut is_unwatched = false;
        for entry in self.ring.completion() {
            match entry.user_data() {
                POLL => {
                    self.has_polled = true;
                    is_unwatched |= !cqueue::more(entry.flags());
                }
                data if data & SEND != 0 => {
                    let PendingSend { tag, from, upto } = self.sends[(data & !SEND) as usize];
                    let sent = match entry.result() {
                        n if n >= 0 => Ok(n as usize),
                        error if -error == libc::EAGAIN => Ok(0),
                        error => Err(io::Error::from_raw_os_error(-error)),
                    };
                    let came = RingEventKind::Unsent(sent.map(|n| self.room[from + n..upto].to_vec()));
                    self.unsent.push_back(RingEvent { tag, came, has_ended: false });
                }
                _ => self.arrived.push_back(entry),
            }
        }
        if self.ring.submission().is_empty() {
            self.sends.clear();
            self.used = 0;
        }
        // The queue should have room again. If it has none, the next call tries again.
        if is_unwatched && self.watch_poll().is_err() {
            self.has_polled = true;
        }
    }

    /// Returns the next event of a connection. The event contains the bytes that were not sent, or received bytes. The
    /// function copies received bytes into `into`.
    #[inline]
    pub(super) fn next(&mut self, into: &mut [u8]) -> Option<RingEvent> {
        if let Some(unsent) = self.unsent.pop_front() {
            return Some(unsent);
        }
        let entry = self.arrived.pop_front()?;
        let tag = Tag::from_bits(entry.user_data());
        let has_ended = !cqueue::more(entry.flags());
        let came = match entry.result() {
            n if n >= 0 => {
                let n = n as usize;
                if let Some(id) = cqueue::buffer_select(entry.flags()) {
                    self.buffers.take(id, &mut into[..n]);
                }
                RingEventKind::Bytes(n)
            }
            // All buffers are in use: the rest is still in the socket.
            error if -error == libc::ENOBUFS => RingEventKind::Nothing,
            error => RingEventKind::Failed(io::Error::from_raw_os_error(-error)),
        };
        if self.arrived.is_empty() {
            self.buffers.publish();
        }
        Some(RingEvent { tag, came, has_ended })
    }
}

/// Ignores the harmless errors of the ring's system calls: a timeout, a signal, and a full completion queue.
fn settled(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Err(error)
            if !matches!(
                error.raw_os_error(),
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The buffers that the kernel fills, and the ring that passes these buffers to the kernel.
struct Buffers {
    entries: NonNull<BufRingEntry>,
    memory: Box<[u8]>,
    tail: u16,
}

// SAFETY: the memory belongs to this value alone, and moves between threads with this value.
unsafe impl Send for Buffers {}

impl Buffers {
    const LAYOUT: Layout = match Layout::from_size_align(BUFFERS as usize * size_of::<BufRingEntry>(), 4096) {
        Ok(layout) => layout,
        Err(_) => panic!("4096, the size of a page, is a power of two"),
    };

    fn new(ring: &IoUring) -> io::Result<Self> {
        // SAFETY: the layout is not empty.
        let Some(entries) = NonNull::new(unsafe { alloc_zeroed(Self::LAYOUT) }) else {
            handle_alloc_error(Self::LAYOUT)
        };
        let memory = vec![0; usize::from(BUFFERS) * BUFFER].into();
        let mut new = Self { entries: entries.cast(), memory, tail: 0 };
        // SAFETY: `Uring` drops its ring before its buffers.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, BUFFERS, GROUP, 0)?;
        }
        (0..BUFFERS).for_each(|id| new.give_back(id));
        new.publish();
        Ok(new)
    }

    /// Copies the bytes of buffer `id` and gives the buffer back.
    #[inline]
    fn take(&mut self, id: u16, into: &mut [u8]) {
        let from = usize::from(id) * BUFFER;
        // The kernel does not write to this buffer before it is given back.
        into.copy_from_slice(&self.memory[from..from + into.len()]);
        self.give_back(id);
    }

    #[inline]
    fn give_back(&mut self, id: u16) {
        let place = usize::from(self.tail % BUFFERS);
        let buffer = self.memory.as_mut_ptr().wrapping_add(usize::from(id) * BUFFER);
        // SAFETY: `place` is within the ring, and the kernel does not read an entry before it is published.
        let entry = unsafe { self.entries.add(place).as_mut() };
        entry.set_addr(buffer as u64);
        entry.set_len(BUFFER as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Lets the kernel use the buffers that were given back.
    #[inline]
    fn publish(&mut self) {
        // SAFETY: the tail is in the first entry, which lives as long as this value, and is only changed here.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout.
        unsafe { dealloc(self.entries.cast().as_ptr(), Self::LAYOUT) }
    }
}

#[cfg(test)]
mod tests;
