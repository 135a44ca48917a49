//! The tests of redis-benchmark: names, titles and commands, in the order in which they run. A user can also give one
//! or several commands: `[N] COMMAND ARG... [';' [N] COMMAND ARG...]`.

use std::sync::Arc;

use super::{
    Flavour,
    command_steps::{CommandSteps, Payload},
    options::BenchOptions,
};
use crate::{
    compat::numbers::atoi,
    protocol::Dialect,
    untrusted,
    workload::{MAX_STEPS, Operation, Workload},
};

/// A row of the table of tests.
struct TestRow {
    /// The names of the test for the option `-t`.
    names: &'static [&'static str],
    title: &'static str,
    /// The command. Words in angle brackets are replaced.
    words: &'static str,
    /// The number of repetitions of the words after the first word.
    times: usize,
    /// Whether the test exists only in valkey-benchmark.
    is_of_valkey: bool,
}

const fn row(names: &'static [&'static str], title: &'static str, words: &'static str) -> TestRow {
    TestRow { names, title, words, times: 1, is_of_valkey: false }
}

/// A PING as an inline command. All other commands are arrays.
const INLINE: &str = "PING\r\n";

const TESTS: [TestRow; 24] = [
    row(&["ping_inline", "ping"], "PING_INLINE", INLINE),
    row(&["ping_mbulk", "ping"], "PING_MBULK", "PING"),
    row(&["set"], "SET", "SET key:__rand_int__ <data>"),
    row(&["get"], "GET", "GET key:__rand_int__"),
    row(&["incr"], "INCR", "INCR counter:__rand_int__"),
    row(&["lpush"], "LPUSH", "LPUSH mylist <data>"),
    row(&["rpush"], "RPUSH", "RPUSH mylist <data>"),
    row(&["lpop"], "LPOP", "LPOP mylist"),
    row(&["rpop"], "RPOP", "RPOP mylist"),
    row(&["sadd"], "SADD", "SADD myset element:__rand_int__"),
    row(&["hset"], "HSET", "HSET myhash element:__rand_int__ <data>"),
    row(&["spop"], "SPOP", "SPOP myset"),
    row(&["zadd"], "ZADD", "ZADD myzset <score> element:<member>"),
    row(&["zpopmin"], "ZPOPMIN", "ZPOPMIN myzset"),
    row(
        &["lrange", "lrange_100", "lrange_300", "lrange_500", "lrange_600"],
        "LPUSH (needed to benchmark LRANGE)",
        "LPUSH mylist <data>",
    ),
    row(&["lrange", "lrange_100"], "LRANGE_100 (first 100 elements)", "LRANGE mylist 0 99"),
    row(&["lrange", "lrange_300"], "LRANGE_300 (first 300 elements)", "LRANGE mylist 0 299"),
    row(&["lrange", "lrange_500"], "LRANGE_500 (first 500 elements)", "LRANGE mylist 0 499"),
    row(&["lrange", "lrange_600"], "LRANGE_600 (first 600 elements)", "LRANGE mylist 0 599"),
    TestRow { times: 10, ..row(&["mset"], "MSET (10 keys)", "MSET key:__rand_int__ <data>") },
    TestRow { times: 10, is_of_valkey: true, ..row(&["mget"], "MGET (10 keys)", "MGET key:__rand_int__") },
    row(&["xadd"], "XADD", "XADD mystream * myfield <data>"),
    TestRow {
        is_of_valkey: true,
        ..row(&["function_load"], "FUNCTION LOAD", "function load replace <library>")
    },
    TestRow { is_of_valkey: true, ..row(&["fcall"], "FCALL", "fcall foo1 <keys>") },
];

/// Returns the requested tests for one round of the suite. The option `-l` repeats the suite. `payload` generates the
/// values of the tests.
pub(super) fn tests(flavour: Flavour, options: &BenchOptions, payload: &mut Payload) -> Vec<Test> {
    let filling = WordReplacer { flavour, options, data: payload.take(options.data_size) };
    TESTS.iter().filter(|row| is_chosen(row, flavour, options)).map(|row| filling.test(row)).collect()
}

