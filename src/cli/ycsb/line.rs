//! Parses a command line of YCSB: its options and properties, and the meaning of the properties.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    cli::{target_args::TargetArgs, tls_args::TlsArgs},
    endpoint::Password,
    print::{YcsbForm, YcsbInterval},
    runner::UsageError,
    untrusted,
    workload::{ParameterValue, WorkloadChoice, text_of, ycsb_parameters},
};

/// Properties with the values that redyno supports. redyno refuses other values.
const SUPPORTED_VALUES: [(&str, &[&str]); 7] = [
    ("workload", &["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"]),
    ("scanlengthdistribution", &["uniform"]),
    ("measurementtype", &["hdrhistogram"]),
    ("exporter", &["site.ycsb.measurements.exporter.TextMeasurementsExporter"]),
    ("redis.ssl", &["false"]),
    ("keyprefix", &["user"]),
    ("dropdata", &["false"]),
];

/// Properties in which 0 stands for no limit.
const UNLIMITED: [&str; 3] = ["target", "operationcount", "maxexecutiontime"];

/// The properties that only go-ycsb has.
const OF_GO: [&str; 8] = [
    "redis.addr",
    "redis.datatype",
    "redis.db",
    "redis.mode",
    "redis.tls_ca",
    "redis.tls_cert",
    "redis.tls_key",
    "redis.tls_insecure_skip_verify",
];

/// The property of the records' type in YCSB's Redis binding, and the workload's parameter for it.
const COMMAND_GROUP: &str = "redis.command_group";
const GROUP: &str = "commandgroup";

/// A command line of YCSB.
#[derive(Debug, Default, PartialEq)]
pub(super) struct YcsbLine {
    pub(super) loads: bool,
    is_memcached: bool,
    pub(super) has_status: bool,
    pub(super) is_allowed: bool,
    properties: BTreeMap<String, String>,
    /// The options that set the properties, such as `-P workloads/workloada`.
    origins: BTreeMap<String, String>,
}

