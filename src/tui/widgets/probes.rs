//! Draws the lanes (small charts) of the probes and of the server's CPU use, on the common time axis. All
//! latencies share one scale. Without load, the lanes show the server's own figures, each on its own scale
//! from 0.
//!
//! A lane has one or more rows. The last row contains the name and the figures.

use ratatui::layout::Rect;

use super::{
    ChartContext,
    figures::{NONE, decade, figure, part_figure, ping_figure, trimmed},
    value_axis::top_of_bytes,
};
use crate::{
    app::Subject,
    gauge::{Gauge, GaugeKind, GaugeUnit},
    probe::Timing,
    session::{
        WatchedFigure,
        timeline::{ErrorCell, Level, LoadCell, Measure, PingCell, ServerCell},
    },
    stats::Latency,
    tui::{
        Ink, LogScale, Paint, from_column,
        layout::{PROBE_LANES, ScreenPlan},
        linear_top, row,
    },
    units,
};

/// The content of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LaneContent {
    Ping,
    PingMax,
    Kernel,
    SendLag,
    Wake,
    Intrinsic,
    Received,
    Of(Gauge),
    Errors,
}

use LaneContent::{Errors, Intrinsic, Kernel, Of, Ping, PingMax, Received, SendLag, Wake};

const CPU: LaneContent = Of(Gauge::Cpu);
const OPS: LaneContent = Of(Gauge::OpsPerS);

/// The lanes from top to bottom, each with a short and a long name. First come the lanes for network and server, then
/// the lanes for this machine, then the lanes for the server's own figures.
const LANES: &[(LaneContent, &str, &str)] = &[
    (Received, "recv", "receipt"),
    (Ping, "ping", "ping p50"),
    (PingMax, " max", "ping max"),
    (Kernel, "kern.", "kernel"),
    (SendLag, "lag", "send lag"),
    (Wake, "wake", "wake max"),
    (Intrinsic, "intr.", "intrins."),
    (CPU, "cpu", "srv cpu"),
    (OPS, "ops", "srv ops"),
    (Of(Gauge::BytesIn), "in", "net in"),
    (Of(Gauge::BytesOut), "out", "net out"),
    (Of(Gauge::UsedMemory), "mem", "memory"),
    (Of(Gauge::Clients), "conns", "clients"),
    (Of(Gauge::HitRate), "hits", "hit rate"),
    (Of(Gauge::EvictedKeys), "evict", "evicted"),
    (Errors, "errs", "errors"),
];

impl LaneContent {
    /// Returns the lanes for `subject`, the most important first.
    fn needed(subject: Subject, is_open: bool, has_receivers: bool) -> [Self; PROBE_LANES as usize] {
        use Gauge::{BytesIn, BytesOut, Clients, EvictedKeys, HitRate, UsedMemory};
        match subject {
            Subject::Load if has_receivers && is_open => {
                [Received, Ping, CPU, SendLag, Wake, PingMax, Errors, OPS]
            }
            Subject::Load if has_receivers => [Received, Ping, CPU, Wake, PingMax, Errors, Kernel, OPS],
            Subject::Load if is_open => [Ping, CPU, SendLag, Wake, PingMax, Errors, Kernel, OPS],
            Subject::Load => [Ping, CPU, Wake, PingMax, Errors, Kernel, OPS, Intrinsic],
            Subject::Server => {
                let gauges = [BytesOut, UsedMemory, BytesIn, HitRate, EvictedKeys, Clients].map(Of);
                let [out, memory, input, hits, evicted, clients] = gauges;
                [CPU, out, memory, input, hits, evicted, clients, Wake]
            }
        }
    }

    /// Returns the meaning of the lane, for the help.
    fn about(self) -> &'static str {
        match self {
            Ping => {
                "The median time of PINGs. redyno sends a PING every 10 ms on a separate connection. Other clients of the server have the same latency."
            }
            PingMax => "The longest PING.",
            Kernel => {
                "The time between the kernel's timestamps of sending a PING and receiving its reply. \
                This time includes only the network and the server. The receive delay is the time until redyno reads the reply."
            }
            SendLag => "In an open loop: the delay of the oldest request that redyno has not sent yet.",
            Wake => "How late a thread wakes from a sleep of 10 ms. This machine causes the delay.",
            Intrinsic => {
                "The longest gap in a busy loop, as in redis-cli --intrinsic-latency. This machine causes the gap."
            }
            Received => {
                "With receivers: the median time from sending a message until a receiver has it, or from a write to the invalidation."
            }
            Of(gauge) => gauge.about().help,
            Errors => "Failed requests.",
        }
    }
}

