//! Prints the results of `redyno ab` and `redyno versus`, for people or as JSON.
//!
//! ```text
//! redyno 0.1.0  127.0.0.1:6379  redis 7.0.15 master
//! A: clients 50  (50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys)
//! B: clients 100  (100 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys)
//! pair     time first    A ops/s    B ops/s  change |    A p50    B p50  change |    A p99    B p99  change
//!    1    7.2 s     A      121 k      135 k  +11.6% |   312 µs   587 µs  +88.1% |  1.12 ms  1.31 ms  +17.0%
//! ```
//! The readable output of `redyno versus` has no lines for pairs. If a side has several nodes, a table of its
//! nodes follows.

use serde::Serialize;

use crate::{
    events::EventKind,
    experiment::{Ab, Experiment, Pair, Side},
    print::{
        lines::{server_line, session_line},
        printer::OutputForm,
        summary::nodes,
    },
    session::{
        Event, Interval, Record, SessionStart,
        figures::{self, Figure, Row},
    },
    units, untrusted,
};

/// A writer of the output of an A/B comparison.
pub struct AbLines {
    form: OutputForm,
    /// The names of both sides.
    sides: [String; 2],
    /// The number of printed pairs.
    printed: usize,
    /// The session, which has the addresses of its nodes.
    session: Option<SessionStart>,
    /// The failovers of all servers.
    failovers: Vec<Event>,
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum AbJson<'a> {
    Pair(&'a Pair),
    Verdict {
        from: String,
        to: String,
        #[serde(flatten)]
        verdict: &'a Ab,
        /// The results by node, for each side with several nodes.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        nodes: Vec<NodeFigures>,
        #[serde(skip_serializing_if = "<[Event]>::is_empty")]
        failovers: &'a [Event],
    },
}

/// The results of a node over all counted pairs.
#[derive(Serialize)]
struct NodeFigures {
    side: Side,
    node: String,
    ops: u64,
    ops_per_s: Option<f64>,
    p50_us: Option<f64>,
    p99_us: Option<f64>,
    max_us: Option<f64>,
    errors: u64,
}

impl AbJson<'_> {
    fn line(&self) -> String {
        // Strings and numbers can always be encoded.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

impl AbLines {
    /// Creates the printer of an A/B in this form.
    pub fn new(form: OutputForm) -> Self {
        Self { form, sides: Default::default(), printed: 0, session: None, failovers: Vec::new() }
    }

    /// Returns the start of the output: the server of the session, and the settings of both sides.
    pub fn begun(&mut self, session: &SessionStart, ab: &Ab) -> String {
        self.session = Some(session.clone());
        let nodes = [Some(&session.target), session.nodes.first()];
        self.sides = match ab.is_of_targets() {
            true => nodes.map(|node| node.map(server_line).unwrap_or_default()),
            false => ab.settings.each_ref().map(|setting| setting.words.clone()),
        };
        let [a, b] = self.sides.each_ref().map(|side| untrusted::lines(side.as_bytes()));
        let [of_a, of_b] = ab.settings.each_ref().map(|setting| &setting.knobs);
        match self.form {
            OutputForm::Json => String::new(),
            OutputForm::Lines if ab.is_of_targets() => format!("{}  {of_a}\nA: {a}\nB: {b}\n", session.tool),
            OutputForm::Lines => {
                format!("{}\nA: {a}  ({of_a})\nB: {b}  ({of_b})\n{}", session_line(session), heading())
            }
        }
    }

    /// Returns the lines of pairs that are not printed yet.
    pub fn new_pairs(&mut self, ab: &Ab) -> String {
        let new = &ab.pairs()[self.printed..];
        self.printed = ab.pairs().len();
        let line = |pair| match self.form {
            OutputForm::Json => AbJson::Pair(pair).line(),
            OutputForm::Lines if ab.is_of_targets() => String::new(),
            OutputForm::Lines => pair_line(pair, ab.figures()),
        };
        new.iter().map(line).collect()
    }

    /// Returns the end of the output: the verdict.
    pub fn verdict(&self, ab: &Ab) -> String {
        let [from, to] = self.sides.clone();
        match self.form {
            OutputForm::Json => {
                let (nodes, failovers) = (self.node_figures(ab), &*self.failovers);
                AbJson::Verdict { from, to, verdict: ab, nodes, failovers }.line()
            }
            OutputForm::Lines => {
                format!("\n{}{}{}", ab.report(), self.node_tables(ab), self.failover_lines())
            }
        }
    }

    /// Adds a node that has joined, or a failover.
    pub fn follow(&mut self, record: &Record) {
        if let Record::Event(event @ Event { what: EventKind::Failover { .. }, .. }) = record {
            self.failovers.push(event.clone());
        }
        self.session.as_mut().map(|session| session.follow(record));
    }

    fn failover_lines(&self) -> String {
        let line = |event: &Event| {
            let what = untrusted::lines(event.what.to_string().as_bytes());
            format!("failover at {:.1} s: {what}\n", event.t_s)
        };
        self.failovers.iter().map(line).collect()
    }

    fn name(&self, node: u16) -> String {
        let address = self.session.as_ref().and_then(|session| session.address_of(node));
        address.map_or_else(|| format!("node {}", node + 1), |address| untrusted::lines(address.as_bytes()))
    }

    /// Returns a table of nodes for each side with several nodes.
    fn node_tables(&self, ab: &Ab) -> String {
        let of_side = |(side, sum): (Side, &Interval)| {
            let table = nodes::table("node", Row::of_interval(sum), &sum.nodes, |node| self.name(node));
            if table.is_empty() { table } else { format!("\n{side:?} by node:\n{table}") }
        };
        [Side::A, Side::B].into_iter().zip(&ab.sums).map(of_side).collect()
    }

    fn node_figures(&self, ab: &Ab) -> Vec<NodeFigures> {
        let sides = [Side::A, Side::B].into_iter().zip(&ab.sums).filter(|(_, sum)| sum.nodes.len() > 1);
        let nodes =
            sides.flat_map(|(side, sum)| sum.nodes.iter().map(move |(node, part)| (side, sum, node, part)));
        let figures = nodes.map(|(side, sum, node, part)| {
            let row = Row::of_interval(sum).of_operation(part);
            NodeFigures {
                side,
                node: self.name(*node),
                ops: part.ops,
                ops_per_s: row.ops_per_s,
                p50_us: figures::SERVICE_P50.exported(&row),
                p99_us: figures::SERVICE_P99.exported(&row),
                max_us: figures::SERVICE_MAX.exported(&row),
                errors: row.errors,
            }
        });
        figures.collect()
    }
}

/// Returns the columns of a line: for each figure the value of A, the value of B, and the change.
fn columns(texts: [[String; 3]; 3]) -> String {
    let of = |(n, [a, b, change]): (usize, [String; 3])| {
        let width = if n == 0 { 10 } else { 8 };
        format!("{a:>width$} {b:>width$} {change:>7}")
    };
    texts.into_iter().enumerate().map(of).collect::<Vec<_>>().join(" | ")
}

fn heading() -> String {
    let names = |name: &str| [format!("A {name}"), format!("B {name}"), "change".to_owned()];
    format!("pair     time first {}\n", columns(["ops/s", "p50", "p99"].map(names)))
}

fn pair_line(pair: &Pair, figures: [Figure; 3]) -> String {
    let values = |figure| {
        let change = match pair.difference(None, figure).map(f64::exp) {
            Some(times) if times >= 10.0 => format!("×{}", units::count(times)),
            Some(times) => format!("{:+.1}%", (times - 1.0) * 100.0),
            None => "-".to_owned(),
        };
        let [a, b] = pair.written(figure);
        [a, b, change]
    };
    let first = if pair.first == Side::A { "A" } else { "B" };
    let errors = pair.errors();
    let errors = if errors > 0 { format!("  errors {}", units::grouped(errors)) } else { String::new() };
    let left_out = pair.left_out.map(|why| format!("  left out: {why}")).unwrap_or_default();
    let values = columns(figures.map(values));
    format!("{:>4} {:>6.1} s {first:>5} {values}{errors}{left_out}\n", pair.pair, pair.t_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    fn part(ops_per_s: f64, ns: u64) -> Interval {
        Interval { length_s: 3.0, ops_per_s, service: repeated(ns, 500), ..Interval::default() }
    }

    fn pair(b_ops_per_s: f64) -> Pair {
        let mut parts = [part(121_000.0, 312_000), part(b_ops_per_s, 587_000)];
        parts[1].errors.insert("OOM".to_owned(), u64::from(b_ops_per_s > 1e6) * 7);
        Pair { pair: 1, t_s: 7.25, first: Side::A, is_open: false, parts: parts.into(), left_out: None }
    }

    #[test]
    fn a_pair_is_a_line_under_its_heading() {
        let line = |pair: &Pair| pair_line(pair, Pair::figures(false));
        assert_eq!(
            heading() + &line(&pair(135_000.0)),
            "pair     time first    A ops/s    B ops/s  change |    A p50    B p50  change |    A p99    B p99  change\n   \
             1    7.2 s     A      121 k      135 k  +11.6% |   312 µs   587 µs  +88.1% |        -        -       -\n"
        );
        let spoilt = Pair { left_out: Some("connections were lost"), ..pair(58_000_000.0) };
        assert!(line(&spoilt).contains("     58.0 M    ×479 |"), "{}", line(&spoilt));
        assert!(line(&spoilt).ends_with("  errors 7  left out: connections were lost\n"));
    }

    #[test]
    fn a_pair_is_a_json_object() {
        let line: serde_json::Value = serde_json::from_str(&AbJson::Pair(&pair(135_000.0)).line()).unwrap();
        assert_eq!(
            (&line["kind"], &line["first"], &line["b"]["p50_us"]),
            (&"pair".into(), &"A".into(), &587.0.into())
        );
    }

    #[test]
    fn failovers_of_both_targets_are_in_text_and_json() {
        let mut lines = AbLines::new(OutputForm::Lines);
        for (node, t_s) in [(0, 3.0), (1, 14.83)] {
            let (from, to, by) = ("a:1".to_owned(), "b:2".to_owned(), "name".to_owned());
            let what =
                EventKind::Failover { from, to, length_s: 2.4, error_s: 0.02, by, epoch: None, cause: None };
            lines.follow(&Record::Event(Event::new(t_s, what)).at_node(node));
        }
        let text = lines.failover_lines();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().last().unwrap().starts_with("failover at 14.8 s: "), "{text}");
        let json = serde_json::to_value(&lines.failovers).unwrap();
        assert_eq!((&json[1]["node"], &json[1]["event"]), (&1.into(), &"failover".into()));
    }
}
