//! The output of `redyno versus`, for people or as JSON.
//!
//! ```text
//! redyno 0.1.0  50 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys
//! A: 127.0.0.1:6379  redis 7.0.15 master
//! B: 127.0.0.1:6380  valkey 8.1.1 master
//!
//!                   A       B  B against A
//! throughput    121 k   135 k  +12 % (+9 to +15)      more than noise: B is better
//! service p50  312 µs  310 µs  -0.6 % (-1.2 to +0.4)  no difference above 1.2 %
//! ```

use serde::Serialize;

use crate::{
    experiment::{Pair, Row, Verdict, Versus},
    foreign,
    load::Knobs,
    print::{lines::server_line, printer::Form},
    session::SessionStart,
};

/// Makes lines of a comparison, each with its end.
pub(crate) struct Lines {
    form: Form,
    /// What each session began with.
    begun: [Option<SessionStart>; 2],
    /// How many pairs were told.
    told: usize,
}

/// A line of JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Json<'a> {
    Pair(&'a Pair),
    Verdict {
        from: String,
        to: String,
        #[serde(flatten)]
        verdict: &'a Verdict,
        table: &'a [Row],
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
        Self { form, begun: [None, None], told: 0 }
    }

    /// The session of a target has begun; what stands above all, when both have.
    pub(crate) fn begun(&mut self, n: usize, session: &SessionStart, knobs: &Knobs) -> String {
        let is_news = self.begun[n].replace(session.clone()).is_none();
        match (self.form, &self.begun) {
            (Form::Lines, [Some(a), Some(b)]) if is_news => {
                let [a, b] = [a, b].map(|session| foreign::lines(server_line(session).as_bytes()));
                format!("{}  {knobs}\nA: {a}\nB: {b}\n", session.tool)
            }
            _ => String::new(),
        }
    }

    /// The pairs that were not told yet; a person gets their table only.
    pub(crate) fn new_pairs(&mut self, versus: &Versus) -> String {
        let new = &versus.pairs()[self.told..];
        self.told = versus.pairs().len();
        match self.form {
            Form::Json => new.iter().map(|pair| Json::Pair(pair).line()).collect(),
            Form::Lines => String::new(),
        }
    }

    /// The last words.
    pub(crate) fn verdict(&self, versus: &Versus) -> String {
        let (verdict, rows) = (versus.verdict(), versus.rows());
        let name = |n: usize| self.begun[n].as_ref().map(server_line).unwrap_or_default();
        match self.form {
            Form::Json => {
                Json::Verdict { from: name(0), to: name(1), verdict: &verdict, table: &rows }.line()
            }
            Form::Lines => format!("\n{}{}", table(&rows), last(versus, &verdict)),
        }
    }
}

/// A row each, below a heading.
fn table(rows: &[Row]) -> String {
    let mut cells = vec![["", "A", "B", "B against A", ""].map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let name = foreign::text(&row.figure.name());
        [name, row.written(0), row.written(1), row.difference(), row.words()]
    }));
    let width = |n: usize| cells.iter().map(|row| row[n].chars().count()).max().unwrap_or_default();
    let [name, a, b, difference] = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 5]| {
        let text =
            format!("{:<name$}  {:>a$}  {:>b$}  {:<difference$}  {}", row[0], row[1], row[2], row[3], row[4]);
        text.trim_end().to_owned() + "\n"
    };
    cells.iter().map(line).collect()
}

/// The verdict, and what it stands on.
fn last(versus: &Versus, verdict: &Verdict) -> String {
    let left_out = match verdict.left_out {
        0 => String::new(),
        n => format!(", {n} left out: connections were lost"),
    };
    let errors: u64 = versus.pairs().iter().map(|pair| pair.a.errors + pair.b.errors).sum();
    let errors = if errors > 0 { format!(", errors {errors}") } else { String::new() };
    let limit = match versus.client_limit() {
        limit if limit.is_empty() => limit,
        limit => format!("client {limit}\n"),
    };
    format!("\n{}\npairs {}{left_out}{errors}\n{limit}", verdict.sentence(), verdict.pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::{Figure, Level},
        stats::paired::{Judgement, Shift},
    };

    #[test]
    fn a_table_has_a_row_for_each_figure_and_its_columns_below_each_other() {
        let shift = |estimate: f64, low: f64, high: f64| {
            Some(Shift { estimate: estimate.ln_1p(), interval: Some((low.ln_1p(), high.ln_1p())) })
        };
        let rows = [
            Row {
                figure: Figure::Throughput,
                values: [Some(121_000.0), Some(135_000.0)],
                shift: shift(0.12, 0.09, 0.15),
                judgement: Judgement::Better,
            },
            Row {
                figure: Figure::Service(Level::P50),
                values: [Some(312.0), Some(310.0)],
                shift: shift(-0.006, -0.012, 0.004),
                judgement: Judgement::Same,
            },
            Row {
                figure: Figure::Service(Level::P999),
                values: [Some(1120.0), None],
                shift: None,
                judgement: Judgement::Undecided,
            },
        ];
        assert_eq!(
            table(&rows),
            "                     A       B  B against A\n\
             throughput       121 k   135 k  +12 % (+9 to +15)      more than noise: B is better\n\
             service p50     312 µs  310 µs  -0.6 % (-1.2 to +0.4)  no difference above 1.2 %\n\
             service p99.9  1.12 ms       -  -                      not measured\n"
        );
    }
}
