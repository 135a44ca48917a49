//! The built-in server's cluster commands: CLUSTER, ASKING, READONLY, ROLE. Of these commands, a server outside a
//! cluster accepts only ROLE.

use std::{cmp::Reverse, fmt::Write, sync::Arc};

use super::{Call, CommandResult};
use crate::{
    demo::{
        cluster::{ClusterLayout, Member, Node},
        reply::{ReplyError, ReplyWriter},
    },
    protocol::{SLOTS, key_slot},
};

const HOST: &str = "127.0.0.1";

/// Returns the node's place in its cluster.
fn member(call: &Call<'_>) -> Result<Arc<Member>, ReplyError> {
    call.state.member.clone().ok_or(ReplyError::other("ERR This instance has cluster support disabled"))
}

/// Returns argument `index` as a slot.
fn slot(call: &Call<'_>, index: usize) -> Result<u16, ReplyError> {
    let slot = u16::try_from(call.integer(index)?).ok().filter(|slot| *slot < SLOTS);
    slot.ok_or(ReplyError::other("ERR Invalid or out of range slot"))
}

pub fn asking(call: &mut Call<'_>) -> CommandResult {
    member(call)?;
    call.session().asking = true;
    call.done()
}

/// Runs READONLY and READWRITE.
pub fn read_replicas(call: &mut Call<'_>, readonly: bool) -> CommandResult {
    member(call)?;
    call.session().readonly = readonly;
    call.done()
}

pub fn slots(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    let layout = member.shared.layout();
    let ranges = layout.ranges();
    call.reply.array(ranges.len());
    for (first, last, shard) in ranges {
        let replicas: Vec<&Node> = layout.replicas(shard).filter(|node| !node.has_failed).collect();
        call.reply.array(3 + replicas.len());
        call.reply.count(first.into());
        call.reply.count(last.into());
        for node in std::iter::once(layout.primary(shard)).chain(replicas) {
            call.reply.array(4);
            call.reply.text(HOST);
            call.reply.count(node.port.into());
            call.reply.text(&node.id);
            call.reply.array(0);
        }
    }
    Ok(())
}

pub fn shards(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    let layout = member.shared.layout();
    let ranges = layout.ranges();
    call.reply.array(layout.primaries.len());
    for shard in 0..layout.primaries.len() {
        let own: Vec<_> = ranges.iter().filter(|range| range.2 == shard).collect();
        call.reply.map(2);
        call.reply.text("slots");
        call.reply.array(2 * own.len());
        own.iter().flat_map(|range| [range.0, range.1]).for_each(|slot| call.reply.count(slot.into()));
        call.reply.text("nodes");
        let replicas: Vec<&Node> = layout.replicas(shard).collect();
        call.reply.array(1 + replicas.len());
        node_of_shard(&mut call.reply, layout.primary(shard), "master", member.shared.replicate(shard, 0));
        for node in replicas {
            node_of_shard(&mut call.reply, node, "replica", member.shared.replicate(shard, 0));
        }
    }
    Ok(())
}

fn node_of_shard(reply: &mut ReplyWriter<'_>, node: &Node, role: &str, offset: u64) {
    reply.map(7);
    let health = if node.has_failed { "fail" } else { "online" };
    let texts =
        [("id", node.id.as_str()), ("ip", HOST), ("endpoint", HOST), ("role", role), ("health", health)];
    for (name, text) in texts {
        reply.text(name);
        reply.text(text);
    }
    for (name, n) in [("port", node.port.into()), ("replication-offset", offset)] {
        reply.text(name);
        reply.integer(n as i64);
    }
}

