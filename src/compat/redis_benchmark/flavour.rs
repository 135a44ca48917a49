//! Whose benchmark it is.

use std::{ffi::OsStr, path::Path};

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

/// Who has an option or a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Redis and Valkey.
    Both,
    /// Valkey alone.
    Valkey,
    /// Neither: it is ours.
    Ours,
}

impl Flavour {
    /// That of a program called by this path.
    pub(super) fn of_program(path: &OsStr) -> Option<Self> {
        match Path::new(path).file_name()?.to_str()? {
            "redis-benchmark" => Some(Self::Redis),
            "valkey-benchmark" => Some(Self::Valkey),
            _ => None,
        }
    }

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
