//! One poll of a Redis server: sends INFO and similar requests, and evaluates the replies.
//!
//! ```text
//!              ┌─ INFO ──────────────► Status, events        (if refused, the whole poll fails)
//!              ├─ INFO commandstats errorstats ─► Status
//!              ├─ LATENCY HISTOGRAM ─► Status       (of the busiest commands; if it is refused:
//!              │                                    INFO latencystats, from time to time)
//! every second ┼─ SLOWLOG GET ───────► events       (on Valkey also COMMANDLOG GET)
//!              ├─ LATENCY LATEST ────► Status, events
//!              ├─ CONFIG GET ────────► Status, events
//! every 5 s    ├─ CLIENT LIST ───────► Status
//!              └─ CLUSTER NODES, ────► Status       (nodes of a cluster)
//!                 CLUSTER SLOT-STATS
//! ```
//! redyno sends all requests together. If the server refuses a request, redyno reports this once and sends
//! the request again a minute later. Requests that take much of the server's time are sent [less
//! often](super::pace).
//!
//! Only this module sends the requests of a poll and parses their replies. Other modules get [`Polled`],
//! gauges and events. The poll of memcached is a separate module with the same result types.

use std::collections::BTreeMap;

use super::{
    Info, ServerError, Status,
    client_list::ClientList,
    command_stats::{CommandCounters, errors, errors_since},
    command_times::{self, ASKED_AT_FIRST, Histograms, KnownHistograms, RequestedCommands},
    config::ConfigValues,
    info::GaugeCounters,
    latency_log::LatencyLog,
    link::Datum,
    link::RedisSender,
    news::InfoChanges,
    pace::{OwnCalls, Paces, subtract_key_scans},
    questions::{command_log, command_stats, has_command_log},
    slot_stats::SlotStats,
    slow_log::{self, CommandLog, SlowLog},
};
use crate::events::EventKind;

/// The number of polls after which a refused request is repeated.
const ASK_AGAIN: u32 = 60;
/// The number of polls between two requests for INFO latencystats. The percentiles in INFO latencystats change slowly,
/// because they cover all calls since the server's start. The request costs the server time.
const SELDOM: u32 = 10;

/// A request other than INFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PollRequest {
    CommandStats,
    Times,
    SinceStart,
    SlowLog,
    CommandLog,
    Latency,
    Config,
    Clients,
}

/// The results of one poll.
#[derive(Default)]
pub(super) struct Polled {
    pub(super) status: Status,
    pub(super) events: Vec<EventKind>,
    /// The length of the pause until the next poll, as a multiple of the usual pause.
    pub(super) pause: u32,
    /// The reason why the server refused INFO; the status then has no gauges. `None` if the server accepted INFO.
    pub(super) info_refused: Option<String>,
}

/// The values of earlier polls, for the calculation of differences. These values are kept when the connection is lost.
#[derive(Default)]
pub(super) struct RedisPoller {
    counters: Option<GaugeCounters>,
    run_id: String,
    commands: Option<CommandCounters>,
    times: CommandTimes,
    news: InfoChanges,
    own: OwnCalls,
    errors: Option<BTreeMap<String, u64>>,
    slow_log: SlowLog,
    /// Whether the server has COMMANDLOG, with logs of large requests and of large replies.
    has_command_log: bool,
    command_log: CommandLog,
    latency: LatencyLog,
    config: ConfigValues,
    clients: ClientList,
    slots: SlotStats,
    /// The size of the last reply to CLIENT LIST, in bytes.
    listed: usize,
    paces: Paces,
    /// Whether INFO accepts only one section at a time, as before Redis 7.
    sections_apart: bool,
    refused: BTreeMap<PollRequest, RefusedRequest>,
}

/// The execution times of commands, from the polls so far.
#[derive(Default)]
struct CommandTimes {
    asked: RequestedCommands,
    known: KnownHistograms,
    since_start: BTreeMap<String, BTreeMap<String, f64>>,
    /// The number of polls since histograms were refused.
    polls_without: u32,
}

