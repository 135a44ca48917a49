//! Chooses the names of redyno's list of runs and of its markers on a server. On a node of a cluster, this node must be
//! able to store keys with these names.
//!
//! A node of a cluster has some of the 16 384 slots, and accepts only commands with keys in these slots. The names of
//! the list of runs and of the markers end with a hash tag. redyno takes the first of the tags `{0}`, `{1}`, … whose
//! slot is on the node. Another session on the same node therefore finds the list and the markers without SCAN. If the
//! slot moves to another node, the list and the markers move with the slot. On the new node, the first tag may differ
//! from the tag of the moved keys.

use std::{collections::BTreeSet, sync::Arc};

use super::{ServerError, link::RedisSender};
use crate::{
    protocol::key_slot,
    workload::{NAMESPACE, RunId},
};

/// The number of hash tags that are tried. Every slot has some of these tags.
const TAGS: u32 = 1_000_000;
/// Hash tags with a number below 1024 are called near. redyno checks all near tags of a node, to find lists
/// of runs that have moved from other nodes. A node with 1 % of the slots almost certainly has a near tag.
const NEAR: u32 = 1024;
/// redyno searches for lists at the first tag of each slot if a node has at most this number of slots. redyno also
/// searches in this way if the node has no near tag.
const FEW_SLOTS: usize = 32;

/// The place of a list of runs on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkerPlace {
    /// The end of the names of the list and of the markers: empty, or a hash tag such as `{7}` on a node of a cluster.
    tag: String,
    /// Whether the tag is not near. In this case, the node had no near tag.
    pub(super) is_far: bool,
    /// Whether the slot of the tag is being moved to this node at present.
    is_arriving: bool,
}

/// The slots of a node of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots {
    /// The slots that the node owns, as inclusive ranges.
    own: Vec<(u16, u16)>,
    /// Slots of other nodes that are being moved to this node, key by key.
    arriving: Vec<u16>,
    /// Slots of this node that are being moved to other nodes, key by key.
    leaving: Vec<u16>,
    /// The nodes to which slots of this node are being moved.
    pub leaving_for: Vec<ClusterMember>,
}

/// A node of a cluster, as named in CLUSTER NODES.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterMember {
    /// The node's identifier in the cluster.
    pub id: String,
    /// The node's host; empty if it is unknown.
    pub host: String,
    /// The node's port.
    pub port: u16,
}

impl MarkerPlace {
    /// Requests the slots of the server with one command, or with two commands on a cluster node. Returns the place
    /// where this session stores its list of runs.
    ///
    /// # Errors
    /// Fails if the node has no slot, and therefore cannot store keys.
    pub(super) async fn of(wire: &RedisSender) -> Result<Self, ServerError> {
        let Some(slots) = Slots::of(wire).await? else { return Ok(Self::alone()) };
        Self::first(&slots).ok_or(ServerError::NoSlots)
    }

    /// Requests the slots as [`of`](Self::of) does. Returns all places on this server where a list of runs
    /// may be.
    ///
    /// # Errors
    /// Fails if the server does not answer.
    pub(super) async fn all(wire: &RedisSender) -> Result<Vec<Self>, ServerError> {
        Ok(Slots::of(wire).await?.map_or_else(|| vec![Self::alone()], |slots| Self::of_slots(&slots)))
    }

    fn of_slots(slots: &Slots) -> Vec<Self> {
        // Each list is at the first tag of its slot.
        let mut wanted: BTreeSet<u16> = slots.arriving.iter().copied().collect();
        let mut places: Vec<_> = (0..NEAR).filter_map(|n| Self::at(n, slots)).collect();
        if slots.own().count() <= FEW_SLOTS || places.iter().all(|near| near.is_arriving) {
            wanted.extend(slots.own());
        }
        for n in 0..TAGS {
            if wanted.is_empty() {
                break;
            }
            let is_first = wanted.remove(&key_slot(format!("{{{n}}}").as_bytes()));
            places.extend(Self::at(n, slots).filter(|_| is_first && n >= NEAR));
        }
        places
    }

