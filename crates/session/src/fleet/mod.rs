//! Fleets: several machines carry out the load of one session. The session and its agents exchange messages over a bus,
//! a Redis or Valkey server that is not under load.
//!
//! ```text
//!  session ── orders: the whole setting, twice a second ──► stream `…:orders`  ──► every agent
//!  agents  ── reports: intervals and events, 4 a second ──► stream `…:reports` ──► the session joins them by time
//! ```
//! All times in messages are nanoseconds since the session's start, by the clock of the bus. No password is sent over
//! the bus: an agent takes the target's password from its own command line.

mod agent;
mod axis;
mod bus;
mod follower;
mod gather;
mod join;
mod lead;
mod permit;
mod reading;
mod words;

pub use agent::{AgentEnd, AgentPlan, attend};
pub use bus::{BusError, FleetName};
pub use gather::{Gathered, clear, forget, gather, is_one_of};
pub use permit::Permit;
pub use words::{Layout, Terms};
