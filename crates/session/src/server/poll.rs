//! One poll: sends the requests, and evaluates the replies.
//!
//! ```text
//!              ┌─ INFO ──────────────► Status, events        (if refused, the whole poll fails)
//!              ├─ INFO commandstats ─► Status
//!              ├─ LATENCY HISTOGRAM ─► Status       (at first of all commands, then of the busiest, at once of a new
//!              │                                    command; if refused: INFO latencystats, from time to time)
//! every second ┼─ SLOWLOG GET ───────► events
//!              ├─ LATENCY LATEST ────► Status, events
//!              └─ CONFIG GET ────────► Status
//! ```
//! All requests are sent together. A refused request is reported once and repeated a minute later; the other requests
//! continue.
//!
//! Only this module sends the requests of a poll and parses their replies: [`watch`](super::watch) and later modules
//! use only [`Polled`], gauges and events. The poll of memcached (`stats`) is a separate module with the same result
//! types.

use std::collections::BTreeMap;

use super::{
    Info, ServerError, Status,
    command_stats::CommandCounters,
    command_times::{self, AskedFor, Histograms, Known},
    config::Config,
    datum::Datum,
    info::Counters,
    latency_log::LatencyLog,
    link::Wire,
    news::News,
    slow_log::{self, SlowLog},
};
use crate::events::EventKind;

/// The number of polls after which a refused request is repeated.
const ASK_AGAIN: u32 = 60;
/// Percentiles since the server's start are requested once in this number of polls, because they change slowly and cost
/// the server time.
const SELDOM: u32 = 10;

/// A request other than INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    CommandStats,
    Times,
    SinceStart,
    SlowLog,
    Latency,
    Config,
}

/// The results of one poll.
pub(super) struct Polled {
    pub(super) status: Status,
    pub(super) events: Vec<EventKind>,
}

/// The values of earlier polls, for the calculation of differences. These values are kept when the connection is lost.
#[derive(Default)]
pub(super) struct Poller {
    counters: Option<Counters>,
    run_id: String,
    commands: Option<CommandCounters>,
    times: CommandTimes,
    news: News,
    slow_log: SlowLog,
    latency: LatencyLog,
    config: Config,
    refused: BTreeMap<Question, Refusal>,
}

/// The execution times of commands, from the polls so far.
#[derive(Default)]
struct CommandTimes {
    asked: AskedFor,
    known: Known,
    since_start: BTreeMap<String, BTreeMap<String, f64>>,
    /// The number of polls since histograms were refused.
    polls_without: u32,
}

/// A refused request.
struct Refusal {
    /// The number of polls until the request is repeated.
    polls: u32,
    cause: String,
}

/// The replies of one poll; `None` for a request that was not sent.
struct Answers {
    info: Result<String, ServerError>,
    commands: Option<Result<String, ServerError>>,
    /// The requested commands (an empty list means all commands), and the reply with their histograms.
    times: Option<(Vec<String>, Result<Datum, ServerError>)>,
    since_start: Option<Result<String, ServerError>>,
    slow_log: Option<Result<Datum, ServerError>>,
    latency: Option<Result<Datum, ServerError>>,
    config: Option<Result<BTreeMap<String, String>, ServerError>>,
}

impl Poller {
    /// Polls the server. `now_ns` returns the time, and is called when all replies have arrived.
    ///
    /// # Errors
    /// When the connection is lost, or INFO is refused.
    pub(super) async fn poll(
        &mut self,
        wire: &Wire,
        now_ns: impl Fn() -> u64,
    ) -> Result<(u64, Polled), ServerError> {
        let answers = self.ask(wire).await;
        let at_ns = now_ns();
        let text = answers.info?;
        let info = Info::parse(&text);
        let (mut status, counters) = info.status(at_ns, self.counters.as_ref());
        self.counters = Some(counters);
        self.notice_restart(&info);
        let mut events = self.news.read(at_ns, &info);
        let mut before = None;
        if let Some(text) = self.accepted(Question::CommandStats, answers.commands, &mut events)? {
            let now = CommandCounters::parse(&text);
            let added = self.commands.as_ref().and_then(|before| now.since(before));
            status.command_stats = added.unwrap_or_default();
            before = self.commands.replace(now);
        }
        self.times.asked.learn(&status.command_stats);
        let histograms = self.histograms(wire, answers.times).await?;
        self.add_times((histograms, before), answers.since_start, &mut status)?;
        let read = answers.slow_log.map(|reply| understood(reply, |reply| self.slow_log.read(reply)));
        let news = self.accepted(Question::SlowLog, read, &mut events)?;
        events.extend(news.unwrap_or_default());
        let server_s = info.number::<i64>("server_time_usec").map(|us| us / 1_000_000);
        let read = answers.latency.map(|reply| understood(reply, |reply| self.latency.read(reply, server_s)));
        if let Some((latency, news)) = self.accepted(Question::Latency, read, &mut events)? {
            status.latency_events = latency;
            events.extend(news);
        }
        if let Some(found) = self.accepted(Question::Config, answers.config, &mut events)? {
            self.config.take(found);
        }
        status.config = self.config.values().clone();
        Ok((at_ns, Polled { status, events }))
    }

