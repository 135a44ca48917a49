//! Finds the operation of a workload that searches for nearest vectors, and computes the recall of its searches.

use std::ops::Range;

use super::{
    Draws, KeyNames, OutgoingRequests, Program, SearchNumber, Values, Workload,
    json_vectors::hits,
    step::{CommandStep, Fragment},
    stored_vectors::{RecordVectors, StoredVectors, words_of},
};
use crate::protocol::{Derived, Dialect, append_vector, vector_of};

/// The maximum size of all vectors for which exact neighbours are computed: 512 MiB.
const MOST_BYTES: u64 = 512 << 20;
/// The number of neighbours that VSIM and FT.SEARCH return by default, without `KNN` or `COUNT`.
const USUAL_NEIGHBOURS: usize = 10;

/// The indices of the words with the name and with the vector, for an HTTP request that stores a vector.
pub(super) const BY_HTTP: (usize, usize) = (0, 1);

/// A workload's search for nearest vectors.
#[derive(Debug)]
pub struct VectorSearch {
    /// A program with only the operation that searches.
    pub(super) program: Program,
    /// The index of the word with the query vector.
    pub(super) query: usize,
    pub(super) dimensions: usize,
    /// The number of neighbours of a search over HTTP.
    pub(super) by_http: Option<usize>,
    pub(super) source: VectorSource,
}

/// The vectors among which a workload searches.
#[derive(Debug)]
pub(super) enum VectorSource {
    /// The vectors that the prefill derives from the keys of a set.
    Derived {
        /// The text before the digits in the names of the vectors.
        prefix: Vec<u8>,
        numbers: Range<u64>,
        set: u16,
    },
    /// The vectors of a dataset.
    Records(Box<RecordVectors>),
}

/// One search for nearest vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// The name of the command.
    pub command: Vec<u8>,
    /// The request.
    pub request: Vec<u8>,
    /// The vector whose neighbours are searched.
    pub vector: Vec<f32>,
    /// The number of neighbours that are searched.
    pub neighbours: usize,
}

impl Workload {
    /// Returns the search for nearest vectors that a load with `keyspace` keys performs, or `None` if there is no such
    /// search. The search is the first operation whose only step contains a query vector. The query vector and the
    /// vectors of the prefill belong to different sets.
    ///
    /// # Errors
    /// Fails if the stored vectors need more than 512 MiB of memory. Also fails if the exact neighbours in a dataset
    /// cannot be computed.
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
        let Some(((set, dimensions), numbers)) = stored else {
            return self.search_of_records(dialect, keyspace, names);
        };
        let searches = |steps: &[CommandStep]| match steps {
            [step] => vectors(step).any(|other| other.0 != set && other.1 == dimensions),
            _ => false,
        };
        let operations = self.operations.iter().zip(&self.compiled().operations);
        let mut searching = operations.filter(|(it, compiled)| it.weight > 0 && searches(&compiled.steps));
        let Some((operation, compiled)) = searching.next() else { return Ok(None) };
        let is_query = |other: &Fragment| vector(other).is_some_and(|other| other.0 != set);
        let query = dialect.site().map_or_else(|| place_of(&compiled.steps[0], is_query), |_| BY_HTTP.1);
        check_size(numbers.end - numbers.start, dimensions)?;
        let alone = Self { operations: vec![operation.clone()], ..self.clone() };
        let program = Program::new(&alone, dialect, keyspace, Values::new(&alone, 32, 1), names);
        let prefix = [names.prefix(), &self.keyset(set).1.prefix].concat().into_bytes();
        let source = VectorSource::Derived { prefix, numbers, set };
        let by_http = alone.neighbours_by_http(dialect);
        Ok(Some(VectorSearch { program, query, dimensions, by_http, source }))
    }

    /// Returns the number of neighbours of the first search, if the searches are HTTP requests.
    pub(super) fn neighbours_by_http(&self, dialect: Dialect) -> Option<usize> {
        let neighbours = self.search_number(SearchNumber::Neighbours);
        dialect.site().map(|_| neighbours.map_or(USUAL_NEIGHBOURS, |number| number as usize))
    }
}

