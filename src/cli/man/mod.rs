//! `redyno man`: the manual, a page for redyno and one for each of its commands, made of the command line and the table of
//! keys, so that none says what the program does not.

mod args;
mod page;
mod roff;

pub use args::ManArgs;

#[cfg(test)]
mod tests;
