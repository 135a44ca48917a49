//! `--bigkeys`, `--memkeys`, `--keystats` and `--hotkeys` of redis-cli: a scan of all keys of the database.
//!
//! redis-cli sends requests as fast as the server replies. redyno pauses between requests. The scan therefore keeps the
//! server busy for at most 2 % of the time. With `-i SECONDS`, redyno instead pauses for this time after every 100
//! SCANs.

use std::{sync::mpsc::Receiver, time::Duration};

use super::{
    keystats::{self, KeyStats},
    plan::{OneshotMode, OneshotPlan},
    run::Streams,
};
use crate::{
    server::{DirectConnection, ServerError},
    signals::Signal,
    untrusted, workload,
};

/// The number of SCANs between two pauses, if `-i` is given.
const SCANS: u64 = 100;
/// The number of keys between two progress lines.
const PROGRESS: u64 = 1_000_000;
/// The number of keys above which a warning explains that the walk is slow.
const MANY: u64 = 10_000;
/// The number of hottest keys that are listed.
const HOTTEST: usize = 16;
/// The number of attempts to read the sizes of a batch. An attempt fails if the type of a key changes during
/// the attempt.
const TRIES: u32 = 3;

/// The types of keys: their names, the commands for their sizes, and the units of the sizes.
const TYPES: [[&str; 3]; 6] = [
    ["list", "LLEN", "items"],
    ["hash", "HLEN", "fields"],
    ["string", "STRLEN", "bytes"],
    ["stream", "XLEN", "entries"],
    ["set", "SCARD", "members"],
    ["zset", "ZCARD", "members"],
];

pub(super) type KeySlice = [Vec<u8>];
/// A key, the index of its type, and its size.
pub(super) type SizedKey<'a> = (&'a [u8], usize, u64);

/// The results of a walk over all keys.
pub(super) trait KeyWalk {
    /// Queries the server about the next keys of the scan. `percent` is the finished part of the scan. Returns the
    /// lines about the results.
    fn take(
        &mut self,
        connection: &mut DirectConnection,
        keys: &KeySlice,
        percent: f64,
    ) -> Result<String, ServerError>;

    /// Returns the lines of the summary. These lines come after the number of sampled keys.
    fn summary(&self, sampled: u64) -> String;
}

/// Runs one of the modes.
pub(super) fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    let mut connection = DirectConnection::open(&plan.target)?;
    let all = connection.numbers(&[vec![b"DBSIZE"]])?.first().copied().flatten().unwrap_or_default();
    let is_report = plan.mode == OneshotMode::KeyStats;
    let (what, mut finding): (_, Box<dyn KeyWalk>) = match plan.mode {
        OneshotMode::HotKeys => ("hot", Box::new(HottestKeys(vec![(0, String::new()); HOTTEST]))),
        OneshotMode::KeyStats => ("", Box::new(KeyStats::new(plan, all, streams.is_tty))),
        mode => (
            "biggest",
            Box::new(BiggestKeys::new(mode == OneshotMode::MemKeys, plan.options.memkeys_samples)),
        ),
    };
    connection.go_to(plan.options.cursor.unwrap_or_default());
    streams.print(&if is_report {
        keystats::HEADING.to_owned()
    } else {
        format!(
            "\n# Scanning the entire keyspace to find {what} keys as well as\n# average sizes per key type.  You can use \
             -i 0.1 to sleep 0.1 sec\n# per 100 SCAN commands (not usually needed).\n\n"
        )
    })?;
    if all > MANY && plan.options.interval.is_none() {
        streams.warn(&format!(
            "{all} keys take a while, because redyno keeps the server busy for at most 2 % of the time; with -i 0.01, \
             redyno sends requests as fast as redis-cli"
        ))?;
    }
    let (mut sampled, mut scans) = (0, 0);
    let mut cut = String::new();
    while let Some(keys) = connection.scan()? {
        let percent = 100.0 * sampled as f64 / all.max(1) as f64;
        let mut text = finding.take(&mut connection, &keys, percent)?;
        let before = sampled;
        (sampled, scans) = (sampled + keys.len() as u64, scans + 1);
        if sampled / PROGRESS > before / PROGRESS && !is_report {
            text += &format!("[{percent:05.2}%] Sampled {} keys so far\n", sampled - sampled % PROGRESS);
        }
        streams.print(&text)?;
        let pause = match plan.options.interval {
            None => connection.pause(),
            Some(interval) if scans % SCANS == 0 => interval,
            Some(_) => Duration::ZERO,
        };
        if stop.recv_timeout(pause).is_ok() {
            cut = format!("[{percent:05.2}%] ");
            break;
        }
    }
    let mut summary = finding.summary(sampled);
    if !is_report {
        summary =
            format!("\n-------- summary -------\n\n{cut}Sampled {sampled} keys in the keyspace!\n{summary}");
    } else if let Some(cursor) = connection.cursor() {
        summary += &format!(
            "\nScan interrupted:\nUse 'redyno --keystats --cursor {cursor}' to restart from the last cursor.\n"
        );
    }
    Ok(streams.print(&summary)?)
}

