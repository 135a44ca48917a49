//! Finds searches for nearest vectors in a workload with a dataset. Computes the exact neighbours of these searches.
//!
//! ```text
//!  weight 0:  VADD sift FP32 __field:vector__ __field:id__     ──► all vectors of the file, and their names
//!  weight 1:  VSIM sift FP32 __field:vector__ COUNT 10         ──► queries: further passes over the file
//! ```

use super::{
    Draws, KeyNames, Operation, OutgoingRequests, Portion, Program, Values, VectorSearch, Workload,
    step::{CommandStep, Fragment},
    stored_vectors::{Metric, RecordVectors, next_of, words_of},
    vectors::{BY_HTTP, VectorSource, check_size, place_of, vectors},
};
use crate::protocol::Dialect;

impl Workload {
    /// Returns the search for nearest vectors among the vectors of the dataset, or `None` if there is no such search.
    /// The search is the first VSIM or FT.SEARCH. Another operation must store the vectors.
    ///
    /// # Errors
    /// Fails if the exact neighbours cannot be computed. The error is the reason.
    pub(super) fn search_of_records(
        &self,
        dialect: Dialect,
        keyspace: u64,
        names: &KeyNames,
    ) -> Result<Option<VectorSearch>, String> {
        let Some(dataset) = &self.dataset else { return Ok(None) };
        let of = |step: &CommandStep| step.command().unwrap_or_default();
        let is_http = dialect.site().is_some();
        let is_search = |step: &CommandStep| match of(step).as_str() {
            "VSIM" | "FT.SEARCH" => true,
            _ => is_http && step.0.get(1).is_some_and(|path| path.iter().any(is_search_path)),
        };
        let all = || {
            let both = self.operations.iter().zip(&self.compiled().operations);
            both.filter_map(|(it, compiled)| {
                Some((it, compiled.steps.first().filter(|_| compiled.steps.len() == 1)?))
            })
        };
        let Some((searches, search)) = all().find(|(it, step)| it.weight > 0 && is_search(step)) else {
            return Ok(None);
        };
        let Some((stores, store)) = all().find(|(_, step)| !is_search(step) && step.is_of_record()) else {
            return Ok(None);
        };
        let alone = |operation: &Operation| {
            let operations = vec![Operation { weight: 1, ..operation.clone() }];
            let alone = Self { operations, dataset: Some(dataset.first(u64::MAX)), ..self.clone() };
            Program::new(&alone, dialect, keyspace, Values::new(&alone, 32, 1), names)
        };
        let mut drawn = (Draws::new(1), OutgoingRequests::default());
        let words = words_of(&next_of(&alone(stores), &mut drawn));
        let derived = vectors(search).next().map(|(_, dimensions)| dimensions * size_of::<f32>());
        let places = match is_http {
            true => words.get(BY_HTTP.1).map(|_| Ok(BY_HTTP)),
            false => places(search, store, &words, derived),
        };
        let Some(places) = places else { return Ok(None) };
        let (name, vector) = places?;
        if stores.weight > 0 {
            return Err(format!(
                "the operation '{}' still stores vectors; give it the weight 0",
                stores.name
            ));
        }
        if search.has_word("WITHSCORES") {
            return Err("the reply has scores between the names; leave WITHSCORES out".to_owned());
        }
        let metric = if of(search) == "VSIM" { Metric::Cosine } else { self.metric()? };
        let dimensions = words[vector].len() / size_of::<f32>();
        check_size(dataset.records, dimensions)?;
        let records =
            RecordVectors { program: alone(stores), records: dataset.records, vector, name, metric };
        let stored = whole(&store.0[vector]);
        let is_query = |it: &Fragment| match it {
            Fragment::OfRecord(portion) => derived.is_none() && Some(portion) == stored,
            it => derived.is_some() && matches!(it, Fragment::Derived(..)),
        };
        let (query, source) = (place_of(search, is_query), VectorSource::Records(Box::new(records)));
        let query = if is_http { BY_HTTP.1 } else { query };
        let by_http = self.neighbours_by_http(dialect);
        Ok(Some(VectorSearch { program: alone(searches), query, dimensions, by_http, source }))
    }

    /// Returns the metric of the index that the setup creates.
    fn metric(&self) -> Result<Metric, String> {
        let text = self.setup.steps.join(" ").to_ascii_uppercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|it| !it.is_empty());
        let mut words = words.skip_while(|word| !["DISTANCE_METRIC", "SPACE_TYPE"].contains(word));
        match words.nth(1) {
            Some("L2") => Ok(Metric::Euclidean),
            Some("IP" | "INNERPRODUCT") => Ok(Metric::InnerProduct),
            Some("COSINE" | "COSINESIMIL") => Ok(Metric::Cosine),
            _ => Err(
                "the metric of the index is unknown; create the index in [setup], with DISTANCE_METRIC or \
                      \"space_type\""
                    .to_owned(),
            ),
        }
    }
}

