//! Options that are taken together with others as memtier_benchmark takes them, and have no effect there.

use super::asked::{Asked, Breakdown, Pattern};

/// A line for each of them.
pub(super) fn without_effect(asked: &Asked) -> Vec<String> {
    let has_commands = !asked.commands.is_empty();
    let of_commands = asked.commands.iter().map(|command| command.pattern);
    let patterns: Vec<_> =
        if has_commands { of_commands.collect() } else { asked.patterns().into_iter().collect() };
    let waits = asked.wait_ratio.is_some_and(|wait| wait.b > 0) && !has_commands;
    let idle = [
        ("--multi-key-get", asked.multi_key_get > 0 && has_commands, "with --command"),
        ("--expiry-range", asked.expiry_range.is_some() && has_commands, "with --command"),
        ("--wait-ratio", asked.wait_ratio.is_some() && has_commands, "with --command"),
        ("--num-slaves", asked.num_slaves.is_some() && !waits, "without WAITs"),
        ("--wait-timeout", asked.wait_timeout.is_some() && !waits, "without WAITs"),
        (
            "--key-zipf-exp",
            asked.key_zipf_exp.is_some() && !patterns.contains(&Pattern::Zipf),
            "without the pattern Z",
        ),
        ("--print-all-runs", asked.prints_all_runs && asked.run_count == 1, "without --run-count"),
        (
            "--command-stats-breakdown",
            asked.breakdown == Breakdown::Line && !has_commands,
            "without --command",
        ),
    ];
    let told = |(name, _, why): &(&str, bool, &str)| format!("warning: {name} has no effect {why}.");
    idle.iter().filter(|(_, is_idle, _)| *is_idle).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::memtier::parse::tests::asked;

    #[test]
    fn what_has_no_effect_beside_others_says_so() {
        let told = |line: &str| without_effect(&asked(line)).join(" ");
        assert_eq!(
            told("--command get --expiry-range 1-2"),
            "warning: --expiry-range has no effect with --command."
        );
        assert_eq!(
            told("--num-slaves 1-2 --key-zipf-exp 2"),
            "warning: --num-slaves has no effect without WAITs. warning: --key-zipf-exp has no effect without the pattern Z."
        );
        let all = "--wait-ratio 1:1 --num-slaves 1-2 --key-pattern R:Z --key-zipf-exp 2 --expiry-range 1-2 -x 2 --print-all-runs";
        assert_eq!(told(all), "");
        assert_eq!(
            told("--command get --command-key-pattern Z --key-zipf-exp 2 --command-stats-breakdown line"),
            ""
        );
    }
}
