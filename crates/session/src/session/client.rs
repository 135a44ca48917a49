//! The cost of redyno itself during an interval: the `client` field of an interval record.
//!
//! ```text
//! {"cpu":0.71,"run_delay":0.004,"workers":[{"cpu":0.71,"run_delay":0.004},…],
//!  "readable_to_read":{…,"p99_us":…,"max_us":…},"late":null,"held":null}
//! ```
//! The distributions in this field have coarse histograms. These distributions only show whether redyno itself is the
//! bottleneck.

use serde::{Deserialize, Serialize};

use super::part::merge_some;
use crate::stats::{Latency, coarse};

/// The CPU cost of the load generator, and the times that replies waited until redyno read them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// The share of a core that redyno's busiest worker thread used (user and system time), 0 to 1.
    pub cpu: f64,
    /// The share of the time in which a worker was ready to run but had no core, 0 to 1. The value is the largest share
    /// of all workers. `null` except on Linux.
    pub run_delay: Option<f64>,
    /// The cost of each worker, `load-0` first. The cost of the receivers' thread is last.
    pub workers: Vec<WorkerCost>,
    /// The share of the time in which clients could not send because the next records of the dataset were not read yet,
    /// 0 to 1. The value is the largest share of all workers. Absent if no client waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_wait: Option<f64>,
    /// The times that replies waited in redyno, from the return of `poll` to the read. There is one sample for each
    /// connection that `poll` reported as readable. The timestamp of a reply is the time when `poll` returned. After
    /// every 32 connections, redyno reads the clock again. Service times therefore include a part of the wait in
    /// redyno.
    #[serde(serialize_with = "coarse::serialize")]
    pub readable_to_read: Latency,
    /// The largest possible delays of reply timestamps: the time from the return of `poll` to its next call, if redyno
    /// read replies in between. A reply that arrives in this time gets its timestamp only when the next call returns.
    #[serde(default, skip_serializing_if = "Latency::is_empty", serialize_with = "coarse::serialize")]
    pub receive_lag: Latency,
    /// The delays of requests: the time from the moment when a batch of requests was due until the batch was written.
    /// `null` if no batch was late.
    #[serde(serialize_with = "coarse::optional")]
    pub late: Option<Latency>,
    /// The latencies of requests that were late because redyno waited for a core. The wait was at least half of the
    /// latency, and at least 100 µs. The latencies are response times in open loop, and service times in closed loop.
    /// `null` if there was no such request, or if the system does not report these waits.
    #[serde(serialize_with = "coarse::optional")]
    pub held: Option<Latency>,
}

/// The cost of one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerCost {
    /// The number of the worker's agent. Absent for a worker of the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<u16>,
    /// Whether this is the receivers' thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receives: bool,
    /// The share of one core that the worker used, 0 to 1.
    pub cpu: f64,
    /// The share of the time in which the worker waited for a core, 0 to 1. `null` if the system does not report this
    /// wait.
    pub run_delay: Option<f64>,
    /// For a worker that never sleeps (`--busy`), the share of the time without anything to read or write, 0
    /// to 1. `cpu` includes this share. The share is absent for workers that sleep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spun: Option<f64>,
    /// The core on which the worker ran last, from 0. Absent except on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u16>,
}

impl WorkerCost {
    /// Returns the share of one core that the worker used for its work, 0 to 1: `cpu` without `spun`.
    pub fn work(&self) -> f64 {
        self.cpu - self.spun.unwrap_or(0.0).min(self.cpu)
    }
}

/// The state of an agent of a fleet in an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// Connections that carried load at the end of the interval.
    pub clients: u32,
    /// The share of a core that the agent's busiest worker thread used, 0 to 1. `null` in an interval with length 0.
    pub cpu: Option<f64>,
    /// The 99th percentile of the delays with which the agent sent batches of requests, in microseconds. With fewer
    /// than 100 batches, this is the largest delay. `null` if no batch was late.
    pub late_us: Option<f64>,
    /// The requests that were late because the agent waited for a core, as in [`Client::held`].
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub held: u64,
    /// The median time that replies waited until the agent read them, in microseconds. `null` with too few replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_us: Option<f64>,
    /// The wall clock of the agent's machine minus the clock of the bus, in microseconds. This offset changes no time
    /// of a record.
    #[serde(default)]
    pub offset_us: f64,
    /// The largest possible error of the agent's times and of `offset_us`, in microseconds.
    pub error_us: f64,
}

/// The name of the thread that receives messages.
pub(crate) const RECEIVERS: &str = "the receivers' thread";

impl Client {
    /// Returns the name of a worker: `load-0`, `load-0 of agent 3`, or the name of the receivers' thread.
    pub fn name_of(&self, worker: usize) -> String {
        let workers = &self.workers;
        if workers[worker].receives {
            return RECEIVERS.to_owned();
        }
        let Some(agent) = workers[worker].agent else { return format!("thread load-{worker}") };
        let number = workers[..worker].iter().filter(|other| other.agent == Some(agent)).count();
        format!("thread load-{number} of agent {agent}")
    }

    /// Returns the cost of these workers. The latencies in the result are empty.
    pub fn of(workers: Vec<WorkerCost>) -> Self {
        Self { workers, ..Self::default() }.with_the_busiest()
    }

    /// Sets `cpu` and `run_delay` to the largest value of any worker.
    pub(super) fn with_the_busiest(mut self) -> Self {
        self.cpu = self.workers.iter().map(|worker| worker.cpu).fold(0.0, f64::max);
        self.run_delay = self.workers.iter().filter_map(|worker| worker.run_delay).reduce(f64::max);
        self
    }

