//! Summarises CLIENT LIST: the number of clients, groups of clients, and the most notable clients. This module does no
//! I/O.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};

use crate::{clock::seconds, untrusted};

/// The largest number of rows.
const MOST_ROWS: usize = 20;
/// The largest number of rows for each of the six reasons to list a client.
const ROWS_EACH: usize = 4;
/// The largest number of groups. The screen's panel has even fewer lines.
const MOST_GROUPS: usize = 10;
/// The prefix of the names of redyno's own connections.
const OWN: &str = "redyno-";

/// The connected clients of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectedClients {
    /// The number of connections, including redyno's own.
    pub total: u64,
    /// Seconds since the previous list. `None` for the first list, because the first list has no differences.
    pub since_s: Option<f64>,
    /// The ten largest groups of clients with the same host, name and library.
    pub groups: Vec<ClientGroup>,
    /// At most 20 clients. First come the clients with the most output memory, unread requests, commands, traffic or
    /// memory. Next come the clients that connected or were active most recently. redyno's own connections only fill
    /// free rows.
    pub rows: Vec<ClientRow>,
}

/// The clients with the same host, name and library.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientGroup {
    /// The address without its port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name that the client set with CLIENT SETNAME.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name and the version of the client library; since Redis 7.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Whether these connections belong to a session of redyno.
    pub is_own: bool,
    /// The number of connections.
    pub clients: u64,
    /// The number of connections that are new since the previous list. Connections that opened and closed between two
    /// lists are not counted.
    pub new: u64,
    /// The memory that the clients use, in bytes; 0 before Redis 6.2.
    pub memory: u64,
    /// The number of commands since the previous list; reported since Valkey 8.0 and Redis 8.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
}

/// One connected client. Traffic and commands are counted since the previous list. Only Valkey since 8.0 and Redis
/// since 8.2 report traffic and commands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRow {
    /// The client's id, as in CLIENT KILL ID.
    pub id: u64,
    /// The address and the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The name that the client set with CLIENT SETNAME.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name and the version of the client library; since Redis 7.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Whether the connection belongs to a session of redyno.
    pub is_own: bool,
    /// The server's letters: `N` none, `S` a replica, `O` MONITOR, `P` subscribed, `x` in MULTI, `b` blocked, …
    pub flags: String,
    /// Seconds since the client connected.
    pub age_s: u64,
    /// Seconds since the client's last command.
    pub idle_s: u64,
    /// The client's last command, such as `get` or `client|list`.
    pub last: String,
    /// The number of the client's database.
    pub db: u64,
    /// The size of the client's requests that the server has not executed yet, in bytes.
    pub query_buffer: u64,
    /// The number of commands that are queued in the client's MULTI; `None` outside of MULTI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multi: Option<u64>,
    /// The number of replies that wait in the client's output list.
    pub output_list: u64,
    /// The size of the replies in the output list, in bytes.
    pub output_memory: u64,
    /// The total memory that the client uses, in bytes; `None` before Redis 6.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The bytes that the server read from the client since the previous list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<u64>,
    /// The bytes that the server wrote to the client since the previous list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_out: Option<u64>,
    /// The number of commands that the client ran since the previous list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
}

impl ConnectedClients {
    /// Returns the same clients without addresses and names.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        self.groups.iter_mut().for_each(|group| (group.host, group.name) = (None, None));
        self.rows.iter_mut().for_each(|row| (row.address, row.name) = (None, None));
        self
    }
}

/// The counters of a client since it connected: bytes in, bytes out, and commands.
type ClientCounters = [Option<u64>; 3];

/// The previous list, for differences.
#[derive(Debug, Default)]
pub(super) struct ClientList {
    before: Option<(u64, BTreeMap<u64, ClientCounters>)>,
}

impl ClientList {
    /// Parses the reply to CLIENT LIST from the time `at_ns`. The reply has a line for each client, with fields in any
    /// order. Clients that the server is about to close (flag `A` or `c`) are left out.
    pub(super) fn read(&mut self, at_ns: u64, list: &str) -> ConnectedClients {
        let mut rows: Vec<_> = list.lines().filter_map(row).collect();
        let counters = |row: &ClientRow| (row.id, [row.bytes_in, row.bytes_out, row.commands]);
        let now = rows.iter().map(counters).collect();
        let before = self.before.replace((at_ns, now));
        // Ids increase, so a client with a higher id than all clients in the previous list is new.
        let last_id = before.as_ref().map(|(_, known)| known.keys().next_back().copied().unwrap_or(0));
        for row in &mut rows {
            let then = before.as_ref().and_then(|(_, known)| known.get(&row.id));
            let is_new = last_id.is_some_and(|last| row.id > last);
            row.subtract(then.or(is_new.then_some(&[Some(0); 3])));
        }
        ConnectedClients {
            total: rows.len() as u64,
            since_s: before.map(|(then_ns, _)| seconds(at_ns.saturating_sub(then_ns))),
            groups: groups(&rows, last_id),
            rows: outstanding(rows),
        }
    }
}

