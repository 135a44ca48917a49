//! The control plane: what the server says of itself, by fred on a tokio runtime in a thread of its own.
//!
//! Its round trips are never shown as the server's latency. It knows neither load nor screens.

mod message;
mod status;

pub use message::Message;
pub use status::Status;
