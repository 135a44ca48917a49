//! Parses the text of simulated faults (`redyno demo --fault`).

use std::{str::FromStr, time::Duration};

use thiserror::Error;

use super::{Damage, Fault, FaultKind, Scope, When};
use crate::{
    demo::commands,
    protocol::{SLOTS, key_slot},
    units::{parse_count, parse_duration},
};

/// The error for a text that is not a valid fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("fault '{text}': {reason}")]
pub struct ParseFaultError {
    text: String,
    reason: String,
}

impl FromStr for Fault {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        fault(text).map_err(|reason| ParseFaultError { text: text.to_owned(), reason })
    }
}

/// The first words of a fault.
const VERBS: &str =
    "stall, slow, delay, error, cut, reset or garbage; for a cluster also reshard, failover or hot";

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn fault(text: &str) -> Result<Fault, String> {
    let mut words = text.split_whitespace().peekable();
    let verb = words.next().ok_or_else(|| format!("a fault starts with {VERBS}"))?;
    let mut scope = Scope::Load;
    let kind = match verb.to_ascii_lowercase().as_str() {
        "stall" => FaultKind::Stall(duration(words.next(), "the length of the stall")?),
        "slow" => {
            scope = command(words.next())?;
            FaultKind::Slow(duration(words.next(), "the additional time of the command")?)
        }
        "delay" => {
            scope = command(words.next())?;
            FaultKind::Delay(duration(words.next(), "the delay of the reply")?)
        }
        "error" => FaultKind::Error(error_prefix(words.next())?),
        "cut" => {
            let close = words.next_if(|word| word.eq_ignore_ascii_case("close")).is_some();
            FaultKind::Damage(Damage::Cut { close })
        }
        "reset" => FaultKind::Damage(Damage::Reset),
        "garbage" => FaultKind::Damage(Damage::Garbage),
        "reshard" => FaultKind::Reshard(slots(words.next())?),
        "failover" => FaultKind::Failover,
        "hot" => hot(&mut words)?,
        other => {
            return Err(format!("'{other}' is not a fault: give {VERBS}"));
        }
    };
    let positional = matches!(kind, FaultKind::Slow(_) | FaultKind::Delay(_));
    let (mut when, mut nth, mut on, mut node) = (None, None, None, None);
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_str() {
            "on" if !positional && on.is_none() => on = Some(command(words.next())?),
            "nth" if nth.is_none() => nth = Some(ordinal(words.next(), "nth")?),
            "node" if node.is_none() => node = Some(ordinal(words.next(), "node")? as usize),
            lower if when.is_none() => when = Some(moment(lower, &mut words)?),
            _ => return Err(format!("leave out '{word}'")),
        }
    }
    let default = if kind.is_of_requests() { When::Always } else { When::Once(Duration::ZERO) };
    checked(Fault { kind, scope: on.unwrap_or(scope), when: when.unwrap_or(default), nth, node })
}

/// Refuses a fault with contradictory settings.
fn checked(fault: Fault) -> Result<Fault, String> {
    let (name, length) = match fault.kind {
        FaultKind::Stall(length) => ("stall", length),
        FaultKind::Reshard(_) => ("reshard", Duration::ZERO),
        FaultKind::Failover => ("failover", Duration::ZERO),
        FaultKind::Hot { .. } => ("hot slot", Duration::ZERO),
        _ => return Ok(fault),
    };
    if fault.scope != Scope::Load || fault.nth.is_some() {
        return Err(format!("a {name} does not depend on commands; leave out 'on' and 'nth'"));
    }
    match (fault.when, &fault.kind) {
        (_, FaultKind::Reshard(_) | FaultKind::Hot { .. }) if fault.node.is_some() => {
            Err(format!("a {name} concerns several nodes; leave out 'node'"))
        }
        (When::Every(_), FaultKind::Hot { .. }) => {
            Err("a hot slot begins 'after DURATION' or at once".to_owned())
        }
        (When::Every(period), _) if period <= length => {
            Err(format!("a {name} must be shorter than its period"))
        }
        (When::Every(_) | When::Once(_), _) => Ok(fault),
        _ => Err(format!("a {name} happens 'once', 'after DURATION' or 'every DURATION'")),
    }
}