/// Returns whether a test runs. Without `-t`, the tests of the tool's own suite run. `redyno bench` has the suite of
/// redis-benchmark. `redyno bench` also runs a test of valkey-benchmark if `-t` names this test.
fn is_chosen(row: &TestRow, flavour: Flavour, options: &BenchOptions) -> bool {
    match &options.tests {
        None => !row.is_of_valkey || flavour == Flavour::Valkey,
        Some(list) => {
            let is_known = !row.is_of_valkey || flavour != Flavour::Redis;
            is_known && row.names.iter().any(|name| list.contains(&format!(",{name},")))
        }
    }
}

/// The values that replace words in angle brackets.
struct WordReplacer<'a> {
    flavour: Flavour,
    options: &'a BenchOptions,
    data: Vec<u8>,
}

/// The beginnings of the keys in the table of tests.
const KEYS: [&str; 7] = ["key", "counter", "mylist", "myset", "myhash", "myzset", "mystream"];

impl WordReplacer<'_> {
    fn test(&self, row: &TestRow) -> Test {
        let size = self.options.data_size as u64;
        if row.words == INLINE {
            return Test::of(row.title, CommandSteps::raw(INLINE), 1, size);
        }
        let mut words = row.words.split(' ');
        let mut command: Vec<Vec<u8>> =
            words.next().into_iter().map(|name| name.as_bytes().to_vec()).collect();
        let rest: Vec<_> = words.collect();
        for word in (0..row.times).flat_map(|_| &rest) {
            self.fill(word, &mut command);
        }
        let mut steps = CommandSteps::new(self.options, self.flavour != Flavour::Redis);
        steps.add(&command);
        let before = (row.title == "FCALL").then(|| {
            let script = library(1, self.options.num_keys_in_fcall > 0);
            ["FUNCTION", "LOAD", "REPLACE", &script].map(|word| word.as_bytes().to_vec()).into()
        });
        Test { before, ..Test::of(row.title, steps, 1, size) }
    }

    fn fill(&self, word: &str, command: &mut Vec<Vec<u8>>) {
        let one = |text: &str| vec![text.as_bytes().to_vec()];
        let has_keyspace = self.options.keyspace.is_some();
        command.extend(match word {
            "<data>" => vec![self.data.clone()],
            "<score>" => one(if has_keyspace { "__rand_int__" } else { "0" }),
            "element:<member>" if self.flavour == Flavour::Valkey => one("element:__rand_1st__"),
            "element:<member>" => one("element:__rand_int__"),
            "<library>" => one(&library(self.options.num_functions, false)),
            "<keys>" => {
                let keys = (1..=self.options.num_keys_in_fcall).map(|n| format!("key{n}").into_bytes());
                [self.options.num_keys_in_fcall.to_string().into_bytes()].into_iter().chain(keys).collect()
            }
            word => one(&self.tagged(word)),
        });
    }

    /// Returns a word of the table. On a cluster, a key gets a hash tag: `key:{tag}:__rand_int__`, `mylist:{tag}`.
    fn tagged(&self, word: &str) -> String {
        let base = word.split(':').next().unwrap_or_default();
        match self.options.is_cluster && KEYS.contains(&base) {
            true => format!("{base}:{{tag}}{}", &word[base.len()..]),
            false => word.to_owned(),
        }
    }
}

/// Returns the code of a library for FUNCTION LOAD with this many functions. The library has fewer functions if the
/// code would exceed 64 KiB.
fn library(functions: i64, with_keys: bool) -> String {
    const ROOM: usize = 64 * 1024;
    let mut script = "#!lua name=benchlib\n".to_owned();
    for n in (1..=functions).rev() {
        let body = match with_keys {
            true => format!("local function foo{n}(keys, args)\nreturn keys[0]\nend\n"),
            false => format!("local function foo{n}()\nreturn 0\nend\n"),
        };
        let function = body + &format!("server.register_function('foo{n}', foo{n})\n");
        if script.len() + function.len() >= ROOM {
            break;
        }
        script += &function;
    }
    script
}

