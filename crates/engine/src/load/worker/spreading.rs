//! How a load worker sends to the nodes of a cluster. In a closed loop with a pipeline, a client's batch goes to one
//! node. Otherwise, the worker divides the batch by node. The worker writes each part of the batch on the client's lane
//! (its connection) to the node. The client is free again when all parts are answered.

use super::{Worker, sending::TRIES};
use crate::{
    endpoint::NodeNumber,
    load::{
        ErrorKind,
        parcel::{NodeRefusal, Parcel, ParcelRequest},
        quota::NumberedRequest,
    },
    workload::OpId,
};

/// The generated batch of a client.
#[derive(Default)]
struct GeneratedBatch {
    /// The due time of the first request, in ns, or `None` in a closed loop.
    first_due_ns: Option<u64>,
    parcels: Vec<Parcel>,
}

impl Worker {
    /// Generates the next batch of the free client `i`, and writes the batch to the nodes of the cluster.
    #[cold]
    pub(super) fn send_spread(&mut self, i: usize, now_ns: u64) {
        let GeneratedBatch { first_due_ns, parcels } =
            if self.gathers() { self.gather(i, now_ns) } else { self.draw_batch(i, now_ns) };
        let requests: usize = parcels.iter().map(|parcel| parcel.requests.len()).sum();
        if requests == 0 {
            if self.awaits_record {
                self.clients.queue(i);
            }
            return;
        }
        if self.pace.is_closed() {
            self.segments.counts().due += requests as u64;
        }
        if self.stop_if_failed(requests as u64, now_ns) {
            return;
        }
        self.note_lateness(first_due_ns, now_ns);
        self.send_parcels(i, parcels, now_ns);
    }

    fn send_parcels(&mut self, i: usize, parcels: Vec<Parcel>, now_ns: u64) {
        self.has_worked = true;
        let requests: usize = parcels.iter().map(|parcel| parcel.requests.len()).sum();
        self.clients.add_unanswered(i, requests as u32);
        self.segments.wrote(requests, 0);
        for parcel in parcels {
            match parcel.node {
                Some(node) => self.deliver(parcel, node, now_ns),
                None => self.route(parcel, now_ns),
            }
        }
    }

    /// Returns whether requests are gathered by node until a batch is complete. Messages are not gathered, because
    /// each message gets its number and send time when it is generated.
    fn gathers(&self) -> bool {
        self.pace.is_closed()
            && !self.is_filling
            && self.setting.pipeline() > 1
            && self.setting.program.is_sent_at_once()
            && self.setting.program.messages().is_none()
            && !self.setting.program.has_one_key_in_turn()
            && self.spread.as_ref().is_some_and(|spread| spread.gathered.is_possible())
    }

    /// Generates requests until a batch is complete for the node of client `i`, or until several batches are complete
    /// for another node. The last requests of a load form smaller batches.
    fn gather(&mut self, i: usize, now_ns: u64) -> GeneratedBatch {
        let own = self.clients.lane(i).and_then(|lane| lane.node);
        let pipeline = self.setting.pipeline() as usize;
        let Some(spread) = &mut self.spread else { return GeneratedBatch::default() };
        let topology = spread.cluster.topology();
        spread.reads.next_batch();
        let mut complete = spread.gathered.take_complete(own, own, pipeline);
        while complete.is_none()
            && let Some((request, _)) = self.draw(i, now_ns)
        {
            let Some(spread) = &mut self.spread else { break };
            let to = spread.receiver(&topology, &request, now_ns);
            spread.gathered.add(to, request, (&mut self.out, self.setting.program.values()), pipeline);
            if spread.gathered.is_too_large() {
                self.send_gathered(true, now_ns);
                self.clients.queue(i);
                return GeneratedBatch::default();
            }
            complete = spread.gathered.take_complete(to.0, own, pipeline);
        }
        self.count_without_replica();
        let parcel = complete.or_else(|| self.spread.as_mut()?.gathered.take_largest());
        GeneratedBatch {
            first_due_ns: None,
            parcels: parcel.into_iter().map(|parcel| self.drawn_by(i, parcel, now_ns)).collect(),
        }
    }

