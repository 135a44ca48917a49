//! The verdict on the client as time goes on: a fold over records that does not waver. While the server is slow there is none.

use std::collections::VecDeque;

use super::{ClientLimit, SlowServer, client_limit::Rule, slow_server::ServerWatch};
use crate::session::{Interval, Record};

/// The stretch that is judged, in seconds: long enough to even out a tick, short enough to follow a knob.
const WINDOW_S: f64 = 2.0;
/// No verdict on less than this, in seconds: a second without what its borders are late.
const ENOUGH_S: f64 = 0.9;

/// Watches whether the client is the limit now.
#[derive(Debug, Clone, Default)]
pub struct ClientWatch {
    segment: Option<u32>,
    /// What the last two seconds of this segment measured: service times and the client.
    window: VecDeque<Interval>,
    limit: Option<ClientLimit>,
    server: ServerWatch,
    /// The tick of the last interval, until it has been judged with what the probes tell of it.
    unjudged: Option<u64>,
    cores: usize,
}

impl ClientWatch {
    /// The verdict that stands: of the last two seconds under load. After a change of the knobs the earlier one
    /// stands until the new setting has been measured for a second.
    pub fn limit(&self) -> Option<&ClientLimit> {
        self.limit.as_ref()
    }

    /// That it is the server which is slow now.
    pub fn slow_server(&self) -> Option<SlowServer> {
        self.server.slow()
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        self.limit.as_ref().map(|limit| limit.advice(self.cores))
    }

    /// Takes the next record. Whether the client has become the limit, or has ceased to be.
    pub fn push(&mut self, record: &Record) -> bool {
        let was_limit = self.limit.is_some();
        self.server.push(record);
        match record {
            Record::Session(session) => self.cores = session.host.cores,
            Record::Segment(segment) => {
                self.segment = Some(segment.segment);
                self.window.clear();
                if !segment.knobs.load {
                    self.limit = None;
                }
            }
            Record::Interval(interval) => self.push_interval(interval),
            Record::Ping(_) | Record::Wake(_) => {}
            Record::End(_) => self.limit = None,
            _ => return false,
        }
        let is_told = self.is_told();
        if self.server.slow().is_some() {
            self.limit = None;
            // Of a time that the probes have not told of yet, it may be over.
            let kept = usize::from(self.unjudged.is_some() && !is_told);
            self.window.drain(..self.window.len().saturating_sub(kept));
            self.unjudged = self.unjudged.filter(|_| !is_told);
        } else if is_told {
            self.judge();
        }
        was_limit != self.limit.is_some()
    }

    fn push_interval(&mut self, interval: &Interval) {
        if Some(interval.segment) != self.segment || interval.client.is_none() {
            return;
        }
        // The probes are silent: nothing more comes of the one before.
        if self.unjudged.is_some() {
            self.judge();
        }
        self.unjudged = Some(interval.tick);
        self.window.push_back(Interval {
            length_s: interval.length_s,
            service: interval.service.clone(),
            response: interval.response.clone(),
            client: interval.client.clone(),
            ..Interval::default()
        });
        let mut length_s: f64 = self.window.iter().map(|part| part.length_s).sum();
        while let Some(oldest) = self.window.front()
            && length_s - oldest.length_s >= WINDOW_S
        {
            length_s -= oldest.length_s;
            self.window.pop_front();
        }
    }

    /// Whether the last interval is to be judged: the probes have told of its time, or of all but its last tick.
    fn is_told(&self) -> bool {
        let until = self.server.told_until();
        self.unjudged.is_some_and(|tick| until.is_none_or(|until| until + 1 >= tick))
    }

