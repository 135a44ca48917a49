//! How a load worker follows the redirects of a cluster. If a node temporarily refuses a request, the worker sends the
//! request again. The worker sends the request to another node at once, or to the owner of the slot later. If a request
//! is lost with its connection, the worker counts an error and does not send the request again.
//!
//! ```text
//! MOVED, ASK                                    ──► to the named node, at most 6 times
//! TRYAGAIN, CLUSTERDOWN, LOADING, …             ──► after a pause, to the owner of the slot, until the timeout
//! no connection to the node, no owner           ──► as above
//! ```
//! With [`Retries`], a request is also sent again after any other error reply, and after the loss of its connection.

use std::{collections::VecDeque, sync::Arc};

use super::{Worker, stopping::WorkerStage};
use crate::{
    endpoint::{NodeNumber, NodeOutages},
    load::{
        ErrorKind, FailedRequest, Retries,
        connection::LoadConnection,
        parcel::{Flight, NodeRefusal, Parcel},
        spread::MOST_HOPS,
    },
    untrusted,
};

/// The parcels that were on a lost connection. A parcel is a group of requests for one node.
#[derive(Default)]
pub(super) struct Remains {
    node: Option<NodeNumber>,
    flight: Option<Box<Flight>>,
    /// How many requests of the parcel in flight were answered or refused.
    answered: usize,
    waiting: VecDeque<Parcel>,
}

impl Worker {
    /// Continues after lane `i` has become idle. Sends the lane's refused requests again, and writes the lane's next
    /// parcel. The client is free if all requests of the client are answered.
    pub(super) fn on_lane_idle(&mut self, i: usize, now_ns: u64) {
        let client = self.clients.owner(i);
        let flight = self.clients.connection(i).and_then(LoadConnection::take_flight);
        let answered =
            flight.as_ref().map_or(0, |flight| flight.parcel.requests.len() - flight.refused.len());
        if let Some(flight) = flight {
            if let Some(from) = flight.parcel.from.filter(|_| flight.refused.is_empty())
                && self.spread.as_ref().is_some_and(|spread| spread.has_primary_answered(&flight.parcel))
            {
                self.note_outage(|outages| outages.answered(from.index(), now_ns));
            }
            self.follow(*flight, now_ns);
        }
        self.write_next(i);
        self.settle(client, answered, now_ns);
    }

    /// Notes the beginning or the end of a period in which a node sends only errors or nothing. After the end of the
    /// load, the function does nothing.
    pub(super) fn note_outage(&self, note: impl FnOnce(&NodeOutages)) {
        if !matches!(self.stage, WorkerStage::Over { .. }) {
            note(&self.setup.outages);
        }
    }

    fn note_outage_of(&self, node: Option<NodeNumber>, due_ns: u64) {
        self.note_outage(|outages| node.into_iter().for_each(|node| outages.lost(node.index(), due_ns)));
    }

    /// Notes that `n` requests of `client` are answered or lost.
    fn settle(&mut self, client: usize, n: usize, now_ns: u64) {
        if let Some(batch) = self.clients.note_answered(client, n as u32) {
            self.on_free(client, (batch, false), now_ns);
        }
    }

    /// Sends the refused requests of a parcel again.
    fn follow(&mut self, flight: Flight, now_ns: u64) {
        let refuses_reads = flight.refuses_reads();
        let Flight { mut parcel, refused, preface_error, .. } = flight;
        if let Some(line) = preface_error {
            self.report_error(&ErrorKind::of_line(&line), || untrusted::bytes(&line));
        }
        let Some(by) = parcel.node.filter(|_| !refused.is_empty()) else { return };
        self.refresh_topology();
        if let Some(spread) = self.spread.as_mut().filter(|_| refuses_reads) {
            spread.avoid_replica(by, now_ns);
        }
        let places: Vec<_> = refused.iter().map(|(place, _)| *place).collect();
        let again = parcel.pick(&places);
        for (refusal, parcel) in again.divide(|place, _| refused[place].1.clone()) {
            if let Some(retries) = self.spread.as_ref().and_then(|spread| spread.retries_after(&refusal)) {
                let retries = Arc::clone(retries);
                self.retry(&retries, parcel, refusal, now_ns);
                continue;
            }
            self.segments.counts().redirects.count(&refusal.kind(), parcel.requests.len() as u64);
            let hops = parcel.hops + u32::from(refusal.is_redirect());
            let from = parcel.from.or(refusal.is_of_moved_slots().then_some(by));
            self.note_outage_of(from.filter(|from| *from == by), parcel.due_ns(0));
            let parcel = Parcel { node: None, from, hops, ..parcel };
            if hops > MOST_HOPS {
                self.give_up(&parcel, &refusal.kind(), &refusal.text(), now_ns);
                continue;
            }
            match self.spread.as_ref().map(|spread| spread.redirect_target(&refusal, by)) {
                Some(Ok(Some(node))) if matches!(refusal, NodeRefusal::Ask(..)) => {
                    for (_, single) in parcel.divide(|place, _| place) {
                        self.deliver(Parcel { asks: true, ..single }, node, now_ns);
                    }
                }
                Some(Ok(Some(node))) if hops == 1 => self.deliver(parcel, node, now_ns),
                // Two nodes may briefly disagree about the owner of a slot.
                Some(Ok(node)) => self.delay_parcel(Parcel { node, ..parcel }, refusal, now_ns),
                Some(Err(error)) => self.give_up(&parcel, &refusal.kind(), &error.to_string(), now_ns),
                None => {}
            }
        }
    }

