//! `redyno doctor` watches a server without load, and prints one page for a ticket.

use std::time::Duration;

use clap::{Args, builder::NonEmptyStringValueParser};

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    load_args::LoadArgs,
    nodes_args::OneNodeArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    values::seconds,
};
use crate::{
    compare::Condition,
    endpoint::Password,
    report::ReportForm,
    runner::{Abort, Gate, OtherServers, SessionRun},
};

const AFTER: &str = "\
The doctor generates no load and writes nothing to the server. The doctor sends PING 100 times a second, and reads \
INFO, SLOWLOG, LATENCY, CLIENT LIST, CONFIG GET and the figures of this machine. To also examine the server's \
process, run the doctor on the server's machine. The page has a section for each node of a cluster, or for a primary \
and each of its replicas. If this machine has two or more cores, redyno also runs a busy loop, and measures how long \
the machine interrupts the loop. The busy loop uses a tenth of a core. Ctrl-C ends the examination early, and redyno \
prints the page.

Examples:
  redyno doctor
  redyno doctor -h 10.0.0.5 -p 6379 --markdown > ticket.md
  redyno doctor @prod --duration 120 --html > doctor.html
  redyno doctor redis://10.0.0.5 --json | jq .findings
  redyno doctor -p 6379 --fail-if 'ping_p99 > 5ms'

Exit codes: 0 no warning; 3 redyno found a warning or a problem, or a condition is true; 4 redyno cannot decide \
whether a condition is true; 1 failed; 2 bad usage; 130 interrupted.";

/// The default length of the examination. The length is enough for baselines and for each kind of poll, and short
/// enough for a person to wait.
const USUAL: Duration = Duration::from_secs(30);

/// Reads a condition on PING.
fn condition_on_ping(text: &str) -> Result<Condition, String> {
    let condition: Condition = text.parse()?;
    if condition.is_of_pings() && !condition.is_relative() {
        return Ok(condition);
    }
    let text = "the doctor has no load, and no recording to compare with; give a limit of PING, such as 'ping_p99 > 5ms'";
    Err(text.to_owned())
}

/// The arguments of `redyno doctor`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct DoctorArgs {
    /// The server: a URI, or @NAME of the config file; -h and -p can be used instead [default: 127.0.0.1:6379]
    // This is the first field, because the target's heading applies to all fields after it.
    #[arg(value_name = "TARGET", conflicts_with_all = ["uri", "host", "port", "socket", "named", "db"])]
    pub at: Option<Password>,
    /// The length of the examination in seconds [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Print one JSON object, as 'redyno export --format json' does
    #[arg(long, conflicts_with_all = ["markdown", "html"])]
    pub json: bool,
    /// Print Markdown, for a ticket
    #[arg(long, conflicts_with = "html")]
    pub markdown: bool,
    /// Print one HTML page with charts
    #[arg(long)]
    pub html: bool,
    /// Run this shell command when redyno finds a problem that is at least a warning. The command reads the finding as
    /// JSON from stdin
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub on_finding: Option<String>,
    /// Exit with code 3 if this condition is true at the end, such as 'ping_p99 > 5ms'; can be given several times
    #[arg(long, value_name = "CONDITION", value_parser = condition_on_ping)]
    pub fail_if: Vec<Condition>,
    /// End with exit code 3 when this condition has been true for 5 seconds in a row, such as 'ping_p99 > 5ms'; can be
    /// given several times
    #[arg(long, value_name = "CONDITION", value_parser = condition_on_ping)]
    pub abort_if: Vec<Condition>,
    /// Remove the server's own texts from the output: error messages, addresses, and the arguments and clients in the
    /// slow log
    #[arg(long)]
    pub redact: bool,
    /// Also print all arguments of the commands in the server's slow log
    #[arg(long, conflicts_with_all = ["redact", "json"])]
    pub with_arguments: bool,
    /// Use ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The option `--one-node`.
    #[command(flatten)]
    pub one_node: OneNodeArgs,
}

impl Arguments for DoctorArgs {
    fn is_ascii(&self) -> bool {
        self.ascii
    }

    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        self.target.uri = self.at.take().or(self.target.uri);
        config::resolve(&mut self.target, given, true)?;
        let duration = Some(self.duration.unwrap_or(USUAL));
        let session = SessionArgs {
            duration,
            redact: self.redact,
            with_arguments: self.with_arguments,
            on_finding: self.on_finding,
            ..SessionArgs::default()
        };
        let load = LoadArgs { no_load: true, ..LoadArgs::default() };
        let mut plan = session_plan(&self.target, &load, &session)?;
        // The doctor never starts the built-in server.
        plan.is_named = true;
        self.one_node.settle(OtherServers::WithReplicas, &mut plan)?;
        let form = match (self.json, self.markdown, self.html) {
            (true, ..) => None,
            (_, true, _) => Some(ReportForm::Markdown),
            (.., true) => Some(ReportForm::Html),
            _ => Some(ReportForm::Text),
        };
        let (gate, abort) = (Gate::of(&self.fail_if, None)?, Abort::of(&self.abort_if)?);
        Ok(Box::new(SessionRun { gate, abort, ..SessionRun::of_doctor(plan, form) }))
    }
}
