//! Reads the file of a trace, stores the commands in memory, and creates the workload that sends them.

use std::{collections::BTreeMap, path::Path};

use super::{
    DueTimes, KeyNaming, Keyset, MAX_VALUE_SIZE, MAX_WEIGHT, Operation, Trace, TraceOrder, Workload,
    WorkloadError, command_traits,
    dataset::Input,
    times::LATEST_S,
    trace::{
        MonitorLine, OTHERS, TRACE_KEYS, TraceContent, WordRole, command_of, has_several, listed, moved_keys,
        shown,
    },
};
use crate::{
    units::{self, count_with_noun},
    untrusted,
};

/// The header line of a capture with the lengths of values instead of the values. A capture is a file of recorded
/// commands.
pub const LENGTHS: &str = "# values: (N bytes)";
/// The name of the operation that sends all rare commands.
const OTHER: &str = "other";
const MOST_NAMES: usize = 1000;
/// The maximum number of operations, including the operation for rare commands.
const MOST_OPERATIONS: usize = 16;
/// The maximum memory of a trace in bytes.
const MOST_MEMORY: usize = 1 << 30;

/// A command name in a trace, with the number of its calls.
struct NamedCommand {
    name: String,
    writes: bool,
    count: u64,
}

/// The commands of a file that is being read.
#[derive(Default)]
struct TraceReader {
    content: TraceContent,
    names: Vec<NamedCommand>,
    not_sent: BTreeMap<String, u64>,
    first_us: u64,
    last_us: u64,
    has_lengths: bool,
}

impl Workload {
    /// Reads the commands of a trace file. Returns the workload that sends these commands.
    ///
    /// # Errors
    /// Fails if the file cannot be read, contains no command that can be sent, or is not output of MONITOR. The error
    /// names the first invalid line.
    pub fn of_trace(file: &Path, speed: f64, order: TraceOrder) -> Result<Self, WorkloadError> {
        let fail = |what: String| invalid!("{}: {what}", untrusted::path(file));
        let mut reading = TraceReader { first_us: u64::MAX, ..TraceReader::default() };
        Input::each_line(file, |line, number| reading.take(line, number))?;
        if reading.content.count() == 0 {
            return Err(fail(match reading.not_sent.values().sum::<u64>() {
                0 => "it has no commands; record a trace with `redyno capture` or `redis-cli MONITOR`"
                    .to_owned(),
                n => format!(
                    "of its {}, none is sent: {}",
                    count_with_noun(n, "command"),
                    listed(&reading.sorted())
                ),
            }));
        }
        if (reading.last_us - reading.first_us) as f64 / 1e6 > LATEST_S {
            return Err(fail(
                "its times span more than 10 years; remove the lines with wrong times".to_owned(),
            ));
        }
        Ok(reading.workload(file, speed, order))
    }
}

impl TraceReader {
    fn take(&mut self, line: &[u8], number: u64) -> Result<(), String> {
        if line.is_empty() || line.starts_with(b"#") || line == b"OK" {
            self.has_lengths |= line == LENGTHS.as_bytes();
            return Ok(());
        }
        let MonitorLine { at_us, words } = MonitorLine::read(line).map_err(str::to_owned)?;
        self.content.early += u64::from(at_us < self.last_us);
        self.last_us = self.last_us.max(at_us);
        self.first_us = self.first_us.min(at_us);
        let command = command_of(&words);
        let Some(keys) = moved_keys(&words) else {
            let is_full = self.not_sent.len() >= MOST_NAMES && !self.not_sent.contains_key(&command);
            let name = if is_full { OTHERS.to_owned() } else { command };
            *self.not_sent.entry(name).or_default() += 1;
            return Ok(());
        };
        if self.content.several_keys.is_none() && has_several(&words, &keys) {
            self.content.several_keys = Some(format!("line {number} of the trace, '{}',", shown(&words)));
        }
        let operation = self.operation(command);
        let left_out = |word: &Vec<u8>| length_of(word).filter(|_| self.has_lengths);
        let role = |word| left_out(word).map_or(WordRole::Plain, WordRole::LeftOut);
        let mut roles: Vec<_> = words.iter().map(role).collect();
        keys.into_iter().for_each(|place| roles[place] = WordRole::Key);
        let words: Vec<_> = words.iter().map(Vec::as_slice).zip(roles).collect();
        let length = |(word, role): &(&[u8], WordRole)| match role {
            WordRole::LeftOut(length) => u64::from(*length),
            _ => word.len() as u64,
        };
        let bytes = words.iter().map(length).sum();
        self.content.largest = self.content.largest.max(bytes);
        self.content.written += if self.names[operation].writes { bytes } else { 0 };
        self.content.commands.push(at_us, operation as u16, words.into_iter());
        if self.content.commands.memory() > MOST_MEMORY {
            let most = units::bytes(MOST_MEMORY as u64);
            return Err(format!("its commands need more than {most} of memory; give a part of the file"));
        }
        Ok(())
    }

