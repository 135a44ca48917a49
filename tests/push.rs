//! `--push`: figures arrive complete at receivers that restart, and what does not arrive is reported.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::JoinHandle,
};

use rustix::process::Signal;
use serde_json::Value;

use crate::metrics::ask;
use crate::support::{
    Server, free_port,
    program::{Running, redyno, run},
    wait_for,
};

/// A request that a receiver got: its head, its body, and whether the receiver accepted it.
struct Got {
    head: String,
    body: Vec<u8>,
    is_accepted: bool,
}

/// A receiver that restarts after its second request, of which it answers the first only.
struct Receiver {
    port: u16,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Got>>,
}

impl Receiver {
    fn start() -> Self {
        let mut listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut all: Vec<Got> = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                if ends.load(SeqCst) {
                    return all;
                }
                let (head, body) = request(&mut stream);
                let is_accepted = all.len() != 1;
                all.push(Got { head, body, is_accepted });
                if is_accepted {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
                } else {
                    drop((stream, listener));
                    // A connection of another program may have the port for a moment.
                    listener = wait_for("the port again", || TcpListener::bind(("127.0.0.1", port)).ok());
                }
            }
        });
        Self { port, is_over, thread }
    }

    fn end(self) -> Vec<Got> {
        self.is_over.store(true, SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)).unwrap());
        self.thread.join().unwrap()
    }
}

fn request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        let mut part = [0; 4096];
        let n = stream.read(&mut part).unwrap();
        bytes.extend(&part[..n]);
    };
    let mut body = bytes.split_off(end);
    let head = String::from_utf8(bytes).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let rest = length.unwrap().parse::<usize>().unwrap() - body.len();
    stream.take(rest as u64).read_to_end(&mut body).unwrap();
    (head, body)
}

/// Checks that every request that was not accepted came again, in order, and returns the accepted ones.
fn accepted(all: Vec<Got>) -> Vec<Got> {
    let again = all.iter().filter(|got| !got.is_accepted);
    for lost in again {
        assert!(all.iter().any(|got| got.is_accepted && got.body == lost.body), "{}", lost.head);
    }
    all.into_iter().filter(|got| got.is_accepted).collect()
}

/// Reads a message of protobuf: the numbers of its fields, and their bytes, or their 8 bytes or number as such.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            n |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return n;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = number(&mut bytes);
        let value = match tag & 7 {
            0 => number(&mut bytes).to_le_bytes().to_vec(),
            kind => {
                let length = if kind == 1 { 8 } else { number(&mut bytes) as usize };
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                value.to_vec()
            }
        };
        fields.push((tag >> 3, value));
    }
    fields
}

/// Returns the samples of a remote write request: labels as text, value and time in ms.
fn series(body: &[u8]) -> Vec<(String, f64, u64)> {
    let bytes = snap::raw::Decoder::new().decompress_vec(body).unwrap();
    let one = |(tag, bytes): (u64, Vec<u8>)| {
        assert_eq!(tag, 1, "timeseries");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let (mut labels, mut sample) = (Vec::new(), Vec::new());
        for (tag, bytes) in fields(&bytes) {
            match tag {
                1 => labels
                    .push(fields(&bytes).iter().map(|(_, part)| text(part)).collect::<Vec<_>>().join("=")),
                _ => sample = fields(&bytes),
            }
        }
        assert!(labels.is_sorted(), "{labels:?}");
        // A value of 0 is left out.
        let of = |tag| {
            sample
                .iter()
                .find(|(known, _)| *known == tag)
                .map_or([0; 8], |(_, part)| part[..].try_into().unwrap())
        };
        (labels.join(","), f64::from_le_bytes(of(1)), u64::from_le_bytes(of(2)))
    };
    fields(&bytes).into_iter().map(one).collect()
}