/// Returns the indices of two words in the step that stores a vector: the name and the vector. Returns `None` if there
/// is no vector. `derived` is the length of a derived query.
///
/// # Errors
/// Fails if the step gives the vector no name from the record.
fn places(
    search: &CommandStep,
    store: &CommandStep,
    words: &[Vec<u8>],
    derived: Option<usize>,
) -> Option<Result<(usize, usize), String>> {
    let is_vector = |place: &usize| {
        let portion = whole(&store.0[*place]);
        let is_same = portion.is_some() && search.0.iter().any(|word| whole(word) == portion);
        let length = words.get(*place).map_or(0, Vec::len);
        derived.map_or(is_same && length.is_multiple_of(4), |derived| portion.is_some() && length == derived)
    };
    let vector = (0..store.0.len()).filter(|_| !search.has_word("ELE")).find(is_vector)?;
    let is_of_record = |place: &usize| store.0[*place].iter().any(|it| matches!(it, Fragment::OfRecord(_)));
    let name = (1..store.0.len()).find(|place| *place != vector && is_of_record(place));
    let none = || "the operation that stores the vectors gives them no name from the record".to_owned();
    Some(name.map(|name| (name, vector)).ok_or_else(none))
}

/// Returns whether the text is part of the path of a search by HTTP.
fn is_search_path(text: &Fragment) -> bool {
    matches!(text, Fragment::Text(text) if memchr::memmem::find(text, b"/_search").is_some())
}

