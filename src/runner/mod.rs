//! What carries plans out: the sessions that they are made of, who listens to these, and what came of it for a script.
//!
//! ```text
//! Plan ─► target or built-in server, is it there? ─► sessions, on threads of their own ◄── orders ──┐
//!                                                         │                                         │
//!                                                         └── records, notices ─► listen ─► screen, printed lines,
//!                                                                                           experiments, thresholds
//! ```

mod ab;
mod destination;
mod experiment;
mod failure;
mod gate;
mod listener;
pub mod metrics;
mod plan;
mod printed;
mod series;
mod session;
mod sessions;

pub use ab::AbRun;
pub use failure::{Failure, UsageError};
pub use gate::{Gate, add_to_job_summary, end as end_gate, named, read, refuse};
pub use listener::Listener;
pub use plan::{Export, Outputs, Plan, ProgramWords, SessionPlan, Text};
pub use series::SeriesRun;
pub use session::{Screen, SessionRun, Shows, complain};
pub use sessions::ends;
