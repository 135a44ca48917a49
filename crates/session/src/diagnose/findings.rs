//! Applies all rules to one stream of records. The result is the present findings.

use super::{
    Finding, Severity, big_reply, churn,
    client_limit::ClientLimit,
    connection_limit, core_taken, costly_calls, cpu_bound,
    down::ServerDown,
    episodes::Episodes,
    eviction, expiry,
    failing::FailingRequests,
    fork, fsync,
    headroom::{self, Headroom},
    hit_rate::HitRate,
    hot_slot::HotSlot,
    io_threads,
    lost_agents::LostAgents,
    misses, network,
    now::RecentState,
    overload::Overload,
    receivers::RECEIVERS,
    replicas,
    rule::{ConditionRule, Rule, RuleVerdict},
    settings, slow_command,
    slow_node::SlowNode,
    slow_server::SlowServer,
    spent::TimeSpent,
    stall::StallRule,
    thresholds::{self, DEFRAG, FULL, STEAL, SWAP, THROTTLED, of},
};
use crate::{
    events::EventKind,
    session::{Event, Record},
};

/// The rules about server, host and network, the most specific first.
const CONDITIONS: &[ConditionRule] = &[
    ConditionRule::new("core taken", core_taken::look),
    ConditionRule::new("slow command", slow_command::look),
    ConditionRule::new("costly calls", costly_calls::look),
    ConditionRule::new("big reply", big_reply::look),
    ConditionRule::new("fork", fork::look),
    ConditionRule::new("disk", fsync::look),
    ConditionRule::new("swap", |now, stands| of(&SWAP, now, stands)),
    ConditionRule::new("expiry", expiry::look),
    ConditionRule::new("eviction", eviction::look),
    ConditionRule::new("connections", churn::look),
    ConditionRule::new("refused", thresholds::refused),
    ConditionRule::new("connection limit", connection_limit::look),
    ConditionRule::new("output buffers", thresholds::output),
    ConditionRule::new("data", thresholds::data),
    ConditionRule::new("replication", replicas::look),
    ConditionRule::new("steal", |now, stands| of(&STEAL, now, stands)),
    ConditionRule::new("cpu limit", |now, stands| of(&THROTTLED, now, stands)),
    ConditionRule::new("network full", |now, stands| of(&FULL, now, stands)),
    ConditionRule::new("lost packets", network::lossy),
    ConditionRule::new("network", network::slower),
    ConditionRule::new("server cpu", cpu_bound::look),
    ConditionRule::new("io threads", io_threads::look),
    ConditionRule::new("misses", misses::look),
    ConditionRule::new("memory", eviction::nearly_full),
    ConditionRule::new("settings", settings::look),
    ConditionRule::new("config change", settings::changed),
    ConditionRule::new("defragmentation", |now, stands| of(&DEFRAG, now, stands)),
    ConditionRule::new("rate limit", headroom::rate_limit),
];

/// Returns all rules, the most important first.
pub(super) fn rules() -> Vec<Box<dyn Rule>> {
    let mut rules: Vec<Box<dyn Rule>> = vec![Box::<StallRule>::default(), Box::new(ServerDown)];
    for condition in CONDITIONS {
        rules.push(Box::new(condition.clone()));
    }
    rules.push(Box::<HotSlot>::default());
    rules.push(Box::<SlowNode>::default());
    rules.push(Box::<SlowServer>::default());
    rules.push(Box::new(FailingRequests));
    rules.push(Box::new(Overload));
    rules.push(Box::<LostAgents>::default());
    for rule in RECEIVERS {
        rules.push(Box::new(rule));
    }
    rules.push(Box::<ClientLimit>::default());
    rules.push(Box::new(HitRate));
    rules.push(Box::<Headroom>::default());
    rules
}

/// The present findings of one target, updated with each record (measurements or an event).
#[derive(Debug, Clone)]
pub struct Findings {
    now: RecentState,
    watches: Vec<RuleState>,
    /// All findings so far, each with its start and its end.
    pub episodes: Episodes,
}

#[derive(Debug, Clone)]
struct RuleState {
    rule: Box<dyn Rule>,
    stands: Option<Finding>,
    /// The subjects that lines have reported since the finding began.
    reported: Vec<String>,
}

impl Default for Findings {
    fn default() -> Self {
        let watch = |rule| RuleState { rule, stands: None, reported: Vec::new() };
        Self {
            now: RecentState::default(),
            watches: rules().into_iter().map(watch).collect(),
            episodes: Episodes::default(),
        }
    }
}

