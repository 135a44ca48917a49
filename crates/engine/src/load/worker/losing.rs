//! How a load worker handles and reports lost connections.

use super::{Worker, stopping::WorkerStage};
use crate::load::{
    ErrorKind, LoadEvent, broken::ConnectionFailure, clients::is_opening, connection::ConnectionPhase,
};

impl Worker {
    /// Ends the connection of client `i`, or the client's attempt to connect. Counts the client's requests in
    /// flight as errors.
    #[cold]
    pub(super) fn lose(&mut self, i: usize, broken: &ConnectionFailure, now_ns: u64) {
        let kind = broken.kind();
        let remains = self.spread.is_some().then(|| (self.clients.owner(i), self.take_remains(i)));
        if self.clients.connection(i).is_none_or(|connection| connection.phase == ConnectionPhase::Connecting)
        {
            self.endpoint = self.endpoint.wrapping_add(1);
        }
        match self.clients.connection(i).filter(|connection| !is_opening(connection)) {
            None => drop(self.segments.counts().connects_failed.count(&kind, 1)),
            Some(connection) => {
                let due_ns = connection.unanswered_due_ns().filter(|_| self.spread.is_none());
                if self.spread.as_ref().is_none_or(|spread| spread.retries.is_none()) {
                    connection.count_lost(&kind, now_ns, &mut self.segments);
                }
                // At the end of the session, redyno itself closes the connection.
                if !matches!(broken, ConnectionFailure::Unanswered) {
                    self.segments.counts().connections_lost.count(&kind, 1);
                }
                due_ns.inspect(|due_ns| self.note_outage(|outages| outages.lost(0, *due_ns)));
                self.recovers = false;
                self.take_back(i);
            }
        }
        self.begin(now_ns);
        self.report_error(&kind, || broken.to_string());
        let node = self.clients.node_of(i);
        let newly_lost = self.clients.lost(i, now_ns);
        // Connections that are closed at the end of the session are not an outage.
        if !matches!(self.stage, WorkerStage::Over { .. }) {
            self.setup.endpoints.mark_stale(now_ns);
            if newly_lost {
                let of = |node| self.clients.open_to(node) + 1;
                self.losses.lost(node, now_ns, || (node.map_or(0, of), broken.to_string()));
                self.report_if_down(now_ns);
            }
        }
        if let Some((client, remains)) = remains {
            self.replace_lane(client, remains, (&kind, now_ns));
        }
        self.outage = kind;
    }

    /// Notes that a batch was answered without a refusal. Such a batch ends an outage if a connection was opened
    /// since the last loss.
    #[inline]
    pub(super) fn note_recovery(&mut self, now_ns: u64) {
        if std::mem::take(&mut self.recovers) {
            self.note_outage(|outages| outages.answered(0, now_ns));
        }
    }

    /// Reports that the last connection was lost, or that a connection is open again.
    pub(super) fn report_if_down(&mut self, at_ns: u64) {
        let worker = self.setup.index;
        match self.losses.down_change(self.clients.are_all_lost()) {
            Some(true) => self.emit(LoadEvent::Down { at_ns, worker }),
            Some(false) => self.emit(LoadEvent::Up { at_ns, worker }),
            None => {}
        }
    }

    pub(super) fn report_losses(&mut self) {
        for report in self.losses.reports(self.clients.how_many_lost() as u64) {
            self.emit(LoadEvent::Losses { worker: self.setup.index, report });
        }
    }

    /// Reports an error message if it is the first message of its `kind`, and if this kind is counted separately.
    pub(super) fn report_error(&mut self, kind: &ErrorKind, message: impl FnOnce() -> String) {
        let kind = kind.to_string();
        if self.reported_errors.is_new(&kind) {
            self.emit(LoadEvent::FirstError { kind, message: message() });
        }
    }

    pub(super) fn emit(&self, event: LoadEvent) {
        // Sending fails only at the end of the session, when the receiving end of the channel is gone.
        drop(self.setup.events.send(event));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        time::Duration,
    };

    use crate::{
        clock::Clock,
        endpoint::{Address, Target},
        knobs::Knobs,
        load::{FirstCommands, Load, LoadPlan, RequestLimit},
        workload::Workload,
    };

    #[test]
    fn an_outage_lasts_from_the_first_lost_request_to_the_first_reply_of_a_server_that_serves() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let clock = Clock::start();
        let server = std::thread::spawn(move || {
            let (mut bytes, mut replied_ns, mut is_loading) = ([0; 4096], 0, true);
            let (mut first, _) = listener.accept().unwrap();
            assert!(first.read(&mut bytes).unwrap() > 0);
            let asked_ns = clock.now_ns();
            drop(first);
            let (mut second, _) = listener.accept().unwrap();
            while second.read(&mut bytes).is_ok_and(|n| n > 0) {
                if std::mem::take(&mut is_loading) {
                    second.write_all(b"-LOADING the dataset\r\n").unwrap();
                    continue;
                }
                replied_ns = if replied_ns == 0 { clock.now_ns() } else { replied_ns };
                second.write_all(b"$-1\r\n").unwrap();
            }
            (asked_ns, replied_ns)
        });
        let target =
            Target { address: Address::Tcp { host: "127.0.0.1".to_owned(), port }, ..Target::default() };
        let requests = Some(RequestLimit::Shared(5));
        let first_words = FirstCommands::Bare { tracks: false };
        let plan = LoadPlan { target, requests, first_words, ..LoadPlan::fixture() };
        let knobs = Knobs { load: true, clients: 1, workload: Workload::ratio(0, 1), ..Knobs::default() };
        let (load, _output) = Load::start(&plan, knobs, None, clock).unwrap();
        while !load.is_over() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let outage = load.outages().of(0).expect("an outage");
        drop(load);
        let (asked_ns, replied_ns) = server.join().unwrap();
        assert!(
            outage.since_ns < asked_ns && outage.back_ns.is_some_and(|back| back > replied_ns),
            "{outage:?}"
        );
    }
}
