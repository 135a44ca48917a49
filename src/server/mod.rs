//! The control plane: what the server says of itself, by fred on a tokio runtime in a thread of its own.
//!
//! Its round trips are never shown as the server's latency. It knows neither load nor screens.

mod status;

pub use status::Status;
