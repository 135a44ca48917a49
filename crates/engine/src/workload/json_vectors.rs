//! Finds vectors and names in the JSON of HTTP: the query or the document in a request, and the hits in a reply of
//! Elasticsearch or OpenSearch.

use memchr::memmem;
use serde_json::Value;

use crate::protocol::{Dialect, body_of};

/// Returns the last part of a request's path, and the first list of numbers in its body as FP32. `None` if the body is
/// no JSON value, or has no such list.
pub(super) fn name_and_vector(request: &[u8]) -> Option<[Vec<u8>; 2]> {
    let path = request.split(|byte| *byte == b' ').nth(1)?.split(|byte| *byte == b'?').next()?;
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    let body = &request[memmem::find(request, b"\r\n\r\n")? + 4..];
    Some([name.to_vec(), vector(&serde_json::from_slice(body).ok()?)?])
}

fn vector(value: &Value) -> Option<Vec<u8>> {
    let number = |it: &Value| it.as_f64().map(|it| (it as f32).to_le_bytes());
    match value {
        Value::Array(list) if list.first().is_some_and(Value::is_number) => {
            Some(list.iter().map(number).collect::<Option<Vec<_>>>()?.concat())
        }
        Value::Array(list) => list.iter().find_map(vector),
        Value::Object(fields) => fields.values().find_map(vector),
        _ => None,
    }
}

/// Returns the names (`_id`) of the hits in a reply, as an array of RESP.
pub(super) fn hits(reply: &[u8]) -> Vec<u8> {
    let body = serde_json::from_slice(&body_of(reply)).unwrap_or(Value::Null);
    let hits = body.pointer("/hits/hits").and_then(Value::as_array);
    let names = hits.into_iter().flatten().filter_map(|hit| hit["_id"].as_str());
    Dialect::Resp2.encode(&names.map(str::as_bytes).collect::<Vec<_>>())
}
