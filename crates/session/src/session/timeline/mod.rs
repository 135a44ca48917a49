//! The timeline of a session sums the session's records, and provides the history and the totals for screens and
//! reports.
//!
//! ```text
//!  records ─► Timeline ─┬─ history   the whole session in cells: load, latencies, errors, server; fine near now,
//!                       │            coarser further back; counts and maxima are never lost
//!                       ├─ windows   exact distributions: now, 60 s, the segment
//!                       └─ totals    segments, errors, ping windows, events
//! ```
//! Screens and reports query the timeline with these methods:
//!
//! | query | answer |
//! |---|---|
//! | [`Timeline::window`]`(from_s, to_s, columns)` | a [`Window`]: for each column [`load`](Window::load) (ops, rate, slowest and fastest tick), [`levels`](Window::levels) (percentiles and maximum of a [`Measure`]), [`latency`](Window::latency) (levels of the load's requests), [`heat`](Window::heat) (number of requests by latency), [`stalls`](Window::stalls), [`errors`](Window::errors), [`server`](Window::server), [`pings`](Window::pings) |
//! | [`Timeline::at`]`(t_s)`, [`Timeline::latest`]`()` | a [`Reading`]: every figure and table at that moment |
//! | [`Timeline::refine`]`(stretch, target)` | later windows and readings are as fine as the [`Excerpt`] of the recording that was read again |
//! | [`Timeline::worst`]`(measure)`, [`Window::worst`]`(measure, column)` | the longest latency of the session or of a column, and its time |
//! | [`Timeline::events`], [`marks`](Timeline::marks), [`segments`](Timeline::segments) | events, notes and segments for the time axis |
//!
//! A timeline depends only on its records, and reads no clock. Time without a measurement is a gap, never a zero. A
//! percentile never mixes two segments. A window excludes the time before its segment. A chart column shows the
//! percentiles of the segment with the most time in the column.

mod by_segment;
mod cells;
mod errors;
mod fold;
mod folded;
mod followed;
mod heat;
mod history;
mod intrinsic;
mod lane;
mod levels;
mod means;
mod memo;
mod monitored;
mod nodes;
mod operations;
mod outages;
mod pings;
mod read;
mod reading;
mod seconds;
mod segments;
mod stalls;
mod stretch;
mod window;

pub use by_segment::Worst;
pub use cells::{CommandCell, ErrorCell, LoadCell, PingCell, ServerCell};
pub use errors::{ErrorCount, ErrorLog, ErrorSource};
pub use fold::{Timeline, TimelineOptions};
pub use folded::{Episode, FoldedEvents, episodes, folded};
pub use heat::Heat;
pub use history::{History, Merge, TimeSlot};
pub use intrinsic::IntrinsicRun;
pub use lane::Lane;
pub use levels::{Level, Measure, Quantiles, Timed};
pub use means::GaugeMeans;
pub use monitored::{CommandTime, PingStretch};
pub use nodes::{AgentRow, NodeLoad};
pub use outages::Outages;
pub use pings::{PingWindow, PingWindows};
pub use reading::{Reading, Recent};
pub use seconds::{PerSecond, Seconds};
pub use segments::{SegmentTotal, Segments, rate_of_pause};
pub use stalls::Stall;
pub use stretch::{Excerpt, Reread};
pub use window::Window;