    fn judge(&mut self) {
        self.unjudged = None;
        if self.window.iter().map(|part| part.length_s).sum::<f64>() < ENOUGH_S {
            return;
        }
        let mut whole = Interval::default();
        self.window.iter().for_each(|part| whole.merge(part));
        let before = self.limit.take();
        self.limit = ClientLimit::by(&whole, |rule: Rule| {
            let (speaks, falls_silent) = rule.thresholds();
            if before.as_ref().is_some_and(|limit| limit.rests_on(rule)) { falls_silent } else { speaks }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{
            client_limit::tests::stretch,
            slow_server::tests::{ping, wake},
        },
        *,
    };
    use crate::{
        load::Knobs,
        session::{Coalesce, Reader, Segment, ServerIdentity, SessionStart, Timeline, Writer},
        stats::fixture::latency_of,
    };

    fn segment(number: u32, load: bool) -> Record {
        let knobs = Knobs { load, ..Knobs::default() };
        Record::Segment(Segment::new(0.0, number, knobs))
    }

    fn tick(segment: u32, cpu: f64) -> Record {
        Record::Interval(Box::new(Interval { segment, ..stretch(&[(cpu, 0.0)], 1_000) }))
    }

    fn watch(records: impl IntoIterator<Item = Record>) -> (ClientWatch, usize) {
        let mut watch = ClientWatch::default();
        let changes = records.into_iter().filter(|record| watch.push(record)).count();
        (watch, changes)
    }

    #[test]
    fn a_second_of_evidence_makes_a_verdict() {
        let begun = |ticks| [segment(1, true)].into_iter().chain((0..ticks).map(|_| tick(1, 0.95)));
        assert_eq!(watch(begun(3)).0.limit(), None);
        assert!(watch(begun(4)).0.limit().is_some());
    }

    #[test]
    fn a_share_that_wavers_about_the_threshold_is_told_once() {
        let shares = (0..200).map(|n| tick(1, [0.99, 0.98, 0.97, 0.97, 0.84, 0.82, 0.83, 0.84][n / 4 % 8]));
        let (watch, changes) = watch([segment(1, true)].into_iter().chain(shares));
        assert!(watch.limit().is_some());
        assert_eq!(changes, 1);
    }

    #[test]
    fn it_ends_when_the_client_has_time_again() {
        let shares = (0..8).map(|_| tick(1, 0.95)).chain((0..8).map(|_| tick(1, 0.5)));
        let (watch, changes) = watch([segment(1, true)].into_iter().chain(shares));
        assert_eq!((watch.limit(), changes), (None, 2));
    }

    #[test]
    fn one_rule_that_speaks_does_not_lower_the_threshold_of_another() {
        let waits =
            |delay| Record::Interval(Box::new(Interval { segment: 1, ..stretch(&[(0.95, delay)], 1_000) }));
        let (watch, _) = watch([segment(1, true)].into_iter().chain((0..12).map(|_| waits(0.15))));
        assert_eq!(watch.limit().map(|limit| limit.evidence.len()), Some(1));
    }

    #[test]
    fn a_turn_of_the_knobs_keeps_the_verdict_until_the_new_setting_is_measured() {
        let mut watch = watch([segment(1, true)].into_iter().chain((0..4).map(|_| tick(1, 0.95)))).0;
        watch.push(&segment(2, true));
        for late in [tick(2, 0.3), tick(2, 0.3), tick(2, 0.3), tick(1, 0.99)] {
            watch.push(&late);
        }
        assert!(watch.limit().is_some(), "the earlier one stands");
        watch.push(&tick(2, 0.3));
        assert_eq!(watch.limit(), None, "what comes late for the earlier segment has no say");
    }

    #[test]
    fn without_load_there_is_no_verdict() {
        let (mut watch, _) = watch([segment(1, true)].into_iter().chain((0..4).map(|_| tick(1, 0.95))));
        assert!(watch.push(&segment(2, false)));
        assert_eq!((watch.limit(), watch.advice()), (None, None));
    }

    /// Seconds as they are written: the load, the pings, the wake probe.
    fn second(t_s: u32, cpu: f64, waiting_ms: u64) -> [Record; 3] {
        let load = Interval {
            t_s: t_s.into(),
            tick: u64::from(t_s) * 4,
            length_s: 1.0,
            segment: 1,
            ..stretch(&[(cpu, 0.0)], 1_000)
        };
        let t_s = f64::from(t_s);
        [Record::Interval(Box::new(load)), ping(t_s, 1, waiting_ms), wake(t_s, 1)]
    }

    /// Whether the client is called the limit after each record, and whether the server is called slow.
    fn verdicts(seconds: impl IntoIterator<Item = [Record; 3]>) -> Vec<(bool, bool)> {
        let mut watch = ClientWatch::default();
        watch.push(&segment(1, true));
        let push = |record: Record| {
            watch.push(&record);
            (watch.limit().is_some(), watch.slow_server().is_some())
        };
        seconds.into_iter().flatten().map(push).collect()
    }

    #[test]
    fn a_client_is_no_limit_while_ping_waits_for_a_server_that_was_stopped() {
        let stopped = |t_s| second(t_s, 0.95, u64::from(t_s - 2) * 1000 - 500);
        let full = [second(1, 0.95, 0), second(2, 0.95, 0), stopped(3), stopped(4), second(5, 0.95, 0)];
        let (limit, slow, neither) = ((true, false), (false, true), (false, false));
        let told = verdicts(full);
        assert_eq!(told[..9], [limit, limit, limit, limit, limit, limit, limit, limit, slow]);
        assert_eq!(told[9..], [slow, slow, slow, slow, slow, limit], "what is measured now speaks again");
        let light = [second(1, 0.1, 0), second(2, 0.1, 0), stopped(3), stopped(4), second(5, 0.1, 0)];
        let told = verdicts(light);
        assert_eq!(
            told[..8],
            [neither; 8],
            "no limit is told before the probes are heard of the same second"
        );
        assert_eq!(told[8..], [slow, slow, slow, slow, slow, slow, neither]);
    }

    /// Numbers that look like chance, the same in every run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % n
        }
    }

