//! What values are like.

use super::{Row, positive, told};
use crate::compat::{
    flag,
    memtier::numbers::{Span, weights},
    value,
};

pub(super) const OPTIONS: &[Row] = &[
    value(&["-d", "--data-size"], (), ("SIZE", "Object data size in bytes (default: 32)"), |asked, text| {
        asked.data_size = Some(positive(text, "data-size")?);
        Ok(())
    }),
    flag(
        &["-R", "--random-data"],
        (),
        "Bytes by chance, of another place of a pool each time, and not the letter x",
        |asked| {
            asked.is_data_random = true;
            Ok(())
        },
    ),
    value(&["--data-size-range"], (), ("RANGE", "Sizes by chance in this range (min-max)"), |asked, text| {
        let range = Span::read(text).filter(|range| range.min > 0);
        asked.data_size_range =
            Some(range.map_or_else(|| told("data-size-range must be expressed as [1-n]-[1-n]."), Ok)?);
        Ok(())
    }),
    value(
        &["--data-size-list"],
        (),
        ("LIST", "Sizes by their weights (size1:weight1,..sizeN:weightN), by chance and not in turn"),
        |asked, text| {
            let line = "data-size-list must be expressed as [size1:weight1],...[sizeN:weightN].";
            asked.data_size_list = Some(weights(text).map_or_else(|| told(line), Ok)?);
            Ok(())
        },
    ),
    value(
        &["--data-size-pattern"],
        (),
        ("R", "With --data-size-range, by chance (default). S, by the key, is not there"),
        |_, text| match text {
            "R" => Ok(()),
            "S" => {
                told("--data-size-pattern S is not there in redyno memtier: sizes are drawn by chance (R).")
            }
            _ => told("data-size-pattern must be either R or S."),
        },
    ),
    value(
        &["--expiry-range"],
        (),
        ("RANGE", "Use random expiry values from this range, in seconds, from 1 on; SET becomes SETEX"),
        |asked, text| {
            asked.expiry_range = Some(
                Span::read(text)
                    .map_or_else(|| told("expiry-range must be expressed as [0-n]-[1-n]."), Ok)?,
            );
            Ok(())
        },
    ),
];
