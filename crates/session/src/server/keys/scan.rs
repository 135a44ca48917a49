//! Samples keys with SCAN, and reads the memory and the TTL of each key. If the server evicts keys by an LFU
//! policy, redyno also reads how often each key is used.
//!
//! ```text
//! SCAN ─► SCAN, MEMORY USAGE a, PTTL a, MEMORY USAGE b, … ─► pause ─► SCAN, MEMORY USAGE c, … ─► pause ─► …
//! ```
//! Each pause is at least 49 times as long as the server's work on the batch before it. A scan therefore uses at most 2
//! % of the time of the server's main thread.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    ExaminationState, HotUnit, KeyState, PUBLISHED_EVERY,
    connection::{KeyCommand, KeyConnection, KeyReply},
    tally::{KeyTally, Sampled},
};
use crate::server::ServerError;

/// The number of keys that a SCAN visits. The requests about this number of keys block other clients for about 0.2 ms.
pub(super) const COUNT: &[u8] = b"64";
/// The number of elements of a collection that MEMORY USAGE samples. The command's default is 5. 0 would sample all
/// elements.
const ELEMENTS: &[u8] = b"5";
/// The largest share of the server's time that a scan may use.
pub(super) const SHARE: f64 = 0.02;
/// The shortest time that redyno assumes for a command on the server. The measured time of a small batch is unreliable,
/// because round trips vary by more.
const LEAST_TIME: Duration = Duration::from_micros(1);
/// The time between two checks whether the user has stopped the scan.
const NAP: Duration = Duration::from_millis(50);

/// The requests of the next batch.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ScanStep {
    /// The cursor of the next SCAN; `None` after the last SCAN.
    pub(super) cursor: Option<Vec<u8>>,
    /// The keys of the previous SCAN.
    pub(super) keys: Vec<Vec<u8>>,
}

/// Samples keys until all keys were visited, or until the user stops the scan.
pub(super) fn scan_keys(
    line: &mut KeyConnection,
    has_counters: bool,
    shared: &ExaminationState,
) -> Result<KeyState, ServerError> {
    let began = Instant::now();
    let mut tally = KeyTally::new();
    let mut step = ScanStep { cursor: Some(b"0".to_vec()), keys: Vec::new() };
    let (mut worked, mut published) = (Duration::ZERO, began);
    let state = loop {
        if step == ScanStep::default() {
            break KeyState::Complete;
        }
        let commands = step.questions(has_counters);
        let (replies, took) = line.timed(&commands)?;
        let cost = cost(took, commands.len());
        worked += cost;
        let mut replies = replies.into_iter();
        let next = step.cursor.as_ref().and_then(|_| replies.next());
        let each: Vec<_> = replies.collect();
        for (key, replies) in step.keys.iter().zip(each.chunks(if has_counters { 3 } else { 2 })) {
            if let Some(sampled) = sampled(replies) {
                tally.add(key, &sampled);
            }
        }
        step = following(next)?;
        if !rest(cost, shared) {
            break KeyState::Stopped;
        }
        if published.elapsed() >= PUBLISHED_EVERY {
            published = Instant::now();
            publish(shared, &tally, worked, began, false);
        }
    };
    publish(shared, &tally, worked, began, state == KeyState::Complete);
    let types: Vec<KeyCommand> =
        tally.largest.0.iter().map(|(_, key)| vec![b"TYPE", key.as_slice()]).collect();
    if !types.is_empty() {
        let types = line.ask(&types)?;
        shared.publish(|seen| {
            for (key, found) in seen.largest.iter_mut().zip(&types) {
                let KeyReply::Texts(texts) = found else { continue };
                key.kind = texts.first().map(|text| crate::untrusted::bytes(text));
            }
        });
    }
    if has_counters {
        shared.publish(|seen| seen.hot_unit = Some(HotUnit::Counter));
    }
    Ok(state)
}

impl ScanStep {
    /// Returns the next SCAN, if there is one, and the commands about the keys of the previous SCAN.
    fn questions(&self, has_counters: bool) -> Vec<KeyCommand<'_>> {
        let mut questions: Vec<KeyCommand> = Vec::new();
        questions.extend(self.cursor.as_ref().map(|cursor| vec![&b"SCAN"[..], cursor, b"COUNT", COUNT]));
        for key in &self.keys {
            questions.push(vec![b"MEMORY", b"USAGE", key, b"SAMPLES", ELEMENTS]);
            questions.push(vec![b"PTTL", key]);
            if has_counters {
                questions.push(vec![b"OBJECT", b"FREQ", key]);
            }
        }
        questions
    }
}

