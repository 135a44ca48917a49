//! Compiles the operations of a workload into templates of requests. Each slot of a template has a source of
//! keys, numbers or values.
//!
//! ```text
//!  operation ──► its steps ──► templates, each written at once
//!                               └─ slots ──► sets of keys, sources of numbers, values, fields of a record
//! ```

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Dataset, OpId, Operation, Operations, Together, Values, Workload,
    key_form::SetNames,
    key_places::KeyPlaces,
    operations::{EXEC, MULTI},
    same_slot,
    slots::{FIELDS, NumberSource},
    step::{CommandStep, Fragment},
};
use crate::protocol::{ArgumentPart, Dialect, Template};

/// The templates of a program's operations.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// The operations with a weight above 0, with cumulative sums of their weights.
    pub(super) asked: Vec<(u64, OpId, Template)>,
    /// The sum of all weights.
    pub(super) total: u64,
    /// In a prefill, the number of the first key of each operation, and the number of keys in a request.
    pub(super) firsts: Vec<(u64, u64)>,
    /// The templates of the steps that must wait for replies.
    pub(super) later: Vec<(OpId, Vec<Template>)>,
    /// The expected replies to the first steps, as templates.
    pub(super) expected: Vec<(OpId, Template)>,
    /// The operations that use records.
    pub(super) of_records: Vec<OpId>,
    /// The positions of each operation's keys, in the order of the operations' numbers.
    pub(super) keys: Vec<KeyPlaces>,
    /// The names and the expected replies of all operations.
    pub(super) operations: Arc<Operations>,
}

impl Templates {
    /// Compiles the operations with a weight above 0 of a workload. Also returns the sources of numbers that are not
    /// sets of keys.
    pub(super) fn of_operations(
        workload: &Workload,
        dialect: Dialect,
        names: &[SetNames],
        values: &Values,
    ) -> (Self, Vec<NumberSource>) {
        let all = workload.compiled_operations().map(|(operation, read)| (operation, read.steps.as_slice()));
        let all: Vec<_> = all.collect();
        let asked = all.iter().enumerate().filter(|(_, (operation, _))| operation.weight > 0);
        let asked = asked.map(|(place, (operation, steps))| OperationSpec {
            share: operation.weight.into(),
            place,
            steps: workload.drawn_once(steps.iter().chain(&workload.compiled().operations[place].expects)),
        });
        Self::of(asked, &all, TemplateCompiler::new(workload, dialect, names, values))
    }

    /// Compiles the steps of a prefill like operations, for a load with `keyspace` keys.
    pub(super) fn of_prefill(
        workload: &Workload,
        dialect: Dialect,
        keyspace: u64,
        names: &[SetNames],
        values: &Values,
    ) -> (Self, Vec<NumberSource>) {
        let filled: Vec<_> = workload.prefill_steps(keyspace).collect();
        let firsts = filled.iter().map(|filled| (filled.numbers.start, filled.each)).collect();
        let asked = filled.into_iter().enumerate().map(|(place, filled)| OperationSpec {
            share: filled.requests(),
            place,
            steps: vec![filled.step],
        });
        let making = TemplateCompiler::new(workload, dialect, names, values);
        let operations = workload.prefill_operations();
        let all: Vec<_> = operations.iter().zip(workload.compiled().prefill.chunks(1)).collect();
        let (templates, sources) = Self::of(asked, &all, making);
        (Self { firsts, ..templates }, sources)
    }

    fn of(
        asked: impl Iterator<Item = OperationSpec>,
        all: &[(&Operation, &[CommandStep])],
        mut making: TemplateCompiler,
    ) -> (Self, Vec<NumberSource>) {
        let operations = Arc::new(Operations::of_all(all, making.dialect));
        let keys = all.iter().map(|(operation, steps)| KeyPlaces::of(operation, steps, making.dialect));
        let keys = keys.collect();
        let mut made = Self { operations, keys, ..Self::default() };
        for OperationSpec { share, place, steps } in asked {
            made.total = made.total.saturating_add(share);
            let (op, (operation, _)) = (OpId(place as u16), all[place]);
            if steps.iter().any(CommandStep::is_of_record) {
                made.of_records.push(op);
            }
            let templates = match operation.is_raw {
                true => vec![Template::raw(operation.steps.concat().as_bytes())],
                // The expected reply follows the steps.
                false if operation.expects.is_some() => making.templates(&steps, Together::Sequence),
                false => making.templates(&steps, operation.together),
            };
            let mut templates = templates.into_iter();
            if operation.expects.is_some() {
                made.expected.extend(templates.next_back().map(|expected| (op, expected)));
            }
            made.asked.extend(templates.next().map(|first| (made.total, op, first)));
            let rest: Vec<_> = templates.collect();
            made.later.extend((!rest.is_empty()).then_some((op, rest)));
        }
        (made, making.sources)
    }
}

