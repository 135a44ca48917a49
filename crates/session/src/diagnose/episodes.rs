//! The findings of a session, in the order in which they began. In a session without load, these findings are the
//! result.

use serde::Serialize;

use super::Finding;

/// The longest pause of a finding, in seconds, after which the same episode continues.
const SAME_S: f64 = 60.0;
/// The time in seconds between two records that update the findings.
const RECORD_S: f64 = 1.0;
/// The largest number of episodes that are stored; further episodes are only counted.
const MOST: usize = 500;

/// A finding from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Episode {
    /// The finding with the text of its most severe moment.
    pub finding: Finding,
    /// The start of the finding, in seconds of the session.
    pub since_s: f64,
    /// The end of the finding, in seconds of the session. While the finding is active, the end is the time of the last
    /// record.
    pub until_s: f64,
    /// Whether the finding is still active.
    pub stands: bool,
    /// How often the finding began; 1 if it did not begin again after an end.
    pub times: u32,
}

/// All findings of one target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Episodes {
    kept: Vec<Episode>,
    /// The number of episodes that were not stored, because there were too many.
    pub left_out: u64,
    /// The end of the last gap in the recording, in seconds of the session. No episode continues across a gap.
    recorded_s: f64,
}

impl Episodes {
    /// Returns the episodes, the earliest first.
    pub fn iter(&self) -> impl Iterator<Item = &Episode> {
        self.kept.iter()
    }

    /// Returns the findings that were active at `t_s`, in seconds of the session.
    pub fn at(&self, t_s: f64) -> impl Iterator<Item = &Finding> {
        let is_active = move |episode: &&Episode| episode.since_s <= t_s && t_s <= episode.until_s + RECORD_S;
        self.kept.iter().filter(is_active).map(|episode| &episode.finding)
    }

    /// Ends all episodes, because nothing was recorded for a while before `t_s`, in seconds of the session.
    pub(super) fn end(&mut self, t_s: f64) {
        self.recorded_s = t_s;
        self.kept.iter_mut().for_each(|episode| episode.stands = false);
    }

    /// Adds the findings that are active at `t_s`, in seconds of the session. `now` has the findings that are shown.
    /// `all` also has the findings that are hidden, because their cause is shown instead. An episode begins when its
    /// finding is shown, and continues while the finding is hidden.
    pub(super) fn push(&mut self, t_s: f64, now: &[Finding], all: &[Finding]) {
        for episode in self.kept.iter_mut().filter(|episode| episode.stands) {
            episode.stands = all.iter().any(|finding| finding.is_like(&episode.finding));
            episode.until_s = if episode.stands { t_s } else { episode.until_s };
        }
        for finding in now {
            let has_room = self.kept.len() < MOST;
            let same = self.kept.iter_mut().rev().find(|episode| episode.finding.is_like(finding));
            let since_s = self.recorded_s.max(t_s - SAME_S);
            match same.filter(|episode| episode.stands || episode.until_s >= since_s) {
                Some(episode) => episode.continues(t_s, finding),
                None if has_room => self.kept.push(Episode {
                    finding: finding.clone(),
                    since_s: finding.since_s,
                    until_s: t_s,
                    stands: true,
                    times: 1,
                }),
                None => self.left_out += u64::from(finding.since_s >= t_s),
            }
        }
    }
}

impl Episode {
    fn continues(&mut self, t_s: f64, finding: &Finding) {
        self.times += u32::from(!self.stands);
        (self.stands, self.until_s) = (true, t_s);
        // When a finding starts, little has been measured. During the first minute, later evidence therefore
        // replaces the first evidence.
        if finding.severity >= self.finding.severity && t_s - self.since_s < SAME_S
            || finding.severity > self.finding.severity
        {
            self.finding = finding.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Severity;

    fn finding(rule: &'static str, severity: Severity, since_s: f64) -> Finding {
        Finding { severity, since_s, ..Finding::new(rule, rule, format!("{rule} {since_s}")) }
    }

    #[test]
    fn a_finding_that_comes_and_goes_is_one_episode_and_a_later_one_another() {
        let mut episodes = Episodes::default();
        let fork = |since_s| finding("fork", Severity::Warning, since_s);
        for (t_s, now) in [
            (1.0, vec![fork(1.0)]),
            (4.0, vec![fork(1.0)]),
            (5.0, vec![]),
            (20.0, vec![fork(20.0)]),
            (21.0, vec![]),
            (300.0, vec![fork(300.0), finding("disk", Severity::Note, 300.0)]),
            (301.0, vec![finding("disk", Severity::Problem, 301.0)]),
        ] {
            episodes.push(t_s, &now, &now);
        }
        let each: Vec<_> = episodes
            .iter()
            .map(|episode| {
                (episode.finding.rule, episode.since_s, episode.until_s, episode.times, episode.stands)
            })
            .collect();
        assert_eq!(
            each,
            [
                ("fork", 1.0, 20.0, 2, false),
                ("fork", 300.0, 300.0, 1, false),
                ("disk", 300.0, 301.0, 1, true)
            ]
        );
        assert_eq!(episodes.iter().last().unwrap().finding.severity, Severity::Problem);
    }

    #[test]
    fn a_symptom_that_its_cause_hides_for_a_while_is_one_episode() {
        let mut episodes = Episodes::default();
        let symptom = finding("slow server", Severity::Warning, 1.0);
        let cause = finding("stall", Severity::Problem, 2.0);
        let both = [cause, symptom];
        let alone = &both[1..];
        episodes.push(1.0, alone, alone);
        episodes.push(2.0, &both[..1], &both);
        episodes.push(3.0, &both[..1], &both);
        let slow = |episodes: &Episodes| {
            let slow = episodes.iter().next().unwrap();
            (slow.times, slow.until_s, slow.stands)
        };
        assert_eq!(slow(&episodes), (1, 3.0, true));
        episodes.push(4.0, alone, alone);
        episodes.push(5.0, &[], &[]);
        assert_eq!(slow(&episodes), (1, 4.0, false));
    }

    #[test]
    fn findings_of_a_rule_about_different_things_are_different_episodes() {
        let mut episodes = Episodes::default();
        let about = |subject: &str, since_s| {
            let subject = subject.to_owned();
            Finding { subject, ..finding("slow command", Severity::Warning, since_s) }
        };
        for now in [about("KEYS", 1.0), about("SORT", 5.0)] {
            let now = std::slice::from_ref(&now);
            episodes.push(now[0].since_s, now, now);
        }
        let each: Vec<_> =
            episodes.iter().map(|episode| (episode.finding.subject.as_str(), episode.stands)).collect();
        assert_eq!(each, [("KEYS", false), ("SORT", true)]);
    }
}
