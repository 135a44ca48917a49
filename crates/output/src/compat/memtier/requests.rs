//! Turns memtier_benchmark's options into a workload. Each operation of the workload has a row in the results.

use std::collections::BTreeMap;

use super::{
    import,
    option_values::{Breakdown, KeyOrder, MemtierProtocol, UserCommand},
    options::MemtierOptions,
};
use crate::compat::numbers::{NumberRange, Ratio};
use crate::workload::{Content, Distribution, Keyset, Operation, OperationOrder, Size, ValueKind, Workload};

/// The names of the rows if the user gives no commands.
pub(super) const DEFAULT_ROWS: [&str; 3] = ["SET", "GET", "WAIT"];

/// The names of the rows for SCANs that follow their cursors.
const SCANS: [&str; 2] = ["SCAN 0", "SCAN <cursor>"];

/// The requests of a run.
#[derive(Debug)]
pub(super) struct RunRequests {
    pub(super) workload: Workload,
    /// The names of the rows.
    pub(super) rows: Vec<String>,
    /// The row of each operation, by its name.
    pub(super) row_of: BTreeMap<String, usize>,
}

impl RunRequests {
    /// Translates the options into requests.
    ///
    /// # Errors
    /// Fails if options cannot be translated. The error is a message about these options.
    pub(super) fn of(options: &MemtierOptions) -> Result<Self, String> {
        let mut requests = Self { workload: Workload::default(), rows: Vec::new(), row_of: BTreeMap::new() };
        requests.workload.name = "memtier".to_owned();
        requests.workload.order = match (options.follows_cursors, options.is_transaction) {
            (true, _) => OperationOrder::Scan(options.most_scans.unwrap_or(u64::MAX)),
            (false, true) => OperationOrder::OneKeyInTurn,
            (false, false) => OperationOrder::InTurn,
        };
        requests.workload.values.insert("data".to_owned(), values(options));
        if options.commands.is_empty() {
            requests.add_usual(options)?;
        } else {
            requests.add_commands(options)?;
        }
        let checked = requests.workload.check().and_then(|()| requests.workload.check_keys(1));
        checked.map_err(|error| error.to_string())?;
        Ok(requests)
    }

    fn add_usual(&mut self, options: &MemtierOptions) -> Result<(), String> {
        self.rows = DEFAULT_ROWS.map(str::to_owned).into();
        if !options.import.records.is_empty() {
            return self.add_imported(options);
        }
        for (name, pattern) in ["set", "get"].into_iter().zip(options.patterns()) {
            self.add_keys(name, pattern, options);
        }
        for (turn, times) in request_sequence(options)? {
            match turn {
                RequestKind::Set => self.add(0, set(options), times),
                RequestKind::Get(keys) => self.add(1, get(keys, options), times),
                RequestKind::Wait => self.add(2, wait(options), times),
            }
        }
        Ok(())
    }

    /// Adds the requests for imported records. Each client sends SETs in the order of the file, and GETs in
    /// the order of GET's key pattern.
    fn add_imported(&mut self, options: &MemtierOptions) -> Result<(), String> {
        let patterns = [KeyOrder::Sequential, options.patterns()[1]];
        for (name, pattern) in import::SETS.into_iter().zip(patterns) {
            self.add_keys(name, pattern, options);
            self.workload.keys.values_mut().for_each(|keys| {
                (keys.first, keys.count) = (0, Some(options.keys()));
            });
        }
        let [sets, gets] = import::requests(options);
        for (turn, times) in request_sequence(options)? {
            // The requests are complete. The steps only name their commands, in a form that each dialect accepts.
            let (row, step, ready) = match turn {
                RequestKind::Set => (0, "SET key value".to_owned(), Some(sets.clone())),
                RequestKind::Get(_) => (1, "GET key".to_owned(), Some(gets.clone())),
                RequestKind::Wait => (2, wait(options), None),
            };
            self.add(row, step, times);
            if let Some(added) = self.workload.operations.last_mut() {
                (added.is_raw, added.ready) = (ready.is_some(), ready);
            }
        }
        Ok(())
    }

