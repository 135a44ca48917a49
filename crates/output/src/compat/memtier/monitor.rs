//! Reads the commands of `--monitor-input`, a file with the output of MONITOR. Placeholders in `--command`
//! name lines of the file.
//!
//! ```text
//! __monitor_line3__ the third command of the file __monitor_line@__ the next command at each request, or a random
//! command (--monitor-pattern R)
//! ```

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;

use super::{
    option_values::{KeyOrder, MemtierProtocol, UserCommand, monitor_pattern},
    options::MemtierOptions,
    requests::RunRequests,
};
use crate::{
    compat::numbers::checked,
    untrusted,
    workload::{MonitorCommands, Operation, Trace, TraceOrder, command_of, moved_keys, not_sent},
};

const PLACEHOLDER: &[u8] = b"__monitor_line";
const ANY: &[u8] = b"__monitor_line@__";
/// The largest number of malformed lines that are named.
const MOST_NAMED: usize = 5;
const ORDERS: &str = "must be 'S' (sequential) or 'R' (random).";

/// The options for a file with the output of MONITOR.
#[derive(Args, Debug, Clone)]
pub(super) struct MonitorOptions {
    /// Read commands from this file with the output of MONITOR. --command __monitor_line1__ sends the first command,
    /// and __monitor_line@__ sends all commands in turn. redyno skips and counts commands that could harm the server,
    /// that block, or whose keys are unknown
    #[arg(id = "monitor_input", long = "monitor-input", value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Order in which __monitor_line@__ sends the commands: as in the file (S), or random (R)
    #[arg(long = "monitor-pattern", default_value = "S", value_parser = checked(monitor_pattern, ORDERS))]
    pub(super) order: KeyOrder,
    /// The commands of the file that redyno sends. Empty until the file is read.
    #[arg(skip)]
    pub(super) commands: Vec<Vec<Vec<u8>>>,
}

impl MemtierOptions {
    /// Reads the file of `--monitor-input`, and replaces placeholders by commands of the file. Returns lines about the
    /// file.
    ///
    /// # Errors
    /// Fails if the file or a placeholder has an error. The message is a line about the first error.
    pub(super) fn read_monitor(&mut self) -> Result<Vec<String>, String> {
        let Some(path) = self.monitor.file.as_deref() else { return Ok(Vec::new()) };
        if self.protocol == MemtierProtocol::MemcacheText {
            return Err(
                "--monitor-input is only supported with Redis protocols (redis, resp2, resp3).".to_owned()
            );
        }
        if self.is_cluster {
            return Err("--monitor-input is not supported in cluster mode.".to_owned());
        }
        let shown = untrusted::path(path);
        let failed = |error| format!("failed to read monitor input file: {error}");
        let MonitorCommands { commands, lines } = MonitorCommands::read(path).map_err(failed)?;
        if commands.is_empty() {
            return Err(format!("no commands found in monitor input file: {shown}"));
        }
        let mut said = vec![format!("Loaded {} monitor commands from {lines} total lines", commands.len())];
        let mut others = BTreeMap::<String, u64>::new();
        for (place, command) in commands.iter().enumerate() {
            match command {
                Ok(words) if moved_keys(words).is_some() => self.monitor.commands.push(words.clone()),
                Ok(words) => *others.entry(command_of(words)).or_default() += 1,
                Err(why) => {
                    said.push(format!("warning: skipping malformed monitor command {}: {why}", place + 1));
                }
            }
        }
        let malformed = said.len() - 1;
        if malformed > MOST_NAMED {
            said.truncate(1 + MOST_NAMED);
            said.push(format!(
                "warning: skipping {} further malformed monitor commands",
                malformed - MOST_NAMED
            ));
        }
        let others = not_sent(&others.into_iter().collect::<Vec<_>>(), "sent");
        said.extend(others.strip_prefix("; ").map(|others| format!("warning: {others}")));
        for command in self.commands.iter_mut().filter(|command| command.words[0].starts_with(PLACEHOLDER)) {
            if command.words != [ANY] {
                command.words = line_of(&command.words, &commands)?;
            } else if self.monitor.commands.is_empty() {
                return Err("no valid commands found in monitor input file".to_owned());
            }
        }
        Ok(said)
    }

    /// Returns whether a command stands for all commands of the file.
    pub(super) fn is_monitored(&self, command: &UserCommand) -> bool {
        self.monitor.file.is_some() && command.words == [ANY]
    }
}

impl RunRequests {
    /// Adds an operation that sends `times` commands of the file, one after the other. Returns the index of this
    /// operation. Its requests are counted in the operations that [`add_monitored`](Self::add_monitored) adds.
    pub(super) fn add_sender(&mut self, times: u32) -> u16 {
        let operations = &mut self.workload.operations;
        let (name, steps) = (format!("MONITOR {}", operations.len() + 1), vec!["PING".to_owned()]);
        operations.push(Operation { name, weight: times, steps, ..Operation::default() });
        operations.len() as u16 - 1
    }

    /// Adds an operation for each command name in the file. The operations `senders` send the commands of the file.
    pub(super) fn add_monitored(&mut self, senders: Vec<u16>, options: &MemtierOptions) {
        let mut known: Vec<(String, u16)> = Vec::new();
        let mut commands = Vec::new();
        for words in &options.monitor.commands {
            let named = UserCommand { words: vec![words[0].clone()], ratio: 0, pattern: KeyOrder::Random };
            let name = named.name();
            let operation = known.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation);
            let operation = operation.unwrap_or_else(|| {
                let (row, operation) = (self.row_for(&named, options), self.workload.operations.len() as u16);
                self.add(row, name.clone(), 0);
                known.push((name, operation));
                operation
            });
            commands.push((operation, words.as_slice()));
        }
        let row = known
            .first()
            .map_or(0, |(_, operation)| self.row_of[&self.workload.operations[usize::from(*operation)].name]);
        for sender in &senders {
            self.row_of.insert(self.workload.operations[usize::from(*sender)].name.clone(), row);
        }
        let order =
            if options.monitor.order == KeyOrder::Random { TraceOrder::Random } else { TraceOrder::OfFile };
        self.workload.trace = Some(Trace::of_commands(senders, commands.into_iter(), order));
    }
}

/// Returns the words of the command that a placeholder names.
fn line_of(placeholder: &[Vec<u8>], commands: &[Result<Vec<Vec<u8>>, &str>]) -> Result<Vec<Vec<u8>>, String> {
    let shown = untrusted::at_most(&placeholder.join(&b' '), 80);
    let invalid = || {
        format!(
            "invalid monitor placeholder '{shown}' (valid range: __monitor_line1__ to __monitor_line{}__ or \
             __monitor_line@__)",
            commands.len()
        )
    };
    let number = |word: &[u8]| {
        let digits = word.strip_prefix(PLACEHOLDER)?.strip_suffix(b"__")?;
        untrusted::bytes(digits).parse::<usize>().ok()
    };
    let number = placeholder.first().filter(|_| placeholder.len() == 1).and_then(|word| number(word));
    let command = number.and_then(|number| commands.get(number.checked_sub(1)?)).ok_or_else(invalid)?;
    let words =
        command.as_ref().map_err(|why| format!("failed to parse monitor command of {shown}: {why}"))?;
    if moved_keys(words).is_none() {
        let name = untrusted::at_most(command_of(words).replace('|', " ").as_bytes(), 40);
        return Err(format!("{shown} is {name}, which redyno does not send; give another line"));
    }
    Ok(words.clone())
}
