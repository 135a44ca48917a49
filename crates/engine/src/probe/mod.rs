//! Small measurements beside the load, each on a thread of its own: *ping* (what `redis-cli --latency` does),
//! *wake* (how late a sleeping thread is woken), *intrinsic* (what `redis-cli --intrinsic-latency` does).
//!
//! ```text
//!  thread ping ──────┐
//!  thread wake ──────┼─► Message, one report a tick ─► mpsc ─► whoever started them
//!  thread intrinsic ─┘
//! ```
//! Probes report; they know neither records nor screens. A probe ends when its handle is dropped, and also when
//! nobody listens to it any more.

mod intrinsic;
mod message;
mod ping;
mod report;
mod sleep;
mod thread;
mod ticker;
mod wake;

pub use intrinsic::IntrinsicProbe;
pub use message::Message;
pub use ping::{PingPlan, PingProbe};
pub use report::{Intrinsic, Ping, Report, TcpRtt, Timing, Wake};
pub use wake::WakeProbe;
