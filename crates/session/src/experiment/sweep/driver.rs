//! Runs a sweep: changes the knob from step to step, and decides whether a step has enough samples.

use super::{SweepPlan, step::SweepStep, table};
use crate::{
    diagnose::our_limit,
    events::{EventKind, KneeAt, SweepBest, SweptReceivers, SweptStep},
    experiment::{
        ChartData, Curve, Ending, Experiment, ExperimentSetting, Interruption, Points,
        setting_tracker::{Observed, SettingTracker},
        t_s,
    },
    session::{Delivery, Interval, Order},
    units,
};

/// A sweep: the load runs with one value of a knob after another.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// The plan.
    pub plan: SweepPlan,
    settings: Vec<ExperimentSetting>,
    in_force: SettingTracker,
    /// The index of the present step; `None` before the first step.
    at: Option<usize>,
    step: Option<SweepStep>,
    /// The results of the steps so far. The first moments of each step do not count.
    pub curve: Curve,
    /// The p99 of the service time in the last step, in seconds. Requests are in flight for about this time.
    in_flight_s: f64,
    best: Option<SweepBest>,
    ending: Option<Ending>,
}

impl Sweep {
    /// Returns a sweep of this plan. `settings` are the settings of its steps.
    pub fn of(plan: SweepPlan, settings: Vec<ExperimentSetting>) -> Self {
        Self {
            settings,
            curve: Curve::new(plan.dimension),
            plan,
            in_force: SettingTracker::default(),
            at: None,
            step: None,
            in_flight_s: 0.0,
            best: None,
            ending: None,
        }
    }

    fn request_step(&mut self, to: usize) -> Vec<Order> {
        self.step = None;
        let Some(setting) = self.settings.get(to) else { return self.end() };
        self.at = Some(to);
        self.in_force.request(setting)
    }

    fn measure(&mut self, interval: &Interval) -> Vec<Order> {
        let (Some(at), Some(step)) = (self.at, &mut self.step) else { return Vec::new() };
        if !step.take(interval) {
            return Vec::new();
        }
        let (is_steady, measured, gauges) = (step.is_steady(), step.measured(), step.gauges.clone());
        let is_silent = measured.ops == 0;
        self.in_flight_s = measured.service.value_at_quantile(0.99) as f64 / 1e9;
        let value = self.plan.values[at];
        let point = self.curve.add(value, interval.segment, &self.settings[at].knobs, measured);
        (point.is_steady, point.gauges) = (Some(is_steady), gauges);
        let step = SweptStep {
            knob: self.plan.dimension.word(),
            value,
            setting: self.plan.dimension.named(value),
            length_s: measured.length_s,
            ops_per_s: measured.ops_per_s,
            p50_us: point.percentile_us(0.5),
            p99_us: point.percentile_us(0.99),
            p999_us: point.percentile_us(0.999),
            recall: point.recall(),
            received: point.received().map(|(of, got)| {
                let p99_us = point.received_p99().map(|ns| ns as f64 / 1e3);
                Box::new(SweptReceivers { of: of.to_owned(), p99_us, lost: got.lost })
            }),
            is_steady,
            client_limit: our_limit(measured),
        };
        // Without any success, there is no best step any more.
        let next = if is_silent { self.end() } else { self.request_step(at + 1) };
        [Order::Event(EventKind::Stepped { step })].into_iter().chain(next).collect()
    }

    /// Ends the sweep with the results so far, and restores the knobs.
    fn end(&mut self) -> Vec<Order> {
        let order = self.conclude(None);
        order.into_iter().chain(self.in_force.restore()).collect()
    }

