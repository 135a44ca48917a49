//! Named settings of all knobs, as the field uses them.

use super::{Arrivals, Knobs};
use crate::workload::Workload;

/// A named setting of all knobs but the switch of the load.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is like, in a few words.
    pub like: &'static str,
    knobs: fn() -> Knobs,
}

/// What the presets are written as a difference to: a cache that is read ten times for each write.
fn cache() -> Knobs {
    Knobs { workload: Workload::ratio(1, 10), value_size: 256, keyspace: 100_000, ..Knobs::default() }
}

/// All presets, from the usual to the extreme.
pub const PRESETS: &[Preset] = &[
    Preset { name: "cache", like: "ten reads for each write of a small value", knobs: cache },
    Preset {
        name: "mixed",
        like: "as many writes as reads",
        knobs: || Knobs { workload: Workload::ratio(1, 1), ..cache() },
    },
    Preset {
        name: "write-heavy",
        like: "ingest: nine writes for each read",
        knobs: || Knobs { workload: Workload::ratio(9, 1), value_size: 1024, ..cache() },
    },
    Preset {
        name: "read-only",
        like: "GET alone, of what is there already",
        knobs: || Knobs { workload: Workload::ratio(0, 1), ..cache() },
    },
    Preset {
        name: "big-values",
        like: "pages and documents of 4 KiB",
        knobs: || Knobs { value_size: 4096, ..cache() },
    },
    Preset {
        name: "sessions",
        like: "a web site's sessions: many clients, a write for every four reads, Poisson arrivals",
        knobs: || Knobs {
            clients: 200,
            rate: Some(5000),
            arrivals: Arrivals::Poisson,
            workload: Workload::ratio(1, 4),
            value_size: 1024,
            ..cache()
        },
    },
    Preset {
        name: "gentle",
        like: "an open loop of 1000 requests a second that a production server bears",
        knobs: || Knobs { clients: 10, rate: Some(1000), arrivals: Arrivals::Poisson, ..cache() },
    },
    Preset {
        name: "benchmark",
        like: "what redis-benchmark does by default: SETs of three bytes",
        knobs: || Knobs { workload: Workload::ratio(1, 0), value_size: 3, keyspace: 1, ..cache() },
    },
    Preset {
        name: "pipeline-16",
        like: "sixteen requests in flight on each connection",
        knobs: || Knobs { pipeline: 16, ..cache() },
    },
    Preset {
        name: "saturate",
        like: "as much as the server can: many clients, deep pipelines, tiny values",
        knobs: || Knobs { clients: 200, pipeline: 32, value_size: 32, ..cache() },
    },
];

impl Preset {
    /// `knobs` with everything but the switch of the load as this preset has it.
    pub fn of(&self, knobs: &Knobs) -> Knobs {
        Knobs { load: knobs.load, ..(self.knobs)() }
    }

    /// Its settings in a line.
    pub fn settings(&self) -> String {
        Knobs { load: true, ..(self.knobs)() }.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_preset_lies_in_the_range_of_the_knobs_and_has_a_name_of_its_own() {
        for preset in PRESETS {
            assert_eq!((preset.knobs)().checked(), Ok((preset.knobs)()), "{}", preset.name);
        }
        let names: BTreeSet<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), PRESETS.len());
        let settings: BTreeSet<_> = PRESETS.iter().map(Preset::settings).collect();
        assert_eq!(settings.len(), PRESETS.len(), "two presets are the same");
    }

    #[test]
    fn a_preset_leaves_the_load_on_or_off() {
        for load in [false, true] {
            assert_eq!(PRESETS[0].of(&Knobs { load, ..Knobs::default() }).load, load);
        }
    }
}
