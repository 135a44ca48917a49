//! What can be said of a gauge.

/// What a gauge is.
#[derive(Debug, PartialEq)]
pub struct About {
    /// Its name in files and exports.
    pub name: &'static str,
    /// The panel that it stands in.
    pub group: Group,
    /// Its name within that panel; empty where it is shown as a part of something else.
    pub label: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// How it comes of what its source says.
    pub kind: Kind,
    /// Where it comes from.
    pub source: GaugeSource,
    /// A chart of it begins at 0 and reaches at least up to here.
    pub top: f64,
    /// When it wants attention.
    pub alarm: Alarm,
    /// What it is, in a sentence.
    pub help: &'static str,
}

/// What belongs together on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// What the server does.
    Work,
    /// What it holds in memory.
    Memory,
    /// Who is connected.
    Clients,
    /// What becomes of its keys.
    Keys,
    /// How it saves its data.
    Saving,
    /// Its place among master and replicas.
    Replicas,
}

/// What a gauge counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Things per second.
    Rate,
    /// Bytes.
    Bytes,
    /// Bytes; 0 is no limit.
    Limit,
    /// A share of one, shown in percent.
    Ratio,
    /// So many times as much.
    Times,
    /// Seconds, shown as a clock does.
    Seconds,
    /// Seconds since something happened.
    Ago,
    /// Microseconds.
    Micros,
    /// 0 or 1, in these words.
    Flag(&'static str, &'static str),
}

/// How a gauge comes of what its source says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As it is.
    Level,
    /// What was added since the previous sample; shown per second.
    Added,
    /// Seconds that were added, per second that passed.
    Share,
}

/// Where a gauge comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaugeSource {
    /// A number in INFO; negative ones mean that there is none.
    Info(&'static str),
    /// The same, or of a memcached a number in `stats`.
    InfoOrStat(&'static str, &'static str),
    /// A number in `stats`, of a memcached only.
    Stat(&'static str),
    /// Whether a field of INFO is this word.
    InfoWord(&'static str, &'static str),
    /// Its own way to read it.
    Own,
}

/// When a gauge wants attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Never by itself.
    Never,
    /// When it is more than nothing.
    Some,
    /// When it is nothing: a flag that should be set.
    Zero,
}

impl Group {
    /// All, from top to bottom.
    pub const ALL: [Self; 6] =
        [Self::Work, Self::Memory, Self::Clients, Self::Keys, Self::Saving, Self::Replicas];

    /// Its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Memory => "memory",
            Self::Clients => "clients",
            Self::Keys => "keys",
            Self::Saving => "saving",
            Self::Replicas => "replicas",
        }
    }
}
