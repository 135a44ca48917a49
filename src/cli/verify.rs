//! `--verify` reads the records of a dataset that a load wrote back from the server, and compares these records with
//! the file. It writes nothing.
//!
//! ```text
//!  file ─► requests and expected replies ─► batches ─► the server's replies ─► as in the file? missing? different?
//!  file again, if records differ ─► as another record with the same key?
//! ```
//! If several records have the same key, the server stores the record that a client wrote last.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    time::Duration,
};

use anyhow::Context as _;

use super::command::PlanResult;
use crate::{
    endpoint::{Talk, Target, talk},
    load::{LoadPlan, RequestLimit},
    print::words::StreamText,
    protocol::{Dialect, Reply},
    runner::{Failure, SessionPlan, UsageError},
    units::{count_with_noun, grouped},
    untrusted,
    workload::{DatasetError, ReadBack, RecordCheck},
};

/// The largest number of requests in a batch.
const REQUESTS_PER_BATCH: usize = 256;
/// The number of bytes of expected replies at which a batch gets no more requests.
const BYTES: usize = 256 * 1024;
/// The largest number of differing records that the output names.
const NAMED: usize = 5;
/// The largest number of differing records that are compared with the other records. This comparison needs memory.
const MOST_REPLACED: usize = 1 << 20;
/// The largest length of a server error in the output, in characters.
const LONGEST_ERROR: usize = 120;

/// The numbers of missing and different records.
#[derive(Debug, Default)]
struct VerifyCounts {
    records: u64,
    missing: u64,
    different: u64,
    /// The numbers and texts of the first missing records.
    named: Vec<(u64, String)>,
    /// The records that differ, grouped by the hashes of the server's replies to their steps. Each group has the number
    /// of its records, and the number and the text of its first record.
    replaced: BTreeMap<Vec<u64>, (u64, (u64, String))>,
}

/// Returns the plan to read back the records that a run with the same options wrote.
///
/// # Errors
/// Fails if it is unknown how the load wrote the records.
pub(super) fn plan(plan: SessionPlan) -> PlanResult {
    if !plan.commission.clusters.is_empty() {
        let text = "--verify reads records back from one server, but --hash divides the records among several servers; leave --verify or --hash out";
        return Err(UsageError::of(text).into());
    }
    let LoadPlan { mut target, timeout, requests, length, .. } = plan.commission.plan;
    if length.is_some() {
        let text = "--verify cannot know how many records a run with a duration wrote; give -n in place of --duration, or \
                    neither of them";
        return Err(UsageError::of(text).into());
    }
    let most = match requests {
        Some(RequestLimit::Shared(all) | RequestLimit::PerClient(all)) => all,
        None => u64::MAX,
    };
    let records = plan.commission.knobs.workload.read_back(most).map_err(UsageError::of)?;
    if !target.dialect.has_collections() {
        return Err(UsageError::of(
            "--verify works with Redis and Valkey only; leave it out for other servers",
        )
        .into());
    }
    target.dialect = Dialect::Resp2;
    Ok(Box::new(move || run(records, &target, timeout)))
}

/// Reads back all records. Fails when the server cannot be reached, or a record differs from the file.
fn run(mut records: ReadBack, target: &Target, limit: Duration) -> Result<(), Failure> {
    let mut talk = talk(target, None, limit).map_err(anyhow::Error::from)?;
    let began = std::time::Instant::now();
    let mut again = records.again();
    let mut found = read(&mut records, &mut talk, limit)?;
    let shared = found.find_shared(&mut again).map_err(anyhow::Error::from)?;
    let summary = found.summary(began.elapsed(), shared);
    writeln!(StreamText::stdout(), "{summary}").context("cannot write to stdout")?;
    if found.missing + found.different == 0 {
        return Ok(());
    }
    let bad = count_with_noun(found.missing + found.different, "record");
    Err(Failure::Crossed(format!("missing or different from the file: {bad} on {}", target.address)))
}

fn read(records: &mut ReadBack, talk: &mut Talk, limit: Duration) -> Result<VerifyCounts, Failure> {
    let mut found = VerifyCounts::default();
    loop {
        let batch = batch(records).map_err(anyhow::Error::from)?;
        if batch.is_empty() {
            return Ok(found);
        }
        let questions: Vec<_> = batch.iter().flatten().flat_map(|asked| &asked.question).copied().collect();
        let mut answers = Vec::new();
        let steps = batch.iter().map(Vec::len).sum();
        let mut asked = batch.iter().flatten();
        let mut elsewhere = None;
        let heard = talk.ask(&questions, steps, limit, |bytes, reply| {
            if let Reply::Error(line) = reply
                && (line.starts_with(b"MOVED ") || line.starts_with(b"ASK "))
            {
                elsewhere.get_or_insert_with(|| untrusted::at_most(line, LONGEST_ERROR));
            }
            answers.extend(asked.next().map(|asked| RecordComparison::of(asked, bytes, reply)));
        });
        heard.map_err(anyhow::Error::from)?;
        if let Some(line) = elsewhere {
            return Err(anyhow::anyhow!(
                "--verify reads from one server, but a cluster divides the records among several (\"{line}\"); \
                 read them back with a client for clusters"
            )
            .into());
        }
        let mut answers = answers.into_iter();
        for record in &batch {
            found.take(record, answers.by_ref().take(record.len()).collect());
        }
    }
}

