//! Checks new load settings against the free memory and the free connections of the servers, before the
//! settings take effect.

use std::collections::BTreeMap;

use crate::{
    gauge::Gauge,
    knobs::Knobs,
    server::{OtherClients, Status, Survey},
    session::{Moment, Record},
};

/// The time in seconds in which the server may report an outdated number of clients, after redyno has changed this
/// number.
const COUNT_SETTLES_S: f64 = 2.0;

/// The free memory and connections of a server, or of all primaries of a cluster. `None` means that a value
/// is unknown. An unknown value never leads to a warning about harm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FreeCapacity {
    /// The number of bytes that the server may still use below its memory limit. For a cluster, the value is the sum
    /// over all primaries. `None` if the limit is unknown or does not exist.
    pub memory: Option<u64>,
    /// The largest number of connections that the server allows. For several servers, the value is the lowest of their
    /// limits.
    pub max_clients: Option<u64>,
    /// The number of connections of other clients. For several servers, the value is the highest number of all servers.
    pub others: Option<u64>,
    /// The number of connections of replicas. These connections count toward the server's limit, too. For several
    /// servers, the value is the highest number of all servers.
    pub replicas: u64,
}

impl FreeCapacity {
    /// Combines this value with another primary of the cluster.
    fn with(self, other: Self) -> Self {
        Self {
            memory: self.memory.zip(other.memory).map(|(one, other)| one.saturating_add(other)),
            max_clients: self.max_clients.into_iter().chain(other.max_clients).min(),
            others: self.others.max(other.others),
            replicas: self.replicas.max(other.replicas),
        }
    }
}

/// Load settings, and the largest number of requests that may be sent with them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand<'a> {
    /// The load settings.
    pub knobs: &'a Knobs,
    /// The largest number of requests, not counting the prefill. The number follows from the limit of requests, or from
    /// rate and time. `None` if the number is unlimited.
    pub requests: Option<u64>,
    /// The server's overhead for each key, in bytes.
    pub key_overhead: u64,
    /// Whether the server is an HTTP service on another machine. Any load on such a service needs the user's
    /// permission.
    pub is_service: bool,
}

/// A change of load settings, before it takes effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadChange<'a> {
    /// The load settings that were allowed before.
    pub from: Demand<'a>,
    /// The requested load settings.
    pub to: Demand<'a>,
    /// The server's capacity.
    pub room: FreeCapacity,
}

/// Tracks the free memory and connections of servers from their reports.
#[derive(Debug, Clone, Default)]
pub(super) struct CapacityWatch {
    /// The servers that store the load's keys, by the numbers of their nodes.
    rooms: BTreeMap<u16, FreeCapacity>,
    /// The start of the present segment, in seconds of the session.
    began_s: f64,
    /// The number of redyno's connections for load. The connections stay open while the load is off.
    ours: u64,
    /// The number of connections of the workload's receivers. These connections end with the load.
    receivers: u64,
}

impl CapacityWatch {
    /// Returns the present free memory and connections.
    pub fn room(&self) -> FreeCapacity {
        self.rooms.values().copied().reduce(FreeCapacity::with).unwrap_or_default()
    }

    /// Adds the results of the survey of the servers' data.
    pub fn survey(&mut self, surveys: &[(u16, Survey)]) {
        let room = |survey: &Survey| {
            let limit = survey.maxmemory.filter(|limit| *limit > 0);
            let memory = limit.zip(survey.used_memory).map(|(limit, used)| limit.saturating_sub(used));
            let OtherClients { clients, replicas, .. } = survey.neighbours;
            FreeCapacity { memory, max_clients: survey.max_clients, others: Some(clients), replicas }
        };
        self.rooms = surveys.iter().map(|(number, survey)| (*number, room(survey))).collect();
    }

    /// Adds the next record of node `number`. `holds` returns whether a node stores keys of the load now.
    pub fn push(&mut self, number: u16, record: &Record, holds: impl Fn(u16) -> bool) {
        match record {
            Record::Segment(segment) => {
                self.began_s = segment.t_s;
                if segment.knobs.load || self.ours > 0 {
                    self.ours = segment.knobs.clients.into();
                }
                let Knobs { load, workload, keyspace, .. } = &segment.knobs;
                self.receivers =
                    if *load { workload.receiver_connections(*keyspace, None).into() } else { 0 };
            }
            Record::Server(moment) => {
                // A primary that has become a replica has the keys of another primary.
                self.rooms.retain(|known, _| holds(*known));
                self.push_status(number, moment);
            }
            _ => {}
        }
    }

