//! Exports a session as HdrHistogram's interval log, version 1.3: the histograms of each second. HdrHistogram
//! libraries of many languages read this log.
//!
//! ```text
//! #[Histogram log format version 1.3]
//! #[BaseTime: 1790000000.000 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! 0.000000,1.000125,1.204731,HISTFAAA…            all service times, ns
//! Tag=response,0.000000,1.000125,2.018303,HISTFAAA…
//! Tag=GET,0.000000,1.000125,1.204731,HISTFAAA…
//! Tag=delivery,0.000000,1.000125,1.204731,HISTFAAA…   from sending to receipt
//! ```
//! Values within the histograms are in nanoseconds. `Interval_Max` is in milliseconds, as in logs that the libraries
//! write. The lines of a warm-up have the tag `warm-up`, and the lines of a prefill the tag `prefill`. The lines
//! without a tag therefore add up to the summary.
//!
//! The percentile text (`.hgrm`) has one histogram of the whole session without its warm-up, in milliseconds. The
//! plotter of hdrhistogram.org and similar tools read this text.

use super::{
    Format, FormatContents,
    sheet::{Sheet, SummarySink},
};
use crate::{
    session::{Interval, Record, Sink, Timeline},
    stats::{Latency, percentile_table},
    units,
};

/// The interval log of HdrHistogram, in nanoseconds.
pub(super) const HDR_LOG: Format = Format::new(
    "hlog",
    "hlog",
    "HdrHistogram's interval log in ns, a tag per operation",
    FormatContents::Asides,
    |_, _| Box::new(HdrLog::default()),
);

/// The writer of the log.
#[derive(Debug, Default)]
pub(super) struct HdrLog {
    /// The timeline of the segments, which shows the warm-ups and the prefills.
    timeline: Timeline,
}

impl Sink for HdrLog {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.timeline.push(record);
        match record {
            Record::Session(session) => {
                let epoch_s = session.started_at().map_or(0, time::OffsetDateTime::unix_timestamp);
                vec![format!(
                    "#[Histogram log format version 1.3]\n#[{}, {}]\n#[StartTime: {epoch_s}.000 (seconds since \
                     epoch), {}]\n#[BaseTime: {epoch_s}.000 (seconds since epoch)]\n{LEGEND}\n",
                    session.tool, session.target.address, session.started
                )]
            }
            Record::Interval(interval) => self.lines(interval),
            _ => Vec::new(),
        }
    }
}

const LEGEND: &str = r#""StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram""#;

impl HdrLog {
    fn lines(&self, interval: &Interval) -> Vec<String> {
        let segment = self.timeline.segments.numbered(interval.segment);
        if let Some(aside) = segment.and_then(|segment| segment.start.aside()) {
            return line(interval, aside, &interval.service).into_iter().collect();
        }
        let mut lines: Vec<_> = line(interval, "", &interval.service).into_iter().collect();
        lines.extend(interval.response.as_ref().and_then(|response| line(interval, RESPONSE, response)));
        for (name, operation) in &interval.commands {
            lines.extend(line(interval, &tag(name), &operation.service));
        }
        let received = interval.arrivals.iter();
        lines.extend(received.filter_map(|(name, received)| line(interval, name, &received.times)));
        lines
    }
}

const RESPONSE: &str = "response";

/// Returns the tag for an operation. Characters that the format forbids become `_`. An operation with the name of
/// another tag, such as `response`, gets a `_` at its end.
fn tag(name: &str) -> String {
    let tag: String =
        name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    if [RESPONSE, "delivery", "handover", "invalidation", "prefill", "warm-up", ""].contains(&tag.as_str()) {
        tag + "_"
    } else {
        tag
    }
}

/// Returns the line of a histogram; `None` without samples. The histogram lacks values above 60 s. If there are values
/// above 60 s, a comment line with their number follows.
fn line(interval: &Interval, tag: &str, latency: &Latency) -> Option<String> {
    if latency.is_empty() {
        return None;
    }
    let tag = if tag.is_empty() { String::new() } else { format!("Tag={tag},") };
    let (start_s, max_ms) = (interval.t_s - interval.length_s, latency.max_ns() as f64 / 1e6);
    let text = latency.hdr_text();
    let mut line = format!("{tag}{start_s:.6},{:.6},{max_ms:.6},{text}\n", interval.length_s);
    if latency.over_range() > 0 {
        let above = units::count_with_noun(latency.over_range(), "value");
        line += &format!("#[no histogram contains {above} above 60 s]\n");
    }
    Some(line)
}

/// The percentile text of HdrHistogram, in milliseconds.
pub const PERCENTILES: Format = Format::new(
    "hgrm",
    "hgrm",
    "HdrHistogram's percentile text, in milliseconds",
    FormatContents::Summary,
    |_, tag| SummarySink::of(tag, table),
);

/// Returns the percentile table of the latencies that `tag` selects. The tag `response` selects the response
/// times, and the name of an operation selects the service times of the operation. The kind of messages that receivers
/// got, such as `delivery`, selects their times. `None` selects all service times.
fn table(sheet: &Sheet, tag: Option<&str>) -> Vec<String> {
    let summary = sheet.timeline.summary();
    let latency: Latency = match tag {
        None => summary.service,
        Some("response") => summary.response.unwrap_or_default(),
        Some(name) => {
            let mut received = summary.arrivals.iter().filter(|(kind, _)| *kind == name);
            match sheet.timeline.operations().remove(name) {
                Some(operation) => operation.service,
                None => received.next().map(|(_, received)| received.times.clone()).unwrap_or_default(),
            }
        }
    };
    vec![percentile_table(&latency)]
}
