//! Whoever reads a recording: the reader, the timeline, the screens over it, its lines and its summary.

use std::{fs, path::Path, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use ratatui::layout::Rect;
use redyno::{
    app::{Delivery, Key, KeyCode, Model, Msg, Notice, Playback, Screen, update},
    print::{lines::Lines, summary},
    probe::Intrinsic,
    session::{Coalesce, Reader, Record, Sink, Span, Timeline, TimelineOptions, line},
    stats::Latency,
    tui::{
        screens,
        theme::{Colours, GlyphSet, Theme},
    },
    untrusted,
};
use serde_json::{Map, Value, json};

use super::{Dice, cases, heap};

/// More than a recording of some lines needs: the largest line, its histograms unpacked, and the timeline's rings.
const MOST_BYTES: usize = 32 << 20;

const KINDS: [&str; 9] =
    ["segment", "interval", "ping", "wake", "intrinsic", "server", "event", "mark", "end"];
/// How many records of each kind there are to choose from.
const SHORTEST: usize = 8;
/// One case in so many is drawn, and one written as JSON: that takes more than all the rest.
const DRAWN: usize = 30;
/// Numbers at the ends of what a type holds, and what is none.
const NUMBERS: &str = "0|-0.0|-1|1|1e-300|-1e300|1e300|1e999|9007199254740991|9007199254740992|4294967295|4294967296|\
    9223372036854775807|-9223372036854775808|18446744073709551615|18446744073709551616|315360000|315360000.1|1e15|\
    0.000000001|1.5|NaN|null|\"NaN\"|true|\"\"|[]|{}";
/// Whole ones of these; the first of them are sound in any record.
const ENDS: [u64; 8] = [0, 1, (1 << 53) - 1, 1 << 52, 1 << 32, u64::MAX, u64::MAX / 2, u64::MAX - 1];
const TEXTS: [&str; 10] = [
    "",
    "\u{1b}[2J\u{7}",
    "\u{9b}31m\u{202e}",
    "a\nb\r\tc",
    "\u{0}",
    "18446744073709551615",
    "-1",
    "HISTFAAA",
    "👩‍👩‍👧 e\u{301}\u{200b}",
    "unreachable",
];
/// Records that the sample has none of, and fields that it leaves out.
const RARE: [&str; 6] = [
    r#"{"kind":"server","t_s":4,"name":"redis","version":"7","uptime_s":9,"clients":3,"hits":5,"misses":6,"poll_s":1.0,
    "mode":"standalone","role":"slave","memory_policy":null,"replication_master":"h:1","connections_max":1,
    "connections_input_buffer":2,"connections_output_buffer":3,"connections_rejected":4,"traffic_input":5,
    "traffic_output":6,"replication_replicas":1,"replication_lag_bytes":7,"replication_link_up":0,"replication_heard_s":4,
    "persistence_last_save_ok":0,"persistence_last_save_s":4,"persistence_unsaved_changes":5,"persistence_last_fork_us":6,
    "command_stats":{"get":{"calls":1,"usec":2,"failed":3,"rejected":4},"set":{"calls":5,"usec":6,
    "times":[[1,4],[33,1]],"since_start_us":{"p50":0.001,"p99":7.1}}},
    "latency_events":[{"name":"fork","age_s":3,"last_ms":4,"max_ms":5}],
    "config":{"slowlog-log-slower-than":"-1","latency-monitor-threshold":"0","maxmemory":"5","hz":"10"}}"#,
    r#"{"kind":"interval","t_s":5,"length_s":1,"node":1,"tick":20,"segment":1,"ops":2,"ops_per_s":2,"bytes_in":3,"bytes_out":4,"hits":1,
    "misses":1,"errors":{"OOM":5,"timeout":6},"connections_lost":{"reset":7},"connects_failed":{"refused":8},
    "behind_us":9,"due":20,"shed":4,"unsent":3,"clients":50,"outage_s":0.5,"service":{"count":0},"response":{"count":0},
    "commands":{"GET":{"ops":2,"errors":{"OOM":1},"service":{"count":0}}},
    "client":{"cpu":0.9,"run_delay":0.1,"workers":[{"cpu":0.9,"run_delay":0.1}],"readable_to_read":{"count":0}}}"#,
    r#"{"kind":"ping","t_s":5,"length_s":1,"tick":20,"rtt":{"count":0},"errors":{"refused":3},"waiting_us":7,
    "left_out":{"late":3},"tcp":{"rtt_us":4,"rtt_var_us":5,"rtt_min_us":6},"timing":"kernel","kernel":{"count":0}}"#,
    r#"{"kind":"segment","t_s":5,"segment":2,"warmup":true,"knobs":{"load":true,"clients":5,"pipeline":6,"rate":7,
    "arrivals":"poisson","backlog":"shed","workload":{"name":"w","keys":{"key":{"distribution":"uniform"}},"operations":[{"name":"SET","weight":1,
    "steps":["SET {key} {value}"]}]},"value_size":8,"keyspace":9},
    "config":{"name":"hz","from":"10","to":"50"}}"#,
    r#"{"kind":"event","t_s":6,"name":"unreachable","detail":"refused","event":"unreachable","cause":"refused"}"#,
    r#"{"kind":"event","t_s":7,"name":"load lost","detail":"","event":"connections_lost","lost":3,"clients":4,
    "cause":"reset","unreported":1}"#,
];

