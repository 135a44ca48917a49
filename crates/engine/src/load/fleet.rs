//! A load that several machines generate. Each machine runs an agent, whose engine sends the requests. The engine of
//! the session has no workers. The session's engine publishes each setting to the agents' engines.
//!
//! ```text
//!  session   Load without workers ── Turn 1, Turn 2, … ──►┬─► agent 0   Load that follows, share 0 of 2
//!                                                         └─► agent 1   Load that follows, share 1 of 2
//! ```

use std::{fmt::Debug, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{clock::Clock, endpoint::NodeOutages, knobs::Knobs, workload::Share};

/// The role of an engine: it generates the load alone, or together with engines on other machines.
#[derive(Debug, Clone, Default)]
pub enum Fleet {
    /// This engine generates the whole load.
    #[default]
    Alone,
    /// Agents, which are engines on other machines, generate the load. This engine has no workers.
    Led(Arc<dyn Agents>),
    /// This engine belongs to an agent. The engine applies the settings of a session, and generates this share of the
    /// load.
    Agent(Share),
}

impl Fleet {
    /// Returns the share of the load that this engine generates.
    pub(super) fn share(&self) -> Share {
        if let Self::Agent(share) = self { *share } else { Share::ALL }
    }

    /// Returns whether agents generate the load.
    pub fn is_led(&self) -> bool {
        self.agents().is_some()
    }

    pub(super) fn agents(&self) -> Option<&Arc<dyn Agents>> {
        if let Self::Led(agents) = self { Some(agents) } else { None }
    }
}

/// The agents of a load.
pub trait Agents: Debug + Send + Sync {
    /// Passes a setting on to all agents. The times in the setting are on `clock`, the clock of the session.
    fn apply_setting(&self, turn: AgentSetting, clock: Clock);

    /// Ends the load of all agents. Waits for a limited time until the agents have stopped sending.
    fn end(&self);

    /// Returns the time from the publication of a setting until the setting takes effect, in ns. During this time, the
    /// setting reaches all agents.
    fn lead_ns(&self) -> u64;

    /// Returns whether all agents have begun, so that a load can start at all of them at the same time.
    fn are_ready(&self) -> bool;

    /// Returns whether all connected agents have sent all requests of this setting and have received the replies. The
    /// function is used for a prefill, and for a load with a limited number of requests.
    fn are_done(&self, generation: u32) -> bool;

    /// Returns the outages that the loads of all agents report.
    fn outages(&self) -> NodeOutages {
        NodeOutages::default()
    }
}

/// A setting in the form in which it is sent to agents. The times in the setting are on the session's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSetting {
    /// The number of the setting, and of the segment that begins with this setting.
    pub generation: u32,
    /// The time when the setting takes effect, in ns.
    pub since_ns: u64,
    /// The settings of all agents together.
    pub knobs: Knobs,
    /// The phase of the load.
    pub phase: AgentPhase,
}

/// The phase of a load, in the form in which it is sent to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentPhase {
    /// The prefill, which writes the keys of the workload.
    Prefill {
        /// The time when the prefill began, in ns.
        since_ns: u64,
        /// The number of requests that a client writes before it waits for the replies.
        pipeline: u32,
    },
    /// The warm-up, or the measured load.
    Load {
        /// Whether the load is the measured load instead of the warm-up. Only the measured load has a limit on
        /// requests.
        is_measured: bool,
        /// The time when the load ends, in ns. The time is `u64::MAX` if the end is unknown.
        until_ns: u64,
    },
}

impl AgentSetting {
    /// Returns this setting for another clock. All times are `ns` nanoseconds later, except the start time of
    /// a prefill.
    #[must_use]
    pub fn later_by(mut self, ns: i64) -> Self {
        let shift = |at_ns: &mut u64| {
            *at_ns = if *at_ns == u64::MAX { u64::MAX } else { at_ns.saturating_add_signed(ns) }
        };
        shift(&mut self.since_ns);
        // The start time of a prefill identifies the prefill, so it must stay the same on every clock.
        if let AgentPhase::Load { until_ns, .. } = &mut self.phase {
            shift(until_ns);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read},
        net::TcpListener,
        sync::{Mutex, atomic::AtomicBool, atomic::Ordering::Relaxed},
        time::Duration,
    };

