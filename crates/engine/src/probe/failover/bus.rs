//! The information that a cluster reports about a failover: the epoch of the new primary, and the state of the old
//! primary. This module does no I/O.

use crate::protocol::RespValue;

/// The information about a failover in a reply to CLUSTER NODES.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodesReply {
    /// The configuration epoch of the node that replied.
    pub(super) epoch: Option<u64>,
    /// The cause of the failover, or `None` if the cause is unknown. The state of the replaced node shows the cause.
    pub(super) cause: Option<String>,
}

impl NodesReply {
    /// Parses the reply of the new owner to CLUSTER NODES. `old` is the address of the old owner, in the form
    /// of the reply.
    pub(super) fn read(reply: &[u8], old: &str) -> Option<Self> {
        let reply = RespValue::read(reply)?;
        let text = std::str::from_utf8(reply.text()?).ok()?;
        let lines = || text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let flags = |line: &[&str]| line.get(2).map(|flags| (*flags).to_owned()).unwrap_or_default();
        let own = lines().find(|line| flags(line).split(',').any(|flag| flag == "myself"))?;
        let is_old = |line: &[&str]| line.get(1).is_some_and(|at| at.split('@').next() == Some(old));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epoch_and_cause_are_read_from_the_lines_of_both_nodes() {
        let nodes = "aa 127.0.0.1:7001@17001 master,fail - 1 1 2 connected\n\
            bb 127.0.0.1:7002@17002,host myself,master - 0 0 9 connected 0-5460\n\
            cc 127.0.0.1:7003@17003 slave bb 0 0 9 connected\n";
        let reply = format!("${}\r\n{nodes}\r\n", nodes.len());
        let said = |old| NodesReply::read(reply.as_bytes(), old).unwrap();
        let failed = said("127.0.0.1:7001");
        assert_eq!((failed.epoch, failed.cause.unwrap().contains("failed")), (Some(9), true));
        assert!(said("127.0.0.1:7003").cause.unwrap().contains("replica"));
        assert_eq!(said("127.0.0.1:9"), NodesReply { epoch: Some(9), cause: None });
        assert_eq!(NodesReply::read(b"-NOPERM no\r\n", "x"), None);
    }
}