/// The keys of one type.
#[derive(Debug, Default)]
pub(super) struct TypeSizes {
    pub(super) name: String,
    /// The command for the size. Empty if the type is unknown.
    pub(super) command: &'static str,
    /// The unit of sizes.
    pub(super) unit: &'static str,
    pub(super) count: u64,
    pub(super) size: u64,
    pub(super) biggest: u64,
    pub(super) biggest_key: Option<Vec<u8>>,
}

impl TypeSizes {
    /// Counts a key. Returns whether the key is the biggest so far.
    pub(super) fn add(&mut self, key: &[u8], size: u64) -> bool {
        (self.count, self.size) = (self.count + 1, self.size + size);
        let is_biggest = self.biggest < size;
        if is_biggest {
            (self.biggest, self.biggest_key) = (size, Some(key.to_owned()));
        }
        is_biggest
    }
}

/// The biggest key of each type.
pub(super) struct BiggestKeys {
    is_memory: bool,
    /// The number of elements of a collection that MEMORY USAGE samples.
    samples: Option<String>,
    pub(super) types: Vec<TypeSizes>,
    key_bytes: u64,
}

impl BiggestKeys {
    pub(super) fn new(is_memory: bool, samples: Option<u64>) -> Self {
        let known = |[name, command, unit]: [&'static str; 3]| TypeSizes {
            name: name.to_owned(),
            command,
            unit: if is_memory { "bytes" } else { unit },
            ..TypeSizes::default()
        };
        let samples = samples.map(|samples| samples.to_string());
        Self { is_memory, samples, types: TYPES.map(known).into(), key_bytes: 0 }
    }

    /// Returns the index of each key's type. The index is `None` for keys that no longer exist.
    fn types(
        &mut self,
        connection: &mut DirectConnection,
        keys: &KeySlice,
    ) -> Result<Vec<Option<usize>>, ServerError> {
        let questions: Vec<_> = keys.iter().map(|key| vec![&b"TYPE"[..], key]).collect();
        let names = connection.texts(&questions)?;
        Ok(names.iter().map(|name| self.place(name)).collect())
    }

    fn place(&mut self, name: &str) -> Option<usize> {
        if name.is_empty() || name == "none" {
            return None;
        }
        let known = self.types.iter().position(|known| known.name == name);
        Some(known.unwrap_or_else(|| {
            let unit = if self.is_memory { "bytes" } else { "?" };
            self.types.push(TypeSizes { name: name.to_owned(), unit, ..TypeSizes::default() });
            self.types.len() - 1
        }))
    }

    /// Returns the command that reads the size of a key of this type. Returns `None` if there is no such command.
    fn question<'a>(&'a self, key: &'a [u8], place: usize) -> Option<Vec<&'a [u8]>> {
        match (self.is_memory, &self.samples) {
            (true, None) => Some(vec![b"MEMORY", b"USAGE", key]),
            (true, Some(samples)) => Some(vec![b"MEMORY", b"USAGE", key, b"SAMPLES", samples.as_bytes()]),
            (false, _) => {
                let command = self.types[place].command.as_bytes();
                (!command.is_empty()).then(|| vec![command, key])
            }
        }
    }