impl YcsbLine {
    pub(super) fn read(words: &[String]) -> Result<Self, UsageError> {
        let mut words = words.iter().map(String::as_str);
        let mut line = Self {
            loads: one_of(words.next(), &[("load", true), ("run", false)], "phase")?,
            is_memcached: one_of(words.next(), &[("redis", false), ("memcached", true)], "binding")?,
            ..Self::default()
        };
        let mut given = Vec::new();
        // Any word may be a password in the wrong place, so errors repeat the names of options only.
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| UsageError::of(format!("{word} needs a value after it")));
            match word {
                "-s" => line.has_status = true,
                "--yes" => line.is_allowed = true,
                "-P" => line.read_file(Path::new(value()?))?,
                "-p" => {
                    let text = value()?;
                    let (name, value) = text
                        .split_once('=')
                        .ok_or_else(|| UsageError::of("-p: a property has the form NAME=VALUE"))?;
                    given.push((word, name.trim(), value.trim()));
                }
                "-threads" => given.push((word, "threadcount", value()?)),
                "-l" => given.push((word, "label", value()?)),
                "-target" => given.push((word, "target", value()?)),
                _ => {
                    let known = "-P, -p, -threads, -target, -s, -l and --yes";
                    let text = format!("after the binding, ycsb takes only the options {known}");
                    return Err(UsageError::of(text));
                }
            }
        }
        for (option, name, value) in given {
            line.properties.insert(name.to_owned(), value.to_owned());
            line.origins.insert(name.to_owned(), option.to_owned());
        }
        // As in YCSB, 0 means that there is no limit.
        let is_unlimited = |name: &str, value: &str| UNLIMITED.contains(&name) && value.parse() == Ok(0_u64);
        line.properties.retain(|name, value| !is_unlimited(name, value));
        Ok(line)
    }

    /// Adds the properties of a file. The file has a line `name=value` for each property.
    fn read_file(&mut self, path: &Path) -> Result<(), UsageError> {
        let text = text_of(path).map_err(|error| UsageError::of(format!("-P: {error}")))?;
        let file = untrusted::path(path);
        for (n, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let Some((name, value)) = line.split_once(['=', ':']) else {
                return Err(UsageError::of(format!("-P {file}: line {n} is not NAME=VALUE")));
            };
            self.properties.insert(name.trim().to_owned(), value.trim().to_owned());
            self.origins.insert(name.trim().to_owned(), format!("-P {file}"));
        }
        Ok(())
    }

    /// Returns an error about a property. The error begins with the option that set the property.
    fn wrong(&self, name: &str, reason: impl fmt::Display) -> UsageError {
        let origin = self.origins.get(name).map_or("-p", String::as_str);
        UsageError::of(format_args!("{origin}: {reason}"))
    }

    /// Checks the parameters of a workload. In an error about redis.command_group, the workload's own name of this
    /// property follows.
    pub(super) fn check(&self, workload: &str, settings: &[ParameterValue]) -> Result<(), UsageError> {
        let Err(error) = WorkloadChoice::find(workload, &settings.to_vec().into()) else { return Ok(()) };
        let parameter = error.parameter.as_deref().unwrap_or_default();
        let alias = Some(COMMAND_GROUP).filter(|name| parameter == GROUP && self.origins.contains_key(*name));
        Err(self.wrong(alias.unwrap_or(parameter), &error))
    }

    /// Removes a property, and reads its value.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        form: &str,
    ) -> Result<Option<T>, UsageError> {
        let Some(text) = self.properties.remove(name) else { return Ok(None) };
        read(&text)
            .map(Some)
            .ok_or_else(|| self.wrong(name, format_args!("the property {name} must be {form}")))
    }

    pub(super) fn target(&mut self) -> Result<(TargetArgs, Option<Duration>), UsageError> {
        let mut target = TargetArgs::default();
        if self.is_memcached {
            let hosts = self.take("memcached.hosts", |text| Some(text.to_owned()), "HOST:PORT")?;
            let host = hosts.unwrap_or_else(|| "127.0.0.1:11211".to_owned());
            if host.contains([',', ' ']) {
                let text = "memcached.hosts: give one server; `redyno URI URI --hash ketama` loads several";
                return Err(self.wrong("memcached.hosts", text));
            }
            target.uri = Some(Password::new(format!("memcached://{host}")));
            return Ok((target, None));
        }
        let is_go = OF_GO.iter().any(|name| self.properties.contains_key(*name));
        // go-ycsb separates the nodes of a cluster by semicolons. The first node knows the others.
        let mode = |text: &str| ["single", "cluster"].contains(&text).then_some(text == "cluster");
        let is_cluster = self.take("redis.mode", mode, "single or cluster")? == Some(true);
        let address = |text: &str| {
            let (first, others) = text.split_once(';').unwrap_or((text, ""));
            let (host, port) = first.rsplit_once(':')?;
            (others.is_empty() || is_cluster).then_some((host.to_owned(), port.parse().ok()?))
        };
        let form = "HOST:PORT; several with semicolons between them need redis.mode=cluster";
        let (go_host, go_port) = self.take("redis.addr", address, form)?.unzip();
        if is_cluster {
            self.properties.insert("redis.cluster".to_owned(), "true".to_owned());
        }
        target.db = self.take("redis.db", |text| text.parse().ok(), "the number of a database")?;
        target.tls = self.tls()?;
        let host = self.take("redis.host", |text| Some(text.to_owned()), "")?.or(go_host);
        target.host = Some(host.unwrap_or_else(|| "127.0.0.1".to_owned()));
        target.port = self.take("redis.port", |text| text.parse().ok(), "a port")?.or(go_port);
        // go-ycsb writes a string as JSON, as YCSB does on memcached.
        let groups = [("hash", "hash"), ("string", "json"), ("json", "json-document")];
        let group = |text: &str| groups.into_iter().find(|(name, _)| *name == text);
        let group = self.take("redis.datatype", group, "hash, string or json")?;
        let of_go = [group.map(|(_, group)| ("commandgroup", group)), is_go.then_some(("layout", "go-ycsb"))];
        for (name, value) in of_go.into_iter().flatten() {
            self.properties.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        target.password = self.take("redis.password", |text| Some(Password::new(text.to_owned())), "")?;
        let ms = self.take("redis.timeout", |text| text.parse().ok().filter(|ms| *ms > 0), "milliseconds")?;
        Ok((target, ms.map(Duration::from_millis)))
    }

    /// Removes go-ycsb's properties for TLS, and returns the options of TLS.
    fn tls(&mut self) -> Result<TlsArgs, UsageError> {
        let mut path = |name| self.take(name, |text| Some(PathBuf::from(text)), "");
        let [cacert, cert, key] = [path("redis.tls_ca")?, path("redis.tls_cert")?, path("redis.tls_key")?];
        let insecure =
            self.take("redis.tls_insecure_skip_verify", |text| text.parse().ok(), "true or false")?;
        if cert.is_some() != key.is_some() {
            return Err(UsageError::of("redis.tls_cert and redis.tls_key: give both, or none of them"));
        }
        let insecure = insecure.unwrap_or(false);
        let tls = insecure || cacert.is_some() || cert.is_some();
        Ok(TlsArgs { tls, cacert, cert, key, insecure, ..TlsArgs::default() })
    }

    /// Removes the properties that determine the text at the end of a run, and returns the form of this text.
    pub(super) fn form(&mut self) -> Result<YcsbForm, UsageError> {
        let mut form = YcsbForm { interval: YcsbInterval::Op, falls_back: true, ..YcsbForm::default() };
        let is_percent = |percent: &f64| *percent > 0.0 && *percent <= 100.0;
        let list = |text: &str| {
            text.split(',')
                .map(|word| word.trim().parse().ok().filter(is_percent))
                .collect::<Option<Vec<_>>>()
        };
        if let Some(list) = self.take("hdrhistogram.percentiles", list, "percentiles, 50,95,99.9")? {
            form.percentiles = list;
        }
        let interval = |text: &str| YcsbInterval::ALL.into_iter().find(|known| known.name() == text);
        if let Some(interval) = self.take("measurement.interval", interval, "op, intended or both")? {
            form.interval = interval;
        }
        Ok(form)
    }

    /// Removes the properties that are parameters of the workload, and returns these parameters as settings.
    pub(super) fn settings(&mut self) -> Vec<ParameterValue> {
        if let Some(group) = self.properties.remove(COMMAND_GROUP) {
            self.properties.insert(GROUP.to_owned(), group);
        }
        if self.is_memcached {
            // In memcached, a record is one value, and its key begins with the name of the table.
            for (name, value) in [("commandgroup", "json"), ("index", "false"), ("table", "usertable")] {
                self.properties.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        if !self.loads {
            self.properties.entry("maxscanlength".to_owned()).or_insert_with(|| "1000".to_owned());
        }
        // YCSB's Redis binding has no tables, and the load phase inserts each record once.
        let of_run = ["operationcount", "requestdistribution", "hotspotdatafraction", "hotspotopnfraction"];
        let (loads, has_tables) =
            (self.loads, self.is_memcached || self.properties.get("layout").is_some_and(|it| it != "ycsb"));
        let is_of_run = |name: &str| name.ends_with("proportion") || of_run.contains(&name);
        ycsb_parameters()
            .filter(|name| has_tables || *name != "table")
            .filter_map(|name| {
                Some(ParameterValue { name: name.to_owned(), value: self.properties.remove(name)? })
            })
            .filter(|setting| !loads || !is_of_run(&setting.name))
            .collect()
    }

    /// Checks the rest of the properties, and returns the names of the properties that have no effect.
    pub(super) fn rest(self) -> Result<Vec<String>, UsageError> {
        for (name, values) in SUPPORTED_VALUES {
            if let Some(value) = self.properties.get(name).filter(|value| !values.contains(&value.as_str())) {
                let (shown, known) = (untrusted::text(value), values.join(" or "));
                let reason = format_args!("{name}={shown} is not supported; give {known}");
                return Err(self.wrong(name, reason));
            }
        }
        let is_known = |name: &String| SUPPORTED_VALUES.iter().any(|(known, _)| known == name);
        Ok(self
            .properties
            .into_keys()
            .filter(|name| !is_known(name))
            .map(|name| untrusted::text(&name))
            .collect())
    }
}

fn one_of<T: Copy>(word: Option<&str>, known: &[(&str, T)], what: &str) -> Result<T, UsageError> {
    let names = known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or ");
    let found = known.iter().find(|(name, _)| Some(*name) == word);
    found.map(|(_, means)| *means).ok_or_else(|| UsageError::of(format!("ycsb: give the {what}, {names}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<YcsbLine, String> {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        YcsbLine::read(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn options_override_the_properties_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("workloada");
        std::fs::write(&file, "# A\nrecordcount=1000\n\nreadproportion = 0.5\nthreadcount: 3\n").unwrap();
        let line = format!("run redis -s -p recordcount=7 -P {} -threads 50 --yes", file.display());
        let line = read(&line).unwrap();
        let expected = [("readproportion", "0.5"), ("recordcount", "7"), ("threadcount", "50")];
        let properties: Vec<_> = line.properties.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(properties, expected);
        assert!(!line.loads && line.has_status && line.is_allowed && !line.is_memcached);
    }

    #[test]
    fn the_published_line_is_understood() {
        let line = "load redis -s -p redis.timeout=30000 -p redis.command_group=string -p redis.host=127.0.0.1 \
            -p redis.port=6379 -p redis.password=user:pass -threads 50";
        let mut line = read(line).unwrap();
        let (target, timeout) = line.target().unwrap();
        assert_eq!((target.port, timeout), (Some(6379), Some(Duration::from_secs(30))));
        assert_eq!(target.password.as_ref().map(Password::reveal), Some("user:pass"));
        let settings = line.settings();
        assert_eq!(settings, [ParameterValue { name: "commandgroup".into(), value: "string".into() }]);
        assert_eq!(line.properties.into_keys().collect::<Vec<_>>(), ["threadcount"]);
    }

    #[test]
    fn properties_of_go_ycsb_name_database_cluster_and_tls() {
        let target = |text: &str| {
            let mut line = read(&format!("run redis -p {}", text.replace(' ', " -p "))).unwrap();
            line.target().map(|(target, _)| (target, line.properties)).map_err(|error| error.to_string())
        };
        let (found, rest) = target("redis.addr=h1:1;h2:2 redis.mode=cluster redis.db=3").unwrap();
        assert_eq!((found.host.as_deref(), found.port, found.db), (Some("h1"), Some(1), Some(3)));
        assert_eq!((rest["redis.cluster"].as_str(), rest["layout"].as_str()), ("true", "go-ycsb"));
        let (found, rest) = target("redis.tls_ca=a redis.tls_cert=c redis.tls_key=k").unwrap();
        assert!(found.tls.tls && !found.tls.insecure && rest["layout"] == "go-ycsb");
        assert_eq!(found.tls.cacert, Some("a".into()));
        assert!(target("redis.tls_insecure_skip_verify=true").unwrap().0.tls.insecure);
        assert!(!target("redis.host=h").unwrap().0.tls.tls);
        for (wrong, error) in [
            (
                "redis.addr=h1:1;h2:2",
                "-p: the property redis.addr must be HOST:PORT; several with semicolons",
            ),
            ("redis.datatype=list", "-p: the property redis.datatype must be hash, string or json"),
            ("redis.tls_cert=c", "redis.tls_cert and redis.tls_key: give both, or none of them"),
            ("redis.mode=ring", "-p: the property redis.mode must be single or cluster"),
        ] {
            assert!(target(wrong).unwrap_err().starts_with(error), "{wrong}");
        }
    }

    #[test]
    fn zero_is_no_limit_and_scans_have_the_default_of_ycsb() {
        let line = "run redis -target 0 -l a -p operationcount=0 -p maxexecutiontime=0";
        let mut line = read(line).unwrap();
        assert_eq!(line.properties, [("label".to_owned(), "a".to_owned())].into());
        let longest = ParameterValue { name: "maxscanlength".into(), value: "1000".into() };
        assert_eq!(line.settings(), [longest]);
    }

    #[test]
    fn a_wrong_value_is_reported_with_the_option_that_set_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("workloada");
        std::fs::write(&file, "recordcount=many\nthreadcount=x\n").unwrap();
        let checked = |more: &str| {
            let mut line = read(&format!("run redis -P {}{more}", file.display())).unwrap();
            let settings = line.settings();
            line.check("ycsb", &settings).unwrap_err().to_string()
        };
        let of_file = format!("-P {}: the value of 'recordcount' cannot be 'many': ", file.display());
        assert!(checked("").starts_with(&of_file), "{}", checked(""));
        assert!(checked(" -p recordcount=-1").starts_with("-p: the value of 'recordcount' cannot be '-1'"));
        let group = checked(" -p recordcount=1 -p redis.command_group=heap");
        assert!(group.starts_with("-p: the value of 'commandgroup' cannot be 'heap'"), "{group}");
        assert!(
            checked(" -p recordcount=1 -target x").starts_with("-target: the value of 'target' cannot be")
        );
        let threads = |more: &str| {
            let mut line = read(&format!("run redis -P {}{more}", file.display())).unwrap();
            let number = line.take::<u32>("threadcount", |text| text.parse().ok(), "a number of threads");
            number.unwrap_err().to_string()
        };
        let of_file = format!("-P {}: the property threadcount must be a number of threads", file.display());
        assert_eq!(threads(""), of_file);
        assert_eq!(threads(" -threads y"), "-threads: the property threadcount must be a number of threads");
    }

    #[test]
    fn a_wrong_line_is_refused_with_the_right_form() {
        for (line, error) in [
            ("go redis", "ycsb: give the phase, load or run"),
            ("run mongodb", "ycsb: give the binding, redis or memcached"),
            (
                "run redis -x",
                "after the binding, ycsb takes only the options -P, -p, -threads, -target, -s, -l and --yes",
            ),
            ("run redis -p a", "-p: a property has the form NAME=VALUE"),
            ("run redis -threads", "-threads needs a value after it"),
        ] {
            assert_eq!(read(line).unwrap_err(), error);
        }
        let wrong = |line: &str| read(line).unwrap().rest().unwrap_err().to_string();
        assert_eq!(wrong("run redis -p dropdata=true"), "-p: dropdata=true is not supported; give false");
        assert_eq!(read("run redis -p status=1").unwrap().rest().unwrap(), ["status"]);
    }
}
