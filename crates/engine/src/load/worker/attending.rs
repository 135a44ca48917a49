//! Handles the sockets of a load worker that the poll loop or the io_uring ring reports as ready.

use mio::{Token, event::Event};

use super::{
    ALARM, ConnectionFailure, ConnectionPhase, ErrorKind, Events, Io, LoadConnection, ReadContext, WAKE,
    Worker, arrival::ArrivalStamps, is_opening, waiting::SocketReadiness,
};
use crate::{
    load::io::{RingEvent as FromRing, RingEventKind},
    untrusted,
};

impl Worker {
    /// Handles all events of a call of poll that returned at `now_ns`.
    ///
    /// # Errors
    /// Fails if the system refuses a send of the io_uring ring.
    pub(super) fn attend_all(&mut self, events: &Events, asleep_ns: u64, now_ns: u64) -> std::io::Result<()> {
        let mut reads = 0;
        let mut arrival = ArrivalStamps::at(now_ns);
        for event in events {
            match event.token() {
                WAKE => {}
                ALARM => self.alarm.went_off(asleep_ns, now_ns),
                Token(client) => {
                    let came_ns = arrival.of_next(|| self.setup.clock.now_ns());
                    self.on_event(client, event, came_ns);
                    self.send_within_round()?;
                    reads += u64::from(event.is_readable());
                }
            }
        }
        while let Some(arrival) = self.io.next(&mut self.buffer) {
            self.on_arrival(arrival, now_ns);
            self.send_within_round()?;
            reads += 1;
        }
        if reads > 0 {
            let took_ns = self.setup.clock.now_ns() - now_ns;
            let client = &mut self.segments.counts().client;
            client.read_within(took_ns, reads);
            client.receive_lag.record(self.lag_ns);
            self.has_worked = true;
        }
        Ok(())
    }

    fn on_event(&mut self, i: usize, event: &Event, now_ns: u64) {
        if event.is_read_closed()
            && let Some(connection) = self.clients.connection(i)
        {
            connection.closes();
        }
        self.attend_ready(
            i,
            SocketReadiness { to_read: event.is_readable(), to_write: event.is_writable() },
            now_ns,
        );
    }

    /// Handles an event of the ring for a connection.
    fn on_arrival(&mut self, arrival: FromRing, now_ns: u64) {
        let FromRing { tag, came, has_ended } = arrival;
        if self.clients.connection(tag.lane).is_none_or(|connection| connection.tag() != Some(tag)) {
            return;
        }
        let receives_on = has_ended && !matches!(came, RingEventKind::Bytes(0) | RingEventKind::Failed(_));
        self.attend(tag.lane, now_ns, |connection, io, buffer, reading| match came {
            RingEventKind::Bytes(n) => connection.received(&buffer[..n], reading),
            RingEventKind::Nothing => Ok(()),
            RingEventKind::Failed(error) => Err(error.into()),
            RingEventKind::Unsent(rest) => connection.not_sent(rest, io),
        });
        if receives_on
            && let Some(connection) = self.clients.connection(tag.lane)
            && let Err(error) = connection.stay_in_ring(&mut self.io)
        {
            self.lose(tag.lane, &error.into(), now_ns);
        }
    }

    /// Handles client `i`, which has a ready socket.
    pub(super) fn attend_ready(&mut self, i: usize, ready: SocketReadiness, now_ns: u64) {
        self.attend(i, now_ns, |connection, io, buffer, reading| {
            let mut result = Ok(());
            // While connecting, a TLS handshake also continues on readable data.
            if ready.to_write || connection.phase == ConnectionPhase::Connecting {
                result = connection.writable(io, reading);
            }
            // Even if a write failed, data that the server sent before it closed the connection can still be read.
            if (ready.to_read || result.is_err()) && connection.phase != ConnectionPhase::Connecting {
                result = connection.readable(buffer, reading).and(result);
            }
            result
        });
    }

