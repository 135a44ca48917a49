//! The survey of a server before redyno's first write: the server's keys, its clients, and earlier runs of
//! redyno. The survey writes nothing, and sends a limited number of commands.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Info, Marker, ServerError,
    clients::{self, OtherClients},
    config,
    link::Datum,
    link::RedisSender,
    marker::{clean_command, merged_by_run},
    parameter::NOTIFICATIONS,
    place::MarkerPlace,
    registry,
};
use crate::{
    endpoint::{Address, Target},
    units::{self, count_with_noun},
    workload::{OwnKey, RunId},
};

/// The largest number of keys in a database for which redyno checks each key.
const LOOK_THROUGH_KEYS: u64 = 5_000;
/// The number of keys that each SCAN of the survey requests.
const SCAN_COUNT: u32 = 500;
/// The largest number of SCANs in a check of all keys. A check that needs more SCANs stops, because other clients add
/// keys faster than redyno can check them.
const LOOK_THROUGH_STEPS: u32 = 40;

/// The facts that redyno knows about a server before the first write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The address of the server.
    pub address: Address,
    /// The number of servers that were surveyed: one server, all primaries of a cluster, or all servers under
    /// load.
    pub primaries: u64,
    /// Whether the server is a node of a cluster.
    pub in_cluster: bool,
    /// The number of the database that the load writes to.
    pub db: u32,
    /// The number of keys in the database `db`, including redyno's own keys.
    pub keys: u64,
    /// The number of keys in all databases, including redyno's own keys.
    pub total_keys: u64,
    /// The number of keys that are not redyno's, in all databases.
    pub foreign: Foreign,
    /// The other connected clients.
    pub neighbours: OtherClients,
    /// The address of the server's primary, if the server is a replica that accepts no writes.
    pub read_only_below: Option<String>,
    /// Whether the server is still loading its data.
    pub loading: bool,
    /// The memory that the server uses, in bytes.
    pub used_memory: Option<u64>,
    /// The largest number of connections that the server accepts.
    pub max_clients: Option<u64>,
    /// The server's memory limit in bytes; 0 means no limit.
    pub maxmemory: Option<u64>,
    /// The commands of modules that the load needs and the server does not have.
    pub missing: Vec<String>,
    /// The value of `notify-keyspace-events`; empty if it was not requested.
    pub notifications: String,
    /// The runs with a marker (a key that lists what a run has to undo) on the server. The session of a run with a
    /// marker is still running, has kept its keys, or was killed before the cleanup.
    pub runs: Vec<Marker>,
}

impl Survey {
    /// Returns the survey of a server that reports nothing about its data and clients.
    pub(super) fn unknown(address: Address) -> Self {
        Self { address, primaries: 1, ..Self::default() }
    }
}

/// The number of keys that are not redyno's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Exactly this number of keys, in all databases.
    Exactly(u64),
    /// At most this number of keys, because the number includes redyno's own keys. The database is too large
    /// to check each key.
    AtMost(u64),
}

impl Default for Foreign {
    fn default() -> Self {
        Self::Exactly(0)
    }
}

impl Foreign {
    /// Returns the number of keys, or its upper limit.
    pub fn bound(self) -> u64 {
        match self {
            Self::Exactly(n) | Self::AtMost(n) => n,
        }
    }

    /// Adds the keys of another server.
    pub(super) fn with(self, other: Self) -> Self {
        let sum = self.bound().saturating_add(other.bound());
        match (self, other) {
            (Self::Exactly(_), Self::Exactly(_)) => Self::Exactly(sum),
            _ => Self::AtMost(sum),
        }
    }
}

impl Survey {
    /// Adds the results of another primary of the same cluster, or of another server of the same load. Counts are
    /// summed.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        self.primaries += other.primaries;
        self.keys = self.keys.saturating_add(other.keys);
        self.total_keys = self.total_keys.saturating_add(other.total_keys);
        self.foreign = self.foreign.with(other.foreign);
        self.neighbours = self.neighbours.with(other.neighbours);
        self.read_only_below = self.read_only_below.or(other.read_only_below);
        self.loading |= other.loading;
        self.used_memory = sum(self.used_memory, other.used_memory);
        self.max_clients = sum(self.max_clients, other.max_clients);
        // If one of the servers has no limit, the sum has no limit.
        let is_limited = self.maxmemory != Some(0) && other.maxmemory != Some(0);
        self.maxmemory = sum(self.maxmemory, other.maxmemory).map(|sum| if is_limited { sum } else { 0 });
        self.missing.extend(other.missing);
        self.missing.sort();
        self.missing.dedup();
        self.notifications.retain(|letter| other.notifications.contains(letter));
        self.runs = merged_by_run(self.runs.into_iter().chain(other.runs));
        self
    }
}

/// The largest number of lines that describe leftovers. Further sessions are only counted.
const MOST_LEFT: usize = 8;

