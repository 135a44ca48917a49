//! Fleets: several machines generate the load of one session. The session and its agents exchange messages
//! over a bus. The bus is a Redis or Valkey server that is not under load.
//!
//! ```text
//!  session ── orders: the whole setting, twice a second ──► stream `…:orders`  ──► every agent
//!  agents  ── reports: intervals and events, 4 a second ──► stream `…:reports` ──► the session joins them by time
//! ```
//! All times in messages are nanoseconds since the session's start, by the clock of the bus. Agents take the target's
//! password from their own command lines, so the bus never carries a password.

mod agent;
mod bus;
mod clock_offset;
mod follower;
mod gather;
mod join;
mod lead;
mod messages;
mod order_reader;
mod outages;
mod permit;
mod ran_for;
mod report_reader;

pub use agent::{AgentEnd, AgentPlan, run_agent};
pub use bus::{BusError, FleetName};
pub use gather::{GatheredAgents, clear, gather, is_one_of, remove_streams};
pub use messages::{LoadLayout, Terms};
pub use permit::Permit;