/// Returns the part of a record that makes up the whole word.
fn whole(word: &[Fragment]) -> Option<&Portion> {
    if let [Fragment::OfRecord(portion)] = word { Some(portion) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::HttpSite,
        workload::{Settings, WorkloadChoice},
    };

    const DIMENSIONS: usize = 4;
    type Distance = dyn Fn(&[f64], &[f64]) -> f64;
    const VSIM: &str = "VSIM s FP32 __field:vector__ COUNT 4";

    /// Returns sixty vectors of different lengths.
    fn vectors() -> Vec<Vec<f32>> {
        let component = |n: usize| ((n * 7919 + n * n * 104_729) % 1009) as f32 / 50.0 - 9.0;
        (0..60).map(|n| (0..DIMENSIONS).map(|at| component(n * DIMENSIONS + at)).collect()).collect()
    }

    /// Writes the vectors in a format, and returns the file.
    fn file(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
        use base64::{Engine, prelude::BASE64_STANDARD};
        let rows =
            vectors().into_iter().map(|row| row.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>());
        let bytes = match name {
            "v.fvecs" => {
                rows.flat_map(|row| [&(DIMENSIONS as i32).to_le_bytes()[..], &row].concat()).collect()
            }
            "v.npy" => {
                let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (60, 4), }\n";
                let length = (head.len() as u16).to_le_bytes();
                let magic = [b"\x93NUMPY\x01\x00", &length[..], head.as_bytes()].concat();
                [magic].into_iter().chain(rows).collect::<Vec<_>>().concat()
            }
            _ => {
                let row = |(id, row)| format!("{id},{}\n", BASE64_STANDARD.encode::<Vec<u8>>(row));
                ["id,vector\n".to_owned()]
                    .into_iter()
                    .chain(rows.enumerate().map(row))
                    .collect::<String>()
                    .into()
            }
        };
        let file = folder.join(name);
        std::fs::write(&file, bytes).unwrap();
        file
    }

    fn search(
        file: &std::path::Path,
        (store, search): (&str, &str),
        setup: &str,
    ) -> Result<VectorSearch, String> {
        let keys = if search.contains("{vector q") { "[keys.q]\n" } else { "" };
        let text = format!(
            "{keys}[setup]\nsteps = [{setup}]\n[[operation]]\nname = 'store'\nweight = 0\nsteps = ['{store}']\n\
             [[operation]]\nname = 'near'\nsteps = [\"{search}\"]\n"
        );
        let workload = WorkloadChoice::parse(&text, ("w", "w"), &Settings::default()).unwrap().workload;
        let workload = workload.with_dataset(file, None).unwrap();
        let search = workload.vector_search(Dialect::Resp2, 1, &KeyNames::given("k:"))?;
        search.ok_or_else(|| "no search".to_owned())
    }

    #[test]
    fn the_recall_among_the_vectors_of_a_file_is_that_of_an_independent_search() {
        let folder = tempfile::tempdir().unwrap();
        let wide = |row: &[f32]| row.iter().map(|it| f64::from(*it)).collect::<Vec<_>>();
        let angle = |a: &[f64], b: &[f64]| {
            let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            (dot / (a.iter().map(|a| a * a).sum::<f64>() * b.iter().map(|b| b * b).sum::<f64>()).sqrt())
                .acos()
        };
        let distance =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let minus_dot = |a: &[f64], b: &[f64]| -a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let ft = "FT.SEARCH i '*=>[KNN 4 @v $q]' PARAMS 2 q VECTOR NOCONTENT DIALECT 2";
        let create = |metric| {
            format!("'FT.CREATE i SCHEMA v VECTOR FLAT 6 TYPE FLOAT32 DIM 4 DISTANCE_METRIC {metric}'")
        };
        for name in ["v.fvecs", "v.npy", "v.csv"] {
            let file = file(folder.path(), name);
            let field = if name == "v.csv" { "__field:vector:base64__" } else { "__field:vector__" };
            let far: [(&str, &str, String, &Distance); 4] = [
                ("VADD s FP32 VECTOR d:__field:id__", VSIM, String::new(), &angle),
                ("HSET d:__field:id__ v VECTOR", ft, create("L2"), &distance),
                ("HSET d:__field:id__ v VECTOR", ft, create("COSINE"), &angle),
                ("HSET d:__field:id__ v VECTOR", ft, create("IP"), &minus_dot),
            ];
            for (store, searches, setup, far) in far {
                let [store, searches] = [store, searches]
                    .map(|step| step.replace("__field:vector__", "VECTOR").replace("VECTOR", field));
                let setup = setup.replace(field, "VECTOR");
                let search = search(&file, (&store, &searches), &setup).unwrap();
                let (stored, mut draws) = (search.stored(|| false), Draws::new(1));
                assert_eq!((stored.components.len(), stored.names.len()), (240, 60), "{name} {store}");
                let query = search.draw(&mut draws).unwrap();
                assert!(vectors().contains(&query.vector) && query.neighbours == 4, "{name} {store}");
                let mut nearest: Vec<usize> = (0..60).collect();
                let key = |n: &usize| far(&wide(&vectors()[*n]), &wide(&query.vector));
                nearest.sort_by(|a, b| key(a).total_cmp(&key(b)));
                let recall = |places: &[usize]| {
                    let names: String =
                        places.iter().map(|n| format!("${}\r\nd:{n}\r\n", 2 + n.to_string().len())).collect();
                    search.recall(
                        &query,
                        &stored,
                        format!("*{}\r\n:{}\r\n{names}", places.len() + 1, 4).as_bytes(),
                    )
                };
                assert_eq!(recall(&nearest[..4]), 1.0, "{name} {store} {setup}");
                assert_eq!(
                    recall(&[nearest[1], nearest[3], nearest[40], nearest[59]]),
                    0.5,
                    "{name} {store} {setup}"
                );
                assert_eq!((recall(&[nearest[2]; 4]), recall(&[])), (0.25, 0.0));
            }
        }
    }

    #[test]
    fn by_http_vectors_are_lists_in_json_and_the_end_of_a_path_is_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), "v.fvecs");
        let text = "[setup]\nsteps = ['PUT /i {\"space_type\":\"cosinesimil\"}']\n[[operation]]\nname = 'store'\n\
            weight = 0\nsteps = ['PUT /i/_doc/__field:id__ {\"v\":__field:list__}']\n[[operation]]\nname = 'near'\n\
            steps = ['POST /i/_search?x {\"knn\":{\"v\":{\"vector\":__field:list__,\"k\":4}}}']\n";
        let workload = WorkloadChoice::parse(text, ("w", "w"), &Settings::default()).unwrap().workload;
        let workload = workload.with_dataset(&file, None).unwrap();
        let dialect = Dialect::Http(HttpSite::of("h", "/"));
        let search = workload.vector_search(dialect, 1, &KeyNames::given("k")).unwrap().unwrap();
        let (stored, query) = (search.stored(|| false), search.draw(&mut Draws::new(1)).unwrap());
        assert_eq!((stored.components, stored.metric), (vectors().concat(), Metric::Cosine));
        assert_eq!((stored.names.len(), stored.names.get(&b"59"[..])), (60, Some(&59)));
        assert!(query.vector == vectors()[0] && query.neighbours == 4, "{query:?}");
    }

    #[test]
    fn a_search_whose_exact_neighbours_are_unknown_has_no_recall() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), "v.fvecs");
        let store = "VADD s FP32 __field:vector__ __field:id__";
        let ft = "FT.SEARCH i '*=>[KNN 4 @v $q]' PARAMS 2 q __field:vector__";
        for (steps, error) in [
            ((store, "VSIM s FP32 __field:vector__ WITHSCORES"), "leave WITHSCORES out"),
            (("HSET d v __field:vector__", ft), "gives them no name from the record"),
            (("HSET __field:id__ v __field:vector__", ft), "with DISTANCE_METRIC or \"space_type\""),
            ((store, "VSIM s ELE __field:id__"), "no search"),
            ((store, "GET __field:id__"), "no search"),
        ] {
            let found = search(&file, steps, "").unwrap_err();
            assert!(found.ends_with(error), "{found}");
        }
        let derived = search(&file, (store, "VSIM s FP32 {vector q 4}"), "");
        assert_eq!(derived.map(|it| (it.dimensions, it.query)), Ok((4, 3)));
    }
}
