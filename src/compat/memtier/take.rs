//! Parses and stores the value of each option of `redyno memtier`.

use std::str::FromStr;

use super::option_values::{Breakdown, KeyOrder, MemtierOptions, MemtierProtocol, RequestCount, UserCommand};
use crate::{
    compat::{
        numbers::{NumberRange, Ratio, number, percentiles, weights},
        options::{GivenOption, OptionRefusal, ToolOption, invalid},
    },
    endpoint::ReadFrom,
    protocol::Dialect,
};

/// The form of a range from 0 or more, as error messages show it.
const SPAN: &str = "[0-n]-[1-n]";

impl MemtierOptions {
    /// Handles an option with its value.
    pub(super) fn take(&mut self, given: &GivenOption) -> Result<(), OptionRefusal> {
        let text = given.value.as_str();
        if !given.choice.is_supported() {
            return Err(OptionRefusal::Message(unsupported_option_message(&given.name, given.choice)));
        }
        match given.choice.name() {
            "--help" => return Err(OptionRefusal::Help),
            "-v" => return Err(OptionRefusal::Version),
            "-p" => {
                let port = number(text).filter(|port| *port > 0);
                self.server.port =
                    Some(value_or_refusal(port, "port must be a number in the range [1-65535].")?);
            }
            "--statsd-host" => self.statsd.host = Some(text.to_owned()),
            "--statsd-prefix" => self.statsd.prefix = Some(text.to_owned()),
            "--statsd-run-label" => self.statsd.run_label = Some(text.to_owned()),
            option @ ("--statsd-port" | "--graphite-port") => {
                let port = number(text).filter(|port| *port > 0);
                let port = value_or_refusal(port, &format!("{} must be a valid port number.", &option[2..]))?;
                match option {
                    "--statsd-port" => self.statsd.port = Some(port),
                    _ => self.statsd.graphite_port = Some(port),
                }
            }
            option if option.starts_with("--prometheus-") => {
                self.prometheus.take(option, text).or_else(|line| refused_with(&line))?;
            }
            option if self.retries.take(option, text)? => {}
            "-P" => self.protocol = protocol(text)?,
            "-a" => self.authenticate = Some(text.to_owned()),
            "-u" => self.uris.push(text.to_owned()),
            "--tls-protocols" => self.take_tls_protocols(text)?,
            "--cluster-mode" => self.is_cluster = true,
            "-x" => self.run_count = positive(text, "run count")?,
            "-o" => self.out_file = Some(text.into()),
            "--json-out-file" => self.json_out_file = Some(text.into()),
            "--show-config" => self.shows_config = true,
            "--client-stats" => self.client_stats = Some(text.to_owned()),
            "--hdr-file-prefix" => self.hdr_file_prefix = Some(text.to_owned()),
            "--hide-histogram" => self.hides_histogram = true,
            "--print-percentiles" => {
                let line = "quantiles must be expressed as [0.0-100.0],[0.0-100.0](,...)";
                self.percentiles = value_or_refusal(percentiles(text), line)?;
            }
            "--print-all-runs" => self.prints_all_runs = true,
            "--command-stats-breakdown" => {
                let breakdown =
                    Breakdown::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(text));
                self.breakdown =
                    value_or_refusal(breakdown, "command-stats-breakdown must be 'command' or 'line'.")?;
            }
            option => return self.take_load(option, text),
        }
        Ok(())
    }

    /// Handles an option about the requests: their commands, clients, rate and duration.
    fn take_load(&mut self, option: &str, text: &str) -> Result<(), OptionRefusal> {
        match option {
            "-n" | "--test-time" => {
                match option {
                    "-n" => self.requests = Some(requests(text)?),
                    _ => self.test_time_s = Some(positive::<u32>(text, "test time")?.into()),
                }
                if self.requests.is_some() && self.test_time_s.is_some() {
                    return refused_with("--test-time and --requests are mutually exclusive.");
                }
            }
            "--rate-limiting" => self.rate = Some(positive(text, "rate")?),
            "-c" => self.clients = positive(text, "clients")?,
            "--clients-start" => self.clients_start = Some(positive(text, "clients-start")?),
            "--clients-step" => self.clients_step = Some(positive(text, "clients-step")?),
            "--step-duration" => self.step_duration_s = Some(positive(text, "step-duration")?),
            "-t" => self.threads = positive(text, "threads")?,
            "--ratio" => self.ratio = value_in_format(Ratio::read(text), option, "[0-n]:[0-n]")?,
            "--pipeline" => self.pipeline = positive(text, "pipeline")?,
            "--reconnect-interval" => self.reconnect_interval = Some(positive(text, "reconnect-interval")?),
            "--reconnect-on-error" => self.reconnects_on_error = true,
            "--max-reconnect-attempts" => {
                self.most_attempts = Some(whole(text, "max-reconnect-attempts")?).filter(|most| *most > 0);
            }
            "--reconnect-backoff-factor" => {
                self.has_backoff_factor = finite(text, "reconnect-backoff-factor").map(|_| true)?;
            }
            "--read-preference" => self.read_from = read_preference(text)?,
            "--connection-timeout" => self.connection_timeout_s = whole(text, "connection-timeout")?,
            "--multi-key-get" => self.multi_key_get = positive(text, "multi-key-get")?,
            "--select-db" => {
                let db: u32 = value_or_refusal(number(text), "select-db must be greater or equal zero.")?;
                self.server.db = db.into();
            }
            "--distinct-client-seed" => self.has_seeds_by_run = true,
            "--randomize" => self.is_randomized = true,
            "--command" => {
                let command =
                    value_or_refusal(UserCommand::read(text), "failed to parse arbitrary command.")?;
                self.commands.push(command);
            }
            "--command-ratio" => {
                let command = self.last_command()?;
                command.ratio = positive(text, &format!("ratio for command {}", command.name()))?;
            }
            "--command-key-pattern" => {
                let command = self.last_command()?;
                let name = command.name();
                let line = format!("key-pattern for command {name} must be in the format of [S/R/Z/G/P].");
                command.pattern = value_or_refusal(KeyOrder::read(text), &line)?;
            }
            "--scan-incremental-iteration" => self.follows_cursors = true,
            "--scan-incremental-max-iterations" => {
                let most = number(text).map(|most| Some(most).filter(|most| *most > 0));
                self.most_scans =
                    value_or_refusal(most, "scan-incremental-max-iterations must be a number.")?;
            }
            option => return self.take_objects(option, text),
        }
        Ok(())
    }

    /// Handles an option about keys, values and WAIT.
    fn take_objects(&mut self, option: &str, text: &str) -> Result<(), OptionRefusal> {
        let name = option.trim_start_matches('-');
        match option {
            "-d" => self.data_size = Some(positive(text, "data-size")?),
            "-R" => self.is_data_random = true,
            "--data-offset" => {
                let offset = number(text).filter(|offset| *offset < 1 << 29);
                let line = "data-offset must be a number from 0 to 536870911.";
                self.data_offset = value_or_refusal(offset, line)?;
            }
            "--data-size-range" => {
                let range = NumberRange::read(text).filter(|range| range.min > 0);
                self.data_size_range = value_in_format(range, option, "[1-n]-[1-n]")?;
            }
            "--data-size-list" => {
                let form = "[size1:weight1],...[sizeN:weightN]";
                self.data_size_list = value_in_format(weights(text), option, form)?;
            }
            "--data-size-pattern" => match text {
                "R" => {}
                "S" => {
                    return refused_with(
                        "--data-size-pattern S is not supported by redyno memtier: sizes are drawn at random (R).",
                    );
                }
                _ => return refused_with("data-size-pattern must be either R or S."),
            },
            "--expiry-range" => self.expiry_range = value_in_format(NumberRange::read(text), option, SPAN)?,
            "--transaction" => self.is_transaction = true,
            "--monitor-input" => self.monitor.file = Some(text.into()),
            "--monitor-pattern" => {
                let is_known = ["R", "S"].contains(&text);
                self.monitor.is_random = value_or_refusal(
                    is_known.then_some(text == "R"),
                    "monitor-pattern must be 'S' (sequential) or 'R' (random).",
                )?;
            }
            "--data-import" => self.import.file = Some(text.into()),
            "--data-verify" => self.import.is_verified = true,
            "--verify-only" => (self.import.is_verified, self.import.is_only_verified) = (true, true),
            "--no-expiry" => self.import.has_no_expiry = true,
            "--key-prefix" => self.key_prefix = text.to_owned(),
            "--key-minimum" => self.key_minimum = positive(text, name)?,
            "--key-maximum" => self.key_maximum = positive(text, name)?,
            "--key-pattern" => self.key_pattern = Some(key_pattern(text)?),
            "--key-stddev" => self.key_stddev = Some(finite(text, name)?),
            "--key-median" => self.key_median = Some(finite(text, name)?),
            "--key-zipf-exp" => {
                let exponent = number(text).filter(|exponent| *exponent > 0.0 && *exponent < 5.0);
                self.key_zipf_exp =
                    Some(value_or_refusal(exponent, "key-zipf-exp must be within interval (0, 5).")?);
            }
            "--wait-ratio" => self.wait_ratio = value_in_format(Ratio::read(text), option, "[0-n]:[0-n]")?,
            "--num-slaves" => self.num_slaves = value_in_format(NumberRange::read(text), option, SPAN)?,
            "--wait-timeout" => self.wait_timeout = value_in_format(NumberRange::read(text), option, SPAN)?,
            option => return if self.server.take(option, text) { Ok(()) } else { Err(invalid(option)) },
        }
        Ok(())
    }

    /// Limits the versions of TLS.
    fn take_tls_protocols(&mut self, text: &str) -> Result<(), OptionRefusal> {
        let protocols: Vec<_> = text.split(',').map(str::to_ascii_lowercase).collect();
        let has = |name| protocols.iter().any(|protocol| protocol == name);
        match (has("tlsv1.2"), has("tlsv1.3")) {
            _ if !protocols.iter().all(|name| ["tlsv1.2", "tlsv1.3"].contains(&name.as_str())) => {
                return refused_with(
                    "--tls-protocols must be TLSv1.2, TLSv1.3 or both: redyno has no other version",
                );
            }
            (true, true) => {}
            (_, is_13) => self.server.tls.ciphers.speak_only(is_13),
        }
        Ok(())
    }

    fn last_command(&mut self) -> Result<&mut UserCommand, OptionRefusal> {
        value_or_refusal(self.commands.last_mut(), "no arbitrary command found.")
    }

    /// Applies `-a` and then `--uri` to the server, after all options are read.
    ///
    /// # Errors
    /// Fails if a URI is invalid, or an option cannot be used with `--hash`.
    pub(super) fn settle(&mut self) -> Result<(), OptionRefusal> {
        if let Some(credentials) = &self.authenticate {
            let (user, password) = match credentials.split_once(':') {
                Some((user, password)) => (Some(user.to_owned()), password),
                None => (None, credentials.as_str()),
            };
            (self.server.user, self.server.password) = (user, Some(password.to_owned()));
        }
        if self.server.key.is_none() {
            self.server.key = self.server.certificate.clone();
        }
        let apart = [
            (self.is_cluster, "cluster-mode"),
            (self.is_transaction, "transaction"),
            (self.wait_ratio.is_some(), "wait-ratio"),
            (self.follows_cursors, "scan-incremental-iteration"),
            (self.import.is_verified, "data-verify"),
        ];
        if let Some((_, option)) = apart.into_iter().find(|(is_given, _)| *is_given && self.server.is_ring) {
            return refused_with(&format!("hash and {option} cannot be used together."));
        }
        let unread = if self.server.is_ring { 0 } else { self.uris.len().saturating_sub(1) };
        for uri in &self.uris[unread..] {
            match self.server.take_uri(uri) {
                Ok(Dialect::Memcached) => self.protocol = MemtierProtocol::MemcacheText,
                Ok(dialect) if !dialect.has_keys() => {
                    return refused_with("uri: memtier has no HTTP; write `redyno URI -- GET /path`");
                }
                Ok(_) => {}
                Err(error) => return refused_with(&error.to_string()),
            }
        }
        Ok(())
    }
}

