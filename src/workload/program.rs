//! What workers run: a workload, compiled for so many keys and values of one size.
//!
//! ```text
//!  Draws ──► which operation ──► its template ──► its keys, numbers and values ──► bytes
//! ```
//! All that a client's requests depend on is in its [`Draws`]: from a copy of them a batch can be drawn again.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    Distribution, KeyNames, Misses, Operation, Outgoing, Together, Values, Workload, commands,
    data::first_word,
    outgoing::LARGE,
    step::{Fragment, Step},
};
use crate::protocol::{Dialect, Fill, Part, Template};

/// The number of an operation in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpId(u16);

impl OpId {
    /// Its place among the operations.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What one client's requests are drawn from.
#[derive(Debug, Clone)]
pub struct Draws {
    random: Pcg64Mcg,
}

impl Draws {
    /// The stream of this seed. Two streams never ask the same.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// A uniform number below `n`, by Lemire's multiplication; its bias is below n/2^64.
    #[inline]
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(n)) >> 64) as u64
    }
}

/// What to ask. Each client draws from it with its own [`Draws`].
#[derive(Debug)]
pub struct Program {
    /// The operations with a weight, and the sum of the weights up to and with each.
    asked: Vec<(u64, OpId, Template)>,
    total: u64,
    sources: Vec<Source>,
    values: Values,
    operations: Arc<Operations>,
}

/// What the replies to a program's operations are counted by.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Operations(Vec<Expected>);

/// What is expected of one operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// What it is called.
    pub label: String,
    /// Its requests on the wire, one reply each.
    pub requests: Vec<Request>,
}

/// One request of an operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The command, as the server's own statistics call it but for its case: `GET`.
    pub command: String,
    /// Which of its replies are misses.
    pub misses: Misses,
}

/// Where the slots of a template draw their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Keys of a set of so many.
    Keys(Distribution, u64),
    /// A whole number from the first to the last.
    Number(u64, u64),
}

impl Operations {
    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What is expected of an operation.
    #[inline]
    pub fn of(&self, op: OpId) -> &Expected {
        &self.0[op.index()]
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Expected> {
        self.0.iter()
    }

    /// The operation called `label`.
    pub fn find(&self, label: &str) -> Option<OpId> {
        self.0.iter().position(|known| known.label == label).map(|place| OpId(place as u16))
    }
}

impl Program {
    /// Compiles a workload that can be [run](Workload::check) into a dialect, over `keyspace` keys called `names`, with
    /// values from `values`.
    pub fn new(
        workload: &Workload,
        dialect: Dialect,
        keyspace: u64,
        values: Values,
        names: &KeyNames,
    ) -> Self {
        let keys = workload.keys.values().map(|keys| Source::Keys(keys.distribution, keyspace));
        let prefixes = workload.keys.values().map(|keys| [names.values(), &keys.prefix].concat()).collect();
        let mut making = Making { dialect, sources: keys.collect(), prefixes, value_size: values.size() };
        let (mut asked, mut total, mut operations) = (Vec::new(), 0, Vec::new());
        for (place, operation) in workload.operations.iter().enumerate() {
            if operation.weight > 0 {
                total += u64::from(operation.weight);
                let steps: Vec<_> = workload.steps(operation).collect();
                let template = making.template(&steps, operation.together);
                asked.push((total, OpId(place as u16), template));
            }
            operations.push(Expected::of(operation));
        }
        assert!(total > 0, "a workload that can be run has an operation with a weight");
        let operations = Arc::new(Operations(operations));
        Self { asked, total, sources: making.sources, values, operations }
    }

    /// Where the values come from.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// What its operations are called and answered with.
    pub fn operations(&self) -> &Arc<Operations> {
        &self.operations
    }

    /// Appends the requests of the next operation of the stream `draws` to `out`, and says which it is.
    #[inline]
    pub fn append(&self, draws: &mut Draws, out: &mut Outgoing) -> OpId {
        let (_, op, template) = match self.asked.as_slice() {
            [only] => only,
            several => {
                let drawn = draws.below(self.total);
                let next = several.iter().find(|(upto, ..)| drawn < *upto);
                next.expect("the last sum is the total, above every draw")
            }
        };
        template.append(&mut Filling { program: self, draws, cuts: &mut out.cuts }, &mut out.bytes);
        *op
    }
}

/// A request that is being filled.
struct Filling<'a> {
    program: &'a Program,
    draws: &'a mut Draws,
    /// Where values are left out.
    cuts: &'a mut Vec<(usize, usize)>,
}

