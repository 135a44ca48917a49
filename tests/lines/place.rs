//! Where a line is run: a directory with the files that the lines name, and servers in the place of those that they name.

use std::{fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use crate::{
    readme::pages,
    support::{
        Server,
        certificates::{Authority, TlsServer},
        free_port,
        http::{HttpServer, reply},
        program::run,
    },
};

/// What takes longer than a second or much of the machine as it stands, and what is given in its stead.
const SHORTER: [(&str, &str, &str); 12] = [
    ("-i", "5", "0.3"),
    ("--intrinsic-latency", "10", "0.5"),
    ("--key-maximum", "1000000", "1000"),
    ("--maxdocs", "500k", "500"),
    ("--rate", "20k", "500"),
    ("--rate", "5k", "500"),
    ("--scale", "0.01", "0.0001"),
    ("--set", "operationcount=5M", "operationcount=2k"),
    ("--set", "recordcount=1M", "recordcount=1k"),
    ("-n", "100000", "2000"),
    ("-n", "10000", "2000"),
    ("-r", "1M", "1k"),
];

/// A directory, and servers as they are asked for.
pub(super) struct Place {
    folder: TempDir,
    redis: Option<Server>,
    valkey: Option<Server>,
    memcached: Option<Server>,
    http: Option<HttpServer>,
    tls: Option<(Authority, TlsServer)>,
    wants_valkey: bool,
    is_demo: bool,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        furnish(folder.path());
        Self {
            folder,
            redis: None,
            valkey: None,
            memcached: None,
            http: None,
            tls: None,
            wants_valkey: false,
            is_demo: false,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The words with addresses and files of here, and times that are short.
    pub(super) fn placed(&mut self, words: &[String]) -> Vec<String> {
        self.wants_valkey = words.iter().any(|word| word.contains("config io-threads"));
        self.is_demo = words.first().is_some_and(|word| word == "demo");
        let before = |n: usize| n.checked_sub(1).map_or("", |before| &*words[before]);
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        if words.iter().any(|word| word == "--verify") {
            self.redis();
            let server = self.redis.as_ref().unwrap();
            for (key, title) in [("doc:a", "one"), ("doc:b", "two")] {
                server.cli(&["HSET", key, "title", title]);
            }
        }
        let mut placed: Vec<_> = (0..end).flat_map(|n| self.argument(before(n), &words[n])).collect();
        if words.iter().any(|word| word == "-h") && !words.iter().any(|word| word == "-p") {
            placed.extend(["-p".to_owned(), self.redis()]);
        }
        placed.extend_from_slice(&words[end..]);
        placed
    }

    fn argument(&mut self, before: &str, word: &str) -> Vec<String> {
        let shorter = SHORTER.iter().find(|(option, long, _)| (before, word) == (*option, *long));
        let folder = self.folder.path().display().to_string();
        vec![match (before, word) {
            // A parameter that only some servers let one turn.
            ("-p", "6379") if self.wants_valkey => self.valkey(),
            ("-p", "7000") if self.is_demo => "0".to_owned(),
            ("-p", "6379" | "7000") => self.redis(),
            ("-p", "redis.port=6379") => format!("redis.port={}", self.redis()),
            ("-p", "redis.addr=127.0.0.1:6379") => format!("redis.addr=127.0.0.1:{}", self.redis()),
            ("-p", "11211") => self.memcached(),
            ("-h", _) => "127.0.0.1".to_owned(),
            ("-s", _) => format!("{folder}/demo.sock"),
            ("--record" | "-o", _) => {
                // Nothing is overwritten.
                let _ = fs::remove_file(self.folder.path().join(word));
                word.replace("$n", "9")
            }
            ("--duration", _) => "0.4".to_owned(),
            ("--test-time", _) => "1".to_owned(),
            ("--base", name) => {
                self.record(name);
                name.to_owned()
            }
            ("--metrics", "9121") => free_port().to_string(),
            ("--metrics", _) => format!("unix:{folder}/redyno.sock"),
            ("--cacert", _) => self.tls().0.path(),
            (_, "@prod") => {
                let text = format!("[targets.prod]\naddress = \"127.0.0.1:{}\"\n", self.valkey());
                fs::create_dir(self.folder.path().join("redyno")).unwrap();
                fs::write(self.folder.path().join("redyno/config.toml"), text).unwrap();
                word.to_owned()
            }
            // A receiver of figures, which is not there.
            _ if word.starts_with("otlp:") || word.starts_with("remote-write:") => word.to_owned(),
            _ if word.contains("://") => self.uri(word),
            _ if word.contains('*') => return (1..=3).map(|n| word.replace('*', &n.to_string())).collect(),
            _ => shorter.map_or_else(|| word.replace("$n", "9"), |(_, _, short)| (*short).to_owned()),
        }]
    }

    fn uri(&mut self, word: &str) -> String {
        let here = |user: &str, port: String, path: &str| format!("{user}127.0.0.1:{port}{path}");
        match word.split_once("://").unwrap() {
            ("rediss", _) => here("rediss://", self.tls().1.port_text(), ""),
            ("memcached", _) => here("memcached://", self.memcached(), ""),
            ("http", _) => here("http://", self.http(), "/"),
            (_, "ann:secret@10.0.0.5:6379/2") => {
                let port = self.redis();
                let ann = ["ACL", "SETUSER", "ann", "on", ">secret", "~*", "&*", "+@all"];
                self.redis.as_ref().unwrap().cli(&ann);
                here("redis://ann:secret@", port, "/2")
            }
            (_, rest) if rest.starts_with('b') || rest.ends_with(":6380") => {
                here("redis://", self.valkey(), "")
            }
            _ => here("redis://", self.redis(), ""),
        }
    }

    fn redis(&mut self) -> String {
        self.redis.get_or_insert_with(|| Server::redis().start()).port_text()
    }

    fn valkey(&mut self) -> String {
        self.valkey.get_or_insert_with(|| Server::valkey().start()).port_text()
    }

    /// A recording of the load that is compared with it.
    fn record(&mut self, name: &str) {
        let (port, file) = (self.redis(), self.folder.path().join(name));
        let args = ["-p", &port, "--headless", "--yes", "--rate", "500", "--duration", "1", "--record"];
        run(&[&args[..], &[file.to_str().unwrap()]].concat()).expect_code(0);
    }

    fn memcached(&mut self) -> String {
        self.memcached.get_or_insert_with(|| Server::memcached().start()).port_text()
    }

    fn http(&mut self) -> String {
        let start = || HttpServer::start(|request| reply(request, "200 OK", "hello"));
        self.http.get_or_insert_with(start).port().to_string()
    }

    fn tls(&mut self) -> &(Authority, TlsServer) {
        self.tls.get_or_insert_with(|| TlsServer::usual(&[]))
    }

    /// No marker of a run and no key of one is left, whatever ended it.
    pub(super) fn assert_left_clean(&self) {
        for server in self.redis.iter().chain(&self.valkey) {
            let left = server.cli(&["KEYS", "redyno:*"]);
            assert_eq!(left, "", "left behind");
        }
    }
}

/// The files that lines read.
fn furnish(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recording = |name: &str| {
        fs::copy(root.join("tests/fixtures/recording.jsonl"), folder.join(name)).unwrap();
    };
    fs::copy(root.join("assets/session.jsonl"), folder.join("tuning.jsonl")).unwrap();
    ["before.jsonl", "after.jsonl", "closed.jsonl", "open.jsonl"].iter().for_each(|name| recording(name));
    for n in 1..=3 {
        recording(&format!("base-{n}.jsonl"));
        recording(&format!("new-{n}.jsonl"));
    }
    let shop =
        ["1700000000.000000 [0 x] \"SET\" \"cart\" \"1\"\n", "1700000000.500000 [0 x] \"GET\" \"cart\"\n"];
    fs::write(folder.join("shop.log"), shop.concat()).unwrap();
    fs::write(folder.join("web.times"), "0.1\n0.2\n0.5\n").unwrap();
    fs::write(folder.join("docs.csv"), "id,title\na,one\nb,two\n").unwrap();
    fs::copy("tests/fixtures/vectors.fvecs", folder.join("base.fvecs")).unwrap();
    fs::write(folder.join("docs.jsonl"), "{\"id\":\"a\",\"title\":\"one\"}\n").unwrap();
    let mut xml =
        GzEncoder::new(fs::File::create(folder.join("abstracts.xml.gz")).unwrap(), Compression::fast());
    xml.write_all(b"<feed><doc><url>u</url><title>t</title></doc></feed>").unwrap();
    xml.finish().unwrap();
    fs::write(folder.join("mine.toml"), example()).unwrap();
    fs::create_dir(folder.join("workloads")).unwrap();
    let properties = "recordcount=1000\noperationcount=1000\nreadproportion=0.5\nupdateproportion=0.5\n";
    fs::write(folder.join("workloads/workloada"), properties).unwrap();
    fs::create_dir(folder.join("examples")).unwrap();
    fs::write(folder.join("examples/evening.script"), evening(root)).unwrap();
}

/// The workload file of the docs, of fewer keys.
fn example() -> String {
    let (_, text) = pages().into_iter().find(|(path, _)| path.ends_with("docs/workloads.md")).unwrap();
    let block = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    block.replace("posts = \"1M\"", "posts = \"1k\"")
}

/// The example's evening in an eighth of its time, at a tenth of its rates.
fn evening(root: &Path) -> String {
    let text = fs::read_to_string(root.join("examples/evening.script")).unwrap();
    let word = |word: &str| match word.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok()) {
        Some(seconds) => format!("{}s", seconds / 8.0),
        None => word.to_owned(),
    };
    let line = |line: &str| {
        let line = if line.contains(" rate ") { line.replace('k', "00") } else { line.to_owned() };
        line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}
