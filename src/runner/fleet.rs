//! Runs a session with a fleet: agents on several machines generate the load.

use std::{
    env,
    ffi::OsString,
    io::Read as _,
    process::{Child, Command, Stdio},
    sync::mpsc::Receiver,
};

use anyhow::{Context as _, anyhow};

use super::{Failure, UsageError};
use crate::{
    demo,
    endpoint::{Address, Cluster, Credentials, Password, ReadFrom, Target},
    fleet::{FleetName, LoadLayout, Terms, clear, gather, is_one_of, remove_streams},
    load::{Fleet, RequestLimit},
    print::words::warn,
    protocol::Dialect,
    session::{
        Notice,
        running::{Commission, KeyOwner},
    },
    signals::Signal,
    untrusted,
};

/// The environment variable with the URI of the bus, for an agent.
pub const BUS_VARIABLE: &str = "REDYNO_BUS";
/// The environment variable with the password of the bus.
pub const BUS_PASSWORD_VARIABLE: &str = "REDYNO_BUS_AUTH";
/// The maximum number of cluster nodes that an order to an agent names. The agent asks these nodes for all
/// other nodes of the cluster.
const MOST_NAMED: usize = 20;

/// The fleet of a session.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    /// The bus, and its URI from the command line. `None` if the session starts the built-in server as the bus.
    pub bus: Option<(Target, Password)>,
    /// The TLS options for agents that the session starts.
    pub tls: Vec<OsString>,
    /// The session's name.
    pub name: FleetName,
    /// The number of agents.
    pub agents: usize,
    /// Whether the session starts the agents, as processes on this machine.
    pub is_local: bool,
    /// The number of worker threads of each agent. `None` means a number that suits the machines of all agents.
    pub threads: Option<usize>,
    /// Whether the bus and the target may be the same server.
    pub may_be_target: bool,
}

/// The agents that the session has started. Dropping this value ends the agents.
#[derive(Default)]
pub(super) struct OwnAgents {
    children: Vec<Child>,
    /// The bus and the session's name.
    place: Option<(Target, FleetName)>,
    /// The built-in server, if this server is the bus.
    built_in: Option<demo::Handle>,
}

impl OwnAgents {
    /// Checks that all agents are running.
    ///
    /// # Errors
    /// Fails if an agent has ended. The error has the name and the last printed line of the first such agent.
    fn check(&mut self) -> Result<(), String> {
        for (index, child) in self.children.iter_mut().enumerate() {
            if let Ok(Some(status)) = child.try_wait() {
                let mut text = String::new();
                // The output of the agent is in the pipe.
                child.stderr.take().map(|mut printed| printed.read_to_string(&mut text));
                let last = text.lines().last().map_or_else(String::new, |line| format!(": {line}"));
                return Err(untrusted::text(&format!("agent {index} has ended ({status}){last}")));
            }
        }
        Ok(())
    }
}

impl Drop for OwnAgents {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It is no error if an agent has already ended together with its session.
            drop(child.kill());
            drop(child.wait());
        }
        self.place.iter().for_each(|(bus, name)| remove_streams(bus, name));
    }
}

impl FleetPlan {
    /// Waits for the agents, and passes the load of the session to the agents.
    ///
    /// # Errors
    /// Fails if the bus does not answer or is the target, if an agent does not match the session, or if a
    /// signal arrives first.
    pub(super) fn begin(
        &self,
        commission: &mut Commission,
        signals: &Receiver<Signal>,
    ) -> Result<OwnAgents, Failure> {
        let target = &commission.plan.target;
        let mut own = OwnAgents::default();
        let bus = match &self.bus {
            Some((bus, _)) => bus.clone(),
            None => {
                let server = demo::start(demo::Options::default()).map_err(anyhow::Error::from)?;
                let (host, port) = (server.address.ip().to_string(), server.address.port());
                own.built_in = Some(server);
                Target { address: Address::Tcp { host, port }, ..Target::default() }
            }
        };
        if commission.read_from == ReadFrom::Nearest {
            let text = "--read-from nearest cannot be used with --agents, since the nearest node may differ between \
                machines; give primary, replica or any";
            return Err(UsageError::of(text).into());
        }
        let cluster = commission.clusters.get(&0).cloned();
        let (servers, layout) = servers(target, cluster.as_deref());
        if !self.may_be_target && is_one_of(&bus, servers.iter().filter_map(|it| target.at(it.clone()).ok()))
        {
            let text = "the bus is the target, so messages and load would disturb each other; give another --bus, or \
                --bus-is-target";
            return Err(UsageError::of(text).into());
        }
        let wrong = |why| Failure::Failed(anyhow!("{why}"));
        clear(&bus, &self.name).map_err(wrong)?;
        if self.is_local {
            own.place = Some((bus.clone(), self.name.clone()));
            self.start_agents(&mut own.children, target, &servers, &bus)?;
        }
        let gathered = gather((&bus, &self.name), self.agents, signals, warn, || own.check());
        let gathered = gathered.map_err(wrong)?;
        let Some(gathered) = gathered else { return Err(Failure::Interrupted) };
        let is_users = matches!(commission.keys, KeyOwner::Users { .. });
        let plan = &mut commission.plan;
        // Agents on this machine share its cores.
        let sharing = if self.is_local { self.agents } else { 1 };
        plan.threads = self.threads.unwrap_or_else(|| (gathered.least_threads() / sharing).max(1));
        let uri = |server: &Address| server.uri(plan.target.dialect) + &database(&plan.target);
        let terms = Terms {
            run: commission.run.to_string(),
            prefix: is_users.then(|| plan.names.prefix().to_owned()),
            targets: servers.iter().map(uri).collect(),
            has_resp3: plan.target.dialect == Dialect::Resp3,
            layout,
            read_from: commission.read_from,
            max_connections: commission.max_connections,
            threads: plan.threads,
            seed: plan.seed,
            timeout: plan.timeout,
            requests: plan
                .requests
                .map(|(RequestLimit::Shared(requests) | RequestLimit::PerClient(requests))| requests),
        };
        commission.most_clients = gathered.most_clients();
        commission.notices.push(Notice::Info(gathered.text()));
        let (agents, joined) = gathered.lead(terms, cluster).context("cannot start a thread")?;
        (plan.fleet, commission.fleet) = (Fleet::Led(agents), Some(joined));
        Ok(own)
    }

