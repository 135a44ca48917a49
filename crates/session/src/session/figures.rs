//! The table of all figures of a session's results, such as `ops/s` or `p99`. A row has the name, the source and the
//! format of a figure. The columns of the screen, the printed lines, the summary and the exports use this table.
//!
//! To add a figure, add a row to the table in this file. Other tables select figures by name.

pub use super::row::{CombinedResults, Row};
use super::{Opening, ReceivedMessages, ReceiverResults, timeline::Level};
use crate::{gauge::Gauge, knobs::Knobs, stats::Latency, units};

/// The unit of a figure, which determines its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUnit {
    /// The number of a segment.
    Number,
    /// A time of the session, shown as hours, minutes and seconds; the value is in seconds.
    Clock,
    /// The length of a time; the value is in seconds.
    Length,
    /// The text `connections × pipeline`. The value is the product of these two numbers.
    Shape,
    /// A load setting, shown with all its digits.
    Setting,
    /// A count, or a count per second if the heading says so.
    Count,
    /// A count of problems. Tables highlight this count unless it is 0.
    Trouble,
    /// A duration. The value is in nanoseconds. Exports contain the value in microseconds, under a name that ends in
    /// `_us`.
    Latency,
    /// Bytes.
    Bytes,
    /// A share, 0 to 1.
    Ratio,
}

/// A row of the table of figures.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// The name of the figure in exports.
    pub name: &'static str,
    /// The heading of the figure's column.
    pub heading: &'static str,
    /// The unit of the figure.
    pub unit: FigureUnit,
    /// The description of the figure, one sentence.
    pub about: &'static str,
    of: fn(&Row) -> Option<f64>,
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Figure {
    /// Returns the figure's value in a row, as a number for sorting and comparing. Returns `None` without enough
    /// samples.
    pub fn value(&self, row: &Row) -> Option<f64> {
        (self.of)(row)
    }

    /// Returns the exact value of the figure for exports, in the unit at the end of the figure's
    /// name.
    pub fn exported(&self, row: &Row) -> Option<f64> {
        let value = self.value(row)?;
        Some(if self.unit == FigureUnit::Latency { value / 1e3 } else { value })
    }

    /// Returns the figure's value as text for tables.
    pub fn written(&self, row: &Row) -> Option<String> {
        let value = self.value(row)?;
        Some(match self.unit {
            FigureUnit::Number => format!("{value}"),
            FigureUnit::Clock => units::clock(value),
            FigureUnit::Length => units::run_length(value),
            FigureUnit::Shape => row.knobs.map(|knobs| format!("{}×{}", knobs.clients, knobs.pipeline))?,
            FigureUnit::Setting => units::setting(value as u64),
            FigureUnit::Count | FigureUnit::Trouble => units::count(value),
            FigureUnit::Latency => units::latency(value as u64),
            FigureUnit::Bytes => units::bytes(value as u64),
            FigureUnit::Ratio => units::percent(value),
        })
    }

    /// Returns the figure's value as a cell of a table. The cell is `-` if the value is unknown.
    pub fn cell(&self, row: &Row) -> String {
        self.written(row).unwrap_or_else(|| "-".to_owned())
    }
}

fn level(latency: Option<&Latency>, level: Level) -> Option<f64> {
    latency.and_then(|latency| level.of(latency)).map(|ns| ns as f64)
}

fn quantile(latency: Option<&Latency>, quantile: f64) -> Option<f64> {
    latency.and_then(|latency| latency.percentile(quantile)).map(|ns| ns as f64)
}

fn some(latency: Option<&Latency>, of: fn(&Latency) -> u64) -> Option<f64> {
    latency.filter(|latency| !latency.is_empty()).map(|latency| of(latency) as f64)
}

fn mean(latency: Option<&Latency>) -> Option<f64> {
    latency.filter(|latency| !latency.is_empty()).map(Latency::mean_ns)
}

fn setting(row: &Row, of: fn(&Knobs) -> u64) -> Option<f64> {
    row.knobs.filter(|knobs| knobs.load).map(|knobs| of(knobs) as f64)
}

fn stage(row: &Row, at: Level, of: fn(&Opening) -> &Latency) -> Option<f64> {
    level(row.opening.map(of), at)
}

