//! The charts over time: throughput, latency, the heat map, pings, and CPU usage.

use super::{
    account::Account,
    chart::{Chart, Ink, Line, Quantity},
    course::{Course, Point, Summed},
    heat_map::HeatMap,
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

/// The percentiles with the names of their inks.
const INKS: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// The name of the time axis.
const TIME: &str = "time of the session";

/// Returns the charts over time that have data; `prefix` makes their ids unique.
pub(super) fn charts(account: &Account, prefix: &str) -> Vec<Chart> {
    let mut charts = vec![throughput(account, prefix), latency(account, prefix)];
    charts.extend(heat(account, prefix));
    charts.extend([pings(account, prefix), processors(account, prefix)]);
    charts.extend(GAUGE_CHARTS.iter().map(|of| of.chart(account, prefix)));
    charts.retain(Chart::has_values);
    charts
}

fn chart(id: String, title: &str, y: Quantity, xs: Vec<f64>, lines: Vec<Line>) -> Chart {
    let (title, x_name) = (title.to_owned(), TIME.to_owned());
    let lines = lines.into_iter().filter(Line::has_values).collect();
    Chart { id, title, note: String::new(), x: Quantity::Time, x_name, y, xs, lines, heat: None }
}

/// Returns the line of a figure, with a value for each point, and a gap if measurements are missing for longer than a
/// point.
fn line(account: &Account, figure: Figure, ink: Ink) -> Line {
    let values = over_gaps(&account.load, |point| figure.exported(&Row::of_interval(&point.part)));
    Line::new(figure.heading, ink, values)
}

fn throughput(account: &Account, prefix: &str) -> Chart {
    let mut lines =
        vec![Line { name: "replies/s".to_owned(), ..line(account, figures::OPS_PER_S, Ink("rate")) }];
    let errors = over_gaps(&account.load, |point| {
        let row = Row::of_interval(&point.part);
        (row.length_s > 0.0).then(|| row.errors as f64 / row.length_s)
    });
    if errors.iter().flatten().any(|n| *n > 0.0) {
        lines.push(Line::new("errors/s", Ink("max"), errors));
    }
    let xs = times(&account.load);
    let title = "Throughput, good replies a second";
    let mut chart = chart(format!("{prefix}throughput"), title, Quantity::Rate, xs, lines);
    chart.note = exactness(&account.load);
    chart
}

/// Returns the percentiles of the service time, or under a rate, of the response time.
fn levels(account: &Account) -> (&'static str, Vec<Line>) {
    let due = |point: &Point<Interval>, figure: usize| {
        let row = Row::of_interval(&point.part);
        let of = if row.response.is_some() { figures::RESPONSE } else { figures::SERVICE };
        of[figure].exported(&row)
    };
    let line = |n: usize| {
        let values = over_gaps(&account.load, |point| due(point, n));
        Line::new(figures::SERVICE[n].heading, Ink(INKS[n]), values)
    };
    let of = match (account.is_open(), account.has_response()) {
        (true, _) => "Response time",
        (false, true) => "Response time under a rate, else service time",
        (false, false) => "Service time",
    };
    (of, (0..INKS.len()).map(line).collect())
}

fn latency(account: &Account, prefix: &str) -> Chart {
    let (title, lines) = levels(account);
    let title = format!("{title}: percentiles");
    chart(format!("{prefix}latency"), &title, Quantity::Latency, times(&account.load), lines)
}

fn heat(account: &Account, prefix: &str) -> Option<Chart> {
    let heat = HeatMap::of(&account.load.points)?;
    let (_, mut lines) = levels(account);
    lines.retain(|line| ["p50", "p99"].contains(&line.ink.0));
    let title = "How many requests took how long";
    let mut chart = chart(format!("{prefix}heat"), title, Quantity::Latency, times(&account.load), lines);
    chart.note = format!(
        "The darker or brighter a cell, the more requests it has, up to {}; tones are logarithmic. A cell is a tenth of its latency high.",
        units::grouped(heat.most)
    );
    chart.heat = Some(heat);
    Some(chart)
}

fn pings(account: &Account, prefix: &str) -> Chart {
    let at = |level: Level| {
        let value = |point: &Point<Latency>| level.of(&point.part).map(|ns| ns as f64 / 1e3);
        Line::new(level.name(), Ink(INKS[level as usize]), over_gaps(&account.pings, value))
    };
    let lines = [Level::P50, Level::P90, Level::P99, Level::Max].map(at).into();
    let title = "Ping: what another client sees at the same time";
    let mut chart = chart(format!("{prefix}ping"), title, Quantity::Latency, times(&account.pings), lines);
    if account.ping_errors > 0 {
        chart.note = format!("{} got no reply.", units::counted(account.ping_errors, "ping"));
    }
    chart
}

/// Returns the CPU usage of the server and of redyno's busiest worker, as a share of a core.
fn processors(account: &Account, prefix: &str) -> Chart {
    let server = over_gaps(&account.server_cpu, |point| point.part.share());
    let (xs, server) = (times(&account.server_cpu), Line::new("server", Ink("server"), server));
    let own = Line { name: "redyno".to_owned(), ..line(account, figures::CLIENT_CPU, Ink("own")) };
    let (xs, lines) = together((xs, server), (times(&account.load), own));
    let title = "Share of a core: the server, and redyno's busiest worker";
    chart(format!("{prefix}processors"), title, Quantity::Cores, xs, lines)
}

/// A chart of some gauges.
struct GaugeChart {
    id: &'static str,
    title: &'static str,
    y: Quantity,
    /// The course of the gauges in an account: 0 is that of the server, 1 that of the machine.
    course: usize,
    gauges: &'static [(Gauge, &'static str)],
}

