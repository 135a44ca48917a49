//! Sends CLIENT LIST to a server and counts its connected clients.

use super::link::CLIENT_NAME;

/// The name of the load's connections, from CLIENT SETNAME.
const LOAD_NAME: &str = "redyno-load";

/// The connected clients by kind. Redyno's own connections are not counted in `others`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Connected {
    /// The number of clients of other programs, without replicas and clients in MONITOR.
    pub(super) others: u64,
    /// The number of replicas.
    pub(super) replicas: u64,
    /// The number of clients in MONITOR.
    pub(super) monitors: u64,
    /// The number of load connections of all sessions of redyno, including this session.
    pub(super) load: u64,
    /// The number of control connections of all sessions of redyno, including this session.
    pub(super) control: u64,
}

/// Counts the lines of CLIENT LIST: `id=5 addr=… name=redyno-load … flags=N …`, fields in any order.
pub(super) fn count(list: &str) -> Connected {
    let mut connected = Connected::default();
    for line in list.lines() {
        let field = |name: &str| line.split(' ').find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
        let Some(flags) = field("flags") else { continue };
        let name = field("name").unwrap_or_default();
        match name {
            LOAD_NAME => connected.load += 1,
            CLIENT_NAME => connected.control += 1,
            // Clients that are about to be closed do not count (flag A: at once, c: after the reply).
            _ if name.starts_with("redyno-") || flags.contains(['A', 'c']) => {}
            // A monitor has the flags O and S.
            _ if flags.contains('O') => connected.monitors += 1,
            _ if flags.contains('S') => connected.replicas += 1,
            // On a replica, flag M marks the connection to its master.
            _ if flags.contains('M') => {}
            _ => connected.others += 1,
        }
    }
    connected
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
        let expected = Connected { others: 2, replicas: 1, monitors: 1, load: 1, control: 1 };
        assert_eq!(count(list), expected);
    }
}