fn arrived(row: &Row, at: Level, of: fn(&ReceiverResults) -> &Option<Box<ReceivedMessages>>) -> Option<f64> {
    level(of(row.arrivals?).as_ref().map(|received| &received.times), at)
}

fn counted(row: &Row, of: fn(&ReceivedMessages) -> Option<u64>) -> Option<f64> {
    let counts = row.arrivals?.iter().filter_map(|(_, received)| of(received));
    Some(counts.reduce(|all, one| all + one)? as f64)
}

/// The figures that comparisons show in addition if there are receivers.
pub const OF_RECEIVERS: [Figure; 7] =
    [DELIVERY_P50, DELIVERY_P99, HANDOVER_P50, HANDOVER_P99, INVALIDATION_P50, INVALIDATION_P99, LOST];

macro_rules! figures {
    ($(#[doc = $about:literal] $id:ident $name:literal $heading:literal $unit:ident $of:expr;)*) => {
        $(
            #[doc = $about]
            pub const $id: Figure =
                Figure { name: $name, heading: $heading, unit: FigureUnit::$unit, about: $about, of: $of };
        )*

        /// All figures, in the order of table columns.
        pub static FIGURES: &[Figure] = &[$($id,)*];
    };
}

figures! {
    /// The number of the segment; 0 for a whole session.
    SEGMENT "segment" "no" Number |row| Some(row.segment.into());
    /// The start of the interval or segment, since the start of the session.
    START "start_s" "start" Clock |row| Some(row.start_s);
    /// The end of the interval or segment, since the start of the session.
    END "t_s" "end" Clock |row| Some(row.t_s);
    /// The length of the interval or segment.
    LENGTH "length_s" "length" Length |row| Some(row.length_s);
    /// The time without any connection, because all connections were lost.
    OUTAGE "outage_s" "outage" Length |row| row.whole.map(|whole| whole.outage_s);
    /// The largest number of requests in flight: connections × pipeline.
    SHAPE "in_flight" "load" Shape |row| {
        let knobs = row.knobs.filter(|knobs| knobs.load)?;
        Some(f64::from(knobs.clients) * f64::from(knobs.pipeline))
    };
    /// Connections that carried load.
    CLIENTS "clients" "clients" Setting |row| setting(row, |knobs| knobs.clients.into());
    /// Requests that each connection sent before it waited for the replies.
    PIPELINE "pipeline" "pipeline" Setting |row| setting(row, |knobs| knobs.pipeline.into());
    /// The size of a value in bytes, unless the workload defines its own sizes.
    VALUE_SIZE "value_size" "value" Setting |row| setting(row, |knobs| knobs.value_size.into());
    /// The number of keys, unless the workload defines its own number.
    KEYS "keys" "keys" Setting |row| setting(row, |knobs| knobs.keyspace);
    /// The requested rate, in requests per second.
    RATE "rate" "rate" Setting |row| {
        row.knobs.filter(|_| row.is_open())?.rate.map(f64::from)
    };
    /// Good replies.
    OPS "ops" "ops" Count |row| Some(row.ops as f64);
    /// Good replies that arrived after the end of the load or segment; in a closed loop, rates leave them out.
    DRAINED "drained" "drained" Count |row| Some(row.drained as f64);
    /// Good replies per second.
    OPS_PER_S "ops_per_s" "ops/s" Count |row| row.ops_per_s;
    /// Reads that found their key.
    HITS "hits" "hits" Count |row| row.hits.map(|n| n as f64);
    /// Reads that did not find their key.
    MISSES "misses" "misses" Count |row| row.misses.map(|n| n as f64);
    /// Writes that were refused because another client changed the item first: memcached's `cas`.
    CONFLICTS "conflicts" "conflicts" Count |row| row.conflicts.map(|n| n as f64);
    /// The shortest service time.
    SERVICE_MIN "service_min_us" "min" Latency |row| some(Some(row.service), Latency::min_ns);
    /// The mean of the service times.
    SERVICE_MEAN "service_mean_us" "mean" Latency |row| mean(Some(row.service));
    /// The p50 of the service times.
    SERVICE_P50 "service_p50_us" "p50" Latency |row| level(Some(row.service), Level::P50);
    /// The p90 of the service times.
    SERVICE_P90 "service_p90_us" "p90" Latency |row| level(Some(row.service), Level::P90);
    /// The p95 of the service times.
    SERVICE_P95 "service_p95_us" "p95" Latency |row| quantile(Some(row.service), 0.95);
    /// The p99 of the service times.
    SERVICE_P99 "service_p99_us" "p99" Latency |row| level(Some(row.service), Level::P99);
    /// The p99.9 of the service times.
    SERVICE_P999 "service_p999_us" "p99.9" Latency |row| level(Some(row.service), Level::P999);
    /// The p99.99 of the service times.
    SERVICE_P9999 "service_p9999_us" "p99.99" Latency |row| quantile(Some(row.service), 0.9999);
    /// The longest service time.
    SERVICE_MAX "service_max_us" "max" Latency |row| level(Some(row.service), Level::Max);
    /// The shortest response time.
    RESPONSE_MIN "response_min_us" "resp min" Latency |row| some(row.response, Latency::min_ns);
    /// The mean of the response times.
    RESPONSE_MEAN "response_mean_us" "resp mean" Latency |row| mean(row.response);
    /// The p50 of the response times.
    RESPONSE_P50 "response_p50_us" "resp p50" Latency |row| level(row.response, Level::P50);
    /// The p90 of the response times.
    RESPONSE_P90 "response_p90_us" "resp p90" Latency |row| level(row.response, Level::P90);
    /// The p95 of the response times.
    RESPONSE_P95 "response_p95_us" "resp p95" Latency |row| quantile(row.response, 0.95);
    /// The p99 of the response times.
    RESPONSE_P99 "response_p99_us" "resp p99" Latency |row| level(row.response, Level::P99);
    /// The p99.9 of the response times.
    RESPONSE_P999 "response_p999_us" "resp p99.9" Latency |row| level(row.response, Level::P999);
    /// The p99.99 of the response times.
    RESPONSE_P9999 "response_p9999_us" "resp p99.99" Latency |row| quantile(row.response, 0.9999);
    /// The longest response time.
    RESPONSE_MAX "response_max_us" "resp max" Latency |row| level(row.response, Level::Max);
    /// The longest time from when a request was due until redyno sent it.
    SEND_LAG "send_lag_us" "send lag" Latency |row| {
        row.whole.filter(|_| row.is_open()).map(|whole| whole.behind_us as f64 * 1e3)
    };
    /// Requests that were due.
    DUE "due" "due" Count |row| row.whole.map(|whole| whole.due as f64);
    /// Requests that were due and were dropped without being sent (`--backlog shed`).
    SHED "shed" "shed" Trouble |row| row.whole.filter(|_| row.is_open()).map(|whole| whole.shed as f64);
    /// Requests that were due and not sent when the load ended or was switched off.
    UNSENT "unsent" "unsent" Trouble |row| row.whole.filter(|_| row.is_open()).map(|whole| whole.unsent as f64);
    /// Requests that failed, of all kinds.
    ERRORS "errors" "errors" Trouble |row| Some(row.errors as f64);
    /// Connections that opened.
    OPENED "opened" "opened" Count |row| row.opening.map(|opening| opening.greeting.count() as f64);
    /// Connections that opened per second.
    OPENED_PER_S "opened_per_s" "opened/s" Count |row| {
        OPENED.value(row).filter(|_| row.length_s > 0.0).map(|n| n / row.length_s)
    };
    /// The p50 of the time to connect.
    CONNECT_P50 "connect_p50_us" "conn p50" Latency |row| stage(row, Level::P50, |opening| &opening.connect);
    /// The p99 of the time to connect.
    CONNECT_P99 "connect_p99_us" "conn p99" Latency |row| stage(row, Level::P99, |opening| &opening.connect);
    /// The p50 of the TLS handshakes.
    HANDSHAKE_P50 "handshake_p50_us" "tls p50" Latency |row| stage(row, Level::P50, |opening| &opening.handshake);
    /// The p99 of the TLS handshakes.
    HANDSHAKE_P99 "handshake_p99_us" "tls p99" Latency |row| stage(row, Level::P99, |opening| &opening.handshake);
    /// The p50 of the greeting: from the connection to the last reply to HELLO, AUTH and SELECT.
    GREETING_P50 "greeting_p50_us" "greet p50" Latency |row| stage(row, Level::P50, |opening| &opening.greeting);
    /// The p99 of the greeting: from the connection to the last reply to HELLO, AUTH and SELECT.
    GREETING_P99 "greeting_p99_us" "greet p99" Latency |row| stage(row, Level::P99, |opening| &opening.greeting);
    /// Bytes read from the server.
    BYTES_IN "bytes_in" "in" Bytes |row| Some(row.bytes_in as f64);
    /// Bytes written to the server.
    BYTES_OUT "bytes_out" "out" Bytes |row| Some(row.bytes_out as f64);
    /// The share of a core that redyno's busiest worker thread used.
    CLIENT_CPU "client_cpu" "own cpu" Ratio |row| row.client_cpu;
    /// The share of a core that the server used.
    SERVER_CPU "server_cpu" "srv cpu" Ratio |row| row.server_cpu;
    /// Messages and invalidations that receivers got.
    RECEIVED "received" "received" Count |row| counted(row, |received| Some(received.times.count()));
    /// Messages that did not reach a receiver.
    LOST "lost" "lost" Trouble |row| counted(row, |received| received.lost);
    /// The p50 of the times from PUBLISH to a subscriber.
    DELIVERY_P50 "delivery_p50_us" "dlv p50" Latency |row| arrived(row, Level::P50, |all| &all.delivery);
    /// The p99 of the times from PUBLISH to a subscriber.
    DELIVERY_P99 "delivery_p99_us" "dlv p99" Latency |row| arrived(row, Level::P99, |all| &all.delivery);
    /// The longest of the times from PUBLISH to a subscriber.
    DELIVERY_MAX "delivery_max_us" "dlv max" Latency |row| arrived(row, Level::Max, |all| &all.delivery);
    /// The p50 of the times from a producer to the consumer.
    HANDOVER_P50 "handover_p50_us" "hand p50" Latency |row| arrived(row, Level::P50, |all| &all.handover);
    /// The p99 of the times from a producer to the consumer.
    HANDOVER_P99 "handover_p99_us" "hand p99" Latency |row| arrived(row, Level::P99, |all| &all.handover);
    /// The longest of the times from a producer to the consumer.
    HANDOVER_MAX "handover_max_us" "hand max" Latency |row| arrived(row, Level::Max, |all| &all.handover);
    /// The p50 of the times from a write to its invalidation.
    INVALIDATION_P50 "invalidation_p50_us" "inval p50" Latency |row| arrived(row, Level::P50, |all| &all.invalidation);
    /// The p99 of the times from a write to its invalidation.
    INVALIDATION_P99 "invalidation_p99_us" "inval p99" Latency |row| arrived(row, Level::P99, |all| &all.invalidation);
    /// The longest of the times from a write to its invalidation.
    INVALIDATION_MAX "invalidation_max_us" "inval max" Latency |row| arrived(row, Level::Max, |all| &all.invalidation);
}

/// Defines the figures for comparisons of sessions without load. Exports write these figures in separate
/// rows.
macro_rules! monitored {
    ($($name:literal $heading:literal $unit:ident $about:literal $of:expr;)*) => {
        /// The figures for comparisons of sessions without load: first PING, then means of gauges.
        pub static MONITORED: &[Figure] = &[$(
            Figure { name: $name, heading: $heading, unit: FigureUnit::$unit, about: $about, of: $of },
        )*];
    };
}

fn mean_of(row: &Row, gauge: Gauge) -> Option<f64> {
    row.gauges?.of(gauge)
}

monitored! {
    "ping_p50_us" "ping p50" Latency "The p50 of PING." |row| level(row.pings, Level::P50);
    "ping_p90_us" "ping p90" Latency "The p90 of PING." |row| level(row.pings, Level::P90);
    "ping_p99_us" "ping p99" Latency "The p99 of PING." |row| level(row.pings, Level::P99);
    "ping_p999_us" "ping p99.9" Latency "The p99.9 of PING." |row| level(row.pings, Level::P999);
    "ping_max_us" "ping max" Latency "The longest PING." |row| level(row.pings, Level::Max);
    "server_cpu" "srv cpu" Ratio "The share of a core that the server used." |row| row.server_cpu;
    "commands_per_s" "commands/s" Count "Commands of all clients." |row| mean_of(row, Gauge::OpsPerS);
    "clients" "clients" Count "Connected clients." |row| mean_of(row, Gauge::Clients);
    "connections_per_s" "new/s" Count "New connections." |row| mean_of(row, Gauge::NewConnections);
    "hit_rate" "hits" Ratio "The share of reads that found their key." |row| mean_of(row, Gauge::HitRate);
    "evicted_per_s" "evicted/s" Count "Evicted keys." |row| mean_of(row, Gauge::EvictedKeys);
    "expired_per_s" "expired/s" Count "Expired keys." |row| mean_of(row, Gauge::ExpiredKeys);
    "used_memory" "memory" Bytes "The memory that the server uses." |row| mean_of(row, Gauge::UsedMemory);
    "event_loop_us" "event loop" Latency "The mean time of a cycle of the event loop."
        |row| mean_of(row, Gauge::LoopMean).map(|us| us * 1e3);
    "host_cpu" "host cpu" Ratio "The CPU use of the machine, over all cores." |row| mean_of(row, Gauge::HostCpu);
    "host_disk" "disk" Ratio "The share of the time in which the disk was busy." |row| mean_of(row, Gauge::HostDisk);
    "run_delay" "core wait" Ratio "The share of the time in which the server waited for a core."
        |row| mean_of(row, Gauge::ServerRunDelay);
}

/// The number of PING percentiles at the beginning of [`MONITORED`]. A lower percentile is better. For the other
/// figures (single values or means of gauges), neither direction is better.
pub const MONITORED_LEVELS: usize = 4;

/// Returns the figures of PING: the percentiles and the maximum.
pub fn of_pings() -> &'static [Figure] {
    &MONITORED[..=MONITORED_LEVELS]
}

