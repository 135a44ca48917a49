//! HOTKEYS (Redis 8.6): the server counts the time of each key for five seconds. A count that another client runs or has
//! left is not touched.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{HotUnit, KeySeen, KeyState, Shared, tally::MOST_SHOWN};
use crate::server::{
    ServerError,
    link::{Datum, Wire},
};

/// The length of a count, in seconds, after which the server ends the count by itself.
const LENGTH_S: u64 = 5;
/// How often an order to stop is looked for.
const NAP: Duration = Duration::from_millis(100);

/// Lets the server count for [`LENGTH_S`] seconds, and removes the count.
pub(super) async fn look(wire: &Wire, shared: &Shared) -> Result<KeyState, ServerError> {
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
    // Whatever failed, the result does not stay on the server.
    wire.data(&["HOTKEYS", "RESET"]).await?;
    stopped?;
    let reply = reply?;
    let unexpected = || ServerError::Unexpected { command: "HOTKEYS GET".to_owned() };
    let Count { keys, .. } = Count::read(&reply).ok_or_else(unexpected)?;
    shared.publish(|seen| (seen.hottest, seen.hot_unit) = (keys, Some(HotUnit::Micros)));
    Ok(if is_stopped { KeyState::Stopped } else { KeyState::Complete })
}

/// A count that the server has.
#[derive(Debug, PartialEq)]
struct Count {
    is_active: bool,
    keys: Vec<KeySeen>,
}

impl Count {
    /// Reads the reply to HOTKEYS GET: nothing, or names and values, which some versions put into a list of one list.
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
            Some(KeySeen { key, amount, kind: None })
        };
        let keys = field("by-cpu-time-us").and_then(Datum::list).unwrap_or_default();
        Some(Self {
            is_active: field("tracking-active")?.number()? != 0,
            keys: keys.chunks_exact(2).map(seen).collect::<Option<_>>()?,
        })
    }

    /// Returns why redyno does not count.
    fn owned(&self) -> &'static str {
        if self.is_active {
            "another client runs HOTKEYS on this server now; its count is not disturbed"
        } else {
            "the server holds the result of an earlier HOTKEYS; HOTKEYS GET shows it, and HOTKEYS RESET removes it"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_count_is_read_in_both_of_its_forms_and_nothing_is_no_count() {
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
