//! The nodes of a session: a row for each on the screen Nodes, and the node that all other screens show.

use super::{Model, Reachability, Screen, Tone, Track, list::moved};
use crate::{
    diagnose::Finding,
    gauge::Gauge,
    session::{Record, Timeline, timeline::PingCell},
    stats::Latency,
};

/// The largest number of nodes that are shown. A recording may have more.
const MOST_TRACKS: usize = 128;
/// A node runs an uneven share of the commands if its share is this many times the mean share of the primaries.
const UNEVEN: f64 = 1.5;
/// With fewer commands a second than this in all, differences of the shares are chance.
const LEAST_PER_S: f64 = 100.0;

/// What the screen Nodes shows of one node at the moment shown.
#[derive(Debug, Clone)]
pub struct NodeRow<'a> {
    /// The number of the node, from 0.
    pub number: usize,
    /// The address of the node; empty until the session's first record arrives.
    pub address: &'a str,
    /// The role, as the server says it: `master` or `slave`; empty if it is unknown.
    pub role: &'a str,
    /// The name and version of the server.
    pub server: String,
    /// Commands per second as the node counts them.
    pub ops_per_s: Option<f64>,
    /// The share of the commands of all primaries of a cluster; `None` for a replica, and if the primaries are idle.
    pub share: Option<f64>,
    /// The round trip times of PING in the last minute: at few PINGs a second, a shorter time has no p99.
    pub ping: Latency,
    /// The counts of the PINGs in the last minute.
    pub pings: PingCell,
    /// The text of a gauge: its present value, with its unit.
    pub gauges: [Option<String>; NODE_GAUGES.len()],
    /// Since when the node has not answered, in seconds of the session, and the cause; `None` if it answers.
    pub outage: Option<(f64, String)>,
    /// The most important finding about the node.
    pub finding: Option<Finding>,
}

/// The gauges in the row of a node.
pub const NODE_GAUGES: [Gauge; 4] = [Gauge::Cpu, Gauge::UsedMemory, Gauge::Clients, Gauge::ReplicaLag];

impl Model {
    /// Adds a record of the session to the track of its node. The first record of another node begins a new track.
    pub(super) fn push(&mut self, record: &Record) {
        let next = self.tracks.len();
        let new = match record {
            Record::Session(session) => session.nodes.len().min(MOST_TRACKS - 1).saturating_sub(next - 1),
            record => {
                usize::from(next < MOST_TRACKS && record.node().is_some_and(|node| usize::from(node) == next))
            }
        };
        self.tracks.extend((0..new).map(|_| Track::new(Timeline::new(self.options))));
        // The track of a node that joins later begins with the first record that it would have had.
        if new == 1
            && let Some(mut session) = self.tracks[0].timeline().session().cloned()
            && session.follow(record)
        {
            self.tracks[next].push(&Record::Session(session.of_node(next as u16)));
        }
        for (node, track) in (0..).zip(&mut self.tracks) {
            match record {
                Record::Session(session) => track.push(&Record::Session(session.of_node(node))),
                record if record.is_of(node) => track.push(record),
                _ => {}
            }
        }
    }

    /// Returns the screens that have something to show: Nodes only if there are several.
    pub fn screens(&self) -> impl Iterator<Item = Screen> {
        let has_several = self.tracks.len() > 1;
        Screen::ALL.into_iter().filter(move |screen| *screen != Screen::Nodes || has_several)
    }

    /// Returns the number of the node that the screens show, from 0.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Returns the number of the node whose row is selected.
    pub fn selected_node(&self) -> usize {
        self.selected_node.unwrap_or(self.node)
    }

