//! The parameters of the YCSB workloads, which are properties of YCSB's core workload. The parameters set the names,
//! fields and number of records, the key distribution, and the mix of operations.

use std::ops::RangeInclusive;

use super::records::{RecordType, YcsbFields};
use crate::{
    units::parse_count,
    workload::{
        Content, Distribution, KeyNaming, Settings, Size, ValueKind, WorkloadError, parameters::wrong_value,
    },
};

/// The parameters that all YCSB workloads have, with the names of YCSB's properties.
const PARAMETERS: [&str; 25] = [
    "commandgroup",
    "dataintegrity",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldnameprefix",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "index",
    "insertcount",
    "insertorder",
    "insertstart",
    "layout",
    "maxscanlength",
    "minfieldlength",
    "minscanlength",
    "operationcount",
    "readallfields",
    "recordcount",
    "requestdistribution",
    "table",
    "target",
    "threads",
    "writeallfields",
    "zeropadding",
];

/// The additional parameters of the workload `ycsb`: the share of each operation, with its default.
const PROPORTIONS: [(&str, f64); 5] = [
    ("readproportion", 0.95),
    ("updateproportion", 0.05),
    ("insertproportion", 0.0),
    ("scanproportion", 0.0),
    ("readmodifywriteproportion", 0.0),
];
/// Returns the names of all parameters of the workload `ycsb`.
pub fn ycsb_parameters() -> impl Iterator<Item = &'static str> {
    PARAMETERS.into_iter().chain(PROPORTIONS.iter().map(|(name, _)| *name))
}

/// Proportions are rounded to this precision.
const SMALLEST_PART: f64 = 1e-4;

/// The maximum number of fields in a record. A command has at least one word for each field.
const MAX_FIELDS: u64 = 1000;
/// The maximum number of records, which is also the maximum number of keys.
const MAX_RECORDS: u64 = 999_999_999_999;
const MAX_SCAN: u64 = 1_000_000;
/// The maximum length of a field with a random length, in bytes.
const MAX_SIZES: u32 = 10_000;

/// The values of the parameters.
pub(super) struct Properties {
    pub(super) group: RecordType,
    pub(super) fields: YcsbFields,
    pub(super) field_length: u32,
    /// The sizes of values. `None` if all values have the length `field_length`.
    pub(super) sizes: Option<ValueKind>,
    pub(super) is_indexed: bool,
    /// The text before `user` in the names of records.
    pub(super) table: String,
    pub(super) naming: KeyNaming,
    /// The minimum number of digits in the names of records.
    pub(super) digits: u8,
    /// The number of the first record, and the number of records.
    pub(super) first: u64,
    pub(super) records: u64,
    /// The lengths of the shortest and the longest scan.
    pub(super) scans: (u64, u64),
    pub(super) distribution: Option<Distribution>,
    /// The weights of the operations, if proportions are set.
    pub(super) mix: Option<[u32; 5]>,
    pub(super) operations: Option<u64>,
    pub(super) clients: Option<u32>,
    pub(super) rate: Option<u32>,
}

