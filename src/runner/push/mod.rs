//! `--push`: sends the metrics of a running session to receivers of OTLP, or of Prometheus' remote write.
//!
//! ```text
//! session ─► peer ─► thread "metrics": counts ─► sums, under a lock
//!                                                  │ every 10 s, and at the end
//!            thread "push", one a receiver:        └─► sample ─► queue ─► POST, again each second until it is accepted
//! ```
//! Each sample has all sums since the session began. So if a receiver was unreachable for a while, the last
//! sample is enough.

mod destination;
mod families;
mod otlp;
mod post;
mod remote_write;

use std::{
    collections::VecDeque,
    future::pending,
    pin::pin,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, SystemTime},
};

use anyhow::Context as _;
use hyper::{body::Bytes, header::HeaderMap};
use tokio::{
    runtime::Runtime,
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep, timeout},
};

use destination::PushProtocol;
pub use destination::{PushDestination, attributes, headers_of, otlp_headers};
use families::{Labels, families};
use post::{PostError, PushReceiver};

use super::{Failure, listener::listen, metrics::SharedMetrics};
use crate::{session::running::Peer, units};

/// The default time between two samples.
pub const EVERY: Duration = Duration::from_secs(10);
/// The maximum age of a sample that the receiver has not accepted yet.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// The maximum size of all samples that wait for a receiver, in bytes.
const KEPT_BYTES: usize = 16 << 20;
/// The time between two attempts to deliver a sample.
const AGAIN: Duration = Duration::from_secs(1);
/// The time for the last samples after the end of the session.
const LAST: Duration = Duration::from_secs(5);
/// The time between two attempts to deliver the last samples.
const LAST_AGAIN: Duration = Duration::from_millis(100);

/// The plan of `--push`: the receivers, and the headers and attributes that the receivers get.
#[derive(Debug, Clone)]
pub struct PushPlan {
    /// The receivers.
    pub to: Vec<PushDestination>,
    /// The time between two samples.
    pub every: Duration,
    /// The headers of each request.
    pub headers: HeaderMap,
    /// Further headers of each OTLP request.
    pub otlp_headers: HeaderMap,
    /// The attributes of this run: resource attributes in OTLP, and labels of each time series in remote write.
    pub attributes: Labels,
}

impl PushPlan {
    /// Prepares the receivers, before the measurement begins.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up.
    pub(super) fn prepare(&self) -> Result<Vec<PushQueue>, Failure> {
        let queue = |to: &PushDestination| {
            let mut headers = self.headers.clone();
            if to.protocol == PushProtocol::Otlp {
                headers.extend(self.otlp_headers.clone());
            }
            let receiver = PushReceiver::new(to, headers).with_context(|| format!("cannot push to {to}"))?;
            Ok(PushQueue {
                to: to.clone(),
                every: self.every,
                attributes: self.attributes.clone(),
                receiver: Arc::new(receiver),
                since_ns: now_ns(),
                samples: VecDeque::new(),
                taken: 0,
                lost: 0,
                failure: String::new(),
            })
        };
        self.to.iter().map(queue).collect()
    }
}

/// Pushes the metrics of the records that `peer` receives, until the session is over. Each receiver has a thread, which
/// waits for the last samples, and returns a report about samples that could not be delivered.
///
/// # Errors
/// Fails if the system cannot start a thread.
pub(super) fn push_metrics(
    queues: Vec<PushQueue>,
    peer: Peer,
) -> Result<Vec<JoinHandle<Option<String>>>, Failure> {
    let mut sums = SharedMetrics::default();
    let (goes_on, over) = watch::channel(());
    let mut threads = Vec::new();
    for queue in queues {
        let (sums, over) = (sums.clone(), over.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("cannot push figures")?;
        let push = move || finished(runtime, queue.run(&sums, over));
        let thread = std::thread::Builder::new().name("push".to_owned()).spawn(push);
        threads.push(thread.context("cannot push figures")?);
    }
    let count = move || {
        listen(&peer, &mut [&mut sums]);
        drop(goes_on);
    };
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(count);
    thread.context("cannot count metrics")?;
    Ok(threads)
}

/// Runs `work` to its end.
fn finished<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let result = runtime.block_on(work);
    // Dropping the runtime would wait for the lookup of a host name.
    runtime.shutdown_background();
    result
}

