//! What can be sent of a record, and the placeholder that stands for it.

use std::{collections::BTreeSet, fmt};

use super::{error::Fault, fields::Fields};
use crate::untrusted;

/// What is sent of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portion {
    /// The field with this name: `__field:NAME__`.
    Field(String),
    /// All of it as a JSON object: `__record__`. Of JSON lines it is the line.
    Whole,
}

const WHOLE: &str = "__record__";

impl Portion {
    /// What a placeholder stands for, if it is one of these.
    pub(in crate::workload) fn of(placeholder: &str) -> Option<Self> {
        if placeholder == WHOLE {
            return Some(Self::Whole);
        }
        let name = placeholder.strip_prefix("__field:")?.strip_suffix("__")?;
        (!name.is_empty()).then(|| Self::Field(name.to_owned()))
    }

    /// Its placeholder, in parts.
    pub(in crate::workload) fn placeholder(&self) -> [&str; 3] {
        match self {
            Self::Field(name) => ["__field:", name, "__"],
            Self::Whole => [WHOLE, "", ""],
        }
    }
}

impl fmt::Display for Portion {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.placeholder().concat())
    }
}

/// Appends the JSON object of a record, all of whose fields are texts: `{"id":"1","title":"…"}`.
pub(super) fn push_object<'a>(
    line: u64,
    record: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    to: &mut Fields,
) -> Result<(), Fault> {
    let text = |bytes| {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Fault::at(line, "JSON is UTF-8, and the record is not"))?;
        serde_json::to_string(text).map_err(|error| Fault::at(line, error))
    };
    let mut known = BTreeSet::new();
    for (name, field) in record {
        if !known.insert(name) {
            let name = untrusted::bytes(name);
            let what = format!("the record has two fields '{name}', a JSON object has one of each");
            return Err(Fault::at(line, what));
        }
        let before = if known.len() == 1 { "{" } else { "," };
        to.extend([before, &text(name)?, ":", &text(field)?].concat().as_bytes());
    }
    to.extend(b"}");
    to.end();
    Ok(())
}
