//! Simulated faults of the built-in server. A script of faults has one line for each fault:
//!
//! ```text
//! stall 500ms every 5s            the whole server stops, as during a fork or a slow command
//! slow GET 2ms                    the command takes that long: all clients wait, and it is in the slow log; with
//!                                 `slow load 100us` the server does 10 k/s, whatever the machine
//! delay GET 2ms nth 10            only this reply, and the later ones on its connection, are delayed
//! error LOADING 1%                an error instead of running the command
//! cut every 10000                 half a reply, and then nothing more on that connection
//! reset every 20s                 the connection is reset (RST) instead of the reply
//! garbage every 30s               bytes that are no reply, instead of the reply
//! ```
//!
//! A fault has a kind, the commands to which it applies, and the times at which it applies.
//!
//! `redyno demo --fault` accepts faults in this syntax:
//!
//! ```text
//! stall DURATION [WHEN]                    WHEN    every DURATION | after DURATION | once
//! slow COMMAND DURATION [WHEN] [nth N]             every N | N% | (nothing: always; a stall: once)
//! delay COMMAND DURATION [WHEN] [nth N]    COMMAND a name, `any` command, or `load`: what a load sends
//! error PREFIX [on COMMAND] [WHEN] [nth N]         (without `on`: load)
//! cut [close] [on COMMAND] [WHEN] [nth N]  DURATION 100us 2ms 5s 1m
//! reset, garbage: as cut, without close
//! ```

mod script;

pub use self::script::{Occasion, Script, Treatment};

use std::{str::FromStr, time::Duration};

use thiserror::Error;

use super::commands;
use crate::units::parse_duration;

/// A fault: one line of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: Kind,
    /// The commands to which the fault applies; unused for a stall.
    pub scope: Scope,
    /// When the fault applies.
    pub when: When,
    /// If set, the fault applies only to the request at this position, from 1, among the requests that arrived in one
    /// read.
    pub nth: Option<u64>,
}

/// The kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The whole server stops for this long.
    Stall(Duration),
    /// The command takes this much longer, and all clients wait for it.
    Slow(Duration),
    /// The server runs the command at once and sends the reply this much later; other connections are served meanwhile.
    Delay(Duration),
    /// The command does not run; the reply is an error with this prefix.
    Error(String),
    /// The reply's bytes are damaged.
    Damage(Damage),
}

/// The kinds of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Half of the reply is sent, and then nothing more on that connection.
    Cut {
        /// Whether the connection is then closed; otherwise it stays open without further replies.
        close: bool,
    },
    /// The connection is reset (RST) instead of the reply.
    Reset,
    /// Bytes that are no valid reply are sent instead of the reply.
    Garbage,
}

/// The commands to which a fault applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The commands that load generators send: every command with keys, PING and ECHO. Commands such as HELLO, INFO and
    /// CONFIG have no faults, so that the server can still be observed.
    Load,
    /// Every command.
    Any,
    /// The command of this name, in lower case.
    Command(String),
}

/// When a fault applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// For every request.
    Always,
    /// Once, for the first request after this time; a stall begins at this time.
    Once(Duration),
    /// For each request with this probability, 0 to 1.
    Share(f64),
    /// For every n-th request to which the fault could apply, counted over all connections.
    EveryNth(u64),
    /// For the first request after each period of this length; a stall begins when the period ends.
    Every(Duration),
}

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

