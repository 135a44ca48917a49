//! What goes wrong on purpose: a script of faults as data, its text form, and the state of a running script.
//!
//! ```text
//! stall 500ms every 5s            the whole server stands still, as in a fork or a slow command
//! slow GET 2ms                    the command itself takes that long: everyone waits, the slow log sees it; with
//!                                 `slow load 100us` the server does 10 k/s, whatever the machine
//! delay GET 2ms nth 10            only that reply, and those behind it on its connection, are held back
//! error LOADING 1%                an error instead of running the command
//! cut every 10000                 half a reply, and then nothing more on that connection
//! reset every 20s                 the connection is reset (RST) instead of the reply
//! garbage every 30s               bytes that are no reply, instead of the reply
//! ```

mod fault;
mod parse;
mod script;

pub use fault::{Damage, Fault};
pub use script::{Occasion, Script, Treatment};
