//! How a worker drives a cluster: a client's batch is divided by node, and each part is written on the client's lane to
//! its node. The client is free again when all parts are answered.

use super::{Worker, waiting::Ready};
use crate::{
    endpoint::NodeNumber,
    load::{
        ErrorKind,
        clients::Lane,
        parcel::{Kept, Parcel, Refusal},
    },
    workload::OpId,
};

/// A batch that a client has drawn.
struct Drawn {
    requests: u32,
    /// When the first request was due; `None` in a closed loop.
    first_due_ns: Option<u64>,
    parcels: Vec<Parcel>,
}

impl Worker {
    /// Draws the next batch of client `i`, which is free, and writes it to the nodes of the cluster.
    #[cold]
    pub(super) fn send_spread(&mut self, i: usize, now_ns: u64) {
        let Some(Drawn { requests, first_due_ns, parcels }) = self.draw_batch(i, now_ns) else { return };
        if requests == 0 {
            if self.awaits_record {
                self.clients.queue(i);
            }
            return;
        }
        if self.pace.is_closed() {
            self.segments.counts().due += u64::from(requests);
        }
        if self.stop_if_failed(requests.into(), now_ns) {
            return;
        }
        self.note_lateness(first_due_ns, now_ns);
        self.clients.owes(i, requests);
        self.segments.wrote(requests as usize, 0);
        for parcel in parcels {
            self.route(parcel, now_ns);
        }
    }

    fn draw_batch(&mut self, i: usize, now_ns: u64) -> Option<Drawn> {
        let client = self.clients.get_mut(i)?;
        let program = &self.setting.program;
        let pipeline = match self.setting.pipeline() {
            all if self.is_filling => all,
            all => u64::from(all).min(client.left) as u32,
        };
        let generation = self.segments.generation();
        let (mut whole, mut apart) = (Parcel::new(i, generation, now_ns), Vec::new());
        let (mut requests, mut first_due_ns) = (0, None);
        while requests < pipeline && self.pace.is_due(now_ns) {
            let before = program.has_records().then(|| client.draws.clone());
            self.out.clear();
            let (op, number): (OpId, _) = if self.is_filling {
                let Some(request) = self.filling.next() else { break };
                (program.append_nth(request.number, &mut client.draws, &mut self.out), Some(request))
            } else if self.allowance.take() {
                (program.append(&mut client.draws, &mut self.out), None)
            } else {
                break;
            };
            if self.out.awaits_record() {
                before.into_iter().for_each(|before| client.draws = before);
                match number {
                    Some(request) => self.filling.put_back(request),
                    None => self.allowance.put_back_one(),
                }
                self.awaits_record = true;
                break;
            }
            requests += 1;
            self.segments.counts().counts[op.index()].bytes_out += self.out.length_in_all() as u64;
            let due_ns = self.pace.take();
            first_due_ns = first_due_ns.or(due_ns);
            let key = program.first_key(op, self.out.copied());
            let slot = self.spread.as_mut().zip(key).map(|(spread, key)| spread.slot(key));
            let divides = self.spread.as_ref().is_some_and(|spread| spread.reads.are_divided());
            let reads = divides && program.operations().of(op).only_reads;
            let request = Kept { op, due_ns, slot, reads, end: 0, number };
            // An operation with steps that wait for one another has a parcel of its own.
            let mut alone = None;
            let parcel = match self.out.has_later() {
                true => alone.insert(Parcel::new(i, generation, now_ns)),
                false => &mut whole,
            };
            parcel.add(request, &mut self.out, program.values());
            apart.extend(alone);
        }
        client.left -= if self.is_filling { 0 } else { u64::from(requests) };
        apart.extend((!whole.requests.is_empty()).then_some(whole));
        Some(Drawn { requests, first_due_ns, parcels: apart })
    }

    /// Writes the requests of a parcel to the owners of their slots.
    pub(super) fn route(&mut self, parcel: Parcel, now_ns: u64) {
        let Some(spread) = &mut self.spread else { return };
        let parcels = spread.by_owner(parcel, now_ns);
        let without_replica = spread.reads.take_without_replica();
        self.segments.counts().redirects.count(&ErrorKind::NoReplica, without_replica);
        if without_replica > 0 {
            self.report_error(&ErrorKind::NoReplica, || "reads go to the primary of the slot".to_owned());
        }
        for parcel in parcels {
            match parcel.node {
                Some(node) => self.deliver(parcel, node, now_ns),
                None => self.hold(parcel, Refusal::Later("CLUSTERDOWN"), now_ns),
            }
        }
    }

    /// Writes a parcel on its client's lane to `node`, at once if the lane is idle.
    pub(super) fn deliver(&mut self, parcel: Parcel, node: NodeNumber, now_ns: u64) {
        let most = self.spread.as_ref().map_or(0, |spread| spread.most_lanes);
        let lane = self.clients.lane_to(parcel.client, node, most);
        match lane.and_then(|i| Some((i, self.clients.lane(i)?))) {
            Some((i, Lane { waiting, .. })) => {
                waiting.push_back(Parcel { node: Some(node), ..parcel });
                self.write_next(i);
            }
            // All lanes are in use: one will be idle soon.
            None => self.hold(Parcel { node: Some(node), ..parcel }, Refusal::NoLane, now_ns),
        }
    }

    /// Writes the next parcel of lane `i`, if the lane is idle.
    pub(super) fn write_next(&mut self, i: usize) {
        let Some(parcel) = self.clients.next_parcel(i) else { return };
        let now_ns = self.setup.clock.now_ns();
        self.seen_ns = now_ns;
        let Some(connection) = self.clients.connection(i) else { return };
        let sent = connection.send_parcel(self.poll.registry(), parcel, now_ns, &mut self.segments);
        self.watches.watch(i, now_ns.saturating_add(self.timeout_ns));
        if let Err(broken) = sent {
            // The server may have sent the reason.
            self.attend(i, Ready::TO_READ, now_ns);
            if self.clients.connection(i).is_some() {
                self.lose(i, &broken, now_ns);
            }
        }
    }
}
