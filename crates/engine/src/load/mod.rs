//! The load engine. Each worker of the engine is a thread with a poll loop, many connections, and buffers for
//! its counts.
//!
//! ```text
//!  Load ── knobs, by an atomic pointer swap ──► worker load-0 ── interval buffers, by a ring ──► collector
//!                                               worker load-1 ──► …       (and back, emptied)
//! ```
//! The same workers also send to a cluster. A worker divides each batch by node. The worker writes each part on the
//! client's *lane* (its connection) to the node:
//!
//! ```text
//!  client ── batch ──► parcels by owner of the slots ──► lanes to nodes ──► replies ──► all answered: the next batch
//!                          ▲                                                  │
//!                          └──── MOVED, ASK, TRYAGAIN, … : sent again ◄───────┘
//! ```

mod alarm;
mod answered;
mod arrived;
mod broken;
mod by_node;
mod client_counts;
mod clients;
mod connection;
mod core_waits;
mod engine;
mod errors;
mod expected_replies;
mod file_limit;
mod fleet;
mod gathered;
mod interval;
mod io;
mod losses;
mod open_segment;
mod pacing;
mod parcel;
mod phase;
mod plan;
mod poisson;
mod quota;
mod random_timers;
mod reads;
mod receive;
mod replies;
mod retries;
mod ring;
mod schedule;
mod segments;
mod sequence;
mod setting;
mod slot_counts;
mod spread;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod unsent;
mod watches;
mod worker;
mod worker_options;

pub use arrived::{OneReceiver, ReceivedCounts};
pub use by_node::{ByNode, NodeCounts};
pub(crate) use client_counts::ClientCounts;
pub use engine::{Load, LoadOutput, SettingChange};
pub use errors::{ErrorCounts, ErrorKind};
pub use file_limit::{MOST_THREADS, most_clients, most_connections, most_workers, usual_workers};
pub use fleet::{AgentPhase, AgentSetting, Agents, Fleet};
pub use interval::{IntervalBuffer, Openings, OperationCounts, StepRecorders};
pub use io::{IoChoice, IoMethod, ParseIoError};
pub use losses::{LoadEvent, LossReport};
#[doc(hidden)]
pub use pacing::PaceStage;
pub use plan::{CLIENT_NAME, ClusterPlan, FirstCommands, LatencyTo, LoadError, LoadPlan, Prefilling};
pub use quota::RequestLimit;
pub use retries::{FailedRequest, Retries};
pub use ring::RingEnd;
use ring::WorkerRing;
use setting::LoadSetting;
pub use worker_options::{Cores, ParseCoresError, WorkerOptions};
