//! The main job: a session on the screen, or headless.
//!
//! ```text
//! arguments ─► launch: target or built-in server, is it there? ─► gate: may we write? ─► source: a live session
//!                                                                                          │
//!                                          screen or headless lines ◄── records, notices ──┘
//!                                                       └─► finish: last replies, keys removed, summary
//! ```

mod finish;
mod gate;
mod launch;
mod recordings;
mod refusal;
mod run;
mod source;
mod tuning;

pub use finish::told;
pub use run::{check, run};