    /// Assigns a gathered parcel (a group of requests for one node) to client `i`, as if this client had
    /// generated it at `now_ns`.
    fn drawn_by(&mut self, i: usize, parcel: Parcel, now_ns: u64) -> Parcel {
        let mut begin = 0;
        for request in &parcel.requests {
            self.segments.counts().counts[request.op.index()].bytes_out += (request.end - begin) as u64;
            begin = request.end;
        }
        Parcel { client: i, generation: self.segments.generation(), since_ns: now_ns, ..parcel }
    }

    /// Sends all gathered requests, because the setting changes or the requests are too large. The clients send the
    /// parcels in turn.
    pub(super) fn send_gathered(&mut self, goes_on: bool, now_ns: u64) {
        let parcels =
            self.spread.as_mut().map(|spread| spread.gathered.take_all(goes_on)).unwrap_or_default();
        let clients = self.clients.how_many_wanted().max(1);
        for (n, parcel) in parcels.into_iter().enumerate() {
            let parcel = self.drawn_by(n % clients, parcel, now_ns);
            self.segments.counts().due += parcel.requests.len() as u64;
            self.send_parcels(n % clients, vec![parcel], now_ns);
        }
    }

    fn draw_batch(&mut self, i: usize, now_ns: u64) -> GeneratedBatch {
        let generation = self.segments.generation();
        let (mut whole, mut apart) = (Parcel::new(i, generation, now_ns), Vec::new());
        let (mut requests, mut first_due_ns) = (0, None);
        while requests < self.setting.pipeline()
            && self.pace.is_due(now_ns)
            && let Some((request, number)) = self.draw(i, now_ns)
        {
            requests += 1;
            self.segments.counts().counts[request.op.index()].bytes_out += self.out.length_in_all() as u64;
            let due_ns = self.pace.take();
            first_due_ns = first_due_ns.or(due_ns);
            // An operation with several steps has a separate parcel.
            let mut alone = None;
            let parcel = match self.out.has_later() {
                true => alone.insert(Parcel::new(i, generation, now_ns)),
                false => &mut whole,
            };
            parcel.add(request, &mut self.out, self.setting.program.values());
            parcel.dues.extend(due_ns);
            parcel.numbers.extend(number);
            apart.extend(alone);
        }
        apart.extend((!whole.requests.is_empty()).then_some(whole));
        GeneratedBatch { first_due_ns, parcels: apart }
    }

    /// Generates the next valid request of client `i` into `out`. In a prefill, also returns the number of the
    /// request. A request with an invalid key counts as an error. Returns `None` if the client may not send more, if
    /// the dataset record is not available yet, or if no due request is valid.
    fn draw(&mut self, i: usize, now_ns: u64) -> Option<(ParcelRequest, Option<NumberedRequest>)> {
        for _ in 0..TRIES {
            let drawn = self.draw_any(i)?;
            // If a record could not be read, the load ends.
            if self.out.length_in_all() > 0 || self.out.failure().is_some() {
                return Some(drawn);
            }
            self.segments.counts().counts[drawn.0.op.index()].errors.count(&ErrorKind::Key, 1);
            self.segments.counts().due += u64::from(self.pace.is_closed());
            self.report_refused();
            self.pace.take();
            if !self.pace.is_due(now_ns) {
                break;
            }
        }
        self.clients.queue(i);
        None
    }