/// Reads the replies about one key; `None` if the key no longer exists.
fn sampled(replies: &[KeyReply]) -> Option<Sampled> {
    let number = |n: usize| match replies.get(n) {
        Some(KeyReply::Number(number)) => Some(*number),
        _ => None,
    };
    let bytes = u64::try_from(number(0)?).ok()?;
    // -1 means that the key has no TTL; -2 means that the key no longer exists.
    let has_ttl = number(1).filter(|ms| *ms >= -1)? >= 0;
    Some(Sampled { bytes, has_ttl, frequency: number(2).and_then(|n| u64::try_from(n).ok()) })
}

/// Reads a reply to SCAN: the cursor of the next SCAN, and the found keys. After the last SCAN, the cursor is `None`.
pub(super) fn following(reply: Option<KeyReply>) -> Result<ScanStep, ServerError> {
    match reply {
        None => Ok(ScanStep::default()),
        Some(KeyReply::Texts(mut keys)) => {
            let cursor = keys.remove(0);
            Ok(ScanStep { cursor: Some(cursor).filter(|cursor| cursor != b"0"), keys })
        }
        Some(_) => Err(ServerError::Unexpected { command: "SCAN".to_owned() }),
    }
}

fn publish(shared: &ExaminationState, tally: &KeyTally, worked: Duration, began: Instant, is_complete: bool) {
    shared.publish(|seen| {
        seen.sampled = tally.sampled;
        seen.cost = worked.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-3);
        seen.prefixes = tally.prefixes(seen.keys, is_complete);
        seen.largest = tally.largest.seen();
        seen.hottest = tally.hottest.seen();
    });
}

/// Returns the longest time that the server may have worked on this number of `commands`: the measured time
/// `took`, but at least 1 µs per command.
pub(super) fn cost(took: Duration, commands: usize) -> Duration {
    took.max(LEAST_TIME * commands as u32)
}

/// Returns the length of the pause after the server worked for `cost`.
pub(super) fn pause(cost: Duration) -> Duration {
    cost.mul_f64(1.0 / SHARE - 1.0)
}

/// Pauses after a batch on which the server worked for `cost`. Returns `false` if the user stops the scan
/// meanwhile.
fn rest(cost: Duration, shared: &ExaminationState) -> bool {
    let until = Instant::now() + pause(cost);
    while !shared.is_stopped() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        sleep(left.min(NAP));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::KeyMethod;

    #[test]
    fn memory_and_ttl_of_each_key_are_requested() {
        let step = |cursor: Option<&[u8]>| ScanStep {
            cursor: cursor.map(<[u8]>::to_vec),
            keys: vec![b"a".to_vec()],
        };
        let text = |questions: Vec<KeyCommand>| -> Vec<String> {
            let text = |words: &KeyCommand| String::from_utf8(words.join(&b' ')).unwrap();
            questions.iter().map(text).collect()
        };
        let expected = ["SCAN 7 COUNT 64", "MEMORY USAGE a SAMPLES 5", "PTTL a"];
        assert_eq!(text(step(Some(b"7")).questions(false)), expected);
        assert_eq!(text(step(None).questions(true)).last().unwrap(), "OBJECT FREQ a");
    }

    #[test]
    fn a_missing_key_is_left_out_and_the_last_scan_has_no_cursor() {
        let numbers = |numbers: &[i64]| numbers.iter().map(|n| KeyReply::Number(*n)).collect::<Vec<_>>();
        assert!(
            sampled(&numbers(&[72, -2])).is_none()
                && sampled(&[KeyReply::Nothing, KeyReply::Nothing]).is_none()
        );
        let key = sampled(&numbers(&[72, -1, 5])).unwrap();
        assert_eq!((key.bytes, key.has_ttl, key.frequency), (72, false, Some(5)));
        assert!(sampled(&numbers(&[72, 0])).unwrap().has_ttl);
        let texts = |texts: &[&[u8]]| Some(KeyReply::Texts(texts.iter().map(|text| text.to_vec()).collect()));
        assert_eq!(following(texts(&[b"0", b"a"])), Ok(ScanStep { cursor: None, keys: vec![b"a".to_vec()] }));
        assert_eq!(following(texts(&[b"9"])), Ok(ScanStep { cursor: Some(b"9".to_vec()), keys: Vec::new() }));
        assert!(following(Some(KeyReply::Nothing)).is_err());
    }

    #[test]
    fn a_stopped_scan_does_not_wait_for_its_pause() {
        let shared = ExaminationState::new(KeyMethod::Scan);
        shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(!rest(Duration::from_secs(3600), &shared));
    }
}
