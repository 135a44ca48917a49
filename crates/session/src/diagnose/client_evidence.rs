//! Five kinds of evidence that redyno itself, not the server, limits a result.
//!
//! The shares in the table were measured with one worker and GET. The server and redyno had one core each. For the last
//! column, four compilers also ran on these two cores. The null server replies without doing any work.
//!
//! | | Redis, 1 to 1000 clients | null server, saturated | four builds on the same two cores |
//! |---|---|---|---|
//! | share of a core | 0.58–0.94 | 0.92–0.95 | 0.19–0.50 |
//! | share of the time waited for a core | 0.00–0.04 | 0.01–0.06 | 0.01–0.75 |
//! | p50 of the wait for reading / p50 of service | 0.00–0.03 | 0.00–0.04 | 0.00–0.23 |

use crate::{
    session::{AgentState, Interval, WorkerCost},
    stats::{Latency, PERCENTILES},
    units,
};

/// A kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EvidenceKind {
    /// Clients wait for the reader of the dataset's file.
    Reader,
    /// A worker is almost always busy.
    Cpu,
    /// A worker has work, but waits for a CPU core.
    RunDelay,
    /// The slowest requests are slow because a worker had no core.
    Tail,
    /// Replies have arrived, but redyno reads them much later.
    ReadWait,
}

/// One piece of evidence that the client is the limit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evidence {
    pub(super) kind: EvidenceKind,
    /// The share that is compared with the thresholds of this kind.
    share: f64,
    /// The text of the evidence, with its figure.
    pub(super) words: String,
}

/// The shortest time for which the wait for records is judged, in seconds. Opening a file alone takes some
/// milliseconds.
const SHORTEST_READ_S: f64 = 0.25;
/// Requests above one of these percentiles count as slow. The first percentile with enough samples is used.
const SLOW_FROM: [&str; 3] = ["p99", "p95", "p90"];

/// Returns each kind of evidence in an interval with a share of at least `threshold`, the strongest first. A recording
/// gives the same evidence as the live session.
pub(super) fn evidence(stretch: &Interval, threshold: impl Fn(EvidenceKind) -> f64) -> Vec<Evidence> {
    let found = EvidenceKind::ALL.into_iter().filter_map(|kind| kind.look(stretch));
    found.filter(|found| found.share >= threshold(found.kind)).collect()
}

impl EvidenceKind {
    /// All kinds of evidence, the strongest first.
    const ALL: [Self; 5] = [Self::Reader, Self::Cpu, Self::RunDelay, Self::Tail, Self::ReadWait];

    /// Returns two shares. The evidence begins at the first share, and ends below the second, lower share. A figure
    /// that varies around the first share is therefore reported only once.
    ///
    /// - Reader: the shares are the same as for the run-queue delay, because the first record of a batch may be
    ///   slightly late.
    /// - CPU: a saturated worker shows 0.92 to 0.95, because it still enters the kernel to poll.
    /// - Run-queue delay: waking up alone takes 5 % of the time. A share of 20 % means that another process is busy,
    ///   which affects every latency.
    /// - The tail: if most of the slow requests waited for a core, the percentile describes this machine.
    /// - Waiting to be read: replies wait in redyno for at least half of the service time. Server and network together
    ///   take no more time than redyno.
    pub(super) fn thresholds(self) -> (f64, f64) {
        match self {
            Self::Cpu => (0.90, 0.80),
            Self::Reader | Self::RunDelay => (0.20, 0.10),
            Self::Tail => (0.50, 0.35),
            Self::ReadWait => (0.50, 0.35),
        }
    }

