//! A parcel consists of requests from one client to one node of a cluster. A worker keeps a parcel until its replies
//! have arrived, so that redirected requests can be sent again.
//!
//! ```text
//!  a client's batch   A B C D ──► parcels by node   [A C] [B] [D]
//!  replies            ok MOVED ──► C in a parcel for the node that MOVED names
//! ```

use super::{ErrorKind, answered::BatchProgress, quota::NumberedRequest};
use crate::{
    endpoint::NodeNumber,
    protocol::{Reply, error_code},
    untrusted,
    workload::{Insertions, OpId, OutgoingRequests, Values},
};

/// Requests from one client to one node of a cluster.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    /// The index of the client.
    pub(super) client: usize,
    /// The node that gets the requests. With `None`, the requests go to the owners of their slots in the next topology.
    pub(super) node: Option<NodeNumber>,
    /// The number of the segment when the requests were generated.
    pub(super) generation: u32,
    /// The time when the requests were generated, in ns.
    pub(super) since_ns: u64,
    /// The time when the requests were first written, in ns, or 0 if they were not written yet.
    pub(super) written_ns: u64,
    /// Whether ASKING precedes the request, because the node does not own the slot yet. A parcel with ASKING has one
    /// request.
    pub(super) asks: bool,
    /// Whether the node is a replica. READONLY precedes the first parcel for a replica on a connection.
    pub(super) is_for_replica: bool,
    /// The first node that could not be reached or refused the requests. Refusals with ASK or TRYAGAIN do not count.
    pub(super) from: Option<NodeNumber>,
    /// How often the requests were redirected.
    pub(super) hops: u32,
    /// How often the requests had to pause before they were sent again.
    pub(super) pauses: u32,
    /// Whether every error reply counts as a refusal, because failed requests may be sent again.
    pub(super) may_be_retried: bool,
    /// How often the requests were sent again after an error.
    pub(super) retries: u32,
    pub(super) requests: Vec<ParcelRequest>,
    /// The due time of each request, in ns. The list is empty in a closed loop.
    pub(super) dues: Vec<u64>,
    /// The number of each request in a prefill. The list is empty outside a prefill.
    pub(super) numbers: Vec<NumberedRequest>,
    /// The bytes of all requests.
    pub(super) bytes: Vec<u8>,
    /// The new keys in the requests.
    pub(super) inserted: Insertions,
    /// The later steps and their values, if the parcel is a single operation with several steps.
    pub(super) later: Option<Box<(Vec<OutgoingRequests>, Values)>>,
}

/// A request in a parcel. Many clients with a pipeline have many requests in flight, so the type must be small for the
/// processor's cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParcelRequest {
    pub(super) op: OpId,
    /// The slot of the first key of the request, or `None` if any node can get the request.
    pub(super) slot: Option<u16>,
    /// Whether a replica may get the request. The request must not write, and the user must have allowed reads from
    /// replicas.
    pub(super) reads: bool,
    /// The end of the request's bytes, as an index in the bytes of the parcel.
    pub(super) end: usize,
}

impl Parcel {
    /// Creates an empty parcel.
    pub(super) fn new(client: usize, generation: u32, since_ns: u64) -> Self {
        Self { client, generation, since_ns, ..Self::default() }
    }

    /// Adds the request in `out`, which must contain exactly one request.
    pub(super) fn add(&mut self, request: ParcelRequest, out: &mut OutgoingRequests, values: &Values) {
        let place = self.requests.len() as u32;
        out.inserted().hand_over(0, &mut self.inserted, place);
        self.later = out.take_later().map(|later| Box::new((later, values.clone())));
        match out.as_whole() {
            Some(bytes) => self.bytes.extend_from_slice(bytes),
            None => self.bytes.extend(out.wire(values)),
        }
        self.requests.push(ParcelRequest { end: self.bytes.len(), ..request });
    }

    /// Returns a new parcel with copies of the requests at these places, in ascending order. The new parcel also gets
    /// the due times, numbers and new keys of these requests.
    pub(super) fn pick(&mut self, places: &[usize]) -> Self {
        let mut picked = Self::new(self.client, self.generation, self.since_ns);
        (picked.written_ns, picked.from) = (self.written_ns, self.from);
        (picked.hops, picked.pauses, picked.retries) = (self.hops, self.pauses, self.retries);
        for (to, from) in places.iter().enumerate() {
            let request = &self.requests[*from];
            let begin = from.checked_sub(1).map_or(0, |before| self.requests[before].end);
            picked.bytes.extend_from_slice(&self.bytes[begin..request.end]);
            picked.requests.push(ParcelRequest { end: picked.bytes.len(), ..*request });
            picked.dues.extend(self.dues.get(*from));
            picked.numbers.extend(self.numbers.get(*from));
            self.inserted.hand_over(*from as u32, &mut picked.inserted, to as u32);
        }
        picked
    }

