//! The control plane is the part of redyno that polls a server's own figures (INFO) and sends single commands to the
//! server (CONFIG SET). Each node of a session has its own control plane. Each control plane is a task, and all tasks
//! share one thread with a tokio runtime. More nodes therefore need no more threads, and a hanging node does not delay
//! other nodes. The control plane uses the client library fred for Redis, and redyno's own client for memcached.
//!
//! ```text
//!            orders: survey, mark, set up, clean, tune, undo
//! Control ───────────────────────────────────────────────► watch ◄──► link (fred) ◄──► guard ◄──► server
//!    ▲                                                       │  every second: a poll
//!    └── answers, progress                                   └──► messages: Status, Event
//! ```
//! Without orders, the control plane only reads. redyno never shows the round trips of these requests as the
//! server's latency.

mod answer;
mod clean;
mod client_list;
mod clients;
mod command_stats;
mod command_times;
mod config;
mod control;
mod count;
mod dialogue;
mod episode;
mod error;
mod guard;
mod info;
mod keys;
mod latency_log;
mod ledger;
mod link;
mod made;
mod maker;
mod marked_keys;
mod marker;
mod memcached;
mod news;
mod notifications;
mod order;
mod other_commands;
mod pace;
mod parameter;
mod place;
mod plane;
mod poll;
mod question;
mod questions;
mod registry;
mod set_up;
mod slot_stats;
mod slow_log;
mod status;
mod stored_keys;
mod survey;
mod tune;
mod tuned;
mod watch;

pub use answer::Answer;
pub use clean::{Cleaning, CleaningProgress, CleaningResult, CountResult};
pub use client_list::{ClientGroup, ClientRow, ConnectedClients};
pub use clients::OtherClients;
pub use config::ConfigChange;
pub use control::Control;
pub use error::{OWN_PERMISSIONS, ServerError};
pub use info::{GaugeCounters, Info};
pub use keys::{
    DirectConnection, Estimate, HotUnit, KeyAmount, KeyExamination, KeyMethod, KeyReport, KeyState,
    MOST_COMMANDS_PER_S, PrefixEstimate,
};
pub use ledger::Ledger;
pub(crate) use link::CLIENT_NAME;
pub use made::SetupObject;
pub use marker::{InvalidField, Marker, Owner, clean_command, merged_by_run};
pub use notifications::with_letters;
pub use other_commands::foreign_keys_line;
pub use parameter::{PARAMETERS, Parameter, ParameterValues, value_words};
pub use place::{ClusterMember, Slots};
pub use question::{Obstacle, Writes};
pub(crate) use set_up::SetUp;
pub use status::{CommandStat, ControlMessage, LatencyEvent, ReplicaProgress, SlotUse, Status};
pub use survey::{Foreign, Survey, leftover_lines};
pub use tune::{Restored, TuneResult};
pub use tuned::{TunedParameter, plain as config_word};