    fn first(slots: &Slots) -> Option<Self> {
        (0..TAGS).filter_map(|n| Self::at(n, slots)).find(|place| !place.is_arriving)
    }

    /// Returns the place at hash tag number `n`. Returns `None` if the node does not have the slot of the tag.
    fn at(n: u32, slots: &Slots) -> Option<Self> {
        let tag = format!("{{{n}}}");
        let is_arriving = slots.is_arriving(tag.as_bytes());
        (is_arriving || slots.has(tag.as_bytes())).then_some(Self { tag, is_far: n >= NEAR, is_arriving })
    }

    /// Returns the place on a server that is not a node of a cluster.
    pub(super) fn alone() -> Self {
        Self { tag: String::new(), is_far: false, is_arriving: false }
    }

    /// Returns the sender of commands for keys at this place.
    pub(super) fn wire(&self, wire: &RedisSender) -> RedisSender {
        if self.is_arriving { wire.asking() } else { wire.clone() }
    }

    /// Returns the key of the list of runs.
    pub(super) fn list(&self) -> String {
        format!("{NAMESPACE}runs{}", self.tag)
    }

    /// Returns the key of a run's marker.
    pub(super) fn marker(&self, run: RunId) -> String {
        format!("{NAMESPACE}{run}{}", self.tag)
    }
}

impl Slots {
    /// Requests the slots of the server. Returns `None` if the server is not a cluster node.
    pub(super) async fn of(wire: &RedisSender) -> Result<Option<Arc<Self>>, ServerError> {
        let info = match wire.text(&["INFO", "cluster"]).await {
            // If INFO is not permitted, the server is assumed not to be a cluster node. If it is one, writing the
            // marker fails, and that error is reported.
            Err(error) if error.is_refused() => return Ok(None),
            info => info?,
        };
        if !info.lines().any(|line| line.trim_end() == "cluster_enabled:1") {
            return Ok(None);
        }
        Ok(Some(Arc::new(Self::of_myself(&wire.text(&["CLUSTER", "NODES"]).await?))))
    }

    /// Parses CLUSTER NODES, mainly the line of the node that replied: `<id> <address> myself,master - 0 0 1 connected
    /// 0-5460 5462 [5463->-<id>] [7-<-<id>]`. In brackets are slots that are moving away from this node (`->-`) or to
    /// this node (`-<-`). A slot that is moving away is also listed without brackets.
    pub(super) fn of_myself(nodes: &str) -> Self {
        let is_myself = |line: &&str| {
            let flags = line.split(' ').nth(2);
            flags.is_some_and(|flags| flags.split(',').any(|flag| flag == "myself"))
        };
        let mut slots = Self::default();
        for word in nodes.lines().find(is_myself).unwrap_or_default().split(' ').skip(8) {
            match word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
                None => {
                    let (from, to) = word.split_once('-').unwrap_or((word, word));
                    slots.own.extend(from.parse().ok().zip(to.parse().ok()));
                }
                Some(moving) => {
                    if let Some((slot, id)) = moving.split_once("->-") {
                        slots.leaving.extend(slot.parse::<u16>().ok());
                        slots.leaving_for.extend(nodes.lines().find_map(|line| member(line, id)));
                    } else if let Some((slot, _)) = moving.split_once("-<-") {
                        slots.arriving.extend(slot.parse::<u16>().ok());
                    }
                }
            }
        }
        slots.leaving_for.sort();
        slots.leaving_for.dedup();
        slots
    }

    /// Returns whether this node owns the slot of `key`.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        let slot = key_slot(key);
        self.own.iter().any(|(from, to)| (*from..=*to).contains(&slot))
    }

    /// Returns whether the slot of `key` is being moved from another node to this node.
    pub(super) fn is_arriving(&self, key: &[u8]) -> bool {
        self.arriving.contains(&key_slot(key))
    }

    /// Returns whether this slot is being moved from this node to another node.
    pub(super) fn is_leaving(&self, slot: u16) -> bool {
        self.leaving.contains(&slot)
    }

    /// Returns whether any slot is being moved to or from this node.
    pub fn is_moving(&self) -> bool {
        !self.arriving.is_empty() || !self.leaving.is_empty()
    }

    /// Returns the slots that the node owns.
    pub fn own(&self) -> impl Iterator<Item = u16> {
        self.own.iter().flat_map(|(from, to)| *from..=*to)
    }
}

