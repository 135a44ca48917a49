//! What keys are called and how they are chosen, and what is waited for.

use super::{Row, number, told};
use crate::compat::{
    Refusal,
    memtier::{
        asked::{Asked, Pattern},
        numbers::{Ratio, Span},
    },
    value,
};

pub(super) const OPTIONS: &[Row] = &[
    value(&["--key-prefix"], (), ("PREFIX", "Prefix for keys (default: \"memtier-\")"), |asked, text| {
        asked.key_prefix = text.to_owned();
        Ok(())
    }),
    value(&["--key-minimum"], (), ("NUMBER", "Key ID minimum value (default: 0)"), |asked, text| {
        asked.key_minimum = from_one(text, "key-minimum")?;
        Ok(())
    }),
    value(&["--key-maximum"], (), ("NUMBER", "Key ID maximum value (default: 10000000)"), |asked, text| {
        asked.key_maximum = from_one(text, "key-maximum")?;
        Ok(())
    }),
    value(
        &["--key-pattern"],
        (),
        (
            "PATTERN",
            "Set:Get pattern (default: R:R). R uniform; S one after the other, each client through all; P the same, each \
             client in a part of its own; G Gaussian; Z zipf, the lowest key being the hottest",
        ),
        key_pattern,
    ),
    value(
        &["--key-stddev"],
        (),
        ("NUMBER", "The standard deviation of G (default: a sixth of the key range)"),
        |asked, text| {
            asked.key_stddev = Some(above_zero(text, "key-stddev")?);
            Ok(())
        },
    ),
    value(
        &["--key-median"],
        (),
        ("NUMBER", "The median point of G (default: the center of the key range)"),
        |asked, text| {
            asked.key_median = Some(above_zero(text, "key-median")?);
            Ok(())
        },
    ),
    value(
        &["--key-zipf-exp"],
        (),
        ("NUMBER", "The exponent of Z, between 0 and 5 (default: 1)"),
        |asked, text| match number(text).filter(|exponent| *exponent > 0.0 && *exponent < 5.0) {
            Some(exponent) => {
                asked.key_zipf_exp = Some(exponent);
                Ok(())
            }
            None => told("key-zipf-exp must be within interval (0, 5)."),
        },
    ),
    value(
        &["--wait-ratio"],
        (),
        ("RATIO", "Set:Wait ratio (default is no WAIT commands - 1:0): so many WAITs before so many SETs"),
        |asked, text| {
            asked.wait_ratio = Some(
                Ratio::read(text).map_or_else(|| told("wait-ratio must be expressed as [0-n]:[0-n]."), Ok)?,
            );
            Ok(())
        },
    ),
    value(
        &["--num-slaves"],
        (),
        ("RANGE", "WAIT for a random number of slaves in this range"),
        |asked, text| {
            asked.num_slaves = Some(
                Span::read(text).map_or_else(|| told("num-slaves must be expressed as [0-n]-[1-n]."), Ok)?,
            );
            Ok(())
        },
    ),
    value(
        &["--wait-timeout"],
        (),
        ("RANGE", "WAIT for a random number of milliseconds in this range, each as often as any other"),
        |asked, text| {
            asked.wait_timeout = Some(
                Span::read(text)
                    .map_or_else(|| told("wait-timeout must be expressed as [0-n]-[1-n]."), Ok)?,
            );
            Ok(())
        },
    ),
];

fn from_one(text: &str, what: &str) -> Result<u64, Refusal> {
    match number(text).filter(|number| *number > 0) {
        Some(number) => Ok(number),
        None => told(&format!("{what} must be greater than zero.")),
    }
}

fn above_zero(text: &str, what: &str) -> Result<f64, Refusal> {
    match number(text).filter(|number: &f64| *number > 0.0 && number.is_finite()) {
        Some(number) => Ok(number),
        None => told(&format!("{what} must be greater than zero.")),
    }
}

fn key_pattern(asked: &mut Asked, text: &str) -> Result<(), Refusal> {
    let read = text.split_once(':').and_then(|(set, get)| Some([Pattern::read(set)?, Pattern::read(get)?]));
    let Some(patterns) = read else {
        return told("key-pattern must be in the format of [S/R/G/P/Z]:[S/R/G/P/Z].");
    };
    if patterns.contains(&Pattern::Parallel) && patterns != [Pattern::Parallel; 2] {
        return told("parallel key-pattern must be configured for both SET and GET commands.");
    }
    asked.key_pattern = Some(patterns);
    Ok(())
}