/// The charts of gauges: what the server does, and what its machine does at the same time.
const GAUGE_CHARTS: [GaugeChart; 4] = [
    GaugeChart {
        id: "work",
        title: "The server: commands, connections and removed keys a second",
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
        title: "This machine: shares of its cores and its disk in use",
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
    fn chart(&self, account: &Account, prefix: &str) -> Chart {
        let course = &account.gauges[self.course];
        let line = |(n, (gauge, name)): (usize, &(Gauge, &str))| {
            Line::new(*name, Ink::of_series(n), over_gaps(course, |point| point.part[*gauge]))
        };
        let lines = self.gauges.iter().enumerate().map(line).collect();
        let mut chart = chart(format!("{prefix}{}", self.id), self.title, self.y, times(course), lines);
        chart.note = "A point is the highest value in its time.".to_owned();
        chart
    }
}

/// Returns the middles of the points, with a gap between points that are not adjacent.
fn times<T: Summed>(course: &Course<T>) -> Vec<f64> {
    let mut times = Vec::new();
    for (n, point) in course.points.iter().enumerate() {
        if let Some(gap_s) = gap_before(course, n) {
            times.push(gap_s);
        }
        times.push(point.middle_s());
    }
    times
}

/// Returns a value for each point, and none for the gaps.
fn over_gaps<T: Summed>(course: &Course<T>, value: impl Fn(&Point<T>) -> Option<f64>) -> Vec<Option<f64>> {
    let mut values = Vec::new();
    for (n, point) in course.points.iter().enumerate() {
        values.extend(gap_before(course, n).map(|_| None));
        values.push(value(point));
    }
    values
}

/// Returns the middle of the gap before point `n`, if measurements are missing for longer than a point.
fn gap_before<T: Summed>(course: &Course<T>, n: usize) -> Option<f64> {
    let [before, after] = [course.points.get(n.checked_sub(1)?)?, course.points.get(n)?];
    let gap = (before.to_s, after.from_s);
    (gap.1 - gap.0 > 1.5 * course.step_s).then(|| ((gap.0 + gap.1) * 500.0).round() / 1000.0)
}

/// Joins two lines into one chart, which has the times of both lines.
fn together(one: (Vec<f64>, Line), other: (Vec<f64>, Line)) -> (Vec<f64>, Vec<Line>) {
    let mut xs: Vec<f64> = one.0.iter().chain(&other.0).copied().collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let spread = |(times, line): (Vec<f64>, Line)| {
        // The last value of a line continues between its own times, so that the other line's times do not interrupt it.
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
        Line { values, ..line }
    };
    let (one, other) = (spread(one), spread(other));
    (xs, vec![one, other])
}

/// Returns the note about the points.
fn exactness(course: &Course<Interval>) -> String {
    let (points, records) = (course.points.len() as u64, course.records);
    let what = format!(
        "{} in {}, each at most about {} long and of one setting. A point is an exact sum, with percentiles from its distribution.",
        units::counted(records, "record"),
        units::counted(points, "point"),
        units::counted(course.step_s as u64, "second"),
    );
    what + " A percentile with fewer than ten requests above it is not drawn."
}
