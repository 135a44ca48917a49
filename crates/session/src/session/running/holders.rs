//! The holders of a load's keys: the target itself, or all primaries of its cluster. Each holder has a control plane
//! (the connection for redyno's own commands) and a marker key of the run. Each holder also has a ledger (the list of
//! changes that redyno must undo).
//!
//! ```text
//! Topology ──► a new primary: gets a ledger with the run's key names, and a marker key
//!              a former primary: nothing is stored there now, and its marker key is not renewed
//! ```

use std::{
    collections::BTreeMap,
    sync::{Arc, mpsc::channel},
    time::{Duration, Instant},
};

use super::{HolderReplies, KeyOwner};
use crate::{
    clock::Clock,
    endpoint::{Address, Cluster, Role, Target, Topology, node_address},
    knobs::Knobs,
    protocol::SLOTS,
    server::{Answer, ClusterMember, Control, Ledger, Marker, OWN_PERMISSIONS, ServerError, SetupObject},
    session::Numbering,
    workload::KeySpan,
};

/// The longest wait for a new topology.
const RENEWAL: Duration = Duration::from_secs(2);
/// The interval between two checks for the new topology.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A server that stores keys of a load.
pub struct Holder {
    /// The number of the node in the session.
    pub number: u16,
    /// The server.
    pub target: Target,
    /// The control plane of the server: the connection for redyno's own commands.
    pub control: Arc<Control>,
    /// The changes that must be undone on the server.
    pub ledger: Ledger,
}

/// The servers that store the keys of a load.
pub struct Holders {
    /// The server that the user named.
    target: Target,
    cluster: Option<Arc<Cluster>>,
    /// The topology whose primaries are in `all`.
    seen: Option<Arc<Topology>>,
    all: Vec<Holder>,
    /// The control planes of the session's nodes, by node number. Other holders get new control planes.
    controls: BTreeMap<u16, Arc<Control>>,
    /// The poll interval of the new control planes.
    every: Duration,
    /// The ledger of the named server.
    ledger: Ledger,
    /// The objects that setups made at former primaries. A promoted replica has copies of these objects.
    made: Vec<SetupObject>,
    /// The key names that the load may write, and whether the keys stay on the server at the end.
    noted: Option<(KeySpan, bool)>,
    numbering: Numbering,
}

impl Holders {
    /// Returns the text of this error, with the permissions that redyno's user lacks.
    pub(super) fn with_permission(&self, error: &ServerError) -> String {
        error.with_permission(&self.target, OWN_PERMISSIONS)
    }

    /// Returns no holders.
    fn none(target: &Target, ledger: Ledger, numbering: Numbering) -> Self {
        Self {
            target: target.clone(),
            cluster: None,
            seen: None,
            all: Vec::new(),
            controls: BTreeMap::new(),
            every: Duration::ZERO,
            ledger,
            made: Vec::new(),
            noted: None,
            numbering,
        }
    }

    /// Returns the server at `target`, node `number`, as the only holder.
    pub fn alone(number: u16, target: &Target, control: Arc<Control>, ledger: Ledger) -> Self {
        let mut holders = Self::none(target, ledger.clone(), Numbering { first: number, step: 1 });
        holders.all.push(Holder { number, target: target.clone(), control, ledger });
        holders
    }

    /// Returns all primaries of a cluster as holders. `target` is node 0 of the cluster. `controls` has the control
    /// planes of the session's nodes, by node number. Other primaries get new control planes that poll at the interval
    /// `every`.
    ///
    /// # Errors
    /// Fails if a control plane cannot be started. The error is a message.
    pub fn of_cluster(
        target: &Target,
        (cluster, numbering): (Arc<Cluster>, Numbering),
        controls: BTreeMap<u16, Arc<Control>>,
        every: Duration,
        ledger: Ledger,
    ) -> Result<Self, String> {
        let none = Self::none(target, ledger, numbering);
        let mut holders = Self { cluster: Some(cluster), controls, every, ..none };
        holders.poll()?;
        Ok(holders)
    }

    /// Returns all holders.
    pub fn iter(&self) -> impl Iterator<Item = &Holder> {
        self.all.iter()
    }

    /// Returns whether node `number` is a holder.
    pub fn has(&self, number: u16) -> bool {
        self.all.iter().any(|holder| holder.number == number)
    }

