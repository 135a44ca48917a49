//! The event of a level shift: a figure left its usual level.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units;

/// A level shift: a figure left its usual level, and possibly came back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShiftReport {
    /// The figure: `ping_p50`, `ping_p99`, `ping_max`, `command_` and the name of a command, or the name of a gauge. A
    /// gauge is a number that redyno samples, such as the memory in use.
    pub figure: String,
    /// The figure's name for people, such as `p50 of PING`.
    pub label: String,
    /// The usual level before the shift, in the figure's unit. Latencies of PING are in microseconds.
    pub from: f64,
    /// The level at the beginning of the shift. After the shift has ended, this is the level over the whole shift.
    pub to: f64,
    /// `from` with its unit.
    pub from_text: String,
    /// `to` with its unit.
    pub to_text: String,
    /// The length of the shift in seconds, or `None` at the beginning of the shift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_s: Option<f64>,
    /// The value after a return to the usual level, with its unit. The field is `None` while the shift lasts, or if
    /// it has ended in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_text: Option<String>,
    /// Why the shift ended, for example `the settings of the load changed` or `40 µs, below the usual level`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<String>,
}

impl ShiftReport {
    /// Returns the ratio of the level during the shift to the usual level, or `None` if the usual level is 0.
    pub fn factor(&self) -> Option<f64> {
        (self.from > 0.0).then(|| self.to / self.from)
    }

    /// Returns the figure and the factor: `p50 of PING ×12`.
    pub fn in_short(&self) -> String {
        // Above a thousand a factor says only that the usual level was nearly 0.
        let Some(factor) = self.factor().filter(|factor| (0.01..1000.0).contains(factor)) else {
            return self.label.clone();
        };
        let digits = match factor {
            ..0.95 => 2,
            ..9.95 => 1,
            _ => 0,
        };
        format!("{} ×{factor:.digits$}", self.label)
    }
}

impl fmt::Display for ShiftReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_short())?;
        write!(f, ": {} → {}", self.from_text, self.to_text)?;
        let Some(length_s) = self.length_s else { return Ok(()) };
        let length = units::length(length_s);
        match (&self.back_text, &self.given_up) {
            (Some(back), _) => write!(f, ", back to {back} after {length}"),
            (None, Some(why)) => write!(f, " for {length}, then {why}"),
            (None, None) => write!(f, " for {length}; this level is the usual one from now on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift() -> ShiftReport {
        let [figure, label, from_text, to_text] =
            ["ping_p50", "p50 of PING", "402 µs", "4.90 ms"].map(str::to_owned);
        ShiftReport { figure, label, from: 402.0, to: 4900.0, from_text, to_text, ..ShiftReport::default() }
    }

    #[test]
    fn a_shift_is_written_with_factor_levels_and_length() {
        assert_eq!(shift().to_string(), "p50 of PING ×12: 402 µs → 4.90 ms");
        let back = ShiftReport { length_s: Some(38.2), back_text: Some("410 µs".to_owned()), ..shift() };
        assert_eq!(back.to_string(), "p50 of PING ×12: 402 µs → 4.90 ms, back to 410 µs after 38 s");
        let stays = ShiftReport { length_s: Some(180.0), back_text: None, ..shift() };
        assert!(
            stays.to_string().ends_with("4.90 ms for 3 min; this level is the usual one from now on"),
            "{stays}"
        );
        let from_nothing = ShiftReport { from: 0.0, ..shift() };
        assert_eq!(from_nothing.to_string(), "p50 of PING: 402 µs → 4.90 ms");
        assert!(ShiftReport { to: 100.0, ..shift() }.to_string().contains("×0.25"));
    }
}
