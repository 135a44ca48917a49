//! The findings on the screen, and the findings that the user has folded to one line.

use std::cmp::Reverse;

use super::{Model, Tone, View};
use crate::{
    diagnose::{Finding, Severity, TimeSpent, of_segment_in},
    session::timeline::SegmentTotal,
};

impl Model {
    /// Returns the findings of the node shown, the most important first. A live view has the present
    /// findings. A frozen view and a recording have the findings of the whole segment shown. Without load,
    /// they have the warnings and problems of the moment shown.
    pub fn findings(&self) -> Vec<Finding> {
        let mut moment = self.findings_of(self.node);
        let shown = self.shown();
        match shown.segment() {
            _ if self.is_live() => moment,
            Some(whole) if whole.start.knobs.load => {
                let pings: Vec<_> = self.watched_shown().iter().map(|node| &node.pings).collect();
                let found = of_segment_in(self.track().shown(), whole, &pings);
                found
                    .into_iter()
                    .map(|finding| Finding { since_s: self.since_s(finding.rule, whole), ..finding })
                    .collect()
            }
            _ => {
                moment.retain(|finding| finding.severity > Severity::Note);
                moment.sort_by_key(|finding| Reverse(finding.severity));
                moment
            }
        }
    }

    /// Returns the start of the rule's first finding in the segment. If there is no such finding, returns the start of
    /// the segment.
    fn since_s(&self, rule: &str, segment: &SegmentTotal) -> f64 {
        let ended_s = segment.ended_s.unwrap_or(self.known_s());
        let node = self.watched_shown().get(self.node);
        let first = node.and_then(|node| {
            node.findings.episodes.iter().find(|episode| {
                let is_within = episode.since_s <= ended_s && episode.until_s >= segment.start.t_s;
                episode.finding.rule == rule && is_within
            })
        });
        first.map_or(segment.start.t_s, |first| first.since_s.max(segment.start.t_s))
    }

    /// Returns the findings of a node at the moment shown.
    pub fn findings_of(&self, node: usize) -> Vec<Finding> {
        let Some(findings) = self.watched_shown().get(node).map(|node| &node.findings) else {
            return Vec::new();
        };
        match self.figures_s() {
            Some(t_s) => findings.episodes.at(t_s).cloned().collect(),
            None => findings.now(),
        }
    }

    /// Returns how requests spend their time at present. The result is empty in a frozen view and in a recording.
    pub fn spent(&self) -> Vec<TimeSpent> {
        let is_present = self.view == View::Live && self.playback.is_none();
        let node = self.watched.nodes.get(self.node).filter(|_| is_present);
        node.map_or_else(Vec::new, |node| node.findings.spent())
    }

    /// Returns whether the user has folded this finding. Only the header shows a folded finding.
    pub fn is_folded(&self, finding: &Finding) -> bool {
        self.folded.contains(finding.rule)
    }

    /// Folds the most important finding that can be folded and is not folded yet. If all such
    /// findings are folded, shows all findings again. Findings of severity [`Problem`](Severity::Problem)
    /// cannot be folded.
    pub(super) fn fold_finding(&mut self) {
        let findings = self.findings();
        let can_fold = |finding: &&Finding| {
            finding.severity < Severity::Problem && finding.is_for_status_line() && !self.is_folded(finding)
        };
        match findings.iter().find(can_fold) {
            Some(finding) => drop(self.folded.insert(finding.rule)),
            None if self.folded.is_empty() => self.show_message(Tone::Info, "no finding to fold"),
            None => self.folded.clear(),
        }
    }

    /// Unfolds the findings that have ended. A new finding of the same rule is then shown in the status line.
    pub(super) fn unfold_ended(&mut self) {
        if !self.folded.is_empty() && self.view == View::Live {
            let present: Vec<_> = self.findings().into_iter().map(|finding| finding.rule).collect();
            self.folded.retain(|rule| present.contains(rule));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        app::{Delivery, Msg, Playback, update},
        events::EventKind,
        knobs::Knobs,
        session::{Event, Interval, Record, Segment, TimelineOptions},
        workload::preset,
    };

    #[test]
    fn the_findings_of_a_frozen_view_do_not_change() {
        let knobs = Knobs { load: true, workload: preset("get").unwrap(), ..Knobs::default() };
        let mut model = Model::new(knobs.clone(), TimelineOptions::default());
        model.push(&Record::Segment(Segment::new(0.0, 1, knobs.clone())));
        let second = |n: u32| {
            let of = Interval { t_s: n.into(), length_s: 1.0, segment: 1, ..Interval::default() };
            Record::Interval(Box::new(Interval { ops: 1000, hits: 0, misses: 1000, ..of }))
        };
        (1..20).for_each(|n| model.push(&second(n)));
        model.freeze();
        let found = model.findings();
        assert_eq!((found.len(), found[0].rule), (1, "hit rate"));
        let stall = EventKind::Stalled { longest_s: 9.0, length_s: Some(9.0) };
        model.push(&Record::Event(Event::new(30.0, stall)));
        (20..40).for_each(|n| model.push(&second(n)));
        model.push(&Record::Segment(Segment::new(40.0, 2, knobs)));
        assert_eq!(model.findings(), found);
    }

    #[test]
    fn a_finding_of_a_recorded_segment_begins_when_the_rule_found_it() {
        let mut model = Model::replaying(Playback::new("a.rdyn".to_owned()), TimelineOptions::default());
        let knobs = Knobs { load: true, workload: preset("get").unwrap(), ..Knobs::default() };
        let second = |n: u32| {
            let misses = if n > 20 { 1000 } else { 0 };
            let of = Interval { t_s: n.into(), length_s: 1.0, segment: 1, ..Interval::default() };
            Record::Interval(Box::new(Interval { ops: 1000, hits: 1000 - misses, misses, ..of }))
        };
        let records = [Record::Segment(Segment::new(0.0, 1, knobs))].into_iter().chain((1..=40).map(second));
        for record in records {
            drop(update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record)))));
        }
        let found = model.findings();
        assert_eq!((found.len(), found[0].rule), (1, "hit rate"));
        assert!((21.0..25.0).contains(&found[0].since_s), "since {} s", found[0].since_s);
    }
}
