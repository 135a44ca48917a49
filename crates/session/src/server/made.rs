//! What a setup makes on a server that is no key, and how it is undone.
//!
//! | command | makes | undone by |
//! |---|---|---|
//! | FUNCTION LOAD | a library, called as the first line of its code says | FUNCTION DELETE |
//! | FT.CREATE | an index, called by its first argument | FT.DROPINDEX, which leaves the documents |
//! | SCRIPT LOAD | a script in the server's cache, called by its own digest | nothing: it changes nothing for anybody, has no command that removes it alone, and goes when the server restarts |
//!
//! Keys are noted as such, and what other commands do stays.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ServerError, datum::Datum, link::Wire};
use crate::untrusted;

/// The longest name in bytes: it stands in the marker of the run.
const LONGEST_NAME: usize = 128;

/// Something that a setup made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Made {
    /// A library of functions.
    Library(String),
    /// A search index.
    Index(String),
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Library(name) => write!(f, "the function library {name}"),
            Self::Index(name) => write!(f, "the search index {name}"),
        }
    }
}

impl Made {
    /// What a command makes, if it is one of these.
    ///
    /// # Errors
    /// When it makes something that it does not name so that it can be undone.
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

    /// Whether its name is one that a marker holds.
    pub(super) fn is_valid(&self) -> bool {
        let (Self::Library(name) | Self::Index(name)) = self;
        (1..=LONGEST_NAME).contains(&name.len()) && shown(name.as_bytes()).is_some()
    }

    /// The command that undoes it, as words.
    pub fn undoing(&self) -> Vec<&str> {
        match self {
            Self::Library(name) => vec!["FUNCTION", "DELETE", name],
            Self::Index(name) => vec!["FT.DROPINDEX", name],
        }
    }

    /// Whether the server has one of this name, whoever made it.
    pub(super) async fn is_there(&self, wire: &Wire) -> Result<bool, ServerError> {
        match self {
            Self::Library(name) => {
                let listed = wire.data(&["FUNCTION", "LIST", "LIBRARYNAME", name]).await?;
                Ok(listed != Datum::List(Vec::new()))
            }
            // An index that is not there is an error, and each server has its own words for that.
            Self::Index(name) => match wire.data(&["FT.INFO", name]).await {
                Err(error) if error.ends_connection() => Err(error),
                answer => Ok(answer.is_ok()),
            },
        }
    }
}

/// What a library's code calls it: `#!lua name=mylib` is its first line.
fn library(code: &[u8]) -> Option<String> {
    let line = code.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace);
    let name = words.find_map(|word| word.strip_prefix(b"name="))?;
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    shown(name).filter(|_| is_name)
}

/// A name that is shown as it is.
fn shown(name: &[u8]) -> Option<String> {
    Some(untrusted::bytes(name)).filter(|shown| shown.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(words: &[&str]) -> Result<Option<Made>, ServerError> {
        Made::by(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn what_a_command_makes_is_read_from_its_words() {
        let library = Made::Library("my_lib".to_owned());
        assert_eq!(by(&["FUNCTION", "LOAD", "#!lua name=my_lib\nreturn 1"]), Ok(Some(library.clone())));
        assert_eq!(by(&["function", "load", "REPLACE", "#!js api=1 name=my_lib"]), Ok(Some(library.clone())));
        assert_eq!(library.undoing(), ["FUNCTION", "DELETE", "my_lib"]);
        let index = Made::Index("posts \u{e4}".to_owned());
        assert_eq!(by(&["ft.create", "posts \u{e4}", "SCHEMA"]), Ok(Some(index.clone())));
        assert_eq!(index.undoing(), ["FT.DROPINDEX", "posts \u{e4}"]);
        for nothing in
            [&["SCRIPT", "LOAD", "return 1"][..], &["FUNCTION", "FLUSH"], &["FT.SEARCH", "posts"], &["SET"]]
        {
            assert_eq!(by(nothing), Ok(None), "{nothing:?}");
        }
    }

    #[test]
    fn what_could_not_be_undone_is_not_made() {
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
