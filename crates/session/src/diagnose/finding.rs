//! A finding and its text. The screen, printed lines and exports use the same text.

use serde::Serialize;

use crate::protocol::DialectWords;

redyno_engine::named_values! {
    /// The severity of a finding.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Severity {
        /// For information: at present, nothing is slow because of the finding.
        Note "note",
        /// Requests are slower than necessary, or the figures are misleading.
        #[default]
        Warning "warning",
        /// Requests lose most of their time because of this finding, or the server answers no request.
        Problem "problem",
    }
}

/// A problem, or something that limits the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Finding {
    /// The name of the rule, such as `client limit`.
    pub rule: &'static str,
    /// The name of the command that the finding is about, if the rule has one finding per command. Otherwise empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// The severity of the finding.
    pub severity: Severity,
    /// Whether redyno or its machine is the cause. If so, the figures do not describe the server.
    pub is_ours: bool,
    /// Whether the finding is a symptom without a known cause. A symptom is not shown while another finding names the
    /// cause.
    pub is_symptom: bool,
    /// Whether the sentence only repeats the rule's name. A printed line then needs only the evidence.
    pub is_brief: bool,
    /// Whether the status line shows this finding even if the severity is only a note.
    pub is_news: bool,
    /// The share of time in which the cause kept the server's main thread from serving other requests, from 0 to 1; 0
    /// if unknown. Of equally severe findings, the finding with the largest share is the most important.
    pub explains: f64,
    /// The start of the finding, in seconds of the session.
    pub since_s: f64,
    /// The finding in a word or two: `overloaded`.
    pub short: String,
    /// The finding as a sentence: `the client is the limit`.
    pub long: String,
    /// The evidence, the strongest first. The list is empty if the sentence contains the evidence.
    pub evidence: Vec<String>,
    /// The advice, such as `give more clients`; empty without advice. A reason and a colon may precede the advice.
    pub next: String,
    /// The advice that the session's screen shows, if this advice differs from `next`.
    pub next_at_screen: Option<&'static str>,
}

/// Joins `what` and the evidence as `a: b`. Without evidence, returns only `what`.
fn of(what: &str, evidence: &[String]) -> String {
    if evidence.is_empty() { what.to_owned() } else { format!("{what}: {}", evidence.join(", ")) }
}

/// Joins `what` and `next` as `a; b`. An empty `next` is left out.
fn then(what: &str, next: &str) -> String {
    if next.is_empty() { what.to_owned() } else { format!("{what}; {next}") }
}

impl Finding {
    /// Returns a warning without evidence and advice.
    pub(super) fn new(rule: &'static str, short: impl Into<String>, long: impl Into<String>) -> Self {
        let (short, long) = (short.into(), long.into());
        Self { rule, short, long, ..Self::default() }
    }

    /// Returns a finding of this severity without a rule name. The [`ConditionRule`](super::rule::ConditionRule) adds
    /// its own name.
    pub(super) fn of(severity: Severity, short: impl Into<String>, long: impl Into<String>) -> Self {
        Self { severity, ..Self::new("", short, long) }
    }

