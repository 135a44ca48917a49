mod written;

use std::sync::Arc;

use super::*;
use crate::{
    knobs::Knobs,
    session::{
        Interval, Mark, Segment, ServerIdentity, SessionStart, SessionWriter, Timeline, line,
        timeline::{Excerpt, Level, Measure, Reread},
    },
    stats::fixture::latency_of,
};

fn session() -> String {
    line(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap()
}

fn mark(t_s: f64) -> String {
    line(&Record::Mark(Mark { t_s, text: "m".to_owned() })).unwrap()
}

fn open(text: &[u8]) -> Result<Reader, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, text).unwrap();
    Reader::open(&path)
}

/// Returns the number of valid records, and the events about the other lines.
fn read(text: &str) -> (usize, Vec<String>) {
    let mut reader = open(text.as_bytes()).unwrap();
    let (mut n, mut events) = (0, Vec::new());
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Event(event) if event.what.name() == "recording" => events.push(event.what.to_string()),
            _ => n += 1,
        }
    }
    assert_eq!(reader.share(), 1.0);
    (n, events)
}

#[test]
fn a_recording_that_was_cut_short_is_read_up_to_there() {
    let whole = session() + &mark(1.0) + &mark(2.0);
    assert_eq!(
        read(&whole),
        (3, vec!["the recording ends without an end record: redyno was killed, or still records".to_owned()])
    );
    for cut in 1..mark(2.0).len() - 1 {
        let events = vec!["the recording ends in the middle of a record".to_owned()];
        assert_eq!(read(&whole[..whole.len() - 1 - cut]), (2, events), "{cut}");
    }
}

/// Returns a file with ten seconds of records, and its length after each second.
fn ten_seconds(name: &str) -> (Vec<u8>, Vec<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut writer = SessionWriter::create(&path).unwrap();
    writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
    let mut lengths = Vec::new();
    for second in 1..=10_u32 {
        let service = latency_of((1..=20).map(|n| u64::from(n * second) * 10_000));
        let load =
            Interval { t_s: second.into(), length_s: 1.0, ops: 1 << second, service, ..Interval::default() };
        writer.write(&Record::Interval(Box::new(load))).unwrap();
        writer.write(&Record::Mark(Mark { t_s: second.into(), text: "m".to_owned() })).unwrap();
        writer.flush().unwrap();
        lengths.push(writer.written() as usize);
    }
    (std::fs::read(&path).unwrap(), lengths)
}

/// Returns the number of requests in the first `seconds` of a recording, and the number of events about invalid lines.
fn ops_and_events(bytes: &[u8], seconds: f64) -> (u64, usize) {
    let mut reader = open(bytes).unwrap();
    let (mut ops, mut events) = (0, 0);
    while let Some(record) = reader.next_record().unwrap() {
        match record {
            Record::Interval(interval) if interval.t_s <= seconds => ops += interval.ops,
            Record::Event(_) => events += 1,
            _ => {}
        }
    }
    (ops, events)
}

#[test]
fn a_file_cut_anywhere_opens_up_to_the_last_complete_second() {
    for name in ["a.jsonl", "a.jsonl.zst"] {
        let (bytes, lengths) = ten_seconds(name);
        assert_eq!(lengths[9], bytes.len());
        for cut in lengths[7]..bytes.len() {
            let (ops, events) = ops_and_events(&bytes[..cut], 10.0);
            let whole = lengths.iter().filter(|length| **length <= cut).count();
            let of_whole: u64 = (1..=whole).map(|second| 1 << second).sum();
            // The file may already have the next second.
            assert!(
                [of_whole, of_whole + (2 << whole)].contains(&ops) && events == 1,
                "{name} {cut}: {ops} {events}"
            );
        }
    }
}

#[test]
fn records_before_damage_in_a_compressed_file_are_read() {
    let (bytes, lengths) = ten_seconds("a.jsonl.zst");
    for at in lengths[5]..lengths[6] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let (ops, events) = ops_and_events(&damaged, 6.0);
        // The damage may be in another second.
        assert!(ops >= (1..=6).map(|second| 1 << second).sum() && events > 0, "{at}: {ops} {events}");
    }
}

#[test]
fn invalid_lines_are_reported_with_their_number_and_skipped() {
    let text = session() + &mark(1.0) + "{\"kind\":\n\u{0}\n" + &mark(9e99) + &session() + &mark(2.0);
    let (n, events) = read(&text);
    assert_eq!((n, events.len()), (3, 5));
    assert!(events[0].starts_with("line 3 is no record and is skipped: "), "{events:?}");
    assert!(events[2].contains("line 5") && events[3].contains("line 6"), "{events:?}");
    let many = session() + &"x\n".repeat(1000);
    let (_, events) = read(&many);
    assert_eq!((events.len(), events[20].as_str()), (22, "980 more lines are no records and are skipped"));
}

