//! Probes: small measurements that run beside the load. Each probe has its own thread. *ping* measures like
//! `redis-cli --latency`, and *intrinsic* like `redis-cli --intrinsic-latency`. *wake* measures how late a
//! sleeping thread wakes up. *host* takes samples of this machine. *failover* measures how long failovers
//! last, and *lag* measures how far replicas lag behind. *recall* measures the share of the nearest vectors
//! that a search finds. The lag probe is the only probe that writes to the servers.
//!
//! ```text
//!  thread ping ──────┐
//!  thread wake ──────┼─► Message, one report a tick (250 ms) ─► mpsc ─► the owner of the probes
//!  thread intrinsic ─┤
//!  thread host ──────┤
//!  thread failover ──┤
//!  thread lag ───────┤
//!  thread recall ────┘
//! ```
//! A probe ends when its handle is dropped, or when the receiver of its messages is gone.

mod failover;
mod host;
mod intrinsic;
mod lag;
mod message;
mod ping;
mod recall;
mod report;
mod thread;
mod ticker;
mod wake;

pub use failover::{FailoverPlan, FailoverProbe};
pub use host::{HostPlan, HostProbe, ServerPid, WatchedServer};
pub use intrinsic::IntrinsicProbe;
pub use lag::{LagPlan, LagProbe, lag_keys};
pub use message::ProbeMessage;
pub use ping::{PingPlan, PingProbe, PingedNode};
pub use recall::RecallProbe;
pub use report::{Intrinsic, Ping, ProbeReport, TcpRtt, Timing, Wake};
pub use wake::{WakeProbe, wake_delays};
