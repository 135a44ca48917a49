//! How the YCSB workloads store records on the server: the commands that create, read, change and scan
//! records.

/// The data type of a record on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordType {
    String,
    Hash,
    List,
    Set,
    Zset,
    /// A string that contains all fields as a JSON object.
    Json,
    /// A document of the JSON module that contains all fields, as go-ycsb writes it.
    JsonDocument,
}

/// The fields of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YcsbFields {
    /// The number of fields.
    pub(super) count: u64,
    /// The name of a hash field without its number.
    pub(super) name: String,
    /// Whether a read of a hash reads all fields. If false, a read reads one field.
    pub(super) all_read: bool,
    /// Whether an update of a hash writes all fields. If false, an update writes one field.
    pub(super) all_written: bool,
    /// The placeholder of a value. The placeholder is not used if values are derived from the key and the field.
    pub(super) value: String,
    /// The length of derived values in bytes. `None` if values are not derived. Replies with derived values are
    /// compared.
    pub(super) derived: Option<u32>,
    /// Whether an update of a string with a JSON object first reads the object. Such an update does not create a
    /// missing object.
    pub(super) are_merged: bool,
}

impl YcsbFields {
    /// Returns the value of field number `n` of the last used record, as text of a step.
    fn value(&self, n: u64) -> String {
        let Self { name, value, derived, .. } = self;
        derived.map_or_else(|| value.clone(), |length| format!("{{derived user.same {name}{n} {length}}}"))
    }

    /// Returns the values of all fields as the elements of a reply, if values are derived.
    pub(super) fn expected(&self) -> Option<String> {
        self.derived?;
        Some((0..self.count).map(|n| self.value(n)).collect::<Vec<_>>().join(" "))
    }

    /// Returns the name of a random field.
    fn random(&self) -> String {
        format!("{}{{number 0..{}}}", self.name, self.count - 1)
    }
}

impl RecordType {
    /// All data types by name.
    pub(super) const ALL: [(&str, Self); 7] = [
        ("string", Self::String),
        ("hash", Self::Hash),
        ("list", Self::List),
        ("set", Self::Set),
        ("zset", Self::Zset),
        ("json", Self::Json),
        ("json-document", Self::JsonDocument),
    ];

    /// Returns the default number of fields in a record. The default is 10, as in YCSB. For a string the default is 1,
    /// because a string is not divided into fields.
    pub(super) fn usual_fields(self) -> u64 {
        if self == Self::String { 1 } else { 10 }
    }

    /// Returns the command that creates the record `key` with these fields.
    pub(super) fn insert(self, key: &str, fields: &YcsbFields) -> String {
        let YcsbFields { name, value, .. } = fields;
        let field = |n: u64| match self {
            Self::Hash => format!("{name}{n} {}", fields.value(n)),
            Self::Zset => format!("{n} {value}"),
            Self::Json | Self::JsonDocument => format!("\"{name}{n}\":\"{value}\""),
            Self::String | Self::List | Self::Set => value.clone(),
        };
        let joined = |between| (0..fields.count).map(field).collect::<Vec<_>>().join(between);
        match self {
            Self::String => format!("SET {key} {}", joined("")),
            Self::Json => format!("SET {key} {{{}}}", joined(",")),
            Self::JsonDocument => format!("JSON.SET {key} . {{{}}}", joined(",")),
            Self::Hash => format!("HSET {key} {}", joined(" ")),
            Self::List => format!("RPUSH {key} {}", joined(" ")),
            Self::Set => format!("SADD {key} {}", joined(" ")),
            Self::Zset => format!("ZADD {key} {}", joined(" ")),
        }
    }

    /// Returns the command that reads a record, and its arguments after the key.
    fn reading(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::String | Self::Json => ("GET", &[]),
            Self::JsonDocument => ("JSON.GET", &[]),
            Self::Hash => ("HGETALL", &[]),
            Self::List => ("LRANGE", &["0", "-1"]),
            Self::Set => ("SMEMBERS", &[]),
            Self::Zset => ("ZRANGE", &["0", "-1"]),
        }
    }

    /// Returns the commands that read the record `{user}`: all fields, or one random field of a hash or a document.
    /// Each field of a document has its own command. If the record `is_changed` afterwards, one command reads the whole
    /// record.
    pub(super) fn read(self, fields: &YcsbFields, is_changed: bool) -> Vec<String> {
        let names = |before: &str| match fields.all_read || self == Self::Hash && fields.derived.is_some() {
            true => (0..fields.count).map(|n| format!("{before}{}{n}", fields.name)).collect(),
            false => vec![format!("{before}{}", fields.random())],
        };
        match self {
            Self::Hash if !fields.all_read || fields.derived.is_some() => {
                vec![format!("HMGET {{user}} {}", names("").join(" "))]
            }
            Self::JsonDocument if is_changed => vec![format!("JSON.GET {{user}} {}", names("$.").join(" "))],
            Self::JsonDocument => {
                let keys = ["{user}"].into_iter().chain(std::iter::repeat("{user.same}"));
                keys.zip(names("$.")).map(|(key, name)| format!("JSON.GET {key} {name}")).collect()
            }
            _ => {
                let (name, rest) = self.reading();
                vec![[&[name, "{user}"], rest].concat().join(" ")]
            }
        }
    }

    /// Returns the commands that change one random field of the record `key`, or all fields of a hash. A string is
    /// replaced completely. In a set, a new member replaces a random member. In a sorted set, a new member with a
    /// random score replaces the member with the lowest score.
    pub(super) fn update(self, key: &str, fields: &YcsbFields) -> Vec<String> {
        let (last, value) = (fields.count - 1, &fields.value);
        match self {
            Self::Hash if !fields.all_written => vec![format!("HSET {key} {} {value}", fields.random())],
            Self::List => vec![format!("LSET {key} {{number 0..{last}}} {value}")],
            Self::Set => vec![format!("SADD {key} {value}"), "SPOP {user.same}".to_owned()],
            Self::Zset => vec![
                format!("ZADD {key} {{number 0..{last}}} {value}"),
                "ZREMRANGEBYRANK {user.same} 0 0".to_owned(),
            ],
            Self::Json if fields.are_merged => {
                vec![format!("GET {key}"), format!("{} XX", self.insert("{user.same}", fields))]
            }
            Self::JsonDocument => {
                let set = |key: &str, name: String| format!("JSON.SET {key} $.{name} \"\\\"{{plain}}\\\"\"");
                let all = (0..fields.count).map(|n| format!("{}{n}", fields.name));
                let keys = [key].into_iter().chain(std::iter::repeat("{user.same}"));
                let names = if fields.all_written { all.collect() } else { vec![fields.random()] };
                keys.zip(names).map(|(key, name)| set(key, name)).collect()
            }
            Self::String | Self::Json | Self::Hash => vec![self.insert(key, fields)],
        }
    }

    /// Returns the command that reads a range of records in the order of the index. The range begins at a random
    /// record. YCSB first requests the names and then each record. Here, one script on the server requests names and
    /// records.
    pub(super) fn scan(self, (least, most): (u64, u64)) -> String {
        let (name, rest) = self.reading();
        let rest: String = rest.iter().map(|word| format!(",{word}")).collect();
        let found = "redis.call('ZRANGEBYSCORE',KEYS[1],ARGV[1],'+inf','LIMIT',0,ARGV[2])";
        let script = format!(
            "local found={found} for n,key in ipairs(found) do found[n]=redis.call('{name}',key{rest}) end return found"
        );
        format!("EVAL \"{script}\" 1 {{index}} {{user.hash}} {{number {least}..{most}}}")
    }
}
