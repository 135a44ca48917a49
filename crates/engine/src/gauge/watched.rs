//! Lists the gauges that redyno watches for level shifts (lasting changes), and how large a shift must be.
//!
//! redyno watches gauges that describe work. redyno does not watch totals, settings, times since an event, or figures
//! that grow with the data (keys, unsaved changes).

use super::Gauge;

/// A mebibyte.
const MIB: f64 = 1_048_576.0;

/// The watched gauges. Each row has a gauge, the smallest shift that can matter, in the gauge's unit, and the gauge's
/// name in a sentence. A gauge that counts events is watched as a rate per second.
const WATCHED: [(Gauge, f64, &str); 54] = [
    // A fifth of a core: less does not make a server slow.
    (Gauge::Cpu, 0.2, "the server's CPU"),
    (Gauge::Active, 0.2, "the main thread's activity"),
    (Gauge::ServerCpu, 0.2, "CPU of the server's busiest thread"),
    (Gauge::ServerChildCpu, 0.2, "CPU of the server's child process"),
    (Gauge::HostCpu, 0.2, "CPU of this machine"),
    (Gauge::HitRate, 0.2, "hit rate"),
    // Shares that should be near 0: a tenth of the time is noticeable.
    (Gauge::ServerRunDelay, 0.1, "the server's wait for a core"),
    (Gauge::HostSteal, 0.1, "steal"),
    (Gauge::HostThrottled, 0.1, "throttling by the CPU limit"),
    (Gauge::ServerThrottled, 0.1, "throttling of the server by its CPU limit"),
    (Gauge::IoBusy, 0.3, "work of the I/O threads"),
    (Gauge::ExpireCpu, 0.1, "time for the search for expired keys"),
    (Gauge::ExpiredStale, 0.1, "share of keys that are expired and not removed"),
    // Pressure (PSI) counts all time in which at least one thread waits, so it is high on a busy machine.
    (Gauge::HostCpuPressure, 0.3, "wait for a core (PSI)"),
    (Gauge::HostMemoryPressure, 0.3, "wait for memory (PSI)"),
    (Gauge::HostDiskPressure, 0.3, "wait for a disk (PSI)"),
    (Gauge::HostDisk, 0.3, "use of the busiest disk"),
    // A server executes 100 000 commands a second; a new connection costs as much as several commands.
    (Gauge::OpsPerS, 1000.0, "commands"),
    (Gauge::NewConnections, 50.0, "new connections"),
    (Gauge::Clients, 50.0, "clients"),
    (Gauge::BlockedClients, 20.0, "blocked clients"),
    (Gauge::ErrorReplies, 50.0, "error replies"),
    (Gauge::EvictedKeys, 100.0, "evicted keys"),
    (Gauge::ExpiredKeys, 1000.0, "expired keys"),
    (Gauge::LazyFree, 10_000.0, "objects that wait to be freed"),
    // Even a single one of these events affects a client.
    (Gauge::AofDelayed, 1.0, "writes that waited for an fsync"),
    (Gauge::RejectedClients, 1.0, "rejected connections"),
    (Gauge::OutputLimit, 1.0, "connections closed at the output limit"),
    (Gauge::EvictedClients, 1.0, "evicted clients"),
    // A gigabit is 119 MiB/s.
    (Gauge::BytesIn, 10.0 * MIB, "traffic to the server"),
    (Gauge::BytesOut, 10.0 * MIB, "traffic from the server"),
    (Gauge::HostNetIn, 10.0 * MIB, "bytes received per second"),
    (Gauge::HostNetOut, 10.0 * MIB, "bytes sent per second"),
    (Gauge::UsedMemory, 256.0 * MIB, "used memory"),
    (Gauge::ClientMemory, 16.0 * MIB, "memory of connections"),
    (Gauge::InputBuffer, 16.0 * MIB, "input buffers of connections"),
    (Gauge::OutputBuffer, 16.0 * MIB, "output buffers of connections"),
    (Gauge::HostSwapUsed, 256.0 * MIB, "used swap"),
    (Gauge::ReplicaLag, 16.0 * MIB, "bytes that a replica is behind"),
    (Gauge::HostSwapIn, MIB, "bytes read from swap per second"),
    (Gauge::HostSwapOut, MIB, "bytes written to swap per second"),
    (Gauge::Unread, MIB / 4.0, "unread bytes in the server's sockets"),
    (Gauge::Unsent, MIB, "unacknowledged bytes in the server's sockets"),
    // Delays: a millisecond is noticeable, and a request to a disk usually takes less than 5 ms.
    (Gauge::LoopMean, 500.0, "mean cycle of the event loop"),
    (Gauge::WireRtt, 1000.0, "round trip of TCP"),
    (Gauge::MeasuredLag, 5000.0, "the measured lag of the replica"),
    (Gauge::HostDiskWait, 5000.0, "mean request to the busiest disk"),
    // Packets that are lost or late, per second.
    (Gauge::HostDrops, 10.0, "dropped packets"),
    (Gauge::HostRetransmits, 10.0, "retransmitted segments"),
    (Gauge::WireRetransmits, 10.0, "retransmitted segments of the server's connections"),
    (Gauge::HostListenOverflows, 1.0, "overflows of an accept queue"),
    (Gauge::ServerFaults, 20.0, "major faults of the server"),
    (Gauge::AcceptQueue, 20.0, "connections in the accept queue"),
    (Gauge::UnreadConnections, 20.0, "connections with unread requests"),
];

impl Gauge {
    /// Returns the watched gauges.
    pub fn all_watched() -> impl Iterator<Item = Self> {
        WATCHED.iter().map(|(gauge, ..)| *gauge)
    }

    /// Returns the smallest shift that redyno reports for this gauge, in the unit of the gauge. A shift is a change
    /// that lasts. Returns `None` if redyno never reports shifts of this gauge.
    pub fn smallest_shift(self) -> Option<f64> {
        self.watched().map(|(_, least, _)| *least)
    }

    /// Returns the gauge's name for a sentence, such as `new connections`. If shifts of the gauge are never
    /// reported, returns a short name.
    pub fn in_words(self) -> &'static str {
        self.watched().map_or(self.alone(), |(.., words)| words)
    }

    fn watched(self) -> Option<&'static (Self, f64, &'static str)> {
        WATCHED.iter().find(|(gauge, ..)| *gauge == self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::gauge::GaugeUnit;

    #[test]
    fn work_is_watched_but_totals_and_ages_are_not() {
        let has = |gauge: Gauge| gauge.smallest_shift().is_some();
        assert!([Gauge::Cpu, Gauge::NewConnections, Gauge::HitRate, Gauge::EvictedKeys].into_iter().all(has));
        assert!(![Gauge::Uptime, Gauge::Keys, Gauge::Commands, Gauge::MaxMemory].into_iter().any(has));
        let is_age = |gauge: &Gauge| {
            matches!(gauge.about().unit, GaugeUnit::Ago | GaugeUnit::Seconds | GaugeUnit::Flag(..))
        };
        assert_eq!(Gauge::all_watched().find(is_age), None);
        let names: BTreeSet<_> = Gauge::all_watched().map(Gauge::in_words).collect();
        assert_eq!(names.len(), WATCHED.len());
    }
}
