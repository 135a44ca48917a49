//! The findings at the moment shown, and the findings that the user has folded.

use super::{Model, Tone, View};
use crate::diagnose::{Finding, Severity, TimeSpent, of_segment};

impl Model {
    /// Returns the findings, the most important first. A live view has the present findings; a frozen view and a
    /// recording have the findings of the whole segment shown.
    pub fn findings(&self) -> Vec<Finding> {
        if self.is_live() {
            return self.track().state.findings.now();
        }
        let session = self.track().timeline.session();
        let shown = self.shown();
        shown.segment().map_or_else(Vec::new, |segment| of_segment(&segment.start, &segment.total, session))
    }

    /// Returns how the time of requests is divided at present; empty in a frozen view and in a recording.
    pub fn spent(&self) -> Vec<TimeSpent> {
        let is_present = self.view == View::Live && self.playback.is_none();
        if is_present { self.track().state.findings.spent() } else { Vec::new() }
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
