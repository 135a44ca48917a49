//! The options of a fleet: the bus, and the agents.

use std::env;

use clap::Args;

use super::{
    target_args::{TargetArgs, has_tls},
    tls_args::TlsArgs,
    values::whole,
};
use crate::{
    endpoint::{Password, Target},
    fleet::FleetName,
    load::WorkerOptions,
    runner::{BUS_PASSWORD_VARIABLE, FleetPlan, SessionPlan, UsageError},
};

/// The largest number of agents.
const MOST_AGENTS: u64 = 1000;

/// FLEET: several machines that generate the load.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Fleet")]
pub struct FleetArgs {
    /// Divide the load among this many agents, which you start with 'redyno agent' on other machines. -c, --rate and -n
    /// are totals for all agents
    #[arg(long, value_name = "COUNT", value_parser = whole::<u16>(1..=MOST_AGENTS))]
    pub agents: Option<u16>,
    /// URI of the bus: the Redis or Valkey server through which the session and its agents communicate. You can set the
    /// password of the bus in the variable REDYNO_BUS_AUTH [default with --local: the built-in server]
    #[arg(long, value_name = "URI", requires = "agents")]
    pub bus: Option<Password>,
    /// The name of the session on the bus [default: redyno]
    #[arg(long = "session", value_name = "NAME", requires = "agents")]
    pub name: Option<FleetName>,
    /// Start the agents as processes on this machine
    #[arg(long)]
    pub local: bool,
    /// Use the target server also as the bus. The load and the messages of the bus then slow each other down
    #[arg(long)]
    pub bus_is_target: bool,
    /// The TLS options of the bus.
    #[arg(skip)]
    tls: TlsArgs,
}

impl FleetArgs {
    /// Adopts the TLS options of the target for the bus. If the bus uses TLS and a target does not use TLS, removes the
    /// TLS options from this target.
    pub(super) fn share_tls(&mut self, target: &mut TargetArgs, servers: &mut [TargetArgs]) {
        self.tls = target.tls.clone();
        servers.iter_mut().chain([target]).for_each(|target| target.leave_tls_to(self.bus.as_ref()));
    }

    /// Adds the fleet (the agents and their bus) to the plan of a session. `threads` is the number of worker threads of
    /// each agent. For `None`, the session chooses a number that suits the machines of all agents.
    ///
    /// # Errors
    /// Fails if options contradict each other, or agents cannot generate the load.
    pub(super) fn settle(&self, threads: Option<usize>, plan: &mut SessionPlan) -> Result<(), UsageError> {
        let Some(agents) = self.agents else {
            let flags = [(self.local, "--local"), (self.bus_is_target, "--bus-is-target")];
            let given = flags.into_iter().find(|(is_given, _)| *is_given);
            return given.map_or(Ok(()), |(_, option)| {
                Err(UsageError::of(format!("{option} has no effect without --agents; leave it out")))
            });
        };
        if self.bus.is_none() && !self.local {
            return Err(UsageError::of(
                "--agents needs --bus, the URI of a Redis or Valkey through which session and agents communicate, or --local \
                 for agents on this machine",
            ));
        }
        let cannot = |what: &str| Err(UsageError::of(format!("--agents cannot be used with {what}")));
        let commission = &plan.commission;
        if commission.knobs.workload.dataset.is_some() || commission.knobs.times.is_some() {
            return cannot("a dataset, times or a trace, whose file the other machines do not have");
        }
        if !commission.plan.target.dialect.has_keys() {
            return cannot("an HTTP server; run redyno on each machine");
        }
        if commission.plan.workers != WorkerOptions::default() {
            return cannot("--io, --busy and --cpus, since agents use epoll, sleep, and run on any core");
        }
        if commission.refuses_load.is_some() {
            return cannot("servers side by side, which get no load; add --hash ketama");
        }
        plan.fleet = Some(FleetPlan {
            bus: self
                .bus
                .as_ref()
                .map(|uri| bus(uri, &self.tls).map(|bus| (bus, uri.clone())))
                .transpose()?,
            tls: TlsArgs { tls: commission.plan.target.tls.is_some(), ..self.tls.clone() }.words(),
            name: name(self.name.as_ref()),
            agents: agents.into(),
            is_local: self.local,
            threads,
            may_be_target: self.bus_is_target,
        });
        plan.commission.agents = Some(agents.into());
        Ok(())
    }
}

/// Returns the given name of the session, or the default name.
pub(super) fn name(given: Option<&FleetName>) -> FleetName {
    given.cloned().unwrap_or_default()
}

/// Returns the bus. The TLS options apply to the bus if its URI requests TLS.
///
/// # Errors
/// Fails if the URI or an option is invalid.
pub(super) fn bus(uri: &Password, tls: &TlsArgs) -> Result<Target, UsageError> {
    let tls = if has_tls(uri) { tls.clone() } else { TlsArgs::default() };
    let password = env::var(BUS_PASSWORD_VARIABLE).ok().map(Password::new);
    let bus = TargetArgs { uri: Some(uri.clone()), tls, ..TargetArgs::default() };
    let bus = bus.target_with(password).map_err(|error| UsageError::of(format!("--bus: {error}")))?;
    match bus.dialect.has_collections() {
        true => Ok(bus),
        false => {
            let server = bus.dialect.words().server;
            Err(UsageError::of(format!("--bus: {server} has no streams; give a Redis or Valkey")))
        }
    }
}
