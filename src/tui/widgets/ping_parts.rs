//! The parts of a ping: what the kernel says was network and server, and what was this machine's own lateness.
//!
//! ```text
//!  kernel 71.0 µs  receive delay 17.0 µs
//!  send   2.10 µs  tcp           52.0 µs
//! ```

use ratatui::layout::Rect;

use super::figures::{NONE, part_figure};
use crate::{
    probe::Timing,
    session::timeline::{Measure, Reading},
    tui::{Ink, Paint, row},
    units,
};

/// From this width on, two figures with their names fit beside each other.
const WIDE: u16 = 32;

/// From this width on, their names fit in full.
const ROOM_FOR_NAMES: u16 = 37;

/// How many rows the parts need in this width.
pub fn rows(reading: &Reading, width: u16) -> u16 {
    match reading.ping_timing() {
        None => 0,
        Some(Timing::Kernel) if width >= WIDE => 2,
        Some(_) => 1,
    }
}

/// The medians of the last second, or why there are none: answers that a stalled server gave all at once have no parts,
/// and those that have some do not stand for them.
pub fn draw(paint: &mut Paint, area: Rect, reading: &Reading) {
    if let Some(obstacle) = reading.ping_timing().and_then(Timing::obstacle) {
        paint.text(row(area, 0), &format!("kernel {NONE}  {obstacle}"), Ink::Faint);
        return;
    }
    let pings = reading.pings_now();
    let median = |measure| part_figure(reading.recent(measure).now(), pings);
    let (send, kernel, receive) =
        (median(Measure::PingSend), median(Measure::PingKernel), median(Measure::PingPickup));
    if area.width < WIDE {
        if pings.lacks_parts() {
            let left_out = format!("{} of {} left out", pings.left_out, pings.answered);
            paint.text(row(area, 0), &left_out, Ink::Faint);
        } else {
            // The kernel's part has a lane.
            figures(paint, row(area, 0), &[("receive delay", &receive)]);
        }
        return;
    }
    let tcp = reading
        .ping_tcp()
        .map_or_else(|| NONE.to_owned(), |tcp| units::latency(u64::from(tcp.rtt_us) * 1_000));
    let (receive_name, tcp_name) = if area.width >= ROOM_FOR_NAMES {
        ("receive delay", "tcp          ")
    } else {
        ("receive", "tcp    ")
    };
    figures(paint, row(area, 0), &[("kernel", &kernel), (receive_name, &receive)]);
    if area.height >= 2 && pings.lacks_parts() {
        let left_out = format!("{} of {} answers left out", pings.left_out, pings.answered);
        paint.text(row(area, 1), &left_out, Ink::Faint);
    } else if area.height >= 2 {
        figures(paint, row(area, 1), &[("send  ", &send), (tcp_name, &tcp)]);
    }
}

/// Each with its name, in columns.
fn figures(paint: &mut Paint, line: Rect, named: &[(&str, &str)]) {
    let mut parts = Vec::new();
    for (name, value) in named {
        let gap = if parts.is_empty() { "" } else { "  " };
        parts.push((format!("{gap}{name} "), Ink::Faint));
        parts.push((format!("{value:>7}"), Ink::Text));
    }
    paint.parts(line, &parts);
}
