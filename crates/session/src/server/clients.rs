//! Sends CLIENT LIST to a server and counts its connected clients.

use super::link::CLIENT_NAME;
use crate::units::count_with_noun;

/// The name of the load's connections, from CLIENT SETNAME.
const LOAD_NAME: &str = "redyno-load";

/// The number of other connected clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherClients {
    /// The number of clients of other programs. Replicas and clients that use MONITOR are not counted.
    pub clients: u64,
    /// The number of connected replicas.
    pub replicas: u64,
    /// The number of load connections of all sessions of redyno, by their client names. `None` if CLIENT LIST is not
    /// permitted. Without CLIENT LIST, `clients` counts all connections except the survey's own, and `replicas` is from
    /// INFO.
    pub load: Option<u64>,
    /// The number of other sessions of redyno, with or without load. `None` if CLIENT LIST is not permitted.
    pub sessions: Option<u64>,
}

impl OtherClients {
    /// Returns text such as `gets load from another session of redyno over 50 connections`.
    pub(super) fn loads(&self) -> Option<String> {
        let load = self.load.filter(|n| *n > 0 && self.sessions > Some(0))?;
        Some(format!("gets load from another session of redyno over {}", count_with_noun(load, "connection")))
    }

    /// Adds the clients of another server.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            clients: self.clients + other.clients,
            replicas: self.replicas + other.replicas,
            load: self.load.zip(other.load).map(|(one, other)| one + other),
            sessions: self.sessions.zip(other.sessions).map(|(one, other)| one.max(other)),
        }
    }
}

/// Counts the lines of CLIENT LIST: `id=5 addr=… name=redyno-load … flags=N …`, fields in any order. One of the control
/// connections belongs to this session.
pub(super) fn count(list: &str) -> OtherClients {
    let (mut clients, mut replicas, mut load, mut control) = (0, 0, 0, 0_u64);
    for line in list.lines() {
        let field = |name: &str| line.split(' ').find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
        let Some(flags) = field("flags") else { continue };
        let name = field("name").unwrap_or_default();
        match name {
            LOAD_NAME => load += 1,
            CLIENT_NAME => control += 1,
            // Clients that are about to be closed do not count (flag A: at once, c: after the reply).
            _ if name.starts_with("redyno-") || flags.contains(['A', 'c']) => {}
            // A monitor has the flags O and S.
            _ if flags.contains('O') => {}
            _ if flags.contains('S') => replicas += 1,
            // On a replica, flag M marks the connection to its master.
            _ if flags.contains('M') => {}
            _ => clients += 1,
        }
    }
    OtherClients { clients, replicas, load: Some(load), sessions: Some(control.saturating_sub(1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_has_the_expected_client_name() {
        assert_eq!(LOAD_NAME, crate::load::CLIENT_NAME);
    }

    #[test]
    fn clients_are_counted_by_kind_and_redynos_connections_are_not_others() {
        let list = "\
            id=3 addr=10.0.0.1:5 name= age=0 flags=N db=0 cmd=get\n\
            id=4 addr=/run/r.sock:0 laddr=/run/r.sock:0 name=app flags=U cmd=client|list\n\
            id=5 name=redyno-control flags=N\n\
            id=6 name=redyno-ping flags=N\n\
            id=7 name=redyno-load flags=N\n\
            flags=S name= id=8\n\
            id=9 name= flags=O cmd=monitor\n\
            id=10 name= flags=A\n\
            id=11 name= flags=M\n\
            \n";
        let expected = OtherClients { clients: 2, replicas: 1, load: Some(1), sessions: Some(0) };
        assert_eq!(count(list), expected);
    }
}