pub(super) fn refused_with<T>(line: &str) -> Result<T, OptionRefusal> {
    Err(OptionRefusal::Message(format!("error: {line}")))
}

/// Returns the parsed value, or a refusal with the message `line`.
pub(super) fn value_or_refusal<T>(read: Option<T>, line: &str) -> Result<T, OptionRefusal> {
    read.map_or_else(|| refused_with(line), Ok)
}

/// Returns the parsed value of an option, or a refusal that shows the format `form`.
fn value_in_format<T>(read: Option<T>, option: &str, form: &str) -> Result<Option<T>, OptionRefusal> {
    let name = option.trim_start_matches('-');
    value_or_refusal(read, &format!("{name} must be expressed as {form}.")).map(Some)
}

/// Returns a whole number of at least 1.
fn positive<N: FromStr + PartialOrd + Default>(text: &str, what: &str) -> Result<N, OptionRefusal> {
    let read = number(text).filter(|number| *number > N::default());
    value_or_refusal(read, &format!("{what} must be greater than zero."))
}

/// Returns a whole number.
fn whole(text: &str, what: &str) -> Result<u64, OptionRefusal> {
    value_or_refusal(number(text), &format!("{what} must be a valid number."))
}

fn finite(text: &str, what: &str) -> Result<f64, OptionRefusal> {
    let read = number(text).filter(|number: &f64| *number > 0.0 && number.is_finite());
    value_or_refusal(read, &format!("{what} must be greater than zero."))
}

