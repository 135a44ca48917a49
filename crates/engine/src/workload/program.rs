//! A program is a compiled workload that builds the requests of a load. A program is compiled for a number of keys and
//! a size of values.
//!
//! ```text
//!  Draws ──► which operation ──► its template ──► its keys, numbers and values ──► bytes
//! ```
//! [`Draws`] contains all random state of a client. If a client continues from a copy of its draws, it repeats the same
//! batch.

mod filling;
mod numbering;
mod operation_figures;

use std::{collections::BTreeMap, sync::Arc};

pub(super) use self::operation_figures::OperationFigures;
use super::{
    CompleteRequests, Dataset, Draws, KeyNames, Messages, OpId, OperationOrder, Operations, OutgoingRequests,
    Share, Values, Workload,
    chooser::{Chooser, KeyCounters},
    key_form::SetNames,
    slots::{NumberSource, Sources},
    templates::Templates,
    trace_encoder::TraceEncoder,
};

use crate::protocol::Dialect;

/// The name of a set of keys, and the prefix before the numbers of the keys.
type SetName = (String, String);

/// A compiled workload. Each client draws requests from the program with its own [`Draws`].
#[derive(Debug)]
pub struct Program {
    templates: Templates,
    sources: Sources,
    /// For each set of keys, the index of the first set with the same keys.
    same: Vec<usize>,
    /// The name of each set of keys, and the prefix before the numbers of the keys.
    called: Vec<SetName>,
    /// For each set of keys of this program and of earlier programs, the counters that all clients share.
    counted: BTreeMap<SetName, KeyCounters>,
    /// The messages of earlier programs.
    numbered: Vec<Arc<Messages>>,
    /// The order in which each client sends its operations.
    order: OperationOrder,
    /// The dataset, if operations use records.
    dataset: Option<Dataset>,
    /// The share of this process in the requests of a prefill.
    share: Share,
    /// The operations with complete requests, each with the number of a set of keys. A key that is drawn from
    /// this set determines the next request.
    ready: Vec<(OpId, usize, CompleteRequests)>,
    /// The trace, if commands of a trace are sent in place of the operations' steps.
    pub(super) traced: Option<TraceEncoder>,
}

impl Program {
    /// Compiles a [valid](Workload::check) workload for a dialect (protocol). A set that does not define its number of
    /// keys has `keyspace` keys. `names` contains the prefix of all keys. `values` must be created from this workload.
    pub fn new(
        workload: &Workload,
        dialect: Dialect,
        keyspace: u64,
        values: Values,
        names: &KeyNames,
    ) -> Self {
        let traced = workload.trace.clone().map(|trace| TraceEncoder::new(trace, names.prefix()));
        let (sets, names) = workload.sets(keyspace, names);
        let templates = Templates::of_operations(workload, dialect, &names, &values);
        assert!(templates.0.total > 0, "a workload that can be run has an operation with a weight");
        let ready = workload.operations.iter().enumerate().filter_map(|(place, operation)| {
            let ready = operation.ready.clone()?;
            let set = workload.keys.keys().position(|known| *known == ready.set)?;
            Some((OpId(place as u16), set, ready))
        });
        Self { ready: ready.collect(), traced, ..Self::of(workload, templates, sets, names, values) }
    }

    /// Compiles the prefill of a workload, with the same arguments as [`new`](Self::new).
    /// [`append_nth`](Self::append_nth) appends requests by number. The first numbers belong to the keys of the first
    /// step, the next numbers to the keys of the second step, and so on.
    pub fn of_prefill(
        workload: &Workload,
        dialect: Dialect,
        keyspace: u64,
        values: Values,
        names: &KeyNames,
    ) -> Self {
        let (sets, names) = workload.sets(keyspace, names);
        let templates = Templates::of_prefill(workload, dialect, keyspace, &names, &values);
        Self::of(workload, templates, sets, names, values)
    }

    fn of(
        workload: &Workload,
        (templates, others): (Templates, Vec<NumberSource>),
        sets: Vec<Chooser>,
        names: Vec<SetNames>,
        values: Values,
    ) -> Self {
        let prefixes = names.into_iter().map(|set| set.prefix);
        let called: Vec<SetName> = workload.keys.keys().cloned().zip(prefixes).collect();
        let counted = called.iter().cloned().zip(sets.iter().map(|set| set.counters.clone())).collect();
        let same = workload.compiled().keysets.iter().map(|keys| keys.same).collect();
        let dataset = workload.dataset.clone();
        let order = workload.order;
        let sources = Sources { sets, others, values, messages: None };
        let (ready, traced) = (Vec::new(), None);
        let share = Share::ALL;
        let numbered = Vec::new();
        Self { templates, sources, same, called, counted, numbered, order, dataset, share, ready, traced }
            .growing_together()
    }

