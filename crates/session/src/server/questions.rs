//! The requests of a server's poll that need several commands, or that only some servers support.

use std::collections::BTreeMap;

use super::{
    ServerError, Status,
    link::Datum,
    link::RedisSender,
    slow_log::{self, PARTS},
};

/// Requests the statistics of commands and errors. Returns the commands that this connection had sent before, and the
/// reply.
pub(super) async fn command_stats(
    wire: &RedisSender,
    are_apart: &mut bool,
) -> (BTreeMap<String, u64>, Result<String, ServerError>) {
    let own = wire.sent.take();
    if !*are_apart {
        match wire.text(&["INFO", "commandstats", "errorstats"]).await {
            Err(error) if error.is_refusal("ERR syntax") => *are_apart = true,
            reply => return (own, reply),
        }
    }
    let (commands, errors) = (["INFO", "commandstats"], ["INFO", "errorstats"]);
    let (commands, errors) = tokio::join!(wire.text(&commands), wire.text(&errors));
    (own, commands.and_then(|commands| Ok(commands + &errors?)))
}

/// Requests the newest entries of COMMANDLOG about large requests and about large replies.
pub(super) async fn command_log(wire: &RedisSender) -> [Result<Datum, ServerError>; 2] {
    let words = PARTS.map(|part| format!("large-{part}"));
    let [requests, replies] = words.each_ref().map(|part| ["COMMANDLOG", "GET", slow_log::ASKED, part]);
    tokio::join!(wire.data(&requests), wire.data(&replies)).into()
}

/// Returns whether the server has COMMANDLOG (Valkey 8.1 or later).
pub(super) fn has_command_log(status: &Status) -> bool {
    let mut parts = status.version.split('.').map_while(|part| part.parse::<u32>().ok());
    status.name == "valkey" && (parts.next(), parts.next()) >= (Some(8), Some(1))
}
