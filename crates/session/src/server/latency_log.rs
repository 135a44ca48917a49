//! Parses LATENCY LATEST: the last event of each kind that the server's latency monitor recorded. This module
//! does no I/O.

use std::collections::BTreeMap;

use super::{LatencyEvent, link::Datum};
use crate::events::EventKind;

/// The largest accepted number of event kinds. Servers have about 20 kinds.
const MOST_KINDS: usize = 256;

/// The reported values of an event kind: the time and the duration of the last event, and the longest duration.
type LatestEvent = (i64, u64, u64);

/// The last reported event of each kind.
#[derive(Debug, Default)]
pub(super) struct LatencyLog {
    /// The events of the previous poll; `None` before the first poll. Events in the first poll are older than the
    /// session.
    last: Option<BTreeMap<String, LatestEvent>>,
}

impl LatencyLog {
    /// Returns the last event of each kind, and the events since the previous poll. `server_s` is the time of the
    /// server's clock in seconds. Returns `None` if the reply has another form.
    pub(super) fn read(
        &mut self,
        reply: &Datum,
        server_s: Option<i64>,
    ) -> Option<(Vec<LatencyEvent>, Vec<EventKind>)> {
        let kinds = reply.list().filter(|kinds| kinds.len() <= MOST_KINDS)?;
        let kinds: BTreeMap<_, _> = kinds.iter().map(kind).collect::<Option<_>>()?;
        let is_new = |(name, seen): &(&String, &LatestEvent)| {
            self.last.as_ref().is_some_and(|last| last.get(*name) != Some(seen))
        };
        let event_kind = |(name, (_, last_ms, max_ms)): (&String, &LatestEvent)| EventKind::SlowEvent {
            of: name.clone(),
            last_ms: *last_ms,
            max_ms: *max_ms,
        };
        let news = kinds.iter().filter(is_new).map(event_kind).collect();
        let event = |(name, (at_s, last_ms, max_ms)): (&String, &LatestEvent)| LatencyEvent {
            name: name.clone(),
            age_s: server_s.and_then(|now_s| u64::try_from(now_s.checked_sub(*at_s)?).ok()),
            last_ms: *last_ms,
            max_ms: *max_ms,
        };
        let events = kinds.iter().map(event).collect();
        self.last = Some(kinds);
        Some((events, news))
    }
}

/// Parses an entry. Newer servers append a sum and a count, which are ignored.
fn kind(datum: &Datum) -> Option<(String, LatestEvent)> {
    let [name, at_s, last_ms, max_ms, ..] = datum.list()? else { return None };
    let milliseconds = |datum: &Datum| datum.number()?.try_into().ok();
    Some((name.text()?.to_owned(), (at_s.number()?, milliseconds(last_ms)?, milliseconds(max_ms)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latest(kinds: &[(&str, i64, i64)]) -> Datum {
        let kind = |(name, at_s, ms): &(&str, i64, i64)| {
            let numbers = [*at_s, *ms, ms + 5].map(Datum::Number);
            Datum::List([Datum::Text((*name).to_owned())].into_iter().chain(numbers).collect())
        };
        Datum::List(kinds.iter().map(kind).collect())
    }

    #[test]
    fn a_kind_is_reported_when_it_occurs_again() {
        let mut log = LatencyLog::default();
        let (events, news) = log.read(&latest(&[("command", 100, 14)]), Some(130)).unwrap();
        assert!(news.is_empty(), "from before the session");
        let expected = LatencyEvent { name: "command".to_owned(), age_s: Some(30), last_ms: 14, max_ms: 19 };
        assert_eq!(events, [expected]);
        let (_, news) = log.read(&latest(&[("command", 100, 14)]), None).unwrap();
        assert!(news.is_empty());
        let (_, news) = log.read(&latest(&[("command", 131, 20), ("fork", 131, 2)]), None).unwrap();
        let details: Vec<_> = news.into_iter().map(|news| news.to_string()).collect();
        assert_eq!(
            details,
            ["command 20 ms, the longest so far 25 ms", "fork 2 ms, the longest so far 7 ms"]
        );
    }

    #[test]
    fn a_time_of_any_number_has_an_age_or_none() {
        let (events, _) =
            LatencyLog::default().read(&latest(&[("command", i64::MIN, 14)]), Some(130)).unwrap();
        assert_eq!(events[0].age_s, None);
    }
}
