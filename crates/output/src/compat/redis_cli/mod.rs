//! The one-shot modes with redis-cli's output. `--latency`, `--latency-history`, `--latency-dist` and
//! `--intrinsic-latency` print as Redis 8.10 does. `--stat`, `--bigkeys`, `--memkeys` and `--hotkeys` print as Redis
//! 7.0 does. `--keystats` prints as Redis 8.0 does.
//!
//! redyno corrects mistakes of redis-cli:
//!
//! | redis-cli | here |
//! |---|---|
//! | an error reply is a sample | an error reply is reported on stderr, and is not a sample |
//! | the time of a reconnect is a sample | an outage is reported on stderr with its cause, its start and its end |
//! | the next PING waits for a late reply | PINGs are sent on a schedule, so a long stall delays many samples |
//! | a run waits for the last reply before it ends | a run ends on time; the figures include unanswered PINGs with their waiting time so far, and mark them: `max: >1998.000` on a terminal, otherwise a line on stderr |
//! | `--latency-history` as raw, CSV or JSON prints a line per sample | this mode prints a line per window |
//! | no sample at all prints zeros | `-` in text, nothing in CSV, `null` in JSON; exit 1 with a diagnosis |
//! | the average of `--intrinsic-latency` is over the planned time | the average is over the time for which the mode really ran, also after Ctrl-C |
//! | percentiles are limited to 3 s | percentiles have no limit |
//! | keys are queried as fast as the server replies | the walk over keys keeps the server busy for at most 2 % of the time, unless `-i` is given |
//! | options without effect in a mode are ignored | such options are refused |

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

pub use self::plan::{FigureFormat, OneshotArgs, OneshotMode, OneshotPlan, RequestedPercentile};
pub use self::run::{Streams, run, run_on};