/// A test of the suite, or the user's own command.
pub(super) struct Test {
    pub(super) title: String,
    pub(super) workload: Arc<Workload>,
    /// The number of commands in an operation. Each command counts as a request.
    pub(super) commands: u64,
    /// The payload that is reported, in bytes.
    pub(super) payload: u64,
    /// A command to send once before the test, on a separate connection.
    pub(super) before: Option<Vec<Vec<u8>>>,
}

impl Test {
    /// Returns the test of these steps. `commands` is the number of commands in the steps.
    pub(super) fn of(title: &str, steps: CommandSteps, commands: u64, payload: u64) -> Self {
        let (title, CommandSteps { steps, sets, is_raw, .. }) = (title.to_owned(), steps);
        let operation = Operation { name: title.clone(), weight: 1, steps, is_raw, ..Operation::default() };
        let (name, operations) = (title.clone(), vec![operation]);
        let workload = Arc::new(Workload { name, keys: sets, operations, ..Workload::default() });
        Self { title, workload, commands, payload, before: None }
    }
}

/// The placeholder for a value.
const DATA: &[u8] = b"__data__";

/// Returns the title of the user's own commands.
pub(super) fn title(options: &BenchOptions) -> String {
    let words: Vec<_> = options.command.iter().map(|word| untrusted::bytes(word)).collect();
    words.join(" ")
}

/// The error for a sequence that contains only semicolons.
const NO_COMMAND: &str = "the sequence has no command; give one, such as GET key, before or after the ;";

/// Returns the test of the user's commands.
///
/// # Errors
/// Fails if there are only semicolons and no commands, or too many commands.
pub(super) fn user_test(
    flavour: Flavour,
    title: &str,
    options: &BenchOptions,
    payload: &mut Payload,
) -> Result<Test, String> {
    let mut commands = match flavour {
        Flavour::Redis => vec![(1, options.command.clone())],
        Flavour::Redyno | Flavour::Valkey => sequence(&options.command),
    };
    let all = commands.iter().fold(0_u64, |all, (times, _)| all.saturating_add(*times));
    match all {
        0 => return Err(NO_COMMAND.to_owned()),
        1..=MAX_STEPS => {}
        all => return Err(format!("the sequence has {all} commands; give at most {MAX_STEPS}")),
    }
    let mut steps = CommandSteps::new(options, flavour != Flavour::Redis);
    let mut bytes = 0;
    for (times, command) in &mut commands {
        if flavour != Flavour::Redis {
            command.iter_mut().for_each(|word| *word = with_data(word, options.data_size, payload));
        }
        let words: Vec<_> = command.iter().map(Vec::as_slice).collect();
        bytes += *times * Dialect::Resp2.encode(&words).len() as u64;
        (0..*times).for_each(|_| steps.add(command));
    }
    Ok(Test::of(title, steps, all, bytes))
}

/// Returns the commands of a sequence, each with its number of repetitions.
fn sequence(words: &[Vec<u8>]) -> Vec<(u64, Vec<Vec<u8>>)> {
    let commands = words.split(|word| word == b";").map(|command| match command {
        [times, rest @ ..] if times.first().is_some_and(|first| (b'1'..=b'9').contains(first)) => {
            (atoi(&untrusted::bytes(times)) as u64, rest.to_vec())
        }
        command => (1, command.to_vec()),
    });
    commands.filter(|(_, command)| !command.is_empty()).collect()
}

