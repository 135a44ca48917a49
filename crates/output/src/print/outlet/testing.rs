//! A reader of printed output that stops and continues as a test requires.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

/// A time limit that is longer than any successful step.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A reader for tests, which can be stopped. The reader keeps the text that it has read.
#[derive(Debug, Clone, Default)]
pub struct Reader(Arc<(Mutex<Reading>, Condvar)>);

#[derive(Debug, Default)]
struct Reading {
    bytes: Vec<u8>,
    has_stopped: bool,
    is_awaited: bool,
}

impl Reader {
    /// Stops reading.
    pub fn stall(&self) {
        self.0.0.lock().unwrap().has_stopped = true;
    }

    /// Waits until a writer blocks because the reader has stopped.
    pub fn wait_until_it_stalls(&self) {
        let (reading, changed) = &*self.0;
        let awaited =
            changed.wait_timeout_while(reading.lock().unwrap(), LIMIT, |reading| !reading.is_awaited);
        assert!(!awaited.unwrap().1.timed_out(), "nobody writes");
    }

    /// Continues reading.
    pub fn go_on(&self) {
        self.0.0.lock().unwrap().has_stopped = false;
        self.0.1.notify_all();
    }

    /// Returns the text that the reader has read.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.0.lock().unwrap().bytes.clone()).unwrap()
    }
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (reading, changed) = &*self.0;
        let mut reading = reading.lock().unwrap();
        reading.is_awaited = reading.has_stopped;
        changed.notify_all();
        let mut reading = changed.wait_while(reading, |reading| reading.has_stopped).unwrap();
        reading.is_awaited = false;
        reading.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
