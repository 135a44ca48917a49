//! `redyno versus`: two targets under the same load in alternation, one table of their differences, and a verdict.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    command::{Arguments, Invocation, Planned},
    config,
    load_args::LoadArgs,
    session_args::SessionArgs,
    session_plan::session_plan,
    target_args::TargetArgs,
    tls_args::TlsArgs,
    values::seconds,
};
use crate::{
    endpoint::Password,
    experiment::{Ab, Plan, Side},
    load::most_clients,
    print::printer::Form,
    runner::{AbRun, Failure, SessionPlan, UsageError},
};

const AFTER: &str = "\
Each target has the whole load while the other has none: A B B A A B B A ..., three seconds before each switch against three \
seconds after it. The first second after a switch is left out. Each is asked about, marked and cleaned by itself, before \
anything is written to either; what is refused is told with its name.

Examples:
  redyno versus redis://a:6379 redis://b:6379
  redyno versus @prod memcached://10.0.0.6 -c 200 --yes

What decides is throughput, and under a rate the p99 of the response time. Each row of the table is judged by itself: of many \
equal ones, one in twenty may be called different.
Nine pairs are the least, about 70 s; it ends within three minutes, not clear if need be.
Exit codes: 0 B is the same or better, 3 worse, 4 not clear; 1, 2 and 130 as ever.";

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
    /// The second target, B, which the verdict is about
    #[arg(value_name = "URI")]
    pub b: Password,
    /// How long a part is: a pair has one of each target [default: 3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub part: Option<Duration>,
    /// A JSON object a line: the pairs, then the verdict with the table
    #[arg(long)]
    pub json: bool,
    /// Write all records to a new file, one JSON object a line; those of B have "node":1
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// What both are asked.
    #[command(flatten)]
    pub load: LoadArgs,
    /// How those are reached whose URI begins so.
    #[command(flatten)]
    pub tls: TlsArgs,
}

impl Arguments for VersusArgs {
    fn plan(mut self: Box<Self>, given: Invocation) -> Planned {
        if self.load.dataset.is_some() {
            let text =
                "versus has no --dataset: each target would be sent a part of the records only; leave it out";
            return Err(UsageError::of(text).into());
        }
        if self.load.no_load {
            let text = "--no-load has no effect with versus, which is a load; leave it out";
            return Err(UsageError::of(text).into());
        }
        self.load.choose()?;
        self.load.follow_defaults(&config::defaults(given)?.load);
        self.load = LoadArgs { load: true, seed: Some(self.load.seed()), ..self.load };
        let plan = self.session(&self.targets(given)?)?;
        plan.check_clients()?;
        plan.check_dialect()?;
        let times = Plan::default().with_parts_of(self.part);
        let ab = Ab::of_targets(&plan.commission.knobs, plan.names.clone(), times);
        Ok(Box::new(AbRun { plan, ab, form: Form::of(self.json) }))
    }
}

impl VersusArgs {
    /// The session of both targets, whose load one of them carries at a time.
    ///
    /// # Errors
    /// When one is no target, with its name, or when the load cannot be.
    fn session(&self, targets: &[TargetArgs; 2]) -> Result<SessionPlan, UsageError> {
        let target = |side| {
            let target = targets[side as usize].target();
            target.map_err(|error| UsageError::of(format!("{side:?}: {error}")))
        };
        let [a, b] = [target(Side::A)?, target(Side::B)?];
        let session = SessionArgs { record: self.record.clone().map(Some), ..SessionArgs::default() };
        let mut plan = session_plan(&targets[Side::A as usize], &self.load, &session)?;
        plan.names = vec![format!("A, {}", a.address), format!("B, {}", b.address)];
        plan.commission.others = vec![b];
        plan.commission.carrier = Some(Side::A as u16);
        // Each target has the connections of all clients.
        plan.commission.most_clients = most_clients(plan.commission.plan.threads, 2);
        Ok(plan)
    }

    /// The options of both targets. Those of TLS are for whom TLS is spoken with.
    fn targets(&self, given: Invocation) -> Result<[TargetArgs; 2], Failure> {
        let mut targets = [&self.a, &self.b].map(|uri| match uri.reveal().strip_prefix('@') {
            Some(name) => TargetArgs { named: Some(name.to_owned()), ..TargetArgs::default() },
            None => TargetArgs { uri: Some(uri.clone()), ..TargetArgs::default() },
        });
        for target in &mut targets {
            config::resolve(target, given, true)?;
        }
        let speaks = targets.each_ref().map(TargetArgs::speaks_tls);
        for (target, speaks_tls) in targets.iter_mut().zip(speaks) {
            if self.tls.tls || speaks_tls || !speaks.contains(&true) {
                let of_file = std::mem::replace(&mut target.tls, self.tls.clone());
                target.tls.follow(of_file);
            }
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::endpoint::Target;

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
        let targets = line.versus.targets(given).map_err(|error| error.to_string())?;
        let plan = line.versus.session(&targets).map_err(|error| error.to_string())?;
        Ok(plan.commission.targets().cloned().collect::<Vec<_>>().try_into().unwrap())
    }

    #[test]
    fn options_of_tls_are_for_the_target_whose_uri_says_so() {
        let [a, b] = targets("redis://a rediss://b --insecure").unwrap();
        assert_eq!((a.tls.is_some(), b.tls.is_some()), (false, true));
        let [a, b] = targets("redis://a redis://b --tls --insecure").unwrap();
        assert_eq!((a.tls.is_some(), b.tls.is_some()), (true, true));
        let told = targets("redis://a redis://b --insecure").unwrap_err();
        assert!(told.starts_with("A: --insecure is for TLS"), "{told}");
    }

    #[test]
    fn a_target_that_is_none_is_named() {
        let told = targets("redis://a localhost:1").unwrap_err();
        assert!(told.starts_with("B: "), "{told}");
    }
}