impl Properties {
    /// Reads the parameters. `has_proportions` is true if the proportions of the operations are parameters too.
    pub(super) fn of(settings: &Settings, has_proportions: bool) -> Result<Self, WorkloadError> {
        match has_proportions {
            true => settings.only(ycsb_parameters())?,
            false => settings.only(PARAMETERS)?,
        }
        let group = word(settings, "commandgroup", &RecordType::ALL)?.unwrap_or(RecordType::Hash);
        let is_go = word(settings, "layout", &[("ycsb", false), ("go-ycsb", true)])?.unwrap_or(false);
        let field_length = number32(settings, "fieldlength")?.unwrap_or(100);
        let is_go_string = is_go && group == RecordType::Json;
        let is_base64 = is_go_string || group == RecordType::JsonDocument;
        let (value, sizes) = value(settings, field_length, is_base64)?;
        let all_written = truth(settings, "writeallfields", false)?;
        let fields = YcsbFields {
            count: number(settings, "fieldcount", 1..=MAX_FIELDS)?.unwrap_or(group.usual_fields()),
            name: plain(settings, "fieldnameprefix")?.unwrap_or("field").to_owned(),
            all_read: truth(settings, "readallfields", true)?,
            all_written,
            are_merged: is_go_string,
            value,
            derived: truth(settings, "dataintegrity", false)?.then_some(field_length),
        };
        if fields.derived.is_some()
            && !(group == RecordType::Hash && !is_go && sizes.is_none() && fields.all_read)
        {
            let why = "it needs commandgroup=hash, layout=ycsb, fieldlengthdistribution=constant and readallfields=true";
            return Err(wrong_value("dataintegrity", "true", why));
        }
        let all = number(settings, "recordcount", 1..=MAX_RECORDS)?.unwrap_or(1000);
        let first = number(settings, "insertstart", 0..=MAX_RECORDS)?.unwrap_or(0);
        let records = match number(settings, "insertcount", 1..=MAX_RECORDS)? {
            Some(records) => records,
            None if first < all => all - first,
            None => {
                let why = format!("recordcount is {all}; give a lower insertstart, or also give insertcount");
                return Err(wrong_value("insertstart", &first.to_string(), why));
            }
        };
        let hash = if is_go { KeyNaming::GoYcsb } else { KeyNaming::Ycsb };
        Ok(Self {
            group,
            fields,
            field_length,
            sizes,
            is_indexed: truth(settings, "index", !is_go)?,
            table: match (plain(settings, "table")?, is_go) {
                (table, true) => format!("{}/", table.unwrap_or("usertable")),
                (table, false) => table.map(|table| format!("{table}-")).unwrap_or_default(),
            },
            naming: word(settings, "insertorder", &[("hashed", hash), ("ordered", KeyNaming::Number)])?
                .unwrap_or(hash),
            digits: number(settings, "zeropadding", 1..=20)?.unwrap_or(0) as u8,
            first,
            records,
            scans: scan_lengths(settings)?,
            distribution: distribution(settings)?,
            mix: if has_proportions { mix(settings)? } else { None },
            operations: number(settings, "operationcount", 1..=u64::MAX)?,
            clients: number32(settings, "threads")?,
            rate: number32(settings, "target")?,
        })
    }
}

/// Returns the shortest and the longest scan, in records.
fn scan_lengths(settings: &Settings) -> Result<(u64, u64), WorkloadError> {
    let longest = number(settings, "maxscanlength", 1..=MAX_SCAN)?.unwrap_or(100);
    let shortest = number(settings, "minscanlength", 1..=MAX_SCAN)?.unwrap_or(1);
    if shortest > longest {
        let why = format!("maxscanlength is {longest}; give at most this number");
        return Err(wrong_value("minscanlength", &shortest.to_string(), why));
    }
    Ok((shortest, longest))
}

/// Returns the sizes of values. Returns `None` if all values have the length `longest`.
fn sizes(settings: &Settings, longest: u32) -> Result<Option<ValueKind>, WorkloadError> {
    const NAME: &str = "fieldlengthdistribution";
    let kind = word(settings, NAME, &[("constant", 0), ("uniform", 1), ("zipfian", 2)])?.unwrap_or(0);
    let shortest = number32(settings, "minfieldlength")?.unwrap_or(1);
    if kind > 0 && !(shortest..=MAX_SIZES).contains(&longest) {
        let why = format!("with {NAME} it must be between minfieldlength and {MAX_SIZES}");
        return Err(wrong_value("fieldlength", &longest.to_string(), why));
    }
    // Zipf's law with the exponent of YCSB, as whole weights.
    let weight = |size: u32| (1e6 / f64::from(size - shortest + 1).powf(0.99)).round() as u32;
    let size = match kind {
        0 => return Ok(None),
        1 => Size::Range { from: shortest, to: longest },
        _ => Size::Weights((shortest..=longest).map(|size| (size, weight(size))).collect()),
    };
    Ok(Some(ValueKind { size, ..ValueKind::default() }))
}

/// Returns the placeholder of a value with this length, and the sizes of the value's random part. The sizes are `None`
/// if all values have this length. For JSON of go-ycsb, the value is encoded in base64.
fn value(
    settings: &Settings,
    bytes: u32,
    is_base64: bool,
) -> Result<(String, Option<ValueKind>), WorkloadError> {
    let sizes = sizes(settings, bytes)?;
    if !is_base64 {
        return Ok(("{value}".to_owned(), sizes));
    }
    if sizes.is_some() {
        let why = "the JSON of go-ycsb needs fieldlengthdistribution=constant";
        return Err(wrong_value("layout", "go-ycsb", why));
    }
    let random = ValueKind { size: Size::Bytes(bytes / 3 * 4), content: Content::Base64 };
    let last = ["", "AA==", "AAA="][bytes as usize % 3];
    Ok(if bytes < 3 { (last.to_owned(), None) } else { (format!("{{value}}{last}"), Some(random)) })
}

