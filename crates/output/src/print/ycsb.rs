//! Prints the results of a session in YCSB's format, for tools that read YCSB's output.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::File,
    io::Write as _,
    path::PathBuf,
};

use crate::{
    print::words::warn,
    protocol::OTHER,
    session::{OperationInterval, Record, Sink, StepTimes, Timeline},
    stats::Latency,
    untrusted,
};

redyno_engine::named_values! {
    /// The latencies in YCSB's text, which YCSB's option `measurement.interval` selects.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum YcsbInterval {
        /// The service time of each operation.
        Op "op",
        /// The response time of each operation, which begins at the due time of the request. In a closed loop, this is
        /// the service time.
        Intended "intended",
        /// Service times and response times.
        Both "both",
    }
}

/// The form of YCSB's text.
#[derive(Debug, Clone, PartialEq)]
pub struct YcsbForm {
    /// The percentiles, above 0 and up to 100.
    pub percentiles: Vec<f64>,
    /// The latencies.
    pub interval: YcsbInterval,
    /// Whether the text of a closed loop also has both latencies, as in YCSB.
    pub falls_back: bool,
}

impl Default for YcsbForm {
    /// Returns the form with YCSB's default percentiles, and with both latencies.
    fn default() -> Self {
        Self { percentiles: vec![50.0, 95.0, 99.0], interval: YcsbInterval::Both, falls_back: false }
    }
}

/// A sink that returns YCSB's text at the end of the session.
pub struct YcsbText {
    timeline: Timeline,
    form: YcsbForm,
    /// The file for the text, with its path. `None` if the text is printed.
    file: Option<(File, PathBuf)>,
}

impl YcsbText {
    /// Creates the sink. If there is a file, the sink writes the text to this file and prints nothing.
    pub fn new(form: YcsbForm, file: Option<(File, PathBuf)>) -> Self {
        Self { timeline: Timeline::default(), form, file }
    }
}

impl Sink for YcsbText {
    fn push(&mut self, record: &Record) -> Vec<String> {
        if record.is_of(0) {
            self.timeline.push(record);
        }
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        let text = ycsb_summary(&self.timeline, &self.form);
        let Some((file, path)) = &mut self.file else { return vec![text] };
        // If the file cannot be written, the figures are printed, so that they are not lost.
        // Only a regular file has an older result.
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let emptied = if is_file { file.set_len(0) } else { Ok(()) };
        emptied.and_then(|()| file.write_all(text.as_bytes())).map_or_else(
            |error| {
                warn(&format!("exportfile={}: {error}", untrusted::path(path)));
                vec![text.clone()]
            },
            |()| Vec::new(),
        )
    }
}

/// Returns YCSB's text about the session: first all operations together, then each operation.
///
/// The latencies of operations are service times. If `form` has both latencies, the response times of an open
/// loop follow with the prefix `Intended`. If `form` has only response times, they replace the service times,
/// without a prefix. As in YCSB, percentiles are computed even from few samples.
pub fn ycsb_summary(timeline: &Timeline, form: &YcsbForm) -> String {
    let sum = timeline.summary();
    let mut text = String::new();
    line(&mut text, "OVERALL", "RunTime(ms)", &((sum.length_s * 1000.0).round() as u64).to_string());
    line(&mut text, "OVERALL", "Throughput(ops/sec)", &number(sum.ops_per_s));
    let mut operations = timeline.operations();
    let verified = verified(timeline, &operations);
    add_steps(&mut operations);
    for (name, operation) in &operations {
        line(&mut text, name, "Operations", &operation.ops.to_string());
        let is_intended = form.interval == YcsbInterval::Intended;
        times(&mut text, name, if is_intended { intended(operation) } else { &operation.service }, form);
        if name == READ_MODIFY_WRITE {
            continue;
        }
        let not_found = operation.not_found;
        line(&mut text, name, "Return=OK", &(operation.ops - not_found).to_string());
        let errors = operation.errors.values().sum::<u64>();
        for (what, n) in [("Return=NOT_FOUND", not_found), ("Return=ERROR", errors)] {
            if n > 0 {
                line(&mut text, name, what, &n.to_string());
            }
        }
    }
    text.push_str(&verified);
    let is_open = operations.values().any(|operation| operation.response.is_some());
    let are_both = form.interval == YcsbInterval::Both && (is_open || form.falls_back);
    for (name, operation) in operations.iter().filter(|_| are_both) {
        let response = intended(operation);
        let name = format!("Intended-{name}");
        line(&mut text, &name, "Operations", &response.count().to_string());
        times(&mut text, &name, response, form);
    }
    text
}