    /// Returns a row for each node.
    pub fn node_rows(&self) -> Vec<NodeRow<'_>> {
        let mut rows: Vec<_> =
            self.tracks.iter().enumerate().map(|(number, track)| self.node_row(number, track)).collect();
        // Servers that have nothing to do with each other share no commands.
        let is_cluster = self.shown().status().is_some_and(|status| status.body.mode == "cluster");
        let is_primary = |row: &&mut NodeRow| is_cluster && row.role == "master" && row.outage.is_none();
        let total: f64 = rows.iter_mut().filter(is_primary).filter_map(|row| row.ops_per_s).sum();
        if total > 0.0 {
            rows.iter_mut()
                .filter(is_primary)
                .for_each(|row| row.share = row.ops_per_s.map(|ops| ops / total));
        }
        rows
    }

    pub(super) fn node_row<'a>(&'a self, number: usize, track: &'a Track) -> NodeRow<'a> {
        let reading = track.reading(self.view);
        let status = reading.status().map(|status| &status.body);
        let identity = reading.session().map(|session| &session.target);
        let is_live = self.is_live();
        let outage = match (&track.reachability, reading.outage()) {
            (Reachability::Down { since_s, cause }, _) if is_live => Some((*since_s, cause.clone())),
            (_, Some((since_s, cause))) if !is_live => Some((since_s, cause.to_owned())),
            _ => None,
        };
        NodeRow {
            number,
            address: identity.map_or("", |identity| &identity.address),
            role: status.map(|status| &status.role).or(identity.map(|it| &it.role)).map_or("", |role| role),
            server: status.map(|status| format!("{} {}", status.name, status.version)).unwrap_or_default(),
            ops_per_s: status.and_then(|status| status.gauges[Gauge::OpsPerS]),
            share: None,
            ping: reading.ping().minute().clone(),
            pings: reading.pings_minute(),
            gauges: NODE_GAUGES.map(|gauge| status.and_then(|status| status.text_of(gauge))),
            outage,
            finding: if is_live { track.findings.now().into_iter().next() } else { None },
        }
    }

    /// Returns the node that runs more than its share of the commands of the primaries, with its share and the mean
    /// share; `None` if none does.
    pub fn uneven_node(rows: &[NodeRow]) -> Option<(usize, f64, f64)> {
        let shares = || rows.iter().filter_map(|row| Some((row.number, row.share?, row.ops_per_s?)));
        let (primaries, total) = shares().fold((0, 0.0), |(n, total), (.., ops)| (n + 1, total + ops));
        let mean = 1.0 / f64::from(primaries);
        let (busiest, share, _) = shares().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (primaries > 1 && total >= LEAST_PER_S && share >= mean * UNEVEN).then_some((busiest, share, mean))
    }

    /// Selects the row this many rows further.
    pub(super) fn select_node(&mut self, rows: i16) {
        self.selected_node = Some(moved(self.selected_node(), rows, self.tracks.len()));
    }

    /// Shows the selected node on all screens.
    pub(super) fn show_node(&mut self) {
        self.node = self.selected_node().min(self.tracks.len() - 1);
        self.charts.refit();
        let address = self.node_row(self.node, self.track()).address.to_owned();
        self.say(Tone::Info, format!("all screens show {address}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Key, KeyCode, Msg, Order, update, update::tests::press},
        events::EventKind,
        gauge::Gauges,
        knobs::Knobs,
        server::{KeyWay, Status},
        session::{Event, Moment, ServerIdentity, SessionStart, TimelineOptions},
    };

    fn identity(address: &str) -> ServerIdentity {
        ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() }
    }

    /// Returns a session of three nodes whose primaries run these many commands a second.
    fn model(ops: [f64; 3]) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let nodes = ["b:2", "c:3"].map(identity).into();
        model.push(&Record::Session(SessionStart { nodes, ..SessionStart::now(identity("a:1")) }));
        for (node, ops) in (0..).zip(ops) {
            let gauges = Gauges::from([(Gauge::OpsPerS, ops)]);
            let status =
                Status { role: "master".to_owned(), mode: "cluster".to_owned(), gauges, ..Status::default() };
            model.push(&Record::Server(Box::new(Moment::new(1.0, status))).at_node(node));
        }
        model
    }

    #[test]
    fn each_node_has_a_row_with_its_own_address_and_figures() {
        let model = model([1.0, 2.0, 3.0]);
        let rows = model.node_rows();
        let seen: Vec<_> = rows.iter().map(|row| (row.number, row.address, row.ops_per_s)).collect();
        assert_eq!(seen, [(0, "a:1", Some(1.0)), (1, "b:2", Some(2.0)), (2, "c:3", Some(3.0))]);
    }

    #[test]
    fn a_node_that_joins_has_a_row_with_its_address_and_all_tracks_have_the_event() {
        let mut model = model([1.0, 2.0, 3.0]);
        for (node, address) in [(3, "d:4"), (4, "e:5")] {
            let joined = EventKind::NodeJoined { address: address.to_owned() };
            model.push(&Record::Event(Event::new(2.0, joined)).at_node(node));
        }
        let addresses: Vec<_> = model.node_rows().iter().map(|row| row.address.to_owned()).collect();
        assert_eq!(addresses, ["a:1", "b:2", "c:3", "d:4", "e:5"]);
        let events: Vec<_> = model.tracks().iter().map(|track| track.timeline().events().count()).collect();
        assert_eq!(events, [2, 2, 2, 2, 1]);
    }

    #[test]
    fn the_selected_node_is_shown_on_all_screens_after_enter() {
        let mut model = model([1.0, 2.0, 3.0]);
        for code in [KeyCode::Char('7'), KeyCode::Down, KeyCode::Down, KeyCode::Down] {
            update(&mut model, Msg::Key(Key::plain(code)));
        }
        assert_eq!((model.node(), model.selected_node()), (0, 2));
        update(&mut model, Msg::Key(Key::plain(KeyCode::Enter)));
        let address = model.shown().session().map(|session| session.target.address.clone());
        assert_eq!((model.node(), address.as_deref()), (2, Some("c:3")));
        let look = Order::LookAtKeys { node: 2, way: KeyWay::Scan };
        assert_eq!(press(&mut model, "d\n"), [Effect::Order(look)], "the keys, too, are those of this node");
        assert_eq!(model.keys_of(), Some("c:3"));
    }

    #[test]
    fn a_node_with_more_than_its_share_of_the_commands_is_named_and_an_idle_cluster_is_not() {
        let uneven = |ops| Model::uneven_node(&model(ops).node_rows());
        assert_eq!(uneven([100.0, 100.0, 800.0]), Some((2, 0.8, 1.0 / 3.0)));
        assert_eq!(uneven([300.0, 300.0, 400.0]), None);
        assert_eq!(uneven([1.0, 0.0, 8.0]), None);
    }
}
