//! The queue of a receiver of `--push`: the samples that the receiver has not accepted yet.

use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use super::post::{PostError, PushReceiver};
use crate::units;

/// The maximum age of a sample that the receiver has not accepted yet.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// The maximum size of all samples that wait for a receiver, in bytes.
const KEPT_BYTES: usize = 16 << 20;
/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(4);
/// The time between two attempts to deliver a sample.
const AGAIN: Duration = Duration::from_secs(1);
/// The time for the last samples after the end of the session.
const LAST: Duration = Duration::from_secs(5);

/// A sample of all metrics.
pub(super) struct Sample {
    pub(super) taken: Instant,
    /// The body of the request that delivers the sample.
    pub(super) body: Vec<u8>,
}

/// A receiver, and the samples that the receiver has not accepted yet.
pub(super) struct PushQueue {
    receiver: PushReceiver,
    samples: VecDeque<Sample>,
    taken: u64,
    /// The number of samples that will not be delivered.
    lost: u64,
    /// The reason why the last attempt failed.
    failure: String,
    /// The receiver has asked for no request before this time.
    not_before: Instant,
}

impl PushQueue {
    /// Creates an empty queue.
    pub(super) fn new(receiver: PushReceiver) -> Self {
        let (samples, failure, not_before) = (VecDeque::new(), String::new(), Instant::now());
        Self { receiver, samples, taken: 0, lost: 0, failure, not_before }
    }

    /// Sends the samples that arrive, until the session is over. Returns a report if a sample was not delivered.
    pub(super) fn run(mut self, taken: &Receiver<Sample>) -> Option<String> {
        let mut next = Instant::now();
        loop {
            let pause = match self.samples.is_empty() {
                true => Duration::MAX,
                false => next.saturating_duration_since(Instant::now()),
            };
            match taken.recv_timeout(pause) {
                Ok(sample) => self.add(sample),
                Err(RecvTimeoutError::Timeout) if self.send_oldest(PATIENCE) => {}
                Err(RecvTimeoutError::Timeout) => next = Instant::now() + AGAIN,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.send_last();
        let (lost, taken) = (units::grouped(self.lost), units::count_with_noun(self.taken, "sample"));
        let Self { receiver, failure, .. } = &self;
        (self.lost > 0).then(|| format!("--push {}: {lost} of {taken} not delivered: {failure}", receiver.to))
    }

    /// Sends the remaining samples after the end of the session.
    fn send_last(&mut self) {
        let Some(end) = self.samples.back().map(|last| last.taken + LAST) else { return };
        while !self.samples.is_empty() && Instant::now() < end {
            if !self.send_oldest(PATIENCE.min(end.saturating_duration_since(Instant::now()))) {
                std::thread::sleep(AGAIN.min(end.saturating_duration_since(Instant::now())));
            }
        }
        self.lost += self.samples.len() as u64;
    }

    /// Sends the oldest sample. Returns false if the same sample must be sent again.
    fn send_oldest(&mut self, limit: Duration) -> bool {
        let Some(Sample { body, .. }) = self.samples.front() else { return true };
        if Instant::now() < self.not_before {
            return false;
        }
        match self.receiver.post(body, limit) {
            Ok(()) => {}
            Err(PostError::Later(why, pause)) => {
                (self.failure, self.not_before) = (why, Instant::now() + pause);
                return false;
            }
            Err(PostError::Refused(why)) => {
                self.failure = why;
                self.lost += 1;
            }
        }
        self.samples.pop_front();
        true
    }

    /// Adds a sample. Drops the oldest samples while they are too old, or while all samples together are too large.
    fn add(&mut self, sample: Sample) {
        let now = sample.taken;
        self.taken += 1;
        self.samples.push_back(sample);
        let bytes = |samples: &VecDeque<Sample>| samples.iter().map(|one| one.body.len()).sum::<usize>();
        while self.samples.len() > 1
            && (now.duration_since(self.samples[0].taken) > KEPT_FOR || bytes(&self.samples) > KEPT_BYTES)
        {
            self.samples.pop_front();
            self.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Read as _, Write as _},
        net::TcpListener,
        sync::{Mutex, mpsc::channel},
        thread,
    };

    use super::{super::destination::Headers, *};
    use crate::endpoint::Resolver;

    fn queue(to: &str) -> PushQueue {
        PushQueue::new(PushReceiver::new(&to.parse().unwrap(), &Headers::new()).unwrap())
    }

    /// Returns six samples of a session. Its last attempt to push ends in 100 ms.
    fn last_samples() -> Receiver<Sample> {
        let (samples, taken) = channel();
        let at = Instant::now() + Duration::from_millis(100) - LAST;
        (0..6).for_each(|_| samples.send(Sample { taken: at, body: b"{}".to_vec() }).unwrap());
        taken
    }

    #[test]
    fn samples_for_a_hanging_receiver_are_counted_as_not_delivered() {
        // This receiver accepts connections, but reads nothing.
        let hangs = TcpListener::bind("127.0.0.1:0").unwrap();
        let queue = queue(&format!("otlp:http://{}", hangs.local_addr().unwrap()));
        let report = queue.run(&last_samples()).unwrap();
        assert!(report.ends_with(": 6 of 6 samples not delivered: the receiver does not answer"), "{report}");
    }

    #[test]
    fn a_receiver_that_asks_for_a_pause_gets_no_request_before_its_end() {
        let busy = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut queue = queue(&format!("remote-write:http://{}", busy.local_addr().unwrap()));
        let refused = thread::spawn(move || {
            let (mut stream, _) = busy.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let answer = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 60\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
            busy
        });
        queue.add(Sample { taken: Instant::now(), body: b"x".to_vec() });
        assert!(!queue.send_oldest(PATIENCE) && !queue.send_oldest(PATIENCE));
        assert!(queue.failure.ends_with("answers HTTP 429 Too Many Requests (Retry-After: 60)"));
        let busy = refused.join().unwrap();
        busy.set_nonblocking(true).unwrap();
        assert_eq!(busy.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn the_end_does_not_wait_for_the_lookup_of_a_host_name() {
        let (answer, awaited) = channel::<()>();
        let awaited = Mutex::new(awaited);
        let mut queue = queue("otlp:http://receiver.example");
        queue.receiver.resolve_with(Resolver::new(move |_, _| {
            let _ = awaited.lock().unwrap().recv_timeout(Duration::from_secs(20));
            Err(io::ErrorKind::TimedOut.into())
        }));
        assert!(queue.run(&last_samples()).unwrap().contains(": 6 of 6 samples not delivered: "));
        assert!(answer.send(()).is_ok(), "the lookup is over");
    }

    #[test]
    fn the_oldest_samples_for_an_unreachable_receiver_are_dropped_and_counted() {
        let mut queue = queue("otlp:http://127.0.0.1:1");
        let begin = Instant::now();
        for n in 0..100 {
            queue.add(Sample { taken: begin + super::super::EVERY * n, body: vec![0; 10] });
        }
        assert_eq!((queue.samples.len(), queue.lost), (61, 39));
        let taken = queue.samples[60].taken;
        queue.samples.iter_mut().for_each(|sample| sample.body = vec![0; KEPT_BYTES / 10]);
        queue.add(Sample { taken, body: vec![0; 10] });
        assert_eq!((queue.samples.len(), queue.lost), (10, 91));
    }
}
