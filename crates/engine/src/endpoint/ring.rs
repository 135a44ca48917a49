//! Consistent hashing. Only the key and the addresses of the servers determine which server stores a key.
//!
//! ```text
//! MD5 of "host:port-0" … "host:port-39" ──► 160 points of each server on a ring of 2³² numbers
//! MD5 of the key ──► a number ──► the next point on the ring ──► its server
//! ```
//! libmemcached with `KETAMA_WEIGHTED` and equal weights computes the same points and numbers. redyno and libmemcached
//! therefore find a key on the same server. This module does no I/O.

use thiserror::Error;

use super::{Address, Target};

/// The number of MD5 digests per server. Each digest gives four points on the ring.
const DIGESTS: usize = 40;
/// The default port of memcached. libmemcached leaves this port out of the hashed address.
const UNWRITTEN_PORT: u16 = 11_211;
/// The largest number of servers on a ring. The number is limited because each arc has a 16-bit number. An arc is the
/// part of the ring between two neighbouring points.
pub const MOST_RING_SERVERS: usize = u16::MAX as usize / (4 * DIGESTS);

/// The reason why servers cannot share a load by consistent hash.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RingError {
    /// There is only one server, so the keys cannot be divided.
    #[error("--hash divides the keys among several servers; name them as URIs")]
    Alone,
    /// There are more servers than a ring can hold.
    #[error("{0} servers are too many: --hash takes at most {MOST_RING_SERVERS}; leave some out")]
    TooMany(usize),
    /// A server has no host and port.
    #[error("{0}: --hash needs servers with a host and a port")]
    NoHost(Address),
    /// Two servers have the same address.
    #[error("{0} is named twice; leave one out")]
    Twice(Address),
    /// Two servers differ in more than their addresses.
    #[error(
        "{0} and {1} differ in protocol, user, password, database or TLS; with --hash, all servers need the same"
    )]
    Different(Address, Address),
}

/// Checks that the keys can be divided among these servers.
///
/// # Errors
/// Fails if the number of servers is wrong, if an address has no host, or if two servers do not fit together.
pub(super) fn check(servers: &[Target]) -> Result<(), RingError> {
    let [first, others @ ..] = servers else { return Err(RingError::Alone) };
    if others.is_empty() {
        return Err(RingError::Alone);
    }
    if servers.len() > MOST_RING_SERVERS {
        return Err(RingError::TooMany(servers.len()));
    }
    for (place, server) in servers.iter().enumerate() {
        let address = &server.address;
        if !matches!(address, Address::Tcp { .. }) {
            return Err(RingError::NoHost(address.clone()));
        }
        if servers[..place].iter().any(|other| other.address == *address) {
            return Err(RingError::Twice(address.clone()));
        }
    }
    let different = others.iter().find(|other| first.at(other.address.clone()).ok().as_ref() != Some(other));
    different.map_or(Ok(()), |other| Err(RingError::Different(first.address.clone(), other.address.clone())))
}

/// The points of several servers on a ring, in ascending order. An arc is the part of the ring between two neighbouring
/// points. The server of the arc's second point stores the keys of the arc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRing(Vec<u32>);

impl HashRing {
    /// Returns the ring of at most [`MOST_RING_SERVERS`] servers, and for each arc the index of the server
    /// that stores its keys.
    pub fn of<'a>(servers: impl Iterator<Item = &'a Address>) -> (Self, Vec<u16>) {
        let mut points: Vec<(u32, u16)> = (0..)
            .zip(servers)
            .flat_map(|(place, server)| points(server).into_iter().map(move |point| (point, place)))
            .collect();
        points.sort_unstable();
        let (points, servers) = points.into_iter().unzip();
        (Self(points), servers)
    }

    /// Returns the number of the arc to which a key belongs.
    pub fn arc(&self, key: &[u8]) -> u16 {
        let number = u32::from_le_bytes(first_four(&md5::compute(key).0));
        let next = self.0.partition_point(|point| *point < number);
        // Behind the last point the ring begins again.
        (if next == self.0.len() { 0 } else { next }) as u16 // there are at most 65 535
    }
}

/// Returns the points of a server on the ring.
fn points(server: &Address) -> Vec<u32> {
    let name = match server {
        Address::Tcp { host, port: UNWRITTEN_PORT } => host.clone(),
        Address::Tcp { host, port } => format!("{host}:{port}"),
        other => other.to_string(),
    };
    let of_digest =
        |n| md5::compute(format!("{name}-{n}")).0.chunks_exact(4).map(first_four).collect::<Vec<_>>();
    (0..DIGESTS).flat_map(of_digest).map(u32::from_le_bytes).collect()
}

fn first_four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.to_owned(), port }
    }

    /// The expected placements were computed by libmemcached 1.1.4.
    #[test]
    fn a_key_is_on_the_server_on_which_libmemcached_has_it() {
        let found = |servers: &[Address]| {
            let (ring, owners) = HashRing::of(servers.iter());
            let owner = |n: u32| owners[usize::from(ring.arc(format!("key:{n}").as_bytes()))];
            let mut counts = vec![0; servers.len()];
            (0..100_000).for_each(|n| counts[usize::from(owner(n))] += 1);
            ((0..16).map(owner).collect::<Vec<_>>(), counts)
        };
        let of_one_port = [1, 2, 3].map(|n| at(&format!("10.0.1.{n}"), 11_211));
        let placed = [0, 2, 1, 1, 1, 1, 2, 2, 0, 2, 0, 1, 1, 1, 2, 1];
        assert_eq!(found(&of_one_port), (placed.into(), vec![33_466, 32_808, 33_726]));
        let others =
            [at("10.0.1.1", 6379), at("10.0.1.2", 6379), at("10.0.1.3", 11_211), at("cache.example", 7000)];
        let placed = [3, 0, 2, 1, 1, 3, 2, 2, 1, 0, 3, 2, 0, 2, 2, 0];
        assert_eq!(found(&others), (placed.into(), vec![26_034, 22_908, 27_956, 23_102]));
    }

    #[test]
    fn all_arcs_of_the_most_servers_have_numbers() {
        let servers: Vec<_> = (0..MOST_RING_SERVERS as u16).map(|port| at("h", port)).collect();
        let (ring, owners) = HashRing::of(servers.iter());
        assert_eq!(owners.len(), 160 * MOST_RING_SERVERS);
        assert!((0..10_000_u32).all(|n| usize::from(ring.arc(&n.to_le_bytes())) < owners.len()));
    }
}