    /// Generates the next request of client `i` into `out`. If the key of the request is invalid, `out` stays
    /// empty.
    fn draw_any(&mut self, i: usize) -> Option<(ParcelRequest, Option<NumberedRequest>)> {
        let client = self.clients.get_mut(i)?;
        let program = &self.setting.program;
        let before = program.has_records().then(|| client.draws.clone());
        self.out.clear();
        if let Some(key) = program.key_of_next_turn(&client.draws) {
            client.key_of_turn = Some(key);
        }
        let (op, number): (OpId, _) = if self.is_filling {
            let request = self.filling.next()?;
            (program.append_nth(request.number, &mut client.draws, &mut self.out), Some(request))
        } else if client.left > 0 && self.allowance.take() {
            (program.append(&mut client.draws, &mut self.out), None)
        } else {
            return None;
        };
        if self.out.awaits_record() {
            before.into_iter().for_each(|before| client.draws = before);
            match number {
                Some(request) => self.filling.put_back(request),
                None => self.allowance.put_back_one(),
            }
            self.awaits_record = true;
            return None;
        }
        client.left -= u64::from(number.is_none());
        let of_turn = client.key_of_turn.as_deref();
        let key = of_turn.or_else(|| program.first_key(op, self.out.copied()));
        let slot = self.spread.as_mut().zip(key).map(|(spread, key)| spread.slot(key));
        let divides = self.spread.as_ref().is_some_and(|spread| spread.reads.are_divided());
        let divides = divides && of_turn.is_none();
        let reads = divides && program.operations().of(op).only_reads;
        Some((ParcelRequest { op, slot, reads, end: 0 }, number))
    }

    /// Writes the requests of a parcel to the owners of their slots.
    pub(super) fn route(&mut self, parcel: Parcel, now_ns: u64) {
        let Some(spread) = &mut self.spread else { return };
        let parcels = spread.by_owner(parcel, now_ns);
        self.count_without_replica();
        for parcel in parcels {
            match parcel.node {
                Some(node) => self.deliver(parcel, node, now_ns),
                None => {
                    let why = b"CLUSTERDOWN no known node owns the slot of this key";
                    self.delay_parcel(parcel, NodeRefusal::Later((*why).into()), now_ns);
                }
            }
        }
    }

    /// Counts the reads that went to a primary because no replica answered.
    fn count_without_replica(&mut self) {
        let without_replica = self.spread.as_mut().map_or(0, |spread| spread.reads.take_without_replica());
        if without_replica > 0 {
            self.segments.counts().redirects.count(&ErrorKind::NoReplica, without_replica);
            self.report_error(&ErrorKind::NoReplica, || "reads go to the primary of the slot".to_owned());
        }
    }

    /// Writes a parcel on its client's lane to `node`. The parcel is written at once if the lane is idle, otherwise
    /// after the parcels that already wait for the lane.
    pub(super) fn deliver(&mut self, parcel: Parcel, node: NodeNumber, now_ns: u64) {
        let spread = self.spread.as_ref();
        let most = spread.map_or(0, |spread| spread.most_lanes);
        let may_be_retried = spread.is_some_and(|spread| spread.retries.is_some());
        let lane = self.clients.lane_to(parcel.client, node, most);
        let parcel = Parcel { node: Some(node), may_be_retried, ..parcel };
        match lane.and_then(|i| Some((i, self.clients.lane(i)?))) {
            Some((i, lane)) if lane.is_idle() => self.write_parcel(i, parcel),
            Some((_, lane)) => {
                // Nearly every lane has at most one waiting parcel, and each client has a lane to each node.
                if lane.waiting.is_empty() {
                    lane.waiting.reserve_exact(1);
                }
                lane.waiting.push_back(parcel);
            }
            // All lanes are in use, but a lane will be idle soon.
            None => self.delay_parcel(parcel, NodeRefusal::NoLane, now_ns),
        }
    }

    /// Writes the next parcel of lane `i`, if the lane is idle.
    pub(super) fn write_next(&mut self, i: usize) {
        if let Some(parcel) = self.clients.next_parcel(i) {
            self.write_parcel(i, parcel);
        }
    }

    fn write_parcel(&mut self, i: usize, parcel: Parcel) {
        let now_ns = self.setup.clock.now_ns();
        self.seen_ns = now_ns;
        let Some(connection) = self.clients.connection(i) else { return };
        let sent = connection.send_parcel(&mut self.io, parcel, now_ns, &mut self.segments);
        self.watch_sent(i, sent, now_ns);
    }
}
