//! What a shell completes: the script is read by bash itself.

use std::{process::Command, sync::LazyLock};

use crate::support::program::run;

static SCRIPT: LazyLock<String> = LazyLock::new(|| run(&["completions", "bash"]).expect_code(0).out);

/// What bash has where the last of these words is completed.
fn completed(words: &[&str]) -> Vec<String> {
    let ask = r#"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_redyno "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-euc", &format!("{}\n{ask}", *SCRIPT), "bash", "redyno"]).args(words);
    let output = bash.output().expect("bash is there");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.is_empty(), "{told}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_the_names_of_values() {
    assert_eq!(completed(&["exp"]), ["export"]);
    assert_eq!(completed(&["replay", "--scree"]), ["--screenshot", "--screen"]);
    assert_eq!(completed(&["export", "--format", "h"]), ["hlog", "hgrm"]);
    assert_eq!(completed(&["--workload", "ycsb-a"]), ["ycsb-a"]);
    assert_eq!(completed(&["ab", "--distribution", "zipf"]), ["zipfian", "zipfian-in-order"]);
    assert_eq!(completed(&["series", "tair-th"]), ["tair-threads"]);
    assert_eq!(completed(&["help", "f"]), ["formats"]);
    assert_eq!(completed(&["man", "repl"]), ["replay"]);
    assert!(completed(&["--theme", ""]).contains(&"light".to_owned()));
}
