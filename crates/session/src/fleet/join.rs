//! Joins the intervals that several agents measured at the same time. Counts are added, and histograms are merged.
//! Lengths are not added, because the intervals cover the same time.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    session::{AgentState, Interval, OperationInterval},
    stats::coarser,
};

/// The largest number of agents whose latencies are kept at full precision. With more agents, the latencies of each
/// agent are kept in coarser steps, because a screen stores the sum of each agent. The latencies of all agents together
/// are always precise.
const MOST_IN_FULL: usize = 100;
/// The number of ticks (quarter seconds) by which an agent's complete tick may go back when the agent's clock is
/// corrected.
const CORRECTED_TICKS: u64 = 2;

/// The intervals of the agents in the ticks (quarter seconds) that are not complete yet.
pub(super) struct IntervalJoin {
    /// For each agent, the last tick (quarter second) with all its intervals, or 0 before the first report. `None` if
    /// the agent has ended or is lost, so that the join does not wait for this agent.
    closed: Vec<Option<u64>>,
    ticks: BTreeMap<u64, BTreeMap<u32, JoinedInterval>>,
    /// The end of the last interval of each segment. The segment's next interval begins at this time. The lengths
    /// therefore add up to the elapsed time.
    reached_s: BTreeMap<u32, f64>,
}

/// The joined intervals of one segment in one tick (quarter second).
struct JoinedInterval {
    interval: Interval,
    start_s: f64,
    /// The number of clients of each agent.
    clients: BTreeMap<usize, u32>,
}

impl IntervalJoin {
    /// Returns an empty join for `agents` agents.
    pub(super) fn new(agents: usize) -> Self {
        Self { closed: vec![Some(0); agents], ticks: BTreeMap::new(), reached_s: BTreeMap::new() }
    }

    /// Adds an interval of an agent. `offset_us` and `error_us` are the figures of the agent's clock. An interval
    /// without time under load, such as the last replies of a segment, is not joined but returned.
    pub(super) fn add(
        &mut self,
        agent: usize,
        (offset_us, error_us): (f64, f64),
        mut interval: Interval,
    ) -> Option<Interval> {
        let number = agent as u16;
        let workers = interval.client.iter_mut().flat_map(|client| &mut client.workers);
        workers.for_each(|worker| worker.agent = Some(number));
        let mut part = interval.of_all();
        if self.closed.len() > MOST_IN_FULL {
            let OperationInterval { service, response, .. } = &mut part;
            response.iter_mut().chain([service]).for_each(|latency| *latency = coarser(latency));
        }
        interval.agents = [(number, part)].into();
        let state = AgentState { offset_us, error_us, ..AgentState::of(&interval) };
        interval.agent_states = [(number, state)].into();
        if interval.is_late() {
            return Some(interval);
        }
        let (start_s, clients) = (interval.t_s - interval.load_s(), interval.clients);
        let joined = match self.ticks.entry(interval.tick).or_default().entry(interval.segment) {
            Entry::Occupied(joined) => {
                let joined = joined.into_mut();
                joined.start_s = joined.start_s.min(start_s);
                // A pause of one agent is no pause of the load, because the other agents went on.
                let paused_s = joined.interval.paused_s.min(interval.paused_s);
                joined.interval.join(&interval);
                joined.interval.paused_s = paused_s;
                joined
            }
            Entry::Vacant(first) => {
                first.insert(JoinedInterval { interval, start_s, clients: BTreeMap::new() })
            }
        };
        joined.clients.insert(agent, clients);
        None
    }

    /// Records that all intervals of an agent up to `tick` have arrived. After this call, the join waits for the agent,
    /// even if the agent was lost before. While the machine of the session is suspended, the clock of the session
    /// stands still. The ticks of all agents then go back.
    pub(super) fn close(&mut self, agent: usize, tick: u64) {
        if self.closed[agent].is_some_and(|closed| closed.saturating_sub(tick) > CORRECTED_TICKS) {
            let closed = self.closed.iter_mut().flatten();
            closed.for_each(|closed| *closed = (*closed).min(tick.saturating_sub(1)));
            self.reached_s.clear();
        }
        self.closed[agent] = self.closed[agent].max(Some(tick));
    }

