//! A running session: its thread asks for permission before the first write, changes settings, ends the load
//! and cleans up.
//!
//! ```text
//!                  orders ─────────────► ┌───────── thread `session` ─────────┐ knobs    load, probes
//!  peers: screen,                        │ gate ─ refusals ─ tuning ─ undo    ├────────► control plane
//!  lines, experiment ◄─ records, notices └────────────────────────────────────┘ ◄─────── collector: records
//! ```
//! A session may have several nodes. Each node has its own control plane (the connection for redyno's own
//! commands). Each node with load has its own checks before the first write, and its own cleanup. The load of
//! a cluster belongs to the cluster's first node. The checks and the cleanup of this node cover all primaries
//! (`holders`). All nodes have the same load settings. The load runs at one node or at all nodes. A *peer*,
//! such as the screen, receives records and sends orders. No peer can delay the session, because each peer
//! has its own queue. The end of the session does not wait for peers.

mod begin;
mod capacity;
mod caution;
mod commission;
mod conduct;
mod danger;
mod fill;
mod following;
mod gate;
mod holder_replies;
mod holders;
mod key_removal;
mod node;
mod order;
mod peer;
mod ping_window;
mod recordings;
mod refusal;
mod restore;
mod stage;
#[cfg(test)]
mod tests;
mod thread;
mod tuning;
mod undo;

pub use begin::{Session, StartError};
pub use commission::{Commission, KeyOwner};
pub use danger::setting_harm;
pub use holder_replies::HolderReplies;
pub use holders::{Holder, Holders};
pub use key_removal::{remove_keys, remove_markers};
pub use order::{Delivery, Notice, Order, RecordingState};
pub use peer::Peer;
pub use restore::{delete, restore_parameter};
pub use thread::{EndedBy, SessionResult};