#[test]
fn a_malicious_line_becomes_only_an_event() {
    let interval = |part: &str, instead: &str| {
        let whole = line(&Record::Interval(Box::new(Interval { t_s: 1.0, ops: 5, ..Interval::default() })));
        let whole = whole.unwrap();
        assert!(whole.contains(part), "{whole}");
        whole.replace(part, instead)
    };
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let harm = [
        interval("\"t_s\":1.0", "\"t_s\":-1.0"),
        interval("\"t_s\":1.0", "\"t_s\":1e300"),
        interval("\"t_s\":1.0", "\"t_s\":1e999"),
        interval("\"length_s\":0.0", "\"length_s\":1e300"),
        interval("\"length_s\":0.0", "\"length_s\":-3"),
        interval("\"ops\":5", "\"ops\":18446744073709551615"),
        interval("\"behind_us\":0", "\"behind_us\":18446744073709551615"),
        interval("\"max_us\":0.0", "\"max_us\":-1.0"),
        interval("\"errors\":{}", "\"errors\":{\"a\\u0007\":1,\"a\\\\x07\":2}"),
        deep,
        format!("\"{}\"\n", "x".repeat(5 << 20)),
    ];
    let (n, events) = read(&(session() + &harm.concat() + &mark(2.0)));
    assert_eq!((n, events.len()), (2, harm.len() + 1), "{events:?}");
    assert!(events.iter().all(|text| text.len() < 700), "{events:?}");
}

#[test]
fn counts_with_an_impossible_sum_are_refused() {
    let many = Record::Interval(Box::new(Interval { ops: (1 << 53) - 1, ..Interval::default() }));
    let (n, events) = read(&(session() + &line(&many).unwrap().repeat(1030)));
    assert_eq!((n, events[0].contains("all counts up to this line")), (1 + 1024, true), "{events:?}");
}

#[test]
fn control_characters_in_a_recording_are_escaped() {
    let event = r#"{"kind":"event","t_s":1,"event":"first_error","error":"x\u001b]0;a\u0007","message":"\u009b2J\u202etxt"}"#;
    let unknown = r#"{"kind":"\u001b[2J","t_s":1}"#;
    let mut reader = open(format!("{}{event}\n{unknown}\n", session()).as_bytes()).unwrap();
    let mut shown = String::new();
    while let Some(record) = reader.next_record().unwrap() {
        shown += &format!("{record:?}");
    }
    assert!(!shown.contains("\\u{1b}") && !shown.contains("\\u{9b}"), "{shown}");
    assert!(shown.contains(r"x\\x1b]0;a\\x07") && shown.contains(r"\\x9b2J\\u{202e}txt"), "{shown}");
}

/// Returns one record for each second of an hour, with a new segment each 15 minutes. Every tenth record is three
/// seconds late.
fn an_hour() -> Vec<Record> {
    let interval = |s: u32| {
        let service = latency_of((1..=20).map(|n| u64::from(n * (s % 7 + 1)) * 10_000));
        let (t_s, segment) = (f64::from(s), 1 + (s - 1) / 900);
        let ops = u64::from(s % 10 + 1) * 100;
        let own = Interval { t_s, length_s: 1.0, segment, ops, service, ..Interval::default() };
        Record::Interval(Box::new(own))
    };
    let mut records = Vec::new();
    for s in 1..=3600_u32 {
        if s % 900 == 1 {
            let (t_s, segment) = (f64::from(s - 1), 1 + (s - 1) / 900);
            let knobs = Knobs::default();
            records.push(Record::Segment(Segment::new(t_s, segment, knobs)));
        }
        if s % 10 != 0 {
            records.push(interval(s));
        }
        if s > 10 && s % 10 == 3 {
            records.push(interval(s - 3));
        }
    }
    records.push(interval(3600));
    records
}

fn stretch(reader: &mut Reader, asked: Reread) -> Arc<Excerpt> {
    let mut stretch = Excerpt::new(asked);
    let (from_s, to_s) = asked.reach_s();
    reader.reread(from_s, to_s, |record| stretch.push(&record)).unwrap();
    Arc::new(stretch)
}