    /// Twelve seconds in which a neighbour takes the core now and then: some requests take milliseconds, and most of these
    /// waited for the core.
    fn with_a_neighbour(chance: &mut Chance) -> Vec<Arc<Record>> {
        let (mut records, slow_ns) = (vec![segment(1, true)], 2_000_000 + chance.below(5_000_000));
        for tick in 1..=48_u32 {
            let slow: Vec<_> = (0..chance.below(60)).map(|n| slow_ns + n * chance.below(40_000)).collect();
            let waited = slow.iter().copied().filter(|_| chance.below(10) < 7).collect::<Vec<_>>();
            let fast = (0..400).map(|_| 150_000 + chance.below(400_000));
            let service = latency_of(fast.chain(slow));
            let mut body = stretch(&[(0.3, chance.below(30) as f64 / 100.0)], 60_000 + chance.below(200_000));
            let held = (!waited.is_empty()).then(|| latency_of(waited));
            body.client.iter_mut().for_each(|client| client.held.clone_from(&held));
            let t_s = f64::from(tick) / 4.0;
            records.push(Record::Interval(Box::new(Interval { t_s, ops: service.count(), service, ..body })));
        }
        records.into_iter().map(Arc::new).collect()
    }

    /// What is said of these records after each interval, and of their segment as a whole.
    fn said(records: &[Arc<Record>]) -> Vec<String> {
        let (mut watch, mut timeline) = (ClientWatch::default(), Timeline::default());
        let mut said = Vec::new();
        for record in records {
            watch.push(record);
            timeline.push(record);
            let is_measured = matches!(**record, Record::Interval(_));
            said.extend(watch.limit().filter(|_| is_measured).map(ToString::to_string));
        }
        let total = timeline.segments().current().and_then(|segment| ClientLimit::of(&segment.total));
        said.extend(total.map(|limit| limit.to_string()));
        said
    }

    #[test]
    fn a_recording_says_what_its_session_said_and_no_share_is_above_all() {
        let folder = tempfile::tempdir().unwrap();
        let (mut chance, mut told) = (Chance(7), 0);
        for n in 0..40 {
            let live = with_a_neighbour(&mut chance);
            let mut coalesce = Coalesce::default();
            let mut seconds: Vec<_> = live.iter().flat_map(|record| coalesce.push(record)).collect();
            seconds.extend(coalesce.rest());
            let path = folder.path().join(format!("{n}.jsonl"));
            let mut writer = Writer::create(&path).unwrap();
            writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
            seconds.iter().for_each(|record| writer.write(record).unwrap());
            writer.finish().unwrap();
            let mut reader = Reader::open(&path).unwrap();
            let read: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).map(Arc::new).collect();
            let lines = said(&seconds);
            assert_eq!(said(&read), lines);
            assert_eq!(said(&live).last(), lines.last(), "the ticks of the screen end in the same sentence");
            for share in lines.iter().flat_map(|line| line.split(&[',', ':'])).filter(|s| s.contains(" % of"))
            {
                let digits: String = share.chars().filter(char::is_ascii_digit).collect();
                let is_percentile = share.contains("slow requests");
                told += usize::from(is_percentile);
                assert!(digits.parse::<u64>().unwrap() <= 100, "{share}");
            }
        }
        assert!(told > 20, "the tails of {told} are judged");
    }
}