/// A refused request.
struct RefusedRequest {
    /// The number of polls until the request is repeated.
    polls: u32,
    cause: String,
}

/// A reply of any form, or an error.
type DatumReply = Result<Datum, ServerError>;

/// A request for histograms.
struct HistogramRequest {
    /// The commands whose histograms were requested.
    named: Vec<String>,
    /// The reply; `None` if no commands were requested.
    reply: Option<DatumReply>,
}

/// The replies of one poll; `None` for a request that was not sent.
struct PollReplies {
    info: Result<String, ServerError>,
    /// The commands that redyno had sent before this request, and the reply.
    commands: Option<(BTreeMap<String, u64>, Result<String, ServerError>)>,
    times: Option<HistogramRequest>,
    since_start: Option<Result<String, ServerError>>,
    others: Others,
}

/// The replies of one poll to commands other than INFO.
struct Others {
    slow_log: Option<DatumReply>,
    command_log: Option<[DatumReply; 2]>,
    latency: Option<DatumReply>,
    config: Option<Result<BTreeMap<String, String>, ServerError>>,
    clients: Option<Result<String, ServerError>>,
}

impl RedisPoller {
    /// Discards earlier values, because the next poll goes to a server at another address.
    pub(super) fn change_server(&mut self) {
        let mut news = std::mem::take(&mut self.news);
        news.change_server();
        *self = Self { news, ..Self::default() };
    }

    /// Polls the server. `now_ns` returns the time, and is called when all replies have arrived.
    ///
    /// # Errors
    /// Fails if the connection is lost.
    pub(super) async fn poll(
        &mut self,
        wire: &RedisSender,
        now_ns: impl Fn() -> u64,
    ) -> Result<(u64, Polled), ServerError> {
        let answers = self.ask(wire).await;
        let at_ns = now_ns();
        let text = match answers.info {
            Err(refused) if !refused.ends_connection() => {
                let mut polled =
                    Polled { info_refused: Some(refused.to_string()), pause: 1, ..Polled::default() };
                self.read_others((at_ns, wire), answers.others, None, &mut polled)?;
                return Ok((at_ns, polled));
            }
            answer => answer?,
        };
        let info = Info::parse(&text);
        let (mut status, counters) = info.status(at_ns, self.counters.as_ref());
        self.counters = Some(counters);
        self.notice_restart(&info);
        self.has_command_log = has_command_log(&status);
        let mut events = self.news.read(at_ns, &info);
        let mut before = None;
        let (mut own, commands) =
            answers.commands.map_or((BTreeMap::new(), None), |(own, text)| (own, Some(text)));
        subtract_key_scans(&own, &mut status);
        if self.commands.is_none() {
            // The statistics that the next poll is compared with contain these calls.
            own.clear();
        }
        for (name, calls) in wire.sent.take_side() {
            *own.entry(name).or_default() += calls;
        }
        if let Some(text) = self.accepted(PollRequest::CommandStats, commands, &mut events)? {
            let now = CommandCounters::parse(&text);
            let added = self.commands.as_ref().and_then(|before| now.since(before));
            status.command_stats = added.unwrap_or_default();
            status.own = self.own.find(own, &status.command_stats);
            let errors = errors(&text);
            status.errors =
                self.errors.as_ref().map_or_else(BTreeMap::new, |then| errors_since(&errors, then));
            self.errors = Some(errors);
            before = self.commands.replace(now);
        }
        self.paces.learn(&status, self.listed);
        self.times.asked.learn(&status.command_stats, &status.own);
        let histograms = self.histograms(wire, answers.times).await?;
        self.add_times((histograms, before), answers.since_start, &mut status)?;
        let server_s = info.number::<i64>("server_time_usec").map(|us| us / 1_000_000);
        let mut polled = Polled { status, events, pause: self.paces.pause(), info_refused: None };
        self.read_others((at_ns, wire), answers.others, server_s, &mut polled)?;
        self.slots.ask(wire, at_ns, &mut polled.status).await?;
        Ok((at_ns, polled))
    }

