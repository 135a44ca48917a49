//! Prints a comparison in three forms: text for a terminal, Markdown, and JSON.

use serde::Serialize;

use crate::{
    compare::{DifferenceTable, MetCondition, Run, RunComparison},
    export::markdown_text,
    print::lines::server_line,
    units::run_length,
    untrusted,
};

/// A comparison to print.
pub struct PrintedComparison<'a> {
    /// The runs of the baseline.
    pub base: &'a [Run],
    /// The runs that are compared with the baseline.
    pub new: &'a [Run],
    /// The differences.
    pub compared: &'a RunComparison,
    /// The conditions of `--fail-if` that are met.
    pub crossed: &'a [MetCondition],
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    kind: &'static str,
    base: Vec<&'a str>,
    new: Vec<&'a str>,
    sequential: bool,
    differs: &'a [String],
    table: &'a DifferenceTable,
    crossed: Vec<String>,
}

impl PrintedComparison<'_> {
    /// Returns the comparison as aligned text, for people.
    pub fn text(&self) -> String {
        let notes: String = self.compared.notes().iter().map(|note| format!("\n{note}\n")).collect();
        let table = self.compared.table.text();
        format!("{}{}\n{table}{notes}", side("base", self.base), side("new", self.new))
    }

    /// Returns the comparison as a Markdown table, with its notes.
    pub fn markdown(&self) -> String {
        let crossed = self.crossed.iter().map(|it| format!("\n**{}**\n", markdown_text(&it.to_string())));
        let notes = self.compared.notes().into_iter().map(|note| format!("\n{}\n", markdown_text(&note)));
        let notes: String = crossed.chain(notes).collect();
        self.compared.table.markdown() + &notes
    }

    /// Returns the comparison as one JSON object.
    pub fn json(&self) -> String {
        let json = ComparisonJson {
            kind: "comparison",
            base: self.base.iter().map(|run| run.name.as_str()).collect(),
            new: self.new.iter().map(|run| run.name.as_str()).collect(),
            sequential: self.compared.is_sequential,
            differs: &self.compared.mismatches,
            table: &self.compared.table,
            crossed: self.crossed.iter().map(ToString::to_string).collect(),
        };
        // Strings and numbers can always be encoded.
        serde_json::to_string(&json).unwrap_or_default() + "\n"
    }
}

/// Returns a line for each run: `base  before.jsonl  127.0.0.1:6379  redis 7.0.15 master  50 clients × 1, …, 00:30`.
fn side(name: &str, runs: &[Run]) -> String {
    let line = |run: &Run| {
        let length = run_length(run.row().length_s);
        let server = untrusted::text(&server_line(&run.session.target));
        let knobs = &run.segment.start.knobs;
        let settings = if run.is_monitor() { "no load".to_owned() } else { knobs.to_string() };
        format!("{name:<4}  {}  {server}  {settings}, {length}\n", untrusted::text(&run.name))
    };
    runs.iter().map(line).collect()
}
