//! A session as one run of memtier_benchmark. Each operation is a row of the table, and a warm-up and a prefill are
//! left out. Values that are not in the records, such as the connections of each thread, are `null`.

use super::{
    report::{PERCENTILES, json, plural},
    results::{ResultRow, Results, TitledResults},
    value::{JsonValue, truth},
};
use crate::{
    export::{Format, FormatContents},
    session::{Interval, Record, SessionStart, Sink, Tally},
};

/// The JSON of memtier_benchmark.
pub(in crate::export) const MEMTIER_JSON: Format = Format::new(
    "memtier-json",
    "json",
    "memtier_benchmark's JSON; an unknown value is null",
    FormatContents::Summary,
    |_, _| Box::new(MemtierJson::default()),
);

/// The writer of memtier_benchmark's JSON, at the end of the session.
#[derive(Debug, Default)]
pub(in crate::export) struct MemtierJson {
    session: Option<SessionStart>,
    tally: Tally,
    results: Results,
    /// The operations in the order of their first appearance.
    operations: Vec<String>,
    rows: Vec<String>,
    /// The connections and the pipeline of each counted segment under load, without duplicates.
    shapes: Vec<(u32, u32)>,
}

impl Sink for MemtierJson {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.tally.push(record);
        match record {
            Record::Session(session) => {
                let started = session.started_at();
                self.results.started_ms = started.map_or(0, |at| at.unix_timestamp().max(0) as u64 * 1000);
                self.session = Some(session.clone());
            }
            Record::Segment(segment) if segment.aside().is_none() && segment.knobs.load => {
                let shape = (segment.knobs.clients, segment.knobs.pipeline);
                if !self.shapes.contains(&shape) {
                    self.shapes.push(shape);
                }
            }
            Record::Interval(interval) if self.tally.counts(interval.segment) => self.add(interval),
            _ => {}
        }
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        self.results.length_s = self.tally.summary().length_s;
        self.results.started_ms += (self.results.began_s.unwrap_or_default() * 1e3) as u64;
        let report = TitledResults {
            has_transactions: false,
            title: "ALL STATS",
            rows: &self.rows,
            results: &self.results,
            percentiles: &PERCENTILES,
            has_distributions: true,
            more: None,
        };
        let information = vec![
            ("Threads", JsonValue::Null),
            ("Connections per thread", JsonValue::Null),
            ("Seconds", (self.results.length_s.round() as u64).into()),
        ];
        // Strings and numbers can always be encoded.
        serde_json::to_string_pretty(&json(self.configuration(), information, &[report]))
            .map(|text| text + "\n")
            .into_iter()
            .collect()
    }
}

impl MemtierJson {
    fn add(&mut self, interval: &Interval) {
        for name in interval.commands.keys() {
            if !self.operations.contains(name) {
                self.operations.push(name.clone());
                self.rows.push(self.unused(name));
                self.results.rows.push(ResultRow::default());
            }
        }
        let operations = &self.operations;
        self.results.add(interval, |name| operations.iter().position(|known| known == name));
    }

    /// Returns a name for the row of an operation. No other field of the JSON object has this name, because a
    /// JSON reader would lose one of two fields with the same name.
    fn unused(&self, name: &str) -> String {
        let is_used = |name: &str| {
            let others = self.rows.iter().any(|row| row == name || plural(row) == name);
            others || ["Runtime", "Totals"].contains(&name)
        };
        let mut row = name.to_owned();
        for n in 2.. {
            if !is_used(&row) && !is_used(&plural(&row)) {
                break;
            }
            row = format!("{name} ({n})");
        }
        row
    }

    /// Returns the server, and the settings that did not change during the session.
    fn configuration(&self) -> JsonValue {
        let target = self.session.as_ref().map(|session| &session.target);
        let address = target.map_or("", |target| &target.address);
        let (server, port) = address.rsplit_once(':').unwrap_or_default();
        let is_tcp = port.parse::<u16>().is_ok();
        vec![
            ("server", if is_tcp { server.trim_matches(['[', ']']) } else { "" }.into()),
            ("port", u32::from(port.parse::<u16>().unwrap_or_default()).into()),
            ("unix socket", if is_tcp { "" } else { address }.into()),
            ("tls", truth(target.is_some_and(|target| !target.tls.is_none()))),
            ("threads", JsonValue::Null),
            ("clients", JsonValue::Null),
            // memtier_benchmark has no field for the number of all connections, only for the connections of
            // each thread.
            ("connections", self.setting(|(connections, _)| connections)),
            ("pipeline", self.setting(|(_, pipeline)| pipeline)),
        ]
        .into()
    }

    /// Returns a setting if it was the same during the whole load, and null otherwise.
    fn setting(&self, of: fn((u32, u32)) -> u32) -> JsonValue {
        let mut all = self.shapes.iter().copied().map(of);
        let first = all.next();
        first.filter(|first| all.all(|other| other == *first)).into()
    }
}
