//! `--keystats` of redis-cli prints memory and elements of all keys, the biggest keys, and the distributions of sizes.
//!
//! On a terminal, the upper part of the output is redrawn during the scan.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::{
    keys::{BiggestKeys, KeySlice, KeyWalk, TypeSizes, quoted},
    plan::OneshotPlan,
    stat::size,
};
use crate::{
    print::outlet::CLEAR,
    server::{DirectConnection, ServerError},
    untrusted,
};

pub(super) const HEADING: &str = "\n\
    # Scanning the entire keyspace to find the biggest keys and distribution information.\n\
    # Use -i 0.1 to sleep 0.1 sec per 100 SCAN commands (not usually needed).\n\
    # Use --cursor <n> to start the scan at the cursor <n> (usually after a Ctrl-C).\n\
    # Use --top <n> to display <n> top key sizes (default is 10).\n\
    # Ctrl-C to stop the scan.\n\n";
/// The shortest time between two drawings.
const REDRAWN: Duration = Duration::from_millis(300);
/// The width of the progress bar, in columns.
const BAR: usize = 60;
/// The default number of biggest keys (`--top`).
const TOP: usize = 10;
/// The number of significant digits of sizes.
const DIGITS: u8 = 4;
/// The upper limits of the ranges for lengths of key names, in bytes. Lengths are counted in these ranges.
const LENGTHS: [u64; 7] = [1 << 5, 1 << 8, 1 << 16, 1 << 20, 1 << 24, 1 << 27, 1 << 29];

/// The figures of the keys that the walk has visited.
pub(super) struct KeyStats {
    memory: BiggestKeys,
    elements: BiggestKeys,
    /// The biggest keys, the biggest first: size, type, name.
    top: Vec<(u64, String, String)>,
    most: usize,
    sizes: Histogram<u64>,
    /// The number of keys in each range of [`LENGTHS`], and the number of keys with longer names.
    names: [u64; LENGTHS.len() + 1],
    name_bytes: u64,
    longest_name: u64,
    /// The number of keys in the database at the beginning of the walk.
    all: u64,
    /// The time of the last drawing. `None` without a terminal.
    drawn: Option<Instant>,
}

impl KeyStats {
    pub(super) fn new(plan: &OneshotPlan, all: u64, is_tty: bool) -> Self {
        Self {
            memory: BiggestKeys::new(true, plan.options.keystats_samples),
            elements: BiggestKeys::new(false, None),
            top: Vec::new(),
            most: plan.options.top.unwrap_or(TOP),
            sizes: Histogram::new(DIGITS).expect("the digits are within the range"),
            names: Default::default(),
            name_bytes: 0,
            longest_name: 0,
            all,
            drawn: is_tty.then(Instant::now),
        }
    }

    /// Returns the upper part of the output: progress and biggest keys.
    fn upper(&self) -> String {
        let sampled = self.sizes.len();
        let part = if self.all == 0 { 0.0 } else { (sampled as f64 / self.all as f64).min(1.0) };
        let bar = self.drawn.map_or("keys scanned".to_owned(), |_| {
            let done = (BAR as f64 * part).round() as usize;
            format!("\x1b[32m{}\x1b[31m{}\x1b[39m", "|".repeat(done), "-".repeat(BAR - done))
        });
        let bytes = size(self.memory.types.iter().map(|of_type| of_type.size).sum());
        let mut text =
            format!("{:6.2}% {bar}\nKeys sampled: {sampled}\nKeys size:    {bytes}\n\n", part * 100.0);
        text += &format!("--- Top {} key sizes ---\n", self.most);
        for (at, (bytes, type_name, key)) in self.top.iter().enumerate() {
            text += &format!("{:3} {:>8} {type_name:<10} {key}\n", at + 1, size(*bytes));
        }
        let per_type = |stats: &BiggestKeys, word| {
            let line = |of_type: &TypeSizes| {
                let key = untrusted::bytes(of_type.biggest_key.as_ref()?);
                Some(format!("{:<10} {key} {word} {}\n", of_type.name, amount(of_type.biggest, of_type.unit)))
            };
            stats.types.iter().filter_map(line).collect::<String>()
        };
        text += &format!("\n--- Top size per type ---\n{}", per_type(&self.memory, "is"));
        let elements = per_type(&self.elements, "has");
        text += &format!("\n--- Top length and cardinality per type ---\n{elements}");
        // On a terminal, each line first clears its row, which contains the old drawing and perhaps a ^C.
        if self.drawn.is_some() {
            text.lines().map(|line| format!("{CLEAR}{line}\n")).collect()
        } else {
            text
        }
    }

    /// Returns the rows of the distribution of sizes.
    fn distribution(&self) -> String {
        let mut text = "Key size Percentile Total keys\n-------- ---------- -----------\n".to_owned();
        let (all, mut below) = (self.sizes.len(), 0);
        for step in self.sizes.iter_quantiles(1).filter(|step| step.count_since_last_iteration() > 0) {
            below += step.count_since_last_iteration();
            let percent = if below == all { 100.0 } else { step.quantile_iterated_to() * 100.0 };
            text += &format!("{:>8} {percent:9.4}% {below:11}\n", size(step.value_iterated_to()));
        }
        let [mean, deviation] = [self.sizes.mean(), self.sizes.stdev()].map(|bytes| size(bytes as u64));
        text + &format!("Note: 0.01% size precision, Mean: {mean}, StdDeviation: {deviation}\n")
    }

