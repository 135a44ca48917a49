//! Parses a command line of memtier_benchmark. The result is the values of the options, or a text to print (such as the
//! help).

#[cfg(test)]
pub(super) mod tests;

use std::ffi::OsString;

use clap::{ArgMatches, Command, error::ErrorKind, parser::ValueSource};

use super::{
    option_values::{Breakdown, KeyOrder, MemtierProtocol, UserCommand},
    options::{ABSENT, KEY_MAXIMUM, KEY_PREFIX, MemtierOptions, parser},
};
use crate::{
    compat::{
        options::{NO_NAMES, line_of, option_of, read, reason},
        run::PrintedText,
    },
    endpoint::ReadFrom,
    protocol::Dialect,
};

/// The exit code of a refused command line, the same as memtier_benchmark's.
const REFUSED: u8 = 2;

/// Reads the arguments after the name of `program`.
///
/// # Errors
/// Fails if the arguments are invalid or request no run. The error is the text to print.
pub(super) fn parse(program: &'static str, words: &[OsString]) -> Result<MemtierOptions, PrintedText> {
    let mut line = parser(program);
    let (mut options, given) = match read::<MemtierOptions>(&mut line, words) {
        Ok(read) => read,
        Err(error) if !error.use_stderr() => return Err(PrintedText::of(error.to_string())),
        Err(error) => return Err(PrintedText::refusal(&complaint(&line, &error), REFUSED)),
    };
    if let Some((name, hint)) = ABSENT.iter().find(|(name, _)| given.contains_id(name)) {
        let hint = if hint.is_empty() { String::new() } else { format!(": {hint}") };
        let line = format!("error: {name} is not supported by redyno memtier{hint}.");
        return Err(PrintedText::refusal(&line, REFUSED));
    }
    let settled = options.settle(&given).and_then(|()| check(&options));
    settled.map_err(|line| PrintedText::refusal(&format!("error: {line}"), REFUSED))?;
    Ok(options)
}

/// Returns the line about a word that clap refuses, in the form of getopt and of memtier_benchmark. For an option that
/// needs a value, the line has the long name, even if the user gave the short name.
fn complaint(line: &Command, error: &clap::Error) -> String {
    let option = option_of(error);
    let name = option.trim_start_matches('-');
    let wrong = match (error.kind(), reason(error)) {
        (_, Some(reason)) if reason.starts_with("must ") => return format!("error: {name} {reason}"),
        (_, Some(reason)) => return format!("error: {reason}"),
        (ErrorKind::UnknownArgument, _) if option.starts_with("--") => match begun_with(name, line) {
            begun if begun.is_empty() => format!("unrecognized option '{option}'"),
            begun => format!("option '{option}' is ambiguous; possibilities:{begun}"),
        },
        (ErrorKind::UnknownArgument, _) if option.starts_with('@') => format!("{option}{NO_NAMES}"),
        (ErrorKind::UnknownArgument, _) if option == name => format!("'{option}' is no option"),
        (ErrorKind::UnknownArgument, _) => format!("invalid option -- '{name}'"),
        (ErrorKind::TooManyValues, _) => format!("option '{option}' doesn't allow an argument"),
        (ErrorKind::InvalidValue, _) => format!("option '{option}' requires an argument"),
        _ => line_of(error),
    };
    format!("{}: {wrong}", line.get_name())
}

/// Returns the options whose names begin with `name`, each after a space and in quotes.
fn begun_with(name: &str, line: &Command) -> String {
    let names = line.get_arguments().filter_map(|option| option.get_long());
    names.filter(|long| long.starts_with(name)).map(|long| format!(" '--{long}'")).collect()
}