/// A receiver, and the samples that the receiver has not accepted yet.
pub(super) struct PushQueue {
    to: PushDestination,
    every: Duration,
    attributes: Labels,
    receiver: Arc<PushReceiver>,
    /// The start of the session, in nanoseconds since 1970.
    since_ns: u64,
    samples: VecDeque<(Instant, Bytes)>,
    taken: u64,
    /// The number of samples that will not be delivered.
    lost: u64,
    /// The reason why the last attempt failed.
    failure: String,
}

impl PushQueue {
    /// Takes and sends samples until the session is over. Returns a report if a sample was not delivered.
    async fn run(mut self, sums: &SharedMetrics, over: watch::Receiver<()>) -> Option<String> {
        let mut ends = over.clone();
        let deadline = async {
            // The sender is only dropped.
            let _ = ends.changed().await;
            sleep(LAST).await;
        };
        tokio::select! {
            () = self.work(sums, over) => {}
            () = deadline => {}
        }
        self.lost += self.samples.len() as u64;
        let (lost, taken) = (units::grouped(self.lost), units::count_with_noun(self.taken, "sample"));
        let failure = if self.failure.is_empty() { "the receiver does not answer" } else { &self.failure };
        (self.lost > 0).then(|| format!("--push {}: {lost} of {taken} not delivered: {failure}", self.to))
    }

    async fn work(&mut self, sums: &SharedMetrics, over: watch::Receiver<()>) {
        let receiver = Arc::clone(&self.receiver);
        let mut ends = over.clone();
        let mut ticks = interval_at(Instant::now() + self.every, self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut schedule = SampleSchedule { ticks, over, is_over: false };
        while !schedule.is_over || !self.samples.is_empty() {
            self.give_up_oldest();
            let Some((_, body)) = self.samples.front().cloned() else {
                schedule.next().await;
                self.sample(&sums.text());
                continue;
            };
            match self.beside(receiver.post(body), &mut schedule, sums).await {
                Ok(()) => {}
                Err(PostError::Later(why)) => {
                    self.failure = why;
                    if schedule.is_over {
                        sleep(LAST_AGAIN).await;
                    } else {
                        // The end of the session ends the pause.
                        let _ = self.beside(timeout(AGAIN, ends.changed()), &mut schedule, sums).await;
                    }
                    continue;
                }
                Err(PostError::Refused(why)) => {
                    self.failure = why;
                    self.lost += 1;
                }
            }
            self.samples.pop_front();
        }
    }

    /// Waits for `work`, and takes all samples that become due in this time. So a slow receiver loses no
    /// samples.
    async fn beside<T>(
        &mut self,
        work: impl Future<Output = T>,
        schedule: &mut SampleSchedule,
        sums: &SharedMetrics,
    ) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                () = schedule.next() => self.sample(&sums.text()),
            }
        }
    }

    /// Takes a sample of the metrics in `text`, and queues the sample.
    fn sample(&mut self, text: &str) {
        let families = families(text);
        let now_ns = now_ns();
        let mut labels = self.attributes.clone();
        let body = match self.to.protocol {
            PushProtocol::Otlp => {
                for (name, value) in
                    [("service.name", "redyno"), ("service.version", env!("CARGO_PKG_VERSION"))]
                {
                    labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
                }
                otlp::request(&families, &labels, self.since_ns, now_ns)
            }
            PushProtocol::RemoteWrite => {
                labels = labels.into_iter().map(|(name, value)| (label_of(&name), value)).collect();
                let info = families.iter().find(|family| family.name == "redyno_session");
                let address = info.and_then(|info| info.samples.first()?.labels.get("address")).cloned();
                labels.entry("job".to_owned()).or_insert_with(|| "redyno".to_owned());
                labels.entry("instance".to_owned()).or_insert(address.unwrap_or_default());
                remote_write::request(&families, &labels, now_ns)
            }
        };
        self.taken += 1;
        self.samples.push_back((Instant::now(), body.into()));
    }

    /// Drops the oldest samples while they are too old, or while all samples together are too large.
    fn give_up_oldest(&mut self) {
        let bytes =
            |samples: &VecDeque<(Instant, Bytes)>| samples.iter().map(|(_, body)| body.len()).sum::<usize>();
        while self.samples.len() > 1
            && (self.samples[0].0.elapsed() > KEPT_FOR || bytes(&self.samples) > KEPT_BYTES)
        {
            self.samples.pop_front();
            self.lost += 1;
        }
    }
}

