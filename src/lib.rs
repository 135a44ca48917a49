//! redyno: a dynamometer for Redis and Valkey.
//!
//! One idea holds the house together: **a session is a stream of records**. Live measurement produces it, a
//! file holds it, and the screen, the headless output and every export are folds over it.
//!
//! ```text
//!    knobs ◄───────────────────────────────────────────────┐
//!      │                                                   │ keys, mouse
//!      ▼                                                   │
//!   load workers ─┐                                        │
//!   probes ───────┼─► collector ─► records ─┬─► timeline ─► app ─► tui
//!   server poller ┘                         ├─► session file ─► replay: records again
//!                                           └─► headless lines
//! ```
//!
//! | room | what lives there | what it must not know |
//! |---|---|---|
//! | [`units`], [`clock`], [`signals`] | how quantities are written; the one monotonic clock; signals as messages | anything else |
//! | [`happening`] | what can happen: each event with its fields, its name and its words | who tells it |
//! | [`gauge`] | the table of all figures that are sampled of server and host | who reads them |
//! | [`foreign`] | the one gate for text that servers, files and certificates hold | who shows it |
//! | [`stats`] | distributions of latency, percentiles | I/O |
//! | [`protocol`] | bytes: the dialects, request templates, the resumable reply skipper | sockets, time |
//! | [`workload`] | what is asked: operations, keys, values, and the program that they compile to | sockets, time |
//! | [`target`] | what we talk to: address, credentials, TLS; the greeting, the one transport; is it there and is it a Redis | load |
//! | [`host`] | this machine: what our own threads cost | load, records |
//! | [`load`] | the engine: knobs, plan, phases, workers, connections, pacing, errors | records, screens |
//! | [`probe`] | ping, wake, intrinsic: small measurements beside the load | records, screens |
//! | [`server`] | the control plane: INFO, CONFIG, slow log, latency events, safety checks, the cleaning up of keys | load, screens |
//! | [`session`] | records, the collector, the timeline, the session file; on a thread of its own the session's business: asking before it writes, refusing, tuning, stopping, undoing | screens |
//! | [`diagnose`] | verdicts over records: what limits the result; pure | screens, I/O |
//! | [`app`] | the screen's state: tracks, messages, update, the tables of keys and of screens; pure | ratatui, I/O |
//! | [`tui`] | terminal, theme, layout, screens, widgets, and what the mouse finds; the only place that knows ratatui | statistics |
//! | [`demo`] | the built-in server, with a script of faults | everything above it |
//! | [`cli`] | one file per command: arguments become a plan; printed lines, which listen to a session as a screen does | |
//!
//! Dependencies run one way, downwards in this table's order of rooms: a room uses those above it only.

pub mod app;
pub mod cli;
pub mod clock;
pub mod demo;
pub mod diagnose;
pub mod foreign;
pub mod gauge;
pub mod happening;
pub mod host;
pub mod load;
pub mod probe;
pub mod protocol;
pub mod server;
pub mod session;
pub mod signals;
pub mod stats;
pub mod target;
pub mod tui;
pub mod units;
pub mod workload;