impl ClientRow {
    /// Replaces each counter with its increase since `then`. Without earlier counters, all counters become `None`.
    fn subtract(&mut self, then: Option<&ClientCounters>) {
        let now = [&mut self.bytes_in, &mut self.bytes_out, &mut self.commands];
        for (n, now) in now.into_iter().enumerate() {
            *now = then.and_then(|then| then[n]).zip(*now).and_then(|(then, now)| now.checked_sub(then));
        }
    }

    /// Returns the address without its port.
    pub fn host(&self) -> Option<&str> {
        self.address.as_deref().map(|address| address.rsplit_once(':').map_or(address, |(host, _)| host))
    }

    fn traffic(&self) -> u64 {
        self.bytes_in.unwrap_or(0).saturating_add(self.bytes_out.unwrap_or(0))
    }
}

/// Parses `id=5 addr=10.0.0.7:5123 name=app … cmd=get`; `None` for a line without an id.
fn row(line: &str) -> Option<ClientRow> {
    let (mut row, mut id, mut version) = (ClientRow::default(), None, None);
    for (name, value) in line.split(' ').filter_map(|field| field.split_once('=')) {
        let number = || value.parse().ok();
        let count = || number().unwrap_or(0);
        let text = || (!value.is_empty()).then(|| untrusted::text(value));
        match name {
            "id" => id = number(),
            "addr" => row.address = text(),
            "name" => row.name = text(),
            "lib-name" => row.library = text(),
            "lib-ver" => version = text(),
            "flags" => row.flags = untrusted::text(value),
            "age" => row.age_s = count(),
            "idle" => row.idle_s = count(),
            "cmd" => row.last = untrusted::text(value),
            "db" => row.db = count(),
            "qbuf" | "argv-mem" => row.query_buffer = row.query_buffer.saturating_add(count()),
            "multi" => row.multi = number(),
            "oll" => row.output_list = count(),
            "omem" => row.output_memory = count(),
            "tot-mem" => row.memory = number(),
            "tot-net-in" => row.bytes_in = number(),
            "tot-net-out" => row.bytes_out = number(),
            "tot-cmds" => row.commands = number(),
            _ => {}
        }
    }
    row.id = id?;
    row.is_own = row.name.as_ref().is_some_and(|name| name.starts_with(OWN));
    if let (Some(library), Some(version)) = (&mut row.library, version) {
        *library += &format!(" {version}");
    }
    (!row.flags.contains(['A', 'c'])).then_some(row)
}

/// Returns the largest groups. Clients with an id above `last_id` are new.
fn groups(rows: &[ClientRow], last_id: Option<u64>) -> Vec<ClientGroup> {
    let mut groups: BTreeMap<_, ClientGroup> = BTreeMap::new();
    for row in rows {
        let key = (row.host(), row.name.as_deref(), row.library.as_deref());
        let group = groups.entry(key).or_insert_with(|| ClientGroup {
            host: row.host().map(str::to_owned),
            name: row.name.clone(),
            library: row.library.clone(),
            is_own: row.is_own,
            ..ClientGroup::default()
        });
        group.clients += 1;
        group.new += u64::from(last_id.is_some_and(|last| row.id > last));
        group.memory = group.memory.saturating_add(row.memory.unwrap_or(0));
        if let Some(commands) = row.commands {
            group.commands = Some(group.commands.unwrap_or(0).saturating_add(commands));
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.clients));
    groups.truncate(MOST_GROUPS);
    groups
}

