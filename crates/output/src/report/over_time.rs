//! A report's charts over time: throughput, latency, the heat map, pings, and CPU usage.

use super::{
    chart::{Chart, ChartLine, Ink, Quantity},
    heat_map::HeatMap,
    node_report::NodeReport,
    point_series::{PointSeries, SeriesPoint},
};
use crate::{
    gauge::Gauge,
    session::{
        Interval,
        figures::{self, Figure, Row},
        timeline::Level,
    },
    stats::Latency,
    units,
};

/// The style names of the lines for p50, p90, p99, p99.9 and the maximum.
const INKS: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// Returns all charts over time, except charts without data.
pub(super) fn charts(account: &NodeReport) -> Vec<Chart> {
    let mut charts = vec![throughput(account), latency(account), receipts(account)];
    charts.extend(heat(account));
    charts.extend([pings(account), processors(account)]);
    charts.extend(GAUGE_CHARTS.iter().map(|of| of.chart(account)));
    charts.retain(Chart::has_values);
    charts
}

/// Returns the line of a figure, with a value for each point. Where measurements are missing, the line has a gap.
fn line(account: &NodeReport, figure: Figure, ink: Ink) -> ChartLine {
    let values = over_gaps(&account.load, |point| figure.exported(&Row::of_interval(&point.part)));
    ChartLine::new(figure.heading, ink, values)
}

fn throughput(account: &NodeReport) -> Chart {
    let mut lines =
        vec![ChartLine { name: "replies/s".to_owned(), ..line(account, figures::OPS_PER_S, Ink("rate")) }];
    let errors = over_gaps(&account.load, |point| {
        let row = Row::of_interval(&point.part);
        (row.length_s > 0.0).then(|| row.errors as f64 / row.length_s)
    });
    if errors.iter().flatten().any(|n| *n > 0.0) {
        lines.push(ChartLine::new("errors/s", Ink("max"), errors));
    }
    let xs = times(&account.load);
    let title = "Throughput: successful replies per second";
    let mut chart = Chart::of("throughput", title, Quantity::Rate, xs, lines);
    chart.note = exactness(&account.load);
    chart
}

/// Returns a title and the lines of the percentiles. The percentiles are those of the response time in an open loop,
/// and of the service time in a closed loop.
fn levels(account: &NodeReport) -> (&'static str, Vec<ChartLine>) {
    let due = |point: &SeriesPoint<Interval>, figure: usize| {
        let row = Row::of_interval(&point.part);
        let of = if row.response.is_some() { figures::RESPONSE } else { figures::SERVICE };
        of[figure].exported(&row)
    };
    let line = |n: usize| {
        let values = over_gaps(&account.load, |point| due(point, n));
        ChartLine::new(figures::SERVICE[n].heading, Ink(INKS[n]), values)
    };
    let of = match (account.is_open(), account.has_response()) {
        (true, _) => "Response time",
        (false, true) => "Response time in open loops, service time in closed loops",
        (false, false) => "Service time",
    };
    (of, (0..INKS.len()).map(line).collect())
}

fn latency(account: &NodeReport) -> Chart {
    let (title, lines) = levels(account);
    let title = format!("{title}: percentiles");
    Chart::of("latency", &title, Quantity::Latency, times(&account.load), lines)
}

fn receipts(account: &NodeReport) -> Chart {
    let times =
        figures::OF_RECEIVERS.into_iter().filter(|figure| figure.unit == figures::FigureUnit::Latency);
    let lines = times.zip(["p50", "p99"].into_iter().cycle());
    let lines = lines.map(|(figure, ink)| line(account, figure, Ink(ink))).filter(ChartLine::has_values);
    let title = "Messages: the time from sending to receipt, all receivers";
    Chart::of("receipts", title, Quantity::Latency, self::times(&account.load), lines.collect())
}

fn heat(account: &NodeReport) -> Option<Chart> {
    let heat = HeatMap::of(&account.load.points)?;
    let (_, mut lines) = levels(account);
    lines.retain(|line| ["p50", "p99"].contains(&line.ink.0));
    let title = "Heat map: the number of requests by latency";
    let mut chart = Chart::of("heat", title, Quantity::Latency, times(&account.load), lines);
    chart.note = format!(
        "A cell with a stronger tone has more requests, up to {}; the scale of tones is logarithmic. A cell covers a range of latencies whose width is a tenth of the latency.",
        units::grouped(heat.most)
    );
    chart.heat = Some(heat);
    Some(chart)
}

fn pings(account: &NodeReport) -> Chart {
    let at = |level: Level| {
        let value = |point: &SeriesPoint<Latency>| level.of(&point.part).map(|ns| ns as f64 / 1e3);
        ChartLine::new(level.name(), Ink(INKS[level as usize]), over_gaps(&account.pings, value))
    };
    let lines = [Level::P50, Level::P90, Level::P99, Level::Max].map(at).into();
    let title = format!("{}: latency of another client at the same time", account.timeline.words().ping);
    let mut chart = Chart::of("ping", &title, Quantity::Latency, times(&account.pings), lines);
    if account.ping_errors > 0 {
        chart.note = format!("{} got no reply.", units::count_with_noun(account.ping_errors, "ping"));
    }
    chart
}

/// Returns the CPU usage of the server and of redyno's busiest worker thread, as a share of a core.
fn processors(account: &NodeReport) -> Chart {
    let server = over_gaps(&account.server_cpu, |point| point.part.share());
    let (xs, server) = (times(&account.server_cpu), ChartLine::new("server", Ink("server"), server));
    let own = ChartLine { name: "redyno".to_owned(), ..line(account, figures::CLIENT_CPU, Ink("own")) };
    let (xs, lines) = together((xs, server), (times(&account.load), own));
    let title = "CPU, as a share of one core: the server, and redyno's busiest worker thread";
    Chart::of("processors", title, Quantity::Cores, xs, lines)
}