fn protocol(text: &str) -> Result<MemtierProtocol, OptionRefusal> {
    if text == "memcache_binary" {
        return refused_with(
            "memcache_binary is not supported by redyno memtier: give -P memcache_text, memcached's text protocol.",
        );
    }
    let known = MemtierProtocol::ALL.into_iter().find(|protocol| protocol.name() == text);
    value_or_refusal(known, "supported protocols are 'memcache_text', 'redis', 'resp2' and 'resp3'.")
}

fn requests(text: &str) -> Result<RequestCount, OptionRefusal> {
    if text == "allkeys" {
        Ok(RequestCount::AllKeys)
    } else {
        positive(text, "requests").map(RequestCount::Each)
    }
}

fn read_preference(text: &str) -> Result<ReadFrom, OptionRefusal> {
    match text {
        "primary" => Ok(ReadFrom::Primary),
        // If no replica answers, reads go to the primary.
        "secondary" | "secondaryPreferred" => Ok(ReadFrom::Replica),
        "nearest" => refused_with(
            "read-preference nearest needs PINGs, which redyno memtier does not send: use `redyno --read-from nearest`.",
        ),
        _ => refused_with("read-preference must be primary, secondary or secondaryPreferred."),
    }
}

fn key_pattern(text: &str) -> Result<[KeyOrder; 2], OptionRefusal> {
    let read = text.split_once(':').and_then(|(set, get)| Some([KeyOrder::read(set)?, KeyOrder::read(get)?]));
    let patterns = value_or_refusal(read, "key-pattern must be in the format of [S/R/G/P/Z]:[S/R/G/P/Z].")?;
    if patterns.contains(&KeyOrder::Parallel) && patterns != [KeyOrder::Parallel; 2] {
        return refused_with("parallel key-pattern must be configured for both SET and GET commands.");
    }
    Ok(patterns)
}

/// Returns the message about an unsupported option with this name.
pub(super) fn unsupported_option_message(name: &str, choice: &ToolOption) -> String {
    let hint = if choice.help.is_empty() { String::new() } else { format!(": {}", choice.help) };
    format!("error: {name} is not supported by redyno memtier{hint}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::{memtier::OPTIONS, options::tests::assert_no_name_is_repeated};

    #[test]
    fn no_name_of_an_option_is_repeated_and_each_option_is_handled() {
        assert_no_name_is_repeated(OPTIONS.all());
        for choice in OPTIONS.all() {
            let value = if choice.name() == "--hash" { "ketama" } else { "1" };
            let given = GivenOption { choice, name: choice.name().to_owned(), value: value.to_owned() };
            let taken = MemtierOptions::usual().take(&given);
            assert!(!matches!(taken, Err(OptionRefusal::Wrong(..))), "{}", choice.written);
        }
    }
}
