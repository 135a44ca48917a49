//! Counts how many of a load's keys exist on the server. If there are many keys, redyno checks only an evenly
//! distributed sample.

use super::{
    ServerError,
    clean::{CHUNK, CountResult, Store},
};
use crate::workload::{KeyNames, KeySpan, NameSet};

/// The largest number of keys to check. Checking 100 000 keys takes about 0.1 s of the server's time.
const MOST: u64 = 100_000;

/// Counts how many keys of `span` exist. If `span` has more than [`MOST`] keys, only an evenly distributed sample is
/// checked. On a cluster node, keys of other nodes and keys that are being moved are left out.
pub(super) async fn count(
    store: impl Store,
    span: &KeySpan,
    names: &KeyNames,
) -> Result<CountResult, ServerError> {
    let mut counted = CountResult::default();
    let mut wanted = spread(span, names).filter(|key| store.holds(key));
    loop {
        let chunk: Vec<_> = wanted.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            return Ok(counted);
        }
        counted = [counted, store.count_existing(&chunk).await?].into_iter().sum();
    }
}

/// Returns all names of `span`, or every n-th name if there are more than [`MOST`] names.
fn spread<'a>(span: &'a KeySpan, names: &'a KeyNames) -> impl Iterator<Item = Vec<u8>> + 'a {
    let total = span.total().unwrap_or(u64::MAX);
    let step = usize::try_from(total.div_ceil(MOST).max(1)).unwrap_or(usize::MAX);
    let of_set = move |set: &'a NameSet| {
        let named =
            move |number| [names.prefix(), &set.prefix, &set.form.write(number)].concat().into_bytes();
        set.numbers.clone().step_by(step).map(named)
    };
    span.iter().flat_map(of_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_are_all_checked_and_of_many_keys_a_part_of_each_set() {
        let names = KeyNames::given("k:");
        let of = |sets: [(&str, std::ops::Range<u64>); 2]| -> Vec<String> {
            let sets = sets.map(|(prefix, numbers)| (prefix.to_owned(), numbers));
            let span: KeySpan = sets.into_iter().collect();
            spread(&span, &names).map(|name| String::from_utf8(name).unwrap()).collect()
        };
        let few = of([("", 0..2), ("post:", 7..8)]);
        assert_eq!(few, ["k:000000000000", "k:000000000001", "k:post:000000000007"]);
        let many = of([("", 0..900_000), ("post:", 0..100_000)]);
        assert_eq!((many.len(), many[1].as_str()), (100_000, "k:000000000010"));
        assert_eq!(many.last().unwrap(), "k:post:000000099990");
    }
}