/// Checks that this many vectors need at most 512 MiB of memory.
///
/// # Errors
/// Fails if the vectors need more memory.
pub(super) fn check_size(count: u64, dimensions: usize) -> Result<(), String> {
    let bytes = count.saturating_mul((dimensions * size_of::<f32>()) as u64);
    if bytes > MOST_BYTES {
        return Err(format!(
            "exact neighbours of {count} vectors need {} MiB, more than the limit of 512",
            bytes >> 20
        ));
    }
    Ok(())
}

/// Returns the set and the number of dimensions of each vector in a step.
pub(super) fn vectors(step: &CommandStep) -> impl Iterator<Item = (u16, usize)> {
    step.fragments().filter_map(vector)
}

fn vector(fragment: &Fragment) -> Option<(u16, usize)> {
    match fragment {
        Fragment::Derived(_, _, Derived::Vector(set, dimensions)) => Some((*set, *dimensions)),
        _ => None,
    }
}

/// Returns the index of the first word with a single fragment for which `is_it` returns true. If there is no
/// such word, returns `usize::MAX`.
pub(super) fn place_of(step: &CommandStep, is_it: impl Fn(&Fragment) -> bool) -> usize {
    let is_it = |word: &Vec<Fragment>| matches!(word.as_slice(), [fragment] if is_it(fragment));
    step.0.iter().position(is_it).unwrap_or(usize::MAX)
}

impl VectorSearch {
    /// Draws a search. Returns `None` if the vector is not a complete argument of the command. For HTTP, returns `None`
    /// if the vector is not the first list of numbers in the body.
    pub fn draw(&self, draws: &mut Draws) -> Option<VectorQuery> {
        let mut out = OutgoingRequests::default();
        self.program.append(draws, &mut out);
        let request = out.wire(self.program.values());
        let words = words_of(&request);
        let vector = words.get(self.query).filter(|it| it.len() == self.dimensions * size_of::<f32>())?;
        let neighbours = self.by_http.unwrap_or_else(|| neighbours(&words));
        let vector = vector_of(vector).collect();
        Some(VectorQuery { command: words.first()?.clone(), request, vector, neighbours })
    }

    /// Computes the stored vectors. The computation stops early if `is_over` returns true.
    pub fn stored(&self, is_over: impl Fn() -> bool) -> StoredVectors {
        let (numbers, set) = match &self.source {
            VectorSource::Derived { numbers, set, .. } => (numbers.clone(), *set),
            VectorSource::Records(records) => return records.stored(self.dimensions, is_over),
        };
        let mut bytes = Vec::new();
        let vector = |number| {
            bytes.clear();
            append_vector((set, number), self.dimensions, &mut bytes);
            vector_of(&bytes).collect::<Vec<_>>()
        };
        let components = numbers.take_while(|_| !is_over()).flat_map(vector).collect();
        StoredVectors { components, ..StoredVectors::default() }
    }

    /// Returns the recall of a reply, from 0 to 1: the share of the exact neighbours of `query` that the reply
    /// contains. The exact neighbours are searched among the `stored` vectors.
    pub fn recall(&self, query: &VectorQuery, stored: &StoredVectors, reply: &[u8]) -> f64 {
        let near = |vector: &[f32]| stored.metric.nearness(vector, &query.vector);
        let all: Vec<f32> = stored.components.chunks_exact(self.dimensions).map(near).collect();
        let wanted = query.neighbours.min(all.len());
        let Some(last) = wanted.checked_sub(1) else { return 1.0 };
        let mut nearest = all.clone();
        let (_, least, _) = nearest.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
        // The server may add the products in another order, so its result may differ slightly.
        let least = *least - 1e-5 * least.abs().max(1.0);
        let is_near = |place: &usize| all.get(*place).is_some_and(|near| *near >= least);
        let listed = self.by_http.map(|_| hits(reply));
        let reply = listed.as_deref().unwrap_or(reply);
        let named = match &self.source {
            VectorSource::Derived { prefix, numbers, .. } => named(reply, prefix, numbers.start),
            VectorSource::Records(_) => stored.named(reply),
        };
        let mut found: Vec<usize> = named.into_iter().filter(is_near).collect();
        found.sort_unstable();
        found.dedup();
        found.len().min(wanted) as f64 / wanted as f64
    }
}

