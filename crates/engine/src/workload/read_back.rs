//! Creates the commands that read the records of a dataset back from the server, and the expected replies.
//!
//! ```text
//!  SET doc:__field:id__ __record__              ──► GET doc:7             $17 {"id":"7", …}
//!  HSET doc:__field:id__ title __field:title__  ──► HMGET doc:7 title     *1 $5 seven
//! ```
//! RESP2 always encodes the same reply in the same way, so redyno compares replies byte for byte.

use super::{
    Dataset, DatasetError, Workload, WorkloadError,
    dataset::CurrentRecord,
    step::{CommandStep, Fragment},
};
use crate::{protocol::Dialect, untrusted};

/// Creates the commands that read the records of a dataset back, record by record.
#[derive(Debug)]
pub struct ReadBack {
    dataset: Dataset,
    /// The number of records that have not been read back yet.
    left: u64,
    taken: CurrentRecord,
    steps: Vec<CommandStep>,
}

/// A command that reads a record back, with its expected replies as bytes of RESP2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCheck {
    /// The key of the record.
    pub key: Vec<u8>,
    /// The command that reads the key.
    pub question: Vec<u8>,
    /// The reply if the record is unchanged.
    pub answer: Vec<u8>,
    /// The reply if the key does not exist.
    pub nothing: Vec<u8>,
}

const SEVERAL: &str = "--verify needs a workload with one operation; with several operations, it is unknown which one wrote a record";

impl Workload {
    /// Returns the commands that read the first `most` records of the dataset back.
    ///
    /// # Errors
    /// Fails if redyno cannot know how the records were written.
    pub fn read_back(&self, most: u64) -> Result<ReadBack, WorkloadError> {
        let dataset = self.dataset.as_ref().ok_or_else(|| {
            WorkloadError::of("--verify reads the records of a file back; give the file with --dataset")
        })?;
        let mut asked = self.compiled_operations().filter(|(operation, _)| operation.weight > 0);
        let (Some((operation, compiled)), None) = (asked.next(), asked.next()) else {
            return Err(WorkloadError::of(SEVERAL));
        };
        let steps = compiled.steps.clone();
        if let Some(place) = steps.iter().position(|step| !can_be_read_back(step)) {
            let known = "only records written by SET key value or HSET key field value ...";
            return Err(invalid!(
                "--verify reads back {known}; it cannot check '{}'",
                operation.steps[place]
            ));
        }
        let dataset = dataset.first(u64::MAX);
        Ok(ReadBack { left: dataset.records.min(most), dataset, taken: CurrentRecord::default(), steps })
    }
}

fn can_be_read_back(step: &CommandStep) -> bool {
    let has_form = match (step.command().as_deref(), step.0.len()) {
        (Some("SET"), words) => words == 3,
        (Some("HSET" | "HMSET"), words) => words >= 4 && words % 2 == 0,
        _ => false,
    };
    let is_known = |fragment: &Fragment| matches!(fragment, Fragment::Text(_) | Fragment::OfRecord(_));
    has_form && step.fragments().all(is_known)
}

impl ReadBack {
    /// Returns the same commands, starting again at the first record.
    #[must_use]
    pub fn again(&self) -> Self {
        let (dataset, taken) = (self.dataset.first(u64::MAX), CurrentRecord::default());
        Self { dataset, left: self.left, taken, steps: self.steps.clone() }
    }

    /// Returns the commands that read the next record back, one command for each step. The result is empty after the
    /// last record.
    ///
    /// # Errors
    /// Fails if the record cannot be read.
    pub fn next_record(&mut self) -> Result<Vec<RecordCheck>, DatasetError> {
        if self.left == 0 {
            return Ok(Vec::new());
        }
        self.left -= 1;
        self.dataset.take(&mut self.taken);
        if let Some(failure) = self.taken.failure() {
            return Err(failure.clone());
        }
        Ok(self.steps.iter().map(|step| self.check_of(step)).collect())
    }