    fn add_commands(&mut self, options: &MemtierOptions) -> Result<(), String> {
        let mut senders = Vec::new();
        for (place, command) in options.commands.iter().enumerate() {
            if options.is_monitored(command) {
                senders.push(self.add_sender(command.ratio));
                continue;
            }
            // The pattern of the first command with a key is that of a whole transaction.
            let first = options.commands.iter().position(|command| command.keys() > 0);
            let keys = format!("k{}", first.filter(|_| options.is_transaction).unwrap_or(place));
            let step = command.step(&keys).ok_or("data placeholder can't combined with other data")?;
            if !self.workload.keys.contains_key(&keys) {
                self.add_keys(&keys, command.pattern, options);
            }
            if options.follows_cursors {
                let rest = UserCommand { words: command.words[2..].to_vec(), ..command.clone() };
                let rest = rest.step(&keys).unwrap_or_default();
                self.rows = SCANS.map(str::to_owned).into();
                self.add(0, step, 1);
                self.add(1, format!("SCAN {{cursor}} {rest}"), 1);
                return Ok(());
            }
            let row = self.row_for(command, options);
            self.add(row, step, command.ratio);
        }
        if !senders.is_empty() {
            self.add_monitored(senders, options);
        }
        Ok(())
    }

    /// Returns the row of a command. With one row for each command (`--command-stats-breakdown line`),
    /// several rows may have the same name, as in memtier_benchmark.
    pub(super) fn row_for(&mut self, command: &UserCommand, options: &MemtierOptions) -> usize {
        let name = command.name();
        let known = self.rows.iter().position(|row| *row == name && options.breakdown == Breakdown::Command);
        known.unwrap_or_else(|| {
            self.rows.push(name);
            self.rows.len() - 1
        })
    }

    pub(super) fn add(&mut self, row: usize, step: String, times: u32) {
        let operations = &mut self.workload.operations;
        let name = format!("{} {}", self.rows[row], operations.len() + 1);
        self.row_of.insert(name.clone(), row);
        operations.push(Operation { name, weight: times, steps: vec![step], ..Operation::default() });
    }

    fn add_keys(&mut self, name: &str, pattern: KeyOrder, options: &MemtierOptions) {
        // memtier_benchmark's zipf pattern begins at key 1.
        let first = options.key_minimum.max(u64::from(pattern == KeyOrder::Zipf));
        let count = Some((options.key_maximum - first).saturating_add(1));
        let distribution = match pattern {
            KeyOrder::Random => Distribution::Uniform,
            KeyOrder::Sequential => Distribution::SequentialByClient,
            KeyOrder::Parallel => Distribution::Partitioned,
            KeyOrder::Gaussian => {
                Distribution::Gaussian { median: options.key_median, deviation: options.key_stddev }
            }
            KeyOrder::Zipf => Distribution::ZipfianInOrder(options.key_zipf_exp.unwrap_or(1.0)),
        };
        let keys = Keyset { first, count, distribution, digits: 0, ..Keyset::default() };
        self.workload.keys.insert(name.to_owned(), keys);
    }
}

fn values(options: &MemtierOptions) -> ValueKind {
    let size = match (&options.data_size_list, options.data_size_range) {
        (Some(list), _) => {
            let mut weights = BTreeMap::new();
            list.iter().for_each(|(size, weight)| *weights.entry(*size).or_insert(0) += weight);
            Size::Weights(weights)
        }
        (None, Some(range)) => Size::Range { from: range.min, to: range.max },
        (None, None) => Size::Bytes(options.data_size.unwrap_or(32)),
    };
    let content = if options.is_data_random { Content::Random } else { Content::Alike };
    ValueKind { size, content }
}

fn set(options: &MemtierOptions) -> String {
    match options.expiry_range {
        None if options.data_offset > 0 => format!("SETRANGE {{set}} {} {{data}}", options.data_offset),
        None => "SET {set} {data}".to_owned(),
        Some(range) => format!("SETEX {{set}} {{number {}..{}}} {{data}}", range.min.max(1), range.max),
    }
}

fn get(keys: u32, options: &MemtierOptions) -> String {
    match (keys, options.data_offset) {
        (0, 0) => "GET {get}".to_owned(),
        (0, offset) => format!("GETRANGE {{get}} {offset} -1"),
        (keys, _) => format!("MGET{}", " {get}".repeat(keys as usize)),
    }
}

fn wait(options: &MemtierOptions) -> String {
    format!("WAIT {} {}", number(options.num_slaves), number(options.wait_timeout))
}

