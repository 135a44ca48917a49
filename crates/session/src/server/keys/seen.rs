//! The results of a look at keys, as plain figures.

/// The way to look at keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyWay {
    /// SCAN, with MEMORY USAGE and PTTL of each key, and OBJECT FREQ under an LFU policy.
    #[default]
    Scan,
    /// MONITOR for a second.
    Monitor,
    /// HOTKEYS for five seconds; since Redis 8.6.
    HotKeys,
}

/// How far a look is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyState {
    /// It goes on.
    #[default]
    Running,
    /// It is complete: a scan has seen all keys.
    Complete,
    /// It was stopped.
    Stopped,
    /// The server refused a command, or the connection was lost; the text is the reason.
    Failed(String),
}

/// The results of a look at keys. Key names are escaped for the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeysSeen {
    /// The way.
    pub way: KeyWay,
    /// How far the look is.
    pub state: KeyState,
    /// The number of the database.
    pub db: u32,
    /// The number of keys in the database at the beginning.
    pub keys: u64,
    /// The number of keys that a scan has seen, or of commands that MONITOR has shown.
    pub sampled: u64,
    /// The seconds since the look began.
    pub took_s: f64,
    /// The share of the server's main thread that a scan has used at most.
    pub cost: f64,
    /// The share of a core that the main thread used in the second before MONITOR, and during MONITOR.
    pub cpu: Option<(f64, f64)>,
    /// The prefixes with the most memory, that with the most memory first.
    pub prefixes: Vec<PrefixSeen>,
    /// The largest keys, the largest first; the amount is bytes by MEMORY USAGE.
    pub largest: Vec<KeySeen>,
    /// The hottest keys, the hottest first.
    pub hottest: Vec<KeySeen>,
    /// The unit of their amounts.
    pub hot_unit: Option<HotUnit>,
}

/// The unit in which keys are hot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HotUnit {
    /// The logarithmic counter of OBJECT FREQ, 0 to 255.
    Counter,
    /// Commands in a sample by MONITOR.
    Commands,
    /// Microseconds of the main thread by HOTKEYS.
    Micros,
}

/// The keys with one prefix; the figures are estimates for the whole database.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefixSeen {
    /// The prefix; empty for all other keys.
    pub prefix: String,
    /// The number of keys.
    pub keys: Estimate,
    /// The bytes of memory of the keys.
    pub memory: Estimate,
    /// The share of these keys that have no TTL.
    pub without_ttl: f64,
}

/// A value, and half the length of its 95 % confidence interval; 0 if all keys were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// How far the true value may be away.
    pub error: f64,
}

/// A key that is large or hot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySeen {
    /// The key; in a sample by MONITOR after the command: `GET cart:1`.
    pub key: String,
    /// How large or hot the key is.
    pub amount: u64,
    /// The type of a large key, once it is known.
    pub kind: Option<String>,
}
