//! redyno: a load generator and latency monitor for Redis, Valkey and memcached.
//!
//! The central idea of the code is that **a session is a stream of records**. A live measurement produces the stream,
//! and a file stores the stream. The screen, the printed lines and every export are computed from this stream.
//!
//! ```text
//!              orders: knobs, CONFIG, marks, stop
//!    session ◄─────────────────────────────────────────────┐
//!      │ knobs, after questions and refusals               │ keys, mouse, an experiment
//!      ▼                                                   │
//!   load workers ─┐                                        │
//!   probes ───────┼─► collector ─► records ─┬─► timeline ─► app ─► tui
//!   control plane ┘                         ├─► session file ─► replay: records again
//!                                           └─► sinks: printed lines, JSON lines
//! ```
//!
//! The modules are called *rooms*. The table lists the content of each room. The last column lists the things that the
//! code of a room must not use. *Pure* means that the code uses no I/O and no clock. The *knobs* are the load settings
//! that a user can change while the load runs. The *control plane* polls the server's own figures and changes its
//! parameters.
//!
//! | room | content | must not know |
//! |---|---|---|
//! | [`units`], [`clock`], [`signals`] | quantities with units as text; the monotonic clock; signals as messages | anything else |
//! | [`events`] | the kinds of events: their fields, their names and their text | who reports them |
//! | [`gauge`] | the table of all figures that are sampled from server and host | who reads them |
//! | [`untrusted`] | the escaping of text that comes from servers, files and certificates | who shows it |
//! | [`stats`] | latency distributions, percentiles | I/O |
//! | [`protocol`] | bytes: the protocols of the servers, request templates, the resumable parser that skips replies | sockets, time |
//! | [`workload`] | the requests: operations, keys, values, records of a file, and the program that they compile to; the setup before the load | sockets, time |
//! | [`knobs`] | the settings that can change during a session: names, steps, limits, text, presets | how the engine applies them |
//! | [`endpoint`] | how a server is reached: address, credentials, TLS, greeting, transport; the nodes of a cluster and the owners of its slots; whether a server is the expected one | load |
//! | [`host`] | CPU time and other figures of this machine, of the server's process, and of redyno's own threads | load, records |
//! | [`load`] | the load engine: plan, phases, workers, connections to one server or to each node of a cluster, pacing, errors | records, screens |
//! | [`probe`] | ping, wake, intrinsic: small measurements that run with the load | records, screens |
//! | [`server`] | the control plane: INFO, `stats`, CONFIG, slow log, latency events and histograms, safety checks, running and undoing setups, removing keys | load, screens |
//! | [`session`] | records, the collector, the timeline, the session file; the rules of a session, on their own thread: questions before writes, refusals, changes of settings, stops, undoing | screens |
//! | [`diagnose`] | findings over records, one rule per file: what is wrong or limits the result, the evidence, what to do; pure | screens, I/O |
//! | [`fleet`] | several machines that generate one load: the bus for their messages, what an agent permits, the joined records | screens, files |
//! | [`export`] | the figures of a session in the formats of other tools, one file per format; pure | screens, files |
//! | [`compare`] | whether B is better than A: the `Difference` of a figure and its text, for recordings, segments, settings and targets; whether two runs are comparable; thresholds; pure | screens, files |
//! | [`experiment`] | experiments, which change knobs automatically: two settings or targets in alternation, sweeps, scripts, curves over a knob; the tables and files of series; records in, orders out; pure except for these files | screens, I/O |
//! | [`report`] | a session for people: one page with charts and tables, or text for a ticket; pure | screens, files |
//! | [`print`](mod@print) | the output without a screen: lines and JSON lines during a session, and its summary at the end; writing to stdout and stderr | terminals |
//! | [`compat`] | the command lines and outputs of other tools: the modes of redis-cli, redis-benchmark and valkey-benchmark, memtier_benchmark | redyno's own options |
//! | [`app`] | the state of the screen: tracks (the data of one node each), messages, update, the tables of keys and of screens; pure | ratatui, I/O |
//! | [`tui`] | terminal, theme, layout, screens, widgets, and what is under the mouse; the only room that uses ratatui | statistics |
//! | [`demo`] | the built-in server and its faults | everything above it |
//! | [`runner`] | the execution of plans: sessions and their listeners, experiments, the exit code | arguments |
//! | [`cli`] | one file per command: arguments become a plan | |
//!
//! A room uses only rooms that are above it in the table.
//!
//! # Four examples, step by step
//!
//! A reply, from the socket to the screen:
//! 1. `Worker::attend` (load/worker): a socket is ready to read.
//! 2. `LoadConnection::readable` (load/connection): the connection splits the bytes into replies. Each reply
//!    belongs to the oldest operation without a reply.
//! 3. `Replies::settle` (load/segments): the worker counts the replies of one `read` in the buffer of their
//!    segment (the time between two changes of the settings).
//! 4. `WorkerSegments::close_tick`: every 250 ms, the worker passes the buffer to the collector through a
//!    ring buffer.
//! 5. `TargetRecords::take` (session): the collector merges all workers' buffers of the same 250 ms into one
//!    [`Interval`](session::Interval).
//! 6. [`Timeline::push`](session::timeline::Timeline::push): the timeline adds the interval to its sums,
//!    which the screens read. A [`Sink`](session::Sink) turns the interval into printed lines.
//!
//! A knob (a setting such as the number of clients), from the key press to the first request with the new
//! value:
//! 1. [`update`](app::update()): the screen turns a key press into an order with the new values.
//! 2. `LiveSession::set_knobs` (session/running): the session applies the limits of the knobs, and asks the
//!    user before the first write.
//! 3. `MeasuredTarget::settle` (session): several changes in quick succession become one change.
//! 4. [`Load::set`](load::Load::set): the engine builds the program (the compiled workload) and passes it to
//!    the workers, with the number of the new segment.
//! 5. `Worker::take_setting` (load/worker): the old segment ends, and the next batch belongs to the new segment.
//!
//! An event, from its cause to its text:
//! 1. `RedisPoller::poll` (server): a difference between two polls of INFO becomes an
//!    [`EventKind`](events::EventKind) with its fields. If the load or a probe reports a lost connection,
//!    `TargetRecords` (session) makes the `EventKind`.
//! 2. `TargetRecords::take`: the kind becomes an [`Event`](session::Event), with its time in the session.
//! 3. [`Timeline::push`](session::timeline::Timeline::push): the event gets its place on the time axis.
//! 4. `Display` of [`EventKind`](events::EventKind): the text, the same for screen, lines and file.
//!
//! A gauge (a figure of the server, such as `used_memory`), from the reply to INFO to a panel of the screen:
//! 1. [`Info::status`](server::Info::status): redyno parses the field of each row of [the table](gauge).
//! 2. `TargetRecords::take` (session): one sample of all gauges becomes a record.
//! 3. [`Timeline::push`](session::timeline::Timeline::push): the timeline keeps the last sample, and the highest sample
//!    of each period.
//! 4. [`Gauge::written`](gauge::Gauge::written): formats the value. Every output lists the gauges from the
//!    table.

pub use redyno_demo::demo;
pub use redyno_engine::{
    clock, endpoint, events, gauge, host, knobs, load, probe, protocol, signals, stats, units, untrusted,
    workload,
};
pub use redyno_output::{app, compat, print, report};
pub use redyno_session::{compare, diagnose, experiment, export, fleet, server, session};

pub mod cli;
pub mod runner;
pub mod tui;