/// Returns lines about the changes that sessions left. Sessions that left the same changes share a line.
pub fn leftover_lines(markers: &[Marker], target: &Target) -> Vec<String> {
    let mut alike: Vec<(String, &Marker, u64)> = Vec::new();
    let mut others = 0;
    for marker in markers {
        let left = marker.left(target);
        match alike.iter().position(|(known, ..)| *known == left) {
            Some(place) => alike[place].2 += 1,
            None if alike.len() < MOST_LEFT => alike.push((left, marker, 1)),
            None => others += 1,
        }
    }
    let line = |(left, Marker { owner, .. }, sessions): &(String, &Marker, u64)| match sessions - 1 {
        0 => format!("{owner} {left}"),
        more => format!("{owner} and {} each {left}", count_with_noun(more, "other session")),
    };
    let rest = format!(
        "{} left other changes; {} undoes these, too",
        count_with_noun(others, "more session"),
        clean_command(target, target.db)
    );
    alike.iter().map(line).chain((others > 0).then_some(rest)).collect()
}

/// Surveys the server with at most about 50 commands, plus one command for each listed run. Writes nothing.
pub(super) async fn survey(
    wire: &RedisSender,
    target: &Target,
    (commands, notifies): (BTreeSet<String>, bool),
) -> Result<Survey, ServerError> {
    let text = wire.text(&["INFO"]).await?;
    let info = Info::parse(&text);
    if let Some(why) = unfit(wire, &info).await? {
        return Err(ServerError::Unfit(format!("{} {why}", target.address)));
    }
    let loading = info.text("loading") == Some("1");
    let mut elsewhere = info.keys_by_db();
    let here = elsewhere.remove(&target.db).unwrap_or(0);
    let elsewhere = elsewhere.into_values().fold(0, u64::saturating_add);
    // While a server is loading its data, it answers only INFO and CLIENT LIST.
    let (keys, foreign, runs) = if loading {
        (here, Foreign::AtMost(here), Vec::new())
    } else {
        let keys = wire.count(&["DBSIZE"]).await?;
        let places = MarkerPlace::all(wire).await?;
        let runs = registry::markers(wire, &places, target.db).await?;
        (keys, foreign_keys(wire, keys, &own(&places, &runs)).await?, runs)
    };
    let foreign = foreign.with(Foreign::Exactly(elsewhere));
    Ok(Survey {
        address: target.address.clone(),
        primaries: 1,
        in_cluster: info.text("cluster_enabled") == Some("1"),
        db: target.db,
        keys,
        total_keys: keys.saturating_add(elsewhere),
        foreign,
        neighbours: neighbours(wire, &info).await?,
        read_only_below: info.master().filter(|_| info.text("slave_read_only") != Some("0")),
        loading,
        max_clients: info.number("maxclients"),
        used_memory: info.number("used_memory"),
        maxmemory: info.number("maxmemory"),
        missing: if loading { Vec::new() } else { missing(wire, commands).await? },
        notifications: if notifies { config::get(wire, NOTIFICATIONS.name).await? } else { String::new() },
        runs,
    })
}

/// Returns which of the `commands` the server does not have; empty if the server refuses COMMAND INFO.
async fn missing(wire: &RedisSender, commands: BTreeSet<String>) -> Result<Vec<String>, ServerError> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    let words: Vec<_> = ["COMMAND", "INFO"].into_iter().chain(commands.iter().map(String::as_str)).collect();
    let reply = ServerError::optional(wire.data(&words).await)?;
    let known = reply.as_ref().and_then(Datum::list).filter(|known| known.len() == commands.len());
    let is_missing = |n: usize| known.is_some_and(|known| known[n].list().is_none_or(<[Datum]>::is_empty));
    Ok((0..).zip(commands).filter(|(n, _)| is_missing(*n)).map(|(_, command)| command).collect())
}

/// Returns the reason why redyno cannot write keys to this server, as a text after the server's address.
async fn unfit(wire: &RedisSender, info: &Info<'_>) -> Result<Option<String>, ServerError> {
    if info.text("redis_mode").or(info.text("server_mode")) == Some("sentinel") {
        return Ok(Some("is a Sentinel, which stores no keys; name the master that it monitors".to_owned()));
    }
    if info.text("cluster_enabled") != Some("1") {
        return Ok(None);
    }
    let text = wire.text(&["CLUSTER", "INFO"]).await?;
    let cluster = Info::parse(&text);
    let broken = |state: &str| {
        format!(
            "is a node, and its cluster serves no keys now (cluster_state {state}, {} of 16 384 slots assigned); assign \
             all slots, as `redis-cli --cluster create` and `--cluster fix` do",
            units::grouped(cluster.number("cluster_slots_assigned").unwrap_or(0))
        )
    };
    Ok(cluster.text("cluster_state").filter(|state| *state != "ok").map(broken))
}

