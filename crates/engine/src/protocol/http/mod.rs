//! HTTP/1.1. Encodes requests from words (method, path, body), and finds the ends of replies. Every request has one
//! reply. Interim replies (1xx) are skipped, and redirects are not followed.

mod body;
mod framing;
mod request;
mod site;
mod skipper;

pub use body::HttpReply;
pub(super) use request::{check_alone, encode, is_bodiless, lay_out};
pub use site::HttpSite;
pub(super) use site::NO_SITE;
pub use skipper::HttpSkipper;
