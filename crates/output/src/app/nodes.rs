//! The nodes of a session: the rows of the Nodes screen, and the node that all other screens show.

use std::collections::BTreeMap;

use super::{Model, NodeRow, Screen, Tone, Track, list::moved};
use crate::{
    events::EventKind,
    gauge::Gauge,
    protocol::SLOTS,
    session::{Event, Timeline, timeline::AgentRow},
    units,
};

/// A node's share of the requests is uneven if it is at least this many times the mean share.
const UNEVEN: f64 = 1.5;
/// The smallest difference that is not due to chance, in standard deviations of an even share of a second's requests.
const CHANCE: f64 = 5.0;

impl Model {
    /// Returns the screens of this session. The Nodes screen is included only if there are several nodes or any
    /// agents.
    pub fn screens(&self) -> impl Iterator<Item = Screen> {
        let has_several = self.tracks.len() > 1 || self.tracks[0].reading(self.figures_view()).has_agents();
        Screen::ALL.into_iter().filter(move |screen| *screen != Screen::Nodes || has_several)
    }

    /// Returns the number of the node whose row is selected.
    pub fn selected_node(&self) -> usize {
        self.node_table.selected.unwrap_or(self.node)
    }

    /// Returns a row for each node, in the order of the table. The user may have named node 0 by a host name
    /// or by a Sentinel service. After a failover, this name leads to another server, which then appears only
    /// in the row of node 0.
    pub fn node_rows(&self) -> Vec<NodeRow<'_>> {
        let mut rows: Vec<_> =
            self.tracks.iter().enumerate().map(|(number, track)| self.node_row(number, track)).collect();
        let mut load = self.tracks[0].reading(self.figures_view()).load_by_node();
        if load.is_empty() {
            share_commands(&mut rows);
        } else {
            for (node, row) in (0..).zip(&mut rows) {
                row.load = load.remove(&node);
                row.ops_per_s = row.load.as_ref().and_then(|load| load.ops_per_s);
                row.share = row.load.as_ref().map(|load| load.share);
            }
        }
        let took_over = |event: &Event| match &event.what {
            EventKind::Failover { to, by, .. } if by != "cluster" => Some(to.clone()),
            _ => None,
        };
        let first = self.tracks[0].reading(self.figures_view()).events().rev().find_map(took_over);
        rows.retain(|row| row.number == 0 || first.as_deref() != Some(row.address));
        self.node_table.sort(&mut rows, NodeRow::value);
        rows
    }

    /// Returns the nodes, except the first, that answer a part of the first node's load.
    pub fn parts_of_load(&self) -> impl Iterator<Item = &Timeline> {
        self.tracks.iter().skip(1).map(Track::shown).filter(|timeline| timeline.has_part())
    }

    /// Returns the load of each agent of a fleet at the moment shown, by the agent's number.
    pub fn agents(&self) -> BTreeMap<u16, AgentRow<'_>> {
        self.tracks[0].reading(self.figures_view()).agents()
    }

    pub(super) fn node_row<'a>(&'a self, number: usize, track: &'a Track) -> NodeRow<'a> {
        let view = self.figures_view();
        let reading = track.reading(view);
        let status = reading.status().map(|status| &status.body);
        let identity = reading.session().map(|session| &session.target);
        // Events about nodes that join or leave are in the tracks of all nodes.
        let membership = |event: &Event| match event.what {
            _ if usize::from(event.node) != number => None,
            EventKind::NodeLeft { .. } => Some("left"),
            EventKind::NodeJoined { .. } | EventKind::NodeBack { .. } => Some(""),
            _ => None,
        };
        let left = reading.events().rev().find_map(membership).filter(|role| !role.is_empty());
        let role = || status.map(|status| &*status.role).or(identity.map(|it| &*it.role)).unwrap_or_default();
        NodeRow {
            number,
            address: identity.map_or("", |identity| &identity.address),
            status,
            role: left.unwrap_or_else(role),
            slots: status.and_then(|status| status.gauges.get(Gauge::Slots)).map(|slots| slots as u32),
            load: None,
            ops_per_s: status.and_then(|status| status.gauges.get(Gauge::OpsPerS)),
            share: None,
            track,
            view,
            event: reading.events().next_back(),
            outage: reading.outage().map(|(since_s, cause)| (since_s, cause.to_owned())),
        }
    }

    /// Returns a sentence about the node with the largest share of the requests. Returns `None` if the shares are about
    /// even.
    pub fn uneven_node(rows: &[NodeRow]) -> Option<String> {
        let shares = || rows.iter().filter_map(|row| Some((row, row.share?, row.ops_per_s?)));
        let (row, share, _) = shares().max_by(|a, b| a.1.total_cmp(&b.1))?;
        // Primaries and replicas are not compared with each other: replicas may get the reads and primaries the
        // writes.
        let peers = shares().filter(|(peer, ..)| peer.role == row.role);
        let (n, sum, total) =
            peers.fold((0, 0.0, 0.0), |(n, sum, total), (_, share, ops)| (n + 1, sum + share, total + ops));
        let mean = sum / f64::from(n);
        let (own, even) = (share * total, mean * total);
        if n < 2 || share < mean * UNEVEN || own < even + CHANCE * even.sqrt() {
            return None;
        }
        let what = if row.load.is_some() { "requests" } else { "commands" };
        let has = format!("{} has {} of the {what}", row.address, units::percent(share));
        let is_of_all = shares().count() == n as usize;
        let slots = row.slots.map(|slots| f64::from(slots) / f64::from(SLOTS)).filter(|_| is_of_all);
        Some(match slots {
            Some(slots) if share >= slots * UNEVEN => {
                format!("{has}, but only {} of the slots: the node has hot keys", units::percent(slots))
            }
            Some(slots) => {
                format!("{has} and {} of the slots: the slots are divided unevenly", units::percent(slots))
            }
            None => {
                format!(
                    "{has}; an even share is {}. The node has hot keys, or more slots than other nodes",
                    units::percent(mean)
                )
            }
        })
    }

    /// Moves the selection by this many rows.
    pub(super) fn select_node(&mut self, rows: i16) {
        let selected = self.selected_node();
        let numbers: Vec<_> = self.node_rows().iter().map(|row| row.number).collect();
        let at = numbers.iter().position(|number| *number == selected).unwrap_or(0);
        self.node_table.selected = numbers.get(moved(at, rows, numbers.len())).copied();
    }

    /// Shows the selected node on all screens.
    pub(super) fn show_node(&mut self) {
        self.node = self.selected_node().min(self.tracks.len() - 1);
        self.charts.refit();
        let address = self.node_row(self.node, self.track()).address.to_owned();
        self.show_message(Tone::Info, format!("all screens show {address}"));
    }
}

