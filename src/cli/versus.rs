//! `redyno versus`: two targets under the same load in alternation, one table of their differences, and a verdict.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    config,
    load_args::LoadArgs,
    nodes_args::{self, HashMethod, OneNodeArgs},
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    tls_args::TlsArgs,
    values::seconds,
};
use crate::{
    endpoint::{Cluster, Password, Target},
    experiment::{Ab, AbPlan, ExperimentSpec, Side},
    load::most_clients,
    print::printer::OutputForm,
    protocol::HttpSite,
    runner::{AbRun, Failure, OtherServers, SessionPlan, UsageError},
    units::count_with_noun,
};

const AFTER: &str = "\
redyno sends the whole load to one target at a time, in the order A B B A A B B A and so on. Each pair compares the \
three seconds before a switch with three seconds after the switch. redyno does not count the first second after a \
switch. Before the first write, redyno checks both targets, and asks you to confirm each target.

Examples:
  redyno versus redis://a:6379 redis://b:6379
  redyno versus @prod memcached://10.0.0.6 -c 200 --yes

The target with the higher throughput is better. With --rate, the target with the lower p99 of the response time is \
better. redyno judges each row of the table separately. If the targets are equal, about one row in twenty still \
counts as different, by chance.
redyno measures at least nine pairs (about 70 s), then ends as soon as the verdict is clear. The comparison takes \
at most three minutes. If there is no clear result by then, the verdict is 'not clear'. The comparison ends after \
three pairs if redyno itself was the bottleneck for both A and B in each of these pairs.
Exit codes: 0 B is at least as good as A; 3 B is worse than A; 4 the verdict is not clear; 1 failed; 2 bad usage; \
130 interrupted.";

/// The arguments of `redyno versus`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct VersusArgs {
    /// The first target, A
    #[arg(
        value_name = "URI",
        help = "The first target, A: redis://[[user]:password@]host[:port][/db], rediss://, unix:///path, \
                memcached://host[:port], or @NAME of the config file"
    )]
    pub a: Password,
    /// The second target, B. The verdict says whether B is better than A
    #[arg(value_name = "URI")]
    pub b: Password,
    /// The length of each measurement in seconds. A pair is one measurement of A and one measurement of B [default: 3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub part: Option<Duration>,
    /// Continue even if redyno itself was the bottleneck for both A and B in the first three pairs
    #[arg(long)]
    pub anyway: bool,
    /// Print JSON lines: one object for each pair, then the verdict with the table
    #[arg(long)]
    pub json: bool,
    /// Write all records to a new file, as JSON lines. Records of target B have "node":1
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Use consistent hashing to divide the keys of a target among several servers. Separate the URIs of these servers
    /// with commas: redyno versus redis://a,redis://b redis://c --hash ketama
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        hide_possible_values = true,
        help_heading = "Target",
        conflicts_with = "one_node"
    )]
    pub hash: Option<HashMethod>,
    /// The option `--one-node`.
    #[command(flatten)]
    pub one_node: OneNodeArgs,
    /// The load of both targets.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The TLS options for targets whose URI requests TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
}

impl Arguments for VersusArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> PlanResult {
        let parted = [
            (self.load.dataset.is_some(), "--dataset", "records"),
            (self.load.trace.is_some(), "--trace", "commands"),
            (self.load.times.is_some(), "--times", "times"),
        ];
        if let Some((_, option, parts)) = parted.into_iter().find(|(is_given, ..)| *is_given) {
            let why = format!("since each target would get only some of the {parts}");
            return Err(
                UsageError::of(format!("{option} does not work with versus, {why}; leave it out")).into()
            );
        }
        if self.load.no_load {
            let text = "versus generates load; leave --no-load out";
            return Err(UsageError::of(text).into());
        }
        self.load.choose()?;
        self.load.follow_defaults(&config::defaults(given)?.load);
        self.load = LoadArgs { load: true, seed: Some(self.load.seed()), ..self.load };
        let mut plan = self.session(given)?;
        ExperimentSpec::check(&plan.commission.knobs).map_err(UsageError::of)?;
        self.load.check_rate(plan.commission.knobs.rate.is_some())?;
        self.one_node.settle(OtherServers::Cluster, &mut plan)?;
        plan.check_clients()?;
        plan.check_dialect()?;
        let times = AbPlan { anyway: self.anyway, ..AbPlan::default() }.with_parts_of(self.part);
        let times = times.map_err(UsageError::of)?;
        let ab = Ab::of_targets(&plan.commission.knobs, plan.names.clone(), times);
        Ok(Box::new(AbRun { plan, ab, form: OutputForm::of(self.json) }))
    }
}

