//! `--help`, made of the table of options.

use super::options::{ABSENT, GROUPS, OWN};
use crate::compat::{
    help::{deviations, listed},
    options::Choice,
};

/// What is deliberately different from memtier_benchmark.
pub const DEVIATIONS: [&str; 9] = [
    "The latency of a request is the time from its own write to the last byte of its own reply, by a monotonic clock, in \
     three significant digits from 1 ns on. Theirs is by the wall clock, in steps of 8 us below 2 ms, with one stamp for all \
     requests that are written at once.",
    "A request that is answered with an error is no operation and has no latency: the first of each kind is told on standard \
     error, and all are counted there at the end. Theirs counts errors as operations.",
    "Each client draws keys of its own, as with --distinct-client-seed. Theirs all ask for the same keys.",
    "-n allkeys is every key: with P each exactly once over all clients, also where these do not divide the keys. Theirs \
     leaves the last one out, or begins anew.",
    "--rate-limiting spreads the requests of all connections evenly over time, whichever is free sends the next, and those \
     that are late are sent later. Theirs come in bursts of 20 ms, and a server that stalls is asked less.",
    "--data-size-list draws sizes by their weights, and an expiry of 0 seconds is not drawn.",
    "-R cuts each value from a pool of bytes by chance; theirs changes one byte a request.",
    "Misses are nulls, also for a --command; an empty value is a hit. On memcached a get of several keys hits if any is there.",
    "The first connection that fails ends the run with exit code 1, unless --reconnect-on-error is given.",
];

/// Width of the names of options in the help.
const NAMES: usize = 30;

/// The options that are there.
pub fn options() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, options)| *options).chain(&OWN)
}

/// The whole help.
pub(super) fn usage(program: &str) -> String {
    let mut text = format!("Usage: {program} [options]\nA stand-in for memtier_benchmark.\n");
    for (title, options) in &GROUPS {
        text += &format!("\n{title}:\n{}", listed(*options, NAMES, ""));
    }
    text += "\nNot there, and what redyno has in its stead:\n";
    text += &(listed(ABSENT, NAMES, "nothing") + &deviations(&DEVIATIONS));
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_every_option_and_no_line_is_too_long() {
        let text = usage("redyno memtier");
        for (_, options) in GROUPS {
            for Choice { written, .. } in options {
                assert!(text.contains(&format!("\n {written}")), "{written}");
            }
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
