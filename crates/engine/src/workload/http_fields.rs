//! The header fields that a workload file adds to every HTTP request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WorkloadError;
use crate::{protocol::Dialect, untrusted};

/// The table `[http]` of a workload file. Recordings do not contain this table, because it may contain a password.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpFields {
    /// The fields by name.
    pub headers: BTreeMap<String, String>,
}

/// The fields that redyno sets itself, because they decide where requests and replies end.
const OWN: [&str; 4] = ["Content-Length", "Transfer-Encoding", "Connection", "Accept-Encoding"];

/// The fields that request replies which redyno cannot read.
const UNREAD: [&str; 3] = ["Expect", "Upgrade", "TE"];

impl HttpFields {
    /// Returns whether there are no fields.
    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Returns `dialect` with these fields in each request.
    pub fn of(&self, dialect: Dialect) -> Dialect {
        let fields = self.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        dialect.with_fields(&fields.collect::<Vec<_>>())
    }

    /// Checks that the dialect is HTTP if there are fields, and that every field is a valid line.
    ///
    /// # Errors
    /// The error names the first invalid field, but never contains a value.
    pub fn check(&self, dialect: Dialect) -> Result<(), WorkloadError> {
        if !self.is_empty() && dialect.has_keys() {
            return Err(WorkloadError::of("[http] is for http:// and https://; remove it from the workload"));
        }
        for (name, value) in &self.headers {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            let shown = untrusted::text(name);
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(invalid!("[http] headers: '{shown}' is no name of a header field"));
            }
            if !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
                return Err(invalid!(
                    "[http] headers: the value of '{shown}' has characters other than plain ASCII"
                ));
            }
            if UNREAD.iter().any(|unread| unread.eq_ignore_ascii_case(name)) {
                return Err(invalid!(
                    "[http] headers: redyno does not support what '{shown}' asks for; remove it"
                ));
            }
            if self.headers.keys().any(|other| other != name && other.eq_ignore_ascii_case(name)) {
                return Err(invalid!("[http] headers: '{shown}' is there twice; remove one"));
            }
            if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return Err(invalid!("[http] headers: redyno sets '{shown}' itself; remove it"));
            }
        }
        Ok(())
    }
}