pub fn nodes(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    let layout = member.shared.layout();
    let ranges = layout.ranges();
    let mut text = String::new();
    for (n, node) in layout.nodes.iter().enumerate() {
        let is_primary = layout.is_primary(n);
        let flags = format!(
            "{}{}{}",
            if n == member.node { "myself," } else { "" },
            if is_primary { "master" } else { "slave" },
            if node.has_failed { ",fail" } else { "" },
        );
        let primary = if is_primary { "-" } else { &layout.primary(node.shard).id };
        let link = if node.has_failed { "disconnected" } else { "connected" };
        let (id, port, epoch) = (&node.id, node.port, layout.epochs[node.shard]);
        let bus = port.wrapping_add(10_000);
        // Writing to a String does not fail.
        let _ = write!(text, "{id} {HOST}:{port}@{bus} {flags} {primary} 0 0 {epoch} {link}");
        for (first, last, _) in ranges.iter().filter(|range| is_primary && range.2 == node.shard) {
            let _ = if first == last { write!(text, " {first}") } else { write!(text, " {first}-{last}") };
        }
        if n == member.node && is_primary {
            text.push_str(&on_the_move(&layout, node.shard));
        }
        text.push('\n');
    }
    call.reply.verbatim(&text);
    Ok(())
}

/// Returns the slots that move from or to a shard, in the format of CLUSTER NODES.
fn on_the_move(layout: &ClusterLayout, shard: usize) -> String {
    let moving = layout.moving.iter().map(|(slot, to)| (slot, layout.owner(*slot), *to));
    moving
        .filter_map(|(slot, from, to)| match shard {
            _ if shard == from => Some(format!(" [{slot}->-{}]", layout.primary(to).id)),
            _ if shard == to => Some(format!(" [{slot}-<-{}]", layout.primary(from).id)),
            _ => None,
        })
        .collect()
}

pub fn info(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    let layout = member.shared.layout();
    let is_answered = |slot: &u16| !layout.primary(layout.owner(*slot)).has_failed;
    let ok = (0..SLOTS).filter(is_answered).count();
    let state = if layout.is_ok() { "ok" } else { "fail" };
    call.reply.verbatim(&format!(
        "cluster_enabled:1\r\ncluster_state:{state}\r\ncluster_slots_assigned:{SLOTS}\r\ncluster_slots_ok:{ok}\r\n\
         cluster_slots_pfail:0\r\ncluster_slots_fail:{}\r\ncluster_known_nodes:{}\r\ncluster_size:{}\r\n\
         cluster_current_epoch:{}\r\ncluster_my_epoch:{}\r\n",
        usize::from(SLOTS) - ok,
        layout.nodes.len(),
        layout.primaries.len(),
        layout.epoch(),
        layout.epochs[member.shard],
    ));
    Ok(())
}

pub fn my_id(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    call.reply.text(&member.shared.layout().nodes[member.node].id);
    Ok(())
}

pub fn slot_of_key(call: &mut Call<'_>) -> CommandResult {
    member(call)?;
    let slot = key_slot(call.argument(2)?);
    call.counted(slot.into())
}

pub fn count_keys(call: &mut Call<'_>) -> CommandResult {
    member(call)?;
    let slot = slot(call, 2)?;
    call.counted(call.state.databases[0].in_slot(slot))
}

pub fn keys_in_slot(call: &mut Call<'_>) -> CommandResult {
    member(call)?;
    let (slot, count) = (slot(call, 2)?, call.count(3)?.unwrap_or(0));
    let mut keys: Vec<Box<[u8]>> = Vec::new();
    call.state.databases[0].scan(0, usize::MAX, |key| {
        if keys.len() < count && key_slot(key) == slot {
            keys.push(key.into());
        }
    });
    call.reply.array(keys.len());
    keys.iter().for_each(|key| call.reply.bulk(key));
    Ok(())
}

const STATISTICS: [&str; 4] = ["key-count", "cpu-usec", "network-bytes-in", "network-bytes-out"];