/// The operation that YCSB counts three times. YCSB counts the operation as a whole, its read as READ, and its write as
/// UPDATE.
const READ_MODIFY_WRITE: &str = "READ-MODIFY-WRITE";

/// Adds the parts of each READ-MODIFY-WRITE to READ and UPDATE. As in YCSB, the response times of both parts begin at
/// the due time of the whole operation.
pub(super) fn add_steps(operations: &mut BTreeMap<String, OperationInterval>) {
    let Some(whole) = operations.get(READ_MODIFY_WRITE).cloned() else { return };
    let StepTimes { first, first_response, missed, later } =
        whole.steps.map(|steps| *steps).unwrap_or_default();
    let asked = whole.ops + whole.errors.values().sum::<u64>();
    for (name, not_found, service, response) in
        [("READ", missed, first, first_response), ("UPDATE", 0, later, whole.response)]
    {
        let failed = asked.saturating_sub(service.count());
        let errors = (failed > 0).then(|| (OTHER.to_owned(), failed)).into_iter().collect();
        let ops = service.count();
        let part =
            OperationInterval { ops, not_found, errors, service, response, ..OperationInterval::default() };
        operations.entry(name.to_owned()).or_default().merge(&part);
    }
}

/// Returns the response times of an operation. In a closed loop, a request is due when it is sent, so the response
/// times equal the service times.
fn intended(operation: &OperationInterval) -> &Latency {
    operation.response.as_ref().unwrap_or(&operation.service)
}

/// Returns the text of the operation VERIFY, with the number of compared records.
fn verified(timeline: &Timeline, operations: &BTreeMap<String, OperationInterval>) -> String {
    const OTHER: &str = "UNEXPECTED_STATE";
    let mut text = String::new();
    let started = timeline.segments.iter().map(|segment| &segment.start.knobs.workload);
    let compared =
        started.flat_map(|workload| workload.active_operations()).filter(|asked| asked.expects.is_some());
    let names: BTreeSet<_> = compared.map(|asked| &asked.name).collect();
    let parts = || names.iter().filter_map(|name| operations.get(*name));
    let other: u64 = parts().filter_map(|part| part.errors.get(OTHER)).sum();
    let same: u64 = parts().map(|part| part.ops).sum();
    if same + other > 0 {
        line(&mut text, "VERIFY", "Operations", &(same + other).to_string());
        line(&mut text, "VERIFY", "Return=OK", &same.to_string());
        if other > 0 {
            line(&mut text, "VERIFY", &format!("Return={OTHER}"), &other.to_string());
        }
    }
    text
}

fn times(text: &mut String, name: &str, latency: &Latency, form: &YcsbForm) {
    if latency.is_empty() {
        return;
    }
    let us = |ns: u64| ((ns + 500) / 1000).to_string();
    line(text, name, "AverageLatency(us)", &number(latency.mean_ns() / 1000.0));
    line(text, name, "MinLatency(us)", &us(latency.min_ns()));
    line(text, name, "MaxLatency(us)", &us(latency.max_ns()));
    for percent in &form.percentiles {
        let figure = format!("{}PercentileLatency(us)", ordinal(*percent));
        line(text, name, &figure, &us(latency.value_at_percent(*percent)));
    }
}

