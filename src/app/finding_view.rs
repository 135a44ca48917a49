//! The findings that the screen shows, and which of them the user has folded to one line.

use std::cmp::Reverse;

use super::{Model, Tone, View};
use crate::diagnose::{Finding, Severity, TimeSpent, of_segment};

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
                of_segment(&whole.start, &whole.total, self.track().timeline.session())
            }
            _ => {
                moment.retain(|finding| finding.severity > Severity::Note);
                moment.sort_by_key(|finding| Reverse(finding.severity));
                moment
            }
        }
    }

    /// Returns the findings of a node at the moment shown.
    pub(super) fn findings_of(&self, node: usize) -> Vec<Finding> {
        let Some(findings) = self.watched.nodes.get(node).map(|node| &node.findings) else {
            return Vec::new();
        };
        match self.figures_s() {
            Some(t_s) => findings.episodes.at(t_s).cloned().collect(),
            None => findings.now(),
        }
    }

    /// Returns where the time of requests goes at present; empty in a frozen view and in a recording.
    pub fn spent(&self) -> Vec<TimeSpent> {
        let is_present = self.view == View::Live && self.playback.is_none();
        let node = self.watched.nodes.get(self.node).filter(|_| is_present);
        node.map_or_else(Vec::new, |node| node.findings.spent())
    }

    /// Returns whether the user has folded this finding: a folded finding is shown only in the header.
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

    /// Unfolds the findings that have ended, so that a new finding of the same rule is shown in the status
    /// line.
    pub(super) fn unfold_ended(&mut self) {
        if !self.folded.is_empty() && self.view == View::Live {
            let present: Vec<_> = self.findings().into_iter().map(|finding| finding.rule).collect();
            self.folded.retain(|rule| present.contains(rule));
        }
    }
}
