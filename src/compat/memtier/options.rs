//! The list of memtier_benchmark's options, the list of deliberate differences, and `--help`, which shows
//! both lists.

use std::sync::LazyLock;

use crate::compat::options::OptionTable;

/// The options of memtier_benchmark, including the options that redyno does not have.
pub static OPTIONS: LazyLock<OptionTable> = LazyLock::new(|| OptionTable::read(include_str!("options.txt")));

/// The options that the help does not describe.
const OWN: [&str; 2] = ["--help", "-v"];

/// The width of the names of options in the help.
const NAMES: usize = 30;

/// Returns the whole help.
pub(super) fn usage(program: &str) -> String {
    let text = format!(
        "Usage: {program} [options]\nA stand-in for memtier_benchmark.\n{}\nExamples:\n  {program} -p 6379 --test-time 10\n  \
         {program} -P memcache_text -p 11211 --ratio 1:10 -n 10000\n",
        OPTIONS.help(NAMES, |option| !OWN.contains(&option.name()))
    );
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Returns the reply to `--version`. A script may find the imitated version there.
pub(super) fn version(program: &str) -> String {
    let own = env!("CARGO_PKG_VERSION");
    match program {
        "memtier_benchmark" => format!("memtier_benchmark v=255.255.255 sha=2f74d611:0 (redyno {own})\n"),
        program => format!("{program} {own}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_option_and_no_line_is_too_long() {
        let text = usage("redyno memtier");
        let shown = OPTIONS.all().filter(|option| option.is_supported() && !OWN.contains(&option.name()));
        shown.for_each(|option| assert!(text.contains(&format!("\n {}", option.written)), "{option:?}"));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
