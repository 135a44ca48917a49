//! The workloads of YCSB: the load phase and the workloads A to F. Records have one of several data types.
//!
//! ```text
//! ycsb        proportions and everything else by parameters
//!            READ  UPDATE  INSERT  SCAN  READ-MODIFY-WRITE   keys
//! ycsb-load                   100                            one after the other
//! ycsb-a       50      50                                    zipfian, as YCSB scrambles it
//! ycsb-b       95       5                                    zipfian
//! ycsb-c      100                                            zipfian
//! ycsb-d       95               5                            latest
//! ycsb-e                        5    95                      zipfian
//! ycsb-f       50                                       50   zipfian
//! ```
//! Proportions, key names and distributions come from YCSB's workload files. As in YCSB's Redis binding, a sorted set
//! with the names of all records is the index for scans. The index has the order of Java's `hashCode` of the names.

use std::{collections::BTreeMap, sync::Arc};

use super::{records::RecordType, ycsb_properties::Properties};
use crate::workload::{
    Distribution, KeyNaming, Keyset, Operation, Settings, Size, Steps, Suggested, Together, ValueKind,
    Workload, WorkloadChoice, WorkloadError, parameters::wrong_value,
};

/// A function that creates a workload from the values of its parameters.
pub(super) type Make = fn(&Settings) -> Result<WorkloadChoice, WorkloadError>;

/// The functions for all workloads of YCSB, in the order in which they are listed.
pub(super) const ALL: [Make; 8] = [
    |settings| make(&Mix::own(), settings),
    |settings| make(&Mix::load(), settings),
    |settings| make(&Mix::of("a", "half reads, half updates; zipfian", [50, 50, 0, 0, 0]), settings),
    |settings| make(&Mix::of("b", "95 % reads, 5 % updates; zipfian", [95, 5, 0, 0, 0]), settings),
    |settings| make(&Mix::of("c", "only reads; zipfian", [100, 0, 0, 0, 0]), settings),
    |settings| {
        make(&Mix::latest("d", "95 % reads of the latest records, 5 % inserts", [95, 0, 5, 0, 0]), settings)
    },
    |settings| make(&Mix::of("e", "95 % scans, 5 % inserts; zipfian", [0, 0, 5, 95, 0]), settings),
    |settings| {
        make(&Mix::of("f", "half reads, half read-modify-writes; zipfian", [50, 0, 0, 0, 50]), settings)
    },
];

/// The mix of operations in a YCSB workload.
struct Mix {
    name: &'static str,
    about: String,
    /// The percentages of READ, UPDATE, INSERT, SCAN and READ-MODIFY-WRITE.
    percent: [u32; 5],
    drawn: Distribution,
}

impl Mix {
    fn of(name: &'static str, about: &str, percent: [u32; 5]) -> Self {
        let about = format!("YCSB {}: {about}", name.to_uppercase());
        Self { name, about, percent, drawn: Distribution::YcsbZipfian }
    }

    fn latest(name: &'static str, about: &str, percent: [u32; 5]) -> Self {
        Self { drawn: Distribution::Latest(0.99), ..Self::of(name, about, percent) }
    }

    fn load() -> Self {
        let about = "YCSB's load phase: inserts each record once".to_owned();
        Self { name: "load", about, percent: [0, 0, 100, 0, 0], drawn: Distribution::Sequential }
    }

    /// Returns the default mix of YCSB's core workload. The proportions of this mix can be set by parameters.
    fn own() -> Self {
        let about = "YCSB's core workload with properties of your own".to_owned();
        Self { name: "ycsb", about, percent: [95, 5, 0, 0, 0], drawn: Distribution::Uniform }
    }

    fn is_own(&self) -> bool {
        self.name == "ycsb"
    }

    fn is_load(&self) -> bool {
        self.name == "load"
    }
}

impl Properties {
    /// Returns the steps that insert the record `key` and add its name to the index.
    fn inserts(&self, key: &str, hash: &str) -> Vec<String> {
        let index = self.is_indexed.then(|| format!("ZADD {{index}} {hash} {{user.same}}"));
        [self.group.insert(key, &self.fields)].into_iter().chain(index).collect()
    }