    /// Returns whether the holders are primaries of a cluster, or servers of a ring.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// Returns whether keys can move from one holder to another.
    pub fn move_keys(&self) -> bool {
        self.cluster.as_ref().is_some_and(|cluster| !cluster.is_ring())
    }

    /// Returns whether the holders are servers of a ring, which store keys by consistent hashing.
    pub fn are_ring(&self) -> bool {
        self.is_cluster() && !self.move_keys()
    }

    /// Checks that all keys of each operation are on one holder, and that redyno can remove the keys at the end.
    ///
    /// # Errors
    /// Fails if the holders are servers of a ring, and an operation has several keys. Also fails if redyno must remove
    /// the keys at the end, but the load inserts new keys into a server that cannot list its keys.
    pub fn check_keys(&self, knobs: &Knobs, keys: KeyOwner) -> Result<(), String> {
        let dialect = self.target.dialect;
        let are_removed = keys == KeyOwner::Runs { kept: false } && dialect.has_keys();
        let is_by_name = knobs.load && are_removed && !dialect.lists_keys();
        if is_by_name && KeySpan::written_by(&knobs.workload, knobs.keyspace).total().is_none() {
            return Err("memcached cannot list new keys ({NAME.new}), so redyno could not remove them; \
                        give --keep, --own-names or --key-prefix"
                .to_owned());
        }
        let is_checked = self.are_ring() && knobs.load;
        let checked = is_checked.then(|| knobs.workload.check_one_key(dialect));
        checked.transpose().map(|_| ()).map_err(|error| error.to_string())
    }

    /// Returns the servers that the user must pass to `redyno clean`, so that all holders are cleaned. For a
    /// cluster, one node is enough.
    pub fn servers_to_clean(&self) -> Vec<&Target> {
        match self.are_ring() {
            true => self.all.iter().map(|holder| &holder.target).collect(),
            false => vec![&self.target],
        }
    }

    /// Returns whether the load may have written keys.
    pub fn have_keys(&self) -> bool {
        self.all.iter().any(|holder| holder.ledger.has_keys())
    }

    /// Returns a marker with the contents of all holders' ledgers; `None` without holders.
    pub fn marker(&self) -> Option<Marker> {
        self.all.iter().map(|holder| holder.ledger.marker()).reduce(Marker::with)
    }

    /// Returns whether all ledgers contain all key names of `span`.
    pub fn cover(&self, span: &KeySpan) -> bool {
        self.all.iter().all(|holder| holder.ledger.covers(span))
    }

    /// Sends a command to all holders. Calls `order` for each holder.
    pub fn ask<T>(&self, order: impl Fn(&Holder) -> Answer<T>) -> HolderReplies<T> {
        let awaited = |holder: &Holder| (holder.number, holder.target.address.clone(), order(holder));
        let awaited = self.all.iter().map(awaited).collect();
        HolderReplies { awaited, arrived: Vec::new(), is_of_cluster: self.is_cluster() }
    }

    /// Adds key names to all ledgers and markers. `kept` is set if the keys stay on the server at the end. Returns
    /// `None` if all ledgers already contain the names.
    pub fn note(&mut self, span: &KeySpan, kept: bool) -> Option<HolderReplies<()>> {
        if self.cover(span) {
            return None;
        }
        let noted = self.noted.take().map_or(KeySpan::default(), |(noted, _)| noted);
        self.noted = Some((noted.with(span.clone()), kept));
        for holder in &self.all {
            holder.ledger.add_keys(span.clone(), kept);
        }
        Some(self.ask(|holder| holder.control.mark(&holder.ledger)))
    }

    /// Handles a failure to write a marker. If the only server has refused the marker, redyno has written nothing, and
    /// empties the ledger. In a cluster, other primaries may already have markers, so the ledgers stay unchanged.
    pub fn not_marked(&self, error: &ServerError) {
        if error.is_refused() && !self.is_cluster() {
            self.all.iter().for_each(|holder| holder.ledger.drop_keys());
        }
    }

    /// Returns the beginning of a message about node `number`, if there are several holders.
    pub fn subject(&self, number: u16) -> String {
        let holder = self.all.iter().find(|holder| holder.number == number && self.is_cluster());
        holder.map(|holder| format!("{}: ", holder.target.address)).unwrap_or_default()
    }

    /// Adds the control plane of a node that has joined the session. The control plane is used if the node becomes a
    /// primary.
    pub fn meet(&mut self, number: u16, control: Arc<Control>) {
        self.controls.entry(number).or_insert(control);
    }