fn slots(word: Option<&str>) -> Result<usize, String> {
    let slots = word.and_then(|word| word.parse().ok()).filter(|n| (1..=usize::from(SLOTS)).contains(n));
    slots.ok_or_else(|| format!("'reshard' needs the number of slots after it, from 1 to {SLOTS}"))
}

fn hot(words: &mut Tokens<'_>) -> Result<FaultKind, String> {
    let slot = words.next().and_then(|word| word.parse::<u16>().ok()).filter(|slot| *slot < SLOTS);
    let slot = slot.ok_or_else(|| format!("'hot' needs a slot after it, from 0 to {}", SLOTS - 1))?;
    let per_s = words.next().and_then(|word| parse_count(word).ok()).filter(|n| (1..=1_000_000).contains(n));
    let per_s = per_s.ok_or("'hot' needs the reads per second after the slot, from 1 to 1m, such as 5k")?;
    let key = (0_u64..).map(|n| format!("hot:{n}")).find(|key| key_slot(key.as_bytes()) == slot);
    Ok(FaultKind::Hot { key: key.unwrap_or_default(), per_s })
}

fn moment(word: &str, words: &mut Tokens<'_>) -> Result<When, String> {
    match word {
        "once" => Ok(When::Once(Duration::ZERO)),
        "after" => Ok(When::Once(duration(words.next(), "the time after 'after'")?)),
        "every" => match words.peek().filter(|next| next.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(_) => Ok(When::EveryNth(ordinal(words.next(), "every")?)),
            None => Ok(When::Every(duration(
                words.next(),
                "after 'every' either a number of requests or a time",
            )?)),
        },
        _ => share(word).ok_or_else(|| {
            format!(
                "'{word}' is not a condition: give every, after, once, nth, on or a percentage such as 1%"
            )
        }),
    }
}

fn share(word: &str) -> Option<When> {
    let percent: f64 = word.strip_suffix('%')?.parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(When::Share(percent / 100.0))
}

fn ordinal(word: Option<&str>, before: &str) -> Result<u64, String> {
    word.and_then(|word| word.parse().ok())
        .filter(|n| *n > 0)
        .ok_or_else(|| format!("'{before}' needs a number of at least 1 after it"))
}

fn command(word: Option<&str>) -> Result<Scope, String> {
    let name = word.ok_or("a command is missing: give its name, 'any' or 'load'")?.to_ascii_lowercase();
    match name.as_str() {
        "any" => Ok(Scope::Any),
        "load" => Ok(Scope::Load),
        _ if commands::is_known(&name) => Ok(Scope::Command(name)),
        _ => Err(format!(
            "'{name}' is not a command of the built-in server; give 'any', 'load' or one of its commands"
        )),
    }
}

fn error_prefix(word: Option<&str>) -> Result<String, String> {
    let prefix = word.ok_or("the error's prefix is missing: give one such as LOADING or OOM")?;
    let plain = prefix.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if plain {
        Ok(prefix.to_owned())
    } else {
        Err(format!("'{prefix}' is not an error's prefix: give capitals, such as LOADING"))
    }
}

