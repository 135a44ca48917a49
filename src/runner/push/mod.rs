//! `--push` sends the metrics of a running session to receivers of OTLP, or of Prometheus' remote write.
//!
//! ```text
//! session ─► peer ─► thread "metrics": counts, and takes a sample every 10 s and at the end
//!                                                  │
//!            thread "push", one a receiver:        └─► queue ─► POST, again each second until it is accepted
//! ```
//! Each sample has all sums since the session began. The last sample is therefore enough for a receiver that was
//! unreachable for a while.

mod destination;
mod families;
mod otlp;
mod post;
mod queue;
mod remote_write;

use std::{
    sync::mpsc::{Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use anyhow::Context as _;

use destination::PushProtocol;
pub use destination::{Headers, PushDestination, attributes, headers_of, otlp_headers};
use families::{Labels, families};
use post::PushReceiver;
use queue::{PushQueue, Sample};

use super::{
    Failure,
    listener::{Listener, listen},
    metrics::SharedMetrics,
};
use crate::session::{Delivery, Order, running::Peer};

/// The default time between two samples.
pub const EVERY: Duration = Duration::from_secs(10);

/// The plan of `--push`: the receivers, and their headers and attributes.
#[derive(Debug, Clone)]
pub struct PushPlan {
    /// The receivers.
    pub to: Vec<PushDestination>,
    /// The time between two samples.
    pub every: Duration,
    /// The headers of each request.
    pub headers: Headers,
    /// Further headers of each OTLP request.
    pub otlp_headers: Headers,
    /// The attributes of this run: resource attributes in OTLP, and labels of each time series in remote write.
    pub attributes: Labels,
}

impl PushPlan {
    /// Starts a thread for each receiver, and returns its sampler. The thread waits for the last samples. The thread
    /// returns a report about samples that could not be delivered.
    ///
    /// # Errors
    /// Fails if TLS cannot be set up, or the system cannot start a thread.
    pub(super) fn start(&self, sums: &SharedMetrics) -> Result<Vec<(Sampler, PushThread)>, Failure> {
        let start = |to: &PushDestination| {
            let mut headers = self.headers.clone();
            if to.protocol == PushProtocol::Otlp {
                headers.extend(self.otlp_headers.clone());
            }
            let receiver = PushReceiver::new(to, &headers).with_context(|| format!("cannot push to {to}"))?;
            let (samples, taken) = channel();
            let push = move || PushQueue::new(receiver).run(&taken);
            let thread = std::thread::Builder::new().name("push".to_owned()).spawn(push);
            let sampler = Sampler {
                protocol: to.protocol,
                attributes: self.attributes.clone(),
                sums: sums.clone(),
                since_ns: now_ns(),
                every: self.every,
                due: Instant::now() + self.every,
                samples,
            };
            Ok((sampler, thread.context("cannot push figures")?))
        };
        self.to.iter().map(start).collect()
    }
}

/// The thread of a receiver.
pub(super) type PushThread = JoinHandle<Option<String>>;

/// Counts the records that `peer` receives, and takes samples of the sums, until the session is over.
///
/// # Errors
/// Fails if the system cannot start a thread.
pub(super) fn count(mut sums: SharedMetrics, mut samplers: Vec<Sampler>, peer: Peer) -> Result<(), Failure> {
    let count = move || {
        let mut listeners: Vec<&mut dyn Listener> = vec![&mut sums];
        listeners.extend(samplers.iter_mut().map(|sampler| sampler as &mut dyn Listener));
        listen(&peer, &mut listeners);
        samplers.iter().for_each(Sampler::sample);
    };
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(count);
    thread.context("cannot count metrics")?;
    Ok(())
}

/// Takes the samples for a receiver.
pub(super) struct Sampler {
    protocol: PushProtocol,
    attributes: Labels,
    sums: SharedMetrics,
    /// The start of the session, in nanoseconds since 1970.
    since_ns: u64,
    every: Duration,
    /// The time of the next sample.
    due: Instant,
    samples: Sender<Sample>,
}

impl Listener for Sampler {
    fn take(&mut self, _: &Delivery) -> Vec<Order> {
        let now = Instant::now();
        if now >= self.due {
            self.sample();
            while self.due <= now {
                self.due += self.every;
            }
        }
        Vec::new()
    }
}

impl Sampler {
    /// Takes a sample of the metrics.
    fn sample(&self) {
        let body = request(self.protocol, &self.sums.text(), &self.attributes, self.since_ns);
        // The thread of the receiver takes all samples.
        let _ = self.samples.send(Sample { taken: Instant::now(), body });
    }
}

/// Returns the body of a request with the metrics in `text`. The metrics count since `since_ns`, in nanoseconds since
/// 1970.
fn request(protocol: PushProtocol, text: &str, attributes: &Labels, since_ns: u64) -> Vec<u8> {
    let families = families(text);
    match protocol {
        PushProtocol::Otlp => {
            let mut labels = attributes.clone();
            for (name, value) in [("service.name", "redyno"), ("service.version", env!("CARGO_PKG_VERSION"))]
            {
                labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
            otlp::request(&families, &labels, since_ns, now_ns())
        }
        PushProtocol::RemoteWrite => {
            let labels = attributes.iter().map(|(name, value)| (label_of(name), value.clone()));
            let mut labels: Labels = labels.collect();
            let info = families.iter().find(|family| family.name == "redyno_session");
            let address = info.and_then(|info| info.samples.first()?.labels.get("address")).cloned();
            labels.entry("job".to_owned()).or_insert_with(|| "redyno".to_owned());
            labels.entry("instance".to_owned()).or_insert(address.unwrap_or_default());
            remote_write::request(&families, &labels, now_ns())
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