/// An operation that will be compiled.
struct OperationSpec {
    /// The operation's weight. In a prefill, the weight is the number of the operation's requests.
    share: u64,
    /// The operation's index among all operations.
    place: usize,
    steps: Vec<CommandStep>,
}

/// The context of the compilation: the names of keys, and the sources of numbers and values.
struct TemplateCompiler<'v> {
    /// The sources of numbers that templates have used so far.
    sources: Vec<NumberSource>,
    names: &'v [SetNames],
    values: &'v Values,
    dataset: Option<&'v Dataset>,
    dialect: Dialect,
}

impl<'v> TemplateCompiler<'v> {
    fn new(workload: &'v Workload, dialect: Dialect, names: &'v [SetNames], values: &'v Values) -> Self {
        let dialect = workload.http.of(dialect);
        Self { sources: Vec::new(), names, values, dataset: workload.dataset.as_ref(), dialect }
    }

    /// Compiles the templates of an operation. Each template is written after the reply to the previous template.
    fn templates(&mut self, steps: &[CommandStep], together: Together) -> Vec<Template> {
        let fragments = || steps.iter().flat_map(CommandStep::fragments);
        let repeated: BTreeSet<_> = fragments().filter_map(Fragment::repeats).collect();
        let repeated: Vec<_> = repeated.into_iter().collect();
        let sources = fragments().filter_map(|fragment| NumberSource::of(fragment, &repeated));
        sources.for_each(|source| self.add(source));
        let alone = |word: &'static str| vec![vec![ArgumentPart::text(word)]];
        let parts = |fragment| self.parts(fragment, &repeated);
        let inner = steps.iter().map(|step| {
            let arguments = step.0.iter().map(|word| word.iter().flat_map(parts).collect());
            arguments.collect::<Vec<_>>()
        });
        let commands: Vec<_> = match together {
            Together::Pipeline | Together::Sequence => inner.collect(),
            Together::Multi => [alone(MULTI)].into_iter().chain(inner).chain([alone(EXEC)]).collect(),
        };
        let at_once = if together == Together::Sequence { 1 } else { commands.len() };
        let template = |commands: &[_]| {
            let template = Template::new(self.dialect, commands);
            template.expect("a workload that can be run has commands of its dialect only")
        };
        commands.chunks(at_once).map(template).collect()
    }

    fn add(&mut self, source: NumberSource) {
        if let NumberSource::SameSlot(_) = source {
            same_slot::prepare();
        }
        if self.sources.iter().all(|known| *known != source) {
            self.sources.push(source);
        }
    }

