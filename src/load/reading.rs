//! What a connection is lent by its worker while it reads.

use super::{LatencyTo, core_waits::CoreWaits, segments::Segments};
use crate::{clock::Clock, endpoint::Greeting};

/// The lines of error replies that are each the first of its kind in this interval.
pub(super) type FirstErrors = Vec<Vec<u8>>;

/// What reading needs from the worker.
pub(super) struct Reading<'a> {
    /// When the bytes had come: at first when the poll returned that told of them.
    pub(super) now_ns: u64,
    pub(super) clock: Clock,
    pub(super) latency_to: LatencyTo,
    pub(super) segments: &'a mut Segments,
    pub(super) greeting: &'a Greeting,
    /// When this thread waited for a core.
    pub(super) waits: &'a CoreWaits,
    /// Filled when new kinds of errors come.
    pub(super) first_errors: FirstErrors,
}
