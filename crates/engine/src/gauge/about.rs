//! The description of a gauge (a figure that is sampled from the server or its host).

/// The properties of a gauge, as a row of the table of gauges. A gauge is a figure of the server or its host.
#[derive(Debug, PartialEq)]
pub struct GaugeSpec {
    /// The gauge's name in files and exports.
    pub name: &'static str,
    /// The gauge's panel.
    pub group: GaugeGroup,
    /// The gauge's name in its panel. The name is empty if the panel shows the gauge only as a part of another gauge.
    pub label: &'static str,
    /// The gauge's unit.
    pub unit: GaugeUnit,
    /// How the gauge's value is computed from its source.
    pub kind: GaugeKind,
    /// The gauge's source.
    pub source: GaugeSource,
    /// The chart of the gauge reaches from 0 to at least this value.
    pub top: f64,
    /// The values at which the gauge needs attention.
    pub alarm: GaugeAlarm,
    /// The gauge's description, in a sentence.
    pub help: &'static str,
}

crate::named_values! {
    /// The panels of gauges.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum GaugeGroup {
        /// The work of the server.
        Work "work",
        /// Memory.
        Memory "memory",
        /// Clients.
        Clients "clients",
        /// Keys.
        Keys "keys",
        /// Persistence.
        Saving "saving",
        /// Replication.
        Replicas "replicas",
        /// The machine that redyno runs on.
        Host "host",
        /// The server's process, on the same machine.
        Process "server process",
    }
}

/// The unit of a gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeUnit {
    /// A number without a unit, such as a number of clients.
    Count,
    /// A number per second, such as requests per second.
    Rate,
    /// Bytes.
    Bytes,
    /// A limit in bytes. 0 means that there is no limit.
    Limit,
    /// A ratio, shown in percent.
    Ratio,
    /// A factor.
    Times,
    /// Seconds, shown as hours, minutes and seconds.
    Seconds,
    /// The time since an event, in seconds.
    Ago,
    /// Microseconds.
    Micros,
    /// 0 or 1. The screen shows 0 as the first word, and 1 as the second word.
    Flag(&'static str, &'static str),
}

/// How the value of a gauge is computed from its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeKind {
    /// The value of the source, unchanged.
    Level,
    /// The increase since the previous sample, which is shown per second.
    Added,
    /// The increase of a time in seconds, divided by the seconds since the previous sample.
    Share,
}

/// The source of a gauge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeSource {
    /// A field of INFO with a number. A negative number means that there is no value.
    Info(&'static str),
    /// A number in a field of INFO (the first text), or in memcached's `stats` (the second text).
    InfoOrStat(&'static str, &'static str),
    /// A number in memcached's `stats`.
    Stat(&'static str),
    /// Whether a field of INFO (the first text) has a certain value (the second text).
    InfoWord(&'static str, &'static str),
    /// The operating system of redyno's machine, on which the server may also run.
    Host,
    /// Code that computes the value of this gauge only.
    Own,
}

/// The values at which a gauge needs attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeAlarm {
    /// No value of the gauge needs attention.
    Never,
    /// The gauge needs attention when its value is not zero.
    Some,
    /// The gauge is a flag that should be set. The gauge needs attention when its value is zero.
    Zero,
}

impl GaugeGroup {
    /// The groups of the server's own figures, from top to bottom.
    pub const OF_SERVER: [Self; 6] =
        [Self::Work, Self::Memory, Self::Clients, Self::Keys, Self::Saving, Self::Replicas];
}
