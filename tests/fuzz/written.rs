//! What is written can be read: records of all kinds with numbers from the ends of what types hold, and what a server says of
//! itself with such numbers. And what others call a thing is no formula in a cell of a spreadsheet.

use std::{fs, path::Path};

use redyno::{
    export::{BENCHMARK_CSV, CSV, Rows},
    server::Info,
    session::{Moment, Record, line},
};
use serde_json::Value;

use super::{
    Dice, cases,
    recordings::{Sample, drench, read},
};

/// A number as a server may say it.
const SAID: &str = "0|1|-1|9223372036854775807|-9223372036854775808|18446744073709551615|18446744073709551616|\
    99999999999999999999999999|1e308|1e999|-1e308|nan|inf|-inf|0.000000000000001|9007199254740993|4294967296|x||-0|+5| 7";

fn info(dice: &mut Dice) -> String {
    let text = fs::read_to_string("tests/fixtures/info-redis-7.0.15.txt").unwrap();
    let said: Vec<_> = SAID.split('|').collect();
    let line = |line: &str| match line.split_once(':') {
        Some((name, value)) if value.starts_with(|c: char| c.is_ascii_digit()) && !dice.once_in(3) => {
            format!("{name}:{}\n", dice.pick(&said))
        }
        Some((name, value)) if value.contains('=') => {
            let part = |part: &str| match part.split_once('=') {
                Some((name, _)) if !dice.once_in(3) => format!("{name}={}", dice.pick(&said)),
                _ => part.to_owned(),
            };
            format!("{name}:{}\n", value.split(',').map(part).collect::<Vec<_>>().join(","))
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The records of a file of these lines.
fn read_back(folder: &Path, sample: &Sample, lines: &[String]) -> Vec<String> {
    let path = folder.join("session.jsonl");
    fs::write(&path, format!("{}\n{}\n", sample.session, lines.join("\n"))).unwrap();
    let records = read(&path).expect("a recording");
    records[1..].iter().map(|record| line(record).unwrap()).collect()
}

fn assert_read_back(case: u64, written: &[String], found: &[String]) {
    // That it has no end is so.
    let tells = |line: &&String| line.contains("\"name\":\"recording\"") && !line.contains("recording_cut");
    let lost = found.iter().find(tells);
    assert!(lost.is_none(), "case {case}: {lost:?} of {written:#?}");
    assert!(found.len() >= written.len(), "case {case}: {found:#?} of {written:#?}");
}

#[test]
fn what_a_server_says_of_itself_can_be_read_back_whatever_it_says() {
    let (sample, folder) = (Sample::new(), tempfile::tempdir().unwrap());
    for case in cases("INFO", 40) {
        let dice = &mut Dice::new(case);
        let texts = [info(dice), info(dice)];
        let (first, counters) = Info::parse(&texts[0]).status(1_000_000_000, None);
        let (second, _) = Info::parse(&texts[1]).status(2_000_000_000, Some(&counters));
        let said = [(1.0, first), (2.0, second)];
        let written =
            said.map(|(t_s, status)| line(&Record::Server(Box::new(Moment::new(t_s, status)))).unwrap());
        assert_read_back(case, &written, &read_back(folder.path(), &sample, &written));
    }
}

/// Counts that only others can make as large as they like, so far as a record of ours holds one.
#[test]
fn a_record_of_what_a_server_counts_with_extreme_numbers_can_be_read_back() {
    let (sample, folder) = (Sample::new(), tempfile::tempdir().unwrap());
    for case in cases("records with extreme numbers", 20) {
        let dice = &mut Dice::new(case);
        let mut value = sample.records[sample.pick(dice)].clone();
        // Our own counts have bounds, by which a recording is judged that somebody else made.
        if !["server", "event"].iter().any(|kind| value["kind"] == *kind) {
            continue;
        }
        let times = ["t_s", "length_s"].map(|name| (name, value.get(name).cloned()));
        drench(dice, &mut value);
        for (name, time) in times {
            let place = value.get_mut(name);
            place.zip(time).into_iter().for_each(|(place, time)| *place = time);
        }
        // A distribution is read by its own rules.
        let Ok(record) = serde_json::from_value::<Record>(value) else { continue };
        let written = [line(&record).unwrap()];
        assert_read_back(case, &written, &read_back(folder.path(), &sample, &written));
    }
}

/// How a name begins that a spreadsheet would run, if it begins a cell.
const FORMULAS: [&str; 8] =
    ["=1+1", "+1-1", "-1+1|cmd", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"x\",\"y\")", "-x"];

/// Puts formulas in the place of names that somebody chose: of operations, workloads, marks, errors, commands.
fn name_badly(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| name_badly(dice, value)),
        Value::Object(fields) => {
            for name in ["name", "text", "workload", "detail", "role", "mode", "version"] {
                if let Some(Value::String(text)) = fields.get_mut(name) {
                    *text = dice.pick(&FORMULAS).to_owned();
                }
            }
            for map in ["commands", "errors", "mix", "requests", "command_stats", "connections_lost"] {
                if let Some(Value::Object(named)) = fields.get_mut(map) {
                    let values: Vec<_> = std::mem::take(named).into_iter().map(|(_, value)| value).collect();
                    let badly = values.into_iter().map(|value| (dice.pick(&FORMULAS).to_owned(), value));
                    named.extend(badly.collect::<Vec<_>>());
                }
            }
            fields.values_mut().for_each(|value| name_badly(dice, value));
        }
        _ => {}
    }
}

#[test]
fn no_cell_of_an_export_begins_a_formula() {
    let sample = Sample::new();
    let mut cells = 0;
    for case in cases("cells of exports", 40) {
        let dice = &mut Dice::new(case);
        let mut sinks: Vec<_> = Rows::ALL.iter().map(|rows| CSV.sink(*rows, None)).collect();
        sinks.push(BENCHMARK_CSV.sink(Rows::ALL[0], None));
        let mut lines = Vec::new();
        for _ in 0..4 {
            let mut value = sample.records[sample.pick(dice)].clone();
            name_badly(dice, &mut value);
            let Ok(record) = serde_json::from_value::<Record>(value) else { continue };
            sinks.iter_mut().for_each(|sink| lines.extend(sink.push(&record)));
        }
        sinks.iter_mut().for_each(|sink| lines.extend(sink.finish()));
        let text = lines.concat();
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        for cell in
            reader.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let begins = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!begins || cell.parse::<f64>().is_ok(), "case {case}: {cell:?} in {text}");
            cells += 1;
        }
    }
    assert!(cells > 0);
}