    /// Calls `act`, which reads from or writes to the connection of client `i`. After `act`, handles the new state of
    /// the connection.
    #[inline]
    fn attend(
        &mut self,
        i: usize,
        now_ns: u64,
        act: impl FnOnce(
            &mut LoadConnection,
            &mut Io,
            &mut [u8],
            &mut ReadContext,
        ) -> Result<(), ConnectionFailure>,
    ) {
        let Some(connection) = self.clients.connection(i) else {
            return;
        };
        let was_opening = is_opening(connection);
        let had_batch = connection.phase == ConnectionPhase::Busy;
        let mut reading = ReadContext {
            now_ns,
            clock: self.setup.clock,
            latency_to: self.setup.plan.latency_to,
            segments: &mut self.segments,
            greeting: &self.setup.greeting,
            first_errors: Vec::new(),
            waits: &self.waits,
        };
        let mut result = act(connection, &mut self.io, &mut self.buffer, &mut reading);
        if result.is_ok() && connection.phase == ConnectionPhase::Between {
            result = connection.write_next_step(&mut self.io, reading.segments, reading.now_ns);
        }
        if result.is_ok() && was_opening && !is_opening(connection) {
            result = connection.enter_ring(&mut self.io).map_err(ConnectionFailure::from);
        }
        let has_more = connection.has_more();
        let is_idle = connection.phase == ConnectionPhase::Idle;
        let is_spent = connection.must_reconnect();
        let batch = if had_batch { connection.batch() } else { 0 };
        let is_served = batch > 0 && !connection.is_refused();
        let still_opening = is_opening(connection);
        let first_errors = reading.first_errors;
        if !first_errors.is_empty() {
            self.refresh_topology();
        }
        for line in first_errors {
            self.report_error(&ErrorKind::of_line(&line), || untrusted::bytes(&line));
        }
        if was_opening && !still_opening {
            self.begin(now_ns);
            let (node, was_lost) = (self.clients.node_of(i), self.clients.greeted(i));
            if was_lost || node.is_some() {
                self.losses.back(node, now_ns);
            }
            if was_lost {
                self.recovers = self.spread.is_none();
                self.report_if_down(now_ns);
            }
            self.begin_session(i, now_ns);
        }
        if has_more {
            self.clients.queue_unread(i);
        }
        if let Err(broken) = result {
            self.lose(i, &broken, now_ns);
        } else if is_idle {
            if is_served {
                self.note_recovery(now_ns);
            }
            match self.spread {
                None => self.on_free(i, (batch, is_spent), now_ns),
                Some(_) => self.on_lane_idle(i, now_ns),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::{TcpListener, TcpStream},
        sync::{Arc, mpsc::channel},
        time::Duration,
    };

    use arc_swap::ArcSwap;
    use mio::{Events, Poll};

    use super::Worker;
    use crate::{
        clock::Clock,
        endpoint::{Address, NodeOutages, Target},
        knobs::{Knobs, Rhythm},
        load::{
            FirstCommands, IoMethod, LoadPlan, LoadSetting,
            phase::{Phase, Stops},
            ring,
            worker::WorkerSetup,
        },
        workload::Values,
    };

    const REQUEST: &[u8] = b"*1\r\n$4\r\nPING\r\n";

    /// Creates the worker of two clients that send PING to `server`.
    fn worker(server: &TcpListener, rhythm: Rhythm) -> Worker {
        let address = Address::Tcp { host: "127.0.0.1".into(), port: server.local_addr().unwrap().port() };
        let target = Target { address, ..Target::default() };
        let plan =
            LoadPlan { target, first_words: FirstCommands::Bare { tracks: false }, ..LoadPlan::fixture() };
        let workload = crate::workload::Workload::of_commands(&["PING".to_owned()]).unwrap();
        let knobs =
            Knobs { load: true, clients: 2, rhythm, workload: Arc::new(workload), ..Knobs::default() };
        let (clock, stops) = (Clock::start(), Stops { length: None, quota: None });
        let phase = Phase::first(None, &stops, 0);
        let program =
            Arc::new(plan.program(&knobs, &phase, Values::new(&knobs.workload, 3, plan.seed), clock));
        let (ring, _) = ring::pair(program.operations().count());
        let setting = LoadSetting { knobs, phase, program, ..LoadSetting::fixture(1) };
        let setup = WorkerSetup {
            index: 0,
            endpoints: Arc::new(plan.endpoints(0).unwrap()),
            greeting: plan.greeting(),
            clock,
            settings: Arc::new(ArcSwap::from_pointee(setting)),
            outages: NodeOutages::default(),
            events: channel().0,
            plan: Arc::new(plan),
        };
        let mut worker = Worker::new(setup, Poll::new().unwrap(), ring).unwrap();
        if worker.setup.plan.workers.io == IoMethod::Uring {
            worker.io.use_ring().unwrap();
        }
        worker
    }

    /// Lets the worker handle events until `done`, without sending between rounds.
    fn attend_until(worker: &mut Worker, mut done: impl FnMut(&mut Worker) -> bool) {
        let mut events = Events::with_capacity(8);
        while !done(worker) {
            let asleep_ns = worker.setup.clock.now_ns();
            let now_ns = worker.wait(&mut events, asleep_ns, Duration::from_millis(1)).unwrap();
            worker.attend_all(&events, asleep_ns, now_ns).unwrap();
        }
    }

    #[test]
    fn a_reply_during_a_long_round_has_a_receive_lag_of_at_least_the_round() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut worker = worker(&server, Rhythm::Grouped);
        worker.connect(0);
        attend_until(&mut worker, |worker| worker.clients.connected() == 2);
        worker.send_due();
        worker.io.flush().unwrap();
        let mut streams = [0, 1].map(|_| server.accept().unwrap().0);
        streams.iter_mut().for_each(|stream| stream.read_exact(&mut [0; REQUEST.len()]).unwrap());
        streams[0].write_all(b"+PONG\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(5));
        attend_until(&mut worker, |worker| worker.segments.answered() == 1);
        let lag = worker.segments.counts().client.receive_lag.latency();
        assert!(lag.max_ns() >= 5_000_000, "{}", lag.max_ns());
    }

    fn requests(stream: &mut TcpStream) -> usize {
        let mut bytes = [0; 4 * REQUEST.len()];
        match stream.read(&mut bytes) {
            Ok(length) => length / REQUEST.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_spread_client_sends_after_its_own_read_and_a_grouped_client_after_the_round() {
        for (rhythm, within_the_round) in [(Rhythm::Grouped, 0), (Rhythm::Spread, 2)] {
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut worker = worker(&server, rhythm);
            worker.connect(0);
            attend_until(&mut worker, |worker| worker.clients.connected() == 2);
            worker.send_due();
            worker.io.flush().unwrap();
            let mut streams = [0, 1].map(|_| server.accept().unwrap().0);
            for stream in &mut streams {
                stream.read_exact(&mut [0; REQUEST.len()]).unwrap();
                stream.set_nonblocking(true).unwrap();
                stream.write_all(b"+PONG\r\n").unwrap();
            }
            attend_until(&mut worker, |worker| worker.segments.answered() == 2);
            let mut sent = 0;
            let mut count = |_: &mut Worker| {
                sent += streams.iter_mut().map(requests).sum::<usize>();
                sent >= within_the_round
            };
            attend_until(&mut worker, &mut count);
            assert!(count(&mut worker));
            assert_eq!(sent, within_the_round, "{rhythm}");
        }
    }
}
