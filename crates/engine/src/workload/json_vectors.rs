//! Reads vectors and document names from the JSON of Elasticsearch and OpenSearch. The JSON is the query or document in
//! a request, or the hits in a reply.

use memchr::memmem;
use serde_json::Value;

use crate::protocol::{Dialect, HttpReply};

/// Returns the last part of a request's path, and the first list of numbers in its body as FP32. Returns `None` if the
/// body is not a JSON value, or has no such list.
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
    let body = serde_json::from_slice(&HttpReply::read(reply).body).unwrap_or(Value::Null);
    let hits = body.pointer("/hits/hits").and_then(Value::as_array);
    let names = hits.into_iter().flatten().filter_map(|hit| hit["_id"].as_str());
    Dialect::Resp2.encode(&names.map(str::as_bytes).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::RespValue;

    #[test]
    fn a_request_has_the_name_in_its_path_and_the_first_list_in_its_body() {
        let of = |path: &str, body: &str| {
            name_and_vector(format!("PUT {path} HTTP/1.1\r\nhost: h\r\n\r\n{body}").as_bytes())
        };
        let vector: Vec<u8> = [0.5_f32, -2.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let body = r#"{"id":7,"names":["a"],"inner":{"v":[0.5,-2]},"other":[1]}"#;
        assert_eq!(of("/i/_doc/12?refresh=true", body), Some([b"12".to_vec(), vector]));
        for (path, body) in [("/i/_doc/1", "{"), ("/i/_doc/1", r#"{"v":[1,"x"]}"#), ("/i", "[]"), ("/i", "")]
        {
            assert_eq!(of(path, body), None, "{body}");
        }
        assert_eq!(name_and_vector(b"PUT"), None);
    }

    #[test]
    fn the_names_of_hits_are_those_that_are_texts() {
        let names = |body: &str| {
            let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            let found = hits(reply.as_bytes());
            let words = RespValue::read(&found).unwrap();
            let words = words.list().unwrap_or_default();
            words.iter().filter_map(RespValue::text).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        assert_eq!(names(r#"{"hits":{"hits":[{"_id":"9"},{"_id":3},{},{"_id":"4"}]}}"#), [b"9", b"4"]);
        for body in [r#"{"hits":[]}"#, r#"{"hits":{"hits":7}}"#, "no JSON", ""] {
            assert!(names(body).is_empty(), "{body}");
        }
    }
}
