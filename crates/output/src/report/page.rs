//! The HTML page of a report: a single file with its pictures, its script and the script's data.

use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    chart::Chart,
    comparison::ReportComparison,
    hdr_curves, knob_curve,
    node_report::NodeReport,
    over_time,
    svg::{self, AxisItem, Band, SessionAxis},
    table::ReportTable,
    tables,
};
use crate::{
    session::figures::{self, Figure, Row},
    units,
};

/// The page's script: uPlot unchanged, with its licence, and the code that uses uPlot.
const SCRIPT: &str = concat!(
    "/*\n",
    include_str!("../../../../assets/uplot/LICENSE"),
    "\n*/\n",
    include_str!("../../../../assets/uplot/uPlot.iife.min.js"),
    "\n",
    include_str!("page.js")
);
const STYLE: &str =
    concat!(include_str!("../../../../assets/uplot/uPlot.min.css"), "\n", include_str!("page.css"));

/// The content security policy, which allows only the page's own script and style.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
});

/// The maximum number of events and marks on a time axis.
const MOST_MOMENTS: usize = 500;

/// The data for the page's script.
#[derive(Serialize)]
struct Data<'a> {
    sessions: Vec<SessionData<'a>>,
    comparison: Option<&'a Chart>,
}

#[derive(Serialize)]
struct SessionData<'a> {
    id: &'a str,
    name: &'a str,
    /// The start and the end of the session, in seconds.
    ends_s: (f64, f64),
    /// The number of each segment, and its start and end in seconds.
    segments: Vec<(u32, f64, f64)>,
    /// Each event and mark: its time in seconds, whether it is a mark, and its text.
    moments: Vec<(f64, bool, &'a str)>,
    charts: &'a [Chart],
    /// The figures, in the format of `redyno export --format json`.
    figures: &'a RawValue,
}

