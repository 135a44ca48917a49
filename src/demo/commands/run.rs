//! Running one command: its reply, its error, its time, its place in the statistics and the slow log.

use std::time::Duration;

use super::{Call, CommandId, Flags, Outcome, Run, Table};
use crate::demo::failure::{Failure, prefix};
use crate::demo::reply::Reply;
use crate::demo::request::Arguments;
use crate::demo::state::{SlowEntry, State, shortened};

/// A command that may run.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The slot of the client that asks.
    pub slot: usize,
    /// The command.
    pub id: CommandId,
    /// What is asked, the name first.
    pub arguments: Arguments<'a>,
}

/// Runs a command, and counts it. What it wrote before it failed is taken back.
pub fn run(table: &Table, state: &mut State, asked: Asked<'_>, reply: Reply<'_>) {
    let begin_ns = state.now_ns;
    let before = reply.length();
    let Asked { slot, id, arguments } = asked;
    if let Some(session) = state.sessions[slot].as_mut() {
        session.active_ns = begin_ns;
        session.last_command = Some(id);
        session.commands += 1;
    }
    let mut call = Call { arguments, slot, id, table, state, reply };
    let outcome: Outcome = match table.command(id).run {
        Run::Function(function) => function(&mut call),
        // The arity of a group wants a subcommand, and a name that is none of them is unknown.
        Run::Subcommands(_) => Err(call.arity_failure()),
    };
    let failed = outcome.is_err();
    if let Err(failure) = outcome {
        call.reply.cut_to(before);
        fail(call.state, &failure, &mut call.reply);
    }
    let ns = state.read_clock() - begin_ns;
    state.stats.commands_processed += 1;
    let counted = &mut state.stats.commands[id];
    counted.calls += 1;
    counted.ns += ns;
    counted.failed += u64::from(failed);
    counted.durations.add(ns);
    note_if_slow(table.command(id).flags, state, asked, ns);
}

fn note_if_slow(flags: Flags, state: &mut State, asked: Asked<'_>, ns: u64) {
    let us = ns / 1000;
    if state.config.latency_threshold_ms > 0 {
        let event = if flags.has(Flags::FAST) { "fast-command" } else { "command" };
        state.note_latency(event, Duration::from_nanos(ns));
    }
    if state.config.slower_than_us.is_some_and(|threshold_us| us >= threshold_us) {
        let Some(session) = &state.sessions[asked.slot] else { return };
        let entry = SlowEntry {
            id: 0,
            at_s: state.unix_us() / 1_000_000,
            us,
            arguments: shortened(asked.arguments),
            address: session.address.clone(),
            name: session.name.clone(),
        };
        state.slowlog.add(entry, state.config.slowlog_max_len);
    }
}

/// Writes an error reply and counts it by its prefix.
pub fn fail(state: &mut State, failure: &Failure, reply: &mut Reply<'_>) {
    state.stats.count_error(prefix(&failure.to_string()));
    reply.error(failure);
}