    fn push_status(&mut self, number: u16, Moment { t_s, body, .. }: &Moment<Status>) {
        let whole = |gauge| body.gauges.whole(gauge);
        let limit = whole(Gauge::MaxMemory).filter(|limit| *limit > 0);
        let used = whole(Gauge::UsedMemory);
        // In a cluster it is unknown how many of the load's connections a node has.
        let is_alone = self.rooms.keys().all(|known| *known == number);
        let room = self.rooms.entry(number).or_default();
        room.memory = limit.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        room.max_clients = whole(Gauge::MaxClients);
        room.replicas = whole(Gauge::Replicas).unwrap_or_default();
        if is_alone && t_s - self.began_s >= COUNT_SETTLES_S {
            let ours = self.ours + self.receivers + body.own_connections;
            room.others = whole(Gauge::Clients).map(|clients| clients.saturating_sub(ours));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{session::Segment, workload::preset};

    fn room(began_s: f64, clients: u64, limit: f64) -> FreeCapacity {
        let mut watch = CapacityWatch::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        watch.push(0, &Record::Segment(Segment::new(began_s, 1, knobs)), |_| true);
        watch.push(0, &status(clients, limit), |_| true);
        watch.room()
    }

    fn status(clients: u64, limit: f64) -> Record {
        let gauges = [
            (Gauge::MaxMemory, limit),
            (Gauge::UsedMemory, 30.0),
            (Gauge::MaxClients, 1000.0),
            (Gauge::Replicas, 3.0),
            (Gauge::Clients, clients as f64),
        ];
        let status = Status { gauges: gauges.into(), own_connections: 2, ..Status::default() };
        Record::Server(Box::new(Moment::new(5.0, status)))
    }

    #[test]
    fn a_former_primary_gives_no_room_after_a_failover() {
        let mut watch = CapacityWatch::default();
        let memory = |watch: &mut CapacityWatch, number, holders: [u16; 2]| {
            watch.push(number, &status(0, 100.0), |number| holders.contains(&number));
            watch.room().memory
        };
        assert_eq!([0, 1].map(|number| memory(&mut watch, number, [0, 1])), [Some(70), Some(140)]);
        assert_eq!([2, 1].map(|number| memory(&mut watch, number, [1, 2])), [Some(140), Some(140)]);
    }

    #[test]
    fn a_cluster_has_the_sum_of_memory_and_the_lowest_connection_limit() {
        let one = FreeCapacity { memory: Some(70), max_clients: Some(1000), others: Some(7), replicas: 1 };
        let other = FreeCapacity { memory: Some(30), max_clients: Some(100), others: Some(2), replicas: 2 };
        let both = FreeCapacity { memory: Some(100), max_clients: Some(100), others: Some(7), replicas: 2 };
        assert_eq!(one.with(other), both);
        assert_eq!(one.with(FreeCapacity::default()).memory, None, "one of them has no limit");
    }

    #[test]
    fn the_room_comes_from_the_servers_status() {
        let expected =
            FreeCapacity { memory: Some(70), max_clients: Some(1000), others: Some(7), replicas: 3 };
        assert_eq!(room(0.0, 59, 100.0), expected);
        assert_eq!(room(0.0, 59, 0.0).memory, None, "it has no limit");
        assert_eq!(room(4.0, 59, 100.0).others, None, "its count is of before");
    }

    #[test]
    fn receivers_and_connections_without_load_are_no_other_clients() {
        let mut watch = CapacityWatch::default();
        let workload = preset("pubsub").unwrap();
        let receivers = u64::from(workload.receiver_count().unwrap());
        let mut others = |load, clients| {
            let knobs = Knobs { load, workload: workload.clone(), ..Knobs::default() };
            watch.push(0, &Record::Segment(Segment::new(0.0, 1, knobs)), |_| true);
            watch.push(0, &status(clients, 0.0), |_| true);
            watch.room().others
        };
        assert_eq!(others(true, 50 + receivers + 2 + 7), Some(7));
        assert_eq!(others(false, 50 + 2 + 7), Some(7), "receivers end with the load");
    }
}