    /// Returns the due time of the request at this place, in ns. If the request has no due time, returns the
    /// time when the request was generated.
    pub(super) fn due_ns(&self, place: usize) -> u64 {
        self.dues.get(place).copied().unwrap_or(self.since_ns)
    }

    /// Divides the parcel into new parcels. Requests for which `key` returns equal results form one parcel.
    pub(super) fn divide<K: PartialEq>(
        mut self,
        mut key: impl FnMut(usize, &ParcelRequest) -> K,
    ) -> Vec<(K, Self)> {
        let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
        for (place, request) in self.requests.iter().enumerate() {
            let key = key(place, request);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, places)) => places.push(place),
                None => groups.push((key, vec![place])),
            }
        }
        if groups.len() == 1 {
            return groups.pop().map(|(key, _)| (key, self)).into_iter().collect();
        }
        groups.into_iter().map(|(key, places)| (key, self.pick(&places))).collect()
    }
}

/// A written parcel, and the requests of this parcel that the node refused with a redirect.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) parcel: Parcel,
    /// The refused requests, by their place in the parcel.
    pub(super) refused: Vec<(usize, NodeRefusal)>,
    /// Whether the next reply belongs to ASKING or READONLY.
    pub(super) awaits_preface: bool,
    /// The node's error reply to ASKING or READONLY.
    pub(super) preface_error: Option<Vec<u8>>,
}

impl Flight {
    /// Handles the reply to ASKING or READONLY, or a temporary refusal of the oldest unanswered request. Returns
    /// false for any other reply. The caller then counts this reply. `inserted` contains the new keys whose inserts
    /// have no reply yet. A request with several `replies` is not sent again, because the node may have executed a
    /// part of it.
    pub(super) fn takes(
        &mut self,
        reply: Reply,
        answered: &mut BatchProgress,
        inserted: &mut Insertions,
        replies: u16,
    ) -> bool {
        let is_preface = std::mem::take(&mut self.awaits_preface);
        let Reply::Error(line) = reply else { return is_preface };
        if is_preface {
            self.preface_error = Some(line.to_vec());
            return true;
        }
        let retried = || self.parcel.may_be_retried.then(|| NodeRefusal::Failed(line.into()));
        let Some(refusal) = NodeRefusal::of(line).or_else(retried).filter(|_| replies == 1) else {
            return false;
        };
        inserted.hand_over(answered.whole, &mut self.parcel.inserted, answered.whole);
        self.refused.push((answered.place(), refusal));
        answered.whole += 1;
        true
    }

    /// Returns whether the node refused a read, and would also refuse the read on every other connection.
    pub(super) fn refuses_reads(&self) -> bool {
        let is_of_reads = |refusal: &NodeRefusal| match refusal {
            // Without READONLY, a replica redirects reads that it could serve.
            NodeRefusal::Moved(..) | NodeRefusal::Ask(..) => self.parcel.is_for_replica,
            _ => matches!(refusal, NodeRefusal::Later(_)),
        };
        self.refused.iter().any(|(place, refusal)| self.parcel.requests[*place].reads && is_of_reads(refusal))
    }
}

/// The reason why a node of a cluster did not execute a request. The request can be sent to another node, or
/// sent again later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeRefusal {
    /// The slot belongs to the node at this host and port.
    Moved(Box<[u8]>, u16),
    /// The slot is moving to the node at this host and port, which already has this key.
    Ask(Box<[u8]>, u16),
    /// The request can be executed later. The error line begins with `TRYAGAIN`, `CLUSTERDOWN`, `LOADING`, `READONLY`
    /// or `MASTERDOWN`.
    Later(Box<[u8]>),
    /// The server sent another error line. The request may be sent again.
    Failed(Box<[u8]>),
    /// The node cannot be reached because of this kind of error, so the request was not written.
    Unreachable(ErrorKind),
    /// The connection was lost because of this kind of error before the reply arrived.
    Lost(ErrorKind),
    /// All permitted connections are in use, so the request was not written.
    NoLane,
}

