//! The columns of the readable lines without a screen: their figures, widths and formats.

use crate::{
    gauge::Gauge,
    knobs::Knobs,
    probe::Ping,
    server::Status,
    session::{
        figures::{self, Figure, Row},
        timeline::PingCell,
    },
    stats::Latency,
    units,
    workload::ReceiverKind,
};

/// The columns of a line under load, with their widths.
pub(super) const LOAD: [(Figure, usize); 7] = [
    (figures::OPS_PER_S, 10),
    (figures::SERVICE_P50, 8),
    (figures::SERVICE_P90, 8),
    (figures::SERVICE_P99, 8),
    (figures::SERVICE_P999, 8),
    (figures::SERVICE_MAX, 8),
    (figures::ERRORS, 8),
];
/// The further columns in an open loop.
const OPEN: [(Figure, usize); 5] = [
    (figures::RESPONSE_P50, 8),
    (figures::RESPONSE_P99, 8),
    (figures::RESPONSE_MAX, 8),
    (figures::SEND_LAG, 8),
    (figures::SHED, 8),
];
/// The columns that are added if clients reconnect.
const OPENED: [(Figure, usize); 7] = [
    (figures::OPENED_PER_S, 8),
    (figures::CONNECT_P50, 8),
    (figures::CONNECT_P99, 8),
    (figures::HANDSHAKE_P50, 8),
    (figures::HANDSHAKE_P99, 8),
    (figures::GREETING_P50, 9),
    (figures::GREETING_P99, 9),
];
/// The further columns of workloads with receivers. The receivers get pub/sub messages, messages of a queue or stream,
/// or invalidations.
const DELIVERY: [(Figure, usize); 5] =
    of_receivers([figures::DELIVERY_P50, figures::DELIVERY_P99, figures::DELIVERY_MAX]);
const HANDOVER: [(Figure, usize); 5] =
    of_receivers([figures::HANDOVER_P50, figures::HANDOVER_P99, figures::HANDOVER_MAX]);
const INVALIDATION: [(Figure, usize); 5] =
    of_receivers([figures::INVALIDATION_P50, figures::INVALIDATION_P99, figures::INVALIDATION_MAX]);
const REST: &str = "| ping p50   kernel  receive      max | server ops/s  clients";

/// Returns the further columns of the load under these knobs.
pub(super) fn more(knobs: &Knobs) -> impl Iterator<Item = &'static [(Figure, usize)]> + use<> {
    let open = (knobs.load && knobs.rate.is_some()).then_some(&OPEN[..]);
    let opened = (knobs.load && knobs.renewal().is_some()).then_some(&OPENED[..]);
    let kind = knobs.workload.receivers.as_ref().filter(|_| knobs.load).map(|receivers| receivers.kind);
    let received = kind.map(|kind| match kind {
        ReceiverKind::Pubsub | ReceiverKind::ShardedPubsub => &DELIVERY[..],
        kind if kind.is_of_keys() => &INVALIDATION[..],
        _ => &HANDOVER[..],
    });
    open.into_iter().chain(opened).chain(received)
}

const fn of_receivers([p50, p99, max]: [Figure; 3]) -> [(Figure, usize); 5] {
    [(figures::RECEIVED, 9), (p50, 9), (p99, 9), (max, 9), (figures::LOST, 6)]
}

pub(super) fn heading(knobs: &Knobs) -> String {
    let of = |figures| columns(figures, |figure| figure.heading.to_owned());
    let more: String = more(knobs).map(|figures| format!("| {} ", of(figures))).collect();
    format!("   time {} {more}{REST}", of(&LOAD))
}

/// Returns the texts of these figures, right-aligned.
pub(super) fn columns(figures: &[(Figure, usize)], text: impl Fn(&Figure) -> String) -> String {
    let texts: Vec<_> = figures.iter().map(|(figure, width)| format!("{:>width$}", text(figure))).collect();
    texts.join(" ")
}

/// Returns a figure of a row, or a blank cell if the row does not have the figure.
pub(super) fn cell(figure: &Figure, row: Option<&Row>) -> String {
    row.map_or_else(String::new, |row| figure.cell(row))
}

pub(super) fn ping_columns(ping: &Ping) -> String {
    let errors: u64 = ping.errors.values().sum();
    match errors {
        0 => {
            // If the parts (kernel time, receive delay) of most PINGs are unknown, the known parts are not
            // representative.
            let lacks_parts = PingCell::of(ping).lacks_parts();
            let median = |part: Option<&Latency>| {
                let known = part.filter(|_| !lacks_parts);
                known.map_or_else(|| "-".to_owned(), |part| percentile(part, 0.50))
            };
            format!(
                "{:>8} {:>8} {:>8} {:>8}",
                percentile(&ping.rtt, 0.50),
                median(ping.kernel.as_ref()),
                median(ping.pickup.as_ref()),
                longest_so_far(ping)
            )
        }
        _ => format!("{:>35}", format!("{} failed", units::grouped(errors))),
    }
}

/// Returns the longest round trip. If a PING without a reply has already waited longer, returns this wait, such as
/// `>1.98 s`.
fn longest_so_far(ping: &Ping) -> String {
    let waiting_ns = ping.waiting_us.saturating_mul(1000);
    if waiting_ns > ping.rtt.max_ns() {
        format!(">{}", units::latency(waiting_ns))
    } else {
        longest(&ping.rtt)
    }
}

pub(super) fn server_columns(status: &Status) -> String {
    let none = || "-".to_owned();
    let ops = status.text_of(Gauge::OpsPerS).unwrap_or_else(none);
    let clients = status.gauges.whole(Gauge::Clients).map_or_else(none, |n| n.to_string());
    format!("{ops:>12} {clients:>8}")
}

fn percentile(latency: &Latency, quantile: f64) -> String {
    latency.percentile(quantile).map_or_else(|| "-".to_owned(), units::latency)
}

fn longest(latency: &Latency) -> String {
    if latency.is_empty() { "-".to_owned() } else { units::latency(latency.max_ns()) }
}