fn duration(word: Option<&str>, what: &str) -> Result<Duration, String> {
    let word = word.ok_or_else(|| format!("a duration is missing: give {what}, such as 500ms or 5s"))?;
    let length = parse_duration(word).map_err(|error| error.to_string())?;
    // A day is longer than any session with faults, and keeps sums of times far below their limits.
    match length {
        length if length > Duration::from_secs(86_400) => {
            Err(format!("'{word}' is longer than a day; give at most 24h"))
        }
        length if length >= Duration::from_micros(1) => Ok(length),
        _ => Err(format!("'{word}' is not a duration of at least 1us, such as 500ms or 5s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_gives_kind_scope_time_and_position() {
        let ms = Duration::from_millis;
        let command = |name: &str| Scope::Command(name.to_owned());
        for (text, kind, scope, when, nth) in [
            ("stall 500ms every 5s", FaultKind::Stall(ms(500)), Scope::Load, When::Every(ms(5000)), None),
            ("Stall 500ms after 3s", FaultKind::Stall(ms(500)), Scope::Load, When::Once(ms(3000)), None),
            ("stall 1s", FaultKind::Stall(ms(1000)), Scope::Load, When::Once(ms(0)), None),
            ("slow GET 2ms", FaultKind::Slow(ms(2)), command("get"), When::Always, None),
            ("delay GET 2ms nth 10", FaultKind::Delay(ms(2)), command("get"), When::Always, Some(10)),
            ("delay any 1500us every 3", FaultKind::Delay(ms(3) / 2), Scope::Any, When::EveryNth(3), None),
            ("error LOADING 1%", FaultKind::Error("LOADING".into()), Scope::Load, When::Share(0.01), None),
            ("error OOM on SET nth 2", FaultKind::Error("OOM".into()), command("set"), When::Always, Some(2)),
            (
                "cut close on GET once",
                FaultKind::Damage(Damage::Cut { close: true }),
                command("get"),
                When::Once(ms(0)),
                None,
            ),
            (
                "cut every 10000",
                FaultKind::Damage(Damage::Cut { close: false }),
                Scope::Load,
                When::EveryNth(10_000),
                None,
            ),
            ("reset every 20s", FaultKind::Damage(Damage::Reset), Scope::Load, When::Every(ms(20_000)), None),
            (
                "garbage every 1m",
                FaultKind::Damage(Damage::Garbage),
                Scope::Load,
                When::Every(ms(60_000)),
                None,
            ),
        ] {
            let node = None;
            assert_eq!(text.parse(), Ok(Fault { kind, scope, when, nth, node }), "{text}");
        }
    }

    #[test]
    fn faults_of_a_cluster_have_a_node_slots_or_a_key() {
        let fault = |text: &str| text.parse::<Fault>().unwrap();
        assert_eq!(fault("slow load 5ms node 2").node, Some(2));
        let of_a_cluster = fault("failover node 1 after 3s");
        assert_eq!((of_a_cluster.kind, of_a_cluster.node), (FaultKind::Failover, Some(1)));
        assert_eq!(fault("reshard 1000 every 10s").kind, FaultKind::Reshard(1000));
        let FaultKind::Hot { key, per_s } = fault("hot 866 5k").kind else { panic!("not hot") };
        assert_eq!((key_slot(key.as_bytes()), per_s), (866, 5000));
        let needs = ["stall 1s", "slow GET 1ms", "stall 1s node 1", "reshard 1"]
            .map(|text| fault(text).needs_cluster());
        assert_eq!(needs, [false, false, true, true]);
    }

    #[test]
    fn invalid_faults_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "a fault starts with stall"),
            ("explode 5s", "'explode' is not a fault: give stall, slow"),
            ("stall", "a duration is missing: give the length of the stall"),
            ("stall 5", "'5' is not a duration such as"),
            ("stall 5s every 5s", "a stall must be shorter than its period"),
            ("stall 5s 1%", "a stall happens 'once', 'after DURATION' or 'every DURATION'"),
            ("stall 5s on GET", "a stall does not depend on commands; leave out 'on' and 'nth'"),
            ("reshard every 5s", "'reshard' needs the number of slots after it, from 1 to 16384"),
            ("reshard 10 node 2", "a reshard concerns several nodes; leave out 'node'"),
            ("failover 5%", "a failover happens 'once', 'after DURATION' or 'every DURATION'"),
            ("hot 16384 5k", "'hot' needs a slot after it, from 0 to 16383"),
            ("hot 866", "'hot' needs the reads per second after the slot"),
            ("hot 866 5k every 5s", "a hot slot begins 'after DURATION' or at once"),
            ("slow load 5ms node 0", "'node' needs a number of at least 1 after it"),
            ("stall 9999999999s", "longer than a day"),
            ("stall 1ns", "not a duration of at least 1us"),
            ("delay GTE 2ms", "'gte' is not a command of the built-in server"),
            ("delay 2ms", "'2ms' is not a command"),
            ("error loading", "'loading' is not an error's prefix: give capitals"),
            ("error OOM 0%", "'0%' is not a condition: give every"),
            ("error OOM 101%", "'101%' is not a condition: give every"),
            ("cut every 0", "'every' needs a number of at least 1 after it"),
            ("cut every", "a duration is missing"),
            ("reset now", "'now' is not a condition"),
            ("reset once 5%", "leave out '5%'"),
        ] {
            let error = text.parse::<Fault>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
