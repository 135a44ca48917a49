//! Names the clients that cause a finding, from the recent replies to CLIENT LIST. A client is named only if there is
//! enough evidence.
//!
//! ```text
//!  10.0.0.7:51234 (app, jedis 5.1)    one connection has at least half of the commands, bytes or memory
//!  10.0.0.7 (app, jedis 5.1)          several connections with the same host, name and library have it together
//! ```

use std::collections::BTreeMap;

use super::now::RecentState;
use crate::{
    gauge::Gauge,
    server::{ClientRow, ConnectedClients},
};

/// A client is named if it causes at least this share, for example of the commands or of the memory.
const MAJORITY: f64 = 0.5;
/// A client has sent its last command recently if it has been idle for at most this many seconds.
const ACTIVE_S: u64 = 1;
/// The rule looks at new connections only if at least this many of them are known.
const LEAST_NEW: usize = 2;
/// Connections that opened at most this many seconds before the newest connection of a list are new, too.
const NEWEST_S: f64 = 0.1;

/// The host, the name and the library of a client.
type Identity<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn identity(row: &ClientRow) -> Identity<'_> {
    (row.host(), row.name.as_deref(), row.library.as_deref())
}

/// Joins an address, a name and a library: `10.0.0.7:51234 (app, jedis 5.1)`. Returns `None` without address and name.
fn text((address, name, library): Identity<'_>) -> Option<String> {
    let beside = [name.filter(|_| address.is_some()), library].into_iter().flatten();
    let beside = beside.collect::<Vec<_>>().join(", ");
    let beside = if beside.is_empty() { beside } else { format!(" ({beside})") };
    address.or(name).map(|first| format!("{first}{beside}"))
}

fn text_of(row: &ClientRow) -> Option<String> {
    text((row.address.as_deref(), row.name.as_deref(), row.library.as_deref()))
}

/// Returns the client with the largest weight, if this weight is at least `least`. If no single connection
/// reaches `least`, returns the host, name and library of connections that reach it together.
fn heaviest(weighted: &[(&ClientRow, f64)], least: f64) -> Option<String> {
    let one = weighted.iter().max_by(|left, right| left.1.total_cmp(&right.1))?;
    if one.1 >= least {
        return text_of(one.0);
    }
    let mut together: BTreeMap<Identity<'_>, f64> = BTreeMap::new();
    weighted.iter().for_each(|(row, weight)| *together.entry(identity(row)).or_default() += weight);
    let (clients, weight) = together.into_iter().max_by(|left, right| left.1.total_cmp(&right.1))?;
    text(clients).filter(|_| weight >= least)
}

/// Returns the clients of a list, without redyno's own connections and without replicas.
fn others(list: &ConnectedClients) -> impl Iterator<Item = &ClientRow> {
    list.rows.iter().filter(|row| !row.is_own && !row.flags.contains('S'))
}

/// Returns the client that sends most calls of the command `name`, which is called `per_s` times a second.
pub(super) fn of_command(now: &RecentState, name: &str, per_s: f64) -> Option<String> {
    let list = now.clients()?;
    let is_caller =
        |row: &&ClientRow| row.idle_s <= ACTIVE_S && row.last.replace('|', " ").eq_ignore_ascii_case(name);
    let callers: Vec<_> = others(list).filter(is_caller).collect();
    let counted =
        callers.iter().map(|row| row.commands.map(|n| (*row, n as f64))).collect::<Option<Vec<_>>>();
    match counted.zip(list.since_s) {
        Some((counted, since_s)) => {
            let all: f64 = counted.iter().map(|(_, n)| n).sum();
            heaviest(&counted, MAJORITY * all.max(per_s * since_s))
        }
        // Without counts, a client is named only if it is the only caller, and the list contains all callers. This is
        // the case if the list contains redyno's own connections, which come last, or ends with an idle connection.
        None if list.rows.iter().any(|row| row.is_own) || list.rows.last()?.idle_s > ACTIVE_S => {
            let each: Vec<_> = callers.iter().map(|row| (*row, 1.0)).collect();
            heaviest(&each, each.len() as f64)
        }
        None => None,
    }
}

/// Returns the client with the largest output buffer, if this buffer has at least `least` bytes.
pub(super) fn with_output(now: &RecentState, least: f64) -> Option<String> {
    let buffers: Vec<_> = others(now.clients()?).map(|row| (row, row.output_memory as f64)).collect();
    let all: f64 = buffers.iter().map(|(_, bytes)| bytes).sum();
    heaviest(&buffers, least.max(MAJORITY * all).max(1.0))
}

