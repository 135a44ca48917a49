//! The main job: a session on the screen, or headless.
//!
//! ```text
//! arguments ─► launch: target or built-in server, is it there? ─► plan ─► session, on a thread of its own
//!                                                                            │
//!                              peer: the screen, or headless lines ◄── records, notices
//!                                  └─► what was undone, the summary
//! ```

mod consent;
mod driver;
mod failure;
mod held;
mod launch;
pub mod metrics;
mod plan;
mod program;
mod run;

pub use consent::check_settings;
pub use driver::outcome;
pub use failure::{Failure, UsageError};
pub use held::Held;
pub use plan::check;
pub use run::{complain, run};
