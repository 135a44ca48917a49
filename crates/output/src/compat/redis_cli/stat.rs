//! `--stat` of redis-cli prints a line with figures of INFO every second, or at the interval of `-i`.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use super::{plan::OneshotPlan, run::Streams};
use crate::{
    server::{DirectConnection, Info},
    signals::Signal,
};

/// The default time between two lines.
const EVERY: Duration = Duration::from_secs(1);
/// The number of lines after which the heading is repeated.
const LINES: u32 = 20;
const HEADING: &str = "------- data ------ --------------------- load -------------------- - child -\n\
                       keys       mem      clients blocked requests            connections          \n";

/// Runs the mode until `stop` receives a signal. If the connection is lost, the mode opens a new connection for the
/// next line.
pub(super) fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    let mut line = Some(DirectConnection::open(&plan.target)?);
    let (mut lines, mut requests) = (0, None);
    loop {
        let opened = line.take().map_or_else(|| DirectConnection::open(&plan.target), Ok);
        match opened.and_then(|mut line| Ok((line.info()?, line))) {
            Ok((text, open)) => {
                let heading = if lines % LINES == 0 { HEADING } else { "" };
                let info = Info::parse(&text);
                streams.print(&format!("{heading}{}\n", row(&info, requests)))?;
                (line, lines) = (Some(open), lines + 1);
                requests = info.number("total_commands_processed");
            }
            Err(error) if error.is_refusal("NOPERM") => {
                anyhow::bail!(error.with_permission(&plan.target, ""))
            }
            Err(error) => streams.warn(&error.to_string())?,
        }
        match stop.recv_timeout(plan.options.interval.unwrap_or(EVERY)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Returns a line. `before` is the number of requests in the previous line.
fn row(info: &Info, before: Option<u64>) -> String {
    let number = |name| info.number::<u64>(name).unwrap_or_default();
    let (keys, requests) = (info.keys_by_db().values().sum::<u64>(), number("total_commands_processed"));
    let more = before.map_or(0, |before| requests.saturating_sub(before));
    let is = |name| number(name) > 0;
    let child = match [is("rdb_bgsave_in_progress"), is("aof_rewrite_in_progress"), is("loading")] {
        [true, false, false] => "SAVE",
        [false, true, false] => "AOF",
        [true, true, false] => "SAVE+AOF",
        [false, false, true] => "LOAD",
        _ => "",
    };
    format!(
        "{keys:<11}{:<8} {:<8}{:<8}{:<19} {:<12}{child}",
        size(number("used_memory")),
        number("connected_clients"),
        number("blocked_clients"),
        format!("{requests} (+{more})"),
        number("total_connections_received"),
    )
}

/// Returns bytes in redis-cli's format.
pub(super) fn size(bytes: u64) -> String {
    let units = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];
    let unit = units.into_iter().find(|(_, shift)| bytes >= 1 << shift);
    unit.map_or(format!("{bytes}B"), |(unit, shift)| {
        format!("{:.2}{unit}", bytes as f64 / f64::from(1 << (shift - 10)) / 1024.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_children_are_written_as_redis_cli_writes_them() {
        let sizes = [1023, 1024, 1_048_575, 1 << 20, 3 << 30, 5 << 40].map(size);
        assert_eq!(sizes, ["1023B", "1.00K", "1024.00K", "1.00M", "3.00G", "5.00T"]);
        let text = "used_memory:2048\r\nloading:0\r\naof_rewrite_in_progress:1\r\nrdb_bgsave_in_progress:1\r\n\
                    total_commands_processed:12\r\ndb0:keys=3,expires=0\r\ndb7:keys=4,expires=0\r\n";
        let expected = "7          2.00K    0       0       12 (+5)             0           SAVE+AOF";
        assert_eq!(row(&Info::parse(text), Some(7)), expected);
    }
}