    use super::*;
    use crate::{
        clock::SECOND_NS,
        endpoint::{Address, Target},
        knobs::Arrivals,
        load::{FirstCommands, Load, LoadPlan, RequestLimit, schedule::Schedule},
        workload::{Workload, client_seed},
    };

    #[derive(Debug, Default)]
    struct Stub {
        turns: Mutex<Vec<AgentSetting>>,
        are_ready: AtomicBool,
        are_done: AtomicBool,
    }

    const LEAD_NS: u64 = 100_000_000;

    impl Agents for Stub {
        fn apply_setting(&self, turn: AgentSetting, _: Clock) {
            self.turns.lock().unwrap().push(turn);
        }

        fn end(&self) {}

        fn lead_ns(&self) -> u64 {
            LEAD_NS
        }

        fn are_ready(&self) -> bool {
            self.are_ready.load(Relaxed)
        }

        fn are_done(&self, _: u32) -> bool {
            self.are_done.load(Relaxed)
        }
    }

    #[test]
    fn a_leading_engine_publishes_each_setting_ahead_and_sends_nothing_itself() {
        let agents = Arc::new(Stub::default());
        let requests = Some(RequestLimit::Shared(100));
        let plan = LoadPlan { fleet: Fleet::Led(Arc::clone(&agents) as _), requests, ..LoadPlan::fixture() };
        let (clock, knobs) = (Clock::start(), Knobs { load: true, ..Knobs::default() });
        let (load, output) = Load::start(&plan, knobs.clone(), Some(Duration::ZERO), clock).unwrap();
        assert!(output.rings.is_empty());
        assert!(!load.knobs().load && !load.is_ready_for(&knobs), "the agents have not begun");
        agents.are_ready.store(true, Relaxed);
        assert!(load.is_ready_for(&knobs));
        load.set(&Knobs { clients: 7, ..knobs });
        load.stop();
        let turns = agents.turns.lock().unwrap().clone();
        let seen: Vec<_> =
            turns.iter().map(|turn| (turn.generation, turn.knobs.clients, turn.knobs.load)).collect();
        assert_eq!(seen, [(1, 50, false), (2, 7, true), (2, 7, true)]);
        let is_measured =
            |turn: &AgentSetting| matches!(turn.phase, AgentPhase::Load { is_measured: true, .. });
        assert_eq!(turns.iter().map(is_measured).collect::<Vec<_>>(), [false, true, true]);
        assert!(turns[0].since_ns >= LEAD_NS && turns[1].since_ns > turns[0].since_ns);
        assert!(matches!(turns[2].phase, AgentPhase::Load { until_ns, .. } if until_ns < u64::MAX));
    }

    #[test]
    fn the_load_is_over_when_all_agents_report_that_they_are_done() {
        let agents = Arc::new(Stub::default());
        let requests = Some(RequestLimit::Shared(100));
        let plan = LoadPlan { fleet: Fleet::Led(Arc::clone(&agents) as _), requests, ..LoadPlan::fixture() };
        let (load, _output) = Load::start(&plan, Knobs::default(), None, Clock::start()).unwrap();
        assert!(!load.is_over());
        agents.are_done.store(true, Relaxed);
        assert!(load.is_over());
    }

    #[test]
    fn an_agent_uses_the_number_of_the_setting_and_its_share_of_the_prefill() {
        let plan = LoadPlan { fleet: Fleet::Agent(Share { index: 1, of: 2 }), ..LoadPlan::fixture() };
        let off = Knobs::default();
        let (load, _output) = Load::start(&plan, off.clone(), None, Clock::start()).unwrap();
        assert_eq!(load.last_change().segment, 0);
        let workload = off.workload.with_prefill().unwrap().into();
        let knobs = Knobs { workload, keyspace: 11, ..off };
        let phase = AgentPhase::Prefill { since_ns: 5, pipeline: 16 };
        let turn = AgentSetting { generation: 3, since_ns: 0, knobs: knobs.clone(), phase };
        load.follow(&turn, 0);
        assert_eq!(load.last_change().segment, 3);
        assert_eq!(load.last_change().prefill.map(|prefill| prefill.requests), Some(5), "11 are 6 and 5");
        // The clocks are compared anew at each setting.
        let next =
            AgentSetting { generation: 4, knobs: Knobs { clients: 9, ..knobs }, ..turn.later_by(1000) };
        load.follow(&next, 1000);
        assert_eq!(load.last_change().prefill.map(|prefill| prefill.requests), Some(5));
        assert_eq!(load.progress(), (4, false));
    }

