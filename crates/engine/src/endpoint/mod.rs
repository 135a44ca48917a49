//! Connections to a server. This module contains the server's address, credentials and TLS, the first commands, and the
//! pauses between attempts to connect. The module also finds out why a server cannot be reached.

mod address;
mod back_off;
mod cluster;
mod dial;
mod endpoints;
mod greeting;
mod line;
mod neighbours;
mod node_outage;
mod reach;
mod reach_error;
mod read_from;
mod resolve;
mod ring;
mod sentinel;
mod side_calls;
mod talk;
mod tls;
mod topology;
mod transport;
mod unknown_server;
mod uri;

pub use address::{Address, Credentials, DEFAULT_HOST, DEFAULT_PORT, Endpoint, Password, Service, quoted};
pub use back_off::BackOff;
pub use cluster::{Cluster, ClusterError};
pub use endpoints::{Endpoints, Target};
pub use greeting::{Greeter, Greeting, GreetingError, GreetingStep, UNREQUESTED_REPLY};
pub(crate) use line::is_closed;
pub use neighbours::{RelatedServers, cluster_of, neighbours};
pub use node_outage::{NodeOutage, NodeOutages};
pub use reach::{reach, talk};
pub use reach_error::{Party, ReachError};
pub use read_from::{PingMedians, ReadFrom};
pub use resolve::{Resolution, Resolver};
pub use ring::{HashRing, MOST_RING_SERVERS, RingError};
pub use sentinel::{PrimaryState, SentinelAnswer};
pub(crate) use side_calls::OpenConnection;
pub use side_calls::SideCalls;
pub use talk::{Talk, TalkError, TalkStep};
pub use tls::{
    Ciphers, ClientCertificate, HANDSHAKE_LIMIT, Tls, TlsError, TlsFailure, TlsSettings, TlsStream, Trust,
    UNVERIFIED, UnknownCipher,
};
pub use topology::{MOST_NODES, Node, NodeNumber, Placement, Role, Topology, TopologyError, node_address};
pub use transport::{Transport, pause, wait_for};
pub use uri::{ParsedUri, UriError, decoded, parse_uri};