    /// Returns the evidence of this kind; `None` if the share was not measured, or if there were too few requests.
    fn look(self, stretch: &Interval) -> Option<Evidence> {
        let client = stretch.client.as_ref()?;
        let most = |share: fn(&WorkerCost) -> Option<f64>| {
            let known = client.workers.iter().enumerate();
            let known = known.filter_map(|(n, worker)| Some((client.name_of(n), share(worker)?)));
            known.max_by(|left, right| left.1.total_cmp(&right.1))
        };
        let (share, words) = match self {
            Self::Reader => {
                let share = client.record_wait.filter(|_| stretch.length_s >= SHORTEST_READ_S)?;
                let waited = units::percent(share);
                let words = format!(
                    "redyno reads the dataset too slowly: clients wait {waited} of the time for the next record"
                );
                (share, words)
            }
            Self::Cpu => {
                let (worker, share) = most(|worker| Some(worker.work()))?;
                (share, format!("{worker} uses {} of a core", units::percent(share)))
            }
            Self::RunDelay => {
                let (worker, share) = most(|worker| worker.run_delay)?;
                (share, format!("{worker} waits {} of the time for a core", units::percent(share)))
            }
            Self::Tail => tail(stretch, client.held.as_ref()?)?,
            Self::ReadWait => {
                let unread_ns = client.readable_to_read.coarse().percentile(0.5)?;
                let service_ns = stretch.service.percentile(0.5)?;
                let (unread, service) = (units::latency(unread_ns), units::latency(service_ns));
                let most = most_of_agents(stretch, |agent| agent.unread_us);
                let agent = most.map(|agent| format!(", longest at agent {agent}")).unwrap_or_default();
                let words = format!(
                    "replies wait {unread} before redyno reads them{agent}; the p50 service time is {service}"
                );
                (unread_ns as f64 / service_ns.max(1) as f64, words)
            }
        };
        Some(Evidence { kind: self, share, words })
    }
}

/// Returns the share of the slow requests that waited for a core, and the text about this share. `held` has the
/// requests that spent at least half of their time waiting for a core.
fn tail(stretch: &Interval, held: &Latency) -> Option<(f64, String)> {
    let all = stretch.response.as_ref().unwrap_or(&stretch.service);
    let slow_from = |name| {
        let percentile = PERCENTILES.into_iter().find(|percentile| percentile.name == name)?;
        Some((name, all.percentile(percentile.quantile)?))
    };
    let (name, slow_ns) = SLOW_FROM.into_iter().find_map(slow_from)?;
    // A recording stores `held` in coarse cells (latency ranges). All requests are therefore counted in the
    // same coarse cells, in a live session too. Otherwise, more requests could seem to have waited than there
    // are slow requests.
    let from = |latency: &Latency| latency.coarse().count_from(slow_ns) as f64;
    let share = from(held) / from(all).max(1.0);
    let slow = units::percent(share);
    let held = |agent: &AgentState| (agent.held > 0).then_some(agent.held as f64);
    let words = if stretch.agent_states.is_empty() {
        format!("this machine causes the high {name}: {slow} of the slow requests waited for a core")
    } else {
        let agent = most_of_agents(stretch, held).map(|agent| format!(", mostly at agent {agent}"));
        let agent = agent.unwrap_or_default();
        format!(
            "the agents' machines cause the high {name}: {slow} of the slow requests waited for a core{agent}"
        )
    };
    Some((share, words))
}

