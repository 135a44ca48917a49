//! Fleets: a session whose load several machines carry out. The session and its agents meet on a bus, which is a Redis or
//! Valkey server that is not under load.
//!
//! ```text
//!  session ── orders: the whole setting, twice a second ──► stream `…:orders`  ──► every agent
//!  agents  ── reports: intervals and events, 4 a second ──► stream `…:reports` ──► the session joins them by time
//! ```
//! All times on the bus are nanoseconds of the session's axis, which is the bus's own clock less the time at which the
//! session began. No password is ever sent: an agent takes those of the target from its own command line.

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