impl MemtierOptions {
    /// Applies the options that depend on other options. `--command-ratio` applies to its `--command`. `-a` and then
    /// `--uri` apply to the server.
    ///
    /// # Errors
    /// Fails if a URI is invalid, if a command is missing, or if a number must be above its default of 0.
    fn settle(&mut self, given: &ArgMatches) -> Result<(), String> {
        let is_given = |id| given.value_source(id) == Some(ValueSource::CommandLine);
        first_of(&[
            (is_given("key_minimum") && self.key_minimum == 0, "key-minimum must be greater than zero."),
            (
                is_given("multi_key_get") && self.multi_key_get == 0,
                "multi-key-get must be greater than zero.",
            ),
        ])?;
        self.settle_commands(given)?;
        self.most_attempts = self.most_attempts.filter(|most| *most > 0);
        self.most_scans = self.most_scans.filter(|most| *most > 0);
        self.import.is_verified |= self.import.is_only_verified;
        let server = &mut self.server;
        (server.host, server.port, server.socket) = (self.host.clone(), self.port, self.socket.clone());
        server.is_ipv6 = (self.is_ipv4 || self.is_ipv6).then_some(self.is_ipv6);
        server.db = self.select_db.into();
        server.settle_tls(self.tls_skip_verify, None);
        if let Some([_, is_13]) = self.tls_protocols.filter(|versions| *versions != [true; 2]) {
            server.tls.ciphers.speak_only(is_13);
        }
        if let Some(credentials) = &self.authenticate {
            let (user, password) = match credentials.split_once(':') {
                Some((user, password)) => (Some(user.to_owned()), password),
                None => (None, credentials.as_str()),
            };
            (server.user, server.password) = (user, Some(password.to_owned()));
        }
        server.key = server.key.take().or_else(|| server.certificate.clone());
        self.settle_uris()
    }

    /// Applies each `--command-ratio` and `--command-key-pattern` to the `--command` before it.
    fn settle_commands(&mut self, given: &ArgMatches) -> Result<(), String> {
        let places = |id| given.indices_of(id).into_iter().flatten();
        let begins: Vec<_> = places("commands").collect();
        let number =
            |place| begins.iter().rposition(|begin| *begin < place).ok_or("no arbitrary command found.");
        for (place, ratio) in places("ratios").zip(&self.ratios) {
            self.commands[number(place)?].ratio = *ratio;
        }
        for (place, pattern) in places("patterns").zip(&self.patterns) {
            self.commands[number(place)?].pattern = *pattern;
        }
        Ok(())
    }

    fn settle_uris(&mut self) -> Result<(), String> {
        let unread = if self.server.is_ring() { 0 } else { self.uris.len().saturating_sub(1) };
        for uri in &self.uris[unread..] {
            match self.server.take_uri(uri) {
                Ok(Dialect::Memcached) => self.protocol = MemtierProtocol::MemcacheText,
                Ok(dialect) if !dialect.has_keys() => {
                    return Err("uri: memtier has no HTTP; write `redyno URI -- GET /path`".to_owned());
                }
                Ok(_) => {}
                Err(line) => return Err(line),
            }
        }
        Ok(())
    }
}

/// Refuses options that contradict each other.
fn check(options: &MemtierOptions) -> Result<(), String> {
    let has_commands = !options.commands.is_empty();
    let is_parallel = |command: &&UserCommand| command.pattern == KeyOrder::Parallel;
    let parallel = options.commands.iter().filter(is_parallel).count();
    let has_place = options.server.host.is_some() || options.server.port.is_some();
    let has_bell = options.key_stddev.is_some() || options.key_median.is_some();
    let [size, list, range] =
        [options.data_size.is_some(), options.data_size_list.is_some(), options.data_size_range.is_some()];
    let contradictions = [
        (
            options.requests.is_some() && options.test_time_s.is_some(),
            "--test-time and --requests are mutually exclusive.",
        ),
        (
            has_commands && options.key_pattern.is_some(),
            "when using arbitrary command, key pattern is configured with --command-key-pattern option.",
        ),
        (
            has_commands && options.ratio.is_some(),
            "when using arbitrary command, ratio is configured with --command-ratio option.",
        ),
        (
            parallel > 0 && parallel < options.commands.len(),
            "parallel key-pattern must be configured to all commands.",
        ),
        (size && (list || range), "data-size cannot be used with data-size-list or data-size-range."),
        (
            has_bell && !options.all_patterns().any(|pattern| pattern == KeyOrder::Gaussian),
            "key-stddev and key-median are only allowed together with key-pattern set to G.",
        ),
        (options.key_minimum > options.key_maximum, "key-minimum must not be above key-maximum."),
        (options.server.socket.is_some() && has_place, "UNIX domain socket and TCP cannot be used together."),
        (
            options.server.is_of_other_family(),
            "--host is an IP address that -4 or -6 excludes; leave -4 or -6 out.",
        ),
        (options.is_transaction && !has_commands, "--transaction requires at least one --command."),
        (
            options.data_offset > 0
                && (options.expiry_range.is_some() || options.protocol == MemtierProtocol::MemcacheText),
            "data-offset can only be used with redis protocol, and cannot be used with expiry.",
        ),
        (
            options.protocol == MemtierProtocol::MemcacheText && options.server.db > 0,
            "select-db can only be used with redis protocol.",
        ),
    ];
    first_of(&contradictions)?;
    options.prometheus.check()?;
    options.retries.check(options)?;
    [check_staircase, check_scan, check_import, check_cluster].iter().try_for_each(|check| check(options))
}

