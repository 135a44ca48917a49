//! What room a server has for a load, as far as it has told; and what is looked at before a setting begins.

use crate::{
    gauge::Gauge,
    knobs::Knobs,
    server::{Status, Survey},
    session::{Moment, Record},
};

/// Connections of ours that carry no load: that of the ping and that of the control plane.
const OURS_BESIDE_LOAD: u64 = 2;
/// So long after a change of the clients the server's count of them is of before.
const COUNT_SETTLES_S: f64 = 2.0;

/// What is known of a server's room. What is not known forbids nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes below its memory limit; `None` when it has none or does not tell.
    pub memory: Option<u64>,
    /// The most connections that it takes.
    pub max_clients: Option<u64>,
    /// Connections that are not ours.
    pub others: Option<u64>,
}

/// A setting, and how many requests may be sent under it at the most, if that is limited.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// The setting.
    pub knobs: &'a Knobs,
    /// By a number or a rate and a time; those of a prefill come beside them.
    pub requests: Option<u64>,
    /// Bytes that the server needs for each key beside its value.
    pub key_overhead: u64,
}

/// A setting that is about to begin.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// What was allowed before.
    pub from: Demand<'a>,
    /// What is wanted.
    pub to: Demand<'a>,
    /// What the server has room for.
    pub room: Room,
}

/// What could happen when a setting begins, as a sentence for a person who says yes or no; `None` when there is nothing to
/// ask.
pub type Danger = fn(&Change<'_>) -> Option<String>;

/// A fold over what a server tells that knows its room.
#[derive(Debug, Clone, Default)]
pub(super) struct RoomWatch {
    room: Room,
    /// When the present segment began, and how many connections of ours carry load since the first that did: they stay when
    /// it goes off.
    began_s: f64,
    ours: u64,
}

impl RoomWatch {
    /// What is known now.
    pub fn room(&self) -> Room {
        self.room
    }

    /// Takes what was found before the first write.
    pub fn survey(&mut self, survey: &Survey) {
        let limit = survey.maxmemory.filter(|limit| *limit > 0);
        let memory = limit.zip(survey.used_memory).map(|(limit, used)| limit.saturating_sub(used));
        let others = survey.neighbours.clients + survey.neighbours.replicas;
        self.room = Room { memory, max_clients: survey.max_clients, others: Some(others) };
    }

    /// Takes the next record.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) => {
                self.began_s = segment.t_s;
                if segment.knobs.load || self.ours > 0 {
                    self.ours = segment.knobs.clients.into();
                }
            }
            Record::Server(moment) => self.push_status(moment),
            _ => {}
        }
    }

    fn push_status(&mut self, Moment { t_s, body, .. }: &Moment<Status>) {
        let whole = |gauge| body.gauges.whole(gauge);
        let limit = whole(Gauge::MaxMemory).filter(|limit| *limit > 0);
        let used = whole(Gauge::UsedMemory);
        self.room.memory = limit.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.room.max_clients = whole(Gauge::MaxClients);
        if t_s - self.began_s >= COUNT_SETTLES_S {
            let ours = self.ours + OURS_BESIDE_LOAD;
            self.room.others = whole(Gauge::Clients).map(|clients| clients.saturating_sub(ours));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Segment;

    fn room(began_s: f64, clients: u64, limit: f64) -> Room {
        let mut watch = RoomWatch::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        watch.push(&Record::Segment(Segment::new(began_s, 1, knobs)));
        let gauges = [
            (Gauge::MaxMemory, limit),
            (Gauge::UsedMemory, 30.0),
            (Gauge::MaxClients, 1000.0),
            (Gauge::Clients, clients as f64),
        ];
        let body = Status { gauges: gauges.into(), ..Status::default() };
        watch.push(&Record::Server(Box::new(Moment::new(5.0, body))));
        watch.room()
    }

    #[test]
    fn the_room_is_what_the_server_said() {
        let told = Room { memory: Some(70), max_clients: Some(1000), others: Some(7) };
        assert_eq!(room(0.0, 59, 100.0), told);
        assert_eq!(room(0.0, 59, 0.0).memory, None, "it has no limit");
        assert_eq!(room(4.0, 59, 100.0).others, None, "its count is of before");
    }
}
