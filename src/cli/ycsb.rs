//! `redyno ycsb`: the command line of YCSB, for its Redis and memcached bindings.
//!
//! ```text
//! workload files (-P), -p NAME=VALUE, -threads, -target ──► properties ──► parameters of the workload, target, session
//! ```
//! Keys have YCSB's own names and stay on the server. Nothing else is written: no marker key, and no keys
//! before the measurement (prefill).

use std::{fs::File, path::PathBuf, time::Duration};

use anyhow::anyhow;
use clap::Args;

use self::line::YcsbLine;
use super::{
    command::{Arguments, Invocation, PlanResult},
    load_args::LoadArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
};
use crate::{
    knobs::MAX_CLIENTS,
    print::{YcsbStatus, YcsbText},
    runner::{OtherServers, SessionRun, Shows, YcsbErrors},
    session::{Notice, running::KeyOwner},
    units::LONGEST,
    untrusted,
};

mod line;

const AFTER: &str = "\
Options, with the same meaning as in YCSB:
  -P FILE        Read properties from this workload file; can be given several times
  -p NAME=VALUE  Set a property; can be given several times
  -threads N     Clients [default: 1]
  -target N      Operations per second [default: no limit]
  -s             Print a status line every 10 s on stderr
  -l LABEL       A text before each status line
  --yes          Do not ask before writing to a server that holds other keys or serves other clients

Examples:
  redyno ycsb load redis -s -P workloads/workloada -p redis.port=6379 -threads 50
  redyno ycsb run redis -P workloads/workloada -threads 50 -target 20000

The keys have YCSB's names. redyno leaves the keys on the server.";

/// The arguments of `redyno ycsb`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct YcsbArgs {
    /// The phase (load or run), the binding (redis or memcached), and the options
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PHASE BINDING OPTIONS",
        required = true
    )]
    pub words: Vec<String>,
}

/// Opens the file for the result before the run, so that a wrong path is reported before it. An older result stays in
/// the file until the new result replaces it, because the run may still be refused.
fn opened(path: PathBuf) -> anyhow::Result<(File, PathBuf)> {
    match File::options().write(true).create(true).truncate(false).open(&path) {
        Ok(file) => Ok((file, path)),
        Err(error) => Err(anyhow!("exportfile={}: {error}", untrusted::path(&path))),
    }
}

impl Arguments for YcsbArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let mut line = YcsbLine::read(&self.words)?;
        let (loads, has_status) = (line.loads, line.has_status);
        let (target, timeout) = line.target()?;
        let form = line.form()?;
        let seconds = |text: &str| {
            text.parse()
                .ok()
                .map(Duration::from_secs)
                .filter(|length| !length.is_zero() && *length <= LONGEST)
        };
        let duration = line.take("maxexecutiontime", seconds, "a number of seconds above 0, up to a year")?;
        let every = line.take("status.interval", seconds, "a number of seconds above 0, up to a year")?;
        let is_count = |clients: &u32| (1..=MAX_CLIENTS).contains(clients);
        let number = format!("a number of threads between 1 and {MAX_CLIENTS}");
        let clients = line.take("threadcount", |text| text.parse().ok().filter(is_count), &number)?;
        let is_cluster = line.take("redis.cluster", |text| text.parse().ok(), "true or false")?;
        let label = line.take("label", |text| Some(text.to_owned()), "")?.unwrap_or_default();
        let file = line.take("exportfile", |text| Some(PathBuf::from(text)), "")?;
        let (workload, set) = (if loads { "ycsb-load" } else { "ycsb" }, line.settings());
        line.check(workload, &set)?;
        let mut load = LoadArgs {
            workload: Some(workload.to_owned()),
            set,
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
        (plan.is_named, plan.is_page) = (true, true);
        plan.commission.keys = KeyOwner::Users { asks_always: false, loaded: !loads };
        let is_cluster = is_cluster == Some(true);
        plan.company = if is_cluster { OtherServers::Cluster } else { OtherServers::TargetOnly };
        plan.check_clients()?;
        plan.check_dialect()?;
        if !ignored.is_empty() {
            let text = format!("these properties have no effect: {}", ignored.join(", "));
            plan.commission.notices.push(Notice::Warning(text));
        }
        let file = file.map(opened).transpose()?;
        let every_s = every.map_or(10.0, |every| every.as_secs_f64());
        let shows = Shows::Text { sink: Box::new(YcsbText::new(form, file)), is_for_people: true };
        let address = plan.commission.plan.target.address.to_string();
        let mut run = SessionRun::new(plan, shows);
        run.more.push(Box::new(YcsbErrors::new(address, is_cluster)));
        if has_status {
            run.more.push(Box::new(YcsbStatus::new(label, every_s, requests)));
        }
        Ok(Box::new(run))
    }
}
