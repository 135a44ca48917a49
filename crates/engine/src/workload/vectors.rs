//! Finds the operation of a workload that searches for nearest vectors, and computes the recall of its searches.

use std::ops::Range;

use super::{
    Draws, KeyNames, OutgoingRequests, Program, Values, Workload,
    step::{CommandStep, Fragment},
};
use crate::protocol::{Derived, Dialect, RespValue, append_vector, vector_of};

/// The maximum size of all vectors for which exact neighbours are computed: 512 MiB.
const MOST_BYTES: u64 = 512 << 20;
/// The number of neighbours that VSIM and FT.SEARCH return by default, without `KNN` or `COUNT`.
const USUAL_NEIGHBOURS: usize = 10;

/// A workload's search for nearest vectors among the vectors that its prefill writes.
#[derive(Debug)]
pub struct VectorSearch {
    /// A program with only the operation that searches.
    program: Program,
    /// The text before the digits in the names of the vectors.
    prefix: Vec<u8>,
    numbers: Range<u64>,
    set: u16,
    dimensions: usize,
}

/// One search for nearest vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// The request.
    pub request: Vec<u8>,
    /// The vector whose neighbours are searched.
    pub vector: Vec<f32>,
    /// The number of neighbours that are searched.
    pub neighbours: usize,
}

impl Workload {
    /// Returns the search for nearest vectors of a load with `keyspace` keys; `None` if there is no search.
    /// The search is the first operation whose only step contains a query vector. A query vector belongs to
    /// another set than the prefill's vectors.
    ///
    /// # Errors
    /// Fails if the vectors of the prefill need more than 512 MiB of memory.
    pub fn vector_search(
        &self,
        dialect: Dialect,
        keyspace: u64,
        names: &KeyNames,
    ) -> Result<Option<VectorSearch>, String> {
        let stored = self.prefill_steps(keyspace).find_map(|filled| {
            let of_filled = |(set, dimensions)| (set == filled.set).then_some((set, dimensions));
            Some((vectors(&filled.step).find_map(of_filled)?, filled.numbers))
        });
        let Some(((set, dimensions), numbers)) = stored else { return Ok(None) };
        let searches = |steps: &[CommandStep]| match steps {
            [step] => vectors(step).any(|other| other.0 != set && other.1 == dimensions),
            _ => false,
        };
        let operations = self.operations.iter().zip(&self.compiled().operations);
        let mut searching = operations.filter(|(it, compiled)| it.weight > 0 && searches(&compiled.steps));
        let Some((operation, _)) = searching.next() else { return Ok(None) };
        let count = numbers.end - numbers.start;
        let bytes = count.saturating_mul((dimensions * size_of::<f32>()) as u64);
        if bytes > MOST_BYTES {
            return Err(format!("exact neighbours of {count} vectors need {} MiB, at most 512", bytes >> 20));
        }
        let alone = Self { operations: vec![operation.clone()], ..self.clone() };
        let program = Program::new(&alone, dialect, keyspace, Values::new(&alone, 32, 1), names);
        let prefix = [names.prefix(), &self.keyset(set).1.prefix].concat().into_bytes();
        Ok(Some(VectorSearch { program, prefix, numbers, set, dimensions }))
    }
}

/// Returns the set and the number of dimensions of each vector in a step.
fn vectors(step: &CommandStep) -> impl Iterator<Item = (u16, usize)> {
    step.fragments().filter_map(|fragment| match fragment {
        Fragment::Derived(_, _, Derived::Vector(set, dimensions)) => Some((*set, *dimensions)),
        _ => None,
    })
}

impl VectorSearch {
    /// Draws a search. Returns `None` if the vector is not a complete argument of the command.
    pub fn draw(&self, draws: &mut Draws) -> Option<VectorQuery> {
        let mut out = OutgoingRequests::default();
        self.program.append(draws, &mut out);
        let request = out.wire(self.program.values());
        let value = RespValue::read(&request)?;
        let words: Vec<&[u8]> = value.list()?.iter().filter_map(RespValue::text).collect();
        let vector = words.iter().find(|word| word.len() == self.dimensions * size_of::<f32>())?;
        let (vector, neighbours) = (vector_of(vector).collect(), neighbours(&words));
        Some(VectorQuery { request, vector, neighbours })
    }

    /// Computes the vectors that the prefill writes. Returns the components of all vectors, one vector after the other.
    /// The computation stops early if `is_over` returns true.
    pub fn stored(&self, is_over: impl Fn() -> bool) -> Vec<f32> {
        let mut bytes = Vec::new();
        let vector = |number| {
            bytes.clear();
            append_vector((self.set, number), self.dimensions, &mut bytes);
            vector_of(&bytes).collect::<Vec<_>>()
        };
        self.numbers.clone().take_while(|_| !is_over()).flat_map(vector).collect()
    }

