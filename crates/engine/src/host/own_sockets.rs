//! Finds redyno's own connections by their sockets. For memcached, there is no other way, because clients of memcached
//! have no names.

use std::{collections::HashSet, fs, net::IpAddr};

/// The state of an open connection.
const ESTABLISHED: &str = "01";

/// Returns the local ports of this process's TCP connections to `port` of `host`. If `host` is `None`, the connections
/// can be to any host. The set is empty if the system does not report connections.
pub fn ports_to(host: Option<IpAddr>, port: u16) -> HashSet<u16> {
    let files = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let own: HashSet<String> = files.filter_map(|file| inode(&file.ok()?.path())).collect();
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let of_ours = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, local, peer, state, ..] = words.as_slice() else { return None };
        let is_ours = *state == ESTABLISHED
            && words.get(9).is_some_and(|inode| own.contains(*inode))
            && is_at(peer, host, port);
        u16::from_str_radix(local.split_once(':')?.1, 16).ok().filter(|_| is_ours)
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(of_ours).collect()
}

/// Returns the inode number of the socket that a file descriptor refers to.
fn inode(file: &std::path::Path) -> Option<String> {
    let link = fs::read_link(file).ok()?;
    Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
}

/// Returns whether `peer`, such as `0100007F:1F90`, is the address and port given. For an IPv6 address, only the port
/// is compared.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_local_ports_of_our_connections_are_known() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = |host: &str| ports_to(host.parse().ok(), address.port());
        assert!(found("127.0.0.1").is_empty());
        let connection = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(found("127.0.0.1"), HashSet::from([connection.local_addr().unwrap().port()]));
        assert!(found("127.0.0.2").is_empty());
    }
}
