//! Traces: files of commands with their times, in the format of MONITOR's output. A load sends the commands at these
//! times.
//!
//! ```text
//!  1700000000.123456 [0 127.0.0.1:5000] "SET" "k" "v"  ──► due 0.123456 s after the first, SET, its key with a prefix
//! ```

mod line;
mod recorded;
mod sent;

/// The name of the set of keys of a trace.
pub(super) const TRACE_KEYS: &str = "trace";

pub use self::line::{MonitorLine, quoted};
pub(super) use self::recorded::{OTHERS, TraceContent, WordRole, has_several, listed, shown};
pub use self::recorded::{Trace, TraceOrder, not_sent};
pub(super) use self::sent::is_harmless;
#[cfg(test)]
pub(super) use self::sent::names;
pub use self::sent::{command_of, left_out_words, moved_keys};