/// What cases are made of.
pub(super) struct Sample {
    pub(super) session: Value,
    /// In the order of their times.
    pub(super) records: Vec<Value>,
    /// Where the records of each kind are.
    kinds: Vec<Vec<usize>>,
}

impl Sample {
    pub(super) fn new() -> Self {
        let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/session.jsonl")).unwrap();
        let mut records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let session = records.remove(0);
        let intrinsic = Record::Intrinsic(Span::new(3.0, 1.0, Intrinsic::default()));
        records.push(serde_json::from_str(&line(&intrinsic).unwrap()).unwrap());
        let empty = serde_json::to_string(&Latency::default()).unwrap();
        records
            .extend(RARE.map(|text| serde_json::from_str(&text.replace(r#"{"count":0}"#, &empty)).unwrap()));
        for record in &records {
            serde_json::from_value::<Record>(record.clone()).unwrap_or_else(|e| panic!("{e}: {record}"));
        }
        let kinds = KINDS.map(|kind| {
            let mut of_kind: Vec<_> = (0..records.len()).filter(|n| records[*n]["kind"] == kind).collect();
            // Most of a long one is a distribution like any other, and takes its time to read.
            of_kind.sort_by_key(|n| records[*n].to_string().len());
            of_kind.truncate(SHORTEST);
            of_kind
        });
        Self { session, kinds: kinds.into(), records }
    }

    /// A record, of each kind as often as of every other.
    pub(super) fn pick(&self, dice: &mut Dice) -> usize {
        let of_kind = &self.kinds[dice.below(self.kinds.len())];
        dice.pick(of_kind)
    }
}

/// A distribution's text with another header, other counts, or damaged anywhere.
fn histogram(dice: &mut Dice, text: &str) -> String {
    use std::io::{Read, Write};
    let Ok(mut packed) = BASE64.decode(text) else { return text.to_owned() };
    let mut body = Vec::new();
    if dice.once_in(3) || packed.len() < 8 || ZlibDecoder::new(&packed[8..]).read_to_end(&mut body).is_err() {
        dice.damage(&mut packed);
        return BASE64.encode(packed);
    }
    match dice.below(4) {
        // One of its fields: length, offset, digits, lowest, highest, ratio.
        0 | 1 if body.len() >= 40 => {
            let at = 4 * (1 + dice.below(9));
            let words = [0, 1, 2, 3, 5, 1 << 16, u32::MAX, u32::MAX / 2, 1 << 31];
            body[at..at + 4].copy_from_slice(&dice.pick(&words).to_be_bytes());
        }
        2 => body.extend([0].repeat(1 << dice.below(20))),
        _ => dice.damage(&mut body),
    }
    let mut encoder = ZlibEncoder::new(packed[..8].to_vec(), Compression::fast());
    encoder.write_all(&body).unwrap();
    BASE64.encode(encoder.finish().unwrap())
}

/// Puts numbers from the ends of what types hold in the place of every number in `value`, or of most.
pub(super) fn drench(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| drench(dice, value)),
        Value::Array(values) => values.iter_mut().for_each(|value| drench(dice, value)),
        Value::Number(_) if !dice.once_in(8) => *value = dice.pick(&ENDS).into(),
        _ => {}
    }
}

/// Changes one place somewhere in `value`.
fn change(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !dice.once_in(12) => change_field(dice, fields),
        Value::Array(values) if !values.is_empty() && !dice.once_in(4) => {
            let at = dice.below(values.len());
            change(dice, &mut values[at]);
        }
        _ => *value = anything(dice),
    }
}

fn change_field(dice: &mut Dice, fields: &mut Map<String, Value>) {
    let names: Vec<_> = fields.keys().cloned().collect();
    let name = &names[dice.below(names.len())];
    match dice.below(16) {
        0 => drop(fields.remove(name)),
        1 => {
            let value = fields.remove(name).unwrap();
            fields.insert(dice.pick(&TEXTS).to_owned(), value);
        }
        2 => drop(fields.insert(dice.pick(&TEXTS).to_owned(), anything(dice))),
        _ if name == "hdr" => {
            let text = histogram(dice, fields[name].as_str().unwrap_or_default());
            fields.insert(name.clone(), text.into());
        }
        _ => change(dice, fields.get_mut(name).unwrap()),
    }
}

fn anything(dice: &mut Dice) -> Value {
    match dice.below(12) {
        0 => dice.pick(&TEXTS).into(),
        1 => String::from_utf8_lossy(&dice.bytes(60)).into(),
        2 => (0..dice.below(200)).fold(Value::Null, |inner, _| json!([inner])),
        3 => (0..dice.below(200)).fold(Value::Null, |inner, _| json!({ "service": inner })),
        4 => "x".repeat(1 << dice.below(16)).into(),
        // Some can only stand in a text, and are put into it when all is written: `1e999`.
        _ => format!("\u{1}{}\u{1}", dice.pick(&NUMBERS.split('|').collect::<Vec<_>>())).into(),
    }
}

/// Changes a record in some places, or all of its numbers, or those of a part of it.
fn spoil(dice: &mut Dice, record: &mut Value) {
    if dice.once_in(2) {
        (0..=dice.below(4)).for_each(|_| change(dice, record));
        return;
    }
    let kept = ["t_s", "length_s", "segment"].map(|name| (name, record.get(name).cloned()));
    drench(dice, record);
    if !dice.once_in(4) {
        for (name, value) in kept {
            if let Some(value) = value {
                record[name] = value;
            }
        }
    }
}

/// A line of text; a number of [`NUMBERS`] stands there as itself.
fn written(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let mut parts = text.split("\"\\u0001");
    let mut line = parts.next().unwrap().to_owned();
    for part in parts {
        match part.split_once("\\u0001\"") {
            Some((number, rest)) => line += &(number.replace('\\', "") + rest),
            None => line += part,
        }
    }
    line.into_bytes()
}

/// A recording, and how many of its records were left as they are.
fn recording(dice: &mut Dice, sample: &Sample) -> (Vec<u8>, usize) {
    let mut session = sample.session.clone();
    if dice.once_in(10) {
        change(dice, &mut session);
    }
    let mut text = written(&session);
    if dice.once_in(40) {
        dice.damage(&mut text);
    }
    text.push(b'\n');
    let mut chosen: Vec<_> = (0..=dice.below(3)).map(|_| sample.pick(dice)).collect();
    if !dice.once_in(5) {
        chosen.sort_unstable();
    }
    let mut whole = 0;
    for n in chosen {
        let mut record = sample.records[n].clone();
        let is_changed = dice.once_in(2);
        if is_changed {
            spoil(dice, &mut record);
        }
        let mut line = written(&record);
        let is_damaged = dice.once_in(8);
        if is_damaged {
            dice.damage(&mut line);
        }
        // Two in one line, or the same again.
        let is_joined = dice.once_in(20);
        if !is_joined {
            line.push(b'\n');
        }
        text.extend(line.repeat(if dice.once_in(12) { 1 + dice.below(3) } else { 1 }));
        if is_joined {
            text.extend(b"{}\n");
        }
        whole += usize::from(!is_changed && !is_damaged && !is_joined);
    }
    (text, whole)
}

/// The records of a file, unless it is refused as a whole.
pub(super) fn read(path: &Path) -> Option<Vec<Arc<Record>>> {
    let mut reader = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => {
            assert_shown(&error.to_string());
            return None;
        }
    };
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(Arc::new(record));
    }
    Some(records)
}

