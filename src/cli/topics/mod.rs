//! `redyno help TOPIC`: describes the fields of redyno's files. redyno generates the text from the tables
//! that define the fields.

use clap::Args;

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    export::Format,
    gauge::{GAUGES, GaugeSource},
    runner::text_plan,
    session::figures::{FIGURES, Figure, FigureUnit},
    units,
};

const AFTER: &str = "\
Examples:
  redyno help formats
  redyno help records";

/// The arguments of `redyno help`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct HelpArgs {
    /// The topic: formats (the output of 'redyno export') or records (the lines of a recording) [default: help about
    /// the options]
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

/// The fields of the object of the format json.
const JSON_FIELDS: &str = "\
The object of json has these fields:
  session           the first record of the session, as in `redyno help records`
  summary           the sums of the load, as a row
  errors            the number of failed requests, by kind
  first_errors      the first message of each kind of error
  operations        a row for each operation
  nodes             a row for each node of a cluster under load; absent without a cluster
  agents            a row for each agent of a fleet; absent without a fleet
  segments          a row for each segment
  probes            a row for each probe
  failovers         the events about failovers, of all nodes; absent without failovers
  findings          rule, severity and cause of each finding; ours (whether redyno or its machine is the cause),
                    since_s and until_s (in seconds of the session; until_s is null while the finding is present),
                    since (clock time), times (how often it began), evidence, next (what to do)
  commands          the commands of all clients: command, calls, calls_per_s, us (the server's time for all calls,
                    in µs), share (of the measured time, from 0 to 1: how long the server executed it)
  unread            the parts of the server's state that could not be read, each with the reason
  server            the last row of server
  by_node           node (its address), probes, findings and server of each node; absent for a single node
";

/// The fields with words of a row.
const WORDS: [(&str, &str); 5] = [
    ("kind", "interval, operation, node, agent, segment or summary"),
    ("phase", "load, idle, warm-up or prefill; empty in a summary"),
    ("workload", "the workload, while the load was on"),
    ("operation", "the operation's name; empty for all operations together"),
    ("node", "the node's address or the agent's name; empty for all together"),
];

fn formats() -> String {
    let figure = |figure: &Figure| {
        let unit = match figure.unit {
            FigureUnit::Latency => ", in µs",
            FigureUnit::Clock | FigureUnit::Length => ", in seconds",
            FigureUnit::Ratio => ", from 0 to 1",
            FigureUnit::Number
            | FigureUnit::Shape
            | FigureUnit::Setting
            | FigureUnit::Count
            | FigureUnit::Trouble
            | FigureUnit::Bytes => "",
        };
        let about = figure.about.trim().trim_end_matches('.');
        vec![format!("  {}", figure.name), format!("{about}{unit}")]
    };
    let word = |(name, about): (&str, &str)| vec![format!("  {name}"), about.to_owned()];
    let fields: Vec<_> = WORDS.map(word).into_iter().chain(FIGURES.iter().map(figure)).collect();
    let (rows, formats, fields) = (Format::with_rows(), Format::listed(), units::aligned(&fields, |_| false));
    format!(
        "redyno export FILE --format FORMAT, and --export FORMAT:FILE while a session runs:\n{formats}\n\
         Rows of {rows}, and the objects of json, have these fields. A field that has no value or too few samples is empty; \
         in JSON it is null.\n{fields}\n{JSON_FIELDS}\nRows of probes (in json for the whole session): kind \
         is ping, a part of ping (ping_send, ping_kernel, ping_pickup), wake or intrinsic; samples and lost are counts; \
         min_us, mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, p9999_us and max_us describe the measured \
         times.\nRows of server (in json the last row) contain each figure of the server, named as in `redyno help \
         records`.\n"
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
