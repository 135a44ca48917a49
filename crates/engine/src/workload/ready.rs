//! A workload of requests that are encoded before the run, for instance from a file in the format of another
//! tool.

use std::sync::Arc;

/// The complete requests of an operation. A set of keys decides which request is next. The drawn number is the index of
/// the request. The key itself is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompleteRequests {
    /// The name of the set of keys. The numbers of this set begin at 0.
    pub set: String,
    /// All requests, one after the other.
    bytes: Arc<[u8]>,
    /// The end of each request.
    ends: Arc<[usize]>,
}

impl CompleteRequests {
    /// Creates the requests of an operation. The set `set` must have one key per request.
    pub fn new(set: &str, requests: impl Iterator<Item = Vec<u8>>) -> Self {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for request in requests {
            bytes.extend_from_slice(&request);
            ends.push(bytes.len());
        }
        Self { set: set.to_owned(), bytes: bytes.into(), ends: ends.into() }
    }

    /// Returns the request with this number.
    pub(super) fn get(&self, number: u64) -> &[u8] {
        let place = number as usize % self.ends.len();
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::{
        CompleteRequests, Distribution, Draws, KeyNames, Keyset, Operation, OperationOrder, OutgoingRequests,
        Program, Values, Workload,
    };

    #[test]
    fn each_client_sends_the_requests_in_the_order_of_the_keys() {
        let ready = CompleteRequests::new("row", ["a", "bb", ""].map(Vec::from).into_iter());
        let operation = Operation { is_raw: true, ready: Some(ready), ..Operation::command("SET", 1) };
        let row =
            Keyset { count: Some(3), distribution: Distribution::SequentialByClient, ..Keyset::default() };
        let workload = Workload {
            operations: vec![operation, Operation::command("PING", 1)],
            keys: [("row".to_owned(), row)].into(),
            order: OperationOrder::InTurn,
            ..Workload::default()
        };
        workload.check().unwrap();
        let values = Values::new(&workload, 1, 1);
        let dialect = crate::protocol::Dialect::Resp2;
        let program = Program::new(&workload, dialect, 1, values, &KeyNames::given(""));
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        let taken = (0..10).map(|_| program.append(&mut draws, &mut out).index());
        assert_eq!(taken.collect::<Vec<_>>(), [0, 1].repeat(5));
        let ping = "*1\r\n$4\r\nPING\r\n";
        let expected = ["a", "bb", "", "a", "bb"].map(|text| text.to_owned() + ping).concat();
        assert_eq!(out.as_whole(), Some(expected.as_bytes()));
    }
}