    fn operations(&self, mix: &Mix) -> Vec<Operation> {
        let group = self.group;
        let new = if mix.is_load() { "{user}" } else { "{user.new}" };
        let fields = &self.fields;
        let modify = group.read(fields, true).into_iter().chain(group.update("{user.same}", fields));
        let steps = [
            ("READ", group.read(fields, false)),
            ("UPDATE", group.update("{user}", fields)),
            ("INSERT", self.inserts(new, "{user.same.hash}")),
            ("SCAN", vec![group.scan(self.scans)]),
            ("READ-MODIFY-WRITE", modify.collect()),
        ];
        let asked =
            steps.into_iter().zip(self.mix.unwrap_or(mix.percent)).filter(|(_, percent)| *percent > 0);
        let operation = |((name, steps), weight): ((&str, Vec<String>), u32)| Operation {
            name: name.to_owned(),
            weight,
            together: match name {
                "READ-MODIFY-WRITE" => Together::Sequence,
                "UPDATE" if fields.are_merged => Together::Sequence,
                _ => Together::Pipeline,
            },
            writes: (name == "SCAN").then_some(false),
            expects: self.fields.expected().filter(|_| name.starts_with("READ")),
            steps,
            ..Operation::default()
        };
        asked.map(operation).collect()
    }

    /// Returns the kinds of values. A field of a document is in base64 when it is inserted, and plain when it is
    /// updated.
    fn values(&self) -> BTreeMap<String, ValueKind> {
        let plain = ValueKind { size: Size::Bytes(self.field_length), ..ValueKind::default() };
        let plain = (self.group == RecordType::JsonDocument).then_some(("plain", plain));
        let kinds = self.sizes.clone().map(|kind| ("value", kind)).into_iter().chain(plain);
        kinds.map(|(name, kind)| (name.to_owned(), kind)).collect()
    }

    fn load(&self, mix: &Mix) -> Suggested {
        Suggested {
            clients: self.clients,
            rate: self.rate,
            keys: Some(self.records),
            data_size: self.sizes.is_none().then_some(self.field_length),
            requests: self.operations.or(mix.is_load().then_some(self.records)),
            ..Suggested::default()
        }
    }
}