/// Refuses the command line if a contradiction is present. The error is the text of the first contradiction.
pub(super) fn first_of(contradictions: &[(bool, &str)]) -> Result<(), String> {
    contradictions.iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, line)| Err((*line).to_owned()))
}

/// Checks the options of a staircase. In a staircase, clients are added in steps during the run.
fn check_staircase(options: &MemtierOptions) -> Result<(), String> {
    let staircase =
        [options.clients_start, options.clients_step, options.step_duration_s].map(|value| value.is_some());
    first_of(&[
        (
            staircase.contains(&true) && staircase.contains(&false),
            "--clients-start, --clients-step, and --step-duration must all be specified together.",
        ),
        (
            staircase[0] && options.requests.is_some(),
            "--requests cannot be used with client staircase mode. Use --test-time instead.",
        ),
        (
            options.clients_start.is_some_and(|start| start >= options.clients),
            "--clients-start must be less than --clients.",
        ),
        (
            staircase[0] && options.test_time_s.is_none(),
            "--test-time is required when using client staircase mode.",
        ),
    ])
}

/// Checks the options that are used with `--scan-incremental-iteration`.
fn check_scan(options: &MemtierOptions) -> Result<(), String> {
    if !options.follows_cursors {
        return Ok(());
    }
    let scan = options.commands.first();
    first_of(&[
        (options.pipeline > 1, "--scan-incremental-iteration requires --pipeline 1."),
        (scan.is_none(), "--scan-incremental-iteration requires --command with a SCAN command."),
        (
            options.commands.len() > 1,
            "--scan-incremental-iteration requires exactly one --command (a SCAN command).",
        ),
        (
            scan.is_some_and(|scan| scan.name() != "SCAN"),
            "--scan-incremental-iteration requires the command to be a SCAN command.",
        ),
        (
            scan.is_some_and(|scan| scan.words.len() < 2),
            "SCAN command must have at least a cursor argument (e.g., 'SCAN 0').",
        ),
    ])
}

/// Checks the options that are used with `--data-import`.
fn check_import(options: &MemtierOptions) -> Result<(), String> {
    let import = &options.import;
    if import.file.is_none() {
        return first_of(&[
            (import.is_verified, "use data-verify only with data-import."),
            (import.has_no_expiry, "use no-expiry only with data-import."),
        ]);
    }
    let has_keys =
        options.key_prefix != KEY_PREFIX || (options.key_minimum, options.key_maximum) != (0, KEY_MAXIMUM);
    first_of(&[
        (
            options.data_size.or(options.data_size_range.map(|range| range.max)).is_some()
                || options.data_size_list.is_some(),
            "data size cannot be specified when importing.",
        ),
        (options.data_offset > 0, "data-offset cannot be used with data-import."),
        (has_keys, "key-minimum, key-maximum and key-prefix cannot be used with data-import."),
        (!options.commands.is_empty(), "command cannot be used with data-import: SETs and GETs are sent."),
        (options.multi_key_get > 0, "multi-key-get cannot be used with data-import."),
    ])
}