    /// Updates the holders if other nodes are primaries now, and writes the markers of new holders. Call this function
    /// often.
    ///
    /// # Errors
    /// Fails if a control plane cannot be started. The error is a message.
    pub fn poll(&mut self) -> Result<(), String> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let topology = Arc::clone(&cluster.topology());
        if self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &topology)) {
            return Ok(());
        }
        self.seen = Some(Arc::clone(&topology));
        let primaries: BTreeMap<u16, &Address> = topology
            .nodes()
            .filter(|(_, node)| node.role == Role::Primary)
            .map(|(number, node)| (self.numbering.of(number.index()), &node.address))
            .collect();
        self.set_primaries(&primaries)
    }

    /// Replaces the former primaries with the new primaries of the cluster.
    fn set_primaries(&mut self, primaries: &BTreeMap<u16, &Address>) -> Result<(), String> {
        self.all.retain(|holder| {
            let is_primary = primaries.contains_key(&holder.number);
            if !is_primary {
                holder.ledger.drop_keys();
                self.made.extend(holder.ledger.marker().made);
            }
            is_primary
        });
        for (number, address) in primaries {
            if !self.has(*number) {
                self.add(*number, address)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, number: u16, address: &Address) -> Result<(), String> {
        let is_named = number == self.numbering.first;
        let target = match is_named {
            true => self.target.clone(),
            false => self.target.at(address.clone()).map_err(|error| error.to_string())?,
        };
        let control = match self.controls.get(&number) {
            Some(known) => Arc::clone(known),
            None => {
                // The reports of this control plane are not read.
                let (other, news) = (self.controls.values().next().map(Arc::as_ref), channel().0);
                let control = Control::beside(other, target.clone(), Clock::start(), self.every, news);
                let control =
                    Arc::new(control.map_err(|error| format!("cannot start the control thread: {error}"))?);
                self.controls.insert(number, Arc::clone(&control));
                control
            }
        };
        let ledger = match is_named {
            true => self.ledger.clone(),
            false => {
                let Marker { run, owner, .. } = self.ledger.marker();
                Ledger::new(run, owner)
            }
        };
        ledger.add_made(&self.made);
        if let Some((span, kept)) = &self.noted {
            ledger.add_keys(span.clone(), *kept);
        }
        if self.noted.is_some() || !self.made.is_empty() {
            // If the marker cannot be written now, each poll tries again.
            drop(control.mark(&ledger));
        }
        self.all.push(Holder { number, target, control, ledger });
        Ok(())
    }

    /// Requests the topology of the cluster again, and waits at most two seconds for the reply.
    ///
    /// # Errors
    /// Fails if a control plane cannot be started. The error is a message.
    pub fn renew(&mut self) -> Result<(), String> {
        if let (Some(cluster), Some(seen)) = (self.cluster.as_ref().filter(|_| self.move_keys()), &self.seen)
        {
            let deadline = Instant::now() + RENEWAL;
            cluster.mark_stale();
            while Arc::ptr_eq(seen, &cluster.topology()) && Instant::now() < deadline {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        self.poll()
    }

    /// Returns the number of slots with an owner; 0 without a cluster.
    pub fn owned_slots(&self) -> usize {
        self.seen.as_ref().map_or(0, |topology| usize::from(SLOTS) - topology.unowned())
    }

    /// Adds a node that receives migrating keys but does not own their slot yet. Returns false if the node
    /// was not added, for example because it is a holder already.
    ///
    /// # Errors
    /// Fails if a control plane cannot be started. The error is a message.
    pub fn include(&mut self, member: &ClusterMember) -> Result<bool, String> {
        let (Some(cluster), Some(seen)) = (&self.cluster, &self.seen) else { return Ok(false) };
        let ids: BTreeMap<_, _> = seen
            .nodes()
            .map(|(number, node)| (node.id.as_str(), self.numbering.of(number.index())))
            .collect();
        if ids.get(member.id.as_str()).is_some_and(|number| self.has(*number)) {
            return Ok(false);
        }
        let Some(address) = node_address(member.host.as_bytes(), member.port, &self.target.address) else {
            return Ok(false);
        };
        let number =
            self.numbering.of(cluster.find_or_add(&address).map_err(|error| error.to_string())?.index());
        if self.has(number) {
            return Ok(false);
        }
        self.add(number, &address)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
