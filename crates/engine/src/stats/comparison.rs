//! The result of a statistical comparison between two settings, A and B. All comparisons have this form.
//!
//! | measured | model |
//! |---|---|
//! | pairs, one side right after the other | [`paired`](super::paired) |
//! | several runs of each side | [`repeats`](super::repeats) |
//! | one series of seconds of each side | [`seconds`](super::seconds) |
//!
//! All statistical models compare the logarithms of values. The results are given as shares of the first side.

use crate::units;

/// The smallest difference that is reported as better or worse, as a share of the first side.
pub(super) const SMALLEST: f64 = 0.02;
/// Two sides count as the same if the confidence interval excludes every difference larger than this share.
pub(super) const CLOSE: f64 = 0.05;
/// An interval touches zero if one of its ends is nearer to zero than this share. The end of such an interval is shown
/// as 0.0 %.
pub(super) const TOUCHES: f64 = 0.000_5;

/// The direction in which a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Higher values are better, such as replies per second.
    Higher,
    /// Lower values are better, such as latencies.
    Lower,
}

/// The relative difference between the two compared measurements (sides), as a share of the first side's value. For
/// example, 0.1 means that the second side is 10 % larger.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The most likely value of the difference, or `None` if a side has no values.
    pub change: Option<f64>,
    /// The confidence interval of the difference, or `None` if there are too few values.
    pub interval: Option<(f64, f64)>,
    /// Whether the second side is better, worse or the same.
    pub verdict: Verdict,
}

/// The result for the second side, compared with the first side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The second side is better. The difference is larger than noise.
    Better,
    /// The second side is worse. The difference is larger than noise.
    Worse,
    /// The sides count as the same, because the measurement excludes every difference larger than `above`.
    Same {
        /// The largest difference that is not excluded, as a share of the first side.
        above: f64,
    },
    /// The measurement does not show whether the sides differ.
    NotClear(Reason),
}

impl Verdict {
    /// Returns the verdict in one or two words, which are the same in all outputs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same { .. } => "no difference",
            Self::NotClear(_) => "not clear",
        }
    }

    /// Returns the reason for the verdict as text.
    pub fn reason(self) -> String {
        match self {
            Self::Better | Self::Worse => "more than noise".to_owned(),
            Self::Same { above } => format!("above {}", units::percent(above)),
            Self::NotClear(Reason::TooLittle) => "too little was measured".to_owned(),
            Self::NotClear(Reason::TooFew) => "too few pairs or runs".to_owned(),
            Self::NotClear(Reason::Noise) => "within the noise".to_owned(),
            Self::NotClear(Reason::MoreSeconds { first, second }) => {
                let first = first.map(|s| format!(", and {} s more of the base,", units::count(s)));
                format!("about {} s more{} would decide", units::count(second), first.unwrap_or_default())
            }
            Self::NotClear(Reason::Drift) => "drift is possible; repeat both in alternation".to_owned(),
            Self::NotClear(Reason::SingleSeconds { low, high }) => format!(
                "a few seconds cause the change; a typical second changes by {} to {}",
                units::change(low),
                units::change(high)
            ),
        }
    }
}

/// The reason why the verdict is not clear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// One side has no values or too few values.
    TooLittle,
    /// There are too few pairs, or too few runs of one side.
    TooFew,
    /// The confidence interval contains zero and also differences that would matter.
    Noise,
    /// The confidence interval is too wide. About this many more seconds of measurement would make the verdict clear.
    MoreSeconds {
        /// The number of further seconds of the first side, or `None` if the first side has enough.
        first: Option<f64>,
        /// The number of further seconds of the second side.
        second: f64,
    },
    /// Noise alone does not explain the difference. A drift of the machine may explain the difference.
    Drift,
    /// A few unusual seconds cause the difference. The difference of the whole measurements lies outside the confidence
    /// interval of single seconds.
    SingleSeconds {
        /// The lower end of the confidence interval for a usual second, as a share of the first side.
        low: f64,
        /// The upper end of this confidence interval.
        high: f64,
    },
}

impl Comparison {
    /// The result for two sides without data.
    pub(super) const NOTHING: Self =
        Self { change: None, interval: None, verdict: Verdict::NotClear(Reason::TooLittle) };

    /// Builds a comparison from a difference of logarithms and its confidence interval. The sides count as the same if
    /// the interval excludes differences above `close`.
    pub(super) fn of(estimate: f64, interval: Option<(f64, f64)>, better: Better, close: f64) -> Self {
        let change = estimate.exp_m1();
        let interval = interval.map(|(low, high)| (low.exp_m1(), high.exp_m1()));
        let verdict = match interval {
            None => Verdict::NotClear(Reason::TooFew),
            // An end that is shown as 0.0 % does not exclude zero.
            Some((low, high)) if change.abs() >= SMALLEST && (low >= TOUCHES || high <= -TOUCHES) => {
                better.verdict(change)
            }
            Some((low, high)) => match low.abs().max(high.abs()) {
                above if above <= close => Verdict::Same { above },
                _ => Verdict::NotClear(Reason::Noise),
            },
        };
        Self { change: Some(change), interval, verdict }
    }

    /// Returns the verdict on a figure. `change` is the difference between the two whole measurements, as a share of
    /// the first side. `self` compares the values of single seconds. `change` may be outside the interval of `self` by
    /// more than the smallest reported difference. In this case, the seconds do not explain the change, and the verdict
    /// is not clear.
    #[must_use]
    pub fn of_change(self, change: Option<f64>) -> Self {
        match change.zip(self.interval) {
            Some((change, (low, high)))
                if change.ln_1p() < low.ln_1p() - SMALLEST || change.ln_1p() > high.ln_1p() + SMALLEST =>
            {
                let verdict = Verdict::NotClear(Reason::SingleSeconds { low, high });
                Self { interval: None, verdict, ..self }
            }
            _ => self,
        }
    }
}

impl Better {
    /// Returns the verdict for a difference that is significant.
    pub(super) fn verdict(self, change: f64) -> Verdict {
        if (change > 0.0) == (self == Self::Higher) { Verdict::Better } else { Verdict::Worse }
    }
}