#[test]
fn a_part_of_a_long_recording_is_read_again_in_full_detail() {
    let records = an_hour();
    let text: String = records.iter().map(|record| line(record).unwrap()).collect();
    let mut reader = open(format!("{}{text}", session()).as_bytes()).unwrap();
    let mut timeline = Timeline::default();
    while let Some(record) = reader.next_record().unwrap() {
        timeline.push(&record);
    }
    assert!(timeline.cell_s(700.0) >= 8.0, "the past of an hour is coarse: {}", timeline.cell_s(700.0));
    for (from_s, to_s) in [(690.0, 790.0), (0.0, 20.0), (890.0, 910.0), (3000.0, 3600.0)] {
        let asked = Reread { from_s, to_s, cell_s: 0.25, nodes: 1 };
        let began = reader.places.before(asked.reach_s().0).offset;
        let again = stretch(&mut reader, asked);
        let share = (reader.at.offset - began) as f64 / text.len() as f64;
        assert!(share < (to_s - from_s + 40.0) / 3600.0, "{share} of the file was read for {from_s}");
        timeline.refine(&again, 0);
        let window = timeline.window(from_s, to_s, (to_s - from_s) as usize * 2);
        let (load, levels) = (window.load(), window.levels(Measure::Service));
        for column in 0..load.len() {
            let s = from_s as u64 + column as u64 / 2 + 1;
            let (cell, levels) = (load[column].as_ref().unwrap(), levels[column].unwrap());
            assert_eq!(cell.ops_per_s(), Some(((s % 10 + 1) * 100) as f64), "{s}");
            assert_eq!(levels.get(Level::Max), Some((s % 7 + 1) * 200_000), "{s}");
        }
    }
    let asked = Reread { from_s: 600.0, to_s: 800.0, cell_s: 0.25, nodes: 1 };
    timeline.refine(&stretch(&mut reader, asked), 0);
    let now = |t_s| timeline.at(t_s).ops_per_s().map(f64::round);
    assert_eq!((now(705.0), now(707.0), now(709.0)), (Some(600.0), Some(800.0), Some(1000.0)));
    assert_eq!(timeline.at(705.0).service().now.max_ns(), (705 % 7 + 1) * 200_000);
    assert_eq!(timeline.at(705.0).segment().unwrap().start.segment, 1);
    let mark = Record::Mark(Mark { t_s: 10.0, text: "before this part".to_owned() });
    timeline.push(&mark);
    assert_eq!(timeline.window(600.0, 800.0, 800).marks().count(), 1);
}

#[test]
fn invalid_lines_in_a_part_read_again_have_their_line_numbers() {
    let mut lines: Vec<_> = an_hour().iter().map(|record| line(record).unwrap()).collect();
    lines.insert(1200, "x\n".to_owned());
    let mut reader = open((session() + &lines.concat()).as_bytes()).unwrap();
    let mut timeline = Timeline::default();
    while let Some(record) = reader.next_record().unwrap() {
        // A session without listed events shows the events of the part.
        if !matches!(record, Record::Event(_)) {
            timeline.push(&record);
        }
    }
    for (from_s, to_s, expected) in
        [(500.0, 600.0, 0), (1150.0, 1250.0, 1), (2000.0, 2100.0, 0), (1190.0, 1210.0, 1)]
    {
        let asked = Reread { from_s, to_s, cell_s: 0.25, nodes: 1 };
        timeline.refine(&stretch(&mut reader, asked), 0);
        let window = timeline.window(from_s, to_s, 10);
        let events: Vec<_> = window.events().filter(|event| event.t_s < 3000.0).collect();
        let words: Vec<_> = events.iter().map(|event| event.what.to_string()).collect();
        let is_line = |word: &String| word.starts_with("line 1202 is no record and is skipped");
        assert!(words.len() == expected && words.iter().all(is_line), "{from_s}: {words:?}");
    }
}

#[test]
fn a_real_recording_opens_completely() {
    let mut reader =
        Reader::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/recording.jsonl")))
            .unwrap();
    let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
    let text = include_str!("../../../../../tests/fixtures/recording.jsonl");
    assert_eq!(records.len(), text.lines().count(), "no line is skipped, and nothing is reported of any");
    let events = records.iter().filter(|record| matches!(record, Record::Event(_))).count();
    assert_eq!(events, text.matches("\"kind\":\"event\"").count());
}

#[test]
fn a_file_that_is_no_recording_is_refused_in_one_line() {
    let message = |text: &[u8]| open(text).unwrap_err().to_string();
    assert!(message(b"").contains("is empty"));
    for text in [&b"hello\n"[..], b"{}\n", b"\xff\xfe\n", &mark(1.0).into_bytes(), b"{\"kind\":\"session\"}"]
    {
        assert!(message(text).contains("is no recording of redyno"), "{text:?}");
    }
    for schema in [3, 5] {
        let other = message(format!("{{\"kind\":\"session\",\"schema\":{schema},\"new\":1}}\n").as_bytes());
        assert!(other.contains(&format!("records of schema {schema}, ")), "{other}");
        assert!(other.ends_with("reads schema 4: use the version that wrote this file"), "{other}");
    }
    assert!(message(&vec![b'x'; 5 << 20]).contains("is no recording"));
}