/// The percentiles and the maximum of the service time, for tables.
pub const SERVICE: [Figure; 5] = [SERVICE_P50, SERVICE_P90, SERVICE_P99, SERVICE_P999, SERVICE_MAX];
/// The percentiles and the maximum of the response time, for tables.
pub const RESPONSE: [Figure; 5] = [RESPONSE_P50, RESPONSE_P90, RESPONSE_P99, RESPONSE_P999, RESPONSE_MAX];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        session::{Interval, OperationInterval, Summary},
        stats::fixture::repeated,
    };

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = FIGURES.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), FIGURES.len());
    }

    #[test]
    fn an_interval_and_its_session_have_the_same_figures() {
        let errors = [("OOM".to_owned(), 3)].into();
        let interval = Interval {
            length_s: 2.0,
            ops: 200,
            ops_per_s: 100.0,
            errors,
            behind_us: 1500,
            service: repeated(300_000, 200),
            response: Some(repeated(500_000, 200)),
            ..Interval::default()
        };
        let mut summary = Summary::default();
        summary.add(&interval, true);
        let shown_row = |row: Row| {
            let shown =
                [OPS, OPS_PER_S, ERRORS, SERVICE_P50, SERVICE_P999, RESPONSE_MAX, SEND_LAG, SERVER_CPU];
            shown.map(|figure| figure.written(&row).unwrap_or_default())
        };
        let expected = ["200", "100", "3", "300 µs", "", "500 µs", "1.50 ms", ""];
        assert_eq!(shown_row(Row::of_interval(&interval)), expected);
        assert_eq!(shown_row(Row::of_summary(&summary)), expected);
    }

    #[test]
    fn the_row_of_an_operation_has_only_its_own_figures() {
        let interval = Interval { length_s: 2.0, response: Some(repeated(9, 50)), ..Interval::default() };
        let part =
            OperationInterval { ops: 50, service: repeated(7_000, 50), ..OperationInterval::default() };
        let row = Row::of_interval(&interval).of_operation(&part);
        assert_eq!((OPS_PER_S.value(&row), SERVICE_P50.value(&row)), (Some(25.0), Some(7_000.0)));
        assert_eq!(RESPONSE_P50.value(&row), None);
        let uncounted = |row: Row| [HITS, MISSES, CONFLICTS].map(|figure| figure.value(&row));
        assert_eq!(uncounted(row), [Some(0.0); 3]);
        assert_eq!(uncounted(row.of_node(&part)), [None; 3], "these are not counted by node");
    }
}