    /// Returns the histograms in the reply, and whether they are those of all commands. A command that was called for
    /// the first time in this poll is requested now, so that the times of these calls are known too.
    async fn histograms(
        &mut self,
        wire: &Wire,
        reply: Option<(Vec<String>, Result<Datum, ServerError>)>,
    ) -> Result<(Histograms, bool), ServerError> {
        let (named, reply) = reply.map_or((Vec::new(), None), |(named, reply)| (named, Some(reply)));
        let read = |reply: Result<Datum, ServerError>| understood(reply, Histograms::read);
        let unreported = &mut Vec::new();
        let mut histograms = self.accepted(Question::Times, reply.map(read), unreported)?;
        let is_all = histograms.is_some() && named.is_empty();
        let names = self.times.asked.names().filter(|name| !named.iter().any(|named| named == name));
        let new: Vec<_> = ["LATENCY", "HISTOGRAM"].into_iter().chain(names).collect();
        if new.len() > 2 && !is_all && !self.refused.contains_key(&Question::Times) {
            let more = read(wire.data(&new).await);
            if let Some(more) = self.accepted(Question::Times, Some(more), unreported)? {
                histograms.get_or_insert_default().extend(more);
            }
        }
        Ok((histograms.unwrap_or_default(), is_all))
    }

    /// Adds the execution times of the commands; `before` is the number of calls of each command at the previous poll.
    /// A refusal is not reported, because the screen then shows other figures.
    fn add_times(
        &mut self,
        (histograms, before): ((Histograms, bool), Option<CommandCounters>),
        since_start: Option<Result<String, ServerError>>,
        status: &mut Status,
    ) -> Result<(), ServerError> {
        let calls = |name: &str| before.as_ref().and_then(|before| before.calls(name));
        self.times.known.take(histograms, calls, &mut status.command_stats);
        let unreported = &mut Vec::new();
        if let Some(text) = self.accepted(Question::SinceStart, since_start, unreported)? {
            self.times.since_start = command_times::since_start(&text);
        }
        if self.refused.contains_key(&Question::Times) {
            for (name, stat) in &mut status.command_stats {
                stat.since_start_us = self.times.since_start.get(name).cloned().unwrap_or_default();
            }
        }
        Ok(())
    }

    async fn ask(&mut self, wire: &Wire) -> Answers {
        let is_refused = self.refused.contains_key(&Question::Times);
        let is_time = is_refused && self.times.polls_without.is_multiple_of(SELDOM);
        self.times.polls_without += u32::from(is_refused);
        let refused = &mut self.refused;
        refused.values_mut().for_each(|refusal| refusal.polls = refusal.polls.saturating_sub(1));
        let is_due = |question| refused.get(&question).is_none_or(|refusal| refusal.polls == 0);
        let asks_for_all = self.times.known.asks_for_all();
        let named = self.times.asked.names().filter(|_| !asks_for_all).map(str::to_owned);
        let named: Vec<_> = named.collect();
        let histograms: Vec<_> =
            ["LATENCY", "HISTOGRAM"].into_iter().chain(named.iter().map(String::as_str)).collect();
        let asks_for_times = is_due(Question::Times) && (asks_for_all || !named.is_empty());
        let commands = only_if(is_due(Question::CommandStats), wire.text(&["INFO", "commandstats"]));
        let times = only_if(asks_for_times, wire.data(&histograms));
        let since_start =
            only_if(is_due(Question::SinceStart) && is_time, wire.text(&["INFO", "latencystats"]));
        let slow_log = only_if(is_due(Question::SlowLog), wire.slow_log(slow_log::ASKED));
        let latency = only_if(is_due(Question::Latency), wire.data(&["LATENCY", "LATEST"]));
        let config = only_if(is_due(Question::Config), self.config.ask(wire));
        // Histograms follow the counts directly, since both are shown together.
        let (info, commands, times, since_start, slow_log, latency, config) =
            tokio::join!(wire.info(), commands, times, since_start, slow_log, latency, config);
        let times = times.map(|reply| (named, reply));
        Answers { info, commands, times, since_start, slow_log, latency, config }
    }

    /// Returns the reply, or `None` if there is no reply or the request was refused. A refusal is reported, unless the
    /// same refusal was reported before.
    fn accepted<T>(
        &mut self,
        question: Question,
        answer: Option<Result<T, ServerError>>,
        events: &mut Vec<EventKind>,
    ) -> Result<Option<T>, ServerError> {
        match answer {
            None => Ok(None),
            Some(Ok(answer)) => {
                self.refused.remove(&question);
                Ok(Some(answer))
            }
            Some(Err(error)) if error.ends_connection() => Err(error),
            Some(Err(error)) => {
                let cause = error.to_string();
                let refusal = Refusal { polls: ASK_AGAIN, cause: cause.clone() };
                let before = self.refused.insert(question, refusal);
                if before.is_none_or(|before| before.cause != cause) {
                    events.push(EventKind::NotPermitted { cause });
                }
                Ok(None)
            }
        }
    }

    /// Discards earlier values after a restart of the server, because the counters of the new process begin at zero.
    fn notice_restart(&mut self, info: &Info) {
        let run_id = info.text("run_id").unwrap_or_default();
        if !self.run_id.is_empty() && self.run_id != run_id {
            self.commands = None;
            self.times = CommandTimes::default();
            self.slow_log.begin_again();
        }
        run_id.clone_into(&mut self.run_id);
    }
}

async fn only_if<T>(is_due: bool, question: impl Future<Output = T>) -> Option<T> {
    if is_due { Some(question.await) } else { None }
}

fn understood<T>(
    reply: Result<Datum, ServerError>,
    read: impl FnOnce(&Datum) -> Option<T>,
) -> Result<T, ServerError> {
    let command = "SLOWLOG or LATENCY".to_owned();
    reply.and_then(|reply| read(&reply).ok_or(ServerError::Unexpected { command }))
}
