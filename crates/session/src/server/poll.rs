//! One poll: what is asked, and what becomes of the answers.
//!
//! ```text
//!              ┌─ INFO ──────────────► Status, events        (refused: the whole poll is)
//!              ├─ INFO commandstats ─► Status
//!              ├─ LATENCY HISTOGRAM ─► Status       (first of all commands, then of the busiest, and at once of one that
//!              │                                    comes up; refused: INFO latencystats, now and then)
//! every second ┼─ SLOWLOG GET ───────► events
//!              ├─ LATENCY LATEST ────► Status, events
//!              └─ CONFIG GET ────────► Status
//! ```
//! They go out together. A refused question is reported once and asked again a minute later; the others go on.
//!
//! This is the seam of the control plane: all that [`watch`](super::watch) and what is behind it know of what a server is
//! asked is [`Polled`], gauges and events. What another dialect is asked (`stats`) stands beside this file, and gives the
//! same.

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

/// A refused question is asked again after so many polls.
const ASK_AGAIN: u32 = 60;
/// Percentiles since the server's start change slowly, and take it a while: they are asked for once in so many polls.
const SELDOM: u32 = 10;

/// A question beside INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    CommandStats,
    Times,
    SinceStart,
    SlowLog,
    Latency,
    Config,
}

/// What one poll found.
pub(super) struct Polled {
    pub(super) status: Status,
    pub(super) events: Vec<EventKind>,
}

/// What the polls so far found, for differences. It outlives connections.
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

/// How long commands took, by the polls so far.
#[derive(Default)]
struct CommandTimes {
    asked: AskedFor,
    known: Known,
    since_start: BTreeMap<String, BTreeMap<String, f64>>,
    /// Polls so far at which histograms were known to be refused.
    polls_without: u32,
}

/// A question that was refused.
struct Refusal {
    /// Polls to go until it is asked again.
    polls: u32,
    cause: String,
}

/// The answers of one poll; `None` where nothing was asked.
struct Answers {
    info: Result<String, ServerError>,
    commands: Option<Result<String, ServerError>>,
    /// With the commands that were asked for; with none all were.
    times: Option<(Vec<String>, Result<Datum, ServerError>)>,
    since_start: Option<Result<String, ServerError>>,
    slow_log: Option<Result<Datum, ServerError>>,
    latency: Option<Result<Datum, ServerError>>,
    config: Option<Result<BTreeMap<String, String>, ServerError>>,
}

impl Poller {
    /// Asks; `now_ns` is read when the answers are there.
    ///
    /// # Errors
    /// When the connection is lost, or INFO refused.
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

    /// The histograms in the reply, and whether they are those of all commands. A command that was called first after the
    /// question went out is asked about now, so that its first calls have their times too.
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

    /// Adds how long the commands took, which had been called as often as `before` says at the poll before. Where times
    /// are unknown, the screen shows something else.
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
        // Histograms next to the counts that they are shown beside.
        let (info, commands, times, since_start, slow_log, latency, config) =
            tokio::join!(wire.info(), commands, times, since_start, slow_log, latency, config);
        let times = times.map(|reply| (named, reply));
        Answers { info, commands, times, since_start, slow_log, latency, config }
    }

    /// An answer, if there is one and it is no refusal; a refusal is reported, unless it was before.
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

    /// Another process counts from nothing.
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
