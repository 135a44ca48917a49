//! Presets: common combinations of the load settings (knobs), each with a name.

use super::{Arrivals, Knobs};
use crate::workload::Workload;

/// A named combination of values for all knobs (the settings of the load). A preset does not switch the load
/// on or off.
#[derive(Debug, Clone, Copy)]
pub struct KnobPreset {
    /// The preset's name.
    pub name: &'static str,
    /// A short description.
    pub like: &'static str,
    knobs: fn() -> Knobs,
}

/// Returns the base settings of all presets: a cache with ten reads for each write.
fn cache() -> Knobs {
    Knobs { workload: Workload::ratio(1, 10), value_size: 256, keyspace: 100_000, ..Knobs::default() }
}

macro_rules! presets {
    ($($name:literal $like:literal { $($knob:ident: $value:expr),* })*) => {
        /// All presets, from usual loads to extreme ones.
        pub const PRESETS: &[KnobPreset] =
            &[$(KnobPreset { name: $name, like: $like, knobs: || Knobs { $($knob: $value,)* ..cache() } },)*];
    };
}

presets! {
    "cache" "ten reads for each write of a small value"
        {}
    "mixed" "one write for each read"
        { workload: Workload::ratio(1, 1) }
    "write-heavy" "ingest: nine writes for each read"
        { workload: Workload::ratio(9, 1), value_size: 1024 }
    "read-only" "only GET, of existing keys"
        { workload: Workload::ratio(0, 1) }
    "big-values" "pages and documents of 4 KiB"
        { value_size: 4096 }
    "sessions" "a web site's sessions: many clients, a write for every four reads, Poisson arrivals"
        { clients: 200, rate: Some(5000), arrivals: Arrivals::Poisson, workload: Workload::ratio(1, 4), value_size: 1024 }
    "gentle" "an open loop of 1000 requests a second, safe for a production server"
        { clients: 10, rate: Some(1000), arrivals: Arrivals::Poisson }
    "benchmark" "what redis-benchmark does by default: SETs of three bytes"
        { workload: Workload::ratio(1, 0), value_size: 3, keyspace: 1 }
    "pipeline-16" "sixteen requests in flight on each connection"
        { pipeline: 16 }
    "saturate" "the most throughput: many clients, deep pipelines, tiny values"
        { clients: 200, pipeline: 32, value_size: 32 }
}

impl KnobPreset {
    /// Returns the preset's settings, with the load on or off as in `knobs`.
    pub fn of(&self, knobs: &Knobs) -> Knobs {
        Knobs { load: knobs.load, ..(self.knobs)() }
    }

    /// Returns the preset's settings on one line.
    pub fn settings(&self) -> String {
        Knobs { load: true, ..(self.knobs)() }.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_preset_is_within_the_ranges_of_the_knobs_and_has_its_own_name() {
        for preset in PRESETS {
            assert_eq!((preset.knobs)().checked(), Ok((preset.knobs)()), "{}", preset.name);
        }
        let names: BTreeSet<_> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), PRESETS.len());
        let settings: BTreeSet<_> = PRESETS.iter().map(KnobPreset::settings).collect();
        assert_eq!(settings.len(), PRESETS.len(), "two presets are the same");
    }

    #[test]
    fn a_preset_leaves_the_load_on_or_off() {
        for load in [false, true] {
            assert_eq!(PRESETS[0].of(&Knobs { load, ..Knobs::default() }).load, load);
        }
    }
}
