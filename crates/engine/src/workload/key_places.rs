//! Finds the keys in the bytes of an operation. The slot of the first key decides which node of a cluster
//! gets the operation. All keys of the operation must have the same slot. If a consistent hash divides the
//! keys among several servers, an operation can have only one key.

use super::{
    Operation, OutgoingRequests, Together, Workload, WorkloadError,
    command_keys::keys_of,
    compiled::CompiledOperation,
    step::{CommandStep, Fragment},
};
use crate::protocol::{Dialect, key_slot};

/// The position of a key of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyPlace {
    /// The number of replies that must arrive before redyno writes the key.
    step: usize,
    /// The position of the command among the commands that are written at once, from 0.
    command: usize,
    /// The number of the word in the command. The name of the command is word 0.
    word: usize,
}

/// The positions of an operation's keys, in the order in which they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyPlaces {
    all: Vec<KeyPlace>,
    dialect: Dialect,
}

impl KeyPlaces {
    /// Returns the positions of the keys of `operation`. In a complete request, the key is the word after the command.
    /// If the operation consists of other raw bytes, its keys are unknown, and the result is empty.
    pub(super) fn of(operation: &Operation, steps: &[CommandStep], dialect: Dialect) -> Self {
        if operation.is_raw {
            let key = KeyPlace { step: 0, command: 0, word: 1 };
            return Self { all: operation.ready.iter().map(|_| key).collect(), dialect };
        }
        let place = |n: usize| match operation.together {
            Together::Pipeline => (0, n),
            // A transaction begins with MULTI.
            Together::Multi => (0, n + 1),
            Together::Sequence => (n, 0),
        };
        let of_step = |(n, step)| {
            let (step_number, command) = place(n);
            let keys = keys(step, dialect).into_iter().map(move |word| (step, word));
            keys.map(move |(step, word)| KeyPlace {
                step: step_number,
                command,
                word: written(step, word, dialect),
            })
        };
        Self { all: steps.iter().enumerate().flat_map(of_step).collect(), dialect }
    }

    /// Returns the first key in the bytes of the first step. If there is no key, returns `None`, because any
    /// node of a cluster can get the operation.
    pub(super) fn first<'a>(&self, operation: &'a [u8]) -> Option<&'a [u8]> {
        let first = self.all.first().filter(|first| first.step == 0)?;
        self.dialect.request_word(operation, first.command, first.word)
    }

    /// Returns whether the keys of a filled operation have different slots. A cluster refuses such an operation. For
    /// memcached, which has no clusters, the result is always false.
    pub(super) fn cross_slots(&self, out: &OutgoingRequests) -> bool {
        if !self.dialect.has_collections() {
            return false;
        }
        let step = |n: usize| if n == 0 { Some(out) } else { out.later.get(n - 1) };
        let mut slots = self.all.iter().filter_map(|key| {
            self.dialect.request_word(&step(key.step)?.bytes, key.command, key.word).map(key_slot)
        });
        let first = slots.next();
        slots.any(|slot| Some(slot) != first)
    }
}

/// Returns the position of word number `word` of a step in the encoded command.
fn written(step: &CommandStep, word: usize, dialect: Dialect) -> usize {
    // `GETEX KEY EX SECONDS` is memcached's `gat SECONDS KEY`.
    let is_swapped = !dialect.has_collections() && step.command().as_deref() == Some("GETEX");
    if is_swapped { word + 1 } else { word }
}

impl Workload {
    /// Checks that each operation has at most one key, so that one server stores all keys of an operation.
    ///
    /// # Errors
    /// Fails if an operation, or a command of the trace, has several keys. The error names the first such operation or
    /// command.
    pub fn check_one_key(&self, dialect: Dialect) -> Result<(), WorkloadError> {
        let asked = self.operations.iter().zip(&self.compiled().operations);
        let several = |(operation, compiled): &(&Operation, &CompiledOperation)| {
            let of_step = |step: &CommandStep| {
                keys(step, dialect).into_iter().map(|word| step.0[word].clone()).collect::<Vec<_>>()
            };
            let mut keys = compiled.steps.iter().flat_map(of_step);
            let first: Option<Vec<_>> = keys.next().map(|key| key.iter().map(repeated).collect());
            let is_first = |key: Vec<Fragment>| key.iter().all(is_repeatable) && Some(&key) == first.as_ref();
            operation.weight > 0 && !operation.is_raw && !keys.all(is_first)
        };
        let places = "has several keys, which --hash may place on different servers";
        if let Some(command) = self.trace.as_ref().and_then(|trace| trace.several_keys.as_deref()) {
            return Err(invalid!("{command} {places}; leave such commands out of the file"));
        }
        match asked.into_iter().find(several) {
            None => Ok(()),
            Some((operation, _)) => Err(invalid!(
                "the operation '{}' {places}; use operations with one key, or repeat the key as {{NAME.same}}",
                operation.name
            )),
        }
    }
}