/// Parses a line of CLUSTER NODES, `<id> 127.0.0.1:7001@17001,host …`, if the line is about node `id`.
fn member(line: &str, id: &str) -> Option<ClusterMember> {
    let rest = line.strip_prefix(id)?.strip_prefix(' ')?;
    let (host, port) = rest.split(['@', ' ', ',']).next()?.rsplit_once(':')?;
    Some(ClusterMember { id: id.to_owned(), host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_of_a_node_are_read_from_its_own_line() {
        let nodes = "\
            a1 127.0.0.1:1@2 master - 0 1 2 connected 0-5460\n\
            b2 127.0.0.1:3@4,host myself,master - 0 0 1 connected 5461 5463-5470 [5464->-a1] [7-<-a1]\n";
        let slots = Slots::of_myself(nodes);
        let expected = Slots {
            own: vec![(5461, 5461), (5463, 5470)],
            arriving: vec![7],
            leaving: vec![5464],
            leaving_for: vec![ClusterMember { id: "a1".to_owned(), host: "127.0.0.1".to_owned(), port: 1 }],
        };
        assert_eq!(slots, expected);
        assert_eq!(slots.own().count(), 9);
        assert!(slots.is_moving() && slots.is_leaving(5464) && !slots.is_leaving(5465));
        assert_eq!(Slots::of_myself("a1 x myself,master - 0 0 0 connected\n"), Slots::default());
        assert_eq!(Slots::of_myself("nonsense"), Slots::default());
    }

    #[test]
    fn a_node_with_few_slots_has_a_far_tag() {
        // No tag below 1024 has one of these slots.
        let few = Slots { own: vec![(6, 15)], ..Slots::default() };
        let far = MarkerPlace::first(&few).unwrap();
        assert!(far.is_far);
        assert!(
            MarkerPlace::first(&Slots { own: vec![(0, 500)], ..Slots::default() })
                .is_some_and(|it| !it.is_far)
        );
        let all = MarkerPlace::of_slots(&few);
        assert!(all.contains(&far) && all.len() == 10, "{all:?}");
    }

    #[test]
    fn the_nodes_of_a_large_cluster_have_few_places_to_read() {
        let of_node = |n: u16| Slots { own: vec![(n * 163, n * 163 + 162)], ..Slots::default() };
        let places: Vec<_> = (0..100).map(|n| MarkerPlace::of_slots(&of_node(n)).len()).collect();
        // All near tags together are 1024.
        assert!(places.iter().sum::<usize>() <= 1024 && places.iter().all(|count| *count > 0), "{places:?}");
    }

    #[test]
    fn list_and_marker_are_in_the_same_slot() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let alone = MarkerPlace::alone();
        assert_eq!((alone.list().as_str(), alone.marker(run).as_str()), ("redyno:runs", "redyno:4g7k2m9q"));
        let slots = Slots { own: vec![(key_slot(b"{7}"), key_slot(b"{7}"))], ..Slots::default() };
        let place = MarkerPlace::first(&slots).unwrap();
        assert_eq!(
            (place.list().as_str(), place.marker(run).as_str()),
            ("redyno:runs{7}", "redyno:4g7k2m9q{7}")
        );
        assert!(slots.has(place.list().as_bytes()) && slots.has(place.marker(run).as_bytes()));
        assert!(!slots.has(b"redyno:4g7k2m9q:000000000000"));
        assert!(MarkerPlace::at(8, &slots).is_none());
        let arriving = Slots { arriving: vec![key_slot(b"{8}")], ..slots };
        assert!(MarkerPlace::at(8, &arriving).is_some_and(|place| place.is_arriving));
        assert_eq!(MarkerPlace::first(&arriving), Some(place));
    }
}