    /// Compares the due times of eight agents with two workers each. No clock is involved. The last case is a fault: all
    /// workers draw the same times.
    #[test]
    fn the_due_times_of_eight_agents_are_one_schedule() {
        let dues = |arrivals, of, seeds: usize| {
            let agents = (0..of).map(|index| Share { index, of });
            let shares = agents.flat_map(|agent| [0, 1].map(|worker| agent.divided(worker, 2)));
            let of_worker = |share: Share| {
                let seed = client_seed(7, share.index % seeds);
                let mut schedule = Schedule::new(arrivals, 40_000.0, share, 0, seed);
                std::iter::from_fn(move || {
                    let due_ns = schedule.due_ns;
                    schedule.advance();
                    (due_ns < SECOND_NS).then_some(due_ns)
                })
            };
            let mut dues: Vec<_> = shares.flat_map(of_worker).collect();
            dues.sort_unstable();
            dues
        };
        let constant = dues(Arrivals::Constant, 8, 16);
        assert_eq!((constant.len(), &constant), (40_000, &dues(Arrivals::Constant, 1, 2)));
        // The Kolmogorov-Smirnov test of the gaps against the exponential distribution with the full rate.
        let distance = |dues: &[u64]| {
            let mut gaps: Vec<_> =
                dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 25_000.0).collect();
            gaps.sort_by(f64::total_cmp);
            let n = gaps.len() as f64;
            let apart = |(k, gap): (usize, &f64)| ((k as f64 + 0.5) / n - 1.0 + (-gap).exp()).abs();
            gaps.iter().enumerate().map(apart).fold(0.0, f64::max) * n.sqrt()
        };
        let [one, eight, fault] =
            [(1, 2), (8, 16), (8, 1)].map(|(of, seeds)| distance(&dues(Arrivals::Poisson, of, seeds)));
        assert!(one < 1.63 && eight < 1.63 && fault > 100.0, "{one}, {eight} and {fault}; 1 % exceed 1.63");
    }

    #[test]
    fn connections_open_before_a_setting_takes_effect_and_its_load_begins_at_its_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target =
            Target { address: Address::Tcp { host: "127.0.0.1".to_owned(), port }, ..Target::default() };
        let share = Share { index: 1, of: 2 };
        let first_words = FirstCommands::Bare { tracks: false };
        let plan = LoadPlan { target, first_words, fleet: Fleet::Agent(share), ..LoadPlan::fixture() };
        let (clock, off) = (Clock::start(), Knobs::default());
        let (load, mut output) = Load::start(&plan, off.clone(), None, clock).unwrap();
        let phase = AgentPhase::Load { is_measured: true, until_ns: u64::MAX };
        let follow = |generation, command: &str, since_ns| {
            let workload = Arc::new(Workload::of_commands(&[command.to_owned()]).unwrap());
            let knobs = Knobs { load: true, clients: 6, rate: Some(1000), workload, ..off.clone() };
            load.follow(&AgentSetting { generation, since_ns, knobs, phase }, 0);
        };
        follow(1, "TIME", u64::MAX);
        assert_eq!(load.last_change().segment, 1);
        let mut clients: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        for client in &mut clients {
            client.set_nonblocking(true).unwrap();
            assert!(client.read(&mut [0; 100]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        }
        let since_ns = clock.now_ns() + 50_000_000;
        follow(2, "PING", since_ns);
        clients[0].set_nonblocking(false).unwrap();
        let mut bytes = [0; 14];
        clients[0].read_exact(&mut bytes).unwrap();
        assert!(clock.now_ns() >= since_ns);
        assert_eq!(&bytes, b"*1\r\n$4\r\nPING\r\n");
        drop(load);
        let mut intervals = Vec::new();
        while let Ok(interval) = output.rings[0].intervals.pop() {
            intervals.push((interval.generation, interval.start_ns, interval.end_ns));
        }
        let before = intervals.iter().filter(|(generation, ..)| *generation < 2);
        assert!(before.clone().all(|(_, start_ns, end_ns)| start_ns == end_ns), "{intervals:?}");
        let first = intervals.iter().find(|(generation, ..)| *generation == 2);
        assert_eq!(first.map(|(_, start_ns, _)| *start_ns), Some(since_ns));
    }
}
