//! The one-shot modes with redis-cli's output: `--latency`, `--latency-history`, `--latency-dist` and
//! `--intrinsic-latency`, as Redis 8.10 prints them; `--stat`, `--bigkeys`, `--memkeys` and `--hotkeys`, as Redis 7.0 does;
//! `--keystats`, as Redis 8.0 does.
//!
//! redis-cli's mistakes are corrected:
//!
//! | redis-cli | here |
//! |---|---|
//! | an error reply is a sample | it is reported on stderr, and never a sample |
//! | the time of a reconnect is a sample | an outage is reported on stderr with its cause, since when, and its end |
//! | the next PING waits for a late answer | PINGs are sent on a schedule, so a stall is as many late samples |
//! | a run waits for the last reply before it ends | it ends on time; unanswered PINGs are in the figures with their wait so far, and are marked: `max: >1998.000` on a terminal, a line on stderr elsewhere |
//! | `--latency-history` as raw, CSV or JSON prints a line a sample | a line a window |
//! | no sample at all prints zeros | `-` in text, nothing in CSV, `null` in JSON; exit 1 with a diagnosis |
//! | the average of `--intrinsic-latency` is over the time planned | over the time really run, also after Ctrl-C |
//! | percentiles are cut at 3 s | they are not cut |
//! | keys are asked about as fast as the server answers | the server works for it for at most 2 % of the time, unless `-i` is given |
//! | options that have no meaning in a mode are ignored | they are refused |

mod dist;
mod keys;
mod keystats;
mod latency;
mod line;
mod pinging;
mod plan;
mod run;
mod stat;
mod trouble;

pub use self::plan::{Format, Mode, OneshotArgs, Percentile, Plan, PlanError};
pub use self::run::{Streams, run, run_on};
