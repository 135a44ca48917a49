//! Exports a session as Markdown for an issue tracker: a line about the session, and a table of its segments,
//! operations, nodes and agents.

use super::{
    Format, FormatContents,
    sheet::{Sheet, SheetRow, SummarySink},
};
use crate::{
    session::figures::{self, Figure},
    units,
};

/// The columns of the table. If there are receivers, the columns of their messages follow.
const COLUMNS: [Figure; 10] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::RESPONSE_P50,
    figures::RESPONSE_P99,
    figures::RESPONSE_P999,
    figures::ERRORS,
    figures::RECEIVED,
];

/// The Markdown format.
pub(super) const MARKDOWN: Format =
    Format::new("markdown", "md", "tables for a ticket", FormatContents::Summary, |_, _| {
        SummarySink::of(None, tables)
    });

/// Returns the line about the session and the table.
fn tables(sheet: &Sheet, _: Option<&str>) -> Vec<String> {
    let summary = sheet.timeline.summary();
    let operations = sheet.timeline.operations();
    let head = sheet.timeline.session().map(|session| {
        let target = [session.target.address.as_str(), &session.target.server, &session.target.role];
        let target = target.map(escaped).join(" ");
        format!(
            "**{}**, {} on {}, {}\n\n",
            target.trim(),
            escaped(&session.tool),
            escaped(&session.started),
            units::count_with_noun(session.host.cores as u64, "core")
        )
    });
    let mut rows: Vec<_> = sheet.segments().into_iter().map(|line| (named(&line), line)).collect();
    if operations.len() > 1 {
        let lines = SheetRow::of_operations(&summary, &operations);
        rows.extend(lines.map(|line| (escaped(line.words()[3]), line)));
    }
    let (nodes, agents) = (sheet.timeline.nodes(), sheet.timeline.agents());
    let nodes = sheet.of_nodes(&summary, &nodes).into_iter();
    rows.extend(nodes.map(|line| (escaped(line.words()[4]), line)));
    let agents = sheet.of_agents(&summary, &agents).into_iter();
    rows.extend(agents.map(|line| (format!("agent {}", escaped(line.words()[4])), line)));
    rows.push(("all".to_owned(), SheetRow::of_summary(&summary)));
    vec![head.unwrap_or_default() + &table(&rows)]
}

/// Returns the title of a segment's row: its number, its phase and its knobs.
fn named(line: &SheetRow) -> String {
    let row = &line.row;
    let knobs = row.knobs.map_or_else(String::new, |knobs| escaped(&knobs.to_string()));
    let phase = if line.words()[1] == "load" { "" } else { line.words()[1] };
    let words = [format!("{}", row.segment), phase.to_owned(), knobs];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns the table of these rows. A column without any value is left out.
fn table(rows: &[(String, SheetRow)]) -> String {
    let is_known = |figure: &&Figure| rows.iter().any(|(_, line)| figure.value(&line.row).is_some());
    let columns: Vec<_> = COLUMNS.iter().chain(&figures::OF_RECEIVERS).filter(is_known).collect();
    let headings: Vec<_> = columns.iter().map(|figure| figure.heading).collect();
    let mut text = format!("| segment | {} |\n|---|{}\n", headings.join(" | "), "--:|".repeat(columns.len()));
    for (name, line) in rows {
        let cells: Vec<_> = columns.iter().map(|figure| figure.cell(&line.row)).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text
}

/// Returns text escaped for Markdown and for HTML, because a reader may convert Markdown to HTML.
pub fn escaped(text: &str) -> String {
    let special = |c: char| c.is_ascii_punctuation() && !".,:;()/+-=%'".contains(c);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '\n' | '\r' => out.push(' '),
            c => {
                if special(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}