impl Fill for Filling<'_> {
    #[inline]
    fn number(&mut self, source: u16) -> u64 {
        match self.program.sources[usize::from(source)] {
            Source::Keys(Distribution::Uniform, count) => self.draws.below(count),
            Source::Number(from, to) => from + self.draws.below((to - from).saturating_add(1)),
        }
    }

    #[inline]
    fn value(&mut self) -> &[u8] {
        self.program.values.value(self.draws.random.next_u64())
    }

    #[inline]
    fn leaves_out_value(&mut self, behind: usize) -> bool {
        let is_large = self.program.values.size() > LARGE;
        if is_large {
            self.cuts.push((behind, Values::offset(self.draws.random.next_u64())));
        }
        is_large
    }
}

/// A program that is being made.
struct Making {
    /// The sets of keys come first, so that the number of a set is that of its source.
    sources: Vec<Source>,
    prefixes: Vec<String>,
    value_size: usize,
    dialect: Dialect,
}

impl Making {
    fn template<'a>(&'a mut self, steps: &'a [Step], together: Together) -> Template {
        for fragment in steps.iter().flat_map(Step::fragments) {
            if let Fragment::Number(from, to) = fragment
                && self.number(*from, *to).is_none()
            {
                self.sources.push(Source::Number(*from, *to));
            }
        }
        let argument = |word: &'a [Fragment]| word.iter().flat_map(|fragment| self.parts(fragment)).collect();
        let inner = steps.iter().map(|step| step.0.iter().map(|word| argument(word)).collect());
        let alone = |word: &'static str| vec![vec![Part::Text(word.as_bytes())]];
        let commands: Vec<Vec<Vec<Part>>> = match together {
            Together::Pipeline => inner.collect(),
            Together::Multi => [alone(MULTI)].into_iter().chain(inner).chain([alone(EXEC)]).collect(),
        };
        Template::new(self.dialect, &commands)
    }

    /// The source of the numbers from `from` to `to`.
    fn number(&self, from: u64, to: u64) -> Option<u16> {
        let place = self.sources.iter().position(|source| *source == Source::Number(from, to));
        place.map(|place| place as u16)
    }

    fn parts<'a>(&'a self, fragment: &'a Fragment) -> Vec<Part<'a>> {
        match fragment {
            Fragment::Text(text) => vec![Part::Text(text.as_bytes())],
            Fragment::Key(set) => {
                vec![Part::Text(self.prefixes[usize::from(*set)].as_bytes()), Part::Digits(*set)]
            }
            Fragment::Value => vec![Part::Value(self.value_size)],
            Fragment::Number(from, to) => {
                vec![Part::Number(self.number(*from, *to).expect("its source was made before"))]
            }
        }
    }
}

const MULTI: &str = "MULTI";
const EXEC: &str = "EXEC";

impl Expected {
    fn of(operation: &Operation) -> Self {
        let request = |command: &str, misses| Request { command: command.to_ascii_uppercase(), misses };
        let steps = operation.steps.iter().map(|step| first_word(step));
        let requests = match operation.together {
            Together::Pipeline => steps.map(|step| request(step, commands::misses(step))).collect(),
            // Its steps are answered with QUEUED, and what they found is in the array that EXEC is answered with.
            Together::Multi => {
                let [multi, exec] = [MULTI, EXEC].map(|word| request(word, Misses::Never));
                let inner = steps.map(|step| request(step, Misses::Never));
                [multi].into_iter().chain(inner).chain([exec]).collect()
            }
        };
        Self { label: operation.name.clone(), requests }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Keyspace, preset};

    fn program(workload: &Workload, keyspace: u64) -> Program {
        Program::new(workload, Dialect::Resp2, keyspace, Values::new(4, 1), &KeyNames::given("k:"))
    }

    fn drawn(workload: &Workload, keyspace: u64, n: usize, seed: u64) -> (Vec<String>, String) {
        let program = program(workload, keyspace);
        let (mut draws, mut out) = (Draws::new(seed), Outgoing::default());
        let labels = (0..n).map(|_| program.append(&mut draws, &mut out));
        let labels = labels.map(|op| program.operations().of(op).label.clone()).collect();
        (labels, String::from_utf8(out.bytes).unwrap())
    }

    fn of(operations: Vec<Operation>) -> Workload {
        let keys = ["key", "other"]
            .map(|name| (name.to_owned(), Keyspace { prefix: format!("{name}:"), ..Keyspace::default() }));
        Workload { name: "test".to_owned(), keys: keys.into(), operations }
    }

