//! A finding and its text. The screen, printed lines and exports use the same text.

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The figures are misleading.
    Warning,
    /// The requested load is not reached.
    Bad,
    /// Almost nothing is answered.
    Standstill,
}

/// A problem, or something that limits the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The name of the rule: `client limit`.
    pub rule: &'static str,
    /// The severity of the finding.
    pub severity: Severity,
    /// Whether redyno or its machine is the cause; the figures then do not describe the server.
    pub is_ours: bool,
    /// The start of the finding, in seconds of the session.
    pub since_s: f64,
    /// The finding in a word or two: `overloaded`.
    pub short: String,
    /// The finding as a sentence: `the client is the limit`.
    pub long: String,
    /// The evidence, the strongest first; empty if the sentence contains it.
    pub evidence: Vec<String>,
    /// The advice; a reason and a colon may come before it. May be empty.
    pub next: String,
    /// The advice on the session's screen, if it differs from `next`.
    pub next_at_screen: Option<&'static str>,
}

/// Joins both parts as `a: b`; without evidence, returns only the first part.
fn of(what: &str, evidence: &[String]) -> String {
    if evidence.is_empty() { what.to_owned() } else { format!("{what}: {}", evidence.join(", ")) }
}

/// Joins both parts as `a; b`; an empty second part is left out.
fn then(what: &str, next: &str) -> String {
    if next.is_empty() { what.to_owned() } else { format!("{what}; {next}") }
}

impl Finding {
    /// Returns a warning without evidence and advice.
    pub(super) fn new(rule: &'static str, short: impl Into<String>, long: impl Into<String>) -> Self {
        Self {
            rule,
            severity: Severity::Warning,
            is_ours: false,
            since_s: 0.0,
            short: short.into(),
            long: long.into(),
            evidence: Vec::new(),
            next: String::new(),
            next_at_screen: None,
        }
    }

    /// Returns the whole finding in one line: `client limit: load-0 uses 97 % of a core; run redyno on another host`.
    pub fn line(&self) -> String {
        let why = if self.evidence.is_empty() { self.long.clone() } else { self.evidence.join(", ") };
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
        let forms = [
            then(&of(&self.long, &self.evidence), next),
            then(&of(&self.long, first), next),
            then(&of(&self.short, first), next),
            then(&of(&self.short, first), in_short),
        ];
        let shortest = if first.is_empty() { then(&self.short, in_short) } else { of(&self.short, first) };
        forms.into_iter().find(|form| form.chars().count() <= width).unwrap_or(shortest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_line_has_fewer_words_and_keeps_what_to_do_as_long_as_it_can() {
        let evidence = ["88 k of 1 M/s, growing", "12 % shed"].map(str::to_owned).to_vec();
        let next = "no faster answers: more clients".to_owned();
        let finding =
            Finding { evidence, next, ..Finding::new("overload", "overloaded", "too much is asked") };
        let text = |width| finding.sentence(width, true);
        assert_eq!(
            text(99),
            "too much is asked: 88 k of 1 M/s, growing, 12 % shed; no faster answers: more clients"
        );
        assert_eq!(text(80), "too much is asked: 88 k of 1 M/s, growing; no faster answers: more clients");
        assert_eq!(text(70), "overloaded: 88 k of 1 M/s, growing; no faster answers: more clients");
        assert_eq!(text(60), "overloaded: 88 k of 1 M/s, growing; more clients");
        assert_eq!(text(40), "overloaded: 88 k of 1 M/s, growing");
        assert_eq!(
            finding.line(),
            "overload: 88 k of 1 M/s, growing, 12 % shed; no faster answers: more clients"
        );
        let bare = Finding::new("hit rate", "hit rate 0 %", "hit rate 0 %: the others find no key");
        assert_eq!((bare.sentence(9, true), bare.line()), (bare.long.clone(), bare.long.clone()));
    }
}
