//! Running one command: its reply, its error, its time, its place in the statistics and the slow log.

use std::time::Duration;

use super::{Call, CommandId, FAST, Table};
use crate::demo::failure::Failure;
use crate::demo::reply::Reply;
use crate::demo::request::Arguments;
use crate::demo::state::State;

/// A command that may run.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The client that asks.
    pub client: usize,
    /// The command.
    pub id: CommandId,
    /// What is asked, the name first.
    pub arguments: Arguments<'a>,
}

/// Runs a command, and counts it. What it wrote before it failed is taken back.
pub fn run(table: &Table, state: &mut State, asked: Asked<'_>, reply: Reply<'_>) {
    let (begin_ns, before) = (state.now_ns, reply.length());
    let Asked { client, id, arguments } = asked;
    let mut call = Call { arguments, client, id, table, state, reply };
    let outcome = table.runs(id)(&mut call);
    if let Err(failure) = &outcome {
        call.reply.cut_to(before);
        fail(call.state, failure, &mut call.reply);
    }
    let ns = state.read_clock() - begin_ns;
    state.stats.count_call(id, ns, outcome.is_err());
    if state.config.latency_threshold_ms > 0 {
        let event = if table.has(id, FAST) { "fast-command" } else { "command" };
        state.note_latency(event, Duration::from_nanos(ns));
    }
    if state.config.slower_than_us.is_some_and(|threshold_us| ns / 1000 >= threshold_us) {
        state.note_slow(client, arguments, ns / 1000);
    }
}

/// Writes an error reply and counts it by its prefix.
pub fn fail(state: &mut State, failure: &Failure, reply: &mut Reply<'_>) {
    let text = failure.to_string();
    state.stats.count_error(text.split(' ').next().unwrap_or(&text));
    reply.error(failure);
}
