//! The limits that an agent sets for a session's orders, such as the permitted targets.

use super::{LoadLayout, Terms};
use crate::{
    endpoint::{Address, Target, parse_uri},
    knobs::Knobs,
    protocol::Dialect,
    workload::{KeyNames, RunId, Share},
};

/// The targets, rates, clients and commands that an agent permits.
#[derive(Debug, Clone)]
pub struct Permit {
    /// The targets that the agent may load, as `HOST:PORT`. `*` matches any text. The list is not empty.
    pub targets: Vec<String>,
    /// The credentials and the TLS settings for all targets. The address in this value is not used.
    pub credentials: Target,
    /// The largest rate of this agent, in operations per second; `None` if there is no limit.
    pub most_rate: Option<u32>,
    /// The largest number of clients of this agent.
    pub most_clients: u32,
    /// Whether the agent may write the user's keys, and may send risky commands (`--allow`). These commands administer
    /// the server, call scripts, or block the connection.
    pub allows_all: bool,
}

impl Permit {
    /// Returns the targets of an order, with the agent's own credentials. For a cluster, one permitted
    /// node is enough. For all other layouts, every named server and Sentinel must be permitted.
    ///
    /// # Errors
    /// Fails if a target is not permitted, or a URI is invalid. The error is one line.
    pub(super) fn targets(&self, terms: &Terms) -> Result<Vec<Target>, String> {
        let spoken = |target: Target| match terms.has_resp3 {
            true => Target { dialect: Dialect::Resp3, ..target },
            false => target,
        };
        let targets: Vec<_> = terms.targets.iter().map(|uri| self.target(uri).map(spoken)).collect();
        match terms.layout {
            LoadLayout::Cluster if targets.iter().any(Result::is_ok) => {
                Ok(targets.into_iter().flatten().collect())
            }
            _ => targets.into_iter().collect(),
        }
    }

    /// Returns the key names of this run. If the order contains a prefix of the user's keys, the key names have this
    /// prefix instead.
    ///
    /// # Errors
    /// Fails if the user's keys are not permitted, or the order has no valid run. The error is one line.
    pub(super) fn names(&self, terms: &Terms) -> Result<KeyNames, String> {
        match &terms.prefix {
            Some(prefix) if self.allows_all => Ok(KeyNames::given(prefix)),
            Some(_) => {
                Err("keys without the run's prefix need --allow on the agent's command line".to_owned())
            }
            None => {
                let run: RunId =
                    terms.run.parse().map_err(|_| "the session's message names no valid run".to_owned())?;
                Ok(KeyNames::of_run(run))
            }
        }
    }

    fn target(&self, uri: &str) -> Result<Target, String> {
        let parsed = parse_uri(uri).map_err(|error| error.to_string())?.target;
        let is_permitted = |server: &&Address| {
            let text = server.to_string();
            self.targets.iter().any(|pattern| matches(pattern, &text))
        };
        if let Some(server) = parsed.address.first_servers().iter().find(|server| !is_permitted(server)) {
            return Err(format!("{server} is not permitted by --target"));
        }
        if !parsed.dialect.has_keys() {
            return Err("an agent sends no load to an HTTP server".to_owned());
        }
        let target = Target { db: parsed.db, dialect: parsed.dialect, ..self.credentials.clone() };
        target.at(parsed.address).map_err(|error| error.to_string())
    }

    /// Checks the load settings of the whole fleet. This agent carries out `share` of the load with `threads` workers.
    ///
    /// # Errors
    /// Fails if a setting is not permitted. The error is one line.
    pub(super) fn check(
        &self,
        knobs: &Knobs,
        names: &KeyNames,
        target: &Target,
        (share, threads): (Share, usize),
    ) -> Result<(), String> {
        let checked = knobs.clone().checked().map_err(|error| error.to_string())?;
        checked.workload.check_dialect(target.dialect, names).map_err(|error| error.to_string())?;
        if knobs.workload.dataset.is_some() || knobs.times.is_some() {
            return Err("a fleet cannot send a dataset, times or a trace, whose file is on another machine"
                .to_owned());
        }
        let clients = share.part(knobs.clients.into());
        if knobs.load && clients == 0 {
            return Err(format!("{} clients are fewer than the {} agents", knobs.clients, share.of));
        }
        if clients > u64::from(self.most_clients) {
            return Err(format!(
                "{clients} clients are more than the {} of --max-clients",
                self.most_clients
            ));
        }
        if let Some(most) = self.most_rate {
            // A rate is divided among the workers that have clients.
            let workers = (threads * share.of).min(knobs.clients as usize);
            let own = (0..threads).filter(|worker| share.divided(*worker, threads).index < workers).count();
            let part = |rate: u32| f64::from(rate) * own as f64 / workers.max(1) as f64;
            match knobs.rate.map(|rate| part(rate) * knobs.arrivals.peak()) {
                None if knobs.load => {
                    return Err(format!(
                        "the session has no --rate, but this agent has --max-rate {most}; give the session a --rate"
                    ));
                }
                Some(part) if knobs.load && part > f64::from(most) => {
                    let bursts = if knobs.arrivals.peak() > 1.0 { " within bursts" } else { "" };
                    return Err(format!(
                        "{part:.0} operations a second{bursts} is more than the {most} of --max-rate"
                    ));
                }
                _ => {}
            }
        }
        match knobs.workload.privileged_commands().first().filter(|_| !self.allows_all) {
            Some(name) => Err(format!("{name} needs --allow on the agent's command line")),
            None => Ok(()),
        }
    }
}

/// Returns whether `text` matches `pattern`. `*` in the pattern matches any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_a_part_of_a_target() {
        assert!(matches("10.0.0.*:6379", "10.0.0.7:6379") && matches("*", "a:1") && matches("a:1", "a:1"));
        assert!(!matches("10.0.0.*:6379", "10.0.0.7:6380") && !matches("a:1", "a:12") && !matches("", "a"));
    }
}
