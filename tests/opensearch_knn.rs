//! Vector searches of OpenSearch: vectors are stored in bulk, and the recall of the searches is measured.

use std::{collections::BTreeMap, sync::Mutex};

use redyno::{events::EventKind, session::Record};

use crate::support::http::{HttpServer, reply};

/// An OpenSearch with the k-NN plugin, whose searches find every vector but each tenth.
fn knn_stand_in() -> HttpServer {
    let stored = Mutex::new(BTreeMap::<String, Vec<f64>>::new());
    let numbers = |list: &serde_json::Value| {
        list.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect::<Vec<_>>()
    };
    HttpServer::start(move |request| {
        let lines: Vec<serde_json::Value> =
            request.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut stored = stored.lock().unwrap();
        if request.path.contains("/_bulk") {
            let pairs = lines.as_chunks().0.iter();
            stored.extend(pairs.map(|[head, vector]| {
                (head["index"]["_id"].as_str().unwrap().to_owned(), numbers(&vector["v"]))
            }));
        }
        let query = lines.first().and_then(|it| it.pointer("/query/knn/v"));
        let hits = query.map_or_else(Vec::new, |query| {
            let wanted = numbers(&query["vector"]);
            let far = |it: &[f64]| it.iter().zip(&wanted).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut near: Vec<_> = stored.iter().filter(|(name, _)| !name.ends_with('0')).collect();
            near.sort_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
            near.truncate(query["k"].as_u64().unwrap() as usize);
            near.into_iter().map(|(name, _)| serde_json::json!({ "_id": name })).collect()
        });
        let body = serde_json::json!({ "took": 1, "hits": { "hits": hits } });
        let status = if request.method == "GET" { "404 Not Found" } else { "200 OK" };
        reply(request, status, &body.to_string())
    })
}

#[test]
fn vectors_are_stored_in_bulk_and_the_recall_of_their_searches_is_measured() {
    let server = knn_stand_in();
    let load = ["--yes", "--workload", "opensearch-knn", "-r", "250", "--set", "dimensions=8"];
    let sweep = ["--sweep", "neighbours 1,10", "--rate", "50"];
    let outcome = server.headless("/", &[&load[..], &sweep].concat()).expect_code(0);
    let log = server.log();
    let sent = |end: &'static str| log.iter().filter(move |it| it.path.contains(end)).map(|it| &it.body);
    assert_eq!(sent("/_bulk").map(|body| body.lines().count()).collect::<Vec<_>>(), [200; 3]);
    assert!(sent("/_search").any(|body| body.contains("\"k\":1,") && body.starts_with("{\"size\":1,")));
    let recalls: Vec<f64> = outcome
        .records()
        .iter()
        .filter_map(|record| match record {
            Record::Event(event) => match &event.what {
                EventKind::Stepped { step } => step.recall,
                EventKind::RecallMeasured { mean, .. } => Some(*mean),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert!(recalls.len() > 2 && recalls.iter().all(|it| (0.0..=1.0).contains(it)), "{recalls:?}");
    let is_part = |it: &f64| (0.1..0.999).contains(it);
    assert!(recalls.iter().any(is_part), "each tenth vector is missing: {recalls:?}");
    let lacking = HttpServer::start(|request| match request.method.as_str() {
        "PUT" => reply(
            request,
            "400 Bad Request",
            "{\"error\":{\"reason\":\"unknown setting [index.knn] please check\"}}",
        ),
        "GET" => reply(request, "404 Not Found", ""),
        _ => reply(request, "200 OK", ""),
    });
    let refused = lacking.headless("/", &load).expect_code(1);
    let expected = "setup step 1: HTTP 400 Bad Request: it lacks the k-NN plugin (opensearch-knn); name a server that has";
    assert!(refused.err.contains(expected), "{}", refused.err);
}
