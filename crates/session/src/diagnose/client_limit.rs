//! Finding: redyno itself is the limit. While the server is slow, there is no such finding, even if redyno's workers
//! use much CPU time.

use super::{
    Finding,
    client_evidence::{Evidence, EvidenceKind, evidence},
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict},
    slow_server::Probes,
    window::length_s,
};
use crate::session::{Client, Interval, RECEIVERS, Record};

/// The length of the examined period, in seconds. A single interval of 250 ms does not decide in this period, but the
/// rule follows changes of the load's settings soon.
const WINDOW_S: f64 = 2.0;
/// The shortest time for a verdict, in seconds: slightly less than one second, because intervals begin and
/// end late.
const ENOUGH_S: f64 = 0.9;

/// Checks whether redyno was the limit in the last two seconds under load. After a change of the load's
/// settings, the earlier verdict stays until the new setting has been measured for a second.
#[derive(Debug, Clone, Default)]
pub(super) struct ClientLimit {
    /// The number of recent intervals that count. An interval counts if it is later than the start of the segment, and
    /// later than the last time when the server was slow.
    counted: usize,
    /// The kinds of evidence in the present verdict.
    resting: Vec<EvidenceKind>,
    probes: Probes,
    /// The tick (quarter second) of the last interval, if the probes have not reported on this interval yet. Otherwise
    /// `None`.
    unjudged: Option<u64>,
}

impl Rule for ClientLimit {
    fn name(&self) -> &'static str {
        "client limit"
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        self.probes.push(record);
        let mut verdict = RuleVerdict::Unchanged;
        match record {
            Record::Segment(segment) => {
                self.counted = 0;
                if !segment.knobs.load {
                    verdict = self.clear();
                }
            }
            Record::Interval(interval) if now.is_of(interval) && interval.client.is_some() => {
                verdict = self.push_interval(interval, now);
            }
            Record::Interval(_) | Record::Ping(_) | Record::Wake(_) => {}
            _ => return RuleVerdict::Unchanged,
        }
        let is_known = self.is_known();
        if self.probes.is_slow() || now.backlog.is_of_pause() {
            // While the load catches up after a pause, redyno has more work than usual. If the probes have not
            // reported about the last interval yet, this interval is kept for the next verdict, because the server may
            // be fast again.
            self.counted = usize::from(self.unjudged.is_some() && !is_known);
            self.unjudged = self.unjudged.filter(|_| !is_known);
            return self.clear();
        }
        if is_known { self.judge_before(0, now).unwrap_or(verdict) } else { verdict }
    }

    fn whole(&self, Measurements { total, session, .. }: &Measurements<'_>) -> Option<Finding> {
        finding(
            evidence(total, |kind| kind.thresholds().0),
            total,
            session.map_or(0, |session| session.host.cores),
        )
    }
}

impl ClientLimit {
    fn clear(&mut self) -> RuleVerdict {
        self.resting.clear();
        RuleVerdict::Clear
    }

    fn push_interval(&mut self, interval: &Interval, now: &RecentState) -> RuleVerdict {
        // The previous interval still waits for the probes. It is judged now, because the probes may never
        // report about it.
        let before = self.unjudged.and_then(|_| self.judge_before(1, now));
        self.unjudged = Some(interval.tick);
        self.counted += 1;
        before.unwrap_or(RuleVerdict::Unchanged)
    }

    /// Returns whether the last interval can be used. The probes must have reported on this interval, or send no
    /// reports at all.
    fn is_known(&self) -> bool {
        let until = self.probes.known_until();
        self.unjudged.is_some_and(|tick| until.is_none_or(|until| until + 1 >= tick))
    }

    /// Returns the verdict on the recent intervals without the last `but` intervals. Returns `None` if their total time
    /// is too short.
    fn judge_before(&mut self, but: usize, now: &RecentState) -> Option<RuleVerdict> {
        self.unjudged = None;
        let parts = now.last(WINDOW_S, but);
        let parts = &parts[parts.len().saturating_sub(self.counted)..];
        if length_s(parts) < ENOUGH_S {
            return None;
        }
        let mut whole = Interval::default();
        parts.iter().filter(|part| part.client.is_some()).for_each(|part| whole.merge(part));
        let found = evidence(&whole, |kind| {
            let (speaks, falls_silent) = kind.thresholds();
            if self.resting.contains(&kind) { falls_silent } else { speaks }
        });
        self.resting = found.iter().map(|found| found.kind).collect();
        Some(finding(found, &whole, now.cores()).into())
    }
}

