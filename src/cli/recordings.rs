//! The directory of recordings, and `redyno sessions`, which lists the recordings.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use time::format_description::well_known::Rfc3339;

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    runner::{Failure, text_plan},
    session::{RecordingSummary, SessionStart},
    units, untrusted,
};

/// Returns the directory for recordings without a path from the user. The directory is `redyno` in the state directory
/// of the XDG Base Directory Specification. If the state directory is unknown, returns the working directory.
pub(super) fn directory() -> PathBuf {
    own_directory("XDG_STATE_HOME", ".local/state").unwrap_or_else(|| ".".into())
}

/// Returns redyno's own directory, called `redyno`. The environment variable `variable` names the directory above.
/// Without this variable, `usual` is the directory above, as a path below the home directory.
pub(super) fn own_directory(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(usual)))?;
    Some(base.join("redyno"))
}

const AFTER: &str = "\
Examples:
  redyno sessions
  redyno sessions ./nightly --json";

/// The arguments of `redyno sessions`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct SessionsArgs {
    /// List the recordings in this directory [default: the directory that --record and the key r use]
    #[arg(value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub json: bool,
}

/// A recording in the list.
#[derive(Serialize)]
struct RecordingRow {
    file: String,
    started: String,
    length_s: f64,
    target: String,
    server: String,
    peak_ops_per_s: Option<f64>,
    /// Whether the recording has no end record. Such a recording is still being written, or was interrupted.
    open: bool,
    bytes: u64,
}

impl Arguments for SessionsArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        Ok(Box::new(move || text_plan(self.list()?).run()))
    }
}

impl SessionsArgs {
    /// Returns the list of recordings, the latest last.
    fn list(self) -> Result<String, Failure> {
        let is_given = self.directory.is_some();
        let directory = self.directory.unwrap_or_else(directory);
        let (rows, others) = rows(&directory, is_given)?;
        let line = |row| untrusted::json(&serde_json::to_string(row).unwrap_or_default()) + "\n";
        Ok(if self.json { rows.iter().map(line).collect() } else { table(&rows, others, &directory) })
    }
}

/// Returns the recordings of a directory, sorted by start, and the number of unreadable files with the name of a
/// recording. A directory that the user has not given need not exist.
fn rows(directory: &Path, is_given: bool) -> Result<(Vec<RecordingRow>, usize), Failure> {
    let unreadable = || format!("cannot read {}", directory.display());
    let entries = match fs::read_dir(directory) {
        // The first recording creates the directory.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_given => return Ok((Vec::new(), 0)),
        entries => entries.with_context(unreadable)?,
    };
    let (mut rows, mut others) = (Vec::new(), 0);
    for entry in entries {
        let path = entry.with_context(unreadable)?.path();
        if has_recording_name(&path) {
            match RecordingSummary::at(&path) {
                Ok(glance) => rows.push(RecordingRow::of(&path, glance)),
                Err(_) => others += 1,
            }
        }
    }
    rows.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.file.cmp(&b.file)));
    Ok((rows, others))
}

/// Returns whether a file has the name of a recording, compressed or not.
fn has_recording_name(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
}

/// Returns the start of the session in a file, in RFC 3339. For a later file of a session, returns the time at which
/// the file begins.
fn start_text(session: &SessionStart) -> String {
    let began = session.started_at();
    let later = began.and_then(|began| began.checked_add(time::Duration::seconds_f64(session.from_s)));
    later
        .and_then(|at| at.replace_nanosecond(0).ok()?.format(&Rfc3339).ok())
        .unwrap_or_else(|| session.started.clone())
}

impl RecordingRow {
    fn of(path: &Path, RecordingSummary { session, end, has_end }: RecordingSummary) -> Self {
        Self {
            file: path.display().to_string(),
            started: start_text(&session),
            length_s: (end.t_s - session.from_s).max(0.0),
            target: session.target.address,
            server: session.target.server,
            peak_ops_per_s: end.peak_ops_per_s,
            open: !has_end,
            bytes: fs::metadata(path).map_or(0, |file| file.len()),
        }
    }
}

fn table(rows: &[RecordingRow], others: usize, directory: &Path) -> String {
    let place = untrusted::text(&directory.display().to_string());
    let mut text = match rows.len() {
        0 => format!("no recordings in {place}; --record or the key r makes one\n"),
        _ => format!("{place}\n"),
    };
    let heading = ["began", "length", "best ops/s", "size", "target", "server", "file"];
    let mut cells = vec![heading.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let length = units::elapsed(Duration::from_secs_f64(row.length_s).as_nanos() as u64);
        let file = Path::new(&row.file).file_name().unwrap_or_default().to_string_lossy();
        let open = if row.open { "  (no end)" } else { "" };
        vec![
            row.started.clone(),
            length,
            row.peak_ops_per_s.map_or_else(|| "-".to_owned(), units::count),
            units::bytes(row.bytes),
            row.target.clone(),
            row.server.clone(),
            untrusted::text(&file) + open,
        ]
    }));
    if !rows.is_empty() {
        text += &units::aligned(&cells, |n| (1..=3).contains(&n));
    }
    if others > 0 {
        let are = if others == 1 { "is no recording, is" } else { "are no recordings, are" };
        text += &format!(
            "{} {are} from another version of redyno, or cannot be read\n",
            units::count_with_noun(others as u64, "further file")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_table_are_aligned() {
        let row = |file: &str, ops, open| RecordingRow {
            file: format!("/s/{file}"),
            started: "2026-11-22T10:00:00Z".to_owned(),
            length_s: 75.0,
            target: "127.0.0.1:6379".to_owned(),
            server: "redis 7.0.15".to_owned(),
            peak_ops_per_s: ops,
            open,
            bytes: 2048,
        };
        let listed =
            table(&[row("a.jsonl", Some(121_300.0), false), row("b.jsonl", None, true)], 1, Path::new("/s"));
        let lines: Vec<_> = listed.lines().collect();
        assert_eq!(
            lines,
            [
                "/s",
                "began                   length  best ops/s      size  target          server        file",
                "2026-11-22T10:00:00Z  00:01:15       121 k  2.00 KiB  127.0.0.1:6379  redis 7.0.15  a.jsonl",
                "2026-11-22T10:00:00Z  00:01:15           -  2.00 KiB  127.0.0.1:6379  redis 7.0.15  b.jsonl  (no end)",
                "1 further file is no recording, is from another version of redyno, or cannot be read",
            ]
        );
        assert_eq!(table(&[], 0, Path::new("/s")), "no recordings in /s; --record or the key r makes one\n");
    }
}