/// Returns the weights of the operations. The weights are the smallest whole numbers with these proportions.
fn mix(settings: &Settings) -> Result<Option<[u32; 5]>, WorkloadError> {
    if PROPORTIONS.iter().all(|(name, _)| settings.get(name).is_none()) {
        return Ok(None);
    }
    let mut weights = [0; 5];
    for ((name, usual), weight) in PROPORTIONS.into_iter().zip(&mut weights) {
        let share = share(settings, name)?.unwrap_or(usual);
        *weight = (share / SMALLEST_PART).round() as u32;
        if *weight == 0 && share > 0.0 {
            let why = format!("it must be 0, or at least {SMALLEST_PART}");
            return Err(wrong_value(name, &share.to_string(), why));
        }
    }
    // A workload file of YCSB contains every proportion above 0.
    let divisor = weights.into_iter().fold(0, greatest_divisor);
    if divisor == 0 {
        return Err(WorkloadError::of("all proportions are 0; give one of them a value above 0".to_owned()));
    }
    Ok(Some(weights.map(|weight| weight / divisor)))
}

fn greatest_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Returns the parameter `name` as a share between 0 and 1.
fn share(settings: &Settings, name: &str) -> Result<Option<f64>, WorkloadError> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(Some(share)),
        _ => Err(wrong_value(name, text, "it must be between 0 and 1")),
    }
}

/// Returns the parameter `name` as a part of a name. The parameter must not contain characters that have a
/// special meaning in steps.
fn plain<'a>(settings: &'a Settings, name: &str) -> Result<Option<&'a str>, WorkloadError> {
    let text = settings.get(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    match text.filter(|text| text.is_empty() || !text.chars().all(is_plain)) {
        Some(text) => Err(wrong_value(name, text, "it must have only letters, digits and -_.:")),
        None => Ok(text),
    }
}

/// Returns the parameter `name` as a whole number in this range.
fn number(settings: &Settings, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, WorkloadError> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    let number = parse_count(text).map_err(|error| wrong_value(name, text, error))?;
    if range.contains(&number) {
        return Ok(Some(number));
    }
    let (from, to) = (range.start(), range.end());
    Err(wrong_value(name, text, format!("it must be between {from} and {to}")))
}

fn number32(settings: &Settings, name: &str) -> Result<Option<u32>, WorkloadError> {
    let number = number(settings, name, 1..=u32::MAX.into())?;
    Ok(number.and_then(|number| u32::try_from(number).ok()))
}

/// Returns the parameter `name` as one of these words.
fn word<T: Copy>(settings: &Settings, name: &str, words: &[(&str, T)]) -> Result<Option<T>, WorkloadError> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == text);
    let names = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    found
        .map(|(_, means)| Some(*means))
        .ok_or_else(|| wrong_value(name, text, format!("there are {}", names())))
}

fn truth(settings: &Settings, name: &str, usual: bool) -> Result<bool, WorkloadError> {
    Ok(word(settings, name, &[("true", true), ("false", false)])?.unwrap_or(usual))
}

/// Returns the distribution of the keys. `zipfian` is YCSB's scrambled distribution. `zipfian 1.1` is redyno's own
/// distribution.
fn distribution(settings: &Settings) -> Result<Option<Distribution>, WorkloadError> {
    const NAME: &str = "requestdistribution";
    match settings.get(NAME) {
        None => Ok(None),
        Some("zipfian") => Ok(Some(Distribution::YcsbZipfian)),
        Some("hotspot") => {
            let keys = share(settings, "hotspotdatafraction")?.unwrap_or(0.2);
            Ok(Some(Distribution::Hotspot {
                keys,
                share: share(settings, "hotspotopnfraction")?.unwrap_or(0.8),
            }))
        }
        Some(text) => text.parse().map(Some).map_err(|error| wrong_value(NAME, text, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proportion_that_would_be_rounded_to_0_is_refused() {
        let of = |share: &str| {
            let settings = [("readproportion", "1"), ("updateproportion", "0"), ("insertproportion", share)];
            let settings = settings.map(|(name, value)| format!("{name}={value}").parse().unwrap());
            mix(&Settings::from(settings.to_vec())).map_err(|error| error.to_string())
        };
        assert_eq!((of("0"), of("0.00006")), (Ok(Some([1, 0, 0, 0, 0])), Ok(Some([10_000, 0, 1, 0, 0]))));
        let error = "the value of 'insertproportion' cannot be '0.00004': it must be 0, or at least 0.0001";
        assert_eq!(of("0.00004"), Err(error.to_owned()));
    }
}
