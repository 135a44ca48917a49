//! Reads the number of slots of a cluster node from CLUSTER NODES, and its busiest slots from CLUSTER SLOT-STATS (Redis
//! 8.2, Valkey 8.0).
//!
//! The server has slot statistics only with `cluster-slot-stats-enabled yes`, which redyno never sets. The statistics
//! are sums since the server's start. redyno finds a busy slot of the last seconds only if the slot also has one of the
//! largest sums.

use std::collections::BTreeMap;

use super::{
    ServerError, SlotUse, Status,
    link::{Datum, RedisSender},
    place::Slots,
};
use crate::{clock::SECOND_NS, gauge::Gauge};

/// The number of polls from one request to the next.
const EVERY: u32 = 5;
/// The number of polls after which a refused request is repeated.
const ASK_AGAIN: u32 = 60;
/// The number of slots whose statistics are requested.
const ASKED: &str = "64";
/// The number of slots that are reported.
const REPORTED: usize = 8;

/// Requests the busiest slots from time to time, and stores their sums.
#[derive(Debug, Default)]
pub(super) struct SlotStats {
    /// The number of polls until the next CLUSTER NODES.
    polls: u32,
    owned: Option<f64>,
    /// The number of polls until the next CLUSTER SLOT-STATS.
    polls_of_busy: u32,
    /// The time of the previous reply in nanoseconds, and the sums in that reply by slot.
    before: Option<(u64, BTreeMap<u16, SlotSums>)>,
}

/// The sums of a slot since the server's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SlotSums {
    keys: u64,
    cpu_us: u64,
    bytes_in: u64,
    bytes_out: u64,
}

impl SlotStats {
    /// Requests the slots of a cluster node if a request is due, and adds the slots to `status`.
    ///
    /// # Errors
    /// Fails if the connection is lost.
    pub(super) async fn ask(
        &mut self,
        wire: &RedisSender,
        at_ns: u64,
        status: &mut Status,
    ) -> Result<(), ServerError> {
        if status.mode != "cluster" {
            return Ok(());
        }
        self.polls = self.polls.saturating_sub(1);
        if self.polls == 0 {
            self.polls = EVERY;
            let nodes = ServerError::optional(wire.text(&["CLUSTER", "NODES"]).await)?;
            self.owned = nodes.map(|nodes| Slots::of_myself(&nodes).own().count() as f64);
        }
        status.gauges.set(Gauge::Slots, self.owned);
        self.polls_of_busy = self.polls_of_busy.saturating_sub(1);
        if self.polls_of_busy == 0 && status.role == "master" {
            let words = ["CLUSTER", "SLOT-STATS", "ORDERBY", "CPU-USEC", "LIMIT", ASKED, "DESC"];
            let reply = ServerError::optional(wire.data(&words).await)?;
            // A server without these statistics receives the next request a minute later.
            self.polls_of_busy = if reply.is_some() { EVERY } else { ASK_AGAIN };
            status.slots = reply.and_then(|reply| self.read(at_ns, &reply));
        }
        Ok(())
    }

    /// Returns the busiest slots since the previous reply, busiest first. Returns `None` if the reply has another form.
    fn read(&mut self, at_ns: u64, reply: &Datum) -> Option<Vec<SlotUse>> {
        let now: BTreeMap<u16, SlotSums> = reply.list()?.iter().map(sums).collect::<Option<_>>()?;
        let before = self.before.replace((at_ns, now.clone()));
        let (then_ns, before) = before?;
        let length_s = at_ns.saturating_sub(then_ns) as f64 / SECOND_NS as f64;
        let used = |(slot, now): (&u16, &SlotSums)| {
            // If the earlier sum of a slot is unknown, the slot may have been busy long ago.
            let before = before.get(slot)?;
            let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / length_s;
            Some(SlotUse {
                slot: *slot,
                keys: now.keys,
                cpu: per_s(now.cpu_us, before.cpu_us) / 1e6,
                bytes_in_per_s: per_s(now.bytes_in, before.bytes_in),
                bytes_out_per_s: per_s(now.bytes_out, before.bytes_out),
            })
        };
        let mut slots: Vec<_> = now.iter().filter_map(used).filter(|used| used.cpu > 0.0).collect();
        slots.sort_by(|a, b| b.cpu.total_cmp(&a.cpu));
        slots.truncate(REPORTED);
        Some(slots).filter(|_| length_s > 0.0)
    }
}

/// Returns a slot and its sums: `[slot, [name, value, …]]`.
fn sums(entry: &Datum) -> Option<(u16, SlotSums)> {
    let [slot, fields] = entry.list()? else { return None };
    let mut sums = SlotSums::default();
    for field in fields.list()?.chunks_exact(2) {
        let value = field[1].number().and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
        match field[0].text()? {
            "key-count" => sums.keys = value,
            "cpu-usec" => sums.cpu_us = value,
            "network-bytes-in" => sums.bytes_in = value,
            "network-bytes-out" => sums.bytes_out = value,
            _ => {}
        }
    }
    Some((slot.number().and_then(|slot| u16::try_from(slot).ok())?, sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(slots: &[(i64, i64)]) -> Datum {
        let entry = |&(slot, us): &(i64, i64)| {
            let fields = [("key-count", 7), ("cpu-usec", us), ("network-bytes-in", 10 * us), ("other", 1)];
            let fields =
                fields.into_iter().flat_map(|(name, value)| [Datum::Text(name.into()), Datum::Number(value)]);
            Datum::List(vec![Datum::Number(slot), Datum::List(fields.collect())])
        };
        Datum::List(slots.iter().map(entry).collect())
    }

    #[test]
    fn the_busiest_slots_are_those_of_the_last_seconds() {
        let mut stats = SlotStats::default();
        assert_eq!(stats.read(0, &reply(&[(1, 9_000_000), (2, 50)])), None);
        let busy =
            stats.read(2 * SECOND_NS, &reply(&[(1, 9_000_000), (3, 8_000_000), (2, 1_000_050)])).unwrap();
        let expected = SlotUse { slot: 2, keys: 7, cpu: 0.5, bytes_in_per_s: 5e6, bytes_out_per_s: 0.0 };
        assert_eq!(busy, [expected], "slot 1 is idle, and slot 3 is new");
    }

    #[test]
    fn a_reply_of_another_form_is_none() {
        let mut stats = SlotStats::default();
        for bad in [Datum::Text("x".into()), Datum::List(vec![Datum::Number(1)]), reply(&[(70_000, 1)])] {
            assert_eq!(stats.read(1, &bad), None);
            assert_eq!(stats.before, None);
        }
    }
}
