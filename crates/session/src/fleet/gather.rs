//! Waits until the agents of a fleet have joined their session.

use std::{
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use super::{
    bus::{Bus, BusError, BusStream, FleetName},
    messages::{AgentReport, REPEAT_EVERY, VERSION, WAIT, read_order, read_report, redyno_of},
};
use crate::{endpoint::Target, load::MOST_THREADS, signals::Signal, units::count_with_noun};

/// A waiting agent is considered gone after this time without a report. A waiting agent reports four times a
/// second.
const GONE_AFTER: Duration = Duration::from_secs(1);
/// The interval between two lines that name the missing agents.
const NAME_MISSING_EVERY: Duration = Duration::from_secs(5);

/// The agents that have reported for a session, and the bus.
pub struct GatheredAgents {
    pub(super) bus: Target,
    pub(super) name: FleetName,
    pub(super) agents: Vec<AgentReport>,
    /// The stream identifier of the last report that was read.
    pub(super) after: String,
}

/// Waits until `agents` agents have reported. Calls `check` repeatedly while waiting. `say` prints a line. Returns
/// `None` if a signal arrives first.
///
/// # Errors
/// Fails if the bus does not answer at first, if an agent does not match this session, or if `check` fails. The error
/// is one line.
pub fn gather(
    (target, name): (&Target, &FleetName),
    agents: usize,
    signals: &Receiver<Signal>,
    mut say: impl FnMut(&str),
    mut check: impl FnMut() -> Result<(), String>,
) -> Result<Option<GatheredAgents>, String> {
    let words = |error: BusError| error.to_string();
    let mut bus = Bus::new(target, name);
    // This write fails early if the bus is out of memory or permits no XADD.
    bus.send(BusStream::Reports, &[("session", b"waits")]).map_err(words)?;
    let (mut after, mut there) = ("0".to_owned(), vec![None::<(AgentReport, Instant)>; agents]);
    let (mut named, mut trouble) = (Instant::now(), String::new());
    while there.iter().any(Option::is_none) {
        if signals.try_recv().is_ok() {
            return Ok(None);
        }
        check()?;
        let read = bus.read(BusStream::Reports, &mut after, WAIT);
        let now = read.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if now != trouble {
            match now.is_empty() {
                true => say("the bus answers again"),
                false => say(&format!("{now}; the session waits for it")),
            }
        }
        if !now.is_empty() {
            std::thread::sleep(WAIT);
        }
        trouble = now;
        for fields in read.into_iter().flatten() {
            let Some(report) = read_report(&fields) else { continue };
            // If a report names a run, its agent still works for an earlier session.
            if !report.run.is_empty() {
                continue;
            }
            fits(&report, agents)?;
            let place = &mut there[report.index];
            if let Some((other, _)) = place.as_ref().filter(|(other, _)| other.process != report.process) {
                let [one, two] = [other, &report].map(AgentReport::host);
                return Err(format!("two agents have the number {}, on {one} and on {two}", report.index));
            }
            *place = (!report.is_last).then(|| (report, Instant::now()));
        }
        for place in &mut there {
            place.take_if(|(_, heard)| heard.elapsed() > GONE_AFTER);
        }
        if named.elapsed() >= NAME_MISSING_EVERY {
            named = Instant::now();
            let missing = there.iter().enumerate().filter(|(_, report)| report.is_none());
            let missing: Vec<_> = missing.map(|(index, _)| index.to_string()).collect();
            say(&format!("waiting for agents of session {name}: {} missing", missing.join(", ")));
        }
    }
    let agents = there.into_iter().flatten().map(|(report, _)| report).collect();
    Ok(Some(GatheredAgents { bus: target.clone(), name: name.clone(), agents, after }))
}

/// Returns whether the bus is one of `servers`, even if the two addresses are written differently.
pub fn is_one_of(bus: &Target, mut servers: impl Iterator<Item = Target>) -> bool {
    let name = FleetName::default();
    let id = Bus::new(bus, &name).run_id().ok();
    servers.any(|server| {
        server.address == bus.address
            || server.dialect.has_collections()
                && id.is_some()
                && Bus::new(&server, &name).run_id().ok() == id
    })
}

/// Removes the streams of a session after its agents have ended.
pub fn remove_streams(bus: &Target, name: &FleetName) {
    // If the bus does not answer now, the streams expire.
    drop(Bus::new(bus, name).remove());
}

/// Removes the streams that an earlier session with this name has left. Call this function before any agent is started.
///
/// # Errors
/// Fails if the bus does not answer, or if a session with this name is running. The error is one line.
pub fn clear(target: &Target, name: &FleetName) -> Result<(), String> {
    let (mut bus, words) = (Bus::new(target, name), |error: BusError| error.to_string());
    if let Some((first, fields)) = bus.last(BusStream::Orders).map_err(words)?
        && read_order(&fields).map_or(true, |order| !order.is_over)
    {
        std::thread::sleep(3 * REPEAT_EVERY);
        if bus.last(BusStream::Orders).map_err(words)?.is_some_and(|(now, _)| now != first) {
            return Err(format!("a session {name} is running on this bus; give another --session"));
        }
    }
    bus.remove().map_err(words)
}

/// Checks that the agent of a report has this version of redyno, and a number that fits a fleet of `agents` agents.
pub(super) fn fits(report: &AgentReport, agents: usize) -> Result<(), String> {
    let AgentReport { version, index, of, .. } = report;
    let host = report.host();
    if version != VERSION {
        let other = redyno_of(version);
        return Err(format!("the agent on {host} is {other}, this is {VERSION}; use one version"));
    }
    if *of != agents || *index >= agents {
        return Err(format!("the agent on {host} is number {index} of {of}, and --agents is {agents}"));
    }
    Ok(())
}

impl GatheredAgents {
    /// Returns the largest number of clients that all agents together permit.
    pub fn most_clients(&self) -> u32 {
        let least = self.agents.iter().map(|agent| agent.most_clients).min().unwrap_or(0);
        least.saturating_mul(self.agents.len() as u32)
    }

    /// Returns the number of workers that suits every agent's machine. All agents have the same number of workers,
    /// because the load is divided evenly among the workers of all agents.
    pub fn least_threads(&self) -> usize {
        let least = self.agents.iter().map(|agent| agent.threads).min().unwrap_or(1);
        least.clamp(1, MOST_THREADS)
    }

    /// Returns the agents and their machines as text, such as `2 agents: 0 on a, 1 on b`.
    pub fn text(&self) -> String {
        let agent = |agent: &AgentReport| format!("{} on {}", agent.index, agent.host());
        let agents: Vec<_> = self.agents.iter().map(agent).collect();
        format!("{}: {}", count_with_noun(agents.len() as u64, "agent"), agents.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::messages::REPORT;

    #[test]
    fn an_agent_of_a_version_with_other_fields_is_refused_for_its_version() {
        let text = r#"{"version": "0.0.1", "index": 0, "of": 1, "host": "load-0", "speed": 7}"#;
        let report = read_report(&vec![(REPORT.to_owned(), text.into())]).unwrap();
        let error = fits(&report, 1).unwrap_err();
        assert!(error.starts_with("the agent on load-0 is redyno 0.0.1, this is "), "{error}");
        let bare = read_report(&vec![(REPORT.to_owned(), b"{}".to_vec())]).unwrap();
        let error = fits(&bare, 1).unwrap_err();
        let whose = "the agent on a machine without a name is redyno of an unknown version, this is ";
        assert!(error.starts_with(whose), "{error}");
    }
}