    /// Starts the agents, and adds each agent to `children` at once. If one agent cannot be started, the other agents
    /// are ended.
    fn start_agents(
        &self,
        children: &mut Vec<Child>,
        target: &Target,
        servers: &[Address],
        bus: &Target,
    ) -> Result<(), Failure> {
        let program = env::current_exe().context("cannot find this program")?;
        let uri = match &self.bus {
            Some((_, uri)) => uri.clone(),
            None => Password::new(bus.address.uri(bus.dialect)),
        };
        let start = |index: usize| {
            let mut agent = Command::new(&program);
            agent.arg("agent").args(&self.tls).args(["--session", &self.name.to_string()]);
            for server in servers.iter().flat_map(Address::first_servers) {
                agent.args(["--target", &server.to_string()]);
            }
            agent.args(["--index", &index.to_string(), "--of", &self.agents.to_string()]);
            // The session has already asked the user about the commands that `--allow` permits.
            agent.arg("--allow");
            // Passwords are not on the command line, since every user of the machine can read it.
            agent.env(BUS_VARIABLE, uri.reveal());
            if let Some(Credentials { user, password }) = &target.credentials {
                agent.env("REDISCLI_AUTH", password.reveal());
                agent.args(user.iter().flat_map(|user| ["--user", user]));
            } else {
                agent.env_remove("REDISCLI_AUTH");
            }
            if self.bus.is_none() {
                agent.env_remove(BUS_PASSWORD_VARIABLE);
            }
            agent.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
        };
        for index in 0..self.agents {
            children.push(start(index).context("cannot start an agent")?);
        }
        Ok(())
    }
}

/// Returns the end of a target's URI, which names the database.
fn database(target: &Target) -> String {
    match (target.db, &target.address) {
        (0, _) => String::new(),
        (db, Address::Unix(_)) => format!("?db={db}"),
        (db, _) => format!("/{db}"),
    }
}

/// Returns the servers that an order to an agent names, and the division of the load among these servers.
fn servers(target: &Target, cluster: Option<&Cluster>) -> (Vec<Address>, LoadLayout) {
    let Some(cluster) = cluster else { return (vec![target.address.clone()], LoadLayout::Server) };
    let topology = cluster.topology();
    let nodes = topology.nodes().map(|(_, node)| node.address.clone());
    match (cluster.is_ring(), cluster.is_replication()) {
        (true, _) => (nodes.collect(), LoadLayout::Ring),
        (_, true) => (vec![target.address.clone()], LoadLayout::Copies),
        _ => (nodes.take(MOST_NAMED).collect(), LoadLayout::Cluster),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_one_of_several_local_agents_fails_it_is_named_and_the_others_are_ended() {
        let agent = |script: &str| {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]).stderr(Stdio::piped()).spawn().unwrap()
        };
        let waits = "exec sleep 600";
        for (fails, line) in [
            ("echo 'agent 1 of 3 waits' >&2; echo 'no bus' >&2; exit 1", "(exit status: 1): no bus"),
            ("kill -9 $$", "(signal: 9 (SIGKILL))"),
        ] {
            let mut own = OwnAgents::default();
            own.children.extend([waits, fails, waits].map(agent));
            let others = [0, 2].map(|index: usize| own.children[index].id());
            let found = loop {
                if let Err(found) = own.check() {
                    break found;
                }
                std::thread::yield_now();
            };
            assert_eq!(found, format!("agent 1 has ended {line}"));
            drop(own);
            for other in others {
                assert!(!std::path::Path::new(&format!("/proc/{other}")).exists(), "{other} is still there");
            }
        }
    }
}
