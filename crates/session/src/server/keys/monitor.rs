//! Finds the commands and keys that clients use most, in a sample from MONITOR. MONITOR slows the server
//! down, so the sample is short. redyno keeps only the name and the key of each command.

use std::{collections::HashMap, io, time::Duration};

use tokio::time::sleep;

use super::{ExaminationState, HotUnit, connection::KeyConnection, tally::Top};
use crate::{
    endpoint::ReachError,
    gauge::Gauge,
    protocol::RespValue,
    server::{Info, ServerError, link::RedisSender},
    untrusted,
    workload::command_traits,
};

/// The length of a sample.
const LENGTH: Duration = Duration::from_secs(1);
/// The largest number of lines in a sample.
const MOST_LINES: usize = 20_000;
/// The largest number of commands per second at which redyno takes a sample. MONITOR halves the throughput of a busy
/// server.
pub const MOST_COMMANDS_PER_S: u64 = 20_000;
const TOO_BUSY: &str =
    "no sample: the server runs more than 20 000 commands a second, and MONITOR would slow them down";

/// Checks in the server's INFO that a sample may be taken.
pub(super) fn check(info: &Info) -> Result<(), ServerError> {
    match info.number::<u64>("instantaneous_ops_per_sec") {
        Some(ops) if ops > MOST_COMMANDS_PER_S => Err(ServerError::Unfit(TOO_BUSY.to_owned())),
        _ => Ok(()),
    }
}

/// A sample: the number of MONITOR lines, and how often each command used each key.
#[derive(Debug, Default)]
pub(super) struct MonitorSample {
    lines: u64,
    counts: HashMap<Vec<u8>, u64>,
}

/// Takes a sample, and closes the connection.
pub(super) fn sample(mut line: KeyConnection) -> Result<MonitorSample, ServerError> {
    let lost =
        |error: ReachError| ServerError::Lost { command: "MONITOR".to_owned(), cause: error.to_string() };
    let accepted = line.talk.reply(&[b"MONITOR"], LENGTH).map_err(lost)?;
    if let Some(RespValue::Error(line)) = RespValue::read(&accepted) {
        let message = untrusted::bytes(line);
        return Err(ServerError::Refused { command: "MONITOR".to_owned(), message });
    }
    let mut sample = MonitorSample::default();
    match line.talk.ask(b"", MOST_LINES, LENGTH, |line, _| sample.add(line)) {
        Err(ReachError::Io { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => Ok(sample),
        taken => taken.map(|()| sample).map_err(lost),
    }
}

impl MonitorSample {
    fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        if let Some(used) = used(line) {
            *self.counts.entry(used).or_default() += 1;
        }
    }

    pub(super) fn publish(&self, shared: &ExaminationState) {
        let mut hottest = Top::default();
        self.counts.iter().for_each(|(used, count)| hottest.add(*count, used));
        shared.publish(|seen| {
            (seen.sampled, seen.hottest) = (self.lines, hottest.seen());
            seen.hot_unit = Some(HotUnit::Commands);
        });
    }
}

/// Measures the CPU share of the server's main thread while `meanwhile` runs, but at least for [`LENGTH`].
pub(super) async fn busy<T>(
    wire: &RedisSender,
    shared: &ExaminationState,
    meanwhile: impl Future<Output = T>,
) -> Result<(T, Option<f64>), ServerError> {
    let now_ns = || u64::try_from(shared.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let before = wire.text(&["INFO"]).await?;
    let (_, before) = Info::parse(&before).status(now_ns(), None);
    let (done, ()) = tokio::join!(meanwhile, sleep(LENGTH));
    let (after, _) = { Info::parse(&wire.text(&["INFO"]).await?).status(now_ns(), Some(&before)) };
    Ok((done, after.gauges.get(Gauge::Cpu)))
}

/// Returns the command and the key of a line such as `+1339518083.107 [0 127.0.0.1:60866] "get" "cart:1"`: `GET
/// cart:1`. Returns `None` for a command without a key.
fn used(line: &[u8]) -> Option<Vec<u8>> {
    let mut words = quoted(&line[memchr::memmem::find(line, b"] \"")? + 2..]);
    let name = words.next()?.to_ascii_uppercase();
    let traits = command_traits(&untrusted::bytes(&name));
    let key = match traits.keys {
        _ if traits.no_sample => None,
        "none" => None,
        "2" | "from-2" | "counted-1" | "counted-1-each-2nd" => words.nth(1),
        "counted-2" => {
            let keys = words.nth(1)?;
            if keys == b"0" { None } else { words.next() }
        }
        _ => words.next(),
    };
    Some([&name, &b" "[..], key?].concat())
}

/// Returns the words of a line, without their quotation marks. Escaped characters stay escaped.
fn quoted(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let begins = rest.iter().position(|byte| *byte == b'"')? + 1;
        let mut is_escaped = false;
        let is_end = |byte: &u8| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        };
        let length = rest[begins..].iter().position(is_end)?;
        let word = &rest[begins..begins + length];
        rest = &rest[begins + length + 1..];
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::KeyMethod;

    #[test]
    fn only_the_command_and_its_key_are_kept() {
        let used = |line: &str| {
            let line = format!("+1339518083.107412 [0 127.0.0.1:60866] {line}\r\n");
            used(line.as_bytes()).map(|used| String::from_utf8(used).unwrap())
        };
        for (line, expected) in [
            (r#""get" "cart:1""#, Some("GET cart:1")),
            (r#""SET" "a \" b" "secret""#, Some(r#"SET a \" b"#)),
            (r#""evalsha" "f00" "1" "k" "secret""#, Some("EVALSHA k")),
            (r#""eval" "return 'secret'" "0" "x""#, None),
            (r#""CONFIG" "SET" "requirepass" "secret""#, None),
            (r#""ping""#, None),
            (r#""lolwut" "5""#, None),
            (r#""msetex" "2" "k1" "secret" "k2" "secret""#, Some("MSETEX k1")),
            (r#""object" "freq" "k""#, None),
        ] {
            assert_eq!(used(line).as_deref(), expected, "{line}");
        }
        assert_eq!(super::used(b"+OK\r\n"), None);
    }

    #[test]
    fn the_keys_with_the_most_commands_come_first_and_a_busy_server_is_left_alone() {
        let mut lines = MonitorSample::default();
        for n in 0..30 {
            lines.add(format!(r#"+1.2 [0 lua] "get" "k:{}""#, n % 4).as_bytes());
        }
        let shared = ExaminationState::new(KeyMethod::Monitor);
        lines.publish(&shared);
        let seen = shared.seen.lock().clone();
        assert_eq!((seen.sampled, seen.hottest[0].amount, seen.hottest.len()), (30, 8, 4));
        assert!(check(&Info::parse("instantaneous_ops_per_sec:20000")).is_ok());
        assert!(check(&Info::parse("instantaneous_ops_per_sec:20001")).is_err());
    }
}
