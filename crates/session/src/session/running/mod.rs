//! A session that runs: a thread of its own, which asks before it writes, refuses, tunes, stops, finishes and undoes.
//!
//! ```text
//!                  orders ─────────────► ┌───────── thread `session` ─────────┐ knobs    load, probes
//!  peers: screen,                        │ gate ─ refusals ─ tuning ─ undo    ├────────► control plane
//!  lines, experiment ◄─ records, notices └────────────────────────────────────┘ ◄─────── collector: records
//! ```
//! It may have several nodes, each with its control plane, its gate and what is undone there; all have the same knobs, and one
//! of them, or each, carries the load.
//! Peers listen and send orders; none of them can hold it up: what goes to them waits in a queue of their own, and its end
//! waits for none.

mod begin;
mod caution;
mod commission;
mod conduct;
mod fill;
mod gate;
mod node;
mod order;
mod peer;
mod recordings;
mod refusal;
mod room;
mod set_back;
mod stage;
#[cfg(test)]
mod tests;
mod thread;
mod tuning;
mod undo;

pub use begin::{Session, StartError};
pub use commission::{Commission, Keys};
pub use conduct::check_clients;
pub use order::{Delivery, Notice, Order, RecordingState};
pub use peer::Peer;
pub use room::{Change, Danger, Demand, Room};
pub use set_back::{delete, set_back};
pub use thread::{Ended, EndedBy};
