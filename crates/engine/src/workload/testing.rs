//! Creates programs and workloads for the tests of this module.

use super::{Draws, KeyNames, Keyset, Operation, OutgoingRequests, Program, ValueKind, Values, Workload};
use crate::protocol::Dialect;

/// Returns the program of a workload in RESP2, with keys called `k:…` and values of 4 bytes.
pub(super) fn program(workload: &Workload, keyspace: u64) -> Program {
    Program::new(workload, Dialect::Resp2, keyspace, Values::new(workload, 4, 1), &KeyNames::given("k:"))
}

/// Returns the names of the first `n` operations for a seed, and the bytes of all their requests. Each operation is
/// answered before the next operation is drawn.
pub(super) fn drawn(workload: &Workload, keyspace: u64, n: usize, seed: u64) -> (Vec<String>, String) {
    let program = program(workload, keyspace);
    let (mut draws, mut out) = (Draws::new(seed), OutgoingRequests::default());
    let next = |_| {
        let op = program.append(&mut draws, &mut out);
        out.inserted.answer(u32::MAX);
        op
    };
    let labels = (0..n).map(next);
    let labels = labels.map(|op| program.operations().of(op).label.clone()).collect();
    (labels, String::from_utf8(out.bytes).unwrap())
}

/// Creates a workload over two sets of keys, `key:` and `other:`.
pub(super) fn of(operations: Vec<Operation>) -> Workload {
    let keys = ["key", "other"]
        .map(|name| (name.to_owned(), Keyset { prefix: format!("{name}:"), ..Keyset::default() }));
    Workload { name: "test".to_owned(), keys: keys.into(), operations, ..Workload::default() }
}

/// Creates a workload without operations. The workload has the sets of keys `a`, `key` and `zz_bare`, and the kind of
/// values `text`. The set `zz_bare` has no prefix.
pub(super) fn described() -> Workload {
    let bare = Keyset { bare: true, ..Keyset::default() };
    let keys = [("a", Keyset::default()), ("key", Keyset::default()), ("zz_bare", bare)];
    let keys = keys.map(|(name, keys)| (name.to_owned(), keys)).into();
    let values = ["text"].map(|name| (name.to_owned(), ValueKind::default())).into();
    Workload { keys, values, ..Workload::default() }
}