    /// Returns whether both findings are of the same rule and about the same subject.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.rule, &self.subject) == (other.rule, &other.subject)
    }

    /// Sets the advice and the evidence. Unknown evidence is left out.
    #[must_use]
    pub(super) fn with(self, evidence: impl IntoIterator<Item = Option<String>>, next: &str) -> Self {
        Self { evidence: evidence.into_iter().flatten().collect(), next: next.to_owned(), ..self }
    }

    /// Replaces `a client` or `this client` by the name of the client, if the name is known. `noun` replaces the word
    /// `client` in the searched text.
    #[must_use]
    pub(super) fn naming(mut self, noun: &str, name: Option<&str>) -> Self {
        for (name, article) in name.iter().flat_map(|name| [(name, "a"), (name, "this")]) {
            let named = format!("the {noun} {name} ");
            self.long = self.long.replacen(&format!("{article} {noun} "), &named, 1);
        }
        self
    }

    /// Uses the words of a dialect.
    #[must_use]
    pub(super) fn worded(self, words: &DialectWords) -> Self {
        Self {
            short: words.worded(self.short),
            long: words.worded(self.long),
            evidence: self.evidence.into_iter().map(|text| words.worded(text)).collect(),
            next: words.worded(self.next),
            ..self
        }
    }

    /// Returns whether the status line can show the finding.
    pub fn is_for_status_line(&self) -> bool {
        self.severity > Severity::Note || self.is_news
    }

    /// Returns the whole finding in one line: `client limit: thread load-0 uses 97 % of a core; run redyno on another
    /// host`.
    pub fn line(&self) -> String {
        let why = match self.is_brief && !self.evidence.is_empty() {
            true => self.evidence.join(", "),
            false => of(&self.long, &self.evidence),
        };
        let name = if why.starts_with(self.rule) { String::new() } else { format!("{}: ", self.rule) };
        then(&format!("{name}{why}"), &self.next)
    }

    /// Returns the longest form of the finding that fits into `width` columns, with the advice if possible. `at_screen`
    /// is whether the session's screen shows the finding.
    pub fn sentence(&self, width: usize, at_screen: bool) -> String {
        let next = self.next_at_screen.filter(|_| at_screen).unwrap_or(&self.next);
        let first = &self.evidence[..self.evidence.len().min(1)];
        if first.is_empty() && next.is_empty() {
            return self.long.clone();
        }
        let in_short = next.rsplit(": ").next().unwrap_or_default();
        // The first of several pieces of advice.
        let one = next.split("; ").next().unwrap_or_default();
        // If the sentence says more than the rule's name, the sentence is the last part that is left out.
        let forms = match self.is_brief {
            true => vec![
                then(&of(&self.long, &self.evidence), next),
                then(&of(&self.long, first), next),
                then(&of(&self.short, first), next),
                then(&of(&self.short, first), in_short),
            ],
            false => vec![
                then(&of(&self.long, &self.evidence), next),
                then(&of(&self.long, first), next),
                of(&self.long, first),
                then(&self.long, next),
                then(&self.long, one),
                self.long.clone(),
            ],
        };
        let shortest = match self.is_brief {
            true if first.is_empty() => then(&self.short, in_short),
            true => of(&self.short, first),
            false => self.short.clone(),
        };
        forms.into_iter().find(|form| form.chars().count() <= width).unwrap_or(shortest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_line_has_fewer_words_and_keeps_the_advice_as_long_as_possible() {
        let evidence = ["answered 88 k of 1 M/s", "12 % shed"].map(str::to_owned).to_vec();
        let next = "the clients wait: use more clients".to_owned();
        let finding = Finding {
            evidence,
            next,
            is_brief: true,
            ..Finding::new("overload", "overloaded", "the load is too high")
        };
        let text = |width| finding.sentence(width, true);
        assert_eq!(
            text(99),
            "the load is too high: answered 88 k of 1 M/s, 12 % shed; the clients wait: use more clients"
        );
        assert_eq!(
            text(80),
            "the load is too high: answered 88 k of 1 M/s; the clients wait: use more clients"
        );
        assert_eq!(text(70), "overloaded: answered 88 k of 1 M/s; the clients wait: use more clients");
        assert_eq!(text(60), "overloaded: answered 88 k of 1 M/s; use more clients");
        assert_eq!(text(40), "overloaded: answered 88 k of 1 M/s");
        assert_eq!(
            finding.line(),
            "overload: answered 88 k of 1 M/s, 12 % shed; the clients wait: use more clients"
        );
        let cause = Finding { is_brief: false, ..finding };
        assert_eq!(cause.sentence(50, true), "the load is too high: answered 88 k of 1 M/s");
        let two = Finding {
            evidence: vec!["x".repeat(60)],
            next: "use more clients; wait".to_owned(),
            ..cause.clone()
        };
        assert_eq!(two.sentence(40, true), "the load is too high; use more clients");
        assert_eq!((cause.sentence(30, true), cause.sentence(12, true)), (cause.long.clone(), cause.short));
        let bare = Finding::new("hit rate", "hit rate 0 %", "hit rate 0 %: all reads miss");
        assert_eq!((bare.sentence(9, true), bare.line()), (bare.long.clone(), bare.long.clone()));
    }
}