    /// Returns each key that still exists, with the index of its type and its size.
    pub(super) fn sizes<'a>(
        &mut self,
        connection: &mut DirectConnection,
        keys: &'a KeySlice,
    ) -> Result<Vec<SizedKey<'a>>, ServerError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let types = self.types(connection, keys)?;
            let there: Vec<_> =
                keys.iter().zip(types).filter_map(|(key, place)| Some((key.as_slice(), place?))).collect();
            let questions: Vec<_> = there.iter().map(|(key, place)| self.question(key, *place)).collect();
            let asked: Vec<_> = questions.iter().flatten().cloned().collect();
            let mut sizes = match connection.numbers(&asked) {
                Err(error) if error.is_refusal("WRONGTYPE") && tries < TRIES => continue,
                sizes => sizes?.into_iter(),
            };
            let size = |((key, place), question): ((_, _), &Option<_>)| {
                let size = question.as_ref().and_then(|_| sizes.next().flatten());
                (key, place, size.unwrap_or_default())
            };
            return Ok(there.into_iter().zip(&questions).map(size).collect());
        }
    }
}

impl KeyWalk for BiggestKeys {
    fn take(
        &mut self,
        connection: &mut DirectConnection,
        keys: &KeySlice,
        percent: f64,
    ) -> Result<String, ServerError> {
        let mut text = String::new();
        for (key, place, size) in self.sizes(connection, keys)? {
            self.key_bytes += key.len() as u64;
            if self.types[place].add(key, size) {
                let (shown, TypeSizes { name, unit, .. }) = (quoted(key), &self.types[place]);
                text += &format!(
                    "[{percent:05.2}%] Biggest {name:<6} found so far '{shown}' with {size} {unit}\n"
                );
            }
        }
        Ok(text)
    }

    fn summary(&self, sampled: u64) -> String {
        let part = |part: f64, of: u64| if of == 0 { 0.0 } else { part / of as f64 };
        let mut text = format!(
            "Total key length in bytes is {} (avg len {:.2})\n\n",
            self.key_bytes,
            part(self.key_bytes as f64, sampled)
        );
        for TypeSizes { name, unit, biggest, biggest_key, .. } in &self.types {
            if let Some(key) = biggest_key {
                text += &format!("Biggest {name:>6} found '{}' has {biggest} {unit}\n", quoted(key));
            }
        }
        text += "\n";
        for TypeSizes { name, unit, count, size, .. } in &self.types {
            let (percent, mean) = (part(100.0 * *count as f64, sampled), part(*size as f64, *count));
            text += &format!(
                "{count} {name}s with {size} {unit} ({percent:05.2}% of keys, avg size {mean:.2})\n"
            );
        }
        text
    }
}

/// The hottest keys, the hottest last. Each key has its counter, which the server keeps under an LFU policy. An entry
/// without a key has the counter 0.
struct HottestKeys(Vec<(u64, String)>);

impl HottestKeys {
    /// Adds the key if the key is among the hottest keys. Returns the name of an added key.
    fn add(&mut self, key: &[u8], counter: u64) -> Option<&str> {
        let place = self.0.iter().take_while(|(lower, _)| counter > *lower).count().checked_sub(1)?;
        if self.0[place].0 > 0 {
            self.0.remove(0);
            self.0.insert(place, (counter, quoted(key)));
        } else {
            self.0[place] = (counter, quoted(key));
        }
        Some(&self.0[place].1)
    }
}

impl KeyWalk for HottestKeys {
    fn take(
        &mut self,
        connection: &mut DirectConnection,
        keys: &KeySlice,
        percent: f64,
    ) -> Result<String, ServerError> {
        let questions: Vec<_> = keys.iter().map(|key| vec![&b"OBJECT"[..], b"FREQ", key]).collect();
        let counters = connection.numbers(&questions)?;
        let mut text = String::new();
        for (key, counter) in keys.iter().zip(counters) {
            let counter = counter.unwrap_or_default();
            if let Some(name) = self.add(key, counter) {
                text += &format!("[{percent:05.2}%] Hot key '{name}' found so far with counter {counter}\n");
            }
        }
        Ok(text)
    }

    fn summary(&self, _: u64) -> String {
        let line = |(counter, name): &(u64, String)| {
            format!("hot key found with counter: {counter}\tkeyname: {name}\n")
        };
        self.0.iter().rev().filter(|(counter, _)| *counter > 0).map(line).collect()
    }
}

/// Returns a key in quotes, with escapes for all bytes that are not printable ASCII.
pub(super) fn quoted(key: &[u8]) -> String {
    let mut text = Vec::new();
    workload::quoted(key, &mut text);
    untrusted::bytes(&text)
}
