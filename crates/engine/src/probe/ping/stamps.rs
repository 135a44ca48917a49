//! The kernel's timestamps for the ping probe tell when a PING left this host, and when its reply arrived.
//!
//! Timestamps need no privileges on Linux (SO_TIMESTAMPING). Other systems have no such timestamps. The kernel
//! identifies a write by the number of bytes that were written up to the end of this write. The timestamp of a read
//! belongs to the last byte of the read. All timestamps come from the wall clock, in nanoseconds since 1970. The device
//! driver takes the timestamp of a departure. All delays within this host, including the device's queue, therefore come
//! before this timestamp. All delays of the network and the server come after this timestamp.

use socket2::Socket;

use crate::probe::Timing;

/// The departure of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departure {
    /// The key of the write. To compute the key, count the bytes from the first byte with a timestamp to the end of the
    /// write. The key is this number minus one, modulo 2^32.
    pub key: u32,
    /// The time of the departure.
    pub wall_ns: i64,
}

impl Departure {
    /// Returns the key of the write that ended after `written` bytes.
    pub(super) fn key_of(written: u64) -> u32 {
        written.wrapping_sub(1) as u32
    }
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// The number of bytes.
    pub length: usize,
    /// The time when the last byte arrived, in ns, or `None` without a timestamp.
    pub wall_ns: Option<i64>,
}

/// Turns on timestamps for a connected TCP socket. The kernel then puts all timestamps into the socket's error queue.
///
/// # Errors
/// Fails if the connection cannot have timestamps. The error is the reason.
pub(super) fn begin(socket: &Socket) -> Result<Stamper, Timing> {
    if socket.local_addr().is_ok_and(|address| address.is_unix()) {
        return Err(Timing::UnixSocket);
    }
    Stamper::begin(socket)
}

#[cfg(target_os = "linux")]
pub(super) use linux::Stamper;

#[cfg(not(target_os = "linux"))]
pub(super) use absent::Stamper;

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        io::{self, IoSliceMut},
        os::fd::AsRawFd,
    };

    use nix::{
        cmsg_space,
        errno::Errno,
        libc,
        sys::{
            socket::{
                ControlMessageOwned, MsgFlags, SetSockOpt, TimestampingFlag, recvmsg, sockopt::Timestamping,
            },
            time::TimeSpec,
        },
    };
    use socket2::Socket;

    use super::{Arrival, Departure};
    use crate::probe::Timing;

    /// `SCM_TSTAMP_SND` of linux/errqueue.h. The value marks the timestamp of the device driver.
    const SENT: u32 = 0;

    /// Reads the timestamps of one socket.
    pub(in crate::probe::ping) struct Stamper {
        /// The buffer for the kernel's control messages.
        notes: Vec<u8>,
    }

    impl Stamper {
        pub(super) fn begin(socket: &Socket) -> Result<Self, Timing> {
            let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
                | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
                | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
                | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
                | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY;
            // The key counts written bytes, not acknowledged ones. This flag exists since Linux 6.2; on a
            // connection that has not written yet the two counts are the same.
            let exact = flags | TimestampingFlag::from_bits_retain(libc::SOF_TIMESTAMPING_OPT_ID_TCP);
            Timestamping
                .set(socket, &exact)
                .or_else(|_| Timestamping.set(socket, &flags))
                .map_err(|_| Timing::Refused)?;
            let notes = cmsg_space!(
                [libc::timespec; 3],
                (libc::sock_extended_err, libc::sockaddr_in6),
                [libc::timespec; 3]
            );
            Ok(Self { notes })
        }

        /// Returns the next departure that the kernel reports.
        pub(in crate::probe::ping) fn next_departure(&mut self, socket: &Socket) -> Option<Departure> {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            loop {
                let message = match recvmsg::<()>(socket.as_raw_fd(), &mut [], Some(&mut self.notes), flags) {
                    Ok(message) => message,
                    Err(Errno::EINTR) => continue,
                    // The queue is empty.
                    Err(_) => return None,
                };
                let (mut key, mut wall_ns) = (None, None);
                for note in message.cmsgs().into_iter().flatten() {
                    match note {
                        ControlMessageOwned::ScmTimestampsns(stamps) => wall_ns = nanoseconds(stamps.system),
                        ControlMessageOwned::Ipv4RecvErr(error, _)
                        | ControlMessageOwned::Ipv6RecvErr(error, _) => key = departure_key(&error),
                        _ => {}
                    }
                }
                // Other messages in the queue do not matter, and reading has removed them.
                if let (Some(key), Some(wall_ns)) = (key, wall_ns) {
                    return Some(Departure { key, wall_ns });
                }
            }
        }

        /// Reads data into `input`. Returns the number of bytes, and the time when the last byte arrived.
        pub(in crate::probe::ping) fn read(
            &mut self,
            socket: &Socket,
            input: &mut [u8],
        ) -> io::Result<Arrival> {
            let mut room = [IoSliceMut::new(input)];
            let message =
                recvmsg::<()>(socket.as_raw_fd(), &mut room, Some(&mut self.notes), MsgFlags::empty())?;
            let stamp = message.cmsgs().into_iter().flatten().find_map(|note| match note {
                ControlMessageOwned::ScmTimestampsns(stamps) => nanoseconds(stamps.system),
                _ => None,
            });
            Ok(Arrival { length: message.bytes, wall_ns: stamp })
        }
    }

    fn departure_key(error: &libc::sock_extended_err) -> Option<u32> {
        let is_departure = error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING && error.ee_info == SENT;
        is_departure.then_some(error.ee_data)
    }

    /// Converts a timestamp to nanoseconds. Returns `None` for zero, which means "no timestamp".
    fn nanoseconds(stamp: TimeSpec) -> Option<i64> {
        let ns = stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec();
        (ns != 0).then_some(ns)
    }
}

#[cfg(not(target_os = "linux"))]
mod absent {
    use std::{convert::Infallible, io};

    use socket2::Socket;

    use super::{Arrival, Departure};
    use crate::probe::Timing;

    /// Systems other than Linux have no timestamps, so this type has no values.
    #[derive(Debug)]
    pub(in crate::probe::ping) struct Stamper(Infallible);

    impl Stamper {
        pub(super) fn begin(_socket: &Socket) -> Result<Self, Timing> {
            Err(Timing::NotLinux)
        }

        pub(in crate::probe::ping) fn next_departure(&mut self, _socket: &Socket) -> Option<Departure> {
            match self.0 {}
        }

        pub(in crate::probe::ping) fn read(&mut self, _: &Socket, _: &mut [u8]) -> io::Result<Arrival> {
            match self.0 {}
        }
    }
}
