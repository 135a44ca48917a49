//! A recording that ends at any byte, packed or not, is read up to there and is said to be cut; one of any number of segments is
//! exported in memory that does not grow with them.

use std::{fs, io::Write as _, path::Path};

use redyno::{
    export::{Format, Rows},
    session::{Reader, Record},
};

use super::{
    Dice, cases, heap,
    recordings::{Sample, read},
};

/// Segments of a long recording, and of one eight times as long.
const SEGMENTS: [u32; 2] = [300, 2400];

#[test]
fn a_recording_that_ends_at_any_byte_is_read_up_to_there() {
    let (sample, folder) = (Sample::new(), tempfile::tempdir().unwrap());
    let [plain, packed] = ["cut.jsonl", "cut.jsonl.zst"].map(|name| folder.path().join(name));
    for case in cases("recordings that end at any byte", 20) {
        let dice = &mut Dice::new(case);
        let mut chosen: Vec<_> = (0..4).map(|_| sample.pick(dice)).collect();
        chosen.sort_unstable();
        let mut text = format!("{}\n", sample.session);
        let head = text.len();
        chosen.iter().for_each(|n| text += &format!("{}\n", sample.records[*n]));
        let is_packed = dice.once_in(3);
        let (path, bytes) = if is_packed {
            (&packed, zstd::encode_all(text.as_bytes(), 1).unwrap())
        } else {
            (&plain, text.clone().into_bytes())
        };
        let end = dice.below(bytes.len() + 1);
        fs::write(path, &bytes[..end]).unwrap();
        let Some(records) = read(path) else {
            assert!(is_packed || end < head, "case {case}: refused at {end} of {}", bytes.len());
            continue;
        };
        let told =
            |record: &Record| matches!(record, Record::Event(event) if event.what.name() == "recording");
        let last = records.last().unwrap();
        let has_end = records.iter().any(|record| matches!(&**record, Record::End(_)));
        assert!(has_end || told(last), "case {case}: cut at {end} of {} and not told: {last:?}", bytes.len());
        if !is_packed {
            let whole = text[..end].matches('\n').count();
            let found = records.iter().filter(|record| !told(record)).count();
            // A line may be whole without its end.
            assert!((whole..=whole + 1).contains(&found), "case {case}: {found} of {whole}, cut at {end}");
        }
    }
}

#[test]
fn the_memory_of_an_export_does_not_grow_with_the_segments() {
    let (sample, folder) = (Sample::new(), tempfile::tempdir().unwrap());
    let path = folder.path().join("many.jsonl");
    let shortest = |kind: &str| {
        let of_kind = sample.records.iter().filter(|record| record["kind"] == kind);
        of_kind.min_by_key(|record| record.to_string().len()).unwrap().clone()
    };
    let (mut segment, mut interval) = (shortest("segment"), shortest("interval"));
    for format in Format::ALL {
        let most = SEGMENTS.map(|segments| {
            let mut file = std::io::BufWriter::new(fs::File::create(&path).unwrap());
            writeln!(file, "{}", sample.session).unwrap();
            for number in 1..=segments {
                for record in [&mut segment, &mut interval] {
                    (record["segment"], record["t_s"]) = (number.into(), f64::from(number).into());
                    writeln!(file, "{record}").unwrap();
                }
            }
            file.flush().unwrap();
            drop(file);
            heap::measured(|| export(&path, format)).1
        });
        // Eight times as many may need some tables of twice the size, and not of eight times.
        assert!(most[1] < 3 * most[0], "{}: {most:?} bytes for {SEGMENTS:?} segments", format.name());
    }
}

fn export(path: &Path, format: Format) {
    let mut reader = Reader::open(path).unwrap();
    let mut sink = format.sink(Rows::ALL[0], None);
    while let Some(record) = reader.next_record().unwrap() {
        drop(sink.push(&record));
    }
    drop(sink.finish());
}
