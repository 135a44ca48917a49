//! What a command gets: its arguments, the state, and where to write its reply.

use super::{CommandId, Table};
use crate::demo::failure::Failure;
use crate::demo::reply::Reply;
use crate::demo::request::{Arguments, number};
use crate::demo::state::{Session, State};
use crate::demo::store::Database;

/// Done, or why not.
pub type Outcome = Result<(), Failure>;

/// How many arguments a command takes, its name included; negative: at least that many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity(pub i8);

impl Arity {
    /// Whether `given` arguments are right.
    pub fn fits(self, given: usize) -> bool {
        let needed = usize::from(self.0.unsigned_abs());
        if self.0 < 0 { given >= needed } else { given == needed }
    }
}

/// One running command.
pub struct Call<'a> {
    /// What was asked, the name first.
    pub arguments: Arguments<'a>,
    /// The client's slot.
    pub slot: usize,
    /// The place of the command.
    pub id: CommandId,
    /// All commands.
    pub table: &'a Table,
    /// Everything else.
    pub state: &'a mut State,
    /// Where the reply goes.
    pub reply: Reply<'a>,
}

impl<'a> Call<'a> {
    /// Argument `index`, 0 being the command's name.
    ///
    /// # Errors
    /// When there is none: a syntax error, as options that want a value give it.
    pub fn argument(&self, index: usize) -> Result<&'a [u8], Failure> {
        self.arguments.get(index).ok_or(Failure::Syntax)
    }

    /// Argument `index` as an integer.
    ///
    /// # Errors
    /// When it is none.
    pub fn integer(&self, index: usize) -> Result<i64, Failure> {
        number(self.argument(index)?).ok_or(Failure::NotInteger)
    }

    /// Whether argument `index` is this word, in any case.
    pub fn is(&self, index: usize, word: &str) -> bool {
        self.arguments.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The error for a wrong number of arguments.
    pub fn arity_failure(&self) -> Failure {
        self.table.arity_failure(self.id)
    }

    /// The client.
    pub fn session(&mut self) -> &mut Session {
        self.state.sessions[self.slot].as_mut().expect("a client that asks is connected")
    }

    /// The client's database, and the reply.
    pub fn database(&mut self) -> (&mut Database, &mut Reply<'a>) {
        let index = self.state.sessions[self.slot].as_ref().map_or(0, |session| session.database);
        let now_ms = self.state.unix_ms();
        let database = &mut self.state.databases[index];
        database.set_now(now_ms);
        (database, &mut self.reply)
    }
}

/// A floating-point number as Redis takes it: no NaN, no spaces; `inf` and `-inf` are numbers.
pub fn float(text: &[u8]) -> Result<f64, Failure> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|value| !value.is_nan())
        .ok_or(Failure::NotFloat)
}

/// The part of `length` items that `start..=stop` names, where negative numbers count from the end: from, to.
pub fn index_range(start: i64, stop: i64, length: usize) -> (usize, usize) {
    let count = length as i64;
    let from_end = |index: i64| if index < 0 { (index + count).max(0) } else { index };
    let stop = if stop < 0 { stop + count } else { stop };
    let from = from_end(start).min(count);
    let to = (stop.min(count - 1) + 1).max(from);
    (from as usize, to as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_both_ends_and_never_leave_the_list() {
        assert_eq!(index_range(0, -1, 5), (0, 5));
        assert_eq!(index_range(1, 3, 5), (1, 4));
        assert_eq!(index_range(-2, -1, 5), (3, 5));
        assert_eq!(index_range(-100, 100, 5), (0, 5));
        assert_eq!(index_range(4, 2, 5), (4, 4));
        assert_eq!(index_range(0, -100, 5), (0, 0));
        assert_eq!(index_range(i64::MIN, i64::MIN, 5), (0, 0));
        assert_eq!(index_range(i64::MAX, i64::MAX, 5), (5, 5));
        assert_eq!(index_range(0, -1, 0), (0, 0));
    }

    #[test]
    fn arity_is_exact_or_a_minimum() {
        assert!(Arity(2).fits(2) && !Arity(2).fits(3));
        assert!(Arity(-2).fits(2) && Arity(-2).fits(3) && !Arity(-2).fits(1));
    }
}
