//! What the stand-ins for other benchmarks share: tables of foreign options, the server that these mean, words of a foreign
//! command as those of a step, the run of a load by itself to its end, and why it may end before.

mod help;
mod options;
mod run;
mod server;
mod stop;
mod words;

pub(super) use help::{listed, wrapped};
pub(super) use options::{Choice, Refusal, Takes, flag, value};
pub(super) use run::to_its_end;
pub(super) use server::{Server, place, plain, without_number, without_step};
pub(super) use stop::Stop;
pub(super) use words::escaped;
