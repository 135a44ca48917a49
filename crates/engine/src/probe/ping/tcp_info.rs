//! The kernel's own round-trip figures of a TCP connection. This module contains the only unsafe code of the probes. No
//! crate wraps the socket option TCP_INFO. The structure of this option is longer in newer kernels.

use socket2::Socket;

use crate::probe::TcpRtt;

/// Returns the kernel's figures for `socket`, or `None` if the system has none.
#[cfg(not(target_os = "linux"))]
pub(super) fn tcp_rtt(_socket: &Socket) -> Option<TcpRtt> {
    None
}

/// Returns the kernel's figures for `socket`, or `None` for a unix socket.
#[cfg(target_os = "linux")]
pub(super) fn tcp_rtt(socket: &Socket) -> Option<TcpRtt> {
    use std::os::fd::AsRawFd;

    let mut info = [0_u8; INFO_SIZE];
    let mut length = INFO_SIZE as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has this length and may contain any
    // bytes. The kernel writes the number of these bytes to `length`. Both variables live until the call
    // returns, and the descriptor belongs to `socket`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &mut length,
        )
    };
    (status == 0).then(|| parse(&info[..INFO_SIZE.min(length as usize)])).flatten()
}

/// The size of `struct tcp_info` up to the last field that is used here. The kernel writes no bytes beyond this size.
#[cfg(target_os = "linux")]
const INFO_SIZE: usize = MIN_RTT + 4;
/// The offset of `tcpi_rtt` in `struct tcp_info` (linux/tcp.h), on every architecture.
#[cfg(target_os = "linux")]
const RTT: usize = 68;
/// The offset of `tcpi_rttvar` in `struct tcp_info`.
#[cfg(target_os = "linux")]
const RTT_VAR: usize = 72;
/// The offset of `tcpi_min_rtt` in `struct tcp_info`, which has this field since Linux 4.6.
#[cfg(target_os = "linux")]
const MIN_RTT: usize = 148;

#[cfg(target_os = "linux")]
fn parse(info: &[u8]) -> Option<TcpRtt> {
    let at = |offset: usize| {
        let bytes = info.get(offset..offset + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    // All ones: there is no measurement yet.
    let rtt_min_us = at(MIN_RTT).filter(|us| *us != u32::MAX);
    Some(TcpRtt { rtt_us: at(RTT)?, rtt_var_us: at(RTT_VAR)?, rtt_min_us })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    #[test]
    fn a_connection_that_was_used_has_a_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut byte = [0];
        client.write_all(b"?").unwrap();
        server.read_exact(&mut byte).unwrap();
        server.write_all(b"!").unwrap();
        client.read_exact(&mut byte).unwrap();
        let rtt = tcp_rtt(&Socket::from(client)).unwrap();
        assert!(rtt.rtt_us > 0, "{rtt:?}");
        assert!(rtt.rtt_min_us.is_none_or(|min_us| min_us <= rtt.rtt_us), "{rtt:?}");
    }

    #[test]
    fn the_shorter_structure_of_an_old_kernel_has_no_minimum() {
        let mut info = [0; 104];
        info[RTT..RTT + 4].copy_from_slice(&88_u32.to_ne_bytes());
        info[RTT_VAR..RTT_VAR + 4].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(parse(&info), Some(TcpRtt { rtt_us: 88, rtt_var_us: 7, rtt_min_us: None }));
        assert_eq!(parse(&info[..60]), None);
    }

    #[test]
    fn a_unix_socket_has_no_round_trip_figures() {
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(tcp_rtt(&Socket::from(socket)), None);
    }
}
