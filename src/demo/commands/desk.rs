//! For tests: a server without sockets, and clients that ask it.

use std::sync::Arc;

use crate::demo::engine::{Aftermath, Engine, Request};
use crate::demo::faults::Script;
use crate::demo::orders::Orders;
use crate::demo::request::{Parser, Progress};
use crate::demo::state::Config;

/// A server and its clients by slot; slot 0 is there from the start.
pub struct Desk {
    pub engine: Engine,
}

impl Desk {
    pub fn new() -> Self {
        Self::with_password("")
    }

    pub fn with_password(password: &str) -> Self {
        let script = Script::new(Vec::new(), 0, 1);
        let mut engine = Engine::new(Config::new(6379, password), script, Arc::new(Orders::default()), 1);
        engine.connect(0, "127.0.0.1:50000".to_owned(), "127.0.0.1:6379".to_owned());
        Self { engine }
    }

    /// Another client.
    pub fn connect(&mut self) -> usize {
        let slot = self.engine.state.sessions.len();
        self.engine.connect(slot, format!("127.0.0.1:5000{slot}"), "127.0.0.1:6379".to_owned());
        slot
    }

    /// The reply to an inline command as it goes over the wire, but with `\n` for its line ends.
    pub fn ask(&mut self, line: &str) -> String {
        self.ask_as(0, line)
    }

    pub fn ask_as(&mut self, slot: usize, line: &str) -> String {
        let mut reply = Vec::new();
        self.answer(slot, line, &mut reply);
        String::from_utf8_lossy(&reply).replace("\r\n", "\n")
    }

    /// What is still to happen to the reply.
    pub fn aftermath(&mut self, line: &str) -> Aftermath {
        self.answer(0, line, &mut Vec::new())
    }

    fn answer(&mut self, slot: usize, line: &str, reply: &mut Vec<u8>) -> Aftermath {
        let line = format!("{line}\n");
        let mut parser = Parser::default();
        assert_eq!(parser.parse(line.as_bytes(), true), Ok(Progress::Complete(line.len())));
        self.engine.state.read_clock();
        let request = Request { slot, position: 1, arguments: parser.arguments(line.as_bytes()) };
        self.engine.answer(request, reply)
    }

    /// The reply as a list of its words: integers, statuses and strings without their framing.
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

    /// Asks for something that must succeed with `+OK`.
    pub fn ok(&mut self, line: &str) {
        assert_eq!(self.ask(line), "+OK\n", "{line}");
    }
}
