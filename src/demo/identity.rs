//! Who the built-in server says it is.

/// The Redis whose commands and words it follows.
pub const REDIS_VERSION: &str = "7.0.15";
/// Its own name, in INFO's `server_name`.
pub const SERVER_NAME: &str = "redyno";
/// Its own version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