/// Returns the long and the short name of each lane, and its meaning.
pub fn about() -> impl Iterator<Item = (String, &'static str)> {
    LANES.iter().map(|(shown, short, name)| (format!("{name}, {}", short.trim()), shown.about()))
}

/// Draws as many lanes as the plan has room for.
pub fn draw(paint: &mut Paint, plan: &ScreenPlan, lanes: &ChartContext) {
    let mut area = plan.probes;
    let scale = lanes.log_scale();
    // Without figures of the server, the lanes show only what redyno measures itself.
    let is_bare = lanes.reading.status().is_some_and(|status| !status.body.dialect().has_keys());
    if plan.probe_rule {
        let (from, to) = (decade(scale.lowest_ns), decade(scale.highest_ns));
        let title = match lanes.subject {
            _ if is_bare => format!("probes: log scale from {from} to {to}"),
            Subject::Load => format!("probes: log scale from {from} to {to}; server: from 0"),
            Subject::Server if plan.probe_rows > 1 => {
                format!("server: from 0; wake: log scale from {from} to {to}")
            }
            Subject::Server => "server".to_owned(),
        };
        paint.rule(row(area, 0), &title);
        area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    }
    let rows = plan.probe_rows;
    let room = area.height.checked_div(rows).unwrap_or(0).min(PROBE_LANES);
    let subject = if is_bare { Subject::Load } else { lanes.subject };
    let needed = LaneContent::needed(subject, lanes.rate_due().is_some(), lanes.has_receivers());
    let needed = needed.into_iter().filter(|lane| !is_bare || !matches!(lane, Of(_)));
    stack(paint, area, lanes, &needed.take(room.into()).collect::<Vec<_>>(), rows);
}

/// Draws as many lanes of the server's `gauges` as fit into `area`. The most important gauges come first in `gauges`.
pub fn gauges(paint: &mut Paint, area: Rect, lanes: &ChartContext, gauges: &[Gauge]) {
    let rows = (area.height / gauges.len().max(1) as u16).max(1);
    let fit = usize::from(area.height / rows).min(gauges.len());
    let needed: Vec<_> = gauges[..fit].iter().map(|gauge| Of(*gauge)).collect();
    stack(paint, area, lanes, &needed, rows);
}

/// Draws the lanes `needed`, each with this many rows, in the order of the table of lanes.
fn stack(paint: &mut Paint, area: Rect, lanes: &ChartContext, needed: &[LaneContent], rows: u16) {
    let scale = lanes.log_scale();
    let shown = LANES.iter().copied().filter(|(shown, ..)| needed.contains(shown));
    for (n, (shown, short, long)) in (0..).zip(shown) {
        let place = Rect { y: area.y + n * rows, height: rows, ..area };
        let name = if usize::from(lanes.columns.gutter) > long.len() + 1 { long } else { short };
        lanes.draw(paint, place, &ProbeLane { name, ..lane(shown, lanes, scale, rows) });
        // A lane that cannot be measured shows the reason.
        if let Some(obstacle) =
            lanes.reading.ping_timing().and_then(Timing::obstacle).filter(|_| shown == Kernel)
        {
            paint.text(lanes.plot(row(place, rows - 1)), &format!("{NONE} {obstacle}"), Ink::Faint);
        }
    }
}

fn lane(shown: LaneContent, lanes: &ChartContext, scale: LogScale, rows: u16) -> ProbeLane {
    let reading = lanes.reading;
    let latency = |measure, level, ink, written: fn(Level, &Latency, PingCell) -> String| {
        let recent = reading.recent(measure);
        let now = written(level, &recent.now, reading.pings_now());
        let minute = written(level, &recent.minute, reading.pings_minute());
        ProbeLane::new(ink, lanes.cells(measure, level, scale, rows), [now, minute])
    };
    match shown {
        // The figures include pings that are still waiting for a reply.
        Ping => latency(Measure::Ping, Level::P50, Ink::Ping, ping_figure),
        PingMax => latency(Measure::Ping, Level::Max, Ink::Ping, ping_figure),
        Kernel => {
            latency(Measure::PingKernel, Level::P50, Ink::Ping, |_, part, pings| part_figure(part, pings))
        }
        SendLag => send_lag(lanes, scale, rows),
        Wake => latency(Measure::Wake, Level::Max, Ink::Machine, |level, late, _| figure(level.of(late))),
        Intrinsic => {
            latency(Measure::Intrinsic, Level::Max, Ink::Machine, |level, gaps, _| figure(level.of(gaps)))
        }
        Received => latency(Measure::Received, Level::P50, Ink::Level(Level::P50), |level, times, _| {
            figure(level.of(times))
        }),
        Of(gauge) => of_gauge(gauge, lanes, rows),
        Errors => errors(lanes, rows),
    }
}