/// The times when samples are taken: at regular intervals, and at the end of the session.
struct SampleSchedule {
    ticks: Interval,
    over: watch::Receiver<()>,
    is_over: bool,
}

impl SampleSchedule {
    /// Waits until a sample is due. After the end of the session, the function waits forever.
    async fn next(&mut self) {
        if self.is_over {
            pending::<()>().await;
        }
        tokio::select! {
            _ = self.ticks.tick() => {}
            _ = self.over.changed() => self.is_over = true,
        }
    }
}

/// Returns the name of an attribute as a label of Prometheus: `ci_job` for `ci.job`.
fn label_of(attribute: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = attribute.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(to: &str) -> PushQueue {
        let plan = PushPlan {
            to: vec![to.parse().unwrap()],
            every: EVERY,
            headers: HeaderMap::new(),
            otlp_headers: HeaderMap::new(),
            attributes: Labels::new(),
        };
        plan.prepare().unwrap().remove(0)
    }

    #[tokio::test(start_paused = true)]
    async fn samples_for_a_hanging_receiver_are_counted_as_not_delivered() {
        // This receiver accepts connections, but reads nothing.
        let hangs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut queue = queue(&format!("otlp:http://{}", hangs.local_addr().unwrap()));
        queue.every = Duration::from_secs(1);
        let (goes_on, over) = watch::channel(());
        let sums = SharedMetrics::default();
        let session = async {
            sleep(Duration::from_millis(5500)).await;
            drop(goes_on);
        };
        let (report, ()) = tokio::join!(queue.run(&sums, over), session);
        let report = report.unwrap();
        assert!(report.ends_with(": 6 of 6 samples not delivered: the receiver does not answer"), "{report}");
    }

    #[test]
    fn the_end_does_not_wait_for_the_lookup_of_a_host_name() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (answer, awaited) = std::sync::mpsc::channel::<()>();
        let (starts, started) = tokio::sync::oneshot::channel();
        let work = async {
            // Like tokio's lookup of a host name, this call blocks a thread.
            tokio::task::spawn_blocking(move || {
                let _ = starts.send(());
                let _ = awaited.recv_timeout(Duration::from_secs(20));
            });
            started.await.is_ok()
        };
        assert!(finished(runtime, work));
        assert!(answer.send(()).is_ok(), "the lookup is over");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_samples_for_an_unreachable_receiver_are_dropped_and_counted() {
        let mut queue = queue("otlp:http://127.0.0.1:1");
        for _ in 0..100 {
            queue.sample(families::tests::TEXT);
            queue.give_up_oldest();
            tokio::time::advance(EVERY).await;
        }
        assert_eq!((queue.samples.len(), queue.lost), (61, 39));
        queue.samples.iter_mut().for_each(|(_, body)| *body = Bytes::from_static(&[0; KEPT_BYTES / 10]));
        queue.sample(families::tests::TEXT);
        queue.give_up_oldest();
        assert_eq!((queue.samples.len(), queue.lost), (10, 91));
    }
}