    /// Sends failed requests again after a pause, or counts them as errors.
    fn retry(&mut self, retries: &Retries, parcel: Parcel, why: NodeRefusal, now_ns: u64) {
        let (kind, text) = (why.kind(), why.text());
        let line = (!matches!(why, NodeRefusal::Lost(_))).then_some(text.as_str());
        if !retries.allows(line, parcel.retries) || matches!(self.stage, WorkerStage::Over { .. }) {
            return self.give_up(&parcel, &kind, &text, now_ns);
        }
        self.report_error(&kind, || text);
        retries.count(parcel.requests.len(), parcel.retries);
        self.segments.counts().redirects.count(&kind, parcel.requests.len() as u64);
        let at_ns = now_ns.saturating_add(retries.pause_ns(parcel.retries));
        let again = parcel.retries + 1;
        if let Some(spread) = &mut self.spread {
            spread.hold_until(at_ns, Parcel { node: None, asks: false, retries: again, ..parcel }, why);
        }
    }

    /// Returns the time when the worker gives up a waiting parcel, in ns. If the parcel was already sent again after
    /// a failure, its wait has no time limit. The result is then `u64::MAX`.
    fn end_ns(&self, parcel: &Parcel) -> u64 {
        match parcel.retries {
            0 => parcel.since_ns.max(parcel.written_ns).saturating_add(self.timeout_ns),
            _ => u64::MAX,
        }
    }

    /// Keeps a parcel for a later attempt. After the timeout, gives the parcel up.
    pub(super) fn delay_parcel(&mut self, parcel: Parcel, why: NodeRefusal, now_ns: u64) {
        let end_ns = self.end_ns(&parcel);
        if now_ns >= end_ns {
            return self.give_up(&parcel, &why.kind(), &why.text(), now_ns);
        }
        self.refresh_topology();
        if let Some(spread) = &mut self.spread {
            spread.delay(parcel, why, (now_ns, end_ns));
        }
    }

    /// Sends waiting parcels again if their pause is over.
    pub(super) fn send_delayed(&mut self, now_ns: u64) {
        while let Some((parcel, why)) = self.spread.as_mut().and_then(|spread| spread.next_delayed(now_ns)) {
            match parcel.node {
                _ if now_ns >= self.end_ns(&parcel) => {
                    self.give_up(&parcel, &why.kind(), &why.text(), now_ns);
                }
                Some(node) => self.deliver(parcel, node, now_ns),
                None => self.route(parcel, now_ns),
            }
        }
    }

    /// Counts the requests of a parcel as errors of `kind`.
    #[cold]
    fn give_up(&mut self, parcel: &Parcel, kind: &ErrorKind, why: &str, now_ns: u64) {
        let again =
            if parcel.hops > MOST_HOPS { format!(", after {MOST_HOPS} redirects") } else { String::new() };
        self.report_error(kind, || format!("{why}{again}"));
        self.report_failed(parcel, why);
        for request in &parcel.requests {
            let mut replies = self.segments.replies(parcel.generation, now_ns, 0);
            replies.node = parcel.node;
            replies.count_lost(&[request.op], false, kind);
        }
        self.give_back(parcel, 0);
        self.settle(parcel.client, parcel.requests.len(), now_ns);
    }