    fn growing_together(mut self) -> Self {
        for (place, first) in self.same.iter().enumerate() {
            let (before, rest) = self.sources.sets.split_at_mut(place);
            if let Some(first) = before.get(*first) {
                rest[0].grow_with(first);
            }
        }
        self
    }

    /// Returns the program with the counters of `before` and of the programs before `before`. A set of keys with the
    /// same name and prefix then continues the sequence of its keys.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.counted.extend(before.counted.clone());
        self.number_after(before);
        for (set, called) in self.sources.sets.iter_mut().zip(&self.called) {
            set.counters = self.counted[called].clone();
        }
        self.growing_together()
    }

    /// Returns the program for this many clients, at least 1.
    #[must_use]
    pub fn for_clients(mut self, clients: u32) -> Self {
        self.sources.sets.iter_mut().for_each(|set| set.clients = clients.into());
        self
    }

    /// Returns the program for this share of a load that several processes carry out.
    #[must_use]
    pub fn for_share(mut self, share: Share) -> Self {
        self.sources.sets.iter_mut().for_each(|set| set.share = share);
        self.share = share;
        self
    }

    /// Returns the values that the program sends.
    pub fn values(&self) -> &Values {
        &self.sources.values
    }

    /// Returns the names and the expected replies of the operations.
    pub fn operations(&self) -> &Arc<Operations> {
        &self.templates.operations
    }

    /// Returns whether operations may need records that have not been read yet.
    pub fn has_records(&self) -> bool {
        self.dataset.is_some()
    }

    /// Returns whether every operation can be sent completely at once. The result is true if no operation needs a
    /// record, and no step waits for a reply.
    pub fn is_sent_at_once(&self) -> bool {
        self.dataset.is_none() && self.templates.later.is_empty()
    }

    /// Returns whether all requests of a client's turn have one key. A turn is one pass through the operations.
    pub fn has_one_key_in_turn(&self) -> bool {
        self.order == OperationOrder::OneKeyInTurn
    }

    /// Draws the next operation and appends it to `out`. Returns the number of the operation. Nothing is appended if
    /// the operation [needs a record](OutgoingRequests::awaits_record) that has not been read yet.
    #[inline]
    pub fn append(&self, draws: &mut Draws, out: &mut OutgoingRequests) -> OpId {
        let asked = match self.templates.asked.as_slice() {
            [only] => only,
            several => {
                let total = self.templates.total;
                let drawn = match self.order {
                    OperationOrder::Random => draws.below(total),
                    OperationOrder::InTurn | OperationOrder::OneKeyInTurn => draws.turn(total),
                    OperationOrder::Scan(most) => draws.turn_of_scan(most),
                };
                let next = several.iter().find(|(upto, ..)| drawn < *upto);
                next.expect("the last sum is the total, above every draw")
            }
        };
        match &self.traced {
            Some(traced) if traced.has(asked.1) => traced.append(draws, out),
            _ => self.fill(asked, 0, draws, out),
        }
    }

    /// Appends the request of a prefill with this number. Returns the number of the request's operation.
    pub fn append_nth(&self, number: u64, draws: &mut Draws, out: &mut OutgoingRequests) -> OpId {
        let number = self.share.nth(number);
        let place = self.templates.asked.partition_point(|(upto, ..)| *upto <= number);
        let before = place.checked_sub(1).map_or(0, |before| self.templates.asked[before].0);
        let (first, each) = self.templates.firsts[place];
        self.fill(&self.templates.asked[place], first + (number - before) * each, draws, out)
    }

    /// Returns the first key of operation `op` in these bytes. If the operation has no key, returns `None`, because any
    /// node of a cluster can get the operation.
    pub fn first_key<'a>(&self, op: OpId, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let of_trace = self.traced.as_ref().and_then(|_| TraceEncoder::first_key(bytes));
        of_trace.or_else(|| self.templates.keys[op.index()].first(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{
        Distribution, Operation, preset,
        testing::{drawn, of, program},
    };

    #[test]
    fn operations_are_drawn_by_their_weights() {
        let weights = [("GET {key}", 6), ("SET {key} {value}", 2), ("INCR {other}", 0), ("PING", 2)];
        let operations = weights.map(|(step, weight)| Operation::command(step, weight)).into();
        let (labels, _) = drawn(&of(operations), 10, 100_000, 3);
        for (label, share) in [("GET", 0.6), ("SET", 0.2), ("INCR", 0.0), ("PING", 0.2)] {
            let n = labels.iter().filter(|l| *l == label).count();
            assert!((n as f64 / 1e5 - share).abs() < 0.01, "{label}: {n}");
        }
    }

    #[test]
    fn operations_in_turn_are_repeated_as_often_as_their_weight() {
        let operations = [("SET {key} {value}", 1), ("PING", 0), ("GET {key}", 3)];
        let operations = operations.map(|(step, weight)| Operation::command(step, weight)).into();
        let (labels, _) = drawn(&Workload { order: OperationOrder::InTurn, ..of(operations) }, 10, 9, 3);
        assert_eq!(labels, ["SET", "GET", "GET", "GET", "SET", "GET", "GET", "GET", "SET"]);
    }

    #[test]
    fn keys_are_spread_over_exactly_the_keyspace() {
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

    #[test]
    fn shared_counters_continue_in_later_programs() {
        let walk = preset("get").unwrap().with_distribution(Distribution::Sequential);
        let next = |program: &Program| {
            let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
            program.append(&mut draws, &mut out);
            let text = String::from_utf8(out.bytes).unwrap();
            text.split("\r\n").nth(4).unwrap()[2..].parse::<u64>().unwrap()
        };
        let first = program(&walk, 10);
        assert_eq!([next(&first), next(&first)], [0, 1]);
        let more_keys = program(&walk, 20).after(&first);
        assert_eq!([next(&more_keys), next(&first)], [2, 3]);
        let other = program(&preset("incr").unwrap(), 20).after(&more_keys);
        assert_eq!([next(&program(&walk, 3).after(&other)), next(&program(&walk, 3))], [1, 0]);
    }

    #[test]
    fn sets_with_the_same_keys_grow_together() {
        let of = |read: &str| {
            let steps = ["SET {key.new} x", read].map(|step| Operation::command(step, 1));
            of(steps.into()).with_step_definitions()
        };
        let highest = |program: &Program| {
            let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
            for n in 1..=200 {
                program.append(&mut draws, &mut out);
                out.inserted.answer(n);
            }
            let text = String::from_utf8(out.bytes).unwrap();
            let read = text.split("GET\r\n$18\r\nk:key:").skip(1);
            read.map(|key| key[..12].parse::<u64>().unwrap()).max().unwrap()
        };
        for read in ["GET {key latest}", "GET {key zipfian 1.1}", "GET {key}"] {
            let first = program(&of(read), 3);
            let found = highest(&first);
            assert!((50..150).contains(&found), "{read}: {found}");
        }
        let first = program(&of("GET {key}"), 3);
        let before = highest(&first);
        let next = highest(&program(&of("GET {key latest}"), 3).after(&first));
        assert!(next > before + 50, "{next} after {before}");
    }

    /// The requests of a seed never change. The expected bytes come from an early version of redyno.
    #[test]
    fn the_requests_of_a_seed_never_change() {
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
    fn the_same_seed_gives_the_same_requests_and_another_seed_others() {
        let usual = preset("cache").unwrap();
        assert_eq!(drawn(&usual, 1000, 100, 3), drawn(&usual, 1000, 100, 3));
        assert_ne!(drawn(&usual, 1000, 100, 3).1, drawn(&usual, 1000, 100, 4).1);
    }

    #[test]
    fn a_batch_is_drawn_again_from_a_copy_of_the_draws() {
        let program = program(&preset("mixed").unwrap(), 1000);
        let mut draws = Draws::new(9);
        program.append(&mut draws, &mut OutgoingRequests::default());
        let (mut again, mut out, mut same) =
            (draws.clone(), OutgoingRequests::default(), OutgoingRequests::default());
        for _ in 0..50 {
            assert_eq!(program.append(&mut draws, &mut out), program.append(&mut again, &mut same));
        }
        assert_eq!(out.bytes, same.bytes);
    }

    #[test]
    fn numbers_cover_exactly_their_range() {
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
    fn new_keys_follow_the_keys_of_the_set_and_can_be_repeated() {
        let operation = Operation {
            name: "insert".to_owned(),
            weight: 1,
            steps: ["SET {key.new} x", "ZADD z 1 {key.same}"].map(str::to_owned).into(),
            ..Operation::default()
        };
        let workload = of(vec![operation, Operation::command("GET {key}", 1)]);
        let keys = |workload: &Workload| {
            let (labels, text) = drawn(workload, 3, 200, 3);
            let words: Vec<_> = text.split("\r\n").filter(|word| word.starts_with("k:key:")).collect();
            (labels, words.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        let (labels, words) = keys(&workload);
        let mut words = words.into_iter();
        let mut inserted = 3;
        for label in labels {
            let key = words.next().unwrap();
            if label == "insert" {
                assert_eq!((&key, words.next().as_ref()), (&format!("k:key:{inserted:012}"), Some(&key)));
                inserted += 1;
            } else {
                assert!(key[6..].parse::<u64>().unwrap() < inserted, "{key} of {inserted}");
            }
        }
        let mut workload = workload.clone();
        workload.keys.get_mut("key").unwrap().digits = 2;
        workload.setup.steps.push("SET {key.new} x".to_owned());
        assert!(
            keys(&workload).1.iter().any(|key| key == "k:key:03")
                && keys(&workload).1.contains(&"k:key:100".to_owned())
        );
        assert_eq!(
            workload.check().unwrap_err().to_string(),
            "the setup cannot insert {key.new}; only operations can"
        );
    }
}
