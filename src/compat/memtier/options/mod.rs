//! The table of options: what each is called, what it takes, what it does, and its help; a file a group of them.

mod commands;
mod connection;
mod keys;
mod load;
mod objects;
mod results;

use super::{asked::Asked, numbers::number};
use crate::compat::{Choice, Refusal};

/// An option.
pub(super) type Row = Choice<Asked, ()>;

/// All options by their groups, in the order of the help.
pub(super) static GROUPS: [(&str, &[Row]); 6] = [
    ("Connection and General Options", connection::OPTIONS),
    ("Results Output Options", results::OPTIONS),
    ("Test Options", load::OPTIONS),
    ("Arbitrary command", commands::OPTIONS),
    ("Object Options", objects::OPTIONS),
    ("Key and WAIT Options", keys::OPTIONS),
];

/// All options.
pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, options)| options.iter())
}

/// What is said of a value that is none.
pub(super) use connection::settle;

fn told<T>(line: &str) -> Result<T, Refusal> {
    Err(Refusal::Told(format!("error: {line}")))
}

/// A whole number from 1 on, within 32 bits.
fn positive(text: &str, what: &str) -> Result<u32, Refusal> {
    match number(text).filter(|number| *number > 0) {
        Some(number) => Ok(number),
        None => told(&format!("{what} must be greater than zero.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::memtier::absent::ABSENT;

    #[test]
    fn no_option_stands_twice_and_none_that_is_there_is_said_not_to_be() {
        let names: Vec<_> = all().flat_map(|option| option.names.iter().copied()).collect();
        let absent = ABSENT.iter().flat_map(|absent| absent.names.iter().copied());
        let all: Vec<_> = names.into_iter().chain(absent).collect();
        for (n, name) in all.iter().enumerate() {
            assert!(!all[..n].contains(name), "{name}");
        }
    }
}
