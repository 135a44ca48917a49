//! What we talk to: an address and who we are there, what is said first, and how often to try again.

mod address;
mod back_off;
mod endpoint;
mod greeting;

pub use address::{Address, Credentials, Password, Target};
pub use back_off::BackOff;
pub use endpoint::Endpoint;
pub use greeting::{Greeting, TurnedDown};