/// A chart with a line for each of several gauges.
struct GaugeChart {
    id: &'static str,
    title: &'static str,
    y: Quantity,
    /// The index in [`NodeReport::gauges`]: 0 for the gauges of the server, 1 for the gauges of redyno's machine.
    course: usize,
    gauges: &'static [(Gauge, &'static str)],
}

/// The charts of gauges, of the server and of redyno's machine.
const GAUGE_CHARTS: [GaugeChart; 4] = [
    GaugeChart {
        id: "work",
        title: "The server: commands, connections and removed keys per second",
        y: Quantity::Rate,
        course: 0,
        gauges: &[
            (Gauge::OpsPerS, "commands/s"),
            (Gauge::NewConnections, "new connections/s"),
            (Gauge::EvictedKeys, "evicted/s"),
            (Gauge::ExpiredKeys, "expired/s"),
        ],
    },
    GaugeChart {
        id: "clients",
        title: "The server: clients",
        y: Quantity::Rate,
        course: 0,
        gauges: &[(Gauge::Clients, "connected"), (Gauge::BlockedClients, "blocked")],
    },
    GaugeChart {
        id: "host",
        title: "redyno's machine: used shares of its cores and its disk",
        y: Quantity::Cores,
        course: 1,
        gauges: &[
            (Gauge::HostCpu, "all cores"),
            (Gauge::HostBusiest, "busiest core"),
            (Gauge::HostSteal, "steal"),
            (Gauge::HostThrottled, "throttled"),
            (Gauge::HostDisk, "disk"),
        ],
    },
    GaugeChart {
        id: "process",
        title: "The server's process: the cores that it used and waited for",
        y: Quantity::Cores,
        course: 1,
        gauges: &[
            (Gauge::ServerCpu, "used"),
            (Gauge::ServerRunDelay, "waited for a core"),
            (Gauge::ServerChildCpu, "used by a child"),
        ],
    },
];

impl GaugeChart {
    fn chart(&self, account: &NodeReport) -> Chart {
        let course = &account.gauges[self.course];
        let line = |(n, (gauge, name)): (usize, &(Gauge, &str))| {
            ChartLine::new(*name, Ink::of_series(n), over_gaps(course, |point| point.part.get(*gauge)))
        };
        let lines = self.gauges.iter().enumerate().map(line).collect();
        let mut chart = Chart::of(self.id, self.title, self.y, times(course), lines);
        chart.note = "A point is the highest value of its period.".to_owned();
        chart
    }
}

/// Returns the times in seconds: for each point the middle of its period, and for each gap the middle of the gap.
fn times<T>(course: &PointSeries<T>) -> Vec<f64> {
    each(course, |gap_s| gap_s, SeriesPoint::middle_s)
}

/// Returns a value for each point, and `None` for each gap.
fn over_gaps<T>(course: &PointSeries<T>, value: impl Fn(&SeriesPoint<T>) -> Option<f64>) -> Vec<Option<f64>> {
    each(course, |_| None, value)
}

/// Returns the points and gaps in order, mapped by `point` and `gap`. The argument of `gap` is the middle of the gap.
fn each<T, V>(
    course: &PointSeries<T>,
    gap: impl Fn(f64) -> V,
    point: impl Fn(&SeriesPoint<T>) -> V,
) -> Vec<V> {
    let all = course.points.iter().enumerate();
    all.flat_map(|(n, one)| gap_before(course, n).map(&gap).into_iter().chain([point(one)])).collect()
}

/// Returns the middle of the gap before point `n`, in seconds. There is a gap if measurements are missing for longer
/// than a point.
fn gap_before<T>(course: &PointSeries<T>, n: usize) -> Option<f64> {
    let [before, after] = [course.points.get(n.checked_sub(1)?)?, course.points.get(n)?];
    let gap = (before.to_s, after.from_s);
    (gap.1 - gap.0 > 1.5 * course.step_s).then(|| ((gap.0 + gap.1) * 500.0).round() / 1000.0)
}

/// Joins two lines with different times, so that one chart can show both lines. Returns the common times, and the two
/// lines.
fn together(one: (Vec<f64>, ChartLine), other: (Vec<f64>, ChartLine)) -> (Vec<f64>, Vec<ChartLine>) {
    let mut xs: Vec<f64> = one.0.iter().chain(&other.0).copied().collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let spread = |(times, line): (Vec<f64>, ChartLine)| {
        // At the times of the other line, a line keeps its last value, so that no line has gaps there.
        let mut values = Vec::with_capacity(xs.len());
        let mut at = 0;
        for x in &xs {
            while times.get(at + 1).is_some_and(|next| next <= x) {
                at += 1;
            }
            let is_in =
                times.first().is_some_and(|first| first <= x) && times.last().is_some_and(|last| last >= x);
            values.push(line.values.get(at).copied().flatten().filter(|_| is_in));
        }
        ChartLine { values, ..line }
    };
    let (one, other) = (spread(one), spread(other));
    (xs, vec![one, other])
}

/// Returns the note below a chart, which describes the chart's points.
fn exactness(course: &PointSeries<Interval>) -> String {
    let (points, records) = (course.points.len() as u64, course.records);
    let what = format!(
        "{} in {}. A point covers at most about {} and only one setting. The sums of a point are exact; its percentiles come from a histogram.",
        units::count_with_noun(records, "record"),
        units::count_with_noun(points, "point"),
        units::count_with_noun(course.step_s as u64, "second"),
    );
    what + " The chart leaves out a percentile with fewer than ten requests above it."
}