pub(super) fn print(records: &[Arc<Record>], as_json: bool) {
    let (mut coalesce, mut lines, mut timeline) =
        (Coalesce::default(), Lines::default(), Timeline::default());
    let mut print = |records: Vec<Arc<Record>>| {
        for record in records {
            if as_json {
                line(&record).unwrap();
            }
            lines.push(&record).iter().flat_map(|piece| piece.lines()).for_each(assert_shown);
        }
    };
    for record in records {
        timeline.push(record);
        print(coalesce.push(record));
    }
    print(coalesce.rest());
    lines.finish().iter().flat_map(|piece| piece.lines()).for_each(assert_shown);
    summary(&timeline, &[], &[]).lines().for_each(assert_shown);
}

fn draw(dice: &mut Dice, records: &[Arc<Record>]) {
    let mut model = Model::replaying(Playback::new("session.jsonl".to_owned()), TimelineOptions::default());
    for record in records {
        update(&mut model, Msg::Delivery(Delivery::Record(record.clone())));
    }
    if !dice.once_in(4) {
        update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::Ended)));
    }
    let (width, height) = dice.pick(&[(80, 24), (120, 36)]);
    let area = Rect::new(0, 0, width, height);
    for _ in 0..2 {
        model.screen = dice.pick(&Screen::ALL);
        for _ in 0..dice.below(4) {
            let keys = "12345+-wWnNpP[]{}<>/mMvzZsSc?: ".chars().map(KeyCode::Char);
            let others =
                [KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Enter, KeyCode::Esc];
            let keys: Vec<_> = keys.chain(others).collect();
            update(&mut model, Msg::Key(Key::plain(dice.pick(&keys))));
        }
        let columns = screens::plan(area, &model).chart_columns();
        update(&mut model, Msg::Columns(columns));
        let buffer = screens::picture(area, Theme::new(Colours::Ansi16, GlyphSet::Unicode), &model);
        buffer.content.iter().for_each(|cell| assert_shown(cell.symbol()));
    }
}

