//! What is told, and where to.

use super::{Row, told};
use crate::compat::{
    flag,
    memtier::{asked::Breakdown, numbers::percentiles},
    value,
};

pub(super) const OPTIONS: &[Row] = &[
    value(&["-o", "--out-file"], (), ("FILE", "Name of output file (default: stdout)"), |asked, text| {
        asked.out_file = Some(text.into());
        Ok(())
    }),
    value(
        &["--json-out-file", "--memtier-json"],
        (),
        ("FILE", "Name of the JSON file, in memtier's own schema (format version 2)"),
        |asked, text| {
            asked.json_out_file = Some(text.into());
            Ok(())
        },
    ),
    flag(&["--hide-histogram"], (), "Don't print the detailed latency distribution", |asked| {
        asked.hides_histogram = true;
        Ok(())
    }),
    value(
        &["--print-percentiles"],
        (),
        ("LIST", "Which percentiles the table has (default: 50,99,99.9)"),
        |asked, text| {
            match percentiles(text) {
                Some(list) => asked.percentiles = list,
                None => return told("quantiles must be expressed as [0.0-100.0],[0.0-100.0](,...)"),
            }
            Ok(())
        },
    ),
    flag(&["--print-all-runs"], (), "With -x, print the results of each run", |asked| {
        asked.prints_all_runs = true;
        Ok(())
    }),
    value(
        &["--command-stats-breakdown"],
        (),
        ("command|line", "A row for all that begin with the same word (default), or one for each --command"),
        |asked, text| {
            asked.breakdown = match text {
                "command" => Breakdown::Command,
                "line" => Breakdown::Line,
                _ => return told("command-stats-breakdown must be 'command' or 'line'."),
            };
            Ok(())
        },
    ),
];