/// Returns whether all occurrences of a fragment in an operation have the same bytes.
fn is_repeatable(fragment: &Fragment) -> bool {
    matches!(fragment, Fragment::Text(_) | Fragment::Same(_) | Fragment::OfRecord(_))
}

/// Returns the fragment that repeats the key of `fragment`.
fn repeated(fragment: &Fragment) -> Fragment {
    match fragment {
        Fragment::Key(set) | Fragment::New(set) => Fragment::Same(*set),
        other => other.clone(),
    }
}

/// Returns the positions of a step's keys. The only key of an unknown command is its first argument.
fn keys(step: &CommandStep, dialect: Dialect) -> Vec<usize> {
    let text = |place: usize| step.fixed_word(place);
    let (command, words) = (step.command().unwrap_or_default(), step.0.len());
    if dialect.has_collections() { keys_of(&command, words, text) } else { memcached_keys(&command, words) }
}

/// Returns the positions of the keys of a request to memcached.
fn memcached_keys(command: &str, words: usize) -> Vec<usize> {
    match command {
        "PING" | "MN" | "VERSION" => Vec::new(),
        "GET" | "GETS" | "MGET" => (1..words).collect(),
        "GAT" | "GATS" => (2..words).collect(),
        _ => (1..words.min(2)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{
            CompleteRequests, Draws, KeyNames, OutgoingRequests, Program, Values,
            testing::{described, of, program},
        },
    };

    #[test]
    fn the_keys_of_redis_commands_are_found() {
        let cases: [(&str, &[usize]); 24] = [
            ("GET {key}", &[1]),
            ("SET app:{key}:x {value}", &[1]),
            ("ping", &[]),
            ("CLIENT ID", &[]),
            ("SCRIPT LOAD 'return 1'", &[]),
            ("MGET {key} {a} x", &[1, 2, 3]),
            ("MSET {key} 1 {a} 2", &[1, 3]),
            ("BLPOP {key} {a} 0", &[1, 2]),
            ("COPY {key} {a} REPLACE", &[1, 2]),
            ("BITOP AND {key} {a} x", &[2, 3, 4]),
            ("OBJECT ENCODING {key}", &[2]),
            ("MEMORY USAGE {key}", &[2]),
            ("MEMORY DOCTOR", &[]),
            ("XGROUP CREATE {key} g $", &[2]),
            ("SINTERCARD 2 {key} {a} LIMIT 1", &[2, 3]),
            ("SINTERCARD {number 1..2} {key} {a}", &[2]),
            ("ZUNIONSTORE x 2 {key} {a} WEIGHTS 1 2", &[1, 3, 4]),
            ("EVAL 'return 1' 0 x", &[]),
            ("EVAL 'return 1' 1 {key} x", &[3]),
            ("XREADGROUP GROUP g c COUNT 1 streams {key} {a} > >", &[7, 8]),
            ("XREAD COUNT 1", &[]),
            ("NEWER.COMMAND {key} x", &[1]),
            ("FT.SEARCH idx x", &[]),
            ("DEL", &[]),
        ];
        for (step, places) in cases {
            assert_eq!(
                keys(&CommandStep::read(step, &described()).unwrap(), Dialect::Resp2),
                places,
                "{step}"
            );
        }
    }

    fn slot(together: Together, steps: &[&str]) -> Option<u16> {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        let operation = Operation { together, steps, ..Operation::command("x", 1) };
        let program = program(&of(vec![operation]), 1);
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        let op = program.append(&mut draws, &mut out);
        program.first_key(op, &out.bytes).map(key_slot)
    }

    #[test]
    fn an_operation_has_the_slot_of_its_first_key() {
        let drawn = Some(key_slot(b"k:key:000000000000"));
        use Together::{Multi, Pipeline, Sequence};
        assert_eq!(slot(Pipeline, &["SET {key} {value}"]), drawn);
        assert_eq!(slot(Multi, &["PING", "INCR {key}"]), drawn);
        assert_eq!(slot(Pipeline, &["PING", "GET {key}"]), drawn);
        assert_eq!(slot(Pipeline, &["SET 'a {value}' {key}"]), slot(Pipeline, &["SET 'a {value}' x"]));
        assert_eq!(slot(Sequence, &["GET foo", "SET {key} x"]), Some(12_182));
        assert_eq!(slot(Sequence, &["PING", "SET {key} x"]), None);
        assert_eq!(slot(Pipeline, &["PING"]), None);
    }

    #[test]
    fn an_operation_whose_keys_can_have_different_slots_crosses_slots() {
        use Together::{Multi, Pipeline, Sequence};
        let crosses = |together, steps: &[&str]| {
            let steps = steps.iter().map(|step| (*step).to_owned()).collect();
            let operation = Operation { together, steps, ..Operation::command("x", 1) };
            let weighed =
                program(&of(vec![operation]), 1000).operation_figures(50, &mut Draws::new(1)).unwrap();
            weighed[0].crosses_slots
        };
        assert!(!crosses(Pipeline, &["MSET {key} 1 {key.same_slot} 2 {key.same_slot} 3"]));
        assert!(!crosses(Multi, &["GET {key}", "DEL {key.same_slot} {key.same}"]));
        assert!(crosses(Pipeline, &["SUNION {key} {a}"]));
        assert!(crosses(Pipeline, &["MGET {key} {key}"]));
        assert!(!crosses(Pipeline, &["MGET {key} {key.same}"]));
        assert!(!crosses(Pipeline, &["MGET '{t}{key}' '{t}{key}'"]));
        assert!(!crosses(Pipeline, &["GET {key}"]));
        assert!(crosses(Multi, &["GET {key}", "INCR x"]));
        assert!(crosses(Sequence, &["GET {key}", "PING", "SET {key} x"]));
        assert!(!crosses(Sequence, &["GET {key}", "SET {key.same} x"]));
    }

    #[test]
    fn an_operation_has_one_key_only_if_all_its_keys_are_the_same() {
        use Together::{Multi, Pipeline, Sequence};
        let is_fine = |together, steps: &[&str]| {
            let steps = steps.iter().map(|step| (*step).to_owned()).collect();
            let operation = Operation { together, steps, ..Operation::command("x", 1) };
            of(vec![operation]).check_one_key(Dialect::Resp2).is_ok()
        };
        assert!(is_fine(Pipeline, &["SET {key} {value}"]) && is_fine(Pipeline, &["PING"]));
        assert!(is_fine(Multi, &["GET {key}", "EXPIRE {key.same} 5", "DEL {key.same}"]));
        assert!(is_fine(Sequence, &["SET {key.new}:a x", "GET {key.same}:a"]));
        for steps in [&["MGET {key} {key}"][..], &["GET {key}", "GET {key.same}:a"], &["GET {key}", "INCR x"]]
        {
            assert!(!is_fine(Pipeline, steps), "{steps:?}");
        }
        assert!(!is_fine(Pipeline, &["MGET {key} {key.same_slot}"]));
        assert!(!is_fine(Pipeline, &["GET {number 1..9}", "GET {number 1..9}"]));
        let unused = Operation { weight: 0, ..Operation::command("MGET {key} {key}", 0) };
        let workload = of(vec![Operation::command("GET {key}", 1), unused]);
        assert_eq!(workload.check_one_key(Dialect::Memcached), Ok(()));
        let error = of(vec![Operation::command("MGET {key} {key}", 1)]).check_one_key(Dialect::Memcached);
        assert!(error.unwrap_err().to_string().starts_with("the operation 'MGET' has several keys"));
    }

    #[test]
    fn the_keys_of_memcached_commands_are_found() {
        let key = |steps: &[&str]| {
            let steps = steps.iter().map(|step| (*step).to_owned()).collect();
            let operation = Operation { steps, ..Operation::command("x", 1) };
            let workload = of(vec![operation]);
            let (values, names) = (Values::new(&workload, 4, 1), KeyNames::given("k:"));
            let program = Program::new(&workload, Dialect::Memcached, 1, values, &names);
            let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
            let op = program.append(&mut draws, &mut out);
            program.first_key(op, &out.bytes).map(|key| String::from_utf8_lossy(key).into_owned())
        };
        let drawn = Some("k:key:000000000000".to_owned());
        for step in [
            "SET {key} {value}",
            "GET {key}",
            "GAT 5 {key}",
            "GETEX {key} EX 5",
            "TOUCH {key} 5",
            "MG {key} v",
        ] {
            assert_eq!(key(&[step]), drawn, "{step}");
        }
        assert_eq!((key(&["PING", "GET {key}"]), key(&["PING"])), (drawn, None));
    }

    #[test]
    fn raw_bytes_have_no_slot_but_a_complete_request_has_one() {
        let raw = Operation { is_raw: true, ..Operation::command("GET foo\r\n", 1) };
        let steps = [CommandStep::read("GET foo", &described()).unwrap()];
        let places = KeyPlaces::of(&raw, &steps, Dialect::Resp2);
        assert!(places.all.is_empty());
        let set = CompleteRequests::new("row", [b"set k 0 0 1\r\nx\r\n".to_vec()].into_iter());
        let ready = Operation { ready: Some(set), ..raw };
        let places = KeyPlaces::of(&ready, &steps, Dialect::Memcached);
        assert_eq!(places.first(b"set k 0 0 1\r\nx\r\n"), Some(&b"k"[..]));
        assert_eq!(Dialect::Resp2.request_word(&Dialect::Resp2.encode(&[b"GET"]), 0, 1), None);
    }
}
