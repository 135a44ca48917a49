//! Whose benchmark it is.

use crate::compat::options::Who;

/// Whose options, tests and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavour {
    /// `redyno bench`: the options of both, and redis-benchmark's tests and lines.
    #[default]
    Redyno,
    /// Through a link named redis-benchmark: as that of Redis 8.
    Redis,
    /// Through a link named valkey-benchmark: as that of Valkey 9.1.
    Valkey,
}

impl Flavour {
    /// What it is called in its help.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Redyno => "redyno bench",
            Self::Redis => "redis-benchmark",
            Self::Valkey => "valkey-benchmark",
        }
    }

    /// The answer to `--version`: a script may read the version that is stood in for.
    pub(super) fn version(self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        match self {
            Self::Redyno => format!("redyno bench {own}\n"),
            Self::Redis => format!("redis-benchmark 8.0.0 (redyno {own})\n"),
            Self::Valkey => format!("valkey-benchmark 9.1.0 (redyno {own})\n"),
        }
    }

    /// What a server is called that cannot be reached.
    pub(super) fn server(self) -> &'static str {
        if self == Self::Valkey { "server" } else { "Redis" }
    }

    /// Whether it has an option of `who`.
    pub(super) fn takes(self, who: Who) -> bool {
        who != Who::Valkey || self != Self::Redis
    }
}
