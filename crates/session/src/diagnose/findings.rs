//! Applies all rules to one stream of records: the present findings, and the findings of a whole segment.

use super::{
    Finding, Severity,
    client_limit::ClientLimit,
    danger::Danger,
    hit_rate::HitRate,
    now::Now,
    overload::Overload,
    rule::{Rule, Verdict, Whole, is_judged},
    slow_server::SlowServer,
    stall::Stall,
};
use crate::session::{Interval, Record, Segment, Timeline, running::Change};

/// Returns all rules, the most important first.
fn rules() -> Vec<Box<dyn Rule>> {
    vec![
        Box::<Stall>::default(),
        Box::<SlowServer>::default(),
        Box::new(Overload),
        Box::<ClientLimit>::default(),
        Box::new(HitRate),
        Box::new(Danger),
    ]
}

/// The present findings of one target, updated with each record.
#[derive(Debug, Clone)]
pub struct Findings {
    now: Now,
    watches: Vec<Watch>,
}

#[derive(Debug, Clone)]
struct Watch {
    rule: Box<dyn Rule>,
    stands: Option<Finding>,
}

impl Default for Findings {
    fn default() -> Self {
        let watches = rules().into_iter().map(|rule| Watch { rule, stands: None }).collect();
        Self { now: Now::default(), watches }
    }
}

impl Findings {
    /// Returns the present findings, the most important first.
    pub fn now(&self) -> Vec<Finding> {
        explained(self.watches.iter().filter_map(|watch| watch.stands.clone()).collect())
    }

    /// Returns the name of every rule, and whether the rule has a finding now.
    pub fn by_rule(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.watches.iter().map(|watch| (watch.rule.name(), watch.stands.is_some()))
    }

    /// Takes the next record. Returns a line for each finding that begins or ends with this record.
    pub fn push(&mut self, record: &Record) -> Vec<String> {
        self.now.push(record);
        let (now, watches) = (&self.now, self.watches.iter_mut());
        let turned: Vec<_> = watches.filter_map(|watch| watch.push(record, now)).collect();
        if turned.is_empty() {
            return Vec::new();
        }
        let now = self.now();
        let line = |(name, over)| {
            let found = now.iter().find(|finding| finding.rule == name);
            found.map_or_else(|| format!("{name}: {over}"), Finding::line)
        };
        turned.into_iter().map(line).collect()
    }
}

impl Watch {
    /// Takes the next record. Returns the name of the rule and its text for the end of a finding, if a finding begins
    /// or ends.
    fn push(&mut self, record: &Record, now: &Now) -> Option<(&'static str, &'static str)> {
        let stood = self.stands.take();
        let has_stood = stood.is_some();
        self.stands = match self.rule.push(record, now, has_stood) {
            Verdict::AsBefore => stood,
            Verdict::Clear => None,
            Verdict::Found(finding) => {
                let since_s = stood.map_or(record.t_s().unwrap_or_default(), |stood| stood.since_s);
                Some(Finding { since_s, ..finding })
            }
        };
        (has_stood != self.stands.is_some()).then(|| (self.rule.name(), self.rule.over()))
    }
}

/// Returns the findings. If redyno itself is the cause of one finding, the other findings of severity `Bad` show that
/// finding as their advice.
fn explained(mut findings: Vec<Finding>) -> Vec<Finding> {
    let ours = findings.iter().find(|finding| finding.is_ours).map(|ours| ours.sentence(usize::MAX, true));
    if let Some(ours) = ours {
        let badly = |finding: &&mut Finding| finding.severity == Severity::Bad && !finding.is_ours;
        findings.iter_mut().filter(badly).for_each(|finding| finding.next.clone_from(&ours));
    }
    findings
}

fn of(whole: &Whole<'_>) -> Vec<Finding> {
    explained(rules().iter().filter_map(|rule| rule.whole(whole)).collect())
}