/// Returns the ordinal of a percentile as YCSB writes it: `95th`, `1st`, `99.9`.
fn ordinal(percent: f64) -> String {
    let whole = percent as u8;
    match (percent.fract() == 0.0, whole % 10) {
        (false, _) => percent.to_string(),
        (true, 1) if whole != 11 => format!("{whole}st"),
        (true, 2) if whole != 12 => format!("{whole}nd"),
        (true, 3) if whole != 13 => format!("{whole}rd"),
        (true, _) => format!("{whole}th"),
    }
}

/// Returns a number with one, two or three decimals: `1070.1`.
fn number(value: f64) -> String {
    format!("{:?}", (value * 1000.0).round() / 1000.0)
}

fn line(text: &mut String, section: &str, figure: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[{section}], {figure}, {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, OperationInterval, Record, Segment},
        stats::fixture::latency_of,
    };

    fn segment(number: u32, warmup: bool, rate: Option<u32>) -> Record {
        let knobs = Knobs { load: true, rate, ..Knobs::default() };
        Record::Segment(Segment { warmup, ..Segment::new(0.0, number, knobs) })
    }

    fn interval(segment: u32, names: &[&str], response: Option<Latency>) -> Record {
        let part = OperationInterval {
            ops: 1000,
            misses: 300,
            not_found: 30,
            errors: [("OOM".to_owned(), 2), ("ERR".to_owned(), 1)].into(),
            service: latency_of((1..=1000).map(|n| n * 1000)),
            response,
            ..OperationInterval::default()
        };
        Record::Interval(Box::new(Interval {
            segment,
            length_s: 2.5,
            ops: 1000 * names.len() as u64,
            commands: names.iter().map(|name| ((*name).to_owned(), part.clone())).collect(),
            ..Interval::default()
        }))
    }

    fn text(records: &[Record]) -> String {
        let mut timeline = Timeline::default();
        records.iter().for_each(|record| timeline.push(record));
        ycsb_summary(&timeline, &YcsbForm::default())
    }

    #[test]
    fn the_text_is_as_ycsb_prints_it() {
        let warmup = [segment(1, true, None), interval(1, &["READ", "OTHER"], None)];
        let measured = [segment(2, false, None), interval(2, &["READ"], None)];
        let text = text(&[warmup, measured].concat());
        let expected = "\
[OVERALL], RunTime(ms), 2500
[OVERALL], Throughput(ops/sec), 400.0
[READ], Operations, 1000
[READ], AverageLatency(us), 500.5
[READ], MinLatency(us), 1
[READ], MaxLatency(us), 1000
[READ], 50thPercentileLatency(us), 500
[READ], 95thPercentileLatency(us), 950
[READ], 99thPercentileLatency(us), 990
[READ], Return=OK, 970
[READ], Return=NOT_FOUND, 30
[READ], Return=ERROR, 3
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_form_selects_percentiles_and_latencies() {
        let mut page = YcsbText::new(form_of(YcsbInterval::Op), None);
        for record in [segment(1, false, Some(500)), interval(1, &["READ"], Some(latency_of([7_000_000])))] {
            assert!(page.push(&record).is_empty());
        }
        let text = page.finish().concat();
        assert!(
            text.contains("[READ], 1stPercentileLatency(us), 10\n[READ], 99.9PercentileLatency(us), 999\n")
        );
        assert!(!text.contains("Intended") && !text.contains("95th"), "{text}");
    }

    fn form_of(interval: YcsbInterval) -> YcsbForm {
        YcsbForm { percentiles: vec![1.0, 99.9], interval, falls_back: true }
    }

    #[test]
    fn as_in_ycsb_intended_alone_has_the_plain_name_and_a_closed_loop_has_it_too() {
        for (response, mean) in [(Some(latency_of([7_000_000])), "7000.0"), (None, "500.5")] {
            let rate = response.as_ref().map(|_| 500);
            let text = |interval| {
                let mut timeline = Timeline::default();
                timeline.push(&segment(1, false, rate));
                timeline.push(&super::tests::interval(1, &["READ"], response.clone()));
                ycsb_summary(&timeline, &form_of(interval))
            };
            let (alone, both) = (text(YcsbInterval::Intended), text(YcsbInterval::Both));
            assert!(alone.contains(&format!("[READ], AverageLatency(us), {mean}\n")), "{alone}");
            assert!(!alone.contains("Intended"), "{alone}");
            assert!(both.contains("[READ], AverageLatency(us), 500.5\n"), "{both}");
            assert!(both.contains(&format!("[Intended-READ], AverageLatency(us), {mean}\n")), "{both}");
        }
    }

    #[test]
    fn a_read_modify_write_also_counts_as_a_read_and_an_update() {
        let steps = StepTimes {
            first: latency_of([1000; 9]),
            first_response: Some(latency_of([4000; 9])),
            missed: 2,
            later: latency_of([2000; 10]),
        };
        let whole = OperationInterval {
            ops: 9,
            misses: 4,
            not_found: 1,
            errors: [("OOM".to_owned(), 1)].into(),
            service: latency_of([3000; 9]),
            response: Some(latency_of([6000; 9])),
            steps: Some(Box::new(steps)),
            ..OperationInterval::default()
        };
        let read = OperationInterval { ops: 1, service: latency_of([1000]), ..OperationInterval::default() };
        let commands = [(READ_MODIFY_WRITE.to_owned(), whole), ("READ".to_owned(), read)].into();
        let text = text(&[
            segment(1, false, Some(500)),
            Record::Interval(Box::new(Interval {
                segment: 1,
                length_s: 1.0,
                commands,
                ..Interval::default()
            })),
        ]);
        let is_shown =
            |line: &&str| !line.contains("Percentile") && !line.contains("M") && !line.contains("OVERALL");
        let shown: Vec<_> = text.lines().filter(is_shown).collect();
        let expected = [
            "[READ], Operations, 10",
            "[READ], AverageLatency(us), 1.0",
            "[READ], Return=OK, 8",
            "[READ], Return=NOT_FOUND, 2",
            "[READ], Return=ERROR, 1",
            "[UPDATE], Operations, 10",
            "[UPDATE], AverageLatency(us), 2.0",
            "[UPDATE], Return=OK, 10",
            "[Intended-READ], Operations, 9",
            "[Intended-READ], AverageLatency(us), 4.0",
            "[Intended-UPDATE], Operations, 9",
            "[Intended-UPDATE], AverageLatency(us), 6.0",
        ];
        assert_eq!(shown, expected);
        let whole = |line: &&str| line.starts_with("[READ-MODIFY-WRITE], ");
        let whole: Vec<_> = text.lines().filter(whole).collect();
        assert_eq!((whole[0], whole.len()), ("[READ-MODIFY-WRITE], Operations, 9", 7));
    }

    #[test]
    fn with_a_file_the_text_is_written_and_not_printed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = Some((file.reopen().unwrap(), file.path().to_owned()));
        let mut page = YcsbText::new(form_of(YcsbInterval::Op), written);
        [segment(1, false, None), interval(1, &["READ"], None)]
            .iter()
            .for_each(|record| drop(page.push(record)));
        assert!(page.finish().is_empty());
        assert!(std::fs::read_to_string(file.path()).unwrap().contains("[READ], Operations, 1000\n"));
    }

    #[test]
    fn in_an_open_loop_response_times_have_the_prefix_intended() {
        let intended = |names: &[&str]| {
            let text =
                text(&[segment(1, false, Some(500)), interval(1, names, Some(latency_of([7_000_000])))]);
            let of_two = |line: &&str| line.contains("Operations, ") || line.contains("AverageLatency(us), ");
            let lines = text.lines().filter(|line| line.starts_with("[Intended")).filter(of_two);
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let lines = |name: &str| {
            ["Operations, 1", "AverageLatency(us), 7000.0"].map(|rest| format!("[Intended-{name}], {rest}"))
        };
        assert_eq!(intended(&["READ"]), lines("READ"));
        assert_eq!(intended(&["READ", "UPDATE"]), ["READ", "UPDATE"].map(lines).concat());
    }
}
