//! Writes a client's requests to a cluster. All requests in a *parcel* go to the same node.

use super::{ConnectionPhase, LoadConnection};
use crate::load::{
    broken::ConnectionFailure,
    io::Io,
    parcel::{Flight, Parcel},
    segments::WorkerSegments,
    sequence::Sequence,
};

/// The command before the first request to a replica.
const READONLY: &[u8] = b"*1\r\n$8\r\nREADONLY\r\n";
/// The command before a request for a slot that the node does not own yet.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

impl LoadConnection {
    /// Writes a parcel at `now_ns`. The latencies of the parcel's requests begin with the first write of the parcel.
    pub(in crate::load) fn send_parcel(
        &mut self,
        io: &mut Io,
        mut parcel: Parcel,
        now_ns: u64,
        segments: &mut WorkerSegments,
    ) -> Result<(), ConnectionFailure> {
        let batch = self.next_batch();
        batch.operations.extend(parcel.requests.iter().map(|request| request.op));
        batch.dues.extend_from_slice(&parcel.dues);
        if parcel.written_ns == 0 {
            parcel.written_ns = now_ns;
        }
        let later = parcel.later.take();
        self.sequence = later.map(|later| Box::new(Sequence::new(1, later.0, &later.1)));
        self.inserted.take(&mut parcel.inserted);
        self.phase = ConnectionPhase::Busy;
        (self.since_ns, self.heard_ns, self.first_ns) = (parcel.written_ns, now_ns, 0);
        (self.generation, self.node) = (parcel.generation, parcel.node);
        let preface = match parcel.asks {
            true => ASKING,
            false if parcel.is_for_replica && !std::mem::replace(&mut self.is_readonly, true) => READONLY,
            false => &[],
        };
        segments.wrote_to(self.node, preface.len() + parcel.bytes.len());
        let sent = match preface {
            [] => self.write(io, &parcel.bytes),
            preface => self.write(io, &[preface, &parcel.bytes].concat()),
        };
        let (refused, awaits_preface) = (Vec::new(), !preface.is_empty());
        self.flight = Some(Box::new(Flight { parcel, refused, awaits_preface, preface_error: None }));
        sent
    }

    /// Removes and returns the parcel in flight.
    pub(in crate::load) fn take_flight(&mut self) -> Option<Box<Flight>> {
        self.flight.take()
    }
}