    /// Evaluates the results at the end or after an interruption, and returns the event to report.
    fn conclude(&mut self, interruption: Option<Interruption>) -> Option<Order> {
        self.step = None;
        let limit = self.plan.limit.as_ref();
        let dimension = self.plan.dimension;
        let knee = self.curve.law().and_then(|law| law.knee);
        // If no request succeeded at one of the values, the server may have died during the sweep, so the
        // best value is unknown.
        let silent = self.curve.points.iter().find(|point| point.measured.ops == 0);
        self.best = self.curve.best(limit).filter(|_| silent.is_none()).map(|point| SweepBest {
            knob: dimension.word(),
            value: point.value,
            setting: dimension.named(point.value),
            ops_per_s: point.ops_per_s(),
            p99_us: point.percentile_us(0.99),
            limit: limit.map(ToString::to_string),
            steps: self.curve.points.len() as u32,
            of: self.plan.values.len() as u32,
            knee: knee.map(|knee| KneeAt { value: knee.at, ops_per_s: knee.peak }),
        });
        let none = || match (silent, limit) {
            (Some(point), _) => Ending::Undecided(format!(
                "no request succeeded at {}, so there is no best value",
                dimension.named(point.value)
            )),
            (None, Some(limit)) => {
                Ending::NotHeld(format!("none of these values of {} keeps {limit}", dimension.name()))
            }
            (None, None) => Ending::Undecided("no step was measured".to_owned()),
        };
        self.ending = Some(match interruption {
            Some(interruption) => Ending::Interrupted(interruption),
            None if self.best.is_none() => none(),
            None => Ending::Done,
        });
        let event = match (&self.best, limit) {
            (Some(best), _) => Some(EventKind::BestStep { best: best.clone() }),
            (None, Some(limit)) if matches!(self.ending, Some(Ending::NotHeld(_))) => {
                Some(EventKind::NothingFound { knob: dimension.word(), limit: limit.to_string() })
            }
            _ => None,
        };
        event.map(Order::Event)
    }
}

impl Experiment for Sweep {
    fn title(&self) -> String {
        let words =
            |value: Option<&u64>| value.map(|value| self.plan.dimension.written(*value)).unwrap_or_default();
        let (first, last) = (words(self.plan.values.first()), words(self.plan.values.last()));
        format!("sweep {} {first}..{last}", self.plan.dimension.name())
    }

    fn go_on(&mut self, delivery: &Delivery) -> Vec<Order> {
        let is_first = self.at.is_none() && t_s(delivery).is_some();
        let mut orders = if is_first { self.request_step(0) } else { Vec::new() };
        // As in all tables of a load on a cluster, the gauges are those of the first node.
        if let (Some(step), Delivery::Record(record)) = (&mut self.step, delivery)
            && record.is_of(0)
        {
            step.gauges.push_record(record);
        }
        match self.in_force.see(delivery) {
            Observed::Nothing => {}
            Observed::Holds { since_s } => self.step = Some(SweepStep::new(since_s, self.in_flight_s)),
            Observed::Measured(interval) => orders.extend(self.measure(interval)),
            Observed::Lost(why) => orders.extend(self.interrupt(why)),
        }
        orders
    }