/// Returns the lane of the largest send lag, on the scale of the latencies. A closed loop has no send lag.
fn send_lag(lanes: &ChartContext, scale: LogScale, rows: u16) -> ProbeLane {
    let segments = lanes.reading.known_segments();
    let cell = |(column, load): (usize, &Option<LoadCell>)| {
        let end_s = lanes.axis.start_s(column as u16) + lanes.axis.step_s;
        let is_open = segments.start_at(end_s - 1e-6).is_some_and(|start| start.rate_due().is_some());
        match load.as_ref().filter(|_| is_open) {
            Some(load) => LaneCell::Step(scale.step(load.behind_us.saturating_mul(1000), steps(rows))),
            None => LaneCell::Gap,
        }
    };
    let now = lanes.load_shown().map(|load| load.behind_us.saturating_mul(1000));
    let cells = lanes.load.iter().enumerate().map(cell).collect();
    ProbeLane::new(Ink::Level(Level::P99), cells, [figure(now), String::new()])
}

/// Returns the lane of a gauge of the server, with the highest value of each column on a linear scale.
fn of_gauge(gauge: Gauge, lanes: &ChartContext, rows: u16) -> ProbeLane {
    let values: Vec<_> = lanes.server.iter().map(|cell| of_column(gauge, cell.as_ref()?)).collect();
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let top = match gauge.about().unit {
        GaugeUnit::Bytes => top_of_bytes(highest),
        // For the hit rate, low values are important, so the scale is 0 to 1. If a lane has no room to name
        // the range of its scale, the scale is 0 to 1 as well, because the reader would not notice a shorter
        // scale.
        GaugeUnit::Ratio if gauge == Gauge::HitRate || lanes.columns.name < ROOM_FOR_RANGE => 1.0,
        GaugeUnit::Ratio => linear_top(highest).clamp(LEAST_RATIO, 1.0_f64.max(highest)),
        _ => linear_top(highest.max(gauge.about().top)),
    };
    let range = format!("0–{}", trimmed(&gauge.written(top)).replace("iB", ""));
    let now = lanes.reading.status().and_then(|status| status.body.text_of(gauge)).map(|now| {
        match gauge.about().kind {
            // The lane has room for `3.91 M/s`, but not for `3.91 MiB/s`.
            GaugeKind::Added => now.replace("iB/", "/"),
            _ => now,
        }
    });
    let cells =
        values.into_iter().map(|value| value.map_or(LaneCell::Gap, |v| linear(v, top, rows))).collect();
    let range = if lanes.columns.name >= ROOM_FOR_RANGE { range } else { String::new() };
    // The ratio of a value far from its usual level replaces the range of the scale.
    let ratio = lanes
        .reading
        .ratio_to_usual(&WatchedFigure::Gauge(gauge))
        .filter(|ratio| *ratio >= LEAST_SHOWN_RATIO);
    let range = ratio.map_or(range, unusual);
    ProbeLane {
        range,
        ..ProbeLane::new(Ink::Server, cells, [now.unwrap_or_else(|| NONE.to_owned()), String::new()])
    }
}

/// The smallest ratio to the usual level that is shown. A smaller ratio is noise for many figures.
const LEAST_SHOWN_RATIO: f64 = 1.5;
/// The sign before a ratio to the usual level: `×12`.
const UNUSUAL: char = '×';

/// Returns the ratio of a figure to its usual level as text: `×12`.
pub(super) fn unusual(ratio: f64) -> String {
    format!("{UNUSUAL}{}", trimmed(&units::count(ratio)).replace(' ', ""))
}

/// The smallest top of the scale for a share, such as CPU use. With a smaller top, noise would look large.
const LEAST_RATIO: f64 = 0.1;

/// The width of `0–100 %`, with a blank before and after it.
const ROOM_FOR_RANGE: u16 = 9;

/// Returns the highest value of a column. For the hit rate, returns the last value.
fn of_column(gauge: Gauge, cell: &ServerCell) -> Option<f64> {
    match gauge {
        Gauge::HitRate => cell.last.as_ref()?.body.gauges.get(gauge),
        _ => cell.highest(gauge),
    }
}

/// Returns the lane with the number of failed requests in each column. A column without errors is blank.
fn errors(lanes: &ChartContext, rows: u16) -> ProbeLane {
    let errors = lanes.window.errors();
    let counts: Vec<_> = errors.iter().map(|cell| cell.as_ref().map_or(0, ErrorCell::of_requests)).collect();
    let top = linear_top(counts.iter().copied().max().unwrap_or(0) as f64);
    let cell = |n: &u64| if *n == 0 { LaneCell::Gap } else { linear(*n as f64, top, rows) };
    let written = |n| if n == 0 { "none".to_owned() } else { units::count(n as f64) };
    ProbeLane::new(Ink::Bad, counts.iter().map(cell).collect(), lanes.reading.errors_recent().map(written))
}

