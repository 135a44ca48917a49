//! Asks the kernel for this machine's TCP sockets on a port (sock_diag(7)). The query needs no privileges.
//!
//! ```text
//! request: header 16, family, protocol, extensions, states, ports and addresses        one for each family
//! reply:   header 16, [family, state, …, ports 4, …, cookie 44, …, queues 56, …, inode 68], [attributes]
//! ```

use std::collections::HashMap;

/// The states TCP_ESTABLISHED, TCP_CLOSE_WAIT and TCP_LISTEN of the kernel.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;
/// The length of a message's header.
const HEADER: usize = 16;
/// The length of a socket in a reply, without attributes (`struct inet_diag_msg`).
const SOCKET: usize = 72;
/// The number of the attribute that contains `struct tcp_info`.
const INFO: u16 = 2;

/// The time without requests after which the round trip time of a connection is outdated, in ms.
const ACTIVE_MS: u32 = 2000;

/// The sockets of a port.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sockets {
    /// The listening sockets.
    pub(super) listeners: Vec<ListeningSocket>,
    /// The number of bytes that were received, but that the program has not read yet.
    pub(super) unread: u64,
    /// The largest number of unread bytes in one connection.
    pub(super) unread_largest: u64,
    /// The number of connections with unread bytes.
    pub(super) unread_connections: u64,
    /// The number of bytes that the program has sent, but that the other side has not acknowledged.
    pub(super) unsent: u64,
    /// The smoothed round trip time of each active connection, in µs.
    rtts_us: Vec<u32>,
    /// The number of retransmitted segments of each connection. The key of the map is the kernel's cookie of the
    /// connection. Connections without retransmitted segments are left out.
    pub(super) retransmits: HashMap<u64, u32>,
}

/// A listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListeningSocket {
    /// The number of connections that the program has not accepted yet.
    pub(super) waiting: u32,
    /// The largest possible number of connections that are not accepted yet.
    pub(super) limit: u32,
    /// The inode number of the socket, as in `/proc/PID/fd`.
    pub(super) inode: u32,
}

/// A message of the kernel.
struct NetlinkMessage<'a> {
    kind: u16,
    body: &'a [u8],
}

impl Sockets {
    /// Returns the sockets of `port` in redyno's network namespace.
    ///
    /// # Errors
    /// Fails if the sockets are unknown. The error is the cause, in words.
    pub(super) fn of(port: u16) -> Result<Self, String> {
        let mut sockets = Self::default();
        let mut families = Vec::new();
        let mut line = of_system::DiagSocket::open()?;
        for family in of_system::FAMILIES {
            let listeners = sockets.listeners.len();
            line.dump(&request(family, port, 1 << LISTEN, 0), |body| sockets.add(body))?;
            // Most servers listen on one family only, and each dump goes through all connections of the machine.
            families.extend((sockets.listeners.len() > listeners).then_some(family));
        }
        for family in families {
            let states = 1 << ESTABLISHED | 1 << CLOSE_WAIT;
            line.dump(&request(family, port, states, 1 << (INFO - 1)), |body| sockets.add(body))?;
        }
        Ok(sockets)
    }

    /// Adds a socket of a reply.
    fn add(&mut self, body: &[u8]) {
        let (Some(state), Some(received), Some(sent)) = (body.get(1), u32_at(body, 56), u32_at(body, 60))
        else {
            return;
        };
        if *state == LISTEN {
            let listener =
                u32_at(body, 68).map(|inode| ListeningSocket { waiting: received, limit: sent, inode });
            self.listeners.extend(listener);
            return;
        }
        self.unread += u64::from(received);
        self.unread_largest = self.unread_largest.max(received.into());
        self.unread_connections += u64::from(received > 0);
        self.unsent += u64::from(sent);
        let Some(info) = attribute(&body[SOCKET.min(body.len())..], INFO) else { return };
        // tcpi_last_data_recv, tcpi_rtt and tcpi_total_retrans of `struct tcp_info`.
        if u32_at(info, 52).is_some_and(|silent_ms| silent_ms < ACTIVE_MS) {
            self.rtts_us.extend(u32_at(info, 68));
        }
        let cookie = u32_at(body, 44).zip(u32_at(body, 48));
        if let (Some((low, high)), Some(count @ 1..)) = (cookie, u32_at(info, 100)) {
            self.retransmits.insert(u64::from(high) << 32 | u64::from(low), count);
        }
    }