    fn stop(&mut self) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.end() }
    }

    fn interrupt(&mut self, why: Interruption) -> Vec<Order> {
        if self.is_over() {
            return Vec::new();
        }
        let order = self.conclude(Some(why.clone()));
        order.into_iter().chain(self.in_force.restore_after(&why)).collect()
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn progress(&self) -> String {
        let Some(value) = self.at.and_then(|at| self.plan.values.get(at)) else {
            return "it begins".to_owned();
        };
        let (step, of) = (self.at.map_or(0, |at| at + 1), self.plan.values.len());
        let best = self.curve.best(self.plan.limit.as_ref()).map_or_else(String::new, |best| {
            let at = self.plan.dimension.named(best.value);
            format!("; best so far {at}, {}", units::rate(best.ops_per_s()))
        });
        format!("step {step} of {of}, {}{best}", self.plan.dimension.named(*value))
    }

    fn report(&self) -> String {
        table::written(&self.curve, self.best.as_ref())
    }

    fn words(&self) -> String {
        table::words(&self.curve, self.best.as_ref())
    }

    fn drawn(&self) -> ChartData<'_> {
        ChartData::Points(Points {
            curve: &self.curve,
            limit: self.plan.limit.as_ref(),
            values: &self.plan.values,
        })
    }

    fn copied(&self) -> Box<dyn Experiment> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        experiment::simulated::{SimulatedSession, TICK_S},
        gauge::Gauge,
        knobs::Knobs,
        server::Status,
        session::{Moment, Record},
        stats::{
            fixture::repeated,
            simulated::{NoiseKind, NoiseSource},
        },
    };

    fn on() -> Knobs {
        Knobs { load: true, ..Knobs::default() }
    }

    fn planned(words: &str) -> Sweep {
        let plan: SweepPlan = words.parse().unwrap();
        Sweep::of(plan.clone(), plan.settings(&on()).unwrap())
    }

    fn measured(ops_per_s: f64, us: f64, is_open: bool) -> Interval {
        let ops = (ops_per_s * TICK_S).round() as u64;
        let latency = repeated((us * 1e3) as u64, ops);
        let response = is_open.then(|| latency.clone());
        Interval { ops, ops_per_s, service: latency, response, ..Interval::default() }
    }

    /// Returns a server with a throughput that falls beyond a pipeline of 16.
    fn turning(knobs: &Knobs, _: f64) -> Interval {
        let n = f64::from(knobs.pipeline);
        let ops_per_s = 1e5 * n / (1.0 + 0.04 * (n - 1.0) + 0.96 / 256.0 * n * (n - 1.0));
        measured(ops_per_s, n / ops_per_s * 1e6, false)
    }

    fn sweep(words: &str, server: impl FnMut(&Knobs, f64) -> Interval) -> (Sweep, SimulatedSession) {
        let mut sweep = planned(words);
        let mut session = SimulatedSession::new(on());
        session.drive(&mut sweep, server);
        (sweep, session)
    }

    #[test]
    fn the_step_with_the_most_throughput_is_found_and_the_knobs_are_restored() {
        let (sweep, session) = sweep("pipeline 1,2,4,8,12,16,24,32,64", turning);
        let best = sweep.best.as_ref().unwrap();
        assert_eq!((best.knob.as_str(), best.value, best.steps, best.of), ("pipeline", 16, 9, 9));
        let knee = best.knee.as_ref().unwrap();
        assert!(
            (15.9..16.1).contains(&knee.value) && (0.99..1.01).contains(&(knee.ops_per_s / best.ops_per_s)),
            "{knee:?}"
        );
        assert_eq!((sweep.ending(), &session.knobs), (Some(&Ending::Done), &on()));
        assert!(session.now_s() < 9.0 * 3.5 + 1.0, "{}", session.now_s());
        let steps = session.sent.iter().filter(|it| matches!(it, Order::Event(EventKind::Stepped { .. })));
        assert_eq!(steps.count(), 9);
        assert_eq!(session.sent.last(), Some(&Order::Event(EventKind::BestStep { best: best.clone() })));
    }

    #[test]
    fn the_gauges_of_a_step_are_those_of_the_first_node() {
        let mut sweep = planned("pipeline 1,2");
        SimulatedSession::new(on()).drive_until(&mut sweep, turning, 1.0);
        for (clients, node) in [(30.0, 0), (70.0, 1)] {
            let gauges = [(Gauge::Clients, clients)].into();
            let status = Status { gauges, poll_s: Some(1.0), ..Status::default() };
            let record = Record::Server(Box::new(Moment::new(1.0, status))).at_node(node);
            sweep.take(&Delivery::Record(Arc::new(record)));
        }
        assert_eq!(sweep.step.as_ref().unwrap().gauges.of(Gauge::Clients), Some(30.0));
    }

    #[test]
    fn in_noise_the_step_with_the_most_throughput_is_found_too() {
        let found = |seed| {
            let mut noise = NoiseSource::new(seed).run(NoiseKind::Repeats(0.5), 1000).into_iter();
            let (sweep, _) = sweep("pipeline 1..64", |knobs, t_s| {
                let clean = turning(knobs, t_s).ops_per_s;
                measured(clean * (0.03 * noise.next().unwrap()).exp(), 100.0, false)
            });
            sweep.best.as_ref().unwrap().value
        };
        let found: Vec<_> = (0..20).map(found).collect();
        // The throughput at 10 is 0.94 of the throughput at 20. At 50 it is still lower.
        assert!(found.iter().all(|value| *value == 20), "{found:?}");
    }

    #[test]
    fn a_limit_changes_the_best_step_and_there_may_be_none() {
        let open = |knobs: &Knobs, _: f64| {
            let rate = f64::from(knobs.rate.unwrap_or(1));
            measured(rate.min(40_000.0), if rate > 20_000.0 { 7000.0 } else { 300.0 }, true)
        };
        let (under, session) = sweep("rate 1k..50k p99<5ms", open);
        let best = under.best.as_ref().unwrap();
        assert_eq!((best.value, best.limit.as_deref(), &best.knee), (20_000, Some("p99<5ms"), &None));
        assert_eq!(session.knobs.rate, None);
        assert!(under.report().contains("of the response time\n"), "{}", under.report());
        let (none, _) = sweep("rate 1k..50k p50<1us", open);
        assert_eq!(
            none.ending(),
            Some(&Ending::NotHeld("none of these values of rate keeps p50<1us".to_owned()))
        );
    }

    #[test]
    fn a_step_without_steady_figures_takes_longer_but_ends() {
        let climbing = |knobs: &Knobs, t_s: f64| match knobs.clients {
            1 => measured(10_000.0, 100.0, false),
            _ => measured(1000.0 * (1.0 + t_s), 100.0, false),
        };
        let (sweep, session) = sweep("clients 1,2", climbing);
        let steady: Vec<_> =
            sweep.curve.points.iter().map(|point| (point.measured.length_s, point.is_steady)).collect();
        assert_eq!(steady, [(3.0, Some(true)), (10.0, Some(false))]);
        assert!(session.now_s() < 15.0 && sweep.report().contains("not steady"), "{}", sweep.report());
    }

    /// Tests a sweep without replies. An earlier version reported "best: clients 1 does most: 0/s" and ended with 0.
    #[test]
    fn a_server_that_died_has_no_best_step() {
        for (words, dies_s) in
            [("clients 1,2,4", 0.0), ("clients 1,2,4", 5.0), ("clients 1,2,4 p99<1ms", 0.0)]
        {
            let (sweep, session) = sweep(words, |_, t_s| match t_s < dies_s {
                true => measured(1000.0, 100.0, false),
                false => Interval::default(),
            });
            let Some(Ending::Undecided(why)) = sweep.ending() else { panic!("{:?}", sweep.ending()) };
            assert!(why.starts_with("no request succeeded at clients "), "{why}");
            assert_eq!(sweep.curve.points.iter().filter(|point| point.measured.ops == 0).count(), 1);
            assert_eq!(
                (sweep.best.as_ref(), sweep.report().contains("best")),
                (None, false),
                "{}",
                sweep.report()
            );
            assert!(!session.sent.iter().any(|it| matches!(it, Order::Event(EventKind::BestStep { .. }))));
        }
    }

    #[test]
    fn a_stopped_sweep_reports_the_best_step_so_far_and_restores_the_knobs() {
        let mut sweep = planned("pipeline 1,2,4,8");
        let mut session = SimulatedSession::new(on());
        session.drive_until(&mut sweep, turning, 8.0);
        assert_eq!(session.knobs.pipeline, 4);
        let orders = sweep.stop();
        assert_eq!(orders.last(), Some(&Order::SetKnobs(on())));
        let best = sweep.best.as_ref().unwrap();
        assert_eq!((best.value, best.steps, best.of), (2, 2, 4));
        assert!(best.to_string().ends_with(", of 2 of 4 steps"), "{best}");
        assert_eq!((sweep.stop(), sweep.ending()), (Vec::new(), Some(&Ending::Done)));
    }

    #[test]
    fn the_report_begins_with_conclusions_and_has_a_line_per_step() {
        let (sweep, _) = sweep("pipeline 1,2,4,8,16,32,64", turning);
        let report = sweep.report();
        let lines: Vec<_> = report.lines().collect();
        assert_eq!(lines[0], "pipeline 16 has the most throughput: 640 k/s, p99 25.0 µs");
        assert_eq!(
            lines[1],
            "the knee is near pipeline 16, 640 k/s (a model: the universal scalability law)"
        );
        assert_eq!(lines[2..4], ["", "pipeline  ops/s      p50      p99    p99.9  of the service time"]);
        assert_eq!(lines[7], "       8  537 k  14.9 µs  14.9 µs  14.9 µs");
        assert_eq!(lines[8], "      16  640 k  25.0 µs  25.0 µs  25.0 µs  best");
        assert_eq!(lines.len(), 11);
    }
}
