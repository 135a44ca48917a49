//! The scripts, functions and indexes that a setup makes on a server, and the commands that remove these
//! objects. A setup consists of the commands that run once before a load.
//!
//! | command | makes | undone by |
//! |---|---|---|
//! | FUNCTION LOAD | a library, with the name in the first line of its code | FUNCTION DELETE |
//! | FT.CREATE | an index, with the name in its first argument | FT.DROPINDEX, which leaves the documents |
//! | PUT /NAME by HTTP, where NAME contains the run | an Elasticsearch index, or another resource with this path | DELETE |
//! | SCRIPT LOAD | a script in the server's cache, with its digest as the name | nothing: the script affects no client, no command removes a single script, and a restart of the server removes it |
//!
//! redyno does not undo the effects of other commands in a setup. Keys have a separate field in the marker.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    ServerError,
    link::{Datum, RedisSender},
};
use crate::{protocol::HttpSite, untrusted, workload::RunId};

/// The longest accepted name of an object, in bytes. The run's marker contains the names.
const LONGEST_NAME: usize = 128;

/// An object that a setup made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupObject {
    /// A library of functions.
    Library(String),
    /// A search index.
    Index(String),
    /// A resource with this path on an HTTP service. Such a service stores no markers.
    #[serde(skip)]
    Path(String, &'static HttpSite),
}

impl fmt::Display for SetupObject {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Library(name) => write!(f, "the function library {name}"),
            Self::Index(name) => write!(f, "the search index {name}"),
            Self::Path(path, _) => f.write_str(path),
        }
    }
}

impl SetupObject {
    /// Returns the object that a command makes; `None` if the command makes no object.
    ///
    /// # Errors
    /// Fails if the command makes an object without a usable name, because redyno could not delete this object.
    pub(super) fn by(words: &[Vec<u8>]) -> Result<Option<Self>, ServerError> {
        let is = |n: usize, word: &str| words.get(n).is_some_and(|w| w.eq_ignore_ascii_case(word.as_bytes()));
        let made = if is(0, "FUNCTION") && is(1, "LOAD") {
            words.last().and_then(|code| library(code)).map(Self::Library)
        } else if is(0, "FT.CREATE") {
            words.get(1).and_then(|name| shown(name)).map(Self::Index)
        } else {
            return Ok(None);
        };
        let command = || untrusted::bytes(&words[0]);
        made.filter(Self::is_valid).map(Some).ok_or_else(|| ServerError::Nameless { command: command() })
    }

    /// Returns whether the name is valid in a marker: not empty, not too long, and without control characters.
    pub(super) fn is_valid(&self) -> bool {
        let (Self::Library(name) | Self::Index(name) | Self::Path(name, _)) = self;
        (1..=LONGEST_NAME).contains(&name.len()) && shown(name.as_bytes()).is_some()
    }

    /// Returns the command that removes the object, as words.
    pub fn undoing(&self) -> Vec<&str> {
        match self {
            Self::Library(name) => vec!["FUNCTION", "DELETE", name],
            Self::Index(name) => vec!["FT.DROPINDEX", name],
            Self::Path(path, _) => vec!["DELETE", path],
        }
    }

    /// Returns the object that an HTTP request of a setup makes; `None` if the request makes no object. `run` is the
    /// run of the session.
    ///
    /// # Errors
    /// Fails if the path of the request does not contain the name of the run.
    pub(super) fn by_http(
        words: &[Vec<u8>],
        site: &'static HttpSite,
        run: RunId,
    ) -> Result<Option<Self>, ServerError> {
        let path = words.get(1).map(|path| untrusted::bytes(path)).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let mut parts = path.split('/').skip(1);
        let name = parts.next().unwrap_or_default();
        if RunId::of_http_resource(name) != Some(run) || name.len() > LONGEST_NAME {
            return Err(ServerError::NotOfRun { path: path.to_owned() });
        }
        let makes = parts.next().is_none() && words[0].eq_ignore_ascii_case(b"PUT");
        Ok(makes.then(|| Self::Path(path.to_owned(), site)))
    }

    /// Returns whether a Redis server has an object with this name, no matter which client made the object.
    pub(super) async fn is_there(&self, wire: &RedisSender) -> Result<bool, ServerError> {
        match self {
            Self::Library(name) => {
                let listed = wire.data(&["FUNCTION", "LIST", "LIBRARYNAME", name]).await?;
                Ok(listed != Datum::List(Vec::new()))
            }
            // A missing index is an error, and each server has its own message for it.
            Self::Index(name) => Ok(ServerError::optional(wire.data(&["FT.INFO", name]).await)?.is_some()),
            Self::Path(..) => Ok(false),
        }
    }
}

/// Returns the name of a library from its code, which begins with `#!lua name=mylib`.
fn library(code: &[u8]) -> Option<String> {
    let line = code.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace);
    let name = words.find_map(|word| word.strip_prefix(b"name="))?;
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    shown(name).filter(|_| is_name)
}

/// Returns the name as text if the name needs no escaping, otherwise `None`.
fn shown(name: &[u8]) -> Option<String> {
    Some(untrusted::bytes(name)).filter(|shown| shown.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(words: &[&str]) -> Result<Option<SetupObject>, ServerError> {
        SetupObject::by(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn the_object_that_a_command_makes_is_read_from_its_arguments() {
        let library = SetupObject::Library("my_lib".to_owned());
        assert_eq!(by(&["FUNCTION", "LOAD", "#!lua name=my_lib\nreturn 1"]), Ok(Some(library.clone())));
        assert_eq!(by(&["function", "load", "REPLACE", "#!js api=1 name=my_lib"]), Ok(Some(library.clone())));
        assert_eq!(library.undoing(), ["FUNCTION", "DELETE", "my_lib"]);
        let index = SetupObject::Index("posts \u{e4}".to_owned());
        assert_eq!(by(&["ft.create", "posts \u{e4}", "SCHEMA"]), Ok(Some(index.clone())));
        assert_eq!(index.undoing(), ["FT.DROPINDEX", "posts \u{e4}"]);
        for nothing in
            [&["SCRIPT", "LOAD", "return 1"][..], &["FUNCTION", "FLUSH"], &["FT.SEARCH", "posts"], &["SET"]]
        {
            assert_eq!(by(nothing), Ok(None), "{nothing:?}");
        }
    }

    #[test]
    fn objects_that_could_not_be_deleted_are_refused() {
        let long = "n".repeat(LONGEST_NAME + 1);
        for bad in [
            &["FUNCTION", "LOAD", "return 1"][..],
            &["FUNCTION", "LOAD", "#!lua\nname=x"],
            &["FUNCTION", "LOAD", "#!lua name=a*"],
            &["FUNCTION", "LOAD"],
            &["FT.CREATE"],
            &["FT.CREATE", ""],
            &["FT.CREATE", "\x1b[2J"],
            &["FT.CREATE", &long],
        ] {
            assert!(by(bad).unwrap_err().is_refused(), "{bad:?}");
        }
    }
}