/// Returns the finding for `evidence` on a machine with this number of cores.
fn finding(evidence: Vec<Evidence>, stretch: &Interval, cores: usize) -> Option<Finding> {
    let of_load = |client: &Client| client.workers.iter().filter(|worker| !worker.receives).count();
    let workers = stretch.client.as_ref().map_or(0, of_load);
    let first = evidence.first()?;
    let next = match first.kind {
        _ if first.words.starts_with(RECEIVERS) => "use fewer receivers, or a lower rate",
        EvidenceKind::Reader => "store the dataset uncompressed and on a faster disk",
        EvidenceKind::RunDelay | EvidenceKind::Tail => "give redyno its own cores",
        EvidenceKind::Cpu | EvidenceKind::ReadWait if workers < cores => "give redyno more --threads",
        EvidenceKind::Cpu | EvidenceKind::ReadWait => "run redyno on another host",
    };
    Some(Finding {
        is_ours: true,
        is_brief: true,
        evidence: evidence.into_iter().map(|evidence| evidence.words).collect(),
        next: next.to_owned(),
        ..Finding::new("client limit", "client limit", "the client is the limit")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{
            client_evidence::tests::stretch,
            slow_server::tests::{ping, wake},
        },
        *,
    };
    use crate::{
        diagnose::{Findings, our_limit},
        knobs::Knobs,
        session::{Coalesce, Reader, Segment, ServerIdentity, SessionStart, SessionWriter, Timeline},
        stats::fixture::latency_of,
    };

    fn segment(number: u32, load: bool) -> Record {
        let knobs = Knobs { load, ..Knobs::default() };
        Record::Segment(Segment::new(0.0, number, knobs))
    }

    fn tick(segment: u32, cpu: f64) -> Record {
        Record::Interval(Box::new(Interval { segment, ..stretch(&[(cpu, 0.0)], 1_000) }))
    }

    fn watch(records: impl IntoIterator<Item = Record>) -> (Findings, usize) {
        let mut findings = Findings::default();
        let changes = records.into_iter().filter(|record| !findings.push(record).is_empty()).count();
        (findings, changes)
    }

    fn limit(findings: &Findings) -> Option<Finding> {
        findings.now().into_iter().find(|finding| finding.is_ours)
    }

    #[test]
    fn a_second_of_evidence_makes_a_verdict() {
        let begun = |ticks| [segment(1, true)].into_iter().chain((0..ticks).map(|_| tick(1, 0.95)));
        assert_eq!(limit(&watch(begun(3)).0), None);
        assert!(limit(&watch(begun(4)).0).is_some());
    }

    #[test]
    fn a_share_that_wavers_about_the_threshold_is_reported_once() {
        let shares = (0..200).map(|n| tick(1, [0.99, 0.98, 0.97, 0.97, 0.84, 0.82, 0.83, 0.84][n / 4 % 8]));
        let (findings, changes) = watch([segment(1, true)].into_iter().chain(shares));
        assert!(limit(&findings).is_some());
        assert_eq!(changes, 1);
    }

    #[test]
    fn the_finding_ends_when_the_client_has_time_again() {
        let shares = (0..8).map(|_| tick(1, 0.95)).chain((0..8).map(|_| tick(1, 0.5)));
        let (findings, changes) = watch([segment(1, true)].into_iter().chain(shares));
        assert_eq!((limit(&findings), changes), (None, 2));
    }

    #[test]
    fn one_kind_of_evidence_does_not_lower_the_threshold_of_another() {
        let waits =
            |delay| Record::Interval(Box::new(Interval { segment: 1, ..stretch(&[(0.95, delay)], 1_000) }));
        let (findings, _) = watch([segment(1, true)].into_iter().chain((0..12).map(|_| waits(0.15))));
        assert_eq!(limit(&findings).map(|limit| limit.evidence.len()), Some(1));
    }

    #[test]
    fn a_knob_change_keeps_the_verdict_until_the_new_setting_is_measured() {
        let mut watch = watch([segment(1, true)].into_iter().chain((0..4).map(|_| tick(1, 0.95)))).0;
        watch.push(&segment(2, true));
        for late in [tick(2, 0.3), tick(2, 0.3), tick(2, 0.3), tick(1, 0.99)] {
            watch.push(&late);
        }
        assert!(limit(&watch).is_some(), "the earlier verdict is kept");
        watch.push(&tick(2, 0.3));
        assert_eq!(limit(&watch), None, "redyno ignores a late interval of the earlier segment");
    }

    #[test]
    fn without_load_there_is_no_verdict() {
        let (mut watch, _) = watch([segment(1, true)].into_iter().chain((0..4).map(|_| tick(1, 0.95))));
        assert_eq!(watch.push(&segment(2, false)), ["client limit: no longer"]);
        assert_eq!(limit(&watch), None);
    }

    /// Returns the records of one second: of the load, of the pings and of the wake probe.
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

    /// Returns two values after each record: whether the client is reported as the limit, and whether the server is
    /// reported as slow.
    fn verdicts(seconds: impl IntoIterator<Item = [Record; 3]>) -> Vec<(bool, bool)> {
        let mut findings = Findings::default();
        findings.push(&segment(1, true));
        let push = |record: Record| {
            findings.push(&record);
            let stands = |name| findings.by_rule().any(|(rule, stands)| rule == name && stands);
            (stands("client limit"), stands("slow server"))
        };
        seconds.into_iter().flatten().map(push).collect()
    }

    #[test]
    fn a_client_is_no_limit_while_ping_waits_for_a_server_that_was_stopped() {
        let stopped = |t_s| second(t_s, 0.95, u64::from(t_s - 2) * 1000 - 500);
        let full = [second(1, 0.95, 0), second(2, 0.95, 0), stopped(3), stopped(4), second(5, 0.95, 0)];
        let (limit, slow, neither) = ((true, false), (false, true), (false, false));
        let found = verdicts(full);
        assert_eq!(found[..9], [limit, limit, limit, limit, limit, limit, limit, limit, slow]);
        assert_eq!(
            found[9..],
            [slow, slow, slow, slow, slow, limit],
            "redyno reports the client limit again"
        );
        let light = [second(1, 0.1, 0), second(2, 0.1, 0), stopped(3), stopped(4), second(5, 0.1, 0)];
        let found = verdicts(light);
        assert_eq!(
            found[..8],
            [neither; 8],
            "redyno waits for the probes of the same second before it reports a limit"
        );
        assert_eq!(found[8..], [slow, slow, slow, slow, slow, slow, neither]);
    }

    /// A pseudorandom generator: its numbers are the same in every run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % n
        }
    }

    /// Returns the records of twelve seconds when another process sometimes uses the core. Some requests take
    /// milliseconds, and most of these waited for the core.
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

    /// Returns the findings after each interval of these records, and then the findings of the whole segment.
    fn said(records: &[Arc<Record>]) -> Vec<String> {
        let (mut findings, mut timeline) = (Findings::default(), Timeline::default());
        let mut said = Vec::new();
        for record in records {
            findings.push(record);
            timeline.push(record);
            let is_measured = matches!(**record, Record::Interval(_));
            said.extend(limit(&findings).filter(|_| is_measured).map(|limit| limit.evidence.join(", ")));
        }
        said.extend(timeline.segments.current().and_then(|segment| our_limit(&segment.total)));
        said
    }

    #[test]
    fn a_recording_has_the_findings_of_its_session_and_no_share_above_100_percent() {
        let folder = tempfile::tempdir().unwrap();
        let (mut chance, mut judged) = (Chance(7), 0);
        for n in 0..40 {
            let live = with_a_neighbour(&mut chance);
            let mut coalesce = Coalesce::default();
            let mut seconds: Vec<_> = live.iter().flat_map(|record| coalesce.push(record)).collect();
            seconds.extend(coalesce.rest());
            let path = folder.path().join(format!("{n}.jsonl"));
            let mut writer = SessionWriter::create(&path).unwrap();
            writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
            seconds.iter().for_each(|record| writer.write(record).unwrap());
            writer.finish().unwrap();
            let mut reader = Reader::open(&path).unwrap();
            let read: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).map(Arc::new).collect();
            let lines = said(&seconds);
            assert_eq!(said(&read), lines);
            assert_eq!(said(&live).last(), lines.last(), "the live session ends with the same sentence");
            for share in lines.iter().flat_map(|line| line.split(&[',', ':'])).filter(|s| s.contains(" % of"))
            {
                let digits: String = share.chars().filter(char::is_ascii_digit).collect();
                let is_percentile = share.contains("slow requests");
                judged += usize::from(is_percentile);
                assert!(digits.parse::<u64>().unwrap() <= 100, "{share}");
            }
        }
        assert!(judged > 20, "redyno judged {judged} percentiles");
    }
}