impl Findings {
    /// Returns the present findings, the most important first.
    pub fn now(&self) -> Vec<Finding> {
        explained(self.all())
    }

    /// Returns the present findings, including symptoms of a known cause.
    fn all(&self) -> Vec<Finding> {
        self.watches.iter().filter_map(|watch| watch.stands.clone()).collect()
    }

    /// Returns the name of every rule, and whether the rule has a finding now.
    pub fn by_rule(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.watches.iter().map(|watch| (watch.rule.name(), watch.stands.is_some()))
    }

    /// Returns how requests spend their time at present: first all requests together, then each command. Commands with
    /// the most total time come first. The result is empty if too little was measured.
    pub fn spent(&self) -> Vec<TimeSpent> {
        TimeSpent::of(&self.now)
    }

    /// Takes a record of another node of the session. The rules use these records to compare the first node with the
    /// other nodes. If this value does not belong to the first node, only the segments count, because they contain the
    /// settings of the load.
    pub fn push_other(&mut self, record: &Record) {
        self.now.push_other(record);
        self.watches.iter_mut().for_each(|watch| watch.rule.push_other(record));
    }

    /// Takes the next record of the target. Returns a line for each warning or problem that begins or ends with this
    /// record.
    pub fn push(&mut self, record: &Record) -> Vec<String> {
        if let Record::Event(Event { t_s, what: EventKind::NotRecorded { .. }, .. }) = record {
            self.end_before_gap(*t_s);
        }
        self.now.push(record);
        if matches!(record, Record::End(_)) {
            self.restart_rules();
        }
        let now = &self.now;
        self.watches.iter_mut().for_each(|watch| watch.push(record, now));
        let now = self.now();
        if let Some(t_s) = record.t_s() {
            // The event of a stall has the time at which the stall began.
            self.episodes.push(t_s.max(self.now.t_s), &now, &self.all());
        }
        self.watches.iter_mut().filter_map(|watch| watch.report(&now)).collect()
    }

    /// Ends all findings, because nothing was recorded for a while before `t_s`.
    fn end_before_gap(&mut self, t_s: f64) {
        self.restart_rules();
        self.episodes.end(t_s);
    }

    /// Ends all findings, and replaces the rules by new ones.
    fn restart_rules(&mut self) {
        for (watch, rule) in self.watches.iter_mut().zip(rules()) {
            (watch.rule, watch.stands) = (rule, None);
        }
    }
}

impl RuleState {
    /// Takes the next record of the target.
    fn push(&mut self, record: &Record, now: &RecentState) {
        let stood = self.stands.take();
        self.stands = match self.rule.push(record, now, stood.is_some()) {
            RuleVerdict::Unchanged => stood,
            RuleVerdict::Clear => None,
            RuleVerdict::Found(finding) => {
                // If the rule leaves `since_s` at 0, the finding starts with this record. If a note becomes a
                // warning, or other news is shown, the finding starts again.
                let found_s = record.t_s().unwrap_or_default();
                let begun_s = Some(finding.since_s).filter(|s| *s > 0.0).unwrap_or(found_s);
                let is_same = |stood: &Finding| {
                    is_more(stood) == is_more(&finding)
                        && stood.is_like(&finding)
                        && (!finding.is_news || stood.long == finding.long)
                };
                let same = stood.filter(is_same);
                let since_s = same.map_or(begun_s, |stood| stood.since_s);
                Some(Finding { since_s, ..finding.worded(now.dialect().words()) })
            }
        };
    }

    /// Returns the line for a finding that began or ended since the last report. `now` has the present findings,
    /// without symptoms of a known cause.
    fn report(&mut self, now: &[Finding]) -> Option<String> {
        let name = self.rule.name();
        if let Some(stands) = self.stands.as_ref().filter(|stands| is_more(stands)) {
            if self.reported.contains(&stands.subject) {
                return None;
            }
            let found = now.iter().find(|finding| finding.rule == name)?;
            self.reported.push(stands.subject.clone());
            return Some(found.line());
        }
        let ends = !std::mem::take(&mut self.reported).is_empty();
        let over = self.rule.over().filter(|_| ends)?;
        Some(format!("{name}: {over}"))
    }
}

/// Returns whether a finding is more than a note.
fn is_more(finding: &Finding) -> bool {
    finding.severity > Severity::Note
}