    #[test]
    fn operations_come_by_their_weights() {
        let weights = [("GET {key}", 6), ("SET {key} {value}", 2), ("INCR {other}", 0), ("PING", 2)];
        let operations = weights.map(|(step, weight)| Operation::command(step, weight)).into();
        let (labels, _) = drawn(&of(operations), 10, 100_000, 3);
        for (label, share) in [("GET", 0.6), ("SET", 0.2), ("INCR", 0.0), ("PING", 0.2)] {
            let n = labels.iter().filter(|l| *l == label).count();
            assert!((n as f64 / 1e5 - share).abs() < 0.01, "{label}: {n}");
        }
    }

    #[test]
    fn keys_are_spread_over_the_whole_keyspace_and_nothing_else() {
        let (_, text) = drawn(&preset("get").unwrap(), 10, 1000, 3);
        for key in 0..10 {
            let n = text.matches(&format!("k:{key:012}")).count();
            assert!((60..140).contains(&n), "key {key} came {n} times of 1000");
        }
        assert_eq!(text.matches("k:00000000000").count(), 1000);
    }

    #[test]
    fn counters_and_values_do_not_share_keys() {
        let (_, text) = drawn(&preset("incr").unwrap(), 1, 1, 3);
        assert_eq!(text, "*2\r\n$4\r\nINCR\r\n$22\r\nk:counter:000000000000\r\n");
    }

    /// What a seed asks is a promise: these bytes were written before workloads were data.
    #[test]
    fn a_seed_asks_what_it_always_asked() {
        let (_, text) = drawn(&preset("mixed").unwrap(), 1000, 3, 7);
        assert_eq!(
            text,
            "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000476\r\n$4\r\n4g2A\r\n\
             *3\r\n$3\r\nSET\r\n$14\r\nk:000000000291\r\n$4\r\nvIg5\r\n\
             *2\r\n$3\r\nGET\r\n$14\r\nk:000000000399\r\n"
        );
        let (_, text) = drawn(&preset("ping").unwrap(), 1000, 2, 7);
        assert_eq!(text, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
    }

    #[test]
    fn the_same_seed_asks_the_same_and_another_seed_something_else() {
        let usual = preset("cache").unwrap();
        assert_eq!(drawn(&usual, 1000, 100, 3), drawn(&usual, 1000, 100, 3));
        assert_ne!(drawn(&usual, 1000, 100, 3).1, drawn(&usual, 1000, 100, 4).1);
    }

    #[test]
    fn a_batch_is_drawn_again_from_a_copy_of_the_draws() {
        let program = program(&preset("mixed").unwrap(), 1000);
        let mut draws = Draws::new(9);
        program.append(&mut draws, &mut Outgoing::default());
        let (mut again, mut out, mut same) = (draws.clone(), Outgoing::default(), Outgoing::default());
        for _ in 0..50 {
            assert_eq!(program.append(&mut draws, &mut out), program.append(&mut again, &mut same));
        }
        assert_eq!(out.bytes, same.bytes);
    }

    #[test]
    fn numbers_lie_in_their_range_and_reach_both_ends() {
        let operations = vec![Operation::command("E {number 9..11} {number 5..5}", 1)];
        let (_, text) = drawn(&of(operations), 1, 200, 3);
        let numbers: Vec<_> = text.split("\r\n").collect();
        for n in ["9", "10", "11"] {
            assert!(numbers.contains(&n), "{n}");
        }
        assert_eq!((text.matches("$1\r\n5\r\n").count(), text.matches("*3").count()), (200, 200));
        let all = vec![Operation::command("E {number 0..18446744073709551615}", 1)];
        drawn(&of(all), 1, 1, 3);
    }

    #[test]
    fn a_transaction_stands_between_multi_and_exec_and_says_what_is_expected() {
        let operation = Operation {
            name: "move".to_owned(),
            weight: 1,
            together: Together::Multi,
            steps: ["get {key}", "INCR {other}"].map(str::to_owned).into(),
            ..Operation::default()
        };
        let workload = of(vec![operation.clone()]);
        assert_eq!((workload.check(), operation.writes()), (Ok(()), true));
        let (labels, text) = drawn(&workload, 1, 1, 3);
        assert_eq!(
            text,
            "*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nget\r\n$18\r\nk:key:000000000000\r\n\
             *2\r\n$4\r\nINCR\r\n$20\r\nk:other:000000000000\r\n*1\r\n$4\r\nEXEC\r\n"
        );
        let program = program(&workload, 1);
        let expected = program.operations().iter().flat_map(|op| &op.requests);
        let commands: Vec<_> = expected.map(|request| request.command.as_str()).collect();
        assert_eq!((labels, commands), (vec!["move".to_owned()], vec!["MULTI", "GET", "INCR", "EXEC"]));
    }
}