#[test]
fn all_samples_arrive_at_receivers_that_restart_once() {
    let server = Server::valkey().start();
    let (otlp, write) = (Receiver::start(), Receiver::start());
    let port = server.port_text();
    let (to_otlp, to_write) = (
        format!("otlp:http://127.0.0.1:{}", otlp.port),
        format!("remote-write:http://localhost:{}/w?k=v", write.port),
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "X-Scope: all\n").unwrap();
    let headers = file.path().to_str().unwrap();
    let load =
        ["-p", &port, "--headless", "--yes", "-c", "2", "--rate", "200", "-n", "700", "--ratio", "0:1"];
    let push = ["--push", &to_otlp, "--push", &to_write, "--push-every", "1", "--push-headers", headers];
    let mut command = redyno(&[&load[..], &push].concat());
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret");
    command.env("OTEL_RESOURCE_ATTRIBUTES", "ci.job=42");
    let ended = Running::start(command).end().expect_code(0);
    assert!(!ended.err.contains("not delivered") && !ended.err.contains("secret"), "{}", ended.err);

    let samples = accepted(otlp.end());
    assert!(samples.len() >= 3);
    let head = &samples[0].head;
    for expected in [
        "post /v1/metrics ",
        "authorization: bearer secret",
        "x-scope: all",
        "content-type: application/json",
    ] {
        assert!(head.contains(expected), "{expected}: {head}");
    }
    let values = samples.iter().map(|got| {
        let request: Value = serde_json::from_slice(&got.body).unwrap();
        let resource = &request["resourceMetrics"][0];
        assert!(resource["resource"].to_string().contains("\"ci.job\""));
        let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        let ops = metrics.iter().find(|metric| metric["name"] == "redyno_ops").unwrap();
        let point = &ops["sum"]["dataPoints"][0];
        let time: u64 = point["timeUnixNano"].as_str().unwrap().parse().unwrap();
        (time, point["asDouble"].as_f64().unwrap() as u64)
    });
    let values: Vec<_> = values.collect();
    assert!(values.is_sorted(), "the oldest first: {values:?}");
    assert_eq!(values.last().unwrap().1, 700, "the last sample has all requests");

    let samples = accepted(write.end());
    assert!(samples[0].head.contains("post /w?k=v ") && samples[0].head.contains("content-encoding: snappy"));
    assert!(!samples[0].head.contains("secret"), "a header of OTLP only");
    let last = series(&samples.last().unwrap().body);
    let ops = last.iter().find(|(labels, ..)| labels.contains("__name__=redyno_ops_total")).unwrap();
    let instance = format!("ci_job=42,instance=127.0.0.1:{port},job=redyno,operation=GET");
    assert_eq!((ops.0.as_str(), ops.1), (&*format!("__name__=redyno_ops_total,{instance}"), 700.0));
    assert_eq!(last.iter().map(|(_, _, ms)| ms).min(), last.iter().map(|(_, _, ms)| ms).max());
}

#[test]
fn what_is_not_delivered_is_reported_and_a_wrong_receiver_is_refused_in_a_line() {
    let server = Server::valkey().start();
    let port = server.port_text();
    let nowhere = format!("remote-write:http://127.0.0.1:{}/api?token=secret", free_port());
    let load = ["-p", &port, "--headless", "--yes", "-n", "10", "--push", &nowhere];
    let err = run(&load).expect_code(0).err;
    let said = err.lines().find(|line| line.contains("--push")).unwrap();
    let expected = nowhere.replace("?token=secret", ": 1 of 1 sample not delivered: Connection refused");
    assert!(said.starts_with(&format!("redyno: --push {expected}")), "{said}");
    let refused = run(&["-p", &port, "--push", "http://x"]).expect_code(2).err;
    assert!(refused.contains("it must be otlp:URL or remote-write:URL"), "{refused}");
    let refused = run(&["-p", &port, "--push", "otlp:http://u:secret@x"]).expect_code(2).err;
    assert!(refused.contains("--push-headers") && refused.lines().count() == 1, "{refused}");
}

/// Returns the names of redyno's metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    text.split(is_other).filter(|word| word.starts_with("redyno_")).collect()
}

#[test]
fn the_dashboard_of_grafana_asks_only_for_metrics_that_exist_and_is_well_formed() {
    let server = Server::valkey().start();
    let port = server.port_text();
    let metrics = free_port();
    let load = ["-p", &port, "--headless", "--yes", "--rate", "100", "--metrics", &metrics.to_string()];
    let running = Running::start(redyno(&load));
    let text = wait_for("figures of server, machine, load and PING", || {
        let text = ask(TcpStream::connect(("127.0.0.1", metrics)).ok()?, "GET /metrics");
        let ratios = ["redyno_server_cpu_ratio ", "redyno_host_cpu_ratio ", "redyno_client_cpu_ratio "];
        let mut all = ratios.into_iter().chain(["redyno_ping_seconds_bucket"]);
        all.all(|name| text.contains(name)).then_some(text)
    });
    running.signal(Signal::TERM);
    running.end().expect_code(130);
    let known = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let known: BTreeSet<_> = known
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "histogram" => format!("{name}_bucket"),
            _ => name.to_owned(),
        })
        .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/grafana/redyno.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(
        dashboard["title"].is_string() && dashboard["uid"].is_string() && dashboard["schemaVersion"].is_u64()
    );
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        let place = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        let [x, y, w, h] = place;
        assert!(x + w <= 24 && panel["type"] == "timeseries" && panel["title"].is_string(), "{panel}");
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expr = target["expr"].as_str().unwrap();
            assert!(
                target["refId"].is_string() && target["datasource"]["uid"] == "${datasource}",
                "{target}"
            );
            assert!(!names(expr).is_empty(), "{expr}");
            for name in names(expr) {
                assert!(known.contains(name), "{name} in {expr} is no metric");
            }
        }
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "two panels overlap: {panel}");
        }
    }
    assert!(panels.len() >= 10);
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let kinds: Vec<_> = variables.iter().map(|variable| (&variable["name"], &variable["type"])).collect();
    assert_eq!(
        serde_json::to_value(kinds).unwrap(),
        serde_json::json!([["datasource", "datasource"], ["instance", "query"]])
    );
}