    /// Returns the parts of a fragment. `repeated` contains the sets whose keys the operation repeats.
    fn parts(&self, fragment: &Fragment, repeated: &[u16]) -> Vec<ArgumentPart> {
        let number = || {
            let source = NumberSource::of(fragment, repeated)?;
            let place = self.sources.iter().position(|known| *known == source)?;
            Some((self.names.len() + place) as u16)
        };
        match fragment {
            Fragment::Text(text) => vec![ArgumentPart::Text(text.clone())],
            Fragment::Key(set)
            | Fragment::Given(set)
            | Fragment::New(set)
            | Fragment::Same(set)
            | Fragment::SameSlot(set) => self.names[usize::from(*set)].parts(number().unwrap_or(*set)),
            Fragment::Derived(set, _, derived) => {
                let key = self.names[usize::from(*set)].key_part(number().unwrap_or(*set));
                vec![ArgumentPart::Derived(key, derived.clone())]
            }
            Fragment::Value(kind) => {
                vec![ArgumentPart::Value { kind: *kind, size: self.values.fixed_size(*kind) }]
            }
            Fragment::OfRecord(portion) => match self.dataset.and_then(|dataset| dataset.number(portion)) {
                Some(number) => vec![ArgumentPart::Value { kind: FIELDS + number, size: None }],
                None => portion.placeholder().map(ArgumentPart::text).into(),
            },
            Fragment::Cas => vec![ArgumentPart::Awaited],
            Fragment::Number(..) | Fragment::Now | Fragment::Cursor | Fragment::Stamp(..) => {
                vec![ArgumentPart::Number(number().expect("its source was added before"))]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::key_slot,
        workload::{
            Draws, KeyNames, KeyNaming, Keyset, Misses, OutgoingRequests, Program, preset,
            testing::{drawn, of, program},
        },
    };

    #[test]
    fn the_same_draws_are_encoded_for_memcached() {
        let (workload, names) = (preset("mixed").unwrap(), KeyNames::given("k:"));
        let values = Values::new(&workload, 4, 1);
        let program = Program::new(&workload, Dialect::Memcached, 1000, values, &names);
        let (mut draws, mut out) = (Draws::new(7), OutgoingRequests::default());
        (0..3).for_each(|_| assert!(program.append(&mut draws, &mut out).index() < 2));
        assert_eq!(
            String::from_utf8(out.bytes).unwrap(),
            "set k:000000000476 0 0 4\r\n4g2A\r\nset k:000000000291 0 0 4\r\nvIg5\r\nget k:000000000399\r\n"
        );
    }

    #[test]
    fn a_key_is_repeated_only_within_its_operation() {
        let steps = [
            "SET {key} \"{value} of {number 7..7}\"",
            "GET {other}",
            "ZADD z 1 <{key.same}>",
            "GET {other.same}",
        ];
        let operation = Operation {
            name: "repeat".to_owned(),
            weight: 1,
            steps: steps.map(str::to_owned).into(),
            ..Operation::default()
        };
        let workload = of(vec![operation, Operation::command("GET {key}", 1)]);
        assert_eq!(workload.check(), Ok(()));
        let (labels, text) = drawn(&workload, 1000, 200, 3);
        let words: Vec<_> = text.split("\r\n").filter(|word| word.contains(":0")).collect();
        let mut words = words.into_iter();
        let mut keys = std::collections::HashSet::new();
        for label in labels {
            let key = words.next().unwrap();
            keys.insert(key);
            if label == "repeat" {
                let other = words.next().unwrap();
                assert_ne!(&other[other.len() - 12..], &key[key.len() - 12..]);
                assert_eq!(words.next().unwrap(), format!("<{key}>"));
                assert_eq!(words.next().unwrap(), other);
            }
        }
        assert!(keys.len() > 150 && text.contains(" of 7\r\n"), "{}", keys.len());
        for step in ["GET {key.same}", "GET {other} {key.same}"] {
            let error = of(vec![Operation::command(step, 1)]).check().unwrap_err();
            assert_eq!(error.to_string(), "the operation 'GET' repeats {key.same} before it uses {key}");
        }
        let unclosed = of(vec![Operation::command("GET \"{key}", 1)]).check().unwrap_err();
        assert!(unclosed.to_string().contains("the step 'GET \"{key}'"), "{unclosed}");
        assert!(of(vec![Operation::command("{key} x", 1)]).check().is_err());
    }

    #[test]
    fn further_keys_of_a_slot_differ_and_are_uniformly_distributed() {
        let workload =
            of(vec![Operation::command("MGET {key} {key.same_slot} {key.same_slot} {key.same}", 1)]);
        assert_eq!((workload.check(), workload.check_keys(100_000)), (Ok(()), Ok(())));
        let (_, text) = drawn(&workload, 100_000, 2000, 3);
        let keys: Vec<_> = text.split("\r\n").filter(|word| word.starts_with("k:key:")).collect();
        let mut pairs = 0;
        for four in keys.chunks(4) {
            assert!(
                four.iter().all(|key| key_slot(key.as_bytes()) == key_slot(four[0].as_bytes())),
                "{four:?}"
            );
            assert_eq!(four[2], four[3]);
            pairs += usize::from(four[0] != four[1]);
        }
        assert!(pairs > 1980, "a slot has six keys, and hardly any has one: {pairs}");
        for place in 0..3 {
            let lower = keys.iter().skip(place).step_by(4).filter(|key| **key < "k:key:000000050000").count();
            assert!((900..1100).contains(&lower), "{place}: {lower}");
        }
    }

    #[test]
    fn numbers_have_the_digits_of_their_set() {
        let text = |digits, naming| {
            let mut workload = of(vec![Operation::command("GET {key}", 1)]);
            let keys = Keyset { prefix: "user".to_owned(), digits, naming, ..Keyset::default() };
            workload.keys.insert("key".to_owned(), keys);
            let command = "EXPIRE {key} 9".to_owned();
            workload.setup.steps.push(command);
            let setup = workload.setup_commands((Dialect::Resp2, &KeyNames::given("k:")), 1, 4, 1);
            let (_, text) = drawn(&workload, 1, 1, 3);
            let key = text.split("\r\n").nth(4).unwrap().to_owned();
            assert_eq!(setup[0].words[1], key.as_bytes());
            key
        };
        assert_eq!(
            [0, 1, 5].map(|digits| text(digits, KeyNaming::Number)),
            ["k:user0", "k:user0", "k:user00000"]
        );
        assert_eq!([0, 12].map(|digits| text(digits, KeyNaming::Ycsb)), ["k:user6284781860667377211"; 2]);
        assert_eq!(text(20, KeyNaming::Ycsb), "k:user06284781860667377211");
    }

    #[test]
    fn a_hash_covers_the_whole_name_as_in_java() {
        let operation = Operation::command(
            "ZADD {index} {user.hash} {user.same} {user.same.hash} {derived user.same f 30}",
            1,
        );
        let mut workload = of(vec![operation]);
        let user =
            Keyset { prefix: "user".to_owned(), digits: 0, naming: KeyNaming::Ycsb, ..Keyset::default() };
        let index = Keyset { prefix: "_indices".to_owned(), naming: KeyNaming::Nothing, ..user.clone() };
        workload.keys.extend([("user", user), ("index", index)].map(|(name, keys)| (name.to_owned(), keys)));
        let text = |prefix: &str| {
            let values = Values::new(&workload, 4, 1);
            let program = Program::new(&workload, Dialect::Resp2, 1, values, &KeyNames::given(prefix));
            let mut out = OutgoingRequests::default();
            program.append(&mut Draws::new(1), &mut out);
            String::from_utf8(out.bytes)
                .unwrap()
                .split("\r\n")
                .skip(4)
                .step_by(2)
                .collect::<Vec<_>>()
                .join(" ")
        };
        // Java gives "user6284781860667377211".hashCode() = -594971599, and -1343723621 with \u{e4}: before the text.
        assert_eq!(
            text(""),
            "_indices -594971599 user6284781860667377211 -594971599 user6284781860667377211:f:5311"
        );
        assert_eq!(
            text("\u{e4}:"),
            "\u{e4}:_indices -1343723621 \u{e4}:user6284781860667377211 -1343723621 \u{e4}:user6284781860667377211:f:-"
        );
        assert_eq!(of(vec![Operation::command("SET {nothing.hash} x", 1)]).check(), Ok(()));
    }

    #[test]
    fn a_transaction_is_sent_between_multi_and_exec_with_its_expected_replies() {
        let operation = Operation {
            name: "move".to_owned(),
            weight: 1,
            together: Together::Multi,
            steps: ["get {key}", "INCR {other}"].map(str::to_owned).into(),
            ..Operation::default()
        };
        let workload = of(vec![operation]);
        assert_eq!((workload.check(), workload.compiled().operations[0].writes), (Ok(()), true));
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
        let only = program.operations().iter().next().unwrap();
        assert_eq!(only.elements, [Misses::Null, Misses::Never]);
        assert!(only.requests.iter().all(|request| request.misses == Misses::Never), "QUEUED is no hit");
    }
}
