//! What we talk to: an address and who we are there.

mod address;

pub use address::{Address, Credentials, Password, Target};
