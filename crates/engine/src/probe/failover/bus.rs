//! The information that a cluster reports about a failover: the epoch of the new primary, and the state of the old
//! primary. This module does no I/O itself: a function of the caller asks the servers.

use std::time::{Duration, Instant};

use super::EVERY;
use crate::{probe::thread::StopFlag, protocol::RespValue};

/// The time after which an event has no epoch or no cause if no server reports it: 3 s.
const WITHIN: Duration = Duration::from_secs(3);

/// The information about a failover in a reply to CLUSTER NODES.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodesReply {
    /// The configuration epoch of the node that replied.
    pub(super) epoch: Option<u64>,
    /// The cause of the failover, or `None` if the cause is unknown. The state of the replaced node shows the cause.
    pub(super) cause: Option<String>,
}

impl NodesReply {
    /// Asks the new owner for the epoch and the cause of a failover, until both are known. The new owner may learn a
    /// second later that the old owner is a replica now, so the old owner is asked, too. `ask` returns the reply of a
    /// node, `Some(None)` if the node refuses to report, and `None` without a reply.
    pub(super) fn asked<N: Copy>(
        [new, old]: [N; 2],
        ask: impl Fn(N) -> Option<Option<Self>>,
        stop: &StopFlag,
    ) -> Self {
        let (begun, mut known) = (Instant::now(), Self::default());
        while !stop.is_asked() && begun.elapsed() < WITHIN {
            match ask(new) {
                Some(Some(found)) => known = found,
                Some(None) => break,
                None => {}
            }
            if known.cause.is_none() {
                known.cause = ask(old).flatten().and_then(|found| found.cause);
            }
            if known.epoch.is_some() && known.cause.is_some() {
                break;
            }
            stop.pause_until(Instant::now() + EVERY);
        }
        known
    }

    /// Parses the reply of the new owner to CLUSTER NODES. `old` is the address of the old owner, in the form
    /// of the reply.
    pub(super) fn read(reply: &[u8], old: &str) -> Option<Self> {
        let reply = RespValue::read(reply)?;
        let text = std::str::from_utf8(reply.text()?).ok()?;
        let lines = || text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let flags = |line: &[&str]| line.get(2).map(|flags| (*flags).to_owned()).unwrap_or_default();
        let own = lines().find(|line| flags(line).split(',').any(|flag| flag == "myself"))?;
        let is_old = |line: &[&str]| line.get(1).is_some_and(|at| is_at(at, old));
        let cause = lines().find(|line| is_old(line)).and_then(|line| {
            let flags = flags(&line);
            let has = |flag| flags.split(',').any(|it| it == flag);
            let cause = match () {
                () if has("fail") => "the cluster marked the old primary as failed",
                () if has("slave") => "the old primary is a replica now",
                () => return None,
            };
            Some(cause.to_owned())
        });
        Some(Self { epoch: own.get(6).and_then(|epoch| epoch.parse().ok()), cause })
    }
}

/// Returns whether `at`, in the form `ip:port@bus,host`, is the address `old`, which has the IP or the host name.
fn is_at(at: &str, old: &str) -> bool {
    let (address, rest) = at.split_once('@').unwrap_or((at, ""));
    let host = rest.split(',').nth(1).filter(|host| !host.is_empty());
    address == old
        || host.is_some_and(|host| {
            old.rsplit_once(':').is_some_and(|(name, port)| {
                name == host && address.rsplit_once(':').is_some_and(|(_, its)| its == port)
            })
        })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_late_reply_is_asked_for_again_and_the_old_owner_knows_first_that_it_is_a_replica() {
        let [new, old] = [7, 2];
        let questions = Cell::new(0);
        let asked = NodesReply::asked(
            [new, old],
            |node| {
                questions.set(questions.get() + 1);
                let cause = (node == old).then(|| "a replica".to_owned());
                (questions.get() > 2).then_some(Some(NodesReply { epoch: (node == new).then_some(9), cause }))
            },
            &StopFlag::default(),
        );
        assert_eq!(asked, NodesReply { epoch: Some(9), cause: Some("a replica".to_owned()) });
        let refused = NodesReply::asked([new, old], |_| Some(None), &StopFlag::default());
        assert_eq!(refused, NodesReply::default());
    }

    #[test]
    fn epoch_and_cause_are_read_from_the_lines_of_both_nodes() {
        let nodes = "aa 127.0.0.1:7001@17001 master,fail - 1 1 2 connected\n\
            bb 127.0.0.1:7002@17002,host myself,master - 0 0 9 connected 0-5460\n\
            cc 127.0.0.1:7003@17003,c.name,shard-id=1 slave bb 0 0 9 connected\n";
        let reply = format!("${}\r\n{nodes}\r\n", nodes.len());
        let said = |old| NodesReply::read(reply.as_bytes(), old).unwrap();
        let failed = said("127.0.0.1:7001");
        assert_eq!((failed.epoch, failed.cause.unwrap().contains("failed")), (Some(9), true));
        for old in ["127.0.0.1:7003", "c.name:7003"] {
            assert!(said(old).cause.unwrap().contains("replica"), "{old}");
        }
        assert_eq!(said("c.name:7001").cause, None);
        assert_eq!(said("127.0.0.1:9"), NodesReply { epoch: Some(9), cause: None });
        assert_eq!(NodesReply::read(b"-NOPERM no\r\n", "x"), None);
    }
}