fn linear(value: f64, top: f64, rows: u16) -> LaneCell {
    let share = (value / top).clamp(0.0, 1.0);
    LaneCell::Step(1 + (share * (steps(rows) - 1) as f64).round() as usize)
}

/// One column of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneCell {
    /// Nothing was measured in this column.
    Gap,
    /// There are too few samples for the percentile.
    Few,
    /// A value, as a height in steps from 1.
    Step(usize),
}

/// A lane, ready to be drawn.
pub struct ProbeLane {
    /// The name of the lane.
    pub name: &'static str,
    /// The ink of the bars.
    pub ink: Ink,
    /// One cell for each column of the plot.
    pub cells: Vec<LaneCell>,
    /// The two figures: the present value, and the value over 60 s. An empty text leaves its place blank.
    pub values: [String; 2],
    /// The range of the lane's own scale, or the ratio of the present value to its usual level.
    pub range: String,
}

impl ProbeLane {
    /// Returns a lane without a name, on the scale of all latencies.
    pub fn new(ink: Ink, cells: Vec<LaneCell>, values: [String; 2]) -> Self {
        Self { name: "", ink, cells, values, range: String::new() }
    }
}

/// Returns the number of steps in a lane: eight for each row, minus one. Bars therefore do not touch the lane above.
pub fn steps(rows: u16) -> usize {
    (usize::from(rows) * 8).saturating_sub(1)
}

impl ChartContext<'_> {
    /// Returns the common scale of the latencies in all lanes. With this scale, heights can be compared.
    pub fn log_scale(&self) -> LogScale {
        let medians = [Measure::Ping, Measure::PingKernel, Measure::Received].map(|of| (of, Level::P50));
        let shown = medians.into_iter().chain([Measure::Ping, Measure::Wake].map(|of| (of, Level::Max)));
        let values = shown.flat_map(|(measure, level)| self.values(measure, level));
        LogScale::covering(values.flatten().flatten())
    }

    /// Returns a cell for each column, with one percentile of a measurement.
    pub fn cells(&self, measure: Measure, level: Level, scale: LogScale, rows: u16) -> Vec<LaneCell> {
        let cell = |value: Option<Option<u64>>| match value {
            None => LaneCell::Gap,
            Some(None) => LaneCell::Few,
            Some(Some(ns)) => LaneCell::Step(scale.step(ns, steps(rows))),
        };
        self.values(measure, level).map(cell).collect()
    }

    fn values(&self, measure: Measure, level: Level) -> impl Iterator<Item = Option<Option<u64>>> {
        self.levels(measure).iter().map(move |column| column.map(|quantiles| quantiles.get(level)))
    }

    /// Draws a lane in all of `area`, with its name and figures in the last row.
    pub fn draw(&self, paint: &mut Paint, area: Rect, lane: &ProbeLane) {
        let rows = area.height;
        if rows == 0 {
            return;
        }
        let foot = row(area, rows - 1);
        let name = Rect { x: foot.x + 1, width: self.columns.gutter.saturating_sub(1), ..foot };
        paint.text(name, lane.name, Ink::Text);
        self.figures(paint, foot, &lane.values);
        let ink = if lane.range.starts_with(UNUSUAL) { Ink::Warn } else { Ink::Faint };
        paint.text(from_column(self.names(foot), self.names(foot).x + 1), &lane.range, ink);
        let plot = self.plot(area);
        for (x, cell) in (plot.left()..plot.right()).zip(&lane.cells) {
            draw_column(paint, plot, x, *cell, lane.ink);
        }
        self.lines(paint, plot);
    }
}

pub fn draw_column(paint: &mut Paint, plot: Rect, x: u16, cell: LaneCell, ink: Ink) {
    let glyphs = paint.glyphs();
    let bottom = plot.bottom() - 1;
    match cell {
        LaneCell::Gap => {}
        LaneCell::Few => paint.dot(x, bottom, glyphs.few, Ink::Faint),
        LaneCell::Step(step) => {
            let full = step / 8;
            for y in 0..full as u16 {
                paint.bar(x, bottom.saturating_sub(y), glyphs.bars[7], ink);
            }
            if !step.is_multiple_of(8) {
                paint.bar(x, bottom.saturating_sub(full as u16), glyphs.bars[step % 8 - 1], ink);
            }
        }
    }
}