/// The part of the page about a session.
struct Section {
    id: String,
    name: String,
    line: String,
    stage: SessionAxis,
    charts: Vec<Chart>,
    tiles: Vec<(&'static str, String)>,
    tables: Vec<ReportTable>,
    figures: Box<RawValue>,
}

/// Returns the page of these sessions.
pub(super) fn page(accounts: &mut [NodeReport]) -> String {
    let comparison = ReportComparison::of(accounts);
    let sections: Vec<_> = accounts.iter_mut().enumerate().map(|(n, account)| section(n, account)).collect();
    let data = Data {
        sessions: sections.iter().map(Section::data).collect(),
        comparison: comparison.as_ref().and_then(|comparison| comparison.curves.as_ref()),
    };
    // Strings and numbers can always be encoded. Without a `<`, the data cannot end its element or begin a comment.
    let data = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
    let names: Vec<_> = sections.iter().map(|section| section.name.as_str()).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(*POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "redyno: " (names.join(", ")) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if let Some(comparison) = &comparison { (compared(comparison, &sections)) }
                @for section in &sections { (section.markup()) }
                footer { p { "Made by redyno " (env!("CARGO_PKG_VERSION")) ". Charts by uPlot 1.6.32, MIT licence." } }
                script type="application/json" id="data" { (PreEscaped(data)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn section(n: usize, account: &mut NodeReport) -> Section {
    let id = format!("r{n}");
    // The JSON comes from redyno's own exporter.
    let figures = RawValue::from_string(account.figures().trim_end().to_owned()).unwrap_or_default();
    let mut charts = over_time::charts(account);
    charts.extend(knob_curve::charts(account));
    charts.extend(hdr_curves::of_segments(account));
    charts.iter_mut().for_each(|chart| chart.id.insert_str(0, &format!("{id}-")));
    Section {
        name: account.name(),
        line: line(account),
        stage: stage(account),
        charts,
        tiles: tiles(account),
        tables: tables::all(account),
        figures,
        id,
    }
}

/// Returns a line about the session: the server, the start, the length and the tool.
pub(super) fn line(account: &NodeReport) -> String {
    let length = units::run_length(account.timeline.measured_s());
    let Some(session) = account.timeline.session() else { return length };
    let target = &session.target;
    let started =
        session.wall_clock().map_or_else(|| session.started.clone(), |clock| clock.date(session.from_s));
    let address = target.named_address();
    let parts = [&address, &target.server, &target.role, &started];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
    format!("{}, {length} long, by {}", parts.join(", "), session.tool)
}

fn stage(account: &NodeReport) -> SessionAxis {
    let timeline = &account.timeline;
    let (from_s, until_s) = (timeline.begins_s(), timeline.now_s);
    let bands = timeline.segments.iter().map(|segment| Band {
        number: segment.start.segment,
        from_s: segment.start.t_s,
        to_s: segment.ended_s.unwrap_or(until_s),
    });
    let marks =
        timeline.marks().map(|mark| AxisItem { t_s: mark.t_s, is_mark: true, words: mark.text.clone() });
    let events = timeline.events().map(|event| AxisItem {
        t_s: event.t_s,
        is_mark: false,
        words: timeline.words().worded(format!("{}: {}", event.what.name(), event.what)),
    });
    SessionAxis {
        ends_s: (from_s, until_s),
        bands: bands.collect(),
        moments: marks.chain(events).take(MOST_MOMENTS).collect(),
    }
}

/// Returns the main figures of the session, each with its name; empty without a load.
fn tiles(account: &NodeReport) -> Vec<(&'static str, String)> {
    let summary = account.timeline.summary();
    let row = Row::of_summary(&summary);
    let levels: [Figure; 5] = if account.is_open() { figures::RESPONSE } else { figures::SERVICE };
    let all = [figures::OPS_PER_S].into_iter().chain(levels).chain([figures::ERRORS, figures::OPS]);
    let has_load = summary.ops > 0 || summary.due > 0;
    all.filter(|_| has_load).filter_map(|figure| Some((figure.heading, figure.written(&row)?))).collect()
}

impl Section {
    fn data(&self) -> SessionData<'_> {
        SessionData {
            id: &self.id,
            name: &self.name,
            ends_s: self.stage.ends_s,
            segments: self.stage.bands.iter().map(|band| (band.number, band.from_s, band.to_s)).collect(),
            moments: self.stage.moments.iter().map(|it| (it.t_s, it.is_mark, it.words.as_str())).collect(),
            charts: &self.charts,
            figures: &self.figures,
        }
    }

    fn markup(&self) -> Markup {
        html! {
            section id=(self.id) {
                h1 { (self.name) }
                p.about { (self.line) }
                @if !self.tiles.is_empty() {
                    p.note { "All segments together, without warm-up and prefill:" }
                    dl.tiles { @for (name, value) in &self.tiles { div { dt { (name) } dd { (value) } } } }
                }
                p.help { "Drag over a chart to zoom, and double-click to show the whole session again. Click a segment in a chart or in the table to select it." }
                @for chart in &self.charts { (figure(chart, &self.stage)) }
                @for table in &self.tables { (table_markup(table, &self.id)) }
            }
        }
    }
}

fn compared(comparison: &ReportComparison, sections: &[Section]) -> Markup {
    html! {
        section id="comparison" {
            h1 { "Comparison" }
            ul { @for section in sections { li { a href={ "#" (section.id) } { (section.name) } " – " (section.line) } } }
            @for why in &comparison.left_out { p.note { "Not compared: " (why) "." } }
            @for table in &comparison.tables { (table_markup(table, "comparison")) }
            @if let Some(chart) = &comparison.curves { (figure(chart, &SessionAxis::default())) }
        }
    }
}

fn figure(chart: &Chart, stage: &SessionAxis) -> Markup {
    html! {
        figure id=(chart.id) {
            figcaption { (chart.title) }
            div.static { (svg::legend(chart)) div.scroll { (svg::picture(chart, stage)) } }
            @if !chart.note.is_empty() { p.note { (chart.note) } }
        }
    }
}

fn table_markup(table: &ReportTable, section: &str) -> Markup {
    let class = |n: usize| table.numbers.contains(&n).then_some("number");
    html! {
        div.table {
            h2 { (table.title) }
            div.scroll {
                table {
                    @if table.headings.iter().any(|heading| !heading.is_empty()) {
                        thead { tr { @for (n, heading) in table.headings.iter().enumerate() { th class=[class(n)] { (heading) } } } }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr data-segment=[row.segment.map(|number| format!("{section}-{number}"))] {
                                @for (n, cell) in row.cells.iter().enumerate() { td class=[class(n)] { (cell) } }
                            }
                        }
                    }
                }
            }
            @if !table.note.is_empty() { p.note { (table.note) } }
        }
    }
}