/// Returns the most notable rows, in the order of the reasons. No row occurs twice.
fn outstanding(rows: Vec<ClientRow>) -> Vec<ClientRow> {
    let reasons: [fn(&ClientRow) -> u64; 6] = [
        |row| row.output_memory,
        |row| row.query_buffer.saturating_add(row.multi.unwrap_or(0)),
        |row| row.commands.unwrap_or(0),
        ClientRow::traffic,
        |row| row.memory.unwrap_or(0),
        // The clients that connected last have the highest ids.
        |row| row.id,
    ];
    let mut chosen = Vec::new();
    for reason in reasons {
        let mut best: Vec<_> = rows.iter().filter(|row| !row.is_own && reason(row) > 0).collect();
        best.sort_by_key(|row| Reverse(reason(row)));
        chosen.extend(best.into_iter().take(ROWS_EACH).map(|row| row.id));
    }
    let mut rest: Vec<_> = rows.iter().map(|row| (row.is_own, row.idle_s, row.id)).collect();
    rest.sort_unstable();
    chosen.extend(rest.into_iter().map(|(_, _, id)| id));
    let mut seen = BTreeSet::new();
    let chosen: Vec<_> = chosen.into_iter().filter(|id| seen.insert(*id)).take(MOST_ROWS).collect();
    let listed = rows.into_iter().filter(|row| chosen.contains(&row.id));
    let mut by_id: BTreeMap<_, _> = listed.map(|row| (row.id, row)).collect();
    chosen.iter().filter_map(|id| by_id.remove(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    fn line(id: u64, more: &str) -> String {
        format!("id={id} addr=10.0.0.7:{id} name=app age=3 idle=1 flags=N db=2 multi=-1 {more} cmd=get\n")
    }

    #[test]
    fn a_client_is_read_from_fields_in_any_order_and_old_servers_have_fewer() {
        let list = "id=7 addr=[::1]:5000 laddr=127.0.0.1:1 name=app age=9 idle=2 flags=xP db=3 multi=4 qbuf=26 \
                    qbuf-free=20 argv-mem=10 oll=3 omem=61464 tot-mem=99 events=r cmd=exec user=ann lib-name=jedis \
                    lib-ver=5.1 tot-net-in=1 tot-net-out=2 tot-cmds=3\n\
                    name= id=8 flags=N\n\
                    nonsense\n\
                    id=9 flags=A\n";
        let clients = ClientList::default().read(0, list);
        let expected = ClientRow {
            id: 7,
            address: Some("[::1]:5000".to_owned()),
            name: Some("app".to_owned()),
            library: Some("jedis 5.1".to_owned()),
            flags: "xP".to_owned(),
            age_s: 9,
            idle_s: 2,
            last: "exec".to_owned(),
            db: 3,
            query_buffer: 36,
            multi: Some(4),
            output_list: 3,
            output_memory: 61_464,
            memory: Some(99),
            ..ClientRow::default()
        };
        assert_eq!((clients.total, &clients.rows[0], clients.since_s), (2, &expected, None));
        let old = ClientRow { id: 8, flags: "N".to_owned(), ..ClientRow::default() };
        assert_eq!(clients.rows[1], old);
        assert_eq!(clients.groups[1].host.as_deref(), Some("[::1]"));
    }

    #[test]
    fn traffic_is_counted_since_the_previous_list_or_since_the_client_connected() {
        let mut list = ClientList::default();
        list.read(0, &line(4, "tot-net-in=100 tot-net-out=1000 tot-cmds=10"));
        let now = line(4, "tot-net-in=150 tot-net-out=9000 tot-cmds=15") + &line(6, "tot-cmds=2");
        let clients = list.read(5 * SECOND_NS, &now);
        let of = |id| clients.rows.iter().find(|row| row.id == id).unwrap();
        assert_eq!((of(4).bytes_in, of(4).bytes_out, of(4).commands), (Some(50), Some(8000), Some(5)));
        assert_eq!((of(6).bytes_in, of(6).commands, clients.since_s), (None, Some(2), Some(5.0)));
        let group = &clients.groups[0];
        assert_eq!((group.clients, group.new, group.commands), (2, 1, Some(7)));
    }

    #[test]
    fn the_most_notable_of_many_clients_are_listed() {
        let plain: String = (1..=500).map(|id| line(id, "omem=0 tot-mem=20000")).collect();
        let own = "id=900 addr=a:1 name=redyno-load flags=N omem=99999999\n";
        let list = [plain.as_str(), &line(600, "omem=5000000"), &line(601, "qbuf=30000"), own].concat();
        let clients = ClientList::default().read(0, &list);
        let ids: Vec<_> = clients.rows.iter().map(|row| row.id).collect();
        assert_eq!((ids.len(), ids[0], ids[1], clients.total), (MOST_ROWS, 600, 601, 503));
        assert!(!ids.contains(&900) && clients.groups[1].is_own, "{clients:?}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), MOST_ROWS);
    }

    #[test]
    fn redacted_clients_have_no_address_and_no_name() {
        let clients = ClientList::default().read(0, &line(4, "lib-name=jedis")).redacted();
        let text = serde_json::to_string(&clients).unwrap();
        assert!(!text.contains("10.0.0.7") && !text.contains("app") && text.contains("jedis"), "{text}");
    }
}
