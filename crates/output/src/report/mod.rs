//! Reports about sessions: an offline HTML page, Markdown for a ticket, or text for a terminal.
//!
//! ```text
//! records ─► Report ─► NodeReport, one for each node   ─┬─► charts ─┬─► svg: pictures ─────┐
//!   (push)             of each session                    │           └─► data of the script ├─► page: HTML
//!                                                         ├─► tables, environment ───────────┤
//!                                                         └─► compare ───────────────────────┴─► ticket: Markdown
//! ```
//! A [`Report`] is a [`Sink`] for the records of a running session or of a recording. [`finish`](Sink::finish) returns
//! the whole report so far. You can call `finish` at any time, and more than once. If the records contain several
//! sessions, the report compares each further session with the first.
//!
//! Every figure comes from [the table of figures](crate::session::figures) or from the histograms in the
//! records. A point of a chart is the exact sum over its period.
//!
//! Text from servers, recordings and users never becomes markup. The crate maud writes the HTML and escapes
//! all text. The script's data is JSON without `<`. The page's content security policy allows only the page's
//! own script and style, by their hashes.

mod chart;
mod comparison;
mod environment;
mod hdr_curves;
mod heat_map;
mod knob_curve;
pub(crate) mod monitored;
mod node_report;
mod over_time;
mod page;
mod point_series;
mod scale;
mod svg;
mod table;
mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;

use self::{comparison::ReportComparison, node_report::NodeReport, table::ReportTable};
use crate::{
    export::markdown_text,
    session::{Record, Sink},
};

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportForm {
    /// A page for a browser.
    Html,
    /// Markdown, for a ticket.
    Markdown,
    /// Aligned text, for a terminal.
    Text,
}

impl ReportForm {
    /// Returns the extension of a file in this form.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Text => "txt",
        }
    }

    /// Returns the form of a file with this name; `None` if its extension is unknown.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// The name of a recording, and its segments to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportSource {
    /// The name of the recording in the report.
    pub name: String,
    /// The segments to compare. If the list is empty, the session must have a single segment under load, and the report
    /// compares this segment.
    pub segments: Vec<u32>,
}

/// A report about one or more sessions, built from their records.
pub struct Report {
    form: ReportForm,
    /// The names of the sessions, in order. Further sessions have no name.
    sources: Vec<ReportSource>,
    /// The number of sessions that have begun.
    begun: usize,
    accounts: Vec<NodeReport>,
    /// The index of the present session's first account. An account is the data of one node of a session.
    present: usize,
}

impl Report {
    /// Creates a report about sessions with these names, given in the order of their records.
    pub fn of(form: ReportForm, sources: Vec<ReportSource>) -> Self {
        Self { form, sources, begun: 0, accounts: Vec::new(), present: 0 }
    }

    /// Begins a [`NodeReport`] for a new node if `record` shows that the node has joined the present session.
    fn follow(&mut self, record: &Record) {
        let Record::Event(_) = record else { return };
        let accounts = &self.accounts[self.present..];
        let session = accounts.first().and_then(|account| account.timeline.session());
        if let Some(mut session) = session.cloned()
            && session.follow(record)
        {
            let mut account = NodeReport::new(accounts[0].source.clone(), accounts.len() as u16);
            account.push(&Record::Session(session));
            self.accounts.push(account);
        }
    }

    /// Begins a session, with one account for each of its nodes.
    fn begin(&mut self, nodes: usize) {
        self.present = self.accounts.len();
        let source = self.sources.get(self.begun).cloned().unwrap_or_default();
        self.begun += 1;
        self.accounts.extend((0..nodes).map(|node| NodeReport::new(source.clone(), node as u16)));
    }
}

impl Sink for Report {
    fn push(&mut self, record: &Record) -> Vec<String> {
        if let Record::Session(session) = record {
            self.begin(1 + session.nodes.len());
        } else if self.accounts.is_empty() {
            self.begin(1);
        }
        self.follow(record);
        self.accounts[self.present..].iter_mut().for_each(|account| account.push(record));
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        vec![match self.form {
            ReportForm::Html => page::page(&mut self.accounts),
            ReportForm::Markdown => ticket(&self.accounts),
            ReportForm::Text => self.accounts.iter().map(plain).collect(),
        }]
    }
}

/// Returns the report as Markdown: the tables, without pictures.
fn ticket(accounts: &[NodeReport]) -> String {
    let mut text = String::new();
    if let Some(comparison) = ReportComparison::of(accounts) {
        text += "## Comparison\n\n";
        text.extend(comparison.tables.iter().map(ReportTable::markdown));
        text.extend(
            comparison.left_out.iter().map(|why| format!("Not compared: {}.\n\n", markdown_text(why))),
        );
    }
    accounts.iter().for_each(|account| text += &of_account(account));
    text
}

/// Returns a session as aligned text.
fn plain(account: &NodeReport) -> String {
    let tables: String = tables::all(account).iter().map(ReportTable::text).collect();
    format!("{}\n\n{tables}", page::line(account))
}

fn of_account(account: &NodeReport) -> String {
    let mut text = format!("## {}\n\n", markdown_text(&account.name()));
    for chart in knob_curve::charts(account).iter().filter(|chart| !chart.note.is_empty()) {
        text += &format!("{}\n\n", markdown_text(&chart.note));
    }
    text.extend(tables::all(account).iter().map(ReportTable::markdown));
    text
}
