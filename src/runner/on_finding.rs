//! `--on-finding CMD`: runs a shell command for each finding, so that a session can run unattended.
//!
//! ```text
//! session ─► peer ─► thread "on-finding": findings ─► folded ─► queue ─► sh -c CMD, one at a time
//!                                                                          └─ the finding as JSON on its input
//! ```
//! A finding may contain text from the server. redyno therefore never puts a finding into the command line or the
//! environment.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::RecvTimeoutError,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use super::{BUS_PASSWORD_VARIABLE, BUS_VARIABLE, Failure};
use crate::{
    diagnose::{FindingsByNode, Severity},
    export::FindingRow,
    session::{Coalesce, Delivery, Record, WallClock, running::Peer},
    units,
};

/// The minimum time between two commands for the same rule (kind of finding), in seconds.
const FOLD_S: f64 = 60.0;
/// The timeout of a command. After this time, the command and all processes that it started are killed.
const LIMIT: Duration = Duration::from_secs(10);
/// The timeout of all waiting commands together, after the end of the session.
const LAST: Duration = Duration::from_secs(10);
/// The time between two checks of a running command.
const LOOK: Duration = Duration::from_millis(50);
/// The environment variables with passwords and tokens. The command does not need the passwords, so redyno removes
/// these variables.
const SECRETS: [&str; 4] =
    ["OTEL_EXPORTER_OTLP_HEADERS", "REDISCLI_AUTH", BUS_VARIABLE, BUS_PASSWORD_VARIABLE];

/// The input of the command: one line of JSON.
#[derive(Serialize)]
struct FindingMessage<'a> {
    kind: &'static str,
    target: &'a str,
    /// The address of the node that has the finding. In a session with one server, this is the target.
    node: &'a str,
    /// The start of the session as RFC 3339 in UTC. `since_s` is relative to this time.
    started: &'a str,
    t_s: f64,
    #[serde(flatten)]
    finding: FindingRow<'a>,
}

/// The time of a message. Also the start and the count (`times`) of the finding in the message.
type SentMessage = (f64, (f64, u32));

/// The findings of the session as messages, from records of whole seconds. For each rule (kind of finding) and node,
/// there is at most one message per minute.
#[derive(Default)]
struct FindingMessages {
    nodes: FindingsByNode,
    started: String,
    clock: Option<WallClock>,
    /// The last message of each node and rule.
    sent: BTreeMap<(usize, &'static str), SentMessage>,
}

impl FindingMessages {
    /// Adds a record, and returns the messages to send. Each message is a line of JSON.
    fn push(&mut self, record: &Record) -> Vec<String> {
        if let Record::Session(session) = record {
            self.started.clone_from(&session.started);
            self.clock = session.wall_clock();
        }
        self.nodes.push(record);
        let Some(t_s) = record.t_s() else { return Vec::new() };
        let mut due = Vec::new();
        let (target, started) = (self.nodes.first().address.as_str(), self.started.as_str());
        let nodes = self.nodes.nodes.iter().enumerate();
        for (number, node) in nodes.filter(|(number, _)| record.is_of(*number as u16)) {
            let episodes = &node.findings.episodes;
            let last: BTreeMap<_, _> = episodes.iter().map(|it| (it.finding.rule, it)).collect();
            for (rule, episode) in last {
                let begun = (episode.since_s, episode.times);
                let is_due = |(before_s, known): &SentMessage| *known != begun && t_s - before_s >= FOLD_S;
                let place = (number, rule);
                if episode.finding.severity >= Severity::Warning && self.sent.get(&place).is_none_or(is_due) {
                    self.sent.insert(place, (t_s, begun));
                    let finding = FindingRow::of(episode, self.clock);
                    let node = node.address.as_str();
                    let message = FindingMessage { kind: "finding", target, node, started, t_s, finding };
                    due.extend(serde_json::to_string(&message).ok().map(|line| line + "\n"));
                }
            }
        }
        due
    }
}

/// A running command.
struct RunningCommand {
    child: Child,
    until: Instant,
}

/// The command, the messages that wait for the command, and the failures of the command.
#[derive(Default)]
struct Hook {
    command: String,
    queue: VecDeque<String>,
    running: Option<RunningCommand>,
    runs: u64,
    failures: u64,
    last_failure: String,
}

impl Hook {
    /// Checks the running command. If no command is running, starts the command for the next message.
    fn advance(&mut self) {
        if let Some(mut running) = self.running.take() {
            match running.child.try_wait() {
                Ok(None) if Instant::now() < running.until => self.running = Some(running),
                Ok(None) => {
                    end(&mut running.child);
                    self.fail(format!("the command ran for {} s and was killed", LIMIT.as_secs()));
                }
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => self.fail(shown(status)),
                Err(error) => self.fail(error.to_string()),
            }
        }
        if self.running.is_none()
            && let Some(message) = self.queue.pop_front()
        {
            self.runs += 1;
            match start(&self.command, &message) {
                Ok(child) => self.running = Some(RunningCommand { child, until: Instant::now() + LIMIT }),
                Err(error) => self.fail(error.to_string()),
            }
        }
    }

    fn fail(&mut self, why: String) {
        self.failures += 1;
        self.last_failure = why;
    }