    /// Adds the replies to commands other than INFO to `polled`. `at_ns` is the time when the replies arrived, and
    /// `server_s` is the server's clock in seconds.
    fn read_others(
        &mut self,
        (at_ns, wire): (u64, &RedisSender),
        others: Others,
        server_s: Option<i64>,
        polled: &mut Polled,
    ) -> Result<(), ServerError> {
        let Polled { status, events, .. } = polled;
        let read = others.slow_log.map(|reply| understood(reply, |reply| self.slow_log.read(reply)));
        let news = self.accepted(PollRequest::SlowLog, read, events)?;
        events.extend(news.unwrap_or_default());
        for (n, reply) in others.command_log.into_iter().flatten().enumerate() {
            let read = understood(reply, |reply| self.command_log.0[n].read(reply));
            let news = self.accepted(PollRequest::CommandLog, Some(read), events)?;
            events.extend(news.unwrap_or_default());
        }
        let read = others.latency.map(|reply| understood(reply, |reply| self.latency.read(reply, server_s)));
        if let Some((latency, news)) = self.accepted(PollRequest::Latency, read, events)? {
            status.latency_events = latency;
            events.extend(news);
        }
        if let Some(found) = self.accepted(PollRequest::Config, others.config, events)? {
            events.extend(self.config.take(found, &wire.sent));
        }
        status.config = self.config.values();
        if let Some(list) = self.accepted(PollRequest::Clients, others.clients, events)? {
            self.listed = list.len();
            status.clients = Some(self.clients.read(at_ns, &list));
        }
        Ok(())
    }

    /// Returns the histograms in the reply. Returns `None` in polls without histograms. If a command has become one of
    /// the busiest since the request, its histogram is requested now, so that the times of its calls are known too. In
    /// the first poll, this function requests the busiest commands.
    async fn histograms(
        &mut self,
        wire: &RedisSender,
        asked: Option<HistogramRequest>,
    ) -> Result<Option<Histograms>, ServerError> {
        let Some(HistogramRequest { named, reply }) = asked else { return Ok(None) };
        let read = |reply: DatumReply| understood(reply, Histograms::read);
        let unreported = &mut Vec::new();
        let mut histograms = self.accepted(PollRequest::Times, reply.map(read), unreported)?;
        let mut words = vec!["LATENCY", "HISTOGRAM"];
        if let Some(commands) = self.commands.as_ref().filter(|_| self.times.known.is_new()) {
            words.extend(commands.busiest(ASKED_AT_FIRST));
        }
        words.extend(self.times.asked.names().filter(|name| !named.iter().any(|named| named == name)));
        if words.len() > 2 && !self.refused.contains_key(&PollRequest::Times) {
            let more = read(wire.data(&words).await);
            if let Some(more) = self.accepted(PollRequest::Times, Some(more), unreported)? {
                histograms.get_or_insert_default().extend(more);
            }
        }
        Ok(histograms)
    }

    /// Adds the execution times of the commands. `before` is the number of calls of each command at the previous poll.
    /// A refusal is not reported as an event, because the screen then shows other figures instead.
    fn add_times(
        &mut self,
        (histograms, before): (Option<Histograms>, Option<CommandCounters>),
        since_start: Option<Result<String, ServerError>>,
        status: &mut Status,
    ) -> Result<(), ServerError> {
        let calls = |name: &str| before.as_ref().and_then(|before| before.calls(name));
        if let Some(histograms) = histograms {
            self.times.known.take(histograms, calls, &mut status.command_stats);
        }
        let unreported = &mut Vec::new();
        if let Some(text) = self.accepted(PollRequest::SinceStart, since_start, unreported)? {
            self.times.since_start = command_times::since_start(&text);
        }
        if self.refused.contains_key(&PollRequest::Times) {
            for (name, stat) in &mut status.command_stats {
                stat.since_start_us = self.times.since_start.get(name).cloned().unwrap_or_default();
            }
        }
        Ok(())
    }

