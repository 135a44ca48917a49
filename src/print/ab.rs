//! The output of `redyno ab`, for people or as JSON.
//!
//! ```text
//! redyno 0.1.0  127.0.0.1:6379  redis 7.0.15 master
//! A: clients 50  (50 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys)
//! B: clients 100  (100 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys)
//! pair     time first    A ops/s    B ops/s  change |    A p50    B p50  change |    A p99    B p99  change
//!    1    7.2 s     A      121 k      135 k  +11.6% |   312 µs   587 µs  +88.1% |  1.12 ms  1.31 ms  +17.0%
//! ```

use serde::Serialize;

use crate::{
    experiment::{Ab, Experiment, Pair, Part, Quantity, Setting, Side, Verdict},
    foreign,
    print::{lines::session_line, printer::Form},
    session::SessionStart,
    units,
};

/// Makes lines of an A/B, each with its end.
pub(crate) struct Lines {
    form: Form,
    /// How many pairs were told.
    told: usize,
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Json<'a> {
    Pair(&'a Pair),
    Verdict {
        from: &'a str,
        to: &'a str,
        #[serde(flatten)]
        verdict: &'a Verdict,
    },
}

impl Json<'_> {
    fn line(&self) -> String {
        // Strings and numbers can always be encoded.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

impl Lines {
    pub(crate) fn new(form: Form) -> Self {
        Self { form, told: 0 }
    }

    /// What stands above all: where, and which setting is which.
    pub(crate) fn head(&self, session: &SessionStart, ab: &Ab) -> String {
        let (a, b) = ab.settings();
        let name = |name: &str, setting: &Setting| {
            let words = foreign::lines(setting.words.as_bytes());
            format!("{name}: {words}  ({})\n", setting.knobs)
        };
        match self.form {
            Form::Json => String::new(),
            Form::Lines => {
                format!("{}\n{}{}{}", session_line(session), name("A", a), name("B", b), heading())
            }
        }
    }

    /// The pairs that were not told yet.
    pub(crate) fn new_pairs(&mut self, ab: &Ab) -> Vec<String> {
        let new = &ab.pairs()[self.told..];
        self.told = ab.pairs().len();
        let line = |pair| match self.form {
            Form::Json => Json::Pair(pair).line(),
            Form::Lines => pair_line(pair),
        };
        new.iter().map(line).collect()
    }

    /// The last words.
    pub(crate) fn verdict(&self, ab: &Ab) -> String {
        let verdict = ab.verdict();
        let (a, b) = ab.settings();
        match self.form {
            Form::Json => Json::Verdict { from: &a.words, to: &b.words, verdict: &verdict }.line(),
            Form::Lines => format!("\n{}", ab.report()),
        }
    }
}

/// The quantities beside each other, one text each.
fn columns(text: impl Fn(Quantity) -> [String; 3]) -> String {
    let of = |quantity| {
        let [a, b, change] = text(quantity);
        let width = if quantity == Quantity::Throughput { 10 } else { 8 };
        format!("{a:>width$} {b:>width$} {change:>7}")
    };
    Quantity::ALL.map(of).join(" | ")
}

fn heading() -> String {
    let names = |quantity: Quantity| {
        let name = if quantity == Quantity::Throughput { "ops/s" } else { quantity.name() };
        [format!("A {name}"), format!("B {name}"), "change".to_owned()]
    };
    format!("pair     time first {}\n", columns(names))
}

fn pair_line(pair: &Pair) -> String {
    let value = |part: &Part, quantity| {
        let latency = |us: Option<f64>| us.map(|us| units::latency((us * 1e3) as u64));
        let told = match quantity {
            Quantity::Throughput => Some(units::count(part.ops_per_s)),
            Quantity::P50 => latency(part.p50_us),
            Quantity::P99 => latency(part.p99_us),
        };
        told.unwrap_or_else(|| "-".to_owned())
    };
    let change = |quantity| match pair.difference(quantity).map(f64::exp) {
        Some(times) if times >= 10.0 => format!("×{}", units::count(times)),
        Some(times) => format!("{:+.1}%", (times - 1.0) * 100.0),
        None => "-".to_owned(),
    };
    let first = if pair.first == Side::A { "A" } else { "B" };
    let values = columns(|quantity| [value(&pair.a, quantity), value(&pair.b, quantity), change(quantity)]);
    let errors = pair.a.errors + pair.b.errors;
    let errors = if errors > 0 { format!("  errors {errors}") } else { String::new() };
    let left_out = pair.left_out.map(|why| format!("  left out: {why}")).unwrap_or_default();
    format!("{:>4} {:>6.1} s {first:>5} {values}{errors}{left_out}\n", pair.pair, pair.t_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Pair {
        let part = |ops_per_s, p50_us| Part {
            length_s: 3.0,
            ops_per_s,
            p50_us: Some(p50_us),
            p99_us: None,
            errors: 0,
            client_limit: None,
        };
        Pair {
            pair: 1,
            t_s: 7.25,
            first: Side::A,
            a: part(121_000.0, 312.0),
            b: part(135_000.0, 587.0),
            left_out: None,
        }
    }

    #[test]
    fn a_pair_is_a_line_under_its_heading() {
        assert_eq!(
            heading() + &pair_line(&pair()),
            "pair     time first    A ops/s    B ops/s  change |    A p50    B p50  change |    A p99    B p99  change\n   \
             1    7.2 s     A      121 k      135 k  +11.6% |   312 µs   587 µs  +88.1% |        -        -       -\n"
        );
        let mut spoilt = Pair { left_out: Some("connections were lost"), ..pair() };
        spoilt.b.errors = 7;
        spoilt.b.ops_per_s = 58_000_000.0;
        assert!(pair_line(&spoilt).contains("     58.0 M    ×479 |"), "{}", pair_line(&spoilt));
        assert!(pair_line(&spoilt).ends_with("  errors 7  left out: connections were lost\n"));
    }

    #[test]
    fn as_json_a_pair_is_an_object() {
        let line: serde_json::Value = serde_json::from_str(&Json::Pair(&pair()).line()).unwrap();
        assert_eq!(
            (&line["kind"], &line["first"], &line["b"]["p50_us"]),
            (&"pair".into(), &"A".into(), &587.0.into())
        );
    }
}
