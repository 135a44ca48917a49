//! A comparison as text: for a terminal, in Markdown, as JSON.

use serde::Serialize;

use crate::{
    compare::{Compared, Crossed, Run, Table},
    foreign,
    print::lines::server_line,
    units::clock,
};

/// What is told of a comparison.
pub(crate) struct Told<'a> {
    pub(crate) base: &'a [Run],
    pub(crate) new: &'a [Run],
    pub(crate) table: &'a Table,
    pub(crate) misfits: &'a [String],
    pub(crate) crossed: &'a [Crossed],
}

#[derive(Serialize)]
struct Json<'a> {
    kind: &'static str,
    base: Vec<String>,
    new: Vec<String>,
    sequential: bool,
    differs: &'a [String],
    table: &'a [Compared],
    crossed: Vec<String>,
}

impl Told<'_> {
    /// Below each other, for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}{}\n", side("base", self.base), side("new", self.new));
        let mut cells = vec![["", "base", "new", "new against base", ""].map(str::to_owned)];
        cells.extend(self.table.rows.iter().map(cells_of));
        let width = |n: usize| cells.iter().map(|row| row[n].chars().count()).max().unwrap_or_default();
        let [name, base, new, difference] = [width(0), width(1), width(2), width(3)];
        for row in &cells {
            let line = format!(
                "{:<name$}  {:>base$}  {:>new$}  {:<difference$}  {}",
                row[0], row[1], row[2], row[3], row[4]
            );
            text += line.trim_end();
            text.push('\n');
        }
        for note in self.notes() {
            text += &format!("\n{note}\n");
        }
        text
    }

    /// A table in Markdown, with what is to be known of it.
    pub(crate) fn markdown(&self) -> String {
        let mut text = "| | base | new | new against base | |\n|---|--:|--:|---|---|\n".to_owned();
        for row in &self.table.rows {
            text += &format!(
                "| {} |\n",
                cells_of(row).map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).join(" | ")
            );
        }
        for crossed in self.crossed {
            text += &format!("\n**{}**\n", crossed.to_string().replace('<', "&lt;"));
        }
        for note in self.notes() {
            text += &format!("\n{}\n", note.replace('<', "&lt;"));
        }
        text
    }

    /// One JSON object.
    pub(crate) fn json(&self) -> String {
        let names = |runs: &'_ [Run]| runs.iter().map(|run| run.name.clone()).collect::<Vec<_>>();
        let json = Json {
            kind: "comparison",
            base: names(self.base),
            new: names(self.new),
            sequential: self.table.is_sequential,
            differs: self.misfits,
            table: &self.table.rows,
            crossed: self.crossed.iter().map(ToString::to_string).collect(),
        };
        // Strings and numbers can always be encoded.
        serde_json::to_string(&json).unwrap_or_default() + "\n"
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.misfits.is_empty() {
            notes.push(format!("not of one kind: {}", self.misfits.join("; ")));
        }
        if self.base.len() == 1 && self.new.len() == 1 {
            if self.base[0].session != self.new[0].session {
                let text =
                    "one run of each does not tell a difference from drift: repeat both, in alternation";
                notes.push(text.to_owned());
            }
        } else if self.table.is_sequential {
            let text = "all runs of one side came before those of the other: what the machine did meanwhile is in the \
                        differences; measure them in alternation";
            notes.push(text.to_owned());
        }
        notes
    }
}

fn cells_of(row: &Compared) -> [String; 5] {
    [foreign::text(&row.name()), row.written(0), row.written(1), row.difference(), row.words()]
}

/// `base  before.jsonl  127.0.0.1:6379  redis 7.0.15 master  50 clients × 1, …, 00:30`
fn side(name: &str, runs: &[Run]) -> String {
    let line = |run: &Run| {
        let length = clock(run.segment.total.length_s);
        let server = foreign::text(&server_line(&run.session));
        format!("{name:<4}  {}  {server}  {}, {length}\n", foreign::text(&run.name), run.segment.start.knobs)
    };
    runs.iter().map(line).collect()
}
