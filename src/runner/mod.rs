//! Carries out the plan that the command line produced. A plan becomes a session with listeners. Its result
//! decides the exit code.
//!
//! ```text
//! Plan ─► nodes or built-in server, reachable? ─► session, on a thread of its own ◄── orders ──┐
//!                                                    │                                         │
//!                                                    └── records, notices ─► listen ─► screen, printed lines,
//!                                                                                      experiments, thresholds
//! ```

mod ab;
mod abort;
mod agent;
mod capture;
mod destination;
mod doctor;
mod experiment;
mod failure;
mod fleet;
mod gate;
mod listener;
mod machine;
mod metrics;

mod on_finding;
mod other_servers;
mod ping_seconds;
mod plan;
mod printed;
pub mod push;
mod running;
mod series;
mod session;
mod ycsb;

pub use ab::AbRun;
pub use abort::Abort;
pub use agent::AgentRun;
pub use capture::CaptureRun;
pub use failure::{Failure, UsageError};
pub use fleet::{BUS_PASSWORD_VARIABLE, BUS_VARIABLE, FleetPlan};
pub use gate::{Gate, add_to_job_summary, end as end_gate, named, read, refuse};
pub use listener::Listener;
pub use plan::{Export, OtherServers, Outputs, Plan, ProgramWords, SessionPlan, text_plan};
pub use running::end_signals;
pub use series::{PlannedCell, SeriesRun};
pub use session::{SessionRun, Shows, print_errors};
pub use ycsb::YcsbErrors;
