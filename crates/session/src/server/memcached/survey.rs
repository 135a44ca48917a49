//! The survey of a memcached server before the first write. The survey writes nothing.

use std::collections::HashSet;

use super::{
    MemcachedSender,
    poll::connections,
    stats::{LISTENING, StatsReply},
};
use crate::{
    endpoint::{Address, Target},
    host::ports_to,
    server::{Foreign, OtherClients, ServerError, Survey},
};

/// Surveys the server with two commands.
pub(in crate::server) async fn survey(
    wire: &MemcachedSender,
    target: &Target,
) -> Result<Survey, ServerError> {
    let text = wire.text("stats").await?;
    let stats = StatsReply::parse(&text);
    let keys = stats.number("curr_items").ok_or(ServerError::Unexpected { command: "stats".to_owned() })?;
    let others = match connections(wire, &stats).await? {
        Some(list) => others(&list, &own_ports(target)),
        None => stats
            .number::<u64>("curr_connections")
            .unwrap_or(0)
            .saturating_sub(target.side_calls.open(&target.address)),
    };
    Ok(Survey {
        keys,
        total_keys: keys,
        // The owners of the keys are unknown, because memcached cannot list its keys.
        foreign: Foreign::Exactly(keys),
        neighbours: OtherClients { clients: others, ..OtherClients::default() },
        max_clients: stats.number("max_connections"),
        used_memory: stats.number("bytes"),
        maxmemory: stats.number("limit_maxbytes"),
        ..Survey::unknown(target.address.clone())
    })
}

/// Returns the number of other clients in the reply to `stats conns`. Listening sockets are not counted.
///
/// redyno recognises its own connections by their ports. If no port matches, redyno subtracts the number of its
/// connections instead. Ports do not match if addresses are translated on the way, or if the connection uses a Unix
/// socket. Always subtracting the number could hide another client, because the list lacks connections that the server
/// has not accepted yet.
fn others(list: &str, own: &HashSet<u16>) -> u64 {
    let stats = StatsReply::parse(list);
    let is_ours = |id: &str| {
        let address = stats.text(&format!("{id}:addr"));
        address
            .and_then(|address| address.rsplit_once(':')?.1.parse().ok())
            .is_some_and(|port| own.contains(&port))
    };
    let clients = stats.iter().filter(|(_, state)| *state != LISTENING);
    let clients: Vec<bool> =
        clients.filter_map(|(name, _)| name.strip_suffix(":state")).map(is_ours).collect();
    let ours = match clients.iter().filter(|is_ours| **is_ours).count() {
        0 => own.len().max(1),
        ours => ours,
    };
    clients.len().saturating_sub(ours) as u64
}

/// Returns the ports of redyno's own connections to the server.
fn own_ports(target: &Target) -> HashSet<u16> {
    match &target.address {
        Address::Tcp { host, port } => ports_to(host.parse().ok(), *port),
        Address::Unix(_) | Address::Service(_) => HashSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "STAT 22:addr tcp:127.0.0.1:11211\r\nSTAT 22:state conn_listening\r\n\
                        STAT 23:addr tcp:127.0.0.1:2001\r\nSTAT 23:listen_addr tcp:127.0.0.1:11211\r\n\
                        STAT 23:state conn_read\r\nSTAT 23:secs_since_last_cmd 0\r\n\
                        STAT 24:addr tcp:127.0.0.1:2002\r\nSTAT 24:state conn_parse_cmd\r\nEND\r\n";

    #[test]
    fn a_connection_that_is_not_accepted_yet_hides_no_other_client() {
        assert_eq!(others(LIST, &HashSet::from([2002, 2003])), 1);
        assert_eq!(others(LIST, &HashSet::from([2001, 2002])), 0);
    }

    #[test]
    fn the_number_of_own_connections_is_subtracted_if_no_port_matches() {
        assert_eq!(others(LIST, &HashSet::from([3001, 3002])), 0);
        assert_eq!(others(LIST, &HashSet::new()), 1);
    }
}
