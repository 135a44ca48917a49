//! The output files of `redyno memtier`, in addition to the table and the JSON. The files contain results by client
//! (`--client-stats`), or distributions of latencies (`--hdr-file-prefix`).

use std::{fs, path::PathBuf};

use super::{layout::MemtierReport, requests::DEFAULT_ROWS};
use crate::{
    export::memtier::{Results, STEPS, ms},
    session::OperationInterval,
    stats::{
        Latency, percentile_table,
        walks::{IterationPoint, percentile_steps},
    },
    untrusted,
};

/// The path of an output file, its content, and a line for standard error about the file. The line may be empty.
pub(super) type OutputFile = (PathBuf, String, String);

/// Returns the name of the file with the results of a client.
pub(super) fn client_file(prefix: &str, run: u32, (thread, client): (usize, usize)) -> PathBuf {
    format!("{prefix}-{run}-{thread}-{client}.csv").into()
}

/// Returns the results of a client as CSV: the figures of each second, and the latency distribution of each row.
pub(super) fn client_csv(rows: &[String], results: &Results, is_arbitrary: bool) -> String {
    let mut text =
        format!("Per-Second Benchmark {}Data\nSecond", if is_arbitrary { "Arbitrary Commands " } else { "" });
    for name in rows {
        let columns = columns(name, is_arbitrary);
        text += &columns.iter().map(|column| format!(",{name} {column}")).collect::<String>();
    }
    let none = OperationInterval::default();
    for second in results.seconds() {
        text += &format!("\n{second}");
        for (name, row) in rows.iter().zip(&results.rows) {
            let part = row.seconds.get(&second).unwrap_or(&none);
            let value = |column: &&str| value(column, part);
            text += &columns(name, is_arbitrary)
                .iter()
                .map(value)
                .map(|value| format!(",{value}"))
                .collect::<String>();
        }
    }
    text.push('\n');
    // memtier_benchmark writes the distribution of GET first.
    let mut all: Vec<_> = rows.iter().zip(&results.rows).collect();
    if !is_arbitrary {
        all.swap(0, 1);
    }
    for (name, row) in all {
        text += &format!("\nFull-Test {name} Latency\nLatency (<= msec),Percent\n");
        let line = |level: &IterationPoint| format!("{:8.3},{:.3}\n", ms(level.value_ns), level.percent);
        text += &percentile_steps(&row.all.service, STEPS).iter().map(line).collect::<String>();
    }
    text
}

fn columns(name: &str, is_arbitrary: bool) -> &'static [&'static str] {
    let all =
        &["Requests", "Average Latency", "Total Bytes", "Total Bytes TX", "Total Bytes RX", "Misses", "Hits"];
    match DEFAULT_ROWS.iter().position(|usual| *usual == name).filter(|_| !is_arbitrary) {
        Some(1) => all,
        Some(2) => &all[..2],
        _ => &all[..5],
    }
}

fn value(column: &str, part: &OperationInterval) -> String {
    match column {
        "Requests" => part.ops.to_string(),
        "Average Latency" => format!("{:.6}", part.service.mean_ns() / 1e9),
        "Total Bytes" => (part.bytes_in + part.bytes_out).to_string(),
        "Total Bytes TX" => part.bytes_out.to_string(),
        "Total Bytes RX" => part.bytes_in.to_string(),
        "Misses" => part.misses.to_string(),
        _ => part.hits.to_string(),
    }
}

/// Returns the files with latency distributions. There is one distribution for all requests of a run, and one for each
/// row. Each distribution is in two files: HdrHistogram's percentile text, and HdrHistogram's log.
pub(super) fn distributions(prefix: &str, run: u32, report: &MemtierReport) -> Vec<OutputFile> {
    let results = report.results;
    let mut rows: Vec<_> = report.requests.rows.iter().zip(&results.rows).collect();
    if !report.is_arbitrary() {
        // memtier_benchmark writes the GETs before the SETs.
        rows.swap(0, 1);
    }
    let rows = rows
        .into_iter()
        .map(|(name, row)| (format!("{name}_command_run"), format!("{name} command"), &row.all.service));
    let all = ("FULL_RUN".to_owned(), "Full Run command".to_owned(), &results.totals.all.service);
    let files = [all].into_iter().chain(rows).filter(|(.., latency)| !latency.is_empty());
    let of_each = |(name, title, latency): (String, String, &Latency)| {
        let file = |extension, form, text| {
            let path = PathBuf::from(format!("{prefix}_{name}_{run}.{extension}"));
            let to = untrusted::path(&path);
            (path, text, format!("Writing {title} HDR latency histogram results {form}to {to}...\n"))
        };
        // The C library of HdrHistogram writes the last row with all columns.
        let table = percentile_table(latency).replacen("\n#[", "            inf\n#[", 1);
        let log = log(&title, results, latency);
        [file("txt", "", table), file("hgrm", "in HistogramLogProcessor format ", log)]
    };
    files.flat_map(of_each).collect()
}

/// Returns a distribution as HdrHistogram's log with a single line, in microseconds.
fn log(title: &str, results: &Results, latency: &Latency) -> String {
    let started_s = results.started_ms as f64 / 1e3;
    format!(
        "#[{title} HDR latency histogram results]\n#[Histogram log format version 1.2]\n#[StartTime: {started_s:.3} \
         (seconds since epoch)]\n\"StartTimestamp\",\"EndTimestamp\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         {started_s:.3},{:.3},{:.1},{}\n",
        started_s + results.length_s,
        latency.max_ns() as f64 / 1e3,
        latency.hdr_text_us()
    )
}

/// Writes the files.
///
/// # Errors
/// Returns a message with the name of the first file that cannot be written.
pub(super) fn write(files: &[OutputFile]) -> Result<(), String> {
    files.iter().try_for_each(|(path, text, _)| {
        fs::write(path, text).map_err(|error| format!("{}: {error}", untrusted::path(path)))
    })
}