/// Returns the next records, each with the requests that read the record back.
fn batch(records: &mut ReadBack) -> Result<Vec<Vec<RecordCheck>>, DatasetError> {
    let (mut batch, mut questions, mut bytes) = (Vec::new(), 0, 0);
    while questions < REQUESTS_PER_BATCH && bytes < BYTES {
        let record = records.next_record()?;
        if record.is_empty() {
            break;
        }
        questions += record.len();
        bytes += record.iter().map(|asked| asked.answer.len()).sum::<usize>();
        batch.push(record);
    }
    Ok(batch)
}

/// The result of the comparison of a record on the server with the file.
enum RecordComparison {
    Same,
    Missing,
    /// The hash of the record on the server, and a description of the difference.
    Different(u64, String),
}

/// Returns the hash of a reply to the request that reads a record back.
fn hash(asked: &RecordCheck, reply: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&asked.question, reply).hash(&mut hasher);
    hasher.finish()
}

impl RecordComparison {
    fn of(asked: &RecordCheck, bytes: &[u8], reply: Reply) -> Self {
        match reply {
            _ if bytes == asked.answer => Self::Same,
            _ if bytes == asked.nothing => Self::Missing,
            Reply::Error(line) => Self::Different(0, untrusted::at_most(line, LONGEST_ERROR)),
            _ => Self::Different(hash(asked, bytes), "differs".to_owned()),
        }
    }
}

impl VerifyCounts {
    fn take(&mut self, record: &[RecordCheck], answers: Vec<RecordComparison>) {
        self.records += 1;
        let (mut first, mut is_missing, mut hashes) = (None, false, Vec::new());
        for (asked, answer) in record.iter().zip(answers) {
            let how = match answer {
                RecordComparison::Same => continue,
                RecordComparison::Missing => {
                    is_missing = true;
                    "is missing".to_owned()
                }
                RecordComparison::Different(hash, how) => {
                    hashes.push(hash);
                    how
                }
            };
            let text = || format!("  record {}, {}: {how}", grouped(self.records), asked.shown_key());
            first.get_or_insert_with(|| (self.records, text()));
        }
        let Some(first) = first else { return };
        if !is_missing {
            self.different += 1;
            if self.replaced.len() < MOST_REPLACED || self.replaced.contains_key(&hashes) {
                self.replaced.entry(hashes).or_insert((0, first)).0 += 1;
            }
            return;
        }
        self.missing += 1;
        if self.named.len() < NAMED {
            self.named.push(first);
        }
    }

    /// Finds the differing records for which the server has another record of the file with the same key. Returns the
    /// number of these records. The found records do not count as different.
    fn find_shared(&mut self, file: &mut ReadBack) -> Result<u64, DatasetError> {
        let (mut shared, mut seen) = (0, BTreeSet::new());
        let wanted: BTreeSet<u64> = self.replaced.keys().flatten().copied().collect();
        while !wanted.is_empty() {
            let record = file.next_record()?;
            if record.is_empty() {
                break;
            }
            seen.extend(
                record.iter().map(|asked| hash(asked, &asked.answer)).filter(|it| wanted.contains(it)),
            );
        }
        for (hashes, (count, first)) in std::mem::take(&mut self.replaced) {
            match hashes.iter().all(|hash| seen.contains(hash)) {
                true => shared += count,
                false => self.named.push(first),
            }
        }
        self.different -= shared;
        self.named.sort_unstable();
        self.named.truncate(NAMED);
        Ok(shared)
    }

    fn summary(&self, took: Duration, shared: u64) -> String {
        let records = count_with_noun(self.records, "record");
        let took = format!("read back in {:.2} s", took.as_secs_f64());
        let shared = match shared {
            0 => String::new(),
            shared => format!("; {} replaced by another record with the same key", grouped(shared)),
        };
        if self.named.is_empty() {
            return format!("{records} {took}: all are as in the file{shared}");
        }
        let counts = format!("{} missing, {} different", grouped(self.missing), grouped(self.different));
        let more = self.missing + self.different - self.named.len() as u64;
        let more = if more > 0 { format!("\n  and {} more", grouped(more)) } else { String::new() };
        let named: String = self.named.iter().map(|(_, text)| format!("\n{text}")).collect();
        format!("{records} {took}: {counts}{shared}{named}{more}")
    }
}