    /// Runs the command for all waiting messages, for a limited time. Returns a text about failures. Returns `None`
    /// without failures.
    fn finish(mut self) -> Option<String> {
        let until = Instant::now() + LAST;
        while (self.running.is_some() || !self.queue.is_empty()) && Instant::now() < until {
            self.advance();
            std::thread::sleep(LOOK);
        }
        if let Some(mut running) = self.running.take() {
            end(&mut running.child);
            self.fail("the command was killed, since the session was over".to_owned());
        }
        let skipped = self.queue.len() as u64;
        let failed = (self.failures > 0)
            .then(|| format!("{} of {} failed, the last: {}", self.failures, self.runs, self.last_failure));
        let skipped = (skipped > 0)
            .then(|| format!("{} not run: the session was over", units::count_with_noun(skipped, "command")));
        let all: Vec<_> = failed.into_iter().chain(skipped).collect();
        (!all.is_empty()).then(|| format!("--on-finding: {}", all.join("; ")))
    }
}

/// Returns the command in its own process group, without passwords.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    SECRETS.iter().for_each(|variable| {
        shell.env_remove(variable);
    });
    shell.process_group(0);
    shell
}

/// Starts the command with the message as its input.
fn start(command: &str, message: &str) -> io::Result<Child> {
    let mut child = shell(command).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A message is smaller than a pipe's buffer, so writing does not block. A command may ignore its input.
        let _ = input.write_all(message.as_bytes());
    }
    Ok(child)
}

/// Kills a command with all processes that it started.
fn end(child: &mut Child) {
    // The command may have already ended.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

fn shown(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

/// Runs `command` for findings in the records that `peer` receives, until the session is over. The thread waits for the
/// last command, and returns a report about failures.
///
/// # Errors
/// Fails if the system cannot start a thread.
pub(super) fn run_on_findings(command: String, peer: Peer) -> Result<JoinHandle<Option<String>>, Failure> {
    let watch = move || watch(command, &peer);
    let thread = std::thread::Builder::new().name("on-finding".to_owned()).spawn(watch);
    Ok(thread.context("cannot watch for findings")?)
}

fn watch(command: String, peer: &Peer) -> Option<String> {
    let mut folded = FindingMessages::default();
    let mut hook = Hook { command, ..Hook::default() };
    let mut seconds = Coalesce::default();
    loop {
        match peer.next_within(LOOK) {
            Ok(Delivery::Record(record)) => {
                hook.queue.extend(seconds.push(&record).iter().flat_map(|record| folded.push(record)));
            }
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return hook.finish(),
        }
        hook.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::{Ping, Wake},
        session::{Segment, ServerIdentity, SessionStart, Span},
        stats::{Latency, fixture::latency_of},
    };

    /// Returns the records of a second in which PING takes `ping_ms`, without load.
    fn second(t_s: f64, ping_ms: u64) -> [Record; 2] {
        let of = |ms: u64| -> Latency { latency_of([ms * 1_000_000]) };
        let ping = Ping { rtt: of(ping_ms), ..Ping::default() };
        let wake = Span::new(t_s, 1.0, Wake { late: of(1) });
        [Record::Ping(Box::new(Span::new(t_s, 1.0, ping))), Record::Wake(wake)]
    }

    #[test]
    fn a_rule_has_at_most_one_message_per_minute() {
        let mut folded = FindingMessages::default();
        let (started, utc_offset_s) = ("2026-01-01T13:00:00Z".to_owned(), Some(3600));
        let start = SessionStart { started, utc_offset_s, ..SessionStart::now(ServerIdentity::default()) };
        folded.push(&Record::Session(start));
        folded.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        let mut sent = Vec::new();
        for t in 1..=130_u32 {
            let slow = if t.is_multiple_of(10) { 900 } else { 1 };
            let messages =
                second(f64::from(t), slow).iter().flat_map(|it| folded.push(it)).collect::<Vec<_>>();
            sent.extend(messages.iter().map(|line| {
                let json: serde_json::Value = serde_json::from_str(line).unwrap();
                assert!(line.ends_with("}\n") && json["severity"].is_string(), "{line}");
                let since_s = json["since_s"].as_f64().unwrap() as u64;
                let since = format!("2026-01-01T14:{:02}:{:02}+01:00", since_s / 60, since_s % 60);
                assert_eq!(json["since"], since);
                (
                    json["rule"].as_str().unwrap().to_owned(),
                    json["t_s"].as_f64().unwrap(),
                    json["times"].as_u64(),
                )
            }));
        }
        let slow: Vec<_> = sent.iter().filter(|(rule, ..)| rule == "slow server").collect();
        assert_eq!(
            slow.iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(),
            [(10.0, Some(1)), (70.0, Some(6)), (130.0, Some(12))]
        );
    }

    #[test]
    fn the_command_gets_no_password() {
        let command = shell("true");
        let removed: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_str().unwrap(), value)).collect();
        let secrets = ["OTEL_EXPORTER_OTLP_HEADERS", "REDISCLI_AUTH", "REDYNO_BUS", "REDYNO_BUS_AUTH"];
        assert_eq!(removed, secrets.map(|name| (name, None)));
    }

    #[test]
    fn commands_that_fail_or_cannot_read_are_counted() {
        let hook = |command: &str, messages: usize| Hook {
            command: command.to_owned(),
            queue: std::iter::repeat_n("{}\n".to_owned(), messages).collect(),
            ..Hook::default()
        };
        assert_eq!(hook("cat > /dev/null", 2).finish(), None);
        let failed = "--on-finding: 2 of 2 failed, the last: exit code 7";
        assert_eq!(hook("exit 7", 2).finish().as_deref(), Some(failed));
    }
}
