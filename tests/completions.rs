//! What a shell completes: the script is read by bash itself, which asks the program.

use std::{fs, path::Path, process::Command, sync::LazyLock};

use tempfile::TempDir;

use crate::support::program::run;

static SCRIPT: LazyLock<String> = LazyLock::new(|| run(&["completions", "bash"]).expect_code(0).out);

/// What bash has where the last of these words is completed, with the config file below `home`.
fn completed_with(home: &Path, words: &[&str]) -> Vec<String> {
    let ask = r#"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
_clap_complete_redyno "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-euc", &format!("{}\n{ask}", *SCRIPT), "bash", "redyno"]).args(words);
    let program = Path::new(env!("CARGO_BIN_EXE_redyno")).parent().unwrap();
    let path = std::env::join_paths([program, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let output = bash.env("PATH", path).env("XDG_CONFIG_HOME", home).output().expect("bash is there");
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && shown.is_empty(), "{shown}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn completed(words: &[&str]) -> Vec<String> {
    completed_with(Path::new("/nonexistent"), words)
}

#[test]
fn bash_completes_commands_options_and_the_names_of_values() {
    assert_eq!(completed(&["exp"]), ["export"]);
    let mut pictures = completed(&["replay", "--scree"]);
    pictures.sort();
    assert_eq!(pictures, ["--screen", "--screenshot"]);
    assert_eq!(completed(&["export", "--format", "h"]), ["hlog", "hgrm"]);
    assert_eq!(completed(&["--workload", "ycsb-a"]), ["ycsb-a"]);
    assert_eq!(completed(&["ab", "--distribution", "zipf"]), ["zipfian", "zipfian-in-order"]);
    assert_eq!(completed(&["ab", "--to", "pip"]), ["pipeline"]);
    assert_eq!(completed(&["--sweep", "config io"]), ["config io-threads"]);
    assert_eq!(completed(&["series", "tair-th"]), ["tair-threads"]);
    assert_eq!(completed(&["help", "f"]), ["formats"]);
    assert_eq!(completed(&["man", "repl"]), ["replay"]);
    assert_eq!(completed(&["bench", "--dbn"]), ["--dbnum"]);
    assert_eq!(completed(&["bench", "-q", "-c", "5", "--thr"]), ["--threads"]);
    assert_eq!(completed(&["memtier", "--cluster-m"]), ["--cluster-mode"]);
    assert_eq!(completed(&["memtier", "--serv"]), ["--server"]);
    assert!(completed(&["--theme", ""]).contains(&"light".to_owned()));
}

#[test]
fn the_targets_of_the_config_file_are_completed_and_those_of_a_refused_one_are_not() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("redyno/config.toml");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "[targets.prod]\naddress = \"h\"\n[targets.stage]\naddress = \"h\"\n").unwrap();
    let found = |words: &[&str]| completed_with(home.path(), words);
    let all = [
        &["@"][..],
        &["clean", "@"],
        &["-u", "@"],
        &["versus", "@"],
        &["versus", "@prod", "@"],
        &["doctor", "@"],
        &["capture", "@"],
    ];
    for words in all {
        assert_eq!(found(words), ["@prod", "@stage"], "{words:?}");
    }
    assert_eq!(found(&["@st"]), ["@stage"]);
    assert_eq!(found(&["ab", "--target", "p"]), ["prod"]);
    fs::write(&file, "[targets.\"x\\u001b\"]\naddress = \"h\"\n").unwrap();
    assert_eq!(found(&["-u", "@"]), [""]);
}

#[test]
fn a_file_stands_beside_the_names_of_workloads() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("cache-of-mine.toml");
    fs::write(&file, "").unwrap();
    let begun = home.path().join("cache-of");
    assert_eq!(completed(&["--workload", begun.to_str().unwrap()]), [file.to_str().unwrap()]);
}
