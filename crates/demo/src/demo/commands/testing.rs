//! A built-in server and clients without sockets, for tests of commands.

use std::sync::Arc;

use crate::demo::{
    engine::Engine,
    faults::{FaultScript, RequestFaults},
    request::{RequestArguments, parse},
    state::{ServerParameters, StopSignal},
};

/// A server and its clients, which are counted from 1. The first client exists from the start.
pub struct TestServer {
    pub engine: Engine,
    pub stop: Arc<StopSignal>,
}

impl TestServer {
    pub fn new() -> Self {
        Self::with("", FaultScript::new(Vec::new(), 1))
    }

    /// Creates a server with this script of faults and this password. An empty password means that clients need no
    /// password.
    pub fn with(password: &str, script: FaultScript) -> Self {
        let stop = Arc::new(StopSignal::default());
        let engine = Engine::new(ServerParameters::new(6379, password), script, Arc::clone(&stop), 1);
        let mut server = Self { engine, stop };
        server.connect();
        server
    }

    /// Adds a client, and returns its number.
    pub fn connect(&mut self) -> usize {
        let client = self.engine.state.sessions.len() + 1;
        self.engine.connect(client, format!("127.0.0.1:5000{client}"));
        client
    }

    /// Sends the words of `line` as one request, and returns the bytes of the reply with `\n` as line end. The word
    /// `''` is an empty argument.
    pub fn ask(&mut self, line: &str) -> String {
        self.ask_as(1, line)
    }

    pub fn ask_as(&mut self, client: usize, line: &str) -> String {
        let mut reply = Vec::new();
        self.answer(client, line, &mut reply);
        String::from_utf8_lossy(&reply).replace("\r\n", "\n")
    }

    /// Sends `line` as a request, and returns the faults that apply to the reply.
    pub fn fault(&mut self, line: &str) -> RequestFaults {
        self.answer(1, line, &mut Vec::new())
    }

    fn answer(&mut self, client: usize, line: &str, reply: &mut Vec<u8>) -> RequestFaults {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_matches('\'')).collect();
        let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
        let bytes = format!("*{}\r\n{}", words.len(), words.iter().map(bulk).collect::<String>());
        let mut spans = Vec::new();
        assert_eq!(parse(bytes.as_bytes(), &mut spans), Ok(Some(bytes.len())));
        self.engine.state.read_clock();
        self.engine.answer((client, 1), RequestArguments { bytes: bytes.as_bytes(), spans: &spans }, reply)
    }

    /// Sends `line` as a request, and returns the integers, statuses and strings of the reply without the RESP framing.
    pub fn words(&mut self, line: &str) -> Vec<String> {
        let reply = self.ask(line);
        let mut words = Vec::new();
        let mut lines = reply.lines();
        while let Some(line) = lines.next() {
            match line.split_at(1) {
                ("$", "-1") | ("_", _) => words.push("(null)".to_owned()),
                ("$" | "=", _) => words.push(lines.next().unwrap_or_default().to_owned()),
                ("*" | "%" | "~", _) => {}
                (_, rest) => words.push(rest.to_owned()),
            }
        }
        words
    }

    /// Sends a request that must return `+OK`.
    pub fn ok(&mut self, line: &str) {
        assert_eq!(self.ask(line), "+OK\n", "{line}");
    }

    /// Sends each request, and compares the reply, without its last line feed, with the expected reply.
    pub fn expect(&mut self, exchanges: &[(&str, &str)]) {
        for (request, reply) in exchanges {
            assert_eq!(self.ask(request).trim_end_matches('\n'), *reply, "{request}");
        }
    }

    /// Sends each request to a key of another type, and checks that the reply is a WRONGTYPE error.
    pub fn expect_wrong_type(&mut self, requests: &[&str]) {
        for request in requests {
            assert!(self.ask(request).starts_with("-WRONGTYPE Operation against a key holding"), "{request}");
        }
    }
}
