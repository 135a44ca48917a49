//! `--retry-on-error` of memtier_benchmark: the options about retries, and the file of the requests that failed at the
//! last attempt.

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

use clap::Args;
use time::OffsetDateTime;

use super::{options::MemtierOptions, requests::RunRequests};
use crate::{
    clock,
    compat::{
        numbers::{checked, number, whole},
        server::os_error_text,
    },
    export::memtier::{JsonValue, truth},
    load::{FailedRequest, Retries},
    untrusted,
};

/// The first line of the file of failed requests.
const COLUMNS: &str = "timestamp,command,key,status,retries";
const MOST: &str = "must be -1 (unlimited), 0 (no retries) or greater.";
const FACTOR: &str = "must be 0 or greater.";
/// The largest number of failed requests that wait to be written.
const WAITING: usize = 4096;

/// The options.
#[derive(Args, Debug, Clone)]
pub(super) struct RetryOptions {
    /// Send a request again after an error reply. With --reconnect-on-error, also send a request again after its
    /// connection was lost. redyno does not retry after errors that would come again, such as WRONGTYPE or NOAUTH
    #[arg(long = "retry-on-error", conflicts_with_all = ["follows_cursors", "is_transaction", "reconnect_interval"])]
    pub(super) is_on: bool,
    /// Send a request again at most this many times: -1 means no limit, 0 means never
    #[arg(long = "max-retries", value_name = "NUMBER", default_value_t = -1, value_parser = checked(most, MOST))]
    most: i64,
    /// Pause in milliseconds before redyno sends a request again
    #[arg(long = "retry-backoff-ms", value_name = "MS", default_value_t = 0, value_parser = whole::<u32>)]
    backoff_ms: u32,
    /// Multiply the pause by this factor after each attempt of a request, up to 60 s; 0 means equal pauses
    #[arg(long = "retry-backoff-factor", default_value_t = 0.0, value_parser = checked(factor, FACTOR))]
    backoff_factor: f64,
    /// Send a request again only after errors that begin with one of these words, such as LOADING,BUSY
    #[arg(long = "retry-on", value_name = "LIST", default_value = "", hide_default_value = true)]
    only: String,
    /// Number of requests of a client that may wait to be sent again; must be 0 or at least --pipeline. Only the
    /// requests of one pipeline can wait, so this limit never takes effect
    #[arg(long = "max-retry-queue", value_name = "NUMBER", default_value_t = 0, value_parser = whole::<u32>)]
    queue: u32,
    /// Add a line of CSV to this file for each request whose last attempt failed: timestamp,command,key,status,retries
    #[arg(long = "failed-keys-file", value_name = "FILE")]
    failed_keys: Option<PathBuf>,
}

fn most(text: &str) -> Option<i64> {
    number(text).filter(|most| (-1..=i64::from(u32::MAX)).contains(most))
}

fn factor(text: &str) -> Option<f64> {
    number(text).filter(|factor: &f64| *factor >= 0.0 && factor.is_finite())
}

impl RetryOptions {
    /// Checks that these options do not contradict each other or other options.
    ///
    /// # Errors
    /// Fails if there is a contradiction. The error is the first contradiction.
    pub(super) fn check(&self, options: &MemtierOptions) -> Result<(), String> {
        if (1..options.pipeline).contains(&self.queue) {
            return Err("max-retry-queue must be 0, or at least as large as the pipeline, since all requests of a pipeline can \
                fail."
                .to_owned());
        }
        Ok(())
    }

    /// Returns whether some of these options have no effect because `--retry-on-error` is missing.
    pub(super) fn is_idle(&self) -> bool {
        let is_given = self.most >= 0
            || self.backoff_ms > 0
            || !self.only.is_empty()
            || self.queue > 0
            || self.failed_keys.is_some();
        is_given && !self.is_on
    }

    /// Returns the fields about retries that memtier_benchmark 2.4 writes in its configuration. Returns no fields
    /// without `--retry-on-error`.
    pub(super) fn fields(&self) -> Vec<(&'static str, JsonValue)> {
        if !self.is_on {
            return Vec::new();
        }
        let file = self.failed_keys.as_ref().map(|path| path.display().to_string());
        vec![
            ("retry_on_error", truth(true)),
            ("max_retries", JsonValue::Whole(self.most)),
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
    /// The settings for sending failed requests again. `None` if redyno does not send failed requests again.
    pub(super) retries: Option<Arc<Retries>>,
    /// The thread that writes the file of failed requests.
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Retrying {
    /// Begins to write the file of failed requests, if the user gives a file. Also returns a warning if the file cannot
    /// be written.
    pub(super) fn begin(options: &RetryOptions, requests: &RunRequests) -> (Self, Option<String>) {
        if !options.is_on {
            return (Self::default(), None);
        }
        let only = options.only.split(',').map(str::trim).filter(|word| !word.is_empty());
        let mut retries = Retries {
            most: u32::try_from(options.most).ok(),
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

    /// Returns the number of different requests that redyno sent again.
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

/// Immediately writes the line of a request that failed at `unix_ms`. The line therefore remains if this process is
/// killed.
fn write(file: &mut File, request: &FailedRequest, command: &str, unix_ms: u64) -> io::Result<()> {
    let at = OffsetDateTime::UNIX_EPOCH + Duration::from_millis(unix_ms);
    let (date, (hour, minute, second, us)) = (at.date(), at.time().as_hms_micro());
    let (key, status) = (quoted(&request.key), quoted(request.error.as_bytes()));
    let time = format!("{date}T{hour:02}:{minute:02}:{second:02}.{us:06}Z");
    file.write_all(format!("{time},{command},{key},{status},{}\n", request.retries).as_bytes())
}

/// Returns bytes as a field of CSV in quotes. Bytes that are not printable ASCII become `\xHH`.
fn quoted(bytes: &[u8]) -> String {
    let sign = |byte: &u8| match byte {
        b'"' => "\"\"".to_owned(),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    format!("\"{}\"", bytes.iter().map(sign).collect::<String>())
}
