//! Which connections are our own, where the server does not know: a memcached knows no names of clients.

use std::net::IpAddr;

/// How many TCP connections this process has to this port, of this address where it is known; `None` where the system
/// does not report them.
pub fn connections_to(host: Option<IpAddr>, port: u16) -> Option<u64> {
    of_system::count(host, port)
}

#[cfg(target_os = "linux")]
mod of_system {
    use std::{collections::HashSet, fs, net::IpAddr};

    /// Connected.
    const ESTABLISHED: &str = "01";

    /// Our sockets whose other side has this port, and this address where it is known.
    pub(super) fn count(host: Option<IpAddr>, port: u16) -> Option<u64> {
        let own: HashSet<String> =
            fs::read_dir("/proc/self/fd").ok()?.filter_map(|file| inode(&file.ok()?.path())).collect();
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
            .map(|path| fs::read_to_string(path).unwrap_or_default());
        let is_ours = |line: &&str| {
            let words: Vec<_> = line.split_whitespace().collect();
            let [_, _, peer, state, ..] = words.as_slice() else { return false };
            *state == ESTABLISHED
                && words.get(9).is_some_and(|inode| own.contains(*inode))
                && is_at(peer, host, port)
        };
        Some(tables.iter().flat_map(|table| table.lines().skip(1)).filter(is_ours).count() as u64)
    }

    /// The number of the socket that a file is.
    fn inode(file: &std::path::Path) -> Option<String> {
        let link = fs::read_link(file).ok()?;
        Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    }

    /// Whether `0100007F:1F90` is this place; IPv6 addresses are compared by their port alone.
    fn is_at(peer: &str, host: Option<IpAddr>, port: u16) -> bool {
        let Some((address, found)) = peer.split_once(':') else { return false };
        let is_address = |host| match host {
            IpAddr::V4(host) if address.len() == 8 => {
                u32::from_str_radix(address, 16).is_ok_and(|found| found.to_ne_bytes() == host.octets())
            }
            _ => true,
        };
        u16::from_str_radix(found, 16) == Ok(port) && host.is_none_or(is_address)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_connection_of_ours_is_counted_while_it_stands() {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let count = |host: &str| count(host.parse().ok(), address.port());
            assert_eq!(count("127.0.0.1"), Some(0));
            let connection = std::net::TcpStream::connect(address).unwrap();
            assert_eq!([count("127.0.0.1"), count("127.0.0.2")], [Some(1), Some(0)]);
            drop(connection);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod of_system {
    /// The system is not asked here.
    pub(super) fn count(_: Option<std::net::IpAddr>, _: u16) -> Option<u64> {
        None
    }
}