fn number(span: Option<NumberRange>) -> String {
    span.map_or("0".to_owned(), |span| format!("{{number {}..{}}}", span.min, span.max))
}

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    Set,
    /// A request that gets this many keys at once. 0 stands for a GET with one key.
    Get(u32),
    Wait,
}

/// The largest number of entries in the sequence of requests that a client repeats.
const MAX_SEQUENCE_LENGTH: usize = crate::workload::MAX_OPERATIONS;

/// Returns the sequence of requests that a client repeats, each kind with the number of its requests. SETs come first,
/// and then GETs. Some SETs have a WAIT before them.
fn request_sequence(options: &MemtierOptions) -> Result<Vec<(RequestKind, u32)>, String> {
    let Ratio { a: sets, b: gets } = options.ratio();
    let gets = || {
        let keys = options.multi_key_get;
        match keys {
            0 => vec![(RequestKind::Get(0), gets)],
            keys => {
                vec![
                    (RequestKind::Get(keys), gets / keys),
                    (RequestKind::Get(gets % keys), u32::from(gets % keys > 0)),
                ]
            }
        }
    };
    let Some(wait) = options.wait_ratio.filter(|wait| wait.b > 0) else {
        return Ok([vec![(RequestKind::Set, sets)], gets()].concat());
    };
    if options.protocol == MemtierProtocol::MemcacheText || sets == 0 {
        return Err("wait-ratio needs SETs of a redis protocol".to_owned());
    }
    let mut turns: Vec<(RequestKind, u32)> = Vec::new();
    let is_too_long = |turns: &[_]| turns.len() > MAX_SEQUENCE_LENGTH;
    // memtier_benchmark sends a WAIT when SETs / WAITs, rounded down, exceeds a / b.
    let (mut sent, each) = (0_u64, u64::from(wait.a / wait.b) + 1);
    loop {
        for _ in 0..sets {
            if sent.is_multiple_of(each) {
                turns.push((RequestKind::Wait, 1));
            }
            match turns.last_mut() {
                Some((RequestKind::Set, times)) => *times += 1,
                _ => turns.push((RequestKind::Set, 1)),
            }
            sent += 1;
            if is_too_long(&turns) {
                break;
            }
        }
        turns.extend(gets());
        if is_too_long(&turns) {
            return Err(format!(
                "with this ratio and wait-ratio, the sequence of requests repeats only after more than {MAX_SEQUENCE_LENGTH} groups of equal requests; use smaller numbers"
            ));
        }
        if sent.is_multiple_of(each) {
            return Ok(turns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::memtier::parse::tests::options;

    fn operations(line: &str) -> Vec<(String, u32)> {
        let requests = RunRequests::of(&options(line)).unwrap();
        let operation = |operation: Operation| (operation.steps.concat(), operation.weight);
        requests.workload.operations.into_iter().map(operation).collect()
    }

    fn texts(line: &str) -> Vec<String> {
        operations(line).into_iter().map(|(step, weight)| format!("{weight} {step}")).collect()
    }

    #[test]
    fn a_ratio_is_a_number_of_sets_and_then_a_number_of_gets() {
        assert_eq!(texts(""), ["1 SET {set} {data}", "10 GET {get}"]);
        assert_eq!(
            texts("--ratio 3:5 --multi-key-get 2 --expiry-range 0-9"),
            ["3 SETEX {set} {number 1..9} {data}", "2 MGET {get} {get}", "1 MGET {get}"]
        );
    }

    #[test]
    fn memtier_benchmark_sends_the_same_number_of_waits() {
        let wait = "WAIT {number 1..2} 0";
        let line = "--ratio 2:1 --wait-ratio 3:2 --num-slaves 1-2";
        let written = |line| texts(line).join(", ");
        let both = format!("1 {wait}, 2 SET {{set}} {{data}}, 1 GET {{get}}");
        assert_eq!(written(line), both);
        let first = "1 SET {set} {data}";
        let rest =
            format!("{first}, 1 {wait}, {first}, 1 GET {{get}}, 2 SET {{set}} {{data}}, 1 GET {{get}}");
        assert_eq!(written(&line.replace("3:2", "5:2")), format!("{both}, {rest}"));
        assert!(RunRequests::of(&options("--ratio 0:1 --wait-ratio 1:1")).is_err());
        assert!(
            RunRequests::of(&options("--ratio 1000:1 --wait-ratio 1:1")).unwrap_err().contains("256 groups")
        );
    }

    #[test]
    fn a_scan_has_an_operation_that_follows_its_cursor() {
        let mut line = options("--command scan --scan-incremental-max-iterations 3");
        (line.follows_cursors, line.commands) =
            (true, vec![UserCommand::read("scan 0 match a:* count __key__").unwrap()]);
        let RunRequests { workload, rows, .. } = RunRequests::of(&line).unwrap();
        assert_eq!((workload.order, rows), (OperationOrder::Scan(3), SCANS.map(str::to_owned).to_vec()));
        let steps: Vec<_> = workload.operations.iter().map(|operation| operation.steps.concat()).collect();
        let rest = r#""match" "a:*" "count" "{k0}""#;
        assert_eq!(steps, [format!(r#""scan" "0" {rest}"#), format!("SCAN {{cursor}} {rest}")]);
    }

    #[test]
    fn commands_of_monitor_have_rows_by_their_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines = [
            "[ p1 ] 1.0 [0 x] \"SET\" \"k\" \"v\"",
            "\"CONFIG\" \"GET\" \"*\"",
            "OK",
            "\"get\" \"k\"",
            "\"get\" \"k",
        ];
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        let of = |commands: &str| {
            let line = format!("--monitor-input {} {commands}", file.path().display());
            let mut options = options(&line);
            let said = options.read_monitor()?;
            Ok::<_, String>((RunRequests::of(&options)?, said))
        };
        let (requests, said) =
            of("--command __monitor_line3__ --command __monitor_line@__ --command-ratio 3").unwrap();
        let operations = requests.workload.operations.iter();
        let operations: Vec<_> =
            operations.map(|operation| (operation.steps.concat(), operation.weight)).collect();
        let expected = [("\"get\" \"k\"", 1), ("PING", 3), ("SET", 0), ("GET", 0)];
        assert_eq!(operations, expected.map(|(step, weight)| (step.to_owned(), weight)));
        assert_eq!(requests.rows, ["GET", "SET"]);
        assert_eq!(requests.workload.trace.unwrap().count(), 2);
        assert_eq!(
            said,
            [
                "Loaded 4 monitor commands from 5 total lines",
                "warning: skipping malformed monitor command 4: the quotes of a word are not closed",
                "warning: 1 command not sent: CONFIG GET 1",
            ]
        );
        for (placeholder, what) in [
            (
                "__monitor_line1",
                "invalid monitor placeholder '__monitor_line1' (valid range: __monitor_line1__ to ",
            ),
            ("__monitor_line0__", "invalid monitor placeholder"),
            ("__monitor_line5__", "invalid monitor placeholder"),
            ("__monitor_line1__garbage", "invalid monitor placeholder"),
            ("__monitor_line4__", "failed to parse monitor command of __monitor_line4__: the quotes"),
            ("__monitor_line2__", "__monitor_line2__ is CONFIG GET, which redyno does not send"),
        ] {
            let error = of(&format!("--command {placeholder}")).unwrap_err();
            assert!(error.starts_with(what), "{error}");
        }
    }

    #[test]
    fn rows_are_by_the_first_word_or_by_the_line() {
        let line = "--command set --command get --command set";
        let rows = |more: &str| RunRequests::of(&options(&format!("{line} {more}"))).unwrap().rows;
        assert_eq!(rows(""), ["SET", "GET"]);
        assert_eq!(rows("--command-stats-breakdown line"), ["SET", "GET", "SET"]);
        assert_eq!(rows("--command-stats-breakdown LINE"), ["SET", "GET", "SET"]);
    }

    #[test]
    fn keys_and_values_are_those_that_the_options_request() {
        let line = "--key-pattern Z:G --key-maximum 9 --key-median 5 --data-size-list 1:2,3:4,1:1 -R";
        let RunRequests { workload, .. } = RunRequests::of(&options(line)).unwrap();
        let [get, set] = ["get", "set"].map(|name| &workload.keys[name]);
        assert_eq!((set.first, set.count, set.distribution), (1, Some(9), Distribution::ZipfianInOrder(1.0)));
        let bell = Distribution::Gaussian { median: Some(5.0), deviation: None };
        assert_eq!((get.first, get.count, get.distribution), (0, Some(10), bell));
        assert_eq!(workload.values["data"].to_string(), "1:3,3:4 random");
    }
}