/// Returns the findings of a whole segment. `total` is the sum of the segment's intervals; `cores` is the number of
/// cores of redyno's machine. Warm-ups and prefills have no findings.
pub fn of_segment(segment: &Segment, total: &Interval, cores: usize) -> Vec<Finding> {
    if !is_judged(segment) {
        return Vec::new();
    }
    of(&Whole { segment: Some(segment), total, cores })
}

/// Returns the findings of all segments of a session. Each finding has the text from the first segment that has the
/// finding, and the numbers of all segments that have the finding.
pub fn of_session(timeline: &Timeline) -> Vec<(Finding, String)> {
    let cores = timeline.session().map_or(0, |session| session.host.cores);
    let mut found: Vec<(Finding, String)> = Vec::new();
    for segment in timeline.segments().iter() {
        for finding in of_segment(&segment.start, &segment.total, cores) {
            let number = segment.start.segment.to_string();
            match found.iter_mut().find(|(known, _)| known.rule == finding.rule) {
                Some((_, numbers)) => *numbers += &format!(", {number}"),
                None => found.push((finding, number)),
            }
        }
    }
    found
}

/// Returns the danger of a new setting before it begins, and the alternative, as text for the user, who decides.
pub fn danger(change: &Change<'_>) -> Option<String> {
    rules().iter().find_map(|rule| rule.before(change)).map(|finding| finding.sentence(usize::MAX, true))
}

/// Returns the reason why redyno itself was the limit; `None` if it was not.
pub fn our_limit(measured: &Interval) -> Option<String> {
    let found = of(&Whole { segment: None, total: measured, cores: 0 });
    found.into_iter().find(|finding| finding.is_ours).map(|finding| finding.evidence.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Client, WorkerCost},
    };

    /// Returns one second of a load with a rate of 1 M/s; its worker uses the share `cpu` of a core.
    fn second(segment: u32, cpu: f64, n: u32) -> Record {
        let client = Some(Client::of(vec![WorkerCost { cpu, run_delay: None }]));
        let (t_s, due, ops, behind_us) = (f64::from(n), 1_000_000, 88_000, u64::from(n) * 900_000);
        let ops_per_s = 88_000.0;
        Record::Interval(Box::new(Interval {
            t_s,
            length_s: 1.0,
            segment,
            client,
            due,
            ops,
            ops_per_s,
            behind_us,
            ..Interval::default()
        }))
    }

    fn overloaded(segment: u32, cpu: f64) -> Vec<Record> {
        let knobs = Knobs { load: true, rate: Some(1_000_000), ..Knobs::default() };
        let begun = Record::Segment(Segment::new(0.0, segment, knobs));
        [begun].into_iter().chain((1..4).map(|n| second(segment, cpu, n))).collect()
    }

    #[test]
    fn what_goes_badly_names_redyno_where_that_is_the_reason() {
        let now = |cpu| {
            let mut findings = Findings::default();
            overloaded(1, cpu).iter().for_each(|record| drop(findings.push(record)));
            findings
                .now()
                .iter()
                .map(|finding| (finding.since_s, finding.sentence(999, true)))
                .collect::<Vec<_>>()
        };
        let too_much = "overloaded: 88.0 k of 1.00 M/s, 2.70 s behind, growing";
        let alone =
            format!("{too_much}; these connections cannot send more: give more clients, or a lower rate");
        assert_eq!(now(0.5), [(2.0, alone)]);
        let ours = "the client is the limit: load-0 uses 97 % of a core; run redyno on another host";
        assert_eq!(now(0.97), [(2.0, format!("{too_much}; {ours}")), (1.0, ours.to_owned())]);
    }

    #[test]
    fn segments_in_which_the_same_is_so_are_reported_together() {
        let mut timeline = Timeline::default();
        let records = [(1, 0.5), (2, 0.97)].map(|(segment, cpu)| overloaded(segment, cpu));
        records.iter().flatten().for_each(|record| timeline.push(record));
        let found: Vec<_> =
            of_session(&timeline).into_iter().map(|(finding, numbers)| (finding.rule, numbers)).collect();
        assert_eq!(found, [("overload", "1, 2".to_owned()), ("client limit", "2".to_owned())]);
    }
}
