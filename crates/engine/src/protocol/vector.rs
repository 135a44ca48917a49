//! Computes the vectors of requests for vector search. A vector is not stored. redyno computes the vector from its
//! number whenever the vector is needed.

/// The largest number of dimensions of a vector.
pub const MOST_DIMENSIONS: usize = 32_768;
/// The number of clusters among which the vectors are divided.
const CLUSTERS: u64 = 256;
/// The standard deviation of vectors around the centre of their cluster. The unit is the standard deviation of the
/// centres around the origin.
const SPREAD: f32 = 0.7;

/// Appends the vector of a number in a set. The vector consists of `dimensions` single-precision floats in
/// little-endian order (FP32). The vector has length 1, so the inner product, the cosine and the Euclidean distance
/// give the same neighbours. The vectors form clusters. The centres of the clusters are the same for all sets.
pub fn append_vector((set, number): (u16, u64), dimensions: usize, out: &mut Vec<u8>) {
    let own = mixed(mixed(number) ^ u64::from(set));
    let centre = mixed(own % CLUSTERS);
    let component = |i: u64| normal(centre.wrapping_add(i)) + SPREAD * normal(own.wrapping_add(i));
    let components = (0..dimensions as u64).map(component);
    let length = components.clone().map(|it| it * it).sum::<f32>().sqrt();
    out.extend(components.flat_map(|it| (it / length).to_le_bytes()));
}

/// Returns the vector that these bytes encode as a list in JSON. Each number has only the digits that its
/// FP32 needs. An infinite number or NaN becomes `null`.
pub fn list_of(bytes: &[u8]) -> String {
    serde_json::to_string(&vector_of(bytes).collect::<Vec<_>>()).expect("a list of numbers is JSON")
}

/// Returns the components of the vector that these bytes encode.
pub fn vector_of(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// Returns 64 bits that depend on all bits of `n` (splitmix64).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Returns a nearly normally distributed number around 0. The number is the sum of four uniformly distributed numbers.
fn normal(seed: u64) -> f32 {
    let bits = mixed(seed);
    let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
    sum as f32 / 65_535.0 - 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(set: u16, number: u64) -> Vec<f32> {
        let mut bytes = Vec::new();
        append_vector((set, number), 64, &mut bytes);
        vector_of(&bytes).collect()
    }

    #[test]
    fn a_vector_has_length_1_and_depends_on_its_number_and_set() {
        let one = vector(0, 7);
        assert_eq!(one.len(), 64);
        assert!((one.iter().map(|it| it * it).sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(one, vector(0, 7));
        assert!(one != vector(1, 7) && one != vector(0, 8));
        let bytes: Vec<u8> = one.iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(serde_json::from_str::<Vec<f32>>(&list_of(&bytes)).unwrap(), one);
        assert_eq!(list_of(&[0.1, -1e-9_f32].map(f32::to_le_bytes).concat()), "[0.1,-1e-9]");
    }

    #[test]
    fn vectors_form_clusters() {
        let product = |n| vector(0, 0).iter().zip(vector(1, n)).map(|(one, other)| one * other).sum::<f32>();
        let near = (0..5120).filter(|n| product(*n) > 0.5).count();
        assert!((5..60).contains(&near), "about 20 of 5120 are of one of 256 clusters: {near}");
    }
}
