//! What already lives on a memcached: asked before the first write, read-only.

use super::{Wire, stats::Stats};
use crate::{
    endpoint::{Address, Target},
    host::connections_to,
    server::{Foreign, Neighbours, ServerError, Survey},
};

/// Asks it, in two commands.
pub(in crate::server) async fn survey(wire: &Wire, target: &Target) -> Result<Survey, ServerError> {
    let text = wire.text("stats").await?;
    let stats = Stats::parse(&text);
    let keys = stats.number("curr_items").ok_or(ServerError::Unexpected { command: "stats".to_owned() })?;
    let neighbours = match optional(wire.text("stats conns").await)? {
        Some(list) => clients(&list),
        None => stats.number("curr_connections").unwrap_or(0),
    };
    Ok(Survey {
        address: target.address.clone(),
        db: 0,
        keys,
        total_keys: keys,
        // The owner of keys is unknown: there is no way to list them.
        foreign: Foreign::Exactly(keys),
        neighbours: Neighbours {
            clients: neighbours.saturating_sub(own(target)),
            replicas: 0,
            load: None,
            sessions: None,
        },
        read_only: false,
        loading: false,
        max_clients: stats.number("max_connections"),
        used_memory: stats.number("bytes"),
        maxmemory: stats.number("limit_maxbytes"),
        missing: Vec::new(),
        runs: Vec::new(),
    })
}

/// An answer, or nothing where it was refused.
fn optional(answer: Result<String, ServerError>) -> Result<Option<String>, ServerError> {
    match answer {
        Err(error) if error.ends_connection() => Err(error),
        answer => Ok(answer.ok()),
    }
}

/// The connections in the answer to `stats conns`, `STAT 23:state conn_read`, without the sockets that it listens on.
fn clients(list: &str) -> u64 {
    let stats = Stats::parse(list);
    let is_client = |(name, state): &(&str, &str)| name.ends_with(":state") && *state != "conn_listening";
    stats.iter().filter(is_client).count() as u64
}

/// How many of them are our own: that which asks, at the least.
fn own(target: &Target) -> u64 {
    let known = match &target.address {
        Address::Tcp { host, port } => connections_to(host.parse().ok(), *port),
        Address::Unix(_) => None,
    };
    known.unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_it_listens_on_are_no_clients() {
        let list = "STAT 22:addr tcp:127.0.0.1:1\r\nSTAT 22:state conn_listening\r\nSTAT 23:addr tcp:127.0.0.1:2\r\n\
                    STAT 23:state conn_read\r\nSTAT 24:state conn_parse_cmd\r\nSTAT 24:secs_since_last_cmd 0\r\nEND\r\n";
        assert_eq!(clients(list), 2);
    }
}
