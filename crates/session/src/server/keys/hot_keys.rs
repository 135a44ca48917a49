//! HOTKEYS (Redis 8.6): the server measures for five seconds how much CPU time the commands on each key use. redyno
//! never changes a measurement of another client, or its result.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{ExaminationState, HotUnit, KeyAmount, KeyState, tally::MOST_SHOWN};
use crate::server::{
    ServerError,
    link::{Datum, RedisSender},
};

/// The length of a measurement, in seconds. The server ends the measurement after this time.
const LENGTH_S: u64 = 5;
/// The time between two checks whether the user has stopped the measurement.
const NAP: Duration = Duration::from_millis(100);

/// Starts a measurement of [`LENGTH_S`] seconds on the server, reads the result, and removes the result from
/// the server.
pub(super) async fn measure(wire: &RedisSender, shared: &ExaminationState) -> Result<KeyState, ServerError> {
    let has_none = |error: ServerError| match error.is_refusal("ERR unknown command") {
        true => ServerError::Unfit("this server has no HOTKEYS, which exists since Redis 8.6".to_owned()),
        false => error,
    };
    if let Some(count) = Count::read(&wire.data(&["HOTKEYS", "GET"]).await.map_err(has_none)?) {
        return Err(ServerError::Unfit(count.owned().to_owned()));
    }
    let (keys, length) = (MOST_SHOWN.to_string(), LENGTH_S.to_string());
    wire.data(&["HOTKEYS", "START", "METRICS", "1", "CPU", "COUNT", &keys, "DURATION", &length]).await?;
    let until = Instant::now() + Duration::from_secs(LENGTH_S) + NAP;
    while Instant::now() < until && !shared.is_stopped() {
        sleep(NAP).await;
    }
    let is_stopped = shared.is_stopped();
    let stopped = if is_stopped { wire.data(&["HOTKEYS", "STOP"]).await.map(drop) } else { Ok(()) };
    let reply = wire.data(&["HOTKEYS", "GET"]).await;
    // The result is removed from the server, even after an error.
    wire.data(&["HOTKEYS", "RESET"]).await?;
    stopped?;
    let reply = reply?;
    let unexpected = || ServerError::Unexpected { command: "HOTKEYS GET".to_owned() };
    let Count { keys, .. } = Count::read(&reply).ok_or_else(unexpected)?;
    shared.publish(|seen| (seen.hottest, seen.hot_unit) = (keys, Some(HotUnit::Micros)));
    Ok(if is_stopped { KeyState::Stopped } else { KeyState::Complete })
}

/// A measurement on the server, or its result.
#[derive(Debug, PartialEq)]
struct Count {
    is_active: bool,
    keys: Vec<KeyAmount>,
}

impl Count {
    /// Reads the reply to HOTKEYS GET, which is empty or a list of names and values. Some versions put this list into
    /// another list.
    fn read(reply: &Datum) -> Option<Self> {
        let fields = match reply.list()? {
            [Datum::List(fields)] => fields,
            fields => fields,
        };
        let field = |name: &str| {
            fields.chunks_exact(2).find(|pair| pair[0].text() == Some(name)).map(|pair| &pair[1])
        };
        let seen = |pair: &[Datum]| {
            let (key, amount) = (pair[0].text()?.to_owned(), pair[1].number()?.try_into().ok()?);
            Some(KeyAmount { key, amount, kind: None })
        };
        let keys = field("by-cpu-time-us").and_then(Datum::list).unwrap_or_default();
        Some(Self {
            is_active: field("tracking-active")?.number()? != 0,
            keys: keys.chunks_exact(2).map(seen).collect::<Option<_>>()?,
        })
    }

    /// Returns the reason why redyno does not start a measurement.
    fn owned(&self) -> &'static str {
        if self.is_active {
            "another client runs HOTKEYS on this server now; redyno does not disturb it"
        } else {
            "the server holds the result of an earlier HOTKEYS; HOTKEYS GET shows it, and HOTKEYS RESET removes it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_in_both_forms_and_an_empty_reply_is_none() {
        // The reply of Redis 8.6 in RESP2, shortened.
        let text = |text: &str| Datum::Text(text.to_owned());
        let keys = [text("x"), Datum::Number(104), text("y"), Datum::Number(98)].to_vec();
        let count = |active| {
            vec![
                text("tracking-active"),
                Datum::Number(active),
                text("selected-slots"),
                Datum::List(Vec::new()),
                text("by-cpu-time-us"),
                Datum::List(keys.clone()),
            ]
        };
        let read = Count::read(&Datum::List(count(0))).unwrap();
        assert_eq!(Count::read(&Datum::List(vec![Datum::List(count(0))])), Some(read));
        let active = Count::read(&Datum::List(count(1))).unwrap();
        assert_eq!((active.keys[0].key.as_str(), active.keys[1].amount), ("x", 98));
        assert!(active.owned().starts_with("another client"));
        assert_eq!((Count::read(&Datum::Other), Count::read(&Datum::List(Vec::new()))), (None, None));
    }
}