impl VersusArgs {
    /// Returns the servers of each side. Only `--hash` allows several servers on a side.
    fn sides(&self) -> [Vec<Password>; 2] {
        let several =
            |side: &Password| side.reveal().split(',').map(|uri| Password::new(uri.to_owned())).collect();
        [&self.a, &self.b].map(|side| if self.hash.is_some() { several(side) } else { vec![side.clone()] })
    }

    /// Returns the session of both targets. Only one target has load at a time.
    ///
    /// # Errors
    /// Fails if a target or the load is invalid. The error names the target.
    fn session(&self, given: Invocation) -> Result<SessionPlan, Failure> {
        let sides = self.sides();
        let options = nodes_args::targets(&sides.concat(), &self.tls, given)?;
        let (of_a, of_b) = options.split_at(sides[Side::A as usize].len());
        let servers = |side: Side, options: &[TargetArgs]| {
            let targets = options.iter().map(TargetArgs::target).collect::<Result<Vec<_>, _>>();
            targets.map_err(|error| UsageError::of(format!("{side:?}: {error}")))
        };
        let [a, b] = [servers(Side::A, of_a)?, servers(Side::B, of_b)?];
        check_http(&a[0], &b[0], self.load.has_default_workload()).map_err(UsageError::of)?;
        let session = SessionArgs { record: self.record.clone().map(Some), ..SessionArgs::default() };
        let mut plan = session_plan(&of_a[0], &self.load, &session)?;
        plan.names = [(Side::A, &a), (Side::B, &b)].map(|(side, servers)| named(side, servers)).into();
        plan.commission.others = vec![b[0].clone()];
        if self.hash.is_some() && a.len() + b.len() == 2 {
            let text = "--hash divides the keys among several servers; write the URIs of a target with commas between them";
            return Err(UsageError::of(text).into());
        }
        for (side, servers) in [(Side::A, a), (Side::B, b)].into_iter().filter(|(_, all)| all.len() > 1) {
            let ring = Cluster::of_ring(&servers);
            let ring = ring.map_err(|error| UsageError::Line(format!("{side:?}: {error}")))?;
            plan.commission.clusters.insert(side as u16, Arc::new(ring));
        }
        plan.commission.carrier = Some(Side::A as u16);
        // Each target has the connections of all clients.
        plan.commission.most_clients = most_clients(plan.commission.plan.threads, 2);
        Ok(plan)
    }
}

/// Checks that both targets are HTTP servers, or that no target is an HTTP server. If the load is a GET of the URI's
/// path (`is_of_path`), checks that both URIs have the same path.
fn check_http(a: &Target, b: &Target, is_of_path: bool) -> Result<(), &'static str> {
    match [a, b].map(|target| target.dialect.site().map(HttpSite::path)) {
        [Some(_), None] | [None, Some(_)] => Err("an HTTP server is compared only with another HTTP server"),
        [Some(a), Some(b)] if a != b && is_of_path => Err(
            "the URIs have different paths, but both servers get the same load; write the same path in both, or \
             requests after --",
        ),
        _ => Ok(()),
    }
}

/// Returns the name of a side.
fn named(side: Side, servers: &[Target]) -> String {
    match servers {
        [first, others @ ..] if !others.is_empty() => {
            format!("{side:?}, {} and {}", first.address, count_with_noun(others.len() as u64, "more server"))
        }
        servers => format!("{side:?}, {}", servers[0].address),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    #[command(disable_help_flag = true)]
    struct TestArgs {
        #[command(flatten)]
        versus: VersusArgs,
    }

    fn targets(line: &str) -> Result<[Target; 2], String> {
        let line =
            TestArgs::try_parse_from(std::iter::once("versus").chain(line.split_whitespace())).unwrap();
        let given = Invocation { line: TestArgs::command, has_terminal: false, is_real: false };
        let plan = line.versus.session(given).map_err(|error| error.to_string())?;
        Ok(plan.commission.targets().cloned().collect::<Vec<_>>().try_into().unwrap())
    }

    #[test]
    fn options_of_tls_are_for_the_target_whose_uri_requests_tls() {
        let [a, b] = targets("redis://a rediss://b --insecure").unwrap();
        assert_eq!((a.tls.is_some(), b.tls.is_some()), (false, true));
        let [a, b] = targets("redis://a redis://b --tls --insecure").unwrap();
        assert_eq!((a.tls.is_some(), b.tls.is_some()), (true, true));
        let error = targets("redis://a redis://b --insecure").unwrap_err();
        assert!(error.starts_with("A: --insecure needs TLS"), "{error}");
    }

    #[test]
    fn the_error_for_an_invalid_target_names_its_side() {
        let error = targets("redis://a localhost:1").unwrap_err();
        assert!(error.starts_with("B: "), "{error}");
    }
}
