//! Where the list of runs is stored on a server, and which keys a node of a cluster can store.
//!
//! A node of a cluster has some of the 16 384 slots, and accepts only commands whose keys are in one of its slots. The
//! names of the list of runs and of the markers end with a hash tag: the first of `{0}`, `{1}`, … whose slot is on the
//! node. So another session on the same node finds the list and the markers without SCAN.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::{ServerError, link::Wire};
use crate::{
    protocol::key_slot,
    workload::{NAMESPACE, RunId},
};

/// The number of hash tags that are tried; every slot has some of them.
const TAGS: u32 = 1_000_000;

/// The place of the list of runs on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The end of the names of the list and of the markers: empty, or a hash tag such as `{7}` on a node of a cluster.
    tag: String,
    /// The slots of the node; `None` without a cluster.
    slots: Option<Slots>,
}

/// A set of slots, as inclusive ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Slots(Vec<(u16, u16)>);

impl Place {
    /// Requests the slots of the server with one command, or with two on a node of a cluster.
    ///
    /// # Errors
    /// When the node has no slot, and so no key.
    pub(super) async fn of(wire: &Wire) -> Result<Self, ServerError> {
        let info = match wire.text(&["INFO", "cluster"]).await {
            // Without a permission to ask, the server is most likely no cluster; otherwise the refusal of the marker is
            // reported.
            Err(error) if error.is_refused() => return Ok(Self::alone()),
            info => info?,
        };
        if !info.lines().any(|line| line.trim_end() == "cluster_enabled:1") {
            return Ok(Self::alone());
        }
        let nodes = wire.cluster_nodes().await?;
        let slots = Slots::of_myself(&nodes);
        let owned = (0..TAGS).map(|n| format!("{{{n}}}")).find(|tag| slots.has(key_slot(tag.as_bytes())));
        owned.map(|tag| Self { tag, slots: Some(slots) }).ok_or(ServerError::NoSlots)
    }

    /// Returns the place on a server that is not a node of a cluster.
    pub(super) fn alone() -> Self {
        Self { tag: String::new(), slots: None }
    }

    /// Returns the key of the list of runs.
    pub(super) fn list(&self) -> String {
        format!("{NAMESPACE}runs{}", self.tag)
    }

    /// Returns the key of a run's marker.
    pub(super) fn marker(&self, run: RunId) -> String {
        format!("{NAMESPACE}{run}{}", self.tag)
    }

    /// Sends a command with `keys`; returns how many keys existed. On a node of a cluster, one command is sent for each
    /// slot, and keys of other nodes are left out.
    pub(super) async fn of_keys(
        &self,
        wire: &Wire,
        command: &'static str,
        keys: &[Vec<u8>],
    ) -> Result<u64, ServerError> {
        if self.slots.is_none() {
            return wire.of_keys(command, keys).await;
        }
        let mut by_slot: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for key in keys.iter().filter(|key| self.holds(key)) {
            by_slot.entry(key_slot(key)).or_default().push(key.clone());
        }
        let mut commands = JoinSet::new();
        for keys in by_slot.into_values() {
            let wire = wire.clone();
            commands.spawn(async move { wire.of_keys(command, &keys).await });
        }
        let mut counts = commands.join_all().await.into_iter();
        counts.try_fold(0, |sum: u64, count| Ok(sum.saturating_add(count?)))
    }

    /// Returns whether this node can store `key`.
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.has(key_slot(key)))
    }
}

impl Slots {
    /// Parses the line of the answering node in CLUSTER NODES: `<id> <address> myself,master - 0 0 1 connected 0-5460
    /// 5462 [5463->-<id>]`. A slot in brackets is being moved; if it is still on this node, it is also in the list
    /// without brackets.
    fn of_myself(nodes: &str) -> Self {
        let of_node = |line: &str| -> Option<Vec<_>> {
            let words: Vec<_> = line.split(' ').collect();
            words.get(2)?.split(',').find(|flag| *flag == "myself")?;
            let range = |word: &&str| {
                let (from, to) = word.split_once('-').unwrap_or((word, word));
                Some((from.parse().ok()?, to.parse().ok()?))
            };
            Some(words.iter().skip(8).filter_map(range).collect())
        };
        Self(nodes.lines().find_map(of_node).unwrap_or_default())
    }

    fn has(&self, slot: u16) -> bool {
        self.0.iter().any(|(from, to)| (*from..=*to).contains(&slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_of_a_node_are_read_from_its_own_line() {
        let nodes = "\
            a1 127.0.0.1:1@2 master - 0 1 2 connected 0-5460\n\
            b2 127.0.0.1:3@4,host myself,master - 0 0 1 connected 5461 5463-5470 [5471->-a1] [7-<-a1]\n";
        let slots = Slots::of_myself(nodes);
        assert_eq!(slots, Slots(vec![(5461, 5461), (5463, 5470)]));
        assert!(slots.has(5465) && !slots.has(5462) && !slots.has(0));
        assert_eq!(Slots::of_myself("a1 x myself,master - 0 0 0 connected\n"), Slots::default());
        assert_eq!(Slots::of_myself("nonsense"), Slots::default());
    }

    #[test]
    fn list_and_marker_stand_in_one_slot() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let alone = Place::alone();
        assert_eq!((alone.list().as_str(), alone.marker(run).as_str()), ("redyno:runs", "redyno:4g7k2m9q"));
        let place =
            Place { tag: "{7}".to_owned(), slots: Some(Slots(vec![(key_slot(b"{7}"), key_slot(b"{7}"))])) };
        assert_eq!(
            (place.list().as_str(), place.marker(run).as_str()),
            ("redyno:runs{7}", "redyno:4g7k2m9q{7}")
        );
        assert!(place.holds(place.list().as_bytes()) && place.holds(place.marker(run).as_bytes()));
        assert!(!place.holds(b"redyno:4g7k2m9q:000000000000"));
    }
}
