//! `redyno ycsb`: the command line of YCSB, for its Redis and memcached bindings.
//!
//! ```text
//! workload files (-P), -p NAME=VALUE, -threads, -target ──► properties ──► parameters of the workload, target, session
//! ```
//! Keys have YCSB's own names and stay on the server. Nothing else is written: there is no marker and no prefill.

use std::{collections::BTreeMap, path::Path, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    load_args::LoadArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
};
use crate::{
    endpoint::Password,
    print::{YcsbForm, YcsbInterval, YcsbStatus, YcsbText},
    runner::{OtherServers, SessionRun, Shows, UsageError},
    session::{Notice, running::KeyOwner},
    untrusted,
    workload::{ParameterValue, text_of, ycsb_parameters},
};

const AFTER: &str = "\
Options, as in YCSB:
  -P FILE        Read properties from this workload file; can be given several times
  -p NAME=VALUE  Set a property; can be given several times
  -threads N     Clients [default: 1]
  -target N      Operations per second [default: no limit]
  -s             Print a status line every 10 s on stderr
  --yes          Do not ask before writing to a server that holds other keys or serves other clients

Examples:
  redyno ycsb load redis -s -P workloads/workloada -p redis.port=6379 -threads 50
  redyno ycsb run redis -P workloads/workloada -threads 50 -target 20000

Keys have YCSB's names and stay on the server.";

/// The arguments of `redyno ycsb`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct YcsbArgs {
    /// load or run, then redis or memcached, then options
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PHASE BINDING OPTIONS",
        required = true
    )]
    pub words: Vec<String>,
}

/// Properties with the values that redyno supports; other values are refused.
const SUPPORTED_VALUES: [(&str, &[&str]); 7] = [
    ("workload", &["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"]),
    ("scanlengthdistribution", &["uniform"]),
    ("measurementtype", &["hdrhistogram"]),
    ("exporter", &["site.ycsb.measurements.exporter.TextMeasurementsExporter"]),
    ("redis.ssl", &["false"]),
    ("keyprefix", &["user"]),
    ("dropdata", &["false"]),
];

/// A command line of YCSB.
#[derive(Debug, Default, PartialEq)]
struct YcsbLine {
    loads: bool,
    is_memcached: bool,
    has_status: bool,
    is_allowed: bool,
    properties: BTreeMap<String, String>,
}

