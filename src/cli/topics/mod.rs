//! `redyno help TOPIC`: describes the fields of files, generated from the tables that define them.

use clap::Args;

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    export::Format,
    gauge::{GAUGES, GaugeSource},
    runner::text_plan,
    session::figures::{FIGURES, Figure, FigureUnit},
};

const AFTER: &str = "\
Examples:
  redyno help formats
  redyno help records";

/// The arguments of `redyno help`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct HelpArgs {
    /// The topic: formats (the output of 'redyno export') or records (the lines of a recording) [default: help
    /// on the options]
    #[arg(value_name = "TOPIC", value_parser = topic)]
    pub topic: Option<Topic>,
}

/// The topics of `redyno help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Exports.
    Formats,
    /// Recordings.
    Records,
}

/// The names of the topics.
pub(super) const TOPICS: [(&str, Topic); 2] = [("formats", Topic::Formats), ("records", Topic::Records)];

fn topic(name: &str) -> Result<Topic, &'static str> {
    let found = TOPICS.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
    let none = "the topics are formats and records; for a command, see `redyno COMMAND --help`";
    found.map(|(_, topic)| topic).ok_or(none)
}

impl Arguments for HelpArgs {
    fn plan(self: Box<Self>, given: Invocation) -> PlanResult {
        Ok(text_plan(match self.topic {
            None => (given.line)().render_long_help().to_string(),
            Some(Topic::Formats) => formats(),
            Some(Topic::Records) => records(),
        }))
    }
}

fn formats() -> String {
    let formats = Format::ALL.map(|format| format!("  {:17} {}\n", format.name, format.about)).concat();
    let figure = |figure: &Figure| {
        let unit = match figure.unit {
            FigureUnit::Latency => ", in µs",
            FigureUnit::Clock | FigureUnit::Length => ", in seconds",
            FigureUnit::Ratio => ", as a share of 1",
            FigureUnit::Number
            | FigureUnit::Shape
            | FigureUnit::Setting
            | FigureUnit::Count
            | FigureUnit::Trouble
            | FigureUnit::Bytes => "",
        };
        let about = figure.about.trim().trim_end_matches('.');
        format!("  {:17} {about}{unit}\n", figure.name)
    };
    let rows = Format::with_rows();
    let figures: String = FIGURES.iter().map(figure).collect();
    format!(
        "redyno export FILE --format FORMAT, and --export FORMAT:FILE while a session runs:\n{formats}\n\
         Rows of {rows}, and the objects of json, have these fields. A field that has no value or too few samples is empty; \
         in JSON it is null.\n  kind              interval, operation, segment or summary\n  phase             load, idle, \
         warm-up or prefill; empty in a summary\n  workload          the workload, while the load was on\n  operation         \
         its name; empty for all operations together\n{figures}\n\
         Rows of probes (in json for the whole session): kind is ping, a part of ping (ping_send, ping_kernel, ping_pickup), wake or \
         intrinsic; samples and lost are counts; min_us, mean_us, p50_us and so on describe the measured times.\n\
         Rows of server (in json the last row) contain each figure of the server, named as in `redyno help records`.\n"
    )
}

fn records() -> String {
    let gauge = |gauge: &crate::gauge::Gauge| {
        let about = gauge.about();
        format!("  {:24} {}\n", about.name, about.help.trim_end_matches('.'))
    };
    let of = |host: bool| {
        let gauges = GAUGES.iter().filter(|gauge| (gauge.about().source == GaugeSource::Host) == host);
        gauges.map(gauge).collect::<String>()
    };
    include_str!("records.txt").replace("{gauges}\n", &of(false)).replace("{host gauges}\n", &of(true))
}

#[cfg(test)]
mod tests;