/// Returns the findings, the most severe first. Findings of equal severity are sorted by `explains`, the largest first.
/// The advice of an overload names the cause of the overload, if another finding has this cause. If a finding names a
/// cause outside of redyno, symptoms are removed. The first finding with such a cause then gets the evidence of severe
/// symptoms.
pub(super) fn explained(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(|left, right| {
        right.severity.cmp(&left.severity).then(right.explains.total_cmp(&left.explains))
    });
    // A slow server stays slow with more clients.
    let is_slow = |finding: &&Finding| {
        let is_known = finding.severity == Severity::Problem || finding.explains > 0.0;
        finding.rule != Overload.name() && (is_known || finding.rule == SlowNode::NAME)
    };
    let ours = findings.iter().find(|finding| finding.is_ours).map(|ours| ours.sentence(usize::MAX, true));
    let slow =
        || findings.iter().find(is_slow).map(|cause| format!("solve the finding \"{}\" first", cause.rule));
    // No request is answered, whatever redyno does.
    let silent =
        findings.iter().find(|finding| finding.explains >= 1.0 && !finding.is_ours).and_then(|_| slow());
    if let Some(next) = silent.or(ours).or_else(slow) {
        let overload = findings.iter_mut().filter(|finding| finding.rule == Overload.name());
        overload.for_each(|finding| finding.next.clone_from(&next));
    }
    let is_cause = |finding: &Finding| {
        is_more(finding)
            && !finding.is_symptom
            && !finding.is_ours
            && ![Overload.name(), HitRate.name()].contains(&finding.rule)
    };
    if findings.iter().any(is_cause) {
        let (symptoms, mut rest): (Vec<_>, Vec<_>) = findings.into_iter().partition(|found| found.is_symptom);
        if let Some(cause) = rest.iter_mut().find(|finding| is_cause(finding)) {
            let slow = symptoms.into_iter().filter(|symptom| symptom.severity == Severity::Problem);
            cause.evidence.extend(slow.flat_map(|symptom| symptom.evidence));
        }
        return rest;
    }
    findings
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Client, Interval, Segment, WorkerCost},
    };

    /// Returns one second of a load with a rate of 1 M/s. Its worker uses the share `cpu` of a core.
    fn second(segment: u32, cpu: f64, n: u32) -> Record {
        let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
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

    pub(in crate::diagnose) fn overloaded(segment: u32, cpu: f64) -> Vec<Record> {
        let knobs = Knobs { load: true, rate: Some(1_000_000), ..Knobs::default() };
        let begun = Record::Segment(Segment::new(0.0, segment, knobs));
        [begun].into_iter().chain((1..4).map(|n| second(segment, cpu, n))).collect()
    }

    #[test]
    fn an_overload_names_redyno_if_redyno_is_the_cause() {
        let now = |cpu| {
            let mut findings = Findings::default();
            overloaded(1, cpu).iter().for_each(|record| drop(findings.push(record)));
            findings
                .now()
                .iter()
                .map(|finding| (finding.since_s, finding.sentence(999, true)))
                .collect::<Vec<_>>()
        };
        let too_much = "overloaded: answered 88.0 k of 1.00 M/s, send lag 2.70 s (growing)";
        let alone =
            format!("{too_much}; the connections cannot send more: use more clients, or a lower rate");
        assert_eq!(now(0.5), [(2.0, alone)]);
        let ours = "the client is the limit: thread load-0 uses 97 % of a core; run redyno on another host";
        assert_eq!(now(0.97), [(2.0, format!("{too_much}; {ours}")), (1.0, ours.to_owned())]);
    }

    #[test]
    fn an_overload_of_a_server_that_does_not_answer_has_no_advice_to_add_clients() {
        let overload =
            Finding { next: "give more clients".to_owned(), ..Finding::new(Overload.name(), "", "") };
        let other = |rule| Finding::new(rule, rule, rule);
        let stall = Finding { severity: Severity::Problem, ..other("stall") };
        let advice = |other: Finding| {
            let all = explained(vec![other, overload.clone()]);
            all.into_iter().find(|finding| finding.rule == Overload.name()).unwrap().next
        };
        assert_eq!(advice(stall), "solve the finding \"stall\" first");
        let silent = Finding { severity: Severity::Problem, explains: 1.0, ..other("stall") };
        let ours = Finding { is_ours: true, ..other("client limit") };
        let beside = explained(vec![ours, silent, overload.clone()]);
        assert_eq!(beside.last().unwrap().next, "solve the finding \"stall\" first", "{beside:?}");
        assert_eq!(advice(other(SlowNode::NAME)), "solve the finding \"slow node\" first");
        assert_eq!(advice(other("settings")), "give more clients");
    }
}