/// Returns a word in which new bytes replace each `__data__`.
fn with_data(word: &[u8], size: usize, payload: &mut Payload) -> Vec<u8> {
    let (mut filled, mut from) = (Vec::new(), 0);
    for at in memchr::memmem::find_iter(word, DATA) {
        filled.extend_from_slice(&word[from..at]);
        filled.extend(payload.take(size));
        from = at + DATA.len();
    }
    filled.extend_from_slice(&word[from..]);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(flavour: Flavour, list: Option<&str>) -> Vec<String> {
        let options = BenchOptions { tests: list.map(|list| format!(",{list},")), ..BenchOptions::usual() };
        tests(flavour, &options, &mut Payload::new()).into_iter().map(|test| test.title).collect()
    }

    #[test]
    fn each_flavour_has_its_own_suite() {
        assert_eq!(titles(Flavour::Redis, None).len(), 21);
        assert_eq!(titles(Flavour::Redyno, None), titles(Flavour::Redis, None));
        assert_eq!(titles(Flavour::Valkey, None).len(), 24);
    }

    #[test]
    fn names_choose_tests_and_unknown_names_are_ignored() {
        assert_eq!(titles(Flavour::Redis, Some("get,nope,mget")), ["GET"]);
        assert_eq!(
            titles(Flavour::Redyno, Some("mget,ping")),
            ["PING_INLINE", "PING_MBULK", "MGET (10 keys)"]
        );
        assert_eq!(
            titles(Flavour::Redis, Some("lrange_300")),
            ["LPUSH (needed to benchmark LRANGE)", "LRANGE_300 (first 300 elements)"]
        );
        assert_eq!(titles(Flavour::Redis, Some("lrang")), Vec::<String>::new());
    }

    #[test]
    fn a_library_has_its_functions_from_the_last_to_the_first() {
        assert_eq!(
            library(2, false),
            "#!lua name=benchlib\nlocal function foo2()\nreturn 0\nend\nserver.register_function('foo2', foo2)\n\
             local function foo1()\nreturn 0\nend\nserver.register_function('foo1', foo1)\n"
        );
        assert!(library(10_000, true).len() < 64 * 1024);
    }

    fn options(line: &str) -> BenchOptions {
        let command = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        BenchOptions { command, data_size: 4, ..BenchOptions::usual() }
    }

    #[test]
    fn commands_of_a_sequence_are_repeated_and_counted_one_by_one() {
        let options = options("multi ; 3 set k:__rand_int__ <__data__> ; exec");
        let test = self::user_test(Flavour::Redyno, &title(&options), &options, &mut Payload::new()).unwrap();
        assert_eq!(
            (test.commands, test.title.as_str()),
            (5, "multi ; 3 set k:__rand_int__ <__data__> ; exec")
        );
        let steps = &test.workload.operations[0].steps;
        assert_eq!(steps[0], "\"multi\"");
        assert!(steps[1].ends_with(" \"<VXKe>\"") && steps[1] == steps[3], "{steps:?}");
        assert_eq!(
            test.payload,
            15 + 14 + 3 * "*3\r\n$3\r\nset\r\n$14\r\nk:__rand_int__\r\n$6\r\n<VXKe>\r\n".len() as u64
        );
    }

    #[test]
    fn redis_benchmark_supports_neither_sequences_nor_values() {
        let options = options("3 set ; __data__");
        let test = self::user_test(Flavour::Redis, "t", &options, &mut Payload::new()).unwrap();
        assert_eq!(test.workload.operations[0].steps, ["\"3\" \"set\" \";\" \"__data__\""]);
        let refusal = |line| {
            let options = self::options(line);
            self::user_test(Flavour::Valkey, "t", &options, &mut Payload::new()).err().unwrap()
        };
        assert_eq!(refusal(";"), NO_COMMAND);
        for (line, all) in [
            ("1000 SET k v ; GET k", "1001"),
            ("9223372036854775807 a ; 9223372036854775807 b ; 9 c", "18446744073709551615"),
        ] {
            assert_eq!(refusal(line), format!("the sequence has {all} commands; give at most 1000"));
        }
    }
}
