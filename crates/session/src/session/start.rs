//! Creates the first record of a session (program, target, machine and start), and the first record of each segment.

use std::sync::Arc;

use super::{Event, Host, Record, SCHEMA, Segment, ServerIdentity, SessionStart};
use crate::{
    clock::{seconds, utc_offset_s},
    events::EventKind,
    knobs::Knobs,
    load::{IoChoice, SettingChange},
    server::ConfigChange,
};

impl ServerIdentity {
    /// Returns the address, with the name of the target if there is one: `@prod (10.0.0.5:6379)`.
    pub fn named_address(&self) -> String {
        let Self { address, name, .. } = self;
        name.as_ref().map_or_else(|| address.clone(), |name| format!("@{name} ({address})"))
    }
}

impl SessionStart {
    /// Returns the first record of a session that begins now, on this machine, with `target`.
    pub fn now(target: ServerIdentity) -> Self {
        let format = &time::format_description::well_known::Rfc3339;
        let now = time::OffsetDateTime::now_utc().truncate_to_millisecond();
        Self {
            schema: SCHEMA,
            tool: concat!("redyno ", env!("CARGO_PKG_VERSION")).to_owned(),
            started: now.format(format).expect("the present year has four digits"),
            utc_offset_s: utc_offset_s(now.unix_timestamp()),
            from_s: 0.0,
            target,
            nodes: Arc::default(),
            members: Vec::new(),
            host: Host::this(),
        }
    }

    /// Returns the same record with the server of `node` as its target. For node 0 the record is unchanged.
    #[must_use]
    pub fn of_node(&self, node: u16) -> Self {
        let mut session = self.clone();
        if let Some(place) = usize::from(node).checked_sub(1) {
            session.target = self.nodes.get(place).cloned().unwrap_or_default();
        }
        session
    }

    /// Adds a node to this record if `record` reports that the node has joined. Returns whether a node was added. The
    /// first record for a later file or a later listener then contains all nodes.
    pub fn follow(&mut self, record: &Record) -> bool {
        let Record::Event(Event { node, what: EventKind::NodeJoined { address }, .. }) = record else {
            return false;
        };
        let is_next = usize::from(*node) == self.nodes.len() + 1;
        if is_next {
            let (address, tls) = (address.clone(), self.target.tls);
            Arc::make_mut(&mut self.nodes).push(ServerIdentity { address, tls, ..ServerIdentity::default() });
        }
        is_next
    }

    /// Returns the address of a node; `None` if the address is unknown.
    pub fn address_of(&self, node: u16) -> Option<&str> {
        let server = match usize::from(node).checked_sub(1) {
            None => Some(&self.target),
            Some(place) => self.nodes.get(place),
        };
        let member =
            self.members.iter().find(|member| member.node == node).map(|member| member.address.as_str());
        server.map(|server| server.address.as_str()).filter(|address| !address.is_empty()).or(member)
    }
}

impl Segment {
    /// Returns the requested rate of this load. Returns `None` in a closed loop, without load, and for a part of the
    /// load.
    pub fn rate_due(&self) -> Option<u32> {
        self.knobs.rate.filter(|_| self.knobs.load && !self.is_part)
    }

    /// Returns a segment that begins with a change of load settings, without a warm-up, a prefill or a changed
    /// parameter.
    pub fn new(t_s: f64, segment: u32, knobs: Knobs) -> Self {
        let trace = knobs.workload.trace.as_ref().map(ToString::to_string);
        let times = knobs.times.as_ref().filter(|times| !times.is_of_trace).map(ToString::to_string);
        let (node, warmup, prefill, config, is_part) = (0, false, None, None, false);
        Self { t_s, node, segment, knobs, trace, times, warmup, prefill, config, is_part }
    }

    /// Returns the segment that the load engine has begun with these load settings. If a change of a server parameter
    /// began the segment, `config` is this change.
    pub(super) fn begun(turned: SettingChange, knobs: Knobs, config: Option<ConfigChange>) -> Self {
        let SettingChange { segment, since_ns, is_warmup: warmup, prefill } = turned;
        Self { warmup, prefill, config, ..Self::new(seconds(since_ns), segment, knobs) }
    }

    /// Returns the reason why the summary leaves this segment out: `prefill` or `warm-up`. Returns `None` if the
    /// summary includes this segment.
    pub fn aside(&self) -> Option<&'static str> {
        let prefill = self.prefill.map(|_| "prefill");
        prefill.or(self.warmup.then_some("warm-up"))
    }
}

impl Host {
    /// Returns the machine that redyno runs on.
    pub fn this() -> Self {
        let system = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        Self {
            name: text(system.nodename()),
            system: format!("{} {}", text(system.sysname()), text(system.release())),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            io: IoChoice::made().map(ToString::to_string),
        }
    }
}