/// Returns the client that reads the largest part of the server's output.
pub(super) fn of_replies(now: &RecentState) -> Option<String> {
    let list = now.clients()?;
    let all = now.gauge(Gauge::BytesOut)? * list.since_s?;
    let read: Vec<_> =
        others(list).filter_map(|row| row.bytes_out.map(|bytes| (row, bytes as f64))).collect();
    heaviest(&read, (MAJORITY * all).max(1.0))
}

/// Returns the host, name or library that most of the newest connections have in common. `per_s` is the number of new
/// connections per second.
pub(super) fn of_new_connections(now: &RecentState, per_s: f64) -> Option<String> {
    // The connections in question close soon, so a connection that is in two lists is none of them.
    let mut listed: BTreeMap<u64, u32> = BTreeMap::new();
    now.client_lists().flat_map(|list| &list.rows).for_each(|row| *listed.entry(row.id).or_default() += 1);
    let is_newest = |row: &&ClientRow, newest: u64| {
        row.age_s == 0 && listed[&row.id] == 1 && (newest - row.id) as f64 <= per_s * NEWEST_S
    };
    let of_list = |list| {
        let newest = others(list).map(|row| row.id).max().unwrap_or_default();
        others(list).filter(move |row| is_newest(row, newest))
    };
    let newest: Vec<_> = now.client_lists().flat_map(of_list).collect();
    let most = |part: fn(Identity<'_>) -> Identity<'_>| {
        let mut together: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
        newest.iter().for_each(|row| *together.entry(part(identity(row))).or_default() += 1);
        let (clients, n) = together.into_iter().max_by_key(|(_, n)| *n)?;
        (n * 2 > newest.len()).then_some(clients)
    };
    if newest.len() < LEAST_NEW {
        return None;
    }
    let hosts = most(|all| all).and_then(text);
    let named = || most(|(_, name, _)| (None, name, None))?.1.map(|name| format!("clients named {name}"));
    let library =
        || most(|(.., library)| (None, None, library))?.2.map(|library| format!("clients with {library}"));
    hosts.or_else(named).or_else(library)
}

/// Adds the library of a client from the slow log, `10.0.0.7:51234 (app)`, if the list contains the client.
pub(super) fn with_library(now: &RecentState, client: &str) -> String {
    let address = client.split(' ').next();
    let row = now.clients().and_then(|list| list.rows.iter().find(|row| row.address.as_deref() == address));
    row.and_then(text_of).unwrap_or_else(|| client.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{
            Finding,
            fixture::{Second, first, found},
        },
        server::CommandStat,
    };

    fn client(id: u64, host: u64, last: &str) -> ClientRow {
        ClientRow {
            id,
            address: Some(format!("10.0.0.{host}:{id}")),
            name: Some("app".to_owned()),
            library: Some("jedis 5.1".to_owned()),
            last: last.to_owned(),
            age_s: 900,
            ..ClientRow::default()
        }
    }

    fn list(rows: Vec<ClientRow>) -> Option<ConnectedClients> {
        let own = ClientRow { id: 1, is_own: true, last: "mget".to_owned(), ..ClientRow::default() };
        let rows: Vec<_> = rows.into_iter().chain([own]).collect();
        Some(ConnectedClients {
            total: rows.len() as u64,
            since_s: Some(5.0),
            rows,
            ..ConnectedClients::default()
        })
    }

    /// Returns the finding about 195 MGETs per second, with these clients.
    fn of_mgets(rows: &[ClientRow]) -> Finding {
        first(4, |second| {
            let mget = CommandStat { calls: 195, usec: 780_000, ..CommandStat::default() };
            second.status.command_stats.insert("mget".to_owned(), mget);
            second.status.clients = list(rows.to_vec());
        })
    }

    #[test]
    fn the_client_of_many_middling_commands_is_named() {
        let by = |rows: &[ClientRow]| {
            let found = of_mgets(rows);
            let long = found.long.strip_prefix("MGET takes 78 % of the main thread's time, called by ");
            // Without a name, the advice is how to find it.
            assert_eq!(long.is_none(), found.next.starts_with("CLIENT LIST shows"), "{found:?}");
            long.map(|rest| rest.strip_suffix(", although no single call is slow").unwrap().to_owned())
        };
        let counted = |id, host, n| ClientRow { commands: Some(n), ..client(id, host, "mget") };
        let of_one = Some("10.0.0.7:5 (app, jedis 5.1)".to_owned());
        assert_eq!(by(&[counted(5, 7, 900), counted(6, 8, 75), client(7, 9, "get")]), of_one);
        let pool = by(&[counted(5, 7, 300), counted(6, 7, 300), counted(8, 9, 375)]);
        assert_eq!(pool.as_deref(), Some("10.0.0.7 (app, jedis 5.1)"));
        assert_eq!(by(&[counted(5, 7, 325), counted(6, 8, 325), counted(7, 9, 325)]), None);
        assert_eq!(by(&[counted(5, 7, 30)]), None, "the client sends only a small part of the calls");
        assert_eq!(
            by(&[client(5, 7, "mget"), client(6, 8, "get")]),
            of_one,
            "the server does not count the commands of a client"
        );
        assert_eq!(by(&[client(5, 7, "mget"), client(6, 8, "mget")]), None);
        let idle = ClientRow { idle_s: 40, ..client(5, 7, "mget") };
        assert_eq!(by(&[idle]), None, "the last MGET of the client was long ago");
        assert_eq!(by(&[]), None, "redyno does not name itself as the caller");
    }

    #[test]
    fn the_client_that_does_not_read_is_named_and_a_replica_is_not() {
        let long = |flags: &str, output_memory| {
            let found = found(5, |second| {
                second.status.gauges.set(Gauge::OutputBuffer, Some(64e6));
                let flags = flags.to_owned();
                let slow = ClientRow { output_memory, flags, ..client(5, 7, "get") };
                second.status.clients = list(vec![client(6, 8, "get"), slow]);
            });
            found[0].long.clone()
        };
        let named =
            "the client 10.0.0.7:5 (app, jedis 5.1) does not read its replies, which pile up in the server";
        let unnamed = "a client does not read its replies, which pile up in the server";
        assert_eq!(long("N", 60_000_000), named);
        assert_eq!((long("S", 60_000_000), long("N", 20_000)), (unnamed.to_owned(), unnamed.to_owned()));
    }

    #[test]
    fn the_reader_of_most_bytes_is_named() {
        let long = |bytes_out| {
            let found = found(5, |second| {
                second.status.gauges.set(Gauge::BytesOut, Some(1.2e9));
                second.status.gauges.set(Gauge::OpsPerS, Some(400.0));
                let reader = ClientRow { bytes_out: Some(bytes_out), ..client(5, 7, "get") };
                second.status.clients = list(vec![reader]);
            });
            found[0].long.clone()
        };
        assert!(long(4_000_000_000).ends_with("/s in total, most of it to 10.0.0.7:5 (app, jedis 5.1)"));
        assert!(long(4_000).ends_with("/s in total"));
    }

    #[test]
    fn new_connections_are_named_by_host_or_name_or_library() {
        let from = |each: &dyn Fn(u64) -> ClientRow| {
            let found = first(9, |second: &mut Second| {
                second.status.gauges.set(Gauge::NewConnections, Some(4800.0));
                let n = u64::from(second.n);
                second.status.clients = list(vec![each(n * 4800 + 99), client(50, 3, "get")]);
            });
            found.long.strip_prefix("4.80 k new connections a second").unwrap().to_owned()
        };
        let new = |id, host| ClientRow { age_s: 0, ..client(id, host, "ping") };
        assert_eq!(from(&|id| new(id, 7)), ", from 10.0.0.7 (app, jedis 5.1)");
        assert_eq!(from(&|id| new(id, id % 7)), ", from clients named app");
        let unnamed = |id: u64| ClientRow { name: Some(id.to_string()), ..new(id, id % 7) };
        assert_eq!(from(&unnamed), ", from clients with jedis 5.1");
        assert_eq!(from(&|id| ClientRow { library: Some(id.to_string()), ..unnamed(id) }), "");
        assert_eq!(from(&|id| ClientRow { age_s: 40, ..new(id, 7) }), "", "the connections are old");
        assert_eq!(from(&|_| new(51, 7)), "", "one connection stays open");
    }

    #[test]
    fn the_slow_log_names_the_caller_and_the_list_its_library() {
        let long = |client_of_log: Option<&str>| {
            let client_of_log = client_of_log.map(str::to_owned);
            let found = first(4, move |second| {
                second.status.clients = list(vec![client(5, 7, "keys")]);
                second.events = vec![crate::events::EventKind::SlowCommand {
                    us: 200_000,
                    command: "KEYS *".to_owned(),
                    client: client_of_log.clone(),
                    arguments: Vec::new(),
                }];
            });
            found.long.split(", called by ").nth(1).map(str::to_owned)
        };
        let full = Some("10.0.0.7:5 (app, jedis 5.1)".to_owned());
        assert_eq!((long(Some("10.0.0.7:5 (app)")), long(None)), (full.clone(), full));
        assert_eq!(long(Some("10.0.0.9:5")).as_deref(), Some("10.0.0.9:5"));
    }
}
