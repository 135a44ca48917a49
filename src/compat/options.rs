//! A table of foreign options.

/// A row of the table: an option of whom or of what `W` says, which is taken into an `A`.
pub struct Choice<A, W> {
    pub names: &'static [&'static str],
    pub takes: Takes<A>,
    pub of: W,
    pub help: &'static str,
}

/// What an option takes, and what it does.
pub enum Takes<A> {
    Nothing(fn(&mut A) -> Result<(), Refusal>),
    Value(&'static str, fn(&mut A, &str) -> Result<(), Refusal>),
}

/// Why an option is not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The usage is printed.
    Invalid,
    /// This is printed on standard error.
    Told(String),
}

impl<A, W> Choice<A, W> {
    /// How it is written, and what it is for.
    pub fn entry(&self) -> (String, &'static str) {
        let names = self.names.join(", ");
        match self.takes {
            Takes::Nothing(_) => (names, self.help),
            Takes::Value(value, _) => (format!("{names} {value}"), self.help),
        }
    }
}

/// An option without a value.
pub const fn flag<A, W>(
    names: &'static [&'static str],
    of: W,
    help: &'static str,
    set: fn(&mut A) -> Result<(), Refusal>,
) -> Choice<A, W> {
    Choice { names, takes: Takes::Nothing(set), of, help }
}

/// An option with a value, which is called `name` in the help.
pub const fn value<A, W>(
    names: &'static [&'static str],
    of: W,
    (name, help): (&'static str, &'static str),
    set: fn(&mut A, &str) -> Result<(), Refusal>,
) -> Choice<A, W> {
    Choice { names, takes: Takes::Value(name, set), of, help }
}