    fn check_of(&self, step: &CommandStep) -> RecordCheck {
        let words: Vec<_> = step.0.iter().map(|word| self.word(word)).collect();
        // Only HSET has fields. If a command contains a field twice, the last value counts.
        let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
        for pair in words[2..].chunks_exact(2) {
            fields.retain(|(name, _)| *name != pair[0]);
            fields.push((&pair[0], &pair[1]));
        }
        let (verb, list) = match fields.len() {
            0 => (&b"GET"[..], String::new()),
            n => (&b"HMGET"[..], format!("*{n}\r\n")),
        };
        let values =
            if fields.is_empty() { vec![&words[2][..]] } else { fields.iter().map(|f| f.1).collect() };
        let question: Vec<_> = [verb, &words[1]].into_iter().chain(fields.iter().map(|f| f.0)).collect();
        let bulk = |value: &&[u8]| [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat();
        RecordCheck {
            question: Dialect::Resp2.encode(&question),
            answer: [list.as_bytes(), &values.iter().map(bulk).collect::<Vec<_>>().concat()].concat(),
            nothing: [list.as_bytes(), &b"$-1\r\n".repeat(values.len())].concat(),
            key: words[1].clone(),
        }
    }

    fn word(&self, word: &[Fragment]) -> Vec<u8> {
        let part = |fragment: &Fragment| match fragment {
            Fragment::Text(text) => text.clone(),
            Fragment::OfRecord(portion) => {
                let number = self.dataset.number(portion).map(usize::from);
                number.map(|number| self.taken.field(number).to_vec()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        word.iter().flat_map(part).collect()
    }
}

impl RecordCheck {
    /// Returns the key in a printable form.
    pub fn shown_key(&self) -> String {
        untrusted::at_most(&self.key, 80)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str], file: &std::path::Path) -> Result<ReadBack, WorkloadError> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        Workload::of_commands(&words).unwrap().with_dataset(file, None).unwrap().read_back(2)
    }

    #[test]
    fn written_records_are_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("docs.csv");
        std::fs::write(&file, "id,title\n1,one\n2,\n3,three\n").unwrap();
        let mut set = of(&["set", "d:__field:id__", "<__field:title__>"], &file).unwrap();
        let asked = set.next_record().unwrap();
        assert_eq!(asked[0].question, b"*2\r\n$3\r\nGET\r\n$3\r\nd:1\r\n");
        assert_eq!((&asked[0].answer[..], &asked[0].nothing[..]), (&b"$5\r\n<one>\r\n"[..], &b"$-1\r\n"[..]));
        assert_eq!(
            (set.next_record().unwrap()[0].shown_key(), set.next_record().unwrap()),
            ("d:2".to_owned(), Vec::new())
        );
        let mut hset =
            of(&["HSET", "__field:id__", "t", "x", "i", "__field:id__", "t", "__field:title__"], &file)
                .unwrap();
        let asked = hset.next_record().unwrap().remove(0);
        assert_eq!(asked.question, b"*4\r\n$5\r\nHMGET\r\n$1\r\n1\r\n$1\r\ni\r\n$1\r\nt\r\n");
        assert_eq!(asked.answer, b"*2\r\n$1\r\n1\r\n$3\r\none\r\n");
        assert_eq!(asked.nothing, b"*2\r\n$-1\r\n$-1\r\n");
        for words in [
            &["SET", "{key}", "__field:id__"][..],
            &["SET", "__field:id__", "{value}"],
            &["SET", "__field:id__", "x", "EX", "9"],
            &["HSET", "__field:id__", "x"],
            &["APPEND", "__field:id__", "x"],
        ] {
            let error = of(words, &file).map(drop).unwrap_err().to_string();
            assert!(
                error.starts_with("--verify reads back only records written by SET key value or HSET "),
                "{words:?}: {error}"
            );
        }
        let several = of(&["SET", "__field:id__", "x", ";", "SET", "__field:id__", "y"], &file);
        assert_eq!(several.unwrap_err(), WorkloadError::of(SEVERAL));
    }
}
