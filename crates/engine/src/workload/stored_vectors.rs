//! The vectors of a dataset as a server stores them. redyno computes the exact neighbours of a search from these
//! vectors.

use std::collections::HashMap;

use super::{Draws, OutgoingRequests, Program, json_vectors::name_and_vector};
use crate::protocol::{RespValue, vector_of};

/// The measure of the distance between two vectors.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metric {
    #[default]
    InnerProduct,
    Cosine,
    Euclidean,
}

/// The stored vectors, for exact searches.
#[derive(Debug, Default)]
pub struct StoredVectors {
    /// The components of all vectors, one vector after the other.
    pub(super) components: Vec<f32>,
    /// The index of each vector, by its name in replies. The map is empty if the names contain numbers.
    pub(super) names: HashMap<Vec<u8>, usize>,
    pub(super) metric: Metric,
}

/// The vectors of a dataset, and the operation that stores them.
#[derive(Debug)]
pub(super) struct RecordVectors {
    /// A program with only the operation that stores vectors.
    pub(super) program: Program,
    pub(super) records: u64,
    /// The index of the word with the vector in this operation.
    pub(super) vector: usize,
    /// The index of the word with the name of the vector.
    pub(super) name: usize,
    pub(super) metric: Metric,
}

impl Metric {
    /// Returns a number that is larger for a nearer vector.
    pub(super) fn nearness(self, vector: &[f32], query: &[f32]) -> f32 {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        match self {
            Self::InnerProduct => product(vector, query),
            Self::Cosine => {
                let lengths = product(vector, vector).sqrt() * product(query, query).sqrt();
                product(vector, query) / lengths.max(f32::MIN_POSITIVE)
            }
            Self::Euclidean => -vector.iter().zip(query).map(|(a, b)| (a - b) * (a - b)).sum::<f32>(),
        }
    }
}

impl StoredVectors {
    /// Returns the indices of the vectors that a reply names.
    pub(super) fn named(&self, reply: &[u8]) -> Vec<usize> {
        let Some(reply) = RespValue::read(reply) else { return Vec::new() };
        let words = reply.list().unwrap_or_default().iter().filter_map(RespValue::text);
        words.filter_map(|word| self.names.get(word).copied()).collect()
    }
}

impl RecordVectors {
    /// Reads all vectors of the dataset. If several records have the same name, the last record counts.
    pub(super) fn stored(&self, dimensions: usize, is_over: impl Fn() -> bool) -> StoredVectors {
        let mut all = StoredVectors { metric: self.metric, ..StoredVectors::default() };
        let mut drawn = (Draws::new(1), OutgoingRequests::default());
        for _ in (0..self.records).take_while(|_| !is_over()) {
            let words = words_of(&next_of(&self.program, &mut drawn));
            let Some((vector, name)) = words.get(self.vector).zip(words.get(self.name)) else { continue };
            let vector: Vec<f32> = vector_of(vector).collect();
            if vector.len() != dimensions {
                continue; // The server refuses such a vector too.
            }
            let next = all.names.len();
            let place = *all.names.entry(name.clone()).or_insert(next) * dimensions;
            if place == all.components.len() {
                all.components.extend(vector);
            } else {
                all.components[place..place + dimensions].copy_from_slice(&vector);
            }
        }
        all
    }
}

/// Returns the next request of a program.
pub(super) fn next_of(program: &Program, (draws, out): &mut (Draws, OutgoingRequests)) -> Vec<u8> {
    out.clear();
    program.append(draws, out);
    out.wire(program.values())
}

/// Returns the words of a request. For HTTP, word 0 is the last part of the path, and word 1 is the vector in the body.
pub(super) fn words_of(request: &[u8]) -> Vec<Vec<u8>> {
    match RespValue::read(request) {
        Some(words) => {
            let words = words.list().unwrap_or_default().iter();
            words.filter_map(RespValue::text).map(<[u8]>::to_vec).collect()
        }
        None => name_and_vector(request).map(Vec::from).unwrap_or_default(),
    }
}