    /// Returns the median round trip time of the active connections, in µs.
    pub(super) fn rtt_us(&self) -> Option<u32> {
        let mut rtts = self.rtts_us.clone();
        let middle = rtts.len() / 2;
        (!rtts.is_empty()).then(|| *rtts.select_nth_unstable(middle).1)
    }

    /// Returns the number of segments that were retransmitted since `before`.
    pub(super) fn retransmits_since(&self, before: &Self) -> u64 {
        let added = |(cookie, count): (&u64, &u32)| {
            u64::from(count.saturating_sub(before.retransmits.get(cookie).copied().unwrap_or(0)))
        };
        self.retransmits.iter().map(added).sum()
    }

    /// Returns the listening socket with the fullest queue.
    pub(super) fn fullest(&self) -> Option<ListeningSocket> {
        self.listeners.iter().copied().max_by_key(|listener| listener.waiting)
    }
}

/// Returns the request for the sockets of a port. The request consists of `struct nlmsghdr` and
/// `struct inet_diag_req_v2`. `states` has one bit for each requested state of a socket.
fn request(family: u8, port: u16, states: u32, extensions: u8) -> [u8; HEADER + 56] {
    /// SOCK_DIAG_BY_FAMILY
    const KIND: u16 = 20;
    /// NLM_F_REQUEST and NLM_F_DUMP
    const FLAGS: u16 = 0x301;
    const TCP: u8 = 6;
    const LENGTH: usize = HEADER + 56;
    let mut bytes = [0; LENGTH];
    bytes[..4].copy_from_slice(&(LENGTH as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&KIND.to_ne_bytes());
    bytes[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
    bytes[HEADER..HEADER + 3].copy_from_slice(&[family, TCP, extensions]);
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&states.to_ne_bytes());
    bytes[HEADER + 8..HEADER + 10].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// Removes the first message from `bytes`, and returns it.
fn next_message<'a>(bytes: &mut &'a [u8]) -> Option<NetlinkMessage<'a>> {
    let length = u32_at(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER..length)?;
    *bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some(NetlinkMessage { kind, body })
}

/// Returns the value of an attribute.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let [length, kind] = [0, 2].map(|at| bytes.get(at..at + 2));
        let length = usize::from(u16::from_ne_bytes(length?.try_into().ok()?));
        let value = bytes.get(4..length)?;
        if u16::from_ne_bytes(kind?.try_into().ok()?) == wanted {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(target_os = "linux")]
mod of_system {
    use std::{io::Read, time::Duration};

    use socket2::{Domain, Protocol, Socket, Type};

    use super::{next_message, u32_at};

    pub(super) const FAMILIES: [u8; 2] = [libc::AF_INET as u8, libc::AF_INET6 as u8];
    /// The kernel sends at most 32 KiB in one piece.
    const PIECE: usize = 32 * 1024;
    /// How long redyno waits for an answer of the kernel. The kernel normally answers at once. With this timeout, an
    /// error of the kernel does not stop the sampler.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// A connection to the kernel.
    pub(super) struct DiagSocket {
        socket: Socket,
        piece: Vec<u8>,
    }

    impl DiagSocket {
        pub(super) fn open() -> Result<Self, String> {
            let protocol = Some(Protocol::from(libc::NETLINK_SOCK_DIAG));
            let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, protocol);
            let open = socket.and_then(|socket| socket.set_read_timeout(Some(PATIENCE)).map(|()| socket));
            let socket = open.map_err(|error| format!("the system refuses sock_diag: {error}"))?;
            Ok(Self { socket, piece: vec![0; PIECE] })
        }