impl NodeRefusal {
    /// Parses an error line. Returns `None` if the error is not a temporary refusal.
    #[cold]
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let address = || {
            let word = line.split(|byte| *byte == b' ').nth(2)?;
            let colon = memchr::memrchr(b':', word)?;
            let port = std::str::from_utf8(&word[colon + 1..]).ok()?.parse().ok().filter(|port| *port > 0)?;
            Some((word[..colon].into(), port))
        };
        match error_code(line) {
            "MOVED" => address().map(|(host, port)| Self::Moved(host, port)),
            "ASK" => address().map(|(host, port)| Self::Ask(host, port)),
            code => {
                let later = ["TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN"];
                later.contains(&code).then(|| Self::Later(line.into()))
            }
        }
    }

    /// Returns the kind of error under which the refusal is counted.
    pub(super) fn kind(&self) -> ErrorKind {
        ErrorKind::Server(match self {
            Self::Moved(..) => "MOVED".into(),
            Self::Ask(..) => "ASK".into(),
            Self::Later(line) => error_code(line).into(),
            Self::Failed(line) => return ErrorKind::of_line(line),
            Self::Unreachable(kind) | Self::Lost(kind) => return kind.clone(),
            Self::NoLane => return ErrorKind::Timeout,
        })
    }

    /// Returns whether the refusal names another node for the request.
    pub(super) fn is_redirect(&self) -> bool {
        matches!(self, Self::Moved(..) | Self::Ask(..))
    }

    /// Returns whether the node may have lost whole slots, according to the refusal. ASK and TRYAGAIN concern only a
    /// part of one slot.
    pub(super) fn is_of_moved_slots(&self) -> bool {
        match self {
            Self::Ask(..) => false,
            Self::Later(line) => error_code(line) != "TRYAGAIN",
            _ => true,
        }
    }

    /// Returns the refusal as text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Moved(host, port) => format!("MOVED to {}:{port}", untrusted::bytes(host)),
            Self::Ask(host, port) => format!("ASK {}:{port}", untrusted::bytes(host)),
            Self::Later(line) | Self::Failed(line) => untrusted::bytes(line),
            Self::Lost(kind) => format!("{kind}: the connection was lost before the reply arrived"),
            Self::Unreachable(kind) => format!("{kind}: the node of the key's slot cannot be reached"),
            Self::NoLane => "all connections that may be open were in use (--max-connections)".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::key_slot;
    use crate::{load::testing::program, workload::Draws};

    /// Returns a parcel of `n` requests, with their slots.
    fn parcel(n: usize) -> (Parcel, Vec<Option<u16>>) {
        let (program, mut draws, mut out) = (program(), Draws::new(1), OutgoingRequests::default());
        let mut parcel = Parcel::new(3, 1, 50);
        for _ in 0..n {
            out.clear();
            let op = program.append(&mut draws, &mut out);
            let slot = program.first_key(op, out.as_whole().unwrap()).map(key_slot);
            let request = ParcelRequest { op, slot, reads: false, end: 0 };
            parcel.add(request, &mut out, program.values());
        }
        let slots = parcel.requests.iter().map(|request| request.slot).collect();
        (parcel, slots)
    }

    #[test]
    fn a_divided_parcel_keeps_the_requests_of_each_node_in_order() {
        let (whole, slots) = parcel(100);
        let bytes = whole.bytes.clone();
        let ends: Vec<_> = whole.requests.iter().map(|request| request.end).collect();
        let parts = whole.divide(|_, request| request.slot.map(|slot| slot % 3));
        assert_eq!((parts.len(), parts.iter().map(|(_, part)| part.bytes.len()).sum()), (3, bytes.len()));
        for (key, part) in &parts {
            let places = (0..100).filter(|place| slots[*place].map(|slot| slot % 3) == *key);
            let of = |place: usize| &bytes[if place == 0 { 0 } else { ends[place - 1] }..ends[place]];
            assert_eq!(part.bytes, places.flat_map(of).copied().collect::<Vec<_>>());
            assert_eq!(part.requests.last().unwrap().end, part.bytes.len());
            assert_eq!((part.client, part.generation, part.since_ns), (3, 1, 50));
        }
    }

    #[test]
    fn temporary_refusals_of_a_node_are_distinguished_from_errors() {
        let moved = |host: &[u8], port| Some(NodeRefusal::Moved(host.into(), port));
        assert_eq!(NodeRefusal::of(b"MOVED 3999 127.0.0.1:6381"), moved(b"127.0.0.1", 6381));
        assert_eq!(NodeRefusal::of(b"MOVED 3999 :6381"), moved(b"", 6381));
        assert_eq!(NodeRefusal::of(b"MOVED 3999 2001:db8::1:6381"), moved(b"2001:db8::1", 6381));
        assert_eq!(NodeRefusal::of(b"ASK 3999 a.name:7"), Some(NodeRefusal::Ask((*b"a.name").into(), 7)));
        let down = NodeRefusal::of(b"CLUSTERDOWN The cluster is down").unwrap();
        let named = (down.kind().to_string(), down.text(), down.is_of_moved_slots());
        assert_eq!(named, ("CLUSTERDOWN".to_owned(), "CLUSTERDOWN The cluster is down".to_owned(), true));
        assert!(!NodeRefusal::of(b"TRYAGAIN Multiple keys").unwrap().is_of_moved_slots());
        for line in [&b"MOVED"[..], b"MOVED 1 h:x", b"MOVED 1 h:0", b"MOVED 1 h:70000", b"OOM x", b""] {
            assert_eq!(NodeRefusal::of(line), None, "{}", String::from_utf8_lossy(line));
        }
    }
}