    /// Reports the requests of a failed parcel that is not sent again. Does so only if the plan has a channel for
    /// failed requests.
    fn report_failed(&self, parcel: &Parcel, why: &str) {
        let retries = self.spread.as_ref().and_then(|spread| spread.retries.as_ref());
        let Some(failed) = retries.and_then(|retries| retries.failed.as_ref()) else { return };
        let (program, mut begin) = (&self.setting.program, 0);
        for request in &parcel.requests {
            let bytes = &parcel.bytes[std::mem::replace(&mut begin, request.end)..request.end];
            let key = program.first_key(request.op, bytes).unwrap_or_default().to_vec();
            let operation = program.operations().of(request.op).label.clone();
            let (error, retries) = (why.to_owned(), parcel.retries);
            // Sending fails only at the end of the session, when the receiving end of the channel is gone.
            drop(failed.send(FailedRequest { operation, key, error, retries }));
        }
    }

    /// Returns the lost requests of a prefill to the allowance (the requests that the worker may send), so that they
    /// are sent again. All requests of the parcel after the first `answered` requests are lost.
    fn give_back(&mut self, parcel: &Parcel, answered: usize) {
        let is_current =
            self.spread.as_ref().is_some_and(|spread| parcel.generation > spread.gives_back_after);
        if let Some(lost) = parcel.numbers.get(answered..).filter(|lost| is_current && !lost.is_empty()) {
            self.filling.give_back(lost);
            self.resume_prefill();
        }
    }

    /// Removes and returns the parcels on lane `i`, because its connection is lost.
    pub(super) fn take_remains(&mut self, i: usize) -> Remains {
        let mut remains = Remains::default();
        if let Some(connection) = self.clients.connection(i) {
            (remains.flight, remains.answered) = (connection.take_flight(), connection.answered());
        }
        if let Some(lane) = self.clients.lane(i) {
            (remains.node, remains.waiting) = (lane.node, std::mem::take(&mut lane.waiting));
        }
        remains
    }

    /// Continues after the loss of a lane. Unanswered requests are already counted as errors. Refused requests and
    /// unwritten requests are sent again.
    pub(super) fn replace_lane(
        &mut self,
        client: usize,
        remains: Remains,
        (kind, now_ns): (&ErrorKind, u64),
    ) {
        if let (Some(spread), Some(node)) = (&mut self.spread, remains.node) {
            spread.look_up_again(node, now_ns);
            spread.reads.avoid(node, now_ns);
        }
        for parcel in remains.waiting {
            let from = parcel.from.or(remains.node);
            self.note_outage_of(from, parcel.due_ns(0));
            self.delay_parcel(
                Parcel { node: None, asks: false, from, ..parcel },
                NodeRefusal::Unreachable(kind.clone()),
                now_ns,
            );
        }
        let Some(mut flight) = remains.flight else { return };
        let retries = self.spread.as_ref().and_then(|spread| spread.retries.clone());
        if let Some(retries) = retries {
            let lost: Vec<_> = (remains.answered..flight.parcel.requests.len()).collect();
            let lost = flight.parcel.pick(&lost);
            let settled = remains.answered - flight.refused.len();
            self.follow(*flight, now_ns);
            self.settle(client, settled, now_ns);
            if !lost.requests.is_empty() {
                self.retry(&retries, lost, NodeRefusal::Lost(kind.clone()), now_ns);
            }
            return;
        }
        // A lane has a parcel in flight only while the lane waits for replies.
        let (total, refused) = (flight.parcel.requests.len(), flight.refused.len());
        if remains.answered < total {
            self.note_outage_of(remains.node, flight.parcel.due_ns(remains.answered));
        }
        self.give_back(&flight.parcel, remains.answered);
        self.follow(*flight, now_ns);
        self.settle(client, total - refused, now_ns);
    }

    /// Counts all unwritten requests as errors of `kind`, at the end of the load.
    pub(super) fn give_up_parcels(&mut self, kind: &ErrorKind, now_ns: u64) {
        let mut parcels = self.clients.take_all_waiting();
        while let Some((parcel, _)) = self.spread.as_mut().and_then(|spread| spread.next_delayed(u64::MAX)) {
            parcels.push(parcel);
        }
        for parcel in parcels {
            self.give_up(&parcel, kind, "the session ended before the request could be sent", now_ns);
        }
    }

    pub(super) fn refresh_topology(&self) {
        if let Some(spread) = &self.spread {
            spread.cluster.mark_stale();
        }
    }
}

#[cfg(test)]
mod tests;