/// Returns the indices of the vectors that a reply names. Each name consists of `prefix` and a number.
fn named(reply: &[u8], prefix: &[u8], first: u64) -> Vec<usize> {
    let names = memchr::memmem::find_iter(reply, prefix).map(|at| &reply[at + prefix.len()..]);
    names.filter_map(|name| Some(number(name)?.checked_sub(first)? as usize)).collect()
}

/// Parses the digits at the beginning of a text. Returns `None` if there are no digits.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0'));
    digits.fold(None, |sum: Option<u64>, digit| Some(sum.unwrap_or(0).wrapping_mul(10).wrapping_add(digit)))
}

/// Returns the number of neighbours that a search requests: the number after KNN or COUNT.
fn neighbours(words: &[Vec<u8>]) -> usize {
    let words = words.iter().flat_map(|word| word.split(|byte| !byte.is_ascii_alphanumeric()));
    let mut words =
        words.skip_while(|word| !word.eq_ignore_ascii_case(b"KNN") && !word.eq_ignore_ascii_case(b"COUNT"));
    words.nth(1).and_then(number).map_or(USUAL_NEIGHBOURS, |number| number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::HttpSite,
        workload::{Settings, WorkloadChoice, preset},
    };

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
        assert_eq!(stored.components.len(), 50 * 16);
        let query = search.draw(&mut draws).unwrap();
        assert_eq!((query.vector.len(), query.neighbours), (16, 4));
        let far = |place: &usize| {
            let vector = stored.components[place * 16..][..16].iter().zip(&query.vector);
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
    fn by_http_the_hits_of_a_reply_are_compared_with_the_exact_neighbours() {
        let (workload, names) = (preset("opensearch-knn").unwrap(), KeyNames::given("redyno-x-"));
        let dialect = Dialect::Http(HttpSite::of("h", "/"));
        let workload = workload.with_search_number(SearchNumber::Neighbours, 2).unwrap();
        let search = workload.vector_search(dialect, 250, &names).unwrap().unwrap();
        let (stored, query) = (search.stored(|| false), search.draw(&mut Draws::new(1)).unwrap());
        assert_eq!((query.vector.len(), query.neighbours), (128, 2));
        let near = |place: &usize| {
            let vector = stored.components[place * 128..][..128].iter().zip(&query.vector);
            vector.map(|(a, b)| a * b).sum::<f32>()
        };
        let mut places: Vec<usize> = (0..250).collect();
        places.sort_by(|a, b| near(b).total_cmp(&near(a)));
        let recall = |places: &[usize]| {
            let hit = |place| format!("{{\"_index\":\"redyno-x-v0\",\"_id\":\"redyno-x-v{place:012}\"}}");
            let hits = places.iter().map(hit).collect::<Vec<_>>().join(",");
            let body = format!("{{\"took\":1,\"hits\":{{\"hits\":[{hits}]}}}}");
            let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            search.recall(&query, &stored, reply.as_bytes())
        };
        assert_eq!([recall(&places[..2]), recall(&[places[1], places[9]]), recall(&[])], [1.0, 0.5, 0.0]);
    }

    #[test]
    fn a_workload_without_a_search_or_without_its_vectors_has_no_recall() {
        assert!(search(&TEXT.replace("vector query", "vector doc"), 7).unwrap().is_none());
        assert!(search(TEXT.split("[prefill]").next().unwrap(), 7).unwrap().is_none());
        let error = search(&TEXT.replace("count = 50", "count = 50000000"), 7).unwrap_err();
        assert_eq!(error, "exact neighbours of 50000000 vectors need 3051 MiB, more than the limit of 512");
    }
}