type Tokens<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn fault(text: &str) -> Result<Fault, String> {
    let mut words = text.split_whitespace().peekable();
    let verb = words.next().ok_or("a fault starts with stall, slow, delay, error, cut, reset or garbage")?;
    let mut scope = Scope::Load;
    let kind = match verb.to_ascii_lowercase().as_str() {
        "stall" => Kind::Stall(duration(words.next(), "the length of the stall")?),
        "slow" => {
            scope = command(words.next())?;
            Kind::Slow(duration(words.next(), "the additional time of the command")?)
        }
        "delay" => {
            scope = command(words.next())?;
            Kind::Delay(duration(words.next(), "the delay of the reply")?)
        }
        "error" => Kind::Error(error_prefix(words.next())?),
        "cut" => {
            let close = words.next_if(|word| word.eq_ignore_ascii_case("close")).is_some();
            Kind::Damage(Damage::Cut { close })
        }
        "reset" => Kind::Damage(Damage::Reset),
        "garbage" => Kind::Damage(Damage::Garbage),
        other => {
            return Err(format!(
                "'{other}' is not a fault: give stall, slow, delay, error, cut, reset or garbage"
            ));
        }
    };
    let positional = matches!(kind, Kind::Slow(_) | Kind::Delay(_));
    let (mut when, mut nth, mut on) = (None, None, None);
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_str() {
            "on" if !positional && on.is_none() => on = Some(command(words.next())?),
            "nth" if nth.is_none() => nth = Some(ordinal(words.next(), "nth")?),
            lower if when.is_none() => when = Some(moment(lower, &mut words)?),
            _ => return Err(format!("leave out '{word}'")),
        }
    }
    let default = if matches!(kind, Kind::Stall(_)) { When::Once(Duration::ZERO) } else { When::Always };
    checked(Fault { kind, scope: on.unwrap_or(scope), when: when.unwrap_or(default), nth })
}

/// Refuses a fault with contradictory settings.
fn checked(fault: Fault) -> Result<Fault, String> {
    let Kind::Stall(length) = fault.kind else { return Ok(fault) };
    if fault.scope != Scope::Load || fault.nth.is_some() {
        return Err("a stall stops the whole server; leave out 'on' and 'nth'".to_owned());
    }
    match fault.when {
        When::Every(period) if period <= length => Err("a stall must be shorter than its period".to_owned()),
        When::Every(_) | When::Once(_) => Ok(fault),
        _ => Err("a stall happens 'once', 'after DURATION' or 'every DURATION'".to_owned()),
    }
}

fn moment(word: &str, words: &mut Tokens<'_>) -> Result<When, String> {
    match word {
        "once" => Ok(When::Once(Duration::ZERO)),
        "after" => Ok(When::Once(duration(words.next(), "the time after 'after'")?)),
        "every" => match words.peek().filter(|next| next.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(_) => Ok(When::EveryNth(ordinal(words.next(), "every")?)),
            None => {
                Ok(When::Every(duration(words.next(), "a number of requests, or the period, after 'every'")?))
            }
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
            ("stall 500ms every 5s", Kind::Stall(ms(500)), Scope::Load, When::Every(ms(5000)), None),
            ("Stall 500ms after 3s", Kind::Stall(ms(500)), Scope::Load, When::Once(ms(3000)), None),
            ("stall 1s", Kind::Stall(ms(1000)), Scope::Load, When::Once(ms(0)), None),
            ("slow GET 2ms", Kind::Slow(ms(2)), command("get"), When::Always, None),
            ("delay GET 2ms nth 10", Kind::Delay(ms(2)), command("get"), When::Always, Some(10)),
            ("delay any 1500us every 3", Kind::Delay(ms(3) / 2), Scope::Any, When::EveryNth(3), None),
            ("error LOADING 1%", Kind::Error("LOADING".into()), Scope::Load, When::Share(0.01), None),
            ("error OOM on SET nth 2", Kind::Error("OOM".into()), command("set"), When::Always, Some(2)),
            (
                "cut close on GET once",
                Kind::Damage(Damage::Cut { close: true }),
                command("get"),
                When::Once(ms(0)),
                None,
            ),
            (
                "cut every 10000",
                Kind::Damage(Damage::Cut { close: false }),
                Scope::Load,
                When::EveryNth(10_000),
                None,
            ),
            ("reset every 20s", Kind::Damage(Damage::Reset), Scope::Load, When::Every(ms(20_000)), None),
            ("garbage every 1m", Kind::Damage(Damage::Garbage), Scope::Load, When::Every(ms(60_000)), None),
        ] {
            assert_eq!(text.parse(), Ok(Fault { kind, scope, when, nth }), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", "a fault starts with stall"),
            ("explode 5s", "'explode' is not a fault: give stall, slow"),
            ("stall", "a duration is missing: give the length of the stall"),
            ("stall 5", "'5' is not a duration such as"),
            ("stall 5s every 5s", "a stall must be shorter than its period"),
            ("stall 5s 1%", "a stall happens 'once', 'after DURATION' or 'every DURATION'"),
            ("stall 5s on GET", "a stall stops the whole server"),
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