pub(super) fn assert_shown(text: &str) {
    assert!(!text.contains(untrusted::is_interpreted), "{text:?}");
}

/// Damaged lines are reported, and nothing else is lost by them.
#[test]
fn a_recording_of_any_kind_is_shown_or_refused() {
    let sample = Sample::new();
    let folder = tempfile::tempdir().unwrap();
    for round in cases("recordings", 4) {
        let dice = &mut Dice::new(round);
        let path = folder.path().join("session.jsonl");
        let (text, whole) = recording(dice, &sample);
        fs::write(&path, &text).unwrap();
        // What is found is found again by its number; the text of a case is long.
        let case = Case(round, &text);
        let (_, most) = heap::measured(|| {
            let Some(records) = read(&path) else { return };
            let is_reported = |record: &&Arc<Record>| matches!(&***record, Record::Event(e) if e.what.name() == "recording");
            assert!(records.len() - records.iter().filter(is_reported).count() > whole);
            print(&records, dice.once_in(DRAWN));
            if dice.once_in(DRAWN) {
                draw(dice, &records);
            }
        });
        assert!(most < MOST_BYTES, "{most} bytes");
        drop(case);
    }
}

/// A case, printed when it ends in a panic.
struct Case<'a>(u64, &'a [u8]);

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("round {}:\n{}", self.0, String::from_utf8_lossy(self.1));
        }
    }
}
