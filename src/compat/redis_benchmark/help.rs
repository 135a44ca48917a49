//! `--help`, made of the table of options.

use super::{Flavour, options::OPTIONS};
use crate::compat::{
    help::{deviations, listed},
    options::Choice,
};

/// What is deliberately different from redis-benchmark and valkey-benchmark.
pub const DEVIATIONS: [&str; 8] = [
    "The latency of a request is the time from its write to the last byte of its own reply. Theirs is one time a batch, to \
     the first byte of the first reply, recorded for each request of the batch; --compat first-byte measures that.",
    "Latencies have three significant digits from 1 ns on by a monotonic clock, and none is cut at 3 s. Theirs come in steps \
     of 8 us, whose first digits --precision counts; here it changes nothing.",
    "Exactly -n requests are sent and counted, also with -P. Theirs sends up to one batch more.",
    "A sequence of commands has one latency, from its write to the last byte of its last reply, and is sent whole: -n and \
     --rps are rounded up to whole sequences.",
    "With --dataset all fields of a sequence are of one record. Theirs takes a record for each command of it.",
    "Numbers do not overflow at 2^31; -n 0 ends at once. --duration and --warmup may have a fraction, and --duration ends the \
     wait for a server that says nothing, too.",
    "--rps counts every request, also of a sequence. Requests come due evenly and not in bursts of a millisecond, and -P is \
     the most that are sent at once.",
    "With --threads each thread counts for itself, and a run ends with its last reply, not with the next quarter second.",
];

/// Width of the names of options in the help.
const NAMES: usize = 20;

/// The options in the order of the help.
pub fn options(flavour: Flavour) -> impl Iterator<Item = &'static Choice> {
    OPTIONS.iter().filter(move |option| flavour.takes(option.of))
}

/// The whole help.
pub(super) fn usage(flavour: Flavour) -> String {
    let program = flavour.program();
    let end = if flavour == Flavour::Redis { "" } else { " [--]" };
    let text = format!("Usage: {program} [OPTIONS]{end} [COMMAND ARGS...]\n\nOptions:\n");
    text + &listed(options(flavour), NAMES, "") + &deviations(&DEVIATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_every_option_and_no_line_is_too_long() {
        let text = usage(Flavour::Redyno);
        for option in OPTIONS {
            assert!(text.contains(&format!("\n {}", option.name())), "{}", option.written);
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(!usage(Flavour::Redis).contains("--num-functions"));
    }
}
