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
mod held;
mod launch;
mod plan;
mod program;
mod run;
mod said;

pub use consent::check_settings;
pub use driver::outcome;
pub use held::Held;
pub use plan::check;
pub use run::{complain, run};
pub use said::Said;