/// Runs CLUSTER SLOT-STATS for the slots of this node, as in Valkey 8 and Redis 8.2.
pub fn slot_statistics(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    let layout = member.shared.layout();
    let own = layout.slots(member.shard).map(|slot| (slot, statistics(call, slot)));
    let chosen: Vec<(u16, [u64; 4])> = match (call.word(2).as_slice(), call.arguments.len()) {
        (b"slotsrange", 5) => {
            let (first, last) = (slot(call, 3)?, slot(call, 4)?);
            if first > last {
                return Err(ReplyError::other(format!(
                    "ERR Start slot number {first} is greater than end slot number {last}"
                )));
            }
            own.filter(|(slot, _)| (first..=last).contains(slot)).collect()
        }
        (b"orderby", _) => {
            let by = STATISTICS.iter().position(|name| name.as_bytes() == call.word(3));
            let by = by.ok_or(ReplyError::other("ERR Unrecognized sort metric for ORDERBY."))?;
            let (limit, ascending) = order(call)?;
            let mut all: Vec<_> = own.collect();
            match ascending {
                true => all.sort_by_key(|(_, statistics)| statistics[by]),
                false => all.sort_by_key(|(_, statistics)| Reverse(statistics[by])),
            }
            all.truncate(limit);
            all
        }
        _ => return Err(ReplyError::SYNTAX),
    };
    call.reply.array(chosen.len());
    for (slot, statistics) in chosen {
        call.reply.array(2);
        call.reply.count(slot.into());
        call.reply.map(STATISTICS.len());
        for (name, n) in STATISTICS.into_iter().zip(statistics) {
            call.reply.text(name);
            call.reply.integer(n as i64);
        }
    }
    Ok(())
}

fn statistics(call: &Call<'_>, slot: u16) -> [u64; 4] {
    let cost = call.state.slot_use.get(&slot).copied().unwrap_or_default();
    [call.state.databases[0].in_slot(slot) as u64, cost.ns / 1000, cost.bytes_in, cost.bytes_out]
}

/// Parses the options of ORDERBY. Returns the number of slots, and whether the order is ascending.
fn order(call: &Call<'_>) -> Result<(usize, bool), ReplyError> {
    let (mut limit, mut ascending, mut index) = (usize::from(SLOTS), false, 4);
    while index < call.arguments.len() {
        match call.word(index).as_slice() {
            b"limit" => {
                index += 1;
                limit = call.count(index)?.ok_or(ReplyError::SYNTAX)?;
            }
            word @ (b"asc" | b"desc") => ascending = word == b"asc",
            _ => return Err(ReplyError::SYNTAX),
        }
        index += 1;
    }
    Ok((limit, ascending))
}

/// Runs CLUSTER FAILOVER. The replica has all data of its primary, so the replica takes over at once. The options of
/// the command have no effect.
pub fn fail_over(call: &mut Call<'_>) -> CommandResult {
    let member = member(call)?;
    if call.arguments.len() == 3 && ![&b"force"[..], b"takeover"].contains(&call.word(2).as_slice()) {
        return Err(ReplyError::SYNTAX);
    }
    if member.is_primary() {
        return Err(ReplyError::other("ERR You should send CLUSTER FAILOVER to a replica"));
    }
    member.shared.change().promote(member.node);
    call.done()
}

pub fn role(call: &mut Call<'_>) -> CommandResult {
    let Some(member) = call.state.member.clone() else {
        call.reply.array(3);
        call.reply.text("master");
        call.reply.count(0);
        call.reply.array(0);
        return Ok(());
    };
    let (layout, offset) = (member.shared.layout(), member.shared.replicate(member.shard, 0));
    if layout.is_primary(member.node) {
        let replicas: Vec<&Node> = layout.replicas(member.shard).filter(|node| !node.has_failed).collect();
        call.reply.array(3);
        call.reply.text("master");
        call.reply.integer(offset as i64);
        call.reply.array(replicas.len());
        for node in replicas {
            call.reply.array(3);
            [HOST, &node.port.to_string(), &offset.to_string()]
                .into_iter()
                .for_each(|text| call.reply.text(text));
        }
    } else {
        call.reply.array(5);
        ["slave", HOST].into_iter().for_each(|text| call.reply.text(text));
        call.reply.count(layout.primary(member.shard).port.into());
        call.reply.text("connected");
        call.reply.integer(offset as i64);
    }
    Ok(())
}
