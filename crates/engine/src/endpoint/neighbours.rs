//! Finds the servers that are related to a given server: the nodes of its cluster, its replicas, or its primary and the
//! primary's other replicas.

use std::time::Duration;

use super::{
    Address, Cluster, ClusterError, Talk, Target,
    cluster::{CLIENT_NAME, LONGEST},
    node_address, talk,
    topology::replicas,
};
use crate::protocol::RespValue;

/// The servers that are related to a given server.
pub enum RelatedServers {
    /// The given server is a node of this cluster. If the topology of the cluster is unknown, the error gives the
    /// reason.
    Cluster(Result<Cluster, ClusterError>),
    /// The given server is a primary or a replica. The list contains the primary and then the primary's replicas,
    /// without the given server. The list is empty if the given server has no related servers, or refuses to name them.
    Servers(Vec<Target>),
}

/// Returns the servers that are related to the server at `target`. The timeout of each connection, and of each reply,
/// is `limit`.
///
/// # Errors
/// Fails if a server cannot be reached, or if a reply about other servers is not usable.
pub fn neighbours(target: &Target, limit: Duration) -> Result<RelatedServers, ClusterError> {
    let mut asked = NeighbourQuery::new(target, limit)?;
    if asked.is_in_cluster()? {
        return Ok(RelatedServers::Cluster(Cluster::find(target, limit)));
    }
    let info = asked.info("replication")?;
    let addresses = match master(&info, &target.address) {
        None => replicas(&info, &target.address),
        Some(primary) => {
            let own = asked.run_id()?;
            let mut primary_asked = NeighbourQuery::new(&target.at(primary.clone())?, limit)?;
            let others = replicas(&primary_asked.info("replication")?, &primary);
            // A server does not know the address at which others reach it, but it knows its own run_id.
            let is_own = |address: &Address| {
                let run =
                    NeighbourQuery::of(target, address, limit).and_then(|mut it| it.run_id()).ok().flatten();
                run.is_some() && run == own
            };
            std::iter::once(primary).chain(others.into_iter().filter(|address| !is_own(address))).collect()
        }
    };
    let others = addresses.into_iter().map(|address| Ok(target.at(address)?));
    others.collect::<Result<_, ClusterError>>().map(RelatedServers::Servers)
}

/// Returns the cluster to which the server at `target` belongs, or `None` if the server is not a node of a cluster.
///
/// # Errors
/// Fails if the server cannot be reached, or if its reply about the cluster is not usable.
pub fn cluster_of(target: &Target, limit: Duration) -> Result<Option<Cluster>, ClusterError> {
    let is_in_cluster = NeighbourQuery::new(target, limit)?.is_in_cluster()?;
    is_in_cluster.then(|| Cluster::find(target, limit)).transpose()
}

/// A connection for queries to a server about its related servers.
struct NeighbourQuery {
    talk: Talk,
    limit: Duration,
}

impl NeighbourQuery {
    fn new(target: &Target, limit: Duration) -> Result<Self, ClusterError> {
        Ok(Self { talk: talk(target, CLIENT_NAME, limit)?.bounded(LONGEST), limit })
    }

    /// Connects to the server at `address`, with the credentials and TLS settings of `target`.
    fn of(target: &Target, address: &Address, limit: Duration) -> Result<Self, ClusterError> {
        Self::new(&target.at(address.clone())?, limit)
    }

    /// Returns a section of INFO, or an empty text if the server refuses INFO.
    fn info(&mut self, section: &str) -> Result<String, ClusterError> {
        let reply = self.talk.reply(&[b"INFO", section.as_bytes()], self.limit)?;
        let text = RespValue::read(&reply).and_then(|reply| reply.text().map(<[u8]>::to_vec));
        Ok(String::from_utf8_lossy(&text.unwrap_or_default()).into_owned())
    }

    /// Returns whether the server is a node of a cluster.
    fn is_in_cluster(&mut self) -> Result<bool, ClusterError> {
        Ok(field(&self.info("cluster")?, "cluster_enabled") == Some("1"))
    }

    /// Returns the server's run_id, or `None` if the server does not report a run_id.
    fn run_id(&mut self) -> Result<Option<String>, ClusterError> {
        Ok(field(&self.info("server")?, "run_id").filter(|run| !run.is_empty()).map(str::to_owned))
    }
}

/// Returns the value of a field of INFO.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines()
        .find_map(|line| line.split_once(':').filter(|(field, _)| *field == name))
        .map(|(_, value)| value.trim())
}

/// Returns the address of a replica's primary from the replica's INFO. Returns `None` if the INFO comes from a primary.
fn master(info: &str, asked: &Address) -> Option<Address> {
    let port = field(info, "master_port")?.parse().ok()?;
    node_address(field(info, "master_host")?.as_bytes(), port, asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Address {
        Address::Tcp { host: "10.0.0.9".into(), port: 6379 }
    }

    #[test]
    fn replicas_are_read_from_info_and_lines_that_are_none_are_left_out() {
        let info = "role:master\r\nconnected_slaves:2\r\nslave0:ip=10.0.0.6,port=6380,state=online,offset=1,lag=0\r\n\
            slave1:ip=::1,port=6381,state=online\r\nslave2:port=1\r\nslave_priority:100\r\nslave3:ip=h,port=0\r\n";
        let seen: Vec<_> = replicas(info, &asked()).iter().map(Address::to_string).collect();
        assert_eq!(seen, ["10.0.0.6:6380", "[::1]:6381"]);
        assert_eq!(master(info, &asked()), None);
    }

    #[test]
    fn a_replica_names_its_primary() {
        let info = "role:slave\r\nmaster_host:db.local\r\nmaster_port:7000\r\n";
        assert_eq!(master(info, &asked()).unwrap().to_string(), "db.local:7000");
        assert_eq!(field(info, "role"), Some("slave"));
    }
}