    /// Stops waiting for an agent.
    pub(super) fn leave(&mut self, agent: usize) {
        self.closed[agent] = None;
    }

    /// Returns the joined intervals of all complete ticks (quarter seconds).
    pub(super) fn take(&mut self) -> Vec<Interval> {
        let complete = self.closed.iter().flatten().min().copied().unwrap_or(u64::MAX);
        let mut taken = Vec::new();
        while let Some(first) = self.ticks.first_entry().filter(|first| *first.key() <= complete) {
            let segments = first.remove().into_values();
            taken.extend(segments.map(|joined| joined.finish(&mut self.reached_s)));
        }
        taken
    }
}

impl JoinedInterval {
    /// Returns the joined interval, which begins at the end of the segment's previous interval. An interval that ends
    /// before this time was reported late, and gets the length 0.
    fn finish(self, reached_s: &mut BTreeMap<u32, f64>) -> Interval {
        let Self { interval, start_s, clients } = self;
        let reached_s = reached_s.entry(interval.segment).or_insert(start_s);
        let new_s = (interval.t_s - *reached_s).max(0.0);
        let paused_s = interval.paused_s.min(new_s);
        let length_s = new_s - paused_s;
        *reached_s = reached_s.max(interval.t_s);
        let ops_per_s = if length_s > 0.0 { interval.ops as f64 / length_s } else { 0.0 };
        Interval {
            length_s,
            paused_s,
            ops_per_s,
            clients: clients.values().fold(0, |sum, clients| sum.saturating_add(*clients)),
            ..interval
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::{SECOND_NS, TICK_NS},
        fleet::clock_offset::{ClockOffset, SessionTime},
        session::OperationInterval,
        stats::Latency,
    };

    const CLOCK: (f64, f64) = (0.0, 0.0);

    fn interval(tick: u64, ops: u64, ns: u64) -> Interval {
        let service = Latency::of(&vec![ns; ops as usize]);
        let part = OperationInterval { ops, service: service.clone(), ..OperationInterval::default() };
        let commands = [("GET".to_owned(), part)].into();
        let ops_per_s = ops as f64 / 0.25;
        let t_s = tick as f64 / 4.0;
        Interval {
            tick,
            t_s,
            segment: 1,
            length_s: 0.25,
            ops,
            due: ops,
            ops_per_s,
            clients: 5,
            commands,
            service,
            ..Interval::default()
        }
    }

    #[test]
    fn counts_add_up_lengths_do_not_and_percentiles_cover_all_requests() {
        let mut join = IntervalJoin::new(2);
        assert_eq!(join.add(0, CLOCK, interval(3, 99, 1000)), None);
        join.close(0, 3);
        assert!(join.take().is_empty(), "the other agent has not reported yet");
        join.close(1, 2);
        assert!(join.take().is_empty(), "the other agent may still report this tick");
        assert_eq!(join.add(1, CLOCK, interval(3, 1, 50_000)), None);
        join.close(1, 4);
        let joined = join.take().remove(0);
        assert_eq!((joined.ops, joined.length_s, joined.ops_per_s, joined.clients), (100, 0.25, 400.0, 10));
        let all: Vec<_> = [vec![1000; 99], vec![50_000]].concat();
        assert!(joined.service.cells().eq(Latency::of(&all).cells()));
        assert_eq!(joined.agents.values().map(|agent| agent.ops).collect::<Vec<_>>(), [99, 1]);
    }

    #[test]
    fn of_many_agents_only_the_latencies_of_each_agent_are_coarser() {
        for (agents, is_coarse) in [(MOST_IN_FULL, false), (MOST_IN_FULL + 1, true)] {
            let mut join = IntervalJoin::new(agents);
            for agent in 0..agents {
                assert_eq!(join.add(agent, CLOCK, interval(3, 10, 1_000_000 + agent as u64 * 2000)), None);
                join.close(agent, 3);
            }
            let joined = join.take().remove(0);
            let each: Vec<_> = joined.agents.values().map(|agent| agent.service.clone()).collect();
            let all = Latency::merged(&each);
            assert_eq!((all.count(), all.max_ns()), (joined.service.count(), joined.service.max_ns()));
            assert_eq!(all.cells().ne(joined.service.cells()), is_coarse);
            let exact: Vec<_> =
                (0..agents as u64).flat_map(|agent| vec![1_000_000 + agent * 2000; 10]).collect();
            assert!(joined.service.cells().eq(Latency::of(&exact).cells()));
        }
    }

    /// Tests a session whose machine is suspended for 3 s. Its clock stands still, and the agents notice this 2.5 s
    /// later.
    #[test]
    fn intervals_are_joined_after_the_clock_of_the_session_stood_still() {
        let mut times = [0, 1].map(|_| {
            let mut offset = ClockOffset::default();
            offset.push(0, 50, 100);
            SessionTime::new(offset, 0)
        });
        let (mut join, mut length_s, mut ops) = (IntervalJoin::new(2), 0.0, Vec::new());
        (0..2).for_each(|agent| join.close(agent, 0));
        for n in 1..=100 {
            for (agent, time) in times.iter_mut().enumerate() {
                time.begun_at(if n < 40 { 0 } else { 3 * SECOND_NS }, n * TICK_NS);
                let tick = n.saturating_add_signed(time.correction_ticks());
                assert_eq!(join.add(agent, CLOCK, interval(tick, 10, 1000)), None);
                join.close(agent, tick);
                for joined in join.take() {
                    length_s += joined.length_s;
                    ops.push(joined.ops);
                }
            }
        }
        assert_eq!(times[0].correction_ticks(), -12);
        assert_eq!((ops, length_s), (vec![20; 100], 25.0));
    }

    #[test]
    fn only_a_pause_of_all_agents_is_a_pause_of_the_load() {
        let paused = |tick, paused_s| Interval { paused_s, ..interval(tick, 10, 1000) };
        for (pauses, length_s) in [([2.0, 0.0], 2.25), ([2.0, 1.5], 0.75)] {
            let mut join = IntervalJoin::new(2);
            for (agent, paused_s) in pauses.into_iter().enumerate() {
                assert_eq!(join.add(agent, CLOCK, paused(20, paused_s)), None);
                join.close(agent, 20);
            }
            assert_eq!(join.take().remove(0).length_s, length_s);
            // If the join no longer waits for an agent, the agent still adds its results, but no time.
            assert_eq!(join.add(0, CLOCK, paused(19, 3.0)), None);
            let late = join.take().remove(0);
            assert_eq!((late.ops, late.length_s, late.paused_s), (10, 0.0, 0.0));
        }
    }

    #[test]
    fn a_lost_agent_delays_no_tick_and_its_late_results_are_kept() {
        let mut join = IntervalJoin::new(2);
        assert_eq!(join.add(0, CLOCK, interval(3, 10, 1000)), None);
        join.close(1, 1);
        join.close(0, 9);
        assert!(join.take().is_empty());
        join.leave(1);
        assert_eq!(join.take().len(), 1);
        assert_eq!(join.add(1, CLOCK, interval(2, 7, 1000)), None);
        join.close(1, 9);
        let late = join.take().remove(0);
        assert_eq!((late.ops, late.length_s, late.ops_per_s), (7, 0.0, 0.0));
        assert_eq!(join.add(1, CLOCK, interval(10, 7, 1000)), None);
        join.close(0, 12);
        assert!(join.take().is_empty(), "it is awaited again");
    }
}