    /// Adds `later`, measured over `later_s` seconds, to `mine`, measured over `mine_s` seconds. Shares are averaged
    /// with these lengths as weights. A share that was measured in only one of `mine` and `later` stays unchanged.
    pub(super) fn merge(mine: &mut Option<Self>, mine_s: f64, later: Option<&Self>, later_s: f64) {
        let Some(later) = later else { return };
        let Some(client) = mine else {
            *mine = Some(later.clone());
            return;
        };
        let weight = if mine_s + later_s > 0.0 { later_s / (mine_s + later_s) } else { 0.5 };
        let mix = |mine: f64, later: f64| mine + (later - mine) * weight;
        let mut at = 0;
        for later in &later.workers {
            // Both lists are sorted by agent; some agents may be missing.
            at += client.workers[at..].iter().take_while(|worker| worker.agent < later.agent).count();
            match client.workers.get_mut(at).filter(|worker| worker.agent == later.agent) {
                None => client.workers.insert(at, *later),
                Some(mine) => {
                    mine.cpu = mix(mine.cpu, later.cpu);
                    let mixed = |mine: Option<f64>, later: Option<f64>| match (mine, later) {
                        (Some(mine), Some(later)) => Some(mix(mine, later)),
                        (mine, later) => mine.or(later),
                    };
                    mine.run_delay = mixed(mine.run_delay, later.run_delay);
                    mine.spun = mixed(mine.spun, later.spun);
                    mine.core = later.core.or(mine.core);
                }
            }
            at += 1;
        }
        if client.record_wait.is_some() || later.record_wait.is_some() {
            let share = |client: &Self| client.record_wait.unwrap_or(0.0);
            client.record_wait = Some(mix(share(client), share(later)));
        }
        client.readable_to_read.merge(&later.readable_to_read);
        client.receive_lag.merge(&later.receive_lag);
        merge_some(&mut client.late, later.late.as_ref());
        merge_some(&mut client.held, later.held.as_ref());
        *client = std::mem::take(client).with_the_busiest();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Interval, Summary};

    fn interval(length_s: f64, workers: &[(f64, Option<f64>)]) -> Interval {
        let workers = workers.iter().map(|(cpu, run_delay)| WorkerCost {
            cpu: *cpu,
            run_delay: *run_delay,
            ..WorkerCost::default()
        });
        Interval { length_s, client: Some(Client::of(workers.collect())), ..Interval::default() }
    }

    #[test]
    fn the_cost_is_that_of_the_busiest_worker() {
        let client = Client::of(vec![
            WorkerCost { cpu: 0.9, run_delay: Some(0.01), ..WorkerCost::default() },
            WorkerCost { cpu: 0.2, run_delay: Some(0.3), ..WorkerCost::default() },
        ]);
        assert_eq!((client.cpu, client.run_delay), (0.9, Some(0.3)));
    }

    #[test]
    fn shares_are_weighted_by_the_lengths_of_the_intervals() {
        let mut second = interval(0.75, &[(0.4, Some(0.0)), (0.8, None)]);
        second.merge(&interval(0.25, &[(0.8, Some(0.2)), (0.4, None)]));
        let client = second.client.unwrap();
        let cpu: Vec<_> = client.workers.iter().map(|worker| (worker.cpu * 1000.0).round()).collect();
        assert_eq!(cpu, [500.0, 700.0]);
        assert!((client.cpu - 0.7).abs() < 1e-9, "{client:?}");
        assert!(client.run_delay.is_some_and(|share| (share - 0.05).abs() < 1e-9), "{client:?}");
    }

    #[test]
    fn an_interval_without_length_changes_no_share() {
        let mut tick = interval(0.25, &[(0.6, Some(0.1))]);
        let before = tick.client.clone();
        tick.merge(&Interval { ops: 3, ..Interval::default() });
        assert_eq!(tick.client, before);
    }

    #[test]
    fn the_sum_contains_only_cost_under_load() {
        let mut summary = Summary::default();
        summary.add(&interval(1.0, &[(0.5, None)]), true);
        summary.add(&interval(1.0, &[(0.7, None)]), true);
        summary.add(&interval(9.0, &[(0.0, None)]), false);
        assert!(summary.client.is_some_and(|client| (client.cpu - 0.6).abs() < 1e-9));
    }

    #[test]
    fn workers_of_agents_stay_separate_when_an_agent_is_missing() {
        let of = |agents: &[(u16, f64)]| {
            let worker = |(agent, cpu): &(u16, f64)| WorkerCost {
                agent: Some(*agent),
                cpu: *cpu,
                ..WorkerCost::default()
            };
            Some(Client { workers: agents.iter().map(worker).collect(), ..Client::default() })
        };
        let mut sum = of(&[(0, 0.2), (2, 0.4), (2, 0.6)]);
        Client::merge(&mut sum, 1.0, of(&[(0, 0.4), (1, 0.9)]).as_ref(), 1.0);
        Client::merge(&mut sum, 1.0, of(&[(2, 0.4)]).as_ref(), 1.0);
        let seen: Vec<_> =
            sum.unwrap().workers.iter().map(|it| (it.agent, (it.cpu * 10.0).round())).collect();
        assert_eq!(seen, [(Some(0), 3.0), (Some(1), 9.0), (Some(2), 4.0), (Some(2), 6.0)]);
    }
}