/// Returns the agent with the largest `figure` in its last interval. Returns `None` if the figure is unknown for all
/// agents.
fn most_of_agents(stretch: &Interval, figure: impl Fn(&AgentState) -> Option<f64>) -> Option<u16> {
    let known = stretch.agent_states.iter().filter_map(|(agent, state)| Some((agent, figure(state)?)));
    known.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(agent, _)| *agent)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        diagnose::{of_segment, our_limit},
        knobs::Knobs,
        session::{Client, Host, Segment, ServerIdentity, SessionStart},
        stats::fixture::repeated,
    };

    /// Returns an interval of 0.25 s. For each worker, `workers` has the share of a core that the worker uses, and the
    /// share of the time that the worker waits for a core. Replies wait `unread_ns` before they are read.
    pub(in crate::diagnose) fn stretch(workers: &[(f64, f64)], unread_ns: u64) -> Interval {
        let costs = workers.iter().map(|&(cpu, delay)| WorkerCost {
            cpu,
            run_delay: Some(delay),
            ..WorkerCost::default()
        });
        let client = Client { readable_to_read: repeated(unread_ns, 1000), ..Client::of(costs.collect()) };
        Interval {
            length_s: 0.25,
            segment: 1,
            service: repeated(300_000, 1000),
            client: Some(client),
            ..Interval::default()
        }
    }

    fn text(stretch: &Interval) -> String {
        our_limit(stretch).unwrap_or_default()
    }

    /// Returns the advice on a machine with this number of cores.
    fn advice(stretch: &Interval, cores: usize) -> String {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let host = Host { cores, ..Host::default() };
        let session = SessionStart { host, ..SessionStart::now(ServerIdentity::default()) };
        of_segment(&Segment::new(0.0, 1, knobs), stretch, Some(&session)).remove(0).next
    }

    #[test]
    fn a_worker_of_a_fleet_is_named_with_its_agent() {
        let mut stretch = stretch(&[(0.1, 0.0), (0.2, 0.0), (0.95, 0.0)], 1000);
        let workers = &mut stretch.client.as_mut().unwrap().workers;
        workers.iter_mut().zip([0, 3, 3]).for_each(|(worker, agent)| worker.agent = Some(agent));
        assert!(
            text(&stretch).contains("thread load-1 of agent 3 uses 95 % of a core"),
            "{}",
            text(&stretch)
        );
    }

    #[test]
    fn a_busy_polling_worker_is_judged_by_its_time_with_work() {
        let mut stretch = stretch(&[(0.99, 0.0)], 1000);
        stretch.client.as_mut().unwrap().workers[0].spun = Some(0.6);
        assert_eq!(text(&stretch), "");
        stretch.client.as_mut().unwrap().workers[0].spun = Some(0.05);
        assert_eq!(text(&stretch), "thread load-0 uses 94 % of a core");
    }

    #[test]
    fn receivers_have_their_own_name_and_no_advice_about_threads() {
        let mut stretch = stretch(&[(0.2, 0.0), (0.95, 0.0)], 1000);
        stretch.client.as_mut().unwrap().workers[1].receives = true;
        assert_eq!(text(&stretch), "the receivers' thread uses 95 % of a core");
        assert_eq!(advice(&stretch, 8), "use fewer receivers, or a lower rate");
    }

    #[test]
    fn a_client_with_time_to_spare_is_no_limit() {
        assert_eq!(our_limit(&stretch(&[(0.89, 0.05), (0.5, 0.19)], 149_000)), None);
        assert_eq!(our_limit(&Interval::default()), None, "a missing figure is not evidence");
    }

    #[test]
    fn each_rule_names_the_worker_and_the_figure() {
        assert_eq!(text(&stretch(&[(0.5, 0.0), (0.97, 0.0)], 1_000)), "thread load-1 uses 97 % of a core");
        let waits = text(&stretch(&[(0.3, 0.41), (0.3, 0.1)], 1_000));
        assert_eq!(waits, "thread load-0 waits 41 % of the time for a core");
        let unread = text(&stretch(&[(0.3, 0.0)], 200_000));
        assert_eq!(unread, "replies wait 200 µs before redyno reads them; the p50 service time is 300 µs");
        let all = text(&stretch(&[(0.95, 0.3)], 200_000));
        assert_eq!(all.matches(", ").count(), 2, "{all}");
    }

    /// Returns an interval of an open loop. 990 requests take 0.3 ms, and `slow` requests take 6.8 ms. `held` of the
    /// slow requests waited for a core.
    fn with_tail(slow: u64, held: u64) -> Interval {
        let mut response = repeated(300_000, 990);
        response.merge(&repeated(6_800_000, slow));
        let mut stretch = Interval { response: Some(response), ..stretch(&[(0.05, 0.098)], 1_000) };
        let held = (held > 0).then(|| repeated(6_800_000, held));
        stretch.client.as_mut().unwrap().held = held;
        stretch
    }

    #[test]
    fn a_tail_that_waited_for_a_core_is_caused_by_this_machine() {
        let limit = |slow, held| text(&with_tail(slow, held));
        assert_eq!(
            limit(20, 16),
            "this machine causes the high p99: 80 % of the slow requests waited for a core"
        );
        assert_eq!(limit(20, 9), "", "the server or the network is the cause");
        assert_eq!(limit(20, 0), "");
        assert_eq!(advice(&with_tail(20, 16), 8), "give redyno its own cores");
    }

    #[test]
    fn every_limit_of_a_fleet_names_the_agent() {
        let agents = |mut stretch: Interval| {
            let state =
                |held, unread_us| AgentState { held, unread_us: Some(unread_us), ..AgentState::default() };
            stretch.agent_states = [(0, state(3, 2.0)), (4, state(9, 300.0)), (7, state(0, 1.0))].into();
            text(&stretch)
        };
        assert_eq!(
            agents(with_tail(20, 16)),
            "the agents' machines cause the high p99: 80 % of the slow requests waited for a core, mostly at agent 4"
        );
        assert_eq!(
            agents(stretch(&[(0.3, 0.0)], 200_000)),
            "replies wait 200 µs before redyno reads them, longest at agent 4; the p50 service time is 300 µs"
        );
    }

    #[test]
    fn with_few_requests_a_lower_percentile_is_judged() {
        let mut few = with_tail(20, 16);
        few.response = Some(repeated(6_800_000, 300));
        few.client.as_mut().unwrap().held = Some(repeated(6_800_000, 200));
        assert_eq!(
            text(&few),
            "this machine causes the high p95: 67 % of the slow requests waited for a core"
        );
        few.response = Some(repeated(6_800_000, 50));
        assert_eq!(text(&few), "", "too few to judge");
    }

    #[test]
    fn a_fast_request_that_waited_does_not_count_as_slow() {
        let mut fast = with_tail(20, 0);
        fast.client.as_mut().unwrap().held = Some(repeated(300_000, 500));
        assert_eq!(text(&fast), "");
    }

    #[test]
    fn too_few_replies_prove_nothing_about_their_wait() {
        let mut short = stretch(&[(0.1, 0.0)], 1_000);
        short.client.as_mut().unwrap().readable_to_read = repeated(900_000, 10);
        assert_eq!(our_limit(&short), None);
    }

    #[test]
    fn a_dataset_that_is_not_read_in_time_is_the_first_reason() {
        let waiting = |share| {
            let mut stretch = stretch(&[(0.95, 0.0)], 1_000);
            stretch.client.as_mut().unwrap().record_wait = Some(share);
            stretch
        };
        let limit = text(&waiting(0.97));
        let reader = "redyno reads the dataset too slowly: clients wait 97 % of the time for the next record";
        assert!(limit.starts_with(reader), "{limit}");
        assert!(advice(&waiting(0.97), 8).contains("faster disk"));
        assert!(!text(&waiting(0.1)).contains("dataset"));
        assert!(
            !text(&Interval { length_s: 0.04, ..waiting(0.97) }).contains("dataset"),
            "the file was opened"
        );
        let mut longer = waiting(0.8);
        longer.merge(&stretch(&[(0.95, 0.0)], 1_000));
        assert_eq!(longer.client.unwrap().record_wait, Some(0.4));
    }

    #[test]
    fn advice_follows_the_reason() {
        let busy = stretch(&[(0.97, 0.0)], 1_000);
        assert_eq!(advice(&busy, 2), "give redyno more --threads");
        assert_eq!(advice(&busy, 1), "run redyno on another host");
        assert_eq!(advice(&stretch(&[(0.3, 0.5)], 1_000), 8), "give redyno its own cores");
    }
}
