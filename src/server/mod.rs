//! The control plane: what the server says of itself, by fred on a tokio runtime in a thread of its own.
//!
//! ```text
//!            orders: survey, mark, find leftovers, clean
//! Control ───────────────────────────────────────────────► watch ◄──► link (fred) ◄──► server
//!    ▲                                                       │
//!    └── answers, progress                                   └──► messages: Status, Unreachable, Back, …
//! ```
//! What it does of its own accord only reads. Its round trips are never shown as the server's latency. It knows
//! neither load nor screens.

mod answer;
mod clean;
mod clients;
mod control;
mod error;
mod info;
mod link;
mod marker;
mod message;
mod question;
mod status;
mod survey;
mod watch;

pub use answer::Answer;
pub use clean::{Cleaned, Cleaning, Progress};
pub use control::Control;
pub use error::ServerError;
pub use info::{Counters, Info};
pub use marker::{MARKER_KEY, Marker};
pub use message::Message;
pub(crate) use question::counted;
pub use question::{Obstacle, Question};
pub use status::Status;
pub use survey::{Foreign, Neighbours, Survey};