fn make(mix: &Mix, settings: &Settings) -> Result<WorkloadChoice, WorkloadError> {
    let read = Properties::of(settings, mix.is_own())?;
    let operations = read.operations(mix);
    let is_scanned = operations.iter().any(|operation| operation.name == "SCAN");
    if !read.is_indexed && is_scanned {
        return Err(wrong_value("index", "false", "scans need the index; set it to true"));
    }
    let is_changed = |operation: &Operation| ["UPDATE", "READ-MODIFY-WRITE"].contains(&&*operation.name);
    if read.fields.derived.is_some() && !read.fields.all_written && operations.iter().any(is_changed) {
        let why = "updates of one random field have no derived values; set writeallfields=true";
        return Err(wrong_value("dataintegrity", "true", why));
    }
    let user = Keyset {
        prefix: format!("{}user", read.table),
        naming: read.naming,
        first: read.first,
        digits: read.digits,
        distribution: read.distribution.unwrap_or(mix.drawn),
        ..Keyset::default()
    };
    let index = Keyset {
        prefix: "_indices".to_owned(),
        naming: KeyNaming::Nothing,
        count: Some(1),
        ..Keyset::default()
    };
    let index = read.is_indexed.then(|| ("index".to_owned(), index));
    let workload = Workload {
        name: if mix.is_own() { mix.name.to_owned() } else { format!("ycsb-{}", mix.name) },
        about: mix.about.clone(),
        keys: [("user".to_owned(), user)].into_iter().chain(index).collect(),
        values: read.values(),
        operations,
        prefill: Steps {
            steps: if mix.is_load() { Vec::new() } else { read.inserts("{user}", "{user.hash}") },
        },
        ..Workload::default()
    };
    Ok(WorkloadChoice { workload: Arc::new(workload), load: read.load(mix) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::ParameterValue;

    fn made(name: &str, settings: &[&str]) -> Result<WorkloadChoice, String> {
        let settings: Vec<ParameterValue> = settings.iter().map(|text| text.parse().unwrap()).collect();
        WorkloadChoice::find(name, &Settings::from(settings)).map_err(|error| error.to_string())
    }

    /// Returns the workload's operations with their weights and steps.
    fn asked(name: &str, settings: &[&str]) -> Vec<String> {
        let operation = |operation: &Operation| {
            format!("{} {}: {}", operation.weight, operation.name, operation.steps.join("; "))
        };
        made(name, settings).unwrap().workload.operations.iter().map(operation).collect()
    }

    #[test]
    fn every_workload_of_every_group_is_valid_and_is_read_back() {
        for make in ALL {
            for (group, _) in RecordType::ALL {
                let settings = vec![format!("commandgroup={group}").parse().unwrap()];
                let chosen = make(&Settings::from(settings)).unwrap();
                let name = &chosen.workload.name;
                assert_eq!(chosen.workload.check(), Ok(()), "{name} {group}");
                let read = WorkloadChoice::parse(&chosen.to_string(), (name, name), &Settings::default());
                assert_eq!(read.as_ref(), Ok(&chosen), "{name} {group}");
                assert!(chosen.workload.literal_writes().is_empty(), "{name} {group}");
                let percent: u32 = chosen.workload.operations.iter().map(|operation| operation.weight).sum();
                assert_eq!(percent, 100, "{name}");
            }
        }
    }

    #[test]
    fn records_use_the_commands_of_their_group() {
        let fields = "fieldcount=2";
        let hash = ["50 READ: HGETALL {user}", "50 UPDATE: HSET {user} field{number 0..1} {value}"];
        assert_eq!(asked("ycsb-a", &[fields]), hash);
        let set = [
            "50 READ: SMEMBERS {user}",
            "50 READ-MODIFY-WRITE: SMEMBERS {user}; SADD {user.same} {value}; SPOP {user.same}",
        ];
        assert_eq!(asked("ycsb-f", &[fields, "commandgroup=set"]), set);
        let list = [
            "95 READ: LRANGE {user} 0 -1",
            "5 INSERT: RPUSH {user.new} {value} {value}; ZADD {index} {user.same.hash} {user.same}",
        ];
        assert_eq!(asked("ycsb-d", &[fields, "commandgroup=list"]), list);
        let string = ["100 INSERT: SET {user} {value}{value}"];
        assert_eq!(asked("ycsb-load", &[fields, "commandgroup=string", "index=false"]), string);
        let document = [
            "50 READ: JSON.GET {user} $.field0; JSON.GET {user.same} $.field1",
            r#"50 READ-MODIFY-WRITE: JSON.GET {user} $.field0 $.field1; JSON.SET {user.same} $.field{number 0..1} "\"{plain}\"""#,
        ];
        assert_eq!(asked("ycsb-f", &[fields, "commandgroup=json-document"]), document);
        let go =
            ["layout=go-ycsb", "commandgroup=json", "fieldlength=3", "fieldcount=1", "writeallfields=true"];
        let merged = r#"50 UPDATE: GET {user}; SET {user.same} {"field0":"{value}"} XX"#;
        assert_eq!([asked("ycsb-a", &go[..4]), asked("ycsb-a", &go)].map(|all| all[1].clone()), [merged; 2]);
        let scan = &asked("ycsb-e", &["commandgroup=zset", "maxscanlength=7"])[1];
        assert!(
            scan.starts_with("95 SCAN: EVAL") && scan.ends_with("1 {index} {user.hash} {number 1..7}"),
            "{scan}"
        );
        assert!(scan.contains("redis.call('ZRANGE',key,0,-1)"), "{scan}");
        let scans = |name| made(name, &[]).unwrap().workload.scans_records();
        assert!(scans("ycsb-e") && !scans("ycsb-a") && !scans("ycsb-load"));
        let indexes = |name, set| made(name, set).unwrap().workload.indexes_records();
        assert!(["ycsb-load", "ycsb-d", "ycsb-e"].iter().all(|name| indexes(name, &[])));
        assert!(!indexes("ycsb-a", &[]) && !indexes("ycsb-load", &["index=false"]));
        let f = made("ycsb-f", &[]).unwrap().workload;
        assert_eq!(f.operations[1].together, Together::Sequence);
        let writes = |workload: &Workload, place: usize| workload.compiled().operations[place].writes;
        assert!(writes(&f, 1) && !writes(&made("ycsb-c", &[]).unwrap().workload, 0));
    }

    #[test]
    fn properties_of_the_core_workload_shape_records_names_and_proportions() {
        let settings = [
            "readproportion=0.5",
            "updateproportion=0.45",
            "insertproportion=0.05",
            "fieldcount=2",
            "readallfields=false",
            "writeallfields=true",
            "fieldnameprefix=f",
            "index=false",
            "insertorder=ordered",
            "zeropadding=8",
            "insertstart=100",
            "recordcount=1000",
        ];
        let operations = [
            "10 READ: HMGET {user} f{number 0..1}",
            "9 UPDATE: HSET {user} f0 {value} f1 {value}",
            "1 INSERT: HSET {user.new} f0 {value} f1 {value}",
        ];
        assert_eq!(asked("ycsb", &settings), operations);
        let WorkloadChoice { workload, load } = made("ycsb", &settings).unwrap();
        let user = &workload.keys["user"];
        assert_eq!((user.first, user.digits, user.naming, load.keys), (100, 8, KeyNaming::Number, Some(900)));
        for (drawn, kind) in [("uniform", "2..4"), ("zipfian", "2:1000000,3:503478,4:337016")] {
            let lengths = ["fieldlength=4", "minfieldlength=2", &format!("fieldlengthdistribution={drawn}")];
            let value = &made("ycsb", &lengths).unwrap().workload.values["value"];
            assert_eq!(value.to_string(), kind);
        }
        let load = made("ycsb-load", &["insertstart=10", "insertcount=5"]).unwrap().load;
        assert_eq!((load.keys, load.requests), (Some(5), Some(5)));
        let hot = ["requestdistribution=hotspot", "hotspotdatafraction=0.1", "hotspotopnfraction=0.9"];
        let user = &made("ycsb", &hot).unwrap().workload.keys["user"];
        assert_eq!(user.distribution, Distribution::Hotspot { keys: 0.1, share: 0.9 });
        for (settings, error) in [
            (
                &["readproportion=0", "updateproportion=0"][..],
                "all proportions are 0; give one of them a value above 0",
            ),
            (
                &["readproportion=2"],
                "the value of 'readproportion' cannot be '2': it must be between 0 and 1",
            ),
            (&["insertstart=2000"], "the value of 'insertstart' cannot be '2000': recordcount is 1000"),
            (
                &["fieldlengthdistribution=histogram"],
                "the value of 'fieldlengthdistribution' cannot be 'histogram': there are constant, uniform, zipfian",
            ),
            (
                &["fieldlengthdistribution=uniform", "minfieldlength=101"],
                "the value of 'fieldlength' cannot be '100': with fieldlengthdistribution it must be between",
            ),
            (&["insertorder=no"], "the value of 'insertorder' cannot be 'no': there are hashed, ordered"),
            (&["fieldnameprefix={x}"], "the value of 'fieldnameprefix' cannot be '{x}': "),
            (&["minscanlength=200"], "the value of 'minscanlength' cannot be '200': maxscanlength is 100"),
        ] {
            let refused = made("ycsb", settings).unwrap_err();
            assert!(refused.starts_with(error), "{refused}");
        }
    }

    #[test]
    fn parameters_also_set_the_load() {
        let settings = ["recordcount=5G", "threads=32", "target=10k", "fieldlength=128", "operationcount=3G"];
        let WorkloadChoice { workload, load } = made("ycsb-c", &settings).unwrap();
        let five = 5_000_000_000;
        assert_eq!((load.keys, load.requests, load.data_size), (Some(five), Some(3_000_000_000), Some(128)));
        assert_eq!((load.clients, load.rate), (Some(32), Some(10_000)));
        assert_eq!(workload.keys["user"].distribution, Distribution::YcsbZipfian);
        assert_eq!(made("ycsb-load", &["recordcount=5G"]).unwrap().load.requests, Some(five));
        assert_eq!(made("ycsb-a", &[]).unwrap().load.requests, None);
        for (text, distribution) in [
            ("uniform", Distribution::Uniform),
            ("zipfian", Distribution::YcsbZipfian),
            ("zipfian 1.1", Distribution::Zipfian(1.1)),
            ("latest", Distribution::Latest(0.99)),
        ] {
            let chosen = made("ycsb-c", &[&format!("requestdistribution={text}")]).unwrap();
            assert_eq!(chosen.workload.keys["user"].distribution, distribution);
        }
    }

    #[test]
    fn an_invalid_parameter_is_reported() {
        for (name, setting, error) in [
            (
                "ycsb-a",
                "records=5",
                "there is no parameter 'records'; there are commandgroup, dataintegrity,",
            ),
            (
                "ycsb-a",
                "fieldcount=0",
                "the value of 'fieldcount' cannot be '0': it must be between 1 and 1000",
            ),
            (
                "ycsb-a",
                "commandgroup=map",
                "the value of 'commandgroup' cannot be 'map': there are string, hash,",
            ),
            (
                "ycsb-e",
                "index=false",
                "the value of 'index' cannot be 'false': scans need the index; set it to true",
            ),
            (
                "ycsb-a",
                "dataintegrity=true",
                "the value of 'dataintegrity' cannot be 'true': updates of one random field have no derived",
            ),
            ("ycsb-a", "recordcount=x", "the value of 'recordcount' cannot be 'x': "),
            (
                "ycsb-a",
                "requestdistribution=zipf",
                "the value of 'requestdistribution' cannot be 'zipf': 'zipf' is no",
            ),
        ] {
            let refused = made(name, &[setting]).unwrap_err();
            assert!(refused.starts_with(error), "{refused}");
        }
        let refused = made("ycsb-c", &["dataintegrity=true", "commandgroup=list"]).unwrap_err();
        assert!(
            refused.contains("'dataintegrity' cannot be 'true': it needs commandgroup=hash,"),
            "{refused}"
        );
    }
}