impl YcsbLine {
    fn read(words: &[String]) -> Result<Self, UsageError> {
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
                    given.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                "-threads" => given.push(("threadcount".to_owned(), value()?.to_owned())),
                "-target" => given.push(("target".to_owned(), value()?.to_owned())),
                _ => {
                    let known = "-P, -p, -threads, -target, -s and --yes";
                    let text = format!("a word after the binding is no option of ycsb; there are {known}");
                    return Err(UsageError::of(text));
                }
            }
        }
        line.properties.extend(given);
        Ok(line)
    }

    /// Adds the properties of a file, which has a line `name=value` for each.
    fn read_file(&mut self, path: &Path) -> Result<(), UsageError> {
        let text = text_of(path).map_err(|error| UsageError::of(format!("-P: {error}")))?;
        for (n, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let Some((name, value)) = line.split_once(['=', ':']) else {
                let file = untrusted::path(path);
                return Err(UsageError::of(format!("-P {file}: line {n} is not NAME=VALUE")));
            };
            self.properties.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        Ok(())
    }

    /// Removes a property, and reads its value.
    fn take<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        form: &str,
    ) -> Result<Option<T>, UsageError> {
        let Some(text) = self.properties.remove(name) else { return Ok(None) };
        read(&text).map(Some).ok_or_else(|| UsageError::of(format!("the property {name} must be {form}")))
    }

    fn target(&mut self) -> Result<(TargetArgs, Option<Duration>), UsageError> {
        let mut target = TargetArgs::default();
        if self.is_memcached {
            let hosts = self.take("memcached.hosts", |text| Some(text.to_owned()), "HOST:PORT")?;
            let host = hosts.unwrap_or_else(|| "127.0.0.1:11211".to_owned());
            if host.contains([',', ' ']) {
                let text =
                    "memcached.hosts: give one server; several are loaded by redyno URI URI --hash ketama";
                return Err(UsageError::of(text));
            }
            target.uri = Some(Password::new(format!("memcached://{host}")));
            return Ok((target, None));
        }
        let address = |text: &str| {
            let (host, port) = text.rsplit_once(':')?;
            Some((host.to_owned(), port.parse().ok()?))
        };
        let (go_host, go_port) = self.take("redis.addr", address, "HOST:PORT")?.unzip();
        let host = self.take("redis.host", |text| Some(text.to_owned()), "")?.or(go_host.clone());
        target.host = Some(host.unwrap_or_else(|| "127.0.0.1".to_owned()));
        target.port = self.take("redis.port", |text| text.parse().ok(), "a port")?.or(go_port);
        // go-ycsb writes a string as JSON, as YCSB does on memcached.
        let groups = [("hash", "hash"), ("string", "json")];
        let group = |text: &str| groups.into_iter().find(|(name, _)| *name == text);
        let group = self.take("redis.datatype", group, "hash or string")?;
        let is_go = go_host.is_some() || group.is_some();
        let of_go = [group.map(|(_, group)| ("commandgroup", group)), is_go.then_some(("layout", "go-ycsb"))];
        for (name, value) in of_go.into_iter().flatten() {
            self.properties.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        target.password = self.take("redis.password", |text| Some(Password::new(text.to_owned())), "")?;
        let ms = self.take("redis.timeout", |text| text.parse().ok().filter(|ms| *ms > 0), "milliseconds")?;
        Ok((target, ms.map(Duration::from_millis)))
    }

    /// Removes the properties that shape the text at the end of a run, and returns the form of this text.
    fn form(&mut self) -> Result<YcsbForm, UsageError> {
        let mut form = YcsbForm { interval: YcsbInterval::Op, ..YcsbForm::default() };
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
    fn settings(&mut self) -> Vec<ParameterValue> {
        if let Some(group) = self.properties.remove("redis.command_group") {
            self.properties.insert("commandgroup".to_owned(), group);
        }
        if self.is_memcached {
            // In memcached, a record is one value, and its key begins with the name of the table.
            for (name, value) in [("commandgroup", "json"), ("index", "false"), ("table", "usertable")] {
                self.properties.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
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
    fn rest(self) -> Result<Vec<String>, UsageError> {
        for (name, values) in SUPPORTED_VALUES {
            if let Some(value) = self.properties.get(name).filter(|value| !values.contains(&value.as_str())) {
                let (shown, known) = (untrusted::text(value), values.join(" or "));
                return Err(UsageError::of(format!("{name}={shown} is not supported; give {known}")));
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

impl Arguments for YcsbArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let mut line = YcsbLine::read(&self.words)?;
        let (loads, has_status) = (line.loads, line.has_status);
        let (target, timeout) = line.target()?;
        let form = line.form()?;
        let seconds = |text: &str| text.parse().ok().filter(|s: &u64| *s > 0).map(Duration::from_secs);
        let duration = line.take("maxexecutiontime", seconds, "a number of seconds above 0")?;
        let every = line.take("status.interval", seconds, "a number of seconds above 0")?;
        let clients = line.take("threadcount", |text| text.parse().ok(), "a number of threads")?;
        let is_cluster = line.take("redis.cluster", |text| text.parse().ok(), "true or false")?;
        let mut load = LoadArgs {
            workload: Some(if loads { "ycsb-load" } else { "ycsb" }.to_owned()),
            set: line.settings(),
            clients: Some(clients.unwrap_or(1)),
            timeout,
            own_names: true,
            no_prefill: true,
            yes: line.is_allowed,
            ..LoadArgs::default()
        };
        let ignored = line.rest()?;
        let suggested = load.choose()?;
        let mut session = SessionArgs { duration, ..SessionArgs::default() };
        session.follow(&suggested);
        let requests = session.requests;
        let mut plan = session_plan(&target, &load, &session)?;
        plan.is_named = true;
        plan.commission.keys = KeyOwner::Users { asks_always: false };
        plan.company =
            if is_cluster == Some(true) { OtherServers::Cluster } else { OtherServers::TargetOnly };
        plan.check_clients()?;
        plan.check_dialect()?;
        if !ignored.is_empty() {
            let text = format!("these properties have no effect: {}", ignored.join(", "));
            plan.commission.notices.push(Notice::Warning(text));
        }
        let every_s = every.map_or(10.0, |every| every.as_secs_f64());
        Ok(Box::new(SessionRun {
            plan,
            shows: Shows::Text(Box::new(YcsbText::new(form))),
            experiment: None,
            limit: None,
            ends_with_experiment: false,
            gate: None,
            abort: None,
            has_ycsb: false,
            status: has_status.then(|| YcsbStatus::new(every_s, requests)),
        }))
    }
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
    fn a_wrong_line_is_refused_with_the_right_form() {
        for (line, error) in [
            ("go redis", "ycsb: give the phase, load or run"),
            ("run mongodb", "ycsb: give the binding, redis or memcached"),
            (
                "run redis -x",
                "a word after the binding is no option of ycsb; there are -P, -p, -threads, -target, -s and --yes",
            ),
            ("run redis -p a", "-p: a property has the form NAME=VALUE"),
            ("run redis -threads", "-threads needs a value after it"),
        ] {
            assert_eq!(read(line).unwrap_err(), error);
        }
        let wrong = |line: &str| read(line).unwrap().rest().unwrap_err().to_string();
        assert_eq!(wrong("run redis -p dropdata=true"), "dropdata=true is not supported; give false");
        assert_eq!(read("run redis -p status=1").unwrap().rest().unwrap(), ["status"]);
    }
}
