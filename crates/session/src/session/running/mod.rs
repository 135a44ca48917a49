//! A running session. The session's thread asks for permission before the first write, changes settings, ends the load
//! and cleans up.
//!
//! ```text
//!                  orders ─────────────► ┌───────── thread `session` ─────────┐ knobs    load, probes
//!  peers: screen,                        │ gate ─ refusals ─ tuning ─ undo    ├────────► control plane
//!  lines, experiment ◄─ records, notices └────────────────────────────────────┘ ◄─────── collector: records
//! ```
//! A session may have several nodes. Each node has its own control plane. Each node with load has its own checks before
//! the first write, and its own cleanup. The load of a cluster belongs to the cluster's first node; its checks and its
//! cleanup cover all primaries (`holders`). All nodes have the same load settings, and the load runs at one node or at
//! all nodes. Peers, such as a screen, receive records and send orders. No peer can delay the session: each peer has
//! its own queue, and the end of the session does not wait for peers.

mod begin;
mod caution;
mod commission;
mod conduct;
mod fill;
mod following;
mod gate;
mod holders;
mod node;
mod order;
mod peer;
mod ping_window;
mod recordings;
mod refusal;
mod room;
mod set_back;
mod stage;
mod sweep;
#[cfg(test)]
mod tests;
mod thread;
mod tuning;
mod undo;

pub use begin::{Session, StartError};
pub use commission::{Commission, Keys};
pub use holders::{Answers, Holder, Holders};
pub use order::{Delivery, Notice, Order, RecordingState};
pub use peer::Peer;
pub use room::{Change, Danger, Demand, Room};
pub use set_back::{delete, set_back};
pub use sweep::{strike, sweep};
pub use thread::{Ended, EndedBy};
