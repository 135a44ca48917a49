//! redyno: a dynamometer for Redis, Valkey and memcached.
//!
//! One idea holds the house together: **a session is a stream of records**. Live measurement produces it, a
//! file holds it, and the screen, the headless output and every export are folds over it.
//!
//! ```text
//!              orders: knobs, CONFIG, marks, stop
//!    session ◄─────────────────────────────────────────────┐
//!      │ knobs, after gate and refusals                    │ keys, mouse, an experiment
//!      ▼                                                   │
//!   load workers ─┐                                        │
//!   probes ───────┼─► collector ─► records ─┬─► timeline ─► app ─► tui
//!   control plane ┘                         ├─► session file ─► replay: records again
//!                                           └─► sinks: printed lines, JSON lines
//! ```
//!
//! | room | what lives there | what it must not know |
//! |---|---|---|
//! | [`units`], [`clock`], [`signals`] | how quantities are written; the one monotonic clock; signals as messages | anything else |
//! | [`events`] | what can happen: each event with its fields, its name and its words | who reports it |
//! | [`gauge`] | the table of all figures that are sampled of server and host | who reads them |
//! | [`untrusted`] | the one gate for text that servers, files and certificates hold | who shows it |
//! | [`stats`] | distributions of latency, percentiles | I/O |
//! | [`protocol`] | bytes: the dialects, request templates, the resumable reply skipper | sockets, time |
//! | [`workload`] | what is asked: operations, keys, values, records of a file, and the program that they compile to; the setup before them | sockets, time |
//! | [`knobs`] | what a person can turn: names, steps, limits, words, named settings | how the engine obeys |
//! | [`endpoint`] | what we talk to: address, credentials, TLS; the greeting, the one transport; is it there and is it what it should be | load |
//! | [`host`] | this machine: what our own threads cost | load, records |
//! | [`load`] | the engine: plan, phases, workers, connections, pacing, errors | records, screens |
//! | [`probe`] | ping, wake, intrinsic: small measurements beside the load | records, screens |
//! | [`server`] | the control plane: INFO, `stats`, CONFIG, slow log, latency events and histograms, safety checks, the running and undoing of setups, the cleaning up of keys | load, screens |
//! | [`session`] | records, the collector, the timeline, the session file; on a thread of its own the session's business: asking before it writes, refusing, tuning, stopping, undoing | screens |
//! | [`diagnose`] | findings over records, a rule a file: what is wrong or limits the result, by which evidence, what to do; pure | screens, I/O |
//! | [`export`] | what leaves a session: its figures in the forms that other tools read, one file a format; pure | screens, files |
//! | [`compare`] | is B better: the one `Difference` of a figure with its words, of recordings, segments, settings and targets; may they be compared, which thresholds are crossed; pure | screens, files |
//! | [`experiment`] | what turns knobs by itself: records in, orders out; two settings or targets in alternation, a knob swept, a script played; curves over one knob; beside these the files and tables of series; pure but for those files | screens, I/O |
//! | [`report`] | what leaves a session for people: one page with charts and tables, or text for a ticket; pure | screens, files |
//! | [`print`](mod@print) | the screen's peer: lines and JSON lines as a session goes, its summary; the ways out to stdout and stderr | terminals |
//! | [`app`] | the screen's state: tracks, messages, update, the tables of keys and of screens; pure | ratatui, I/O |
//! | [`tui`] | terminal, theme, layout, screens, widgets, and what the mouse finds; the only place that knows ratatui | statistics |
//! | [`demo`] | the built-in server, with a script of faults | everything above it |
//! | [`runner`] | what carries plans out: sessions and who listens to them, experiments, the exit code | arguments |
//! | [`compat`] | the command lines and outputs of other tools: redis-cli's modes, redis-benchmark and valkey-benchmark, memtier_benchmark | redyno's own options |
//! | [`cli`] | one file per command: arguments become a plan | |
//!
//! Dependencies run one way, downwards in this table's order of rooms: a room uses those above it only.
//!
//! # Four ways through the house
//!
//! A reply, from the socket to the screen:
//! 1. `Worker::attend` (load/worker): a socket is ready.
//! 2. `Connection::readable` (load/connection): its bytes are cut into replies, each the answer to the oldest operation.
//! 3. `Replies::settle` (load/segments): all that one read brought are counted in the buffer of their segment.
//! 4. `Segments::close_tick`: four times a second the buffer goes through the ring to the collector.
//! 5. `TargetRecords::take` (session): the workers' buffers of a tick become one [`Interval`](session::Interval).
//! 6. [`Timeline::push`](session::timeline::Timeline::push): it is folded into what screens read, as a
//!    [`Sink`](session::Sink) folds it into lines.
//!
//! A knob, from the key to the first request that obeys it:
//! 1. [`update`](app::update()): a key becomes an order with the knobs that are wanted.
//! 2. `Running::set_knobs` (session/running): limits, and the gate where keys will be written.
//! 3. `Measured::settle` (session): turns that follow closely become one.
//! 4. [`Load::set`](load::Load::set): what workers run is made, then swapped in, with the number of the new segment.
//! 5. `Worker::take_setting` (load/worker): the segment is cut, and the next batch is of the new one.
//!
//! An event, from its cause to its words:
//! 1. `Poller::poll` (server): what two polls differ in is a [`EventKind`](events::EventKind), a kind with fields; load and
//!    probes report losses, which `TargetRecords` (session) turns into the same.
//! 2. `TargetRecords::take`: it becomes an [`Event`](session::Event), with the time of the session.
//! 3. [`Timeline::push`](session::timeline::Timeline::push): it has its place in time.
//! 4. `Display` of [`EventKind`](events::EventKind): the words, for screen, lines and file alike.
//!
//! A gauge, from the server's text to a panel:
//! 1. [`Info::status`](server::Info::status): one parser a row of [the table](gauge).
//! 2. `TargetRecords::take` (session): a sample of all becomes a record.
//! 3. [`Timeline::push`](session::timeline::Timeline::push): the last one is kept, and the highest of each stretch.
//! 4. [`Gauge::written`](gauge::Gauge::written): whoever shows it iterates the table.

pub use redyno_demo::demo;
pub use redyno_engine::{
    clock, endpoint, events, gauge, host, knobs, load, probe, protocol, signals, stats, units, untrusted,
    workload,
};
pub use redyno_session::{compare, diagnose, experiment, export, server, session};

pub mod app;
pub mod cli;
pub mod compat;
pub mod print;
pub(crate) mod report;
pub mod runner;
pub mod tui;
