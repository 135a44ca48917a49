//! Checks the receivers that a workload file defines (the connections that receive its messages).

use super::{
    Keyset, MAX_RECEIVERS, ReceiverKind, Receivers, Workload, WorkloadError,
    step::{CommandStep, Fragment},
};

/// The largest number of channels, queues, streams or keys that receivers wait for.
const MAX_CHANNELS: u64 = 1_000_000;

impl Workload {
    /// Checks the receivers for a load with `keyspace` keys.
    pub(super) fn check_receivers(&self, keyspace: u64) -> Result<(), WorkloadError> {
        let Some(receivers) = &self.receivers else { return Ok(()) };
        let Receivers { kind, keys, count, to } = receivers;
        let wrong = |text: String| Err(WorkloadError::of(text));
        if !(1..=MAX_RECEIVERS).contains(count) {
            return wrong(format!("there can be 1 to {MAX_RECEIVERS} receivers, not {count}"));
        }
        let known = |name: &String| {
            let keys = self.keys.get(name).filter(|keys| keys.naming.is_number() && !keys.bare);
            let text = || {
                format!(
                    "receivers wait for '{name}', but '{name}' is not a set of numbered keys; add [keys.{name}]"
                )
            };
            keys.ok_or_else(|| WorkloadError::of(text()))
        };
        let numbers = known(keys)?.numbers(keyspace);
        let channels = numbers.end - numbers.start;
        if channels > MAX_CHANNELS {
            return wrong(format!(
                "'{keys}' has {channels} keys, but receivers can wait for at most {MAX_CHANNELS}"
            ));
        }
        if to.is_none() && *kind == ReceiverKind::Move {
            return wrong(
                "receivers of the kind 'move' need 'to': a set of keys to which they move messages"
                    .to_owned(),
            );
        }
        if let Some(to) = to
            && known(to)?.numbers(keyspace) != numbers
        {
            return wrong(format!(
                "'{to}' must have as many keys as '{keys}', and begin with the same number"
            ));
        }
        if *kind == ReceiverKind::Move && u64::from(*count) < channels {
            return wrong(format!(
                "a receiver of the kind 'move' waits for one queue; give at least {channels} receivers"
            ));
        }
        let is_stamp = |fragment: &Fragment| matches!(fragment, Fragment::Stamp(..));
        if !self.active_steps().flat_map(CommandStep::fragments).any(is_stamp) {
            return wrong(format!(
                "receivers recognize only messages with a stamp; send {{stamp}} after {{{keys}}}"
            ));
        }
        let mut words = self.active_steps().flat_map(|step| &step.0);
        if words.any(|word| word.iter().any(is_stamp) && !word.first().is_some_and(is_stamp)) {
            return wrong(
                "{stamp} must be at the beginning of its argument, as in {stamp}{value}".to_owned(),
            );
        }
        Ok(())
    }

    /// Returns whether redyno compares replies of the workload with expected replies.
    pub fn compares_replies(&self) -> bool {
        self.operations.iter().any(|operation| operation.expects.is_some())
    }

    /// Returns whether an operation is a scan of YCSB. The script of a scan reads records that are not among
    /// its keys.
    pub fn scans_records(&self) -> bool {
        let steps = self.operations.iter().flat_map(|operation| &operation.steps);
        steps.into_iter().any(|step| step.starts_with("EVAL ") && step.contains(" 1 {index} {user.hash} "))
    }

    /// Returns whether an operation writes a record and adds its name to the index of YCSB. In a cluster, the record
    /// and the index are usually on different nodes.
    pub fn indexes_records(&self) -> bool {
        let asked = self.operations.iter().filter(|operation| operation.weight > 0);
        asked.flat_map(|operation| &operation.steps).any(|step| step.starts_with("ZADD {index} "))
    }

    /// Returns the number of receivers, or `None` if the workload has no receivers.
    pub fn receiver_count(&self) -> Option<u32> {
        self.receivers.as_ref().map(|receivers| receivers.count)
    }

    /// Returns the largest number of connections of all receivers with `keyspace` keys. `primaries` is the number of
    /// primaries of a cluster, or `None` without a cluster.
    pub fn receiver_connections(&self, keyspace: u64, primaries: Option<u32>) -> u32 {
        let Some(Receivers { kind, keys, count, .. }) = &self.receivers else { return 0 };
        let channels = self.keys.get(keys).map_or(0, |keys| keys.numbers(keyspace).count() as u32);
        match (primaries, kind) {
            (Some(primaries), ReceiverKind::ShardedPubsub) => {
                channels.min(count.saturating_mul(primaries)).max(*count)
            }
            (Some(_), kind) if kind.is_kept() => channels.max(*count),
            _ => *count,
        }
    }

    /// Returns the workload with this many receivers.
    ///
    /// # Errors
    /// Fails if the workload has no receivers.
    pub fn with_receivers(&self, count: u32) -> Result<Self, WorkloadError> {
        let none = || {
            WorkloadError::of("this workload has no receivers; choose one that has, such as pubsub or queue")
        };
        let receivers = self.receivers.clone().ok_or_else(none)?;
        Ok(Self { receivers: Some(Receivers { count, ..receivers }), ..self.clone() })
    }

    /// Returns the number of the set of keys that receivers wait for.
    pub(super) fn receiver_keyset(&self) -> Option<u16> {
        let keys = &self.receivers.as_ref()?.keys;
        self.keys.keys().position(|name| name == keys).map(|place| place as u16)
    }

    /// Returns the set of second queues, to which receivers move messages.
    pub(super) fn second_queues(&self) -> Option<&Keyset> {
        let receivers = self.receivers.as_ref().filter(|receivers| receivers.kind == ReceiverKind::Move)?;
        self.keys.get(receivers.to.as_ref()?)
    }
}