    async fn ask(&mut self, wire: &RedisSender) -> PollReplies {
        let is_refused = self.refused.contains_key(&PollRequest::Times);
        let is_time = is_refused && self.times.polls_without.is_multiple_of(SELDOM);
        self.times.polls_without += u32::from(is_refused);
        let refused = &mut self.refused;
        refused.values_mut().for_each(|refusal| refusal.polls = refusal.polls.saturating_sub(1));
        let is_due = |question| refused.get(&question).is_none_or(|refusal| refusal.polls == 0);
        let (clients_are_due, times_are_due) = self.paces.due();
        let named: Vec<_> = self.times.asked.names().map(str::to_owned).collect();
        let histograms: Vec<_> =
            ["LATENCY", "HISTOGRAM"].into_iter().chain(named.iter().map(String::as_str)).collect();
        let asks_for_times = times_are_due && is_due(PollRequest::Times);
        let asks_large = self.has_command_log && is_due(PollRequest::CommandLog);
        let commands = command_stats(wire, &mut self.sections_apart);
        let commands = only_if(is_due(PollRequest::CommandStats), commands);
        let times = only_if(asks_for_times && !named.is_empty(), wire.data(&histograms));
        let since_start =
            only_if(is_due(PollRequest::SinceStart) && is_time, wire.text(&["INFO", "latencystats"]));
        let slow_log = wire.data(&["SLOWLOG", "GET", slow_log::ASKED]);
        let slow_log = only_if(is_due(PollRequest::SlowLog), slow_log);
        let command_log = only_if(asks_large, command_log(wire));
        let latency = only_if(is_due(PollRequest::Latency), wire.data(&["LATENCY", "LATEST"]));
        let config = only_if(is_due(PollRequest::Config), self.config.ask(wire));
        let clients =
            only_if(is_due(PollRequest::Clients) && clients_are_due, wire.text(&["CLIENT", "LIST"]));
        // Histograms are requested directly after the counts, because both are shown together.
        let (info, commands, times, since_start, slow_log, command_log, latency, config, clients) = tokio::join!(
            wire.text(&["INFO"]),
            commands,
            times,
            since_start,
            slow_log,
            command_log,
            latency,
            config,
            clients
        );
        let times = asks_for_times.then_some(HistogramRequest { named, reply: times });
        let others = Others { slow_log, command_log, latency, config, clients };
        PollReplies { info, commands, times, since_start, others }
    }

    /// Returns the reply, or `None` if there is no reply or the request was refused. A refusal is reported, unless the
    /// same refusal was reported before.
    fn accepted<T>(
        &mut self,
        question: PollRequest,
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
                let refusal = RefusedRequest { polls: ASK_AGAIN, cause: cause.clone() };
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
            (self.commands, self.errors) = (None, None);
            self.times = CommandTimes::default();
            (self.clients, self.slots) = (ClientList::default(), SlotStats::default());
            self.slow_log.begin_again();
            self.command_log.0.iter_mut().for_each(SlowLog::begin_again);
        }
        run_id.clone_into(&mut self.run_id);
    }
}

async fn only_if<T>(is_due: bool, question: impl Future<Output = T>) -> Option<T> {
    if is_due { Some(question.await) } else { None }
}

fn understood<T>(reply: DatumReply, read: impl FnOnce(&Datum) -> Option<T>) -> Result<T, ServerError> {
    let command = "SLOWLOG, COMMANDLOG or LATENCY".to_owned();
    reply.and_then(|reply| read(&reply).ok_or(ServerError::Unexpected { command }))
}