    /// Returns the recall of a reply, from 0 to 1: the share of the exact neighbours of `query` that the reply
    /// contains. The exact neighbours are searched among the `stored` vectors.
    pub fn recall(&self, query: &VectorQuery, stored: &[f32], reply: &[u8]) -> f64 {
        let product = |vector: &[f32]| vector.iter().zip(&query.vector).map(|(a, b)| a * b).sum::<f32>();
        let products: Vec<f32> = stored.chunks_exact(self.dimensions).map(product).collect();
        let wanted = query.neighbours.min(products.len());
        let Some(last) = wanted.checked_sub(1) else { return 1.0 };
        let mut nearest = products.clone();
        let (_, least, _) = nearest.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
        // The server may add the products in another order, so its result may differ slightly.
        let least = *least - 1e-5;
        let is_near = |place: &usize| products.get(*place).is_some_and(|product| *product >= least);
        let mut found: Vec<usize> = self.named(reply).filter(is_near).collect();
        found.sort_unstable();
        found.dedup();
        found.len().min(wanted) as f64 / wanted as f64
    }

    /// Returns the indices of the vectors whose names are in a reply.
    fn named(&self, reply: &[u8]) -> impl Iterator<Item = usize> {
        let names = memchr::memmem::find_iter(reply, &self.prefix).map(|at| &reply[at + self.prefix.len()..]);
        names.filter_map(|name| Some(number(name)?.checked_sub(self.numbers.start)? as usize))
    }
}

/// Parses the digits at the beginning of a text. Returns `None` if there are no digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0'));
    digits.fold(None, |sum: Option<u64>, digit| Some(sum.unwrap_or(0).wrapping_mul(10).wrapping_add(digit)))
}

/// Returns the number of neighbours that a search requests: the number after KNN or COUNT.
fn neighbours(words: &[&[u8]]) -> usize {
    let words = words.iter().flat_map(|word| word.split(|byte| !byte.is_ascii_alphanumeric()));
    let mut words =
        words.skip_while(|word| !word.eq_ignore_ascii_case(b"KNN") && !word.eq_ignore_ascii_case(b"COUNT"));
    words.nth(1).and_then(number).map_or(USUAL_NEIGHBOURS, |number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Settings, WorkloadChoice};

    const TEXT: &str = r#"
        [keys.doc]
        prefix = "doc:"
        count = 50
        [keys.query]
        count = 1000
        [[operation]]
        name = "search"
        steps = ["FT.SEARCH i '*=>[KNN 4 @v $q]' PARAMS 2 q {vector query 16}"]
        [[operation]]
        name = "write"
        steps = ["HSET {doc} v {vector doc.same 16}"]
        [prefill]
        steps = ["HSET {doc} v {vector doc.same 16}"]
    "#;

    fn search(text: &str, keyspace: u64) -> Result<Option<VectorSearch>, String> {
        let workload = WorkloadChoice::parse(text, ("w", "w"), &Settings::default()).unwrap().workload;
        workload.vector_search(Dialect::Resp2, keyspace, &KeyNames::given("k:"))
    }

    #[test]
    fn the_recall_is_the_share_of_exact_neighbours_in_the_reply() {
        let search = search(TEXT, 7).unwrap().unwrap();
        let (stored, mut draws) = (search.stored(|| false), Draws::new(1));
        assert_eq!(stored.len(), 50 * 16);
        let query = search.draw(&mut draws).unwrap();
        assert_eq!((query.vector.len(), query.neighbours), (16, 4));
        let far = |place: &usize| {
            let vector = stored[place * 16..][..16].iter().zip(&query.vector);
            vector.map(|(a, b)| (a - b) * (a - b)).sum::<f32>()
        };
        let mut places: Vec<usize> = (0..50).collect();
        places.sort_by(|a, b| far(a).total_cmp(&far(b)));
        let recall = |places: &[usize]| {
            let names =
                places.iter().map(|place| format!("$18\r\nk:doc:{place:012}\r\n")).collect::<String>();
            search.recall(&query, &stored, names.as_bytes())
        };
        assert_eq!(recall(&places[..4]), 1.0);
        assert_eq!(recall(&[places[3], places[0], places[20], places[30]]), 0.5);
        assert_eq!(recall(&[places[0], places[0], places[0], places[0]]), 0.25, "a name counts once");
        assert_eq!(recall(&places), 1.0);
        assert_eq!(recall(&[]), 0.0);
    }

    #[test]
    fn a_workload_without_a_search_or_without_its_vectors_has_no_recall() {
        assert!(search(&TEXT.replace("vector query", "vector doc"), 7).unwrap().is_none());
        assert!(search(TEXT.split("[prefill]").next().unwrap(), 7).unwrap().is_none());
        let error = search(&TEXT.replace("count = 50", "count = 50000000"), 7).unwrap_err();
        assert_eq!(error, "exact neighbours of 50000000 vectors need 3051 MiB, at most 512");
    }
}
