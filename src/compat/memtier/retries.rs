//! `--retry-on-error` of memtier_benchmark: the options about retries, and the file of the requests that
//! failed at the last attempt.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use time::OffsetDateTime;

use super::{
    option_values::MemtierOptions,
    requests::RunRequests,
    take::{refused_with, value_or_refusal},
};
use crate::{
    clock,
    compat::{numbers::number, options::OptionRefusal, server::os_error_text},
    export::memtier::{JsonValue, truth},
    load::{FailedRequest, Retries},
    untrusted,
};

/// The first line of the file of failed requests.
const COLUMNS: &str = "timestamp,command,key,status,retries";
/// How many failed requests may wait to be written.
const WAITING: usize = 4096;

/// The values of the options.
#[derive(Debug, Clone, Default)]
pub(super) struct RetryOptions {
    /// Whether requests are sent again (`--retry-on-error`).
    pub(super) is_on: bool,
    most: Option<u32>,
    backoff_ms: u32,
    backoff_factor: f64,
    only: String,
    queue: u32,
    failed_keys: Option<PathBuf>,
}

impl RetryOptions {
    /// Handles an option with its value. Returns whether `option` is an option of `--retry-on-error`.
    ///
    /// # Errors
    /// Returns a text about what is wrong with the value.
    pub(super) fn take(&mut self, option: &str, text: &str) -> Result<bool, OptionRefusal> {
        let name = option.trim_start_matches('-');
        match option {
            "--retry-on-error" => self.is_on = true,
            "--max-retries" => {
                let most = number(text).filter(|most| (-1..=i64::from(u32::MAX)).contains(most));
                let most =
                    value_or_refusal(most, "max-retries must be -1 (unlimited), 0 (no retries) or greater.")?;
                self.most = u32::try_from(most).ok();
            }
            "--retry-backoff-ms" => {
                self.backoff_ms =
                    value_or_refusal(number(text), &format!("{name} must be a number of milliseconds."))?;
            }
            "--retry-backoff-factor" => {
                let factor = number(text).filter(|factor: &f64| *factor >= 0.0 && factor.is_finite());
                self.backoff_factor = value_or_refusal(factor, &format!("{name} must be 0 or greater."))?;
            }
            "--retry-on" => text.clone_into(&mut self.only),
            "--max-retry-queue" => {
                self.queue = value_or_refusal(number(text), &format!("{name} must be a number."))?;
            }
            "--failed-keys-file" => self.failed_keys = Some(text.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks that these options do not contradict each other or other options.
    ///
    /// # Errors
    /// Returns the first contradiction.
    pub(super) fn check(&self, options: &MemtierOptions) -> Result<(), OptionRefusal> {
        let apart = [
            (options.follows_cursors, "scan-incremental-iteration"),
            (options.is_transaction, "transaction"),
            (options.reconnect_interval.is_some(), "reconnect-interval"),
        ];
        if let Some((_, option)) = apart.into_iter().find(|(is_given, _)| *is_given && self.is_on) {
            return refused_with(&format!(
                "retry-on-error and {option} cannot be used together: retries change the order of requests."
            ));
        }
        if (1..options.pipeline).contains(&self.queue) {
            return refused_with(
                "max-retry-queue must be 0, or at least as large as the pipeline, since all requests of a pipeline can fail.",
            );
        }
        Ok(())
    }

    /// Returns whether some of these options have no effect, because `--retry-on-error` is missing.
    pub(super) fn is_idle(&self) -> bool {
        let is_given = self.most.is_some()
            || self.backoff_ms > 0
            || !self.only.is_empty()
            || self.queue > 0
            || self.failed_keys.is_some();
        is_given && !self.is_on
    }

    /// Returns the fields that memtier_benchmark 2.4 writes about retries in its configuration; none without
    /// `--retry-on-error`.
    pub(super) fn fields(&self) -> Vec<(&'static str, JsonValue)> {
        if !self.is_on {
            return Vec::new();
        }
        let file = self.failed_keys.as_ref().map(|path| path.display().to_string());
        vec![
            ("retry_on_error", truth(true)),
            ("max_retries", JsonValue::Whole(self.most.map_or(-1, i64::from))),
            ("retry_backoff_ms", self.backoff_ms.into()),
            ("retry_backoff_factor", JsonValue::Decimal(self.backoff_factor)),
            ("retry_on", self.only.clone().into()),
            ("max_retry_queue", self.queue.into()),
            ("failed_keys_file", file.unwrap_or_default().into()),
        ]
    }
}

/// The retries of all runs.
#[derive(Default)]
pub(super) struct Retrying {
    /// How failed requests are sent again; `None` if failed requests are not sent again.
    pub(super) retries: Option<Arc<Retries>>,
    /// The thread that writes the file of failed requests.
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Retrying {
    /// Begins to write the file of failed requests, if one is given. Also returns a warning if the file cannot be
    /// written.
    pub(super) fn begin(options: &RetryOptions, requests: &RunRequests) -> (Self, Option<String>) {
        if !options.is_on {
            return (Self::default(), None);
        }
        let only = options.only.split(',').map(str::trim).filter(|word| !word.is_empty());
        let mut retries = Retries {
            most: options.most,
            pause: Duration::from_millis(options.backoff_ms.into()),
            factor: options.backoff_factor,
            only: only.map(str::to_owned).collect(),
            ..Retries::default()
        };
        let writer = options.failed_keys.as_ref().map(|path| {
            let (sender, failed) = sync_channel(WAITING);
            retries.failed = Some(sender);
            write_failed(path, failed, requests)
                .map_err(|error| format!("warning: failed-keys-file {}: {error}", untrusted::path(path)))
        });
        let (writer, warning) = match writer.transpose() {
            Ok(writer) => (writer, None),
            Err(warning) => (None, Some(warning)),
        };
        (Self { retries: Some(Arc::new(retries)), writer }, warning)
    }

    /// Returns how many different requests were sent again.
    pub(super) fn requests(&self) -> u64 {
        self.retries.as_ref().map_or(0, |retries| retries.requests())
    }

    /// Waits, after the last run, until all failed requests are written. Returns a warning if a line could not be
    /// written.
    pub(super) fn end(&mut self) -> Option<String> {
        self.retries = None;
        let written = self.writer.take()?.join();
        let error = written.unwrap_or_else(|_| Err(io::Error::other("its thread panicked"))).err()?;
        Some(format!("warning: failed-keys-file: {}; later lines are missing", os_error_text(&error)))
    }
}

/// Opens the file and starts the thread that adds a line for each failed request.
fn write_failed(
    path: &Path,
    failed: Receiver<FailedRequest>,
    requests: &RunRequests,
) -> io::Result<JoinHandle<io::Result<()>>> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        writeln!(file, "{COLUMNS}")?;
    }
    let row_of = requests.row_of.iter().map(|(name, row)| (name.clone(), requests.rows[*row].clone()));
    let rows: BTreeMap<_, _> = row_of.collect();
    let write = move || {
        failed.iter().try_for_each(|request| {
            let command = rows.get(&request.operation).unwrap_or(&request.operation);
            write(&mut file, &request, command, clock::unix_ms())
        })
    };
    thread::Builder::new().name("failed keys".to_owned()).spawn(write)
}

/// Immediately writes the line of a request that failed at `unix_ms`, so that the line remains if this process is
/// killed.
fn write(file: &mut File, request: &FailedRequest, command: &str, unix_ms: u64) -> io::Result<()> {
    let at = OffsetDateTime::UNIX_EPOCH + Duration::from_millis(unix_ms);
    let (date, (hour, minute, second, us)) = (at.date(), at.time().as_hms_micro());
    let (key, status) = (quoted(&request.key), quoted(request.error.as_bytes()));
    let time = format!("{date}T{hour:02}:{minute:02}:{second:02}.{us:06}Z");
    file.write_all(format!("{time},{command},{key},{status},{}\n", request.retries).as_bytes())
}

/// Returns bytes as a field of CSV in quotes; bytes that are not printable ASCII become `\xHH`.
fn quoted(bytes: &[u8]) -> String {
    let sign = |byte: &u8| match byte {
        b'"' => "\"\"".to_owned(),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    format!("\"{}\"", bytes.iter().map(sign).collect::<String>())
}