/// Checks the options that are used with `--cluster-mode`.
fn check_cluster(options: &MemtierOptions) -> Result<(), String> {
    first_of(&[
        (
            options.is_cluster && options.server.db > 0,
            "database selection is not supported in cluster mode: a cluster has only database 0.",
        ),
        (
            options.is_cluster
                && options.is_transaction
                && options.monitor.file.is_some()
                && options.monitor.order == KeyOrder::Sequential,
            "cluster mode supports transaction and monitor-input together only with monitor-pattern R.",
        ),
        (options.is_cluster && options.multi_key_get > 0, "cluster mode does not support multi-key-get."),
        (
            options.is_cluster && options.protocol == MemtierProtocol::MemcacheText,
            "cluster mode is only supported in the redis protocols.",
        ),
        (
            options.is_cluster && options.server.socket.is_some(),
            "cluster mode does not support unix-socket: give the host and port of a node.",
        ),
        (
            options.is_cluster && options.commands.iter().any(|command| command.keys() > 1),
            "cluster mode supports only commands with a single __key__.",
        ),
        (
            !options.is_cluster && options.read_from != ReadFrom::Primary,
            "read-preference needs cluster-mode: one server has no replicas that are read.",
        ),
    ])
}

/// Returns a warning for each option without effect, as memtier_benchmark does. The other options decide whether an
/// option has an effect.
pub(super) fn without_effect(options: &MemtierOptions) -> Vec<String> {
    let has_commands = !options.commands.is_empty();
    let patterns: Vec<_> = options.commands.iter().map(|command| command.pattern).collect();
    let patterns = if has_commands { patterns } else { options.patterns().into() };
    let waits = options.wait_ratio.is_some_and(|wait| wait.b > 0) && !has_commands;
    let idle = [
        ("--multi-key-get", options.multi_key_get > 0 && has_commands, "with --command"),
        ("--data-offset", options.data_offset > 0 && has_commands, "with --command"),
        (
            "--statsd-port, --statsd-prefix, --statsd-run-label or --graphite-port",
            options.statsd.host.is_none() && options.statsd.has_more(),
            "without --statsd-host",
        ),
        ("--expiry-range", options.expiry_range.is_some() && has_commands, "with --command"),
        ("--wait-ratio", options.wait_ratio.is_some() && has_commands, "with --command"),
        ("--num-slaves", options.num_slaves.is_some() && !waits, "without WAITs"),
        ("--wait-timeout", options.wait_timeout.is_some() && !waits, "without WAITs"),
        (
            "--key-zipf-exp",
            options.key_zipf_exp.is_some() && !patterns.contains(&KeyOrder::Zipf),
            "without the pattern Z",
        ),
        (
            "--scan-incremental-max-iterations",
            options.most_scans.is_some() && !options.follows_cursors,
            "without --scan-incremental-iteration",
        ),
        (
            "--reconnect-backoff-factor",
            options.reconnect_factor.is_some(),
            "in redyno: the pauses between attempts double from 10 ms to 1 s",
        ),
        (
            "--max-retries, --retry-backoff-ms, --retry-on, --max-retry-queue or --failed-keys-file",
            options.retries.is_idle(),
            "without --retry-on-error",
        ),
        (
            "--max-reconnect-attempts",
            options.most_attempts.is_some() && !options.reconnects_on_error,
            "without --reconnect-on-error",
        ),
        ("--print-all-runs", options.prints_all_runs && options.run_count == 1, "without --run-count"),
        (
            "--command-stats-breakdown",
            options.breakdown == Breakdown::Line && !has_commands,
            "without --command",
        ),
    ];
    let warning = |(name, _, why): &(&str, bool, &str)| format!("warning: {name} has no effect {why}.");
    idle.iter().filter(|(_, is_idle, _)| *is_idle).map(warning).chain(options.prometheus.warnings()).collect()
}