    /// Returns the rows of the distribution of name lengths.
    fn lengths(&self) -> String {
        let mut text =
            "Key name length Percentile Total keys\n--------------- ---------- -----------\n".to_owned();
        let (all, mut below) = (self.sizes.len(), 0);
        for (at, count) in self.names.iter().enumerate().filter(|(_, count)| **count > 0) {
            below += count;
            let bound = LENGTHS.get(at).map(|bound| size(self.longest_name.min(*bound)));
            let (bound, percent) = (bound.unwrap_or("inf".to_owned()), 100.0 * below as f64 / all as f64);
            text += &format!("{bound:>15} {percent:9.4}% {below:11}\n");
        }
        let mean = self.name_bytes.checked_div(all).map_or("0".to_owned(), size);
        text + &format!("Total key length is {} ({mean} avg)\n", size(self.name_bytes))
    }

    /// Returns a row for each type.
    fn by_type(&self) -> String {
        let mut text = "Type        Total keys  Keys % Tot size Avg size  Total length/card Avg ln/card\n\
                        --------- ------------ ------- -------- -------- ------------------ -----------\n"
            .to_owned();
        for memory in self.memory.types.iter().filter(|memory| memory.count > 0) {
            let known = |elements: &&TypeSizes| elements.name == memory.name && !elements.command.is_empty();
            let elements = self.elements.types.iter().find(known);
            let (total, mean) = elements.map_or((" - ".to_owned(), " - ".to_owned()), |elements| {
                let mean = elements.size as f64 / elements.count.max(1) as f64;
                let mean =
                    if elements.unit == "bytes" { size(mean.round() as u64) } else { format!("{mean:.2}") };
                (amount(elements.size, elements.unit), mean)
            });
            text += &format!(
                "{:<10} {:11} {:6.2}% {:>8} {:>8} {total:>18} {mean:>11}\n",
                memory.name,
                memory.count,
                100.0 * memory.count as f64 / self.sizes.len() as f64,
                size(memory.size),
                size(memory.size / memory.count),
            );
        }
        text
    }
}

impl KeyWalk for KeyStats {
    fn take(
        &mut self,
        connection: &mut DirectConnection,
        keys: &KeySlice,
        _: f64,
    ) -> Result<String, ServerError> {
        let sizes = self.memory.sizes(connection, keys)?;
        let elements = self.elements.sizes(connection, keys)?;
        for (key, place, bytes) in sizes {
            // A key that was removed after its memory was read is left out.
            let Some((_, of_elements, count)) = elements.iter().find(|(found, ..)| *found == key) else {
                continue;
            };
            self.elements.types[*of_elements].add(key, *count);
            self.memory.types[place].add(key, bytes);
            let before = self.top.partition_point(|(bigger, ..)| *bigger >= bytes);
            if before < self.most {
                self.top.insert(before, (bytes, self.memory.types[place].name.clone(), quoted(key)));
                self.top.truncate(self.most);
            }
            self.sizes += bytes;
            let length = key.len() as u64;
            self.names[LENGTHS.partition_point(|bound| *bound < length)] += 1;
            self.name_bytes += length;
            self.longest_name = self.longest_name.max(length);
        }
        if self.drawn.is_none_or(|drawn| drawn.elapsed() < REDRAWN) {
            return Ok(String::new());
        }
        self.drawn = Some(Instant::now());
        let upper = self.upper();
        Ok(format!("{upper}\x1b[{}A\r", upper.lines().count()))
    }

    fn summary(&self, _: u64) -> String {
        format!("{}\n{}\n{}\n{}", self.upper(), self.distribution(), self.lengths(), self.by_type())
    }
}

/// Returns a number of bytes or elements as text.
fn amount(amount: u64, unit: &str) -> String {
    if unit == "bytes" { size(amount) } else { format!("{amount} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compat::redis_cli::OneshotMode, endpoint::Target};

    #[test]
    fn the_distribution_of_sizes_is_the_one_of_redis_cli() {
        let mut stats = KeyStats::new(&OneshotPlan::new(Target::default(), OneshotMode::KeyStats), 33, false);
        stats.sizes.record_n(48, 20).unwrap();
        stats.sizes.record_n(64, 3).unwrap();
        for bytes in [80, 144, 304, 816, 2608, 7216, 20_528, 65_584, 196_656, 655_408] {
            stats.sizes += bytes;
        }
        // This is the output of redis-cli 8.0-m01 for keys of these sizes.
        let expected = "Key size Percentile Total keys\n-------- ---------- -----------\n     48B    0.0000%          20\n    \
                        144B   75.0000%          25\n   7.05K   87.5000%          29\n  64.05K   93.7500%          31\n \
                        192.05K   96.8750%          32\n 640.06K  100.0000%          33\n\
                        Note: 0.01% size precision, Mean: 28.13K, StdDeviation: 113.48K\n";
        assert_eq!(stats.distribution(), expected);
    }
}
