//! Waits for the agents of a session.

use std::{
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use super::{
    bus::{Bus, BusError, FleetName, Stream},
    words::{REPEAT_EVERY, Report, VERSION, WAIT, read_order, read_report},
};
use crate::{endpoint::Target, signals::Signal, units::counted, untrusted};

/// An agent that waits and has not reported for this long is gone; it reports four times a second.
const GONE_AFTER: Duration = Duration::from_secs(1);
/// How often the missing agents are named.
const NAME_MISSING_EVERY: Duration = Duration::from_secs(5);

/// The agents of a session that have answered, and the bus.
pub struct Gathered {
    pub(super) bus: Target,
    pub(super) name: FleetName,
    pub(super) agents: Vec<Report>,
    /// The last read report, by its identifier.
    pub(super) after: String,
}

/// Waits until this many agents are there; `say` prints a line, and `check` is called meanwhile. Returns `None` if a
/// signal arrives first.
///
/// # Errors
/// When the bus does not answer, when an agent does not fit, or when `check` fails; a line.
pub fn gather(
    (target, name): (&Target, &FleetName),
    agents: usize,
    signals: &Receiver<Signal>,
    mut say: impl FnMut(&str),
    mut check: impl FnMut() -> Result<(), String>,
) -> Result<Option<Gathered>, String> {
    let words = |error: BusError| error.to_string();
    let mut bus = Bus::new(target, name);
    // A bus that is full, or permits no XADD, is found now.
    bus.send(Stream::Reports, &[("session", b"waits")]).map_err(words)?;
    let (mut after, mut there) = ("0".to_owned(), vec![None::<(Report, Instant)>; agents]);
    let mut named = Instant::now();
    while there.iter().any(Option::is_none) {
        if signals.try_recv().is_ok() {
            return Ok(None);
        }
        check()?;
        for fields in bus.read(Stream::Reports, &mut after, WAIT).map_err(words)? {
            let Some(report) = read_report(&fields) else { continue };
            // The other reports are of agents in an earlier session.
            if !report.run.is_empty() {
                continue;
            }
            fits(&report, agents)?;
            let place = &mut there[report.index];
            if let Some((other, _)) = place.as_ref().filter(|(other, _)| other.process != report.process) {
                let [one, two] = [other, &report].map(|report| untrusted::text(&report.host));
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
    Ok(Some(Gathered { bus: target.clone(), name: name.clone(), agents, after }))
}

/// Returns whether the bus is one of these servers, whatever its address is called.
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

/// Removes the streams of a session, whose agents have ended.
pub fn forget(bus: &Target, name: &FleetName) {
    // They expire if the bus does not answer now.
    drop(Bus::new(bus, name).remove());
}

/// Removes what an earlier session with this name has left. Do this before any agent is started.
///
/// # Errors
/// When the bus does not answer, or when that session is running; a line.
pub fn clear(target: &Target, name: &FleetName) -> Result<(), String> {
    let (mut bus, words) = (Bus::new(target, name), |error: BusError| error.to_string());
    if let Some((first, fields)) = bus.last(Stream::Orders).map_err(words)?
        && read_order(&fields).is_ok_and(|order| !order.is_over)
    {
        std::thread::sleep(3 * REPEAT_EVERY);
        if bus.last(Stream::Orders).map_err(words)?.is_some_and(|(now, _)| now != first) {
            return Err(format!("a session {name} is running on this bus; give another --session"));
        }
    }
    bus.remove().map_err(words)
}

/// Checks that an agent can be one of `agents`.
pub(super) fn fits(report: &Report, agents: usize) -> Result<(), String> {
    let Report { version, index, of, host, .. } = report;
    let host = untrusted::text(host);
    if version != VERSION {
        let version = untrusted::text(version);
        return Err(format!("the agent on {host} is redyno {version}, this is {VERSION}; use one version"));
    }
    if *of != agents || *index >= agents {
        return Err(format!("the agent on {host} is number {index} of {of}, and --agents is {agents}"));
    }
    Ok(())
}

impl Gathered {
    /// Returns the largest number of clients that all agents take together.
    pub fn most_clients(&self) -> u32 {
        let least = self.agents.iter().map(|agent| agent.most_clients).min().unwrap_or(0);
        least.saturating_mul(self.agents.len() as u32)
    }

    /// Returns the agents and their machines as text: `2 agents: 0 on a, 1 on b`.
    pub fn text(&self) -> String {
        let agent = |agent: &Report| format!("{} on {}", agent.index, untrusted::text(&agent.host));
        let agents: Vec<_> = self.agents.iter().map(agent).collect();
        format!("{}: {}", counted(agents.len() as u64, "agent"), agents.join(", "))
    }
}
