//! `redyno agent`: generates a share of the load of a session. The session usually runs on another machine.

use std::env;

use clap::{Args, builder::NonEmptyStringValueParser};

use super::{
    command::{Arguments, Invocation, PlanResult},
    fleet_args::{bus, name},
    target_args::TargetArgs,
    tls_args::TlsArgs,
    values::{count, whole},
};
use crate::{
    endpoint::Password,
    fleet::{AgentPlan, FleetName, Permit},
    load::most_clients,
    runner::{AgentRun, BUS_VARIABLE, UsageError},
    workload::Share,
};

const AFTER: &str = "\
An agent waits on the bus for a session, which you start with 'redyno --bus URI --agents COUNT'. The agent sends its \
share of the load, and ends when the session ends. The agent sends load only to the targets that --target permits. \
Without --allow, the agent writes only keys that have the prefix of the run. The agent sends no commands that \
administer a server, run code or block. If the agent receives nothing from the session for 4 s, the agent stops its \
load. redyno never sends passwords over the bus. The agent takes the password of the target from -a or \
REDISCLI_AUTH. The agent takes the password of the bus from the URI in --bus or REDYNO_BUS, or from REDYNO_BUS_AUTH.

Examples:
  redyno agent --bus redis://bus:6379 --target 10.0.0.5:6379 --index 0 --of 2
  redyno agent --bus redis://bus:6379 --target '10.0.0.*:6379' --max-rate 50000
  redyno -h 10.0.0.5 --bus redis://bus:6379 --agents 2 --load

Exit codes: 0 the session has ended; 1 failed; 2 bad usage; 130 interrupted.";

/// The arguments of `redyno agent`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct AgentArgs {
    /// URI of the bus: the Redis or Valkey server through which the session and its agents communicate. You can set the
    /// password of the bus in the variable REDYNO_BUS_AUTH [default: REDYNO_BUS]
    #[arg(long, value_name = "URI")]
    pub bus: Option<Password>,
    /// The name of the session on the bus [default: redyno]
    #[arg(long = "session", value_name = "NAME")]
    pub name: Option<FleetName>,
    /// A target (HOST:PORT) to which the session may send load. The character * matches any text. You can give this
    /// option several times
    #[arg(long = "target", value_name = "HOST:PORT", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub targets: Vec<String>,
    /// The number of this agent, starting at 0 [default: JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID or
    /// NOMAD_ALLOC_INDEX]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(0..=999))]
    pub index: Option<usize>,
    /// The number of agents of the session [default: SLURM_ARRAY_TASK_COUNT]
    #[arg(long, value_name = "COUNT", value_parser = whole::<u16>(1..=1000))]
    pub of: Option<u16>,
    /// When a session has ended, wait for the next session
    #[arg(long)]
    pub stay: bool,
    /// Also permit commands that administer the server, run code, block, or write a fixed key. Also permit sessions
    /// with --key-prefix or --own-names; their keys do not have the prefix of the run
    #[arg(long)]
    pub allow: bool,
    /// Maximum number of operations per second of this agent. With this option, the agent refuses sessions without
    /// --rate
    #[arg(long, value_name = "RATE", value_parser = count::<u32>(1..=u32::MAX.into()))]
    pub max_rate: Option<u32>,
    /// Maximum number of clients of this agent [default: as many as the limit of open files allows]
    #[arg(long, value_name = "COUNT", value_parser = count::<u32>(1..=u32::MAX.into()))]
    pub max_clients: Option<u32>,
    /// ACL user of the target; needs a password
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Password of the target; other users of this machine can see this option, so the environment variable
    /// REDISCLI_AUTH is safer
    #[arg(short = 'a', long = "pass", value_name = "PASSWORD")]
    pub password: Option<Password>,
    /// TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// The environment variables with which job launchers pass the number of an agent, counted from 0.
const INDEX_VARIABLES: [&str; 3] = ["JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "NOMAD_ALLOC_INDEX"];
/// The environment variable with which a job launcher passes the number of agents.
const COUNT_VARIABLES: [&str; 1] = ["SLURM_ARRAY_TASK_COUNT"];

impl Arguments for AgentArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let uri = self.bus.or_else(|| env::var(BUS_VARIABLE).ok().map(Password::new));
        let uri = uri.ok_or_else(|| {
            UsageError::of("--bus is missing: give the URI of the Redis or Valkey of the session")
        })?;
        let bus = bus(&uri, &self.tls)?;
        let share = share(self.index, self.of)?;
        let mut credentials =
            TargetArgs { user: self.user, password: self.password, tls: self.tls, ..TargetArgs::default() };
        credentials.leave_tls_to(Some(&uri));
        // The session supplies the address.
        let credentials = credentials.target()?;
        let all = most_clients(1, 1);
        let permit = Permit {
            targets: self.targets,
            credentials,
            most_rate: self.max_rate,
            most_clients: self.max_clients.unwrap_or(all).min(all),
            allows_all: self.allow,
        };
        let plan = AgentPlan { bus, name: name(self.name.as_ref()), share, permit, stays: self.stay };
        Ok(Box::new(AgentRun(plan)))
    }
}

fn share(index: Option<usize>, of: Option<u16>) -> Result<Share, UsageError> {
    let of = match of {
        Some(of) => usize::from(of),
        None => variable(&COUNT_VARIABLES)?.ok_or_else(|| {
            UsageError::of("--of is missing: give the number of agents, the same as --agents of the session")
        })?,
    };
    let index = match index {
        Some(index) => index,
        None => variable(&INDEX_VARIABLES)?
            .ok_or_else(|| UsageError::of("--index is missing: give the agent's number, from 0"))?,
    };
    if index >= of {
        return Err(UsageError::of(format!(
            "agent number {index} is too high: {of} agents have the numbers 0 to {}",
            of.max(1) - 1
        )));
    }
    Ok(Share { index, of })
}

/// Returns the number in the first of these environment variables that is set.
fn variable(names: &[&str]) -> Result<Option<usize>, UsageError> {
    let Some((name, text)) = names.iter().find_map(|name| Some((name, env::var(name).ok()?))) else {
        return Ok(None);
    };
    let number = text
        .trim()
        .parse()
        .map_err(|_| UsageError::of(format!("the environment variable {name} is not a number")));
    number.map(Some)
}
