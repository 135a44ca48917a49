//! A recording that ends at any byte, packed or not, is read up to there and is said to be cut.

use std::fs;

use redyno::session::Record;

use super::{
    Dice, cases,
    recordings::{Sample, read},
};

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
        let shown =
            |record: &Record| matches!(record, Record::Event(event) if event.what.name() == "recording");
        let last = records.last().unwrap();
        let has_end = records.iter().any(|record| matches!(&**record, Record::End(_)));
        assert!(
            has_end || shown(last),
            "case {case}: cut at {end} of {} and not shown: {last:?}",
            bytes.len()
        );
        if !is_packed {
            let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let found = records.iter().filter(|record| !shown(record)).count();
            // A line may be whole without its end.
            assert!((whole..=whole + 1).contains(&found), "case {case}: {found} of {whole}, cut at {end}");
        }
    }
}