        /// Requests sockets from the kernel, and passes each socket to `found`.
        pub(super) fn dump(&mut self, request: &[u8], mut found: impl FnMut(&[u8])) -> Result<(), String> {
            let refused = |error: std::io::Error| format!("sock_diag does not answer: {error}");
            self.socket.send(request).map_err(refused)?;
            loop {
                let length = (&self.socket).read(&mut self.piece).map_err(refused)?;
                let mut piece = &self.piece[..length];
                while let Some(message) = next_message(&mut piece) {
                    match i32::from(message.kind) {
                        libc::NLMSG_DONE => return Ok(()),
                        libc::NLMSG_ERROR => {
                            let code = u32_at(message.body, 0).unwrap_or(0).cast_signed();
                            return Err(refused(std::io::Error::from_raw_os_error(code.saturating_neg())));
                        }
                        _ => found(message.body),
                    }
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod of_system {
    pub(super) const FAMILIES: [u8; 0] = [];

    /// Systems other than Linux have no sock_diag.
    pub(super) struct DiagSocket;

    impl DiagSocket {
        pub(super) fn open() -> Result<Self, String> {
            Err("only Linux has sock_diag".to_owned())
        }

        pub(super) fn dump(&mut self, _: &[u8], _: impl FnMut(&[u8])) -> Result<(), String> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn unread_bytes_and_the_accept_queue_of_a_port_are_known() {
        use std::{
            io::Write,
            net::{TcpListener, TcpStream},
        };

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients = [0; 3].map(|_| TcpStream::connect(address).unwrap());
        let before = Sockets::of(address.port()).unwrap();
        assert_eq!(before.listeners.len(), 1);
        let queue = before.fullest().unwrap();
        assert!(queue.waiting == 3 && queue.limit >= 3 && queue.inode > 0, "{queue:?}");
        let _accepted = [0; 3].map(|_| listener.accept().unwrap());
        clients[0].write_all(&[0; 70]).unwrap();
        clients[2].write_all(&[0; 30]).unwrap();
        let sockets = Sockets::of(address.port()).unwrap();
        assert_eq!(sockets.fullest().unwrap().waiting, 0);
        assert_eq!((sockets.unread, sockets.unread_largest, sockets.unread_connections), (100, 70, 2));
        assert!(sockets.rtt_us().is_some());
        assert_eq!(Sockets::of(1).unwrap(), Sockets::default());
    }

    #[test]
    fn retransmitted_segments_are_counted_for_each_connection() {
        let sockets = |counts: &[(u64, u32)]| Sockets {
            retransmits: counts.iter().copied().collect(),
            ..Sockets::default()
        };
        let before = sockets(&[(1, 5), (2, 3)]);
        assert_eq!(sockets(&[(2, 4), (3, 2)]).retransmits_since(&before), 3);
    }

    #[test]
    fn one_slow_client_does_not_make_the_network_slow() {
        let sockets = Sockets { rtts_us: vec![90_000, 40, 30], ..Sockets::default() };
        assert_eq!((sockets.rtt_us(), Sockets::default().rtt_us()), (Some(40), None));
    }

    #[test]
    fn a_damaged_reply_is_ignored() {
        let mut sockets = Sockets::default();
        let mut body = vec![0; SOCKET];
        body[56] = 9;
        for length in 0..SOCKET {
            sockets.add(&body[..length]);
        }
        body.extend([3, 0, 2, 0, 0, 0, 9, 0]);
        sockets.add(&body);
        assert_eq!((sockets.rtt_us(), sockets.unread_largest), (None, 9));
        assert!(next_message(&mut &[200, 0, 0, 0, 20, 0, 0, 0][..]).is_none());
        assert!(next_message(&mut &[0; 16][..]).is_none());
    }
}
