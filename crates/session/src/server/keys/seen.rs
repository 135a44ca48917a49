//! The results of an examination of a server's keys, as plain figures.

/// The method to examine keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyMethod {
    /// SCAN, with MEMORY USAGE and PTTL of each key, and OBJECT FREQ under an LFU policy.
    #[default]
    Scan,
    /// MONITOR for a second.
    Monitor,
    /// HOTKEYS for five seconds; since Redis 8.6.
    HotKeys,
}

/// The state of an examination of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyState {
    /// The examination is in progress.
    #[default]
    Running,
    /// The examination is complete. A scan has visited all keys.
    Complete,
    /// The examination was stopped by the user.
    Stopped,
    /// The server refused a command, or the connection was lost. The text is the reason.
    Failed(String),
}

/// The results of an examination of keys. Key names are escaped for the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyReport {
    /// The method of the examination.
    pub way: KeyMethod,
    /// The state of the examination.
    pub state: KeyState,
    /// The number of the database.
    pub db: u32,
    /// The number of keys in the database when the examination began.
    pub keys: u64,
    /// The number of keys that a scan has sampled, or the number of commands in the MONITOR sample.
    pub sampled: u64,
    /// The duration of the examination so far, in seconds.
    pub took_s: f64,
    /// The largest share of the main thread's time that a scan may have used, from 0 to 1.
    pub cost: f64,
    /// The share of a core that the main thread used in the second before MONITOR, and during MONITOR.
    pub cpu: Option<(f64, f64)>,
    /// The prefixes whose keys use the most memory, in descending order.
    pub prefixes: Vec<PrefixEstimate>,
    /// The largest keys, the largest first; the amount is the number of bytes from MEMORY USAGE.
    pub largest: Vec<KeyAmount>,
    /// The hottest keys, the hottest first.
    pub hottest: Vec<KeyAmount>,
    /// The unit of the amounts in `hottest`.
    pub hot_unit: Option<HotUnit>,
}

/// The unit of the figure that shows how hot a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HotUnit {
    /// The logarithmic counter of OBJECT FREQ, 0 to 255.
    Counter,
    /// The number of commands in a sample by MONITOR.
    Commands,
    /// The CPU time of the main thread from HOTKEYS, in microseconds.
    Micros,
}

/// The keys with one prefix. The figures are estimates for the whole database.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefixEstimate {
    /// The prefix, or an empty text for the group of all other keys.
    pub prefix: String,
    /// The number of keys.
    pub keys: Estimate,
    /// The memory of the keys, in bytes.
    pub memory: Estimate,
    /// The share of these keys that have no TTL.
    pub without_ttl: f64,
}

/// An estimated value, and half the length of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// The estimated value.
    pub value: f64,
    /// The largest probable distance to the true value.
    pub error: f64,
}

/// A key that is large or hot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyAmount {
    /// The name of the key. In a sample by MONITOR, the command comes first: `GET cart:1`.
    pub key: String,
    /// The size of a large key, or the use of a hot key.
    pub amount: u64,
    /// The type of a large key, or `None` while the type is unknown.
    pub kind: Option<String>,
}