    /// Counts a command. Returns the index of the command's name.
    fn operation(&mut self, name: String) -> usize {
        let place = self.names.iter().position(|known| known.name == name);
        let place = place.unwrap_or_else(|| {
            let writes = !command_traits(&name).reads;
            self.names.push(NamedCommand { name, writes, count: 0 });
            self.names.len() - 1
        });
        self.names[place].count += 1;
        place
    }

    /// Returns the commands that are not sent, with the most frequent command first.
    fn sorted(&self) -> Vec<(String, u64)> {
        let mut all: Vec<_> = self.not_sent.iter().map(|(name, count)| (name.clone(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all
    }

    fn workload(mut self, file: &Path, speed: f64, order: TraceOrder) -> Workload {
        let mut ranked: Vec<_> = (0..self.names.len()).collect();
        ranked.sort_by_key(|place| std::cmp::Reverse(self.names[*place].count));
        let named = if ranked.len() > MOST_OPERATIONS { MOST_OPERATIONS - 1 } else { ranked.len() };
        let mut operations = vec![0; ranked.len()];
        ranked.iter().enumerate().for_each(|(rank, place)| operations[*place] = rank.min(named) as u16);
        self.content
            .commands
            .operations
            .iter_mut()
            .for_each(|place| *place = operations[usize::from(*place)]);
        let scale = self.content.commands.count() / u64::from(MAX_WEIGHT) + 1;
        let weight = |count: u64| (count / scale).max(1) as u32;
        let (often, rare) = ranked.split_at(named);
        let mut asked: Vec<_> = often
            .iter()
            .map(|place| self.names[*place].operation(weight(self.names[*place].count)))
            .collect();
        if !rare.is_empty() {
            let count = rare.iter().map(|place| self.names[*place].count).sum();
            // Misses of rare commands are not counted, because redyno treats their common operation as a
            // PING.
            let other = NamedCommand {
                name: "PING".to_owned(),
                writes: rare.iter().any(|place| self.names[*place].writes),
                count,
            };
            asked.push(Operation { name: OTHER.to_owned(), ..other.operation(weight(count)) });
        }
        self.content.not_sent = self.sorted();
        self.content.times = DueTimes::of_trace(file, self.content.commands.sort(self.first_us), speed);
        self.content.senders = (0..asked.len() as u16).collect();
        self.content.order = order;
        let trace = Trace::new(self.content);
        let keys = Keyset { count: Some(1), digits: 0, naming: KeyNaming::Anything, ..Keyset::default() };
        Workload {
            name: "trace".to_owned(),
            about: trace.to_string(),
            keys: [(TRACE_KEYS.to_owned(), keys)].into(),
            operations: asked,
            trace: Some(trace),
            ..Workload::default()
        }
    }
}

impl NamedCommand {
    /// Returns the operation that sends the commands with this name.
    fn operation(&self, weight: u32) -> Operation {
        let name = self.name.replace('|', " ");
        let step = if self.writes { format!("{name} {{{TRACE_KEYS}}}") } else { name.clone() };
        Operation { name, weight, writes: Some(self.writes), steps: vec![step], ..Operation::default() }
    }
}

/// Returns the length in a word such as `(64 bytes)`.
fn length_of(word: &[u8]) -> Option<u32> {
    let digits = word.strip_prefix(b"(")?.strip_suffix(b" bytes)")?;
    untrusted::bytes(digits).parse().ok().filter(|length| *length <= MAX_VALUE_SIZE)
}

/// The commands of a file that contains output of MONITOR. The lines can begin with other text, such as a log prefix.
pub struct MonitorCommands {
    /// The words of each command, or the error in the command.
    pub commands: Vec<Result<Vec<Vec<u8>>, &'static str>>,
    /// The number of lines, including lines without a command.
    pub lines: u64,
}

impl MonitorCommands {
    /// Reads a file. In each line, the command begins at the first quotation mark.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is too large.
    pub fn read(file: &Path) -> Result<Self, WorkloadError> {
        let (mut read, mut bytes) = (Self { commands: Vec::new(), lines: 0 }, 0);
        Input::each_line(file, |line, _| {
            read.lines += 1;
            bytes += line.len();
            if bytes > MOST_MEMORY {
                return Err(format!("the file has more than {}", units::bytes(MOST_MEMORY as u64)));
            }
            let begin = line.iter().position(|byte| *byte == b'"');
            read.commands.extend(begin.map(|begin| MonitorLine::words(&line[begin..])));
            Ok(())
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, OutgoingRequests, Program, Values},
    };

    fn read(text: &str) -> Workload {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Workload::of_trace(file.path(), 1.0, TraceOrder::OfFile).unwrap()
    }

    fn sent(workload: &Workload, count: usize) -> String {
        let values = Values::new(workload, 1, 1);
        let program = Program::new(workload, Dialect::Resp2, 1, values, &KeyNames::given("p:"));
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        (0..count).for_each(|_| _ = program.append(&mut draws, &mut out));
        String::from_utf8(out.as_whole().unwrap().to_vec()).unwrap()
    }

    #[test]
    fn words_are_sent_unchanged_and_keys_get_the_prefix() {
        let workload = read("1.000000 [0 x] \"mset\" \"a\" \"(3 bytes)\" \"b\" \"\"\n");
        assert_eq!(workload.check(), Ok(()));
        let expected = "*5\r\n$4\r\nmset\r\n$3\r\np:a\r\n$9\r\n(3 bytes)\r\n$3\r\np:b\r\n$0\r\n\r\n";
        assert_eq!(sent(&workload, 1), expected);
        let several = read("1.000000 [0 x] \"BITOP\" \"AND\" \"d\" \"a\"\n");
        assert!(several.literal_writes().is_empty(), "all keys are the run's");
        let text = sent(&workload, 2);
        assert_eq!(text, [expected, expected].concat(), "after the last one, the first is next");
    }

    #[test]
    fn times_that_span_more_than_ten_years_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "1.000000 [0 x] \"PING\"\n99999999999.000000 [0 x] \"PING\"\n").unwrap();
        let error = Workload::of_trace(file.path(), 1.0, TraceOrder::OfFile).unwrap_err().to_string();
        assert!(error.contains("its times span more than 10 years"), "{error}");
    }

    #[test]
    fn values_that_are_missing_in_a_capture_become_texts_of_the_same_length() {
        let workload = read(&format!("{LENGTHS}\n1.000000 [0 x] \"SET\" \"(9 bytes)\" \"(100000 bytes)\"\n"));
        let text = sent(&workload, 1);
        let value = text.strip_prefix("*3\r\n$3\r\nSET\r\n$11\r\np:(9 bytes)\r\n$100000\r\n").unwrap();
        assert!(value.len() == 100_002 && value[..100_000].bytes().all(|byte| byte.is_ascii_uppercase()));
        assert_eq!((workload.most_value_bytes(1), workload.footprint(1, 1).bytes), (100_012, 100_012.0));
    }

    #[test]
    fn frequent_commands_become_operations_and_rare_commands_share_one() {
        let commands = crate::workload::trace::names().filter(|name| !name.contains('|')).take(20);
        let mut text = String::new();
        for (n, name) in commands.enumerate() {
            (0..=n).for_each(|_| text += &format!("1.000000 [0 x] \"{name}\" \"k\" \"1\"\n"));
        }
        let workload = read(&text);
        assert_eq!((workload.operations.len(), workload.check()), (MOST_OPERATIONS, Ok(())));
        let last = workload.operations.last().unwrap();
        assert_eq!((last.name.as_str(), last.weight, last.writes), ("other", 15, Some(true)));
        assert_eq!(workload.operations[0].weight, 20);
    }

    #[test]
    fn lines_out_of_order_are_sorted_by_time_and_counted() {
        let line = |at: &str, key: &str| format!("{at} [0 x] \"GET\" \"{key}\"\nOK\n");
        let lines = [("3.000000", "c"), ("2.000000", "a"), ("2.000000", "b"), ("9.000000", "d")];
        let workload = read(&lines.map(|(at, key)| line(at, key)).concat());
        let expected = ["a", "b", "c", "d"].map(|key| format!("*2\r\n$3\r\nGET\r\n$3\r\np:{key}\r\n"));
        assert!(sent(&workload, 4).ends_with(&expected.concat()));
        assert!(
            workload.about.contains("4 commands in 7") && workload.about.contains("; 2 lines out of order")
        );
    }

    #[test]
    fn a_command_with_several_keys_cannot_be_divided_among_servers() {
        let line = |command: &str| format!("1.000000 [0 x] {command}\n");
        let fine = line("\"MGET\" \"a\" \"a\"") + &line("\"PING\"");
        assert_eq!(read(&fine).check_one_key(Dialect::Resp2), Ok(()));
        let several = fine + "# a note\n" + &line("\"DEL\" \"a\" \"b\"") + &line("\"MGET\" \"c\" \"d\"");
        let error = read(&several).check_one_key(Dialect::Resp2).unwrap_err().to_string();
        assert!(
            error.starts_with("line 4 of the trace, 'DEL a b', has several keys, which --hash"),
            "{error}"
        );
    }

    #[test]
    fn the_memory_for_unsent_command_names_is_limited() {
        let lines = (0..3000).map(|n| format!("1.000000 [0 x] \"X{n}\"\n"));
        let workload = read(&(lines.collect::<String>() + "1.000000 [0 x] \"GET\" \"k\"\n"));
        let not_sent = workload.trace.as_ref().unwrap().not_sent.clone();
        assert_eq!((not_sent.len(), &not_sent[0]), (MOST_NAMES + 1, &(OTHERS.to_owned(), 2000)));
    }
}
