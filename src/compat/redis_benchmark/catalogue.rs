//! The tests of the suite: names, titles and commands, in the order in which they run.

use super::{Flavour, asked::BenchOptions, payload::Payload, suite::Test, words::Steps};
use crate::compat::options::Who;

/// A test.
struct Entry {
    /// The names by which -t chooses it.
    names: &'static [&'static str],
    title: &'static str,
    /// Its command: words, of which those in angle brackets stand for others.
    words: &'static str,
    /// How often what stands behind the first word is repeated.
    times: usize,
    who: Who,
}

const fn row(names: &'static [&'static str], title: &'static str, words: &'static str) -> Entry {
    Entry { names, title, words, times: 1, who: Who::All }
}

/// A line as a person types it, and no array of words.
const INLINE: &str = "PING\r\n";

const TESTS: [Entry; 24] = [
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
    Entry { times: 10, ..row(&["mset"], "MSET (10 keys)", "MSET key:__rand_int__ <data>") },
    Entry { times: 10, who: Who::Valkey, ..row(&["mget"], "MGET (10 keys)", "MGET key:__rand_int__") },
    row(&["xadd"], "XADD", "XADD mystream * myfield <data>"),
    Entry { who: Who::Valkey, ..row(&["function_load"], "FUNCTION LOAD", "function load replace <library>") },
    Entry { who: Who::Valkey, ..row(&["fcall"], "FCALL", "fcall foo1 <keys>") },
];

/// The tests that are asked for, with the payload that this round of the suite has.
pub(super) fn tests(flavour: Flavour, asked: &BenchOptions, payload: &mut Payload) -> Vec<Test> {
    let filling = Filling { flavour, asked, data: payload.take(asked.data_size) };
    TESTS.iter().filter(|row| is_chosen(row, flavour, asked)).map(|row| filling.test(row)).collect()
}

/// What is not named runs if it is one of theirs. `redyno bench` has Redis's, and Valkey's further ones by name.
fn is_chosen(row: &Entry, flavour: Flavour, asked: &BenchOptions) -> bool {
    match &asked.tests {
        None => row.who == Who::All || flavour == Flavour::Valkey,
        Some(list) => {
            flavour.takes(row.who) && row.names.iter().any(|name| list.contains(&format!(",{name},")))
        }
    }
}

/// What takes the place of the words in angle brackets.
struct Filling<'a> {
    flavour: Flavour,
    asked: &'a BenchOptions,
    data: Vec<u8>,
}

impl Filling<'_> {
    fn test(&self, row: &Entry) -> Test {
        let size = self.asked.data_size as u64;
        if row.words == INLINE {
            return Test::of(row.title, Steps::raw(INLINE), 1, size);
        }
        let mut words = row.words.split(' ');
        let mut command: Vec<Vec<u8>> =
            words.next().into_iter().map(|name| name.as_bytes().to_vec()).collect();
        let rest: Vec<_> = words.collect();
        for word in (0..row.times).flat_map(|_| &rest) {
            self.fill(word, &mut command);
        }
        let mut steps = Steps::new(self.asked, self.flavour != Flavour::Redis);
        steps.add(&command);
        let before = (row.title == "FCALL").then(|| {
            let script = library(1, self.asked.num_keys_in_fcall > 0);
            ["FUNCTION", "LOAD", "REPLACE", &script].map(|word| word.as_bytes().to_vec()).into()
        });
        Test { before, ..Test::of(row.title, steps, 1, size) }
    }

    fn fill(&self, word: &str, command: &mut Vec<Vec<u8>>) {
        let one = |text: &str| vec![text.as_bytes().to_vec()];
        let has_keyspace = self.asked.keyspace.is_some();
        command.extend(match word {
            "<data>" => vec![self.data.clone()],
            "<score>" => one(if has_keyspace { "__rand_int__" } else { "0" }),
            "element:<member>" if self.flavour == Flavour::Valkey => one("element:__rand_1st__"),
            "element:<member>" => one("element:__rand_int__"),
            "<library>" => one(&library(self.asked.num_functions, false)),
            "<keys>" => {
                let keys = (1..=self.asked.num_keys_in_fcall).map(|n| format!("key{n}").into_bytes());
                [self.asked.num_keys_in_fcall.to_string().into_bytes()].into_iter().chain(keys).collect()
            }
            word => one(word),
        });
    }
}

/// The library of so many functions, as far as 64 KiB hold it.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(flavour: Flavour, list: Option<&str>) -> Vec<String> {
        let asked = BenchOptions { tests: list.map(|list| format!(",{list},")), ..BenchOptions::usual() };
        tests(flavour, &asked, &mut Payload::new()).into_iter().map(|test| test.title).collect()
    }

    #[test]
    fn each_has_its_own_suite() {
        assert_eq!(titles(Flavour::Redis, None).len(), 21);
        assert_eq!(titles(Flavour::Redyno, None), titles(Flavour::Redis, None));
        assert_eq!(titles(Flavour::Valkey, None).len(), 24);
    }

    #[test]
    fn names_choose_and_what_is_unknown_is_passed_over() {
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
}