/// Returns the markers of sessions that kept their keys, or that were killed before they could clean up.
/// Markers of sessions that may still be running are not included. Markers in other databases are included
/// only if their session has changed the whole server, for example a parameter.
pub(super) async fn leftovers(wire: &RedisSender, target: &Target) -> Result<Vec<Marker>, ServerError> {
    // A node of a broken cluster serves no keys, so nothing can be read there.
    if let Ok(text) = wire.text(&["INFO"]).await
        && unfit(wire, &Info::parse(&text)).await?.is_some()
    {
        return Ok(Vec::new());
    }
    let mut markers = registry::markers(wire, &MarkerPlace::all(wire).await?, target.db).await?;
    // A refusal is ignored here. Redyno reports it when a parameter is set, and when redyno cleans up.
    markers.extend(registry::elsewhere(wire, target).await.unwrap_or_default());
    if markers.is_empty() {
        return Ok(markers);
    }
    if let Some(list) = ServerError::optional(wire.text(&["CLIENT", "LIST"]).await)? {
        let connected = clients::count(&list);
        let is_other = connected.sessions > Some(0);
        let at_work = |marker: &Marker| connected.load > Some(0) || (marker.has_changed_server() && is_other);
        markers.retain(|marker| !at_work(marker));
    }
    Ok(markers)
}

/// Recognises redyno's keys: the keys of listed runs, and the lists and markers that redyno stores on the
/// server.
struct RedynoKeys<'a> {
    runs: HashMap<RunId, &'a Marker>,
    notes: HashSet<Vec<u8>>,
}

fn own<'a>(places: &[MarkerPlace], markers: &'a [Marker]) -> RedynoKeys<'a> {
    let of_place = |place: &MarkerPlace| {
        markers.iter().map(|marker| place.marker(marker.run)).chain([place.list()]).collect::<Vec<_>>()
    };
    let notes = places.iter().flat_map(of_place);
    RedynoKeys {
        runs: markers.iter().map(|marker| (marker.run, marker)).collect(),
        notes: notes.map(String::into_bytes).collect(),
    }
}

impl RedynoKeys<'_> {
    fn has(&self, key: &[u8]) -> bool {
        let is_runs = |key: OwnKey| self.runs.get(&key.run).is_some_and(|marker| marker.owns(&key));
        OwnKey::read(key).is_some_and(is_runs) || self.notes.contains(key)
    }
}

async fn foreign_keys(wire: &RedisSender, keys: u64, own: &RedynoKeys<'_>) -> Result<Foreign, ServerError> {
    if keys > LOOK_THROUGH_KEYS {
        return Ok(Foreign::AtMost(keys));
    }
    // SCAN may return a key twice.
    let mut foreign = HashSet::new();
    let mut cursor = "0".to_owned();
    for _ in 0..LOOK_THROUGH_STEPS {
        let (next, found) = wire.scan(&cursor, "*", SCAN_COUNT).await?;
        foreign.extend(found.into_iter().filter(|key| !own.has(key)));
        if next == "0" {
            return Ok(Foreign::Exactly(foreign.len() as u64));
        }
        cursor = next;
    }
    Ok(Foreign::AtMost(keys.max(foreign.len() as u64)))
}

async fn neighbours(wire: &RedisSender, info: &Info<'_>) -> Result<OtherClients, ServerError> {
    let list = ServerError::optional(wire.text(&["CLIENT", "LIST"]).await)?;
    Ok(list.map_or_else(
        || {
            // CLIENT LIST is not permitted or unknown; INFO counts all connections, including this session's.
            let (side, address) = &wire.sent.side;
            let open = info.number::<u64>("connected_clients").unwrap_or_default();
            let replicas = info.number("connected_slaves").unwrap_or(0);
            let clients = open.saturating_sub(side.open(address));
            OtherClients { clients, replicas, ..OtherClients::default() }
        },
        |list| clients::count(&list),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Owner, SetupObject};

    #[test]
    fn sessions_that_left_the_same_changes_share_a_line() {
        let owner = |pid| Owner { started: "2026-11-21T07:08:00Z".to_owned(), host: "box".to_owned(), pid };
        let marker = |pid| Marker { span: None, ..Marker::new(RunId::random(), owner(Some(pid))) };
        let first = "a session begun 2026-11-21T07:08:00Z on host box, process 1";
        let target = Target::default();
        let clean = clean_command(&target, 0);
        let left = format!("left its keys here; {clean} removes them");
        assert_eq!(leftover_lines(&[marker(1)], &target), [format!("{first} {left}")]);
        let sixty: Vec<_> = (1..=60).map(marker).collect();
        assert_eq!(leftover_lines(&sixty, &target), [format!("{first} and 59 other sessions each {left}")]);
        let of = |n: usize| {
            let made = vec![SetupObject::Library(format!("l{n}"))];
            Marker { made, ..marker(1) }
        };
        let lines = leftover_lines(&(0..20_000).map(of).collect::<Vec<_>>(), &target);
        assert_eq!(lines.len(), MOST_LEFT + 1);
        assert_eq!(
            lines[MOST_LEFT],
            format!("19 992 more sessions left other changes; {clean} undoes these, too")
        );
    }
}