/// Sets each primary's share of the commands of all primaries in a cluster. Servers outside a cluster get no share.
fn share_commands(rows: &mut [NodeRow]) {
    let is_of_cluster = |row: &NodeRow| row.status.is_some_and(|status| status.mode == "cluster");
    let is_primary = |row: &&mut NodeRow| is_of_cluster(row) && row.role == "master" && row.outage.is_none();
    let total: f64 = rows.iter_mut().filter(is_primary).filter_map(|row| row.ops_per_s).sum();
    if total > 0.0 {
        let primaries = rows.iter_mut().filter(is_primary);
        primaries.for_each(|row| row.share = row.ops_per_s.map(|ops| ops / total));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Key, KeyCode, Msg, NodeColumn, Order, update, update::tests::press},
        gauge::Gauges,
        knobs::Knobs,
        server::{KeyMethod, Status},
        session::{
            Interval, Moment, OperationInterval, Record, ServerIdentity, SessionStart, TimelineOptions,
        },
        stats::fixture::repeated,
    };

    fn identity(address: &str) -> ServerIdentity {
        ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() }
    }

    /// Returns a session with three primaries that run this many commands per second.
    fn model(ops: [f64; 3]) -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let nodes = std::sync::Arc::new(["b:2", "c:3"].map(identity).to_vec());
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
        let events: Vec<_> = model.tracks.iter().map(|track| track.timeline.events().count()).collect();
        assert_eq!(events, [2, 2, 2, 2, 1]);
    }

    #[test]
    fn a_server_that_takes_over_the_name_of_node_0_has_one_row_until_another_failover() {
        let mut model = model([1.0, 2.0, 3.0]);
        let mut numbers_after = |to: &str, by: &str| {
            let (from, to, by) = ("x:9".to_owned(), to.to_owned(), by.to_owned());
            let (length_s, error_s, epoch, cause) = (1.0, 0.0, None, None);
            let what = EventKind::Failover { from, to, length_s, error_s, by, epoch, cause };
            model.push(&Record::Event(Event::new(2.0, what)));
            model.node_rows().iter().map(|row| row.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers_after("b:2", "cluster"), [0, 1, 2]);
        assert_eq!(numbers_after("b:2", "sentinel"), [0, 2]);
        assert_eq!(numbers_after("c:3", "sentinel"), [0, 1]);
    }

    #[test]
    fn a_node_that_has_left_its_cluster_has_the_role_left_until_it_is_back() {
        let mut model = model([1.0, 2.0, 3.0]);
        let mut role = |what| {
            model.push(&Record::Event(Event::new(2.0, what)).at_node(1));
            [0, 1].map(|row| model.node_rows()[row].role.to_owned())
        };
        let address = "b:2".to_owned();
        assert_eq!(role(EventKind::NodeLeft { address: address.clone() }), ["master", "left"]);
        assert_eq!(role(EventKind::NodeBack { address }), ["master", "master"]);
    }

    #[test]
    fn the_selected_node_is_shown_on_all_screens_after_enter() {
        let mut model = model([1.0, 2.0, 3.0]);
        for code in [KeyCode::Char('7'), KeyCode::Down, KeyCode::Down, KeyCode::Down] {
            update(&mut model, Msg::Key(Key::plain(code)));
        }
        assert_eq!((model.node, model.selected_node()), (0, 2));
        update(&mut model, Msg::Key(Key::plain(KeyCode::Enter)));
        let address = model.shown().session().map(|session| session.target.address.clone());
        assert_eq!((model.node, address.as_deref()), (2, Some("c:3")));
        let look = Order::ScanKeys { node: 2, way: KeyMethod::Scan };
        assert_eq!(
            press(&mut model, "d\n"),
            [Effect::Order(look)],
            "the view of the keys shows the same node"
        );
        assert_eq!(model.keys_of(), Some("c:3"));
    }

    #[test]
    fn a_node_with_more_than_its_share_of_the_commands_is_named_and_an_idle_cluster_is_not() {
        let uneven = |ops| Model::uneven_node(&model(ops).node_rows());
        let expected = "c:3 has 80 % of the commands; an even share is 33 %. The node has hot keys, or more slots than other nodes";
        assert_eq!(uneven([100.0, 100.0, 800.0]).as_deref(), Some(expected));
        assert_eq!(uneven([300.0, 300.0, 400.0]), None);
        assert_eq!(uneven([1.0, 0.0, 8.0]), None);
        assert_eq!(uneven([25.0, 25.0, 55.0]), None, "by chance");
    }

    #[test]
    fn with_a_load_the_share_of_the_load_is_compared_with_the_share_of_the_slots() {
        let mut model = model([5.0, 5.0, 5.0]);
        for (node, slots) in [(0, 8192.0), (1, 4096.0), (2, 4096.0)] {
            let gauges = Gauges::from([(Gauge::Slots, slots)]);
            let status = Status { role: "master".to_owned(), gauges, ..Status::default() };
            model.push(&Record::Server(Box::new(Moment::new(2.0, status))).at_node(node));
        }
        let push = |model: &mut Model, t_s, ops: [u64; 3]| {
            let part =
                |n: u64| OperationInterval { ops: n, service: repeated(1000, n), ..Default::default() };
            let nodes = (0..).zip(ops.map(part)).collect();
            let interval = Interval {
                t_s,
                length_s: 1.0,
                segment: 1,
                ops: ops.iter().sum(),
                nodes,
                ..Interval::default()
            };
            model.push(&Record::Interval(Box::new(interval)));
        };
        push(&mut model, 3.0, [200, 600, 200]);
        let uneven = |model: &Model| Model::uneven_node(&model.node_rows());
        assert_eq!(
            uneven(&model).as_deref(),
            Some("b:2 has 60 % of the requests, but only 25 % of the slots: the node has hot keys")
        );
        assert_eq!(model.node_rows()[0].ops_per_s, Some(200.0));
        push(&mut model, 20.0, [600, 200, 200]);
        let expected = "a:1 has 60 % of the requests and 50 % of the slots: the slots are divided unevenly";
        assert_eq!(uneven(&model).as_deref(), Some(expected));
    }

    #[test]
    fn replicas_that_get_the_reads_are_compared_with_one_another() {
        let mut model = model([1.0; 3]);
        let push = |model: &mut Model, t_s, ops: [u64; 3]| {
            let part = |ops| OperationInterval { ops, service: repeated(1000, ops), ..Default::default() };
            let nodes = (0..).zip(ops.map(part)).collect();
            let (segment, length_s, ops) = (1, 1.0, ops.iter().sum());
            let interval = Interval { t_s, length_s, segment, ops, nodes, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
        };
        for node in [1, 2] {
            let gauges = Gauges::from([(Gauge::Slots, 0.0)]);
            let status = Status { role: "slave".to_owned(), gauges, ..Status::default() };
            model.push(&Record::Server(Box::new(Moment::new(2.0, status))).at_node(node));
        }
        push(&mut model, 3.0, [100, 450, 450]);
        assert_eq!(Model::uneven_node(&model.node_rows()), None);
        push(&mut model, 20.0, [100, 800, 100]);
        let expected = "b:2 has 80 % of the requests; an even share is 45 %. The node has hot keys, or more slots than other nodes";
        assert_eq!(Model::uneven_node(&model.node_rows()).as_deref(), Some(expected));
    }

    #[test]
    fn rows_are_sorted_by_any_column_with_values_and_the_selection_follows_its_node() {
        let mut model = model([1.0, 3.0, 2.0]);
        let numbers = |model: &Model| model.node_rows().iter().map(|row| row.number).collect::<Vec<_>>();
        let press = |model: &mut Model, code| drop(update(model, Msg::Key(Key::plain(code))));
        press(&mut model, KeyCode::Char('7'));
        press(&mut model, KeyCode::Down);
        assert_eq!((numbers(&model), model.selected_node()), (vec![0, 1, 2], 1));
        while model.node_table.sorted_by != NodeColumn::Ops {
            press(&mut model, KeyCode::Right);
        }
        assert_eq!((numbers(&model), model.selected_node()), (vec![1, 2, 0], 1));
        press(&mut model, KeyCode::Char('R'));
        assert_eq!(numbers(&model), [0, 2, 1]);
        press(&mut model, KeyCode::Up);
        assert_eq!(model.selected_node(), 2);
    }
}
