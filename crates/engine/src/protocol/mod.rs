//! The bytes of requests and replies. This module contains the dialects (the protocols of servers), the templates of
//! requests, and the skipper that finds the ends of replies.
//!
//! This module uses no sockets and no clocks. redyno does not decode the replies of a load. A load generator
//! only needs to know where a reply ends, and whether it is an error.

mod bounds;
mod dialect;
mod digits;
mod header;
mod http;
mod introduction;
mod key_slot;
mod kinds;
mod memcached;
mod partial_line;
mod reply;
mod request;
mod request_parts;
mod resp;
mod resp_skipper;
mod resp_value;
mod skipper;
mod vector;
mod words;

pub use dialect::Dialect;
pub use digits::KEY_DIGITS;
pub(crate) use digits::whole_number;
pub(crate) use header::ProtocolError;
pub use http::{HttpReply, HttpSite};
pub(crate) use introduction::GreetingRefusal;
pub use introduction::{GreetingCommand, GreetingParameters};
pub use key_slot::{SLOTS, key_slot};
pub use kinds::{ErrorKinds, MAX_KINDS, OTHER, add_count};
pub use reply::{Reply, ReplyParts, ReplyPiece, error_code};
pub(crate) use request::Template;
pub use request_parts::UnsupportedCommand;
pub(crate) use request_parts::{ArgumentPart, Derived, FillSlots, KeyPart};
pub(crate) use resp::{append_header, take_header};
pub use resp_value::RespValue;
pub use skipper::Skipper;
pub use vector::{MOST_DIMENSIONS, append_vector, list_of, vector_of};
pub use words::DialectWords;
