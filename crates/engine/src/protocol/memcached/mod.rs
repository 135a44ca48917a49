//! memcached's text protocol: classic and meta commands. Quiet commands are not supported, because some of their
//! requests have no reply.

mod command;
mod greeting;
mod skipper;
mod words;

pub(super) use command::{lay_out, request_word};
pub(super) use greeting::{PING, PONG, encode, introduce, refusal};
pub use skipper::MemcachedSkipper;
pub(super) use words::{Word, has_break, is_drawn, text};
