use super::*;

fn at(host: &str, port: u16) -> Address {
    Address::Tcp { host: host.to_owned(), port }
}

fn asked() -> Address {
    at("10.0.0.9", 6379)
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Returns a node as CLUSTER SLOTS names it.
fn node(host: &str, port: u16, id: &str) -> String {
    format!("*4\r\n{}:{port}\r\n{}*0\r\n", bulk(host), bulk(id))
}

fn range(from: u16, to: u16, nodes: &[String]) -> String {
    format!("*{}\r\n:{from}\r\n:{to}\r\n{}", 2 + nodes.len(), nodes.concat())
}

fn reply(ranges: &[String]) -> Vec<u8> {
    format!("*{}\r\n{}", ranges.len(), ranges.concat()).into_bytes()
}

fn two() -> Vec<u8> {
    let [one, other, copy] =
        [node("10.0.0.1", 7000, "a"), node("::1", 7001, "b"), node("10.0.0.1", 7002, "c")];
    let halves = [range(0, 8191, &[one.clone(), copy.clone()]), range(8192, 16_000, &[other])];
    reply(&[&halves[..], &[range(16_100, 16_383, &[one, copy])]].concat())
}

#[test]
fn each_slot_has_its_owner_or_none() {
    let topology = Topology::default().read(&two(), &asked()).unwrap();
    let owner = |slot| topology.owner(slot).map(|number| &topology.node(number).address);
    assert_eq!([0, 8191, 16_100].map(owner), [Some(&at("10.0.0.1", 7000)); 3]);
    assert_eq!([8192, 16_000].map(owner), [Some(&at("::1", 7001)); 2]);
    assert_eq!([16_001, 16_099, SLOTS].map(owner), [None; 3]);
    assert_eq!((topology.unowned(), topology.primaries().count()), (99, 2));
    let roles: Vec<_> = topology.nodes().map(|(_, node)| (node.id.as_str(), node.role)).collect();
    assert_eq!(roles, [("a", Role::Primary), ("c", Role::Replica(NodeNumber(0))), ("b", Role::Primary)]);
}

#[test]
fn the_node_that_the_user_named_has_number_0_also_if_the_cluster_knows_another_address() {
    let named = |id| {
        let topology = Topology::first(&two(), &asked(), id).unwrap();
        let ids: Vec<_> = topology.nodes().map(|(_, node)| node.id.clone()).collect();
        (topology.node(NodeNumber(0)).address.clone(), topology.node(NodeNumber(0)).role, ids)
    };
    let ids = |ids: [&str; 3]| ids.map(str::to_owned).to_vec();
    assert_eq!(named("b"), (at("::1", 7001), Role::Primary, ids(["b", "a", "c"])));
    assert_eq!(named("c").2, ids(["c", "a", "b"]));
    for without_slot in ["x", ""] {
        assert_eq!(named(without_slot).0, asked());
        assert_eq!(named(without_slot).1, Role::Outside);
    }
}

#[test]
fn a_node_keeps_its_number_when_it_leaves_and_when_its_role_changes() {
    let first = Topology::default().read(&two(), &asked()).unwrap();
    let copy = [node("10.0.0.1", 7002, "c"), node("10.0.0.5", 1, "d")];
    let next = first.read(&reply(&[range(0, 16_383, &copy)]), &asked()).unwrap();
    let roles: Vec<_> = next.nodes().map(|(_, node)| (node.id.as_str(), node.role)).collect();
    assert_eq!(
        roles,
        [
            ("a", Role::Outside),
            ("c", Role::Primary),
            ("b", Role::Outside),
            ("d", Role::Replica(NodeNumber(1)))
        ]
    );
    assert_eq!((next.owner(5), next.unowned()), (Some(NodeNumber(1)), 0));
}

#[test]
fn an_unknown_host_is_the_host_of_the_queried_server() {
    for host in ["$0\r\n\r\n", "$-1\r\n", "_\r\n", "$1\r\n?\r\n"] {
        let node = format!("*3\r\n{host}:6380\r\n{}", bulk("a"));
        let read = |asked: &Address| {
            Topology::default().read(&reply(&[range(0, 1, std::slice::from_ref(&node))]), asked)
        };
        assert_eq!(read(&asked()).unwrap().node(NodeNumber(0)).address, at("10.0.0.9", 6380));
        let error = read(&Address::Unix("/tmp/socket".into())).unwrap_err();
        assert_eq!(error, TopologyError::Malformed("a node has no host"));
    }
    assert_eq!(node_address(b"[::1]", 7, &asked()), Some(at("::1", 7)));
    assert_eq!(node_address(b"a.name", 7, &asked()), Some(at("a.name", 7)));
}

#[test]
fn a_reply_that_is_not_a_topology_is_refused_in_one_line() {
    let read = |reply: &[u8]| Topology::default().read(reply, &asked()).unwrap_err().to_string();
    assert_eq!(
        read(b"-ERR This instance has cluster support disabled\r\n"),
        "the server refused CLUSTER SLOTS: ERR This instance has cluster support disabled"
    );
    let bad = [
        "+OK\r\n".to_owned(),
        "*1\r\n+OK\r\n".to_owned(),
        format!("*1\r\n{}", range(5, 4, &[node("h", 1, "a")])),
        format!("*1\r\n{}", range(0, SLOTS, &[node("h", 1, "a")])),
        format!("*1\r\n{}", range(0, 1, &[node("h", 0, "a")])),
        format!("*1\r\n{}", range(0, 1, &["*1\r\n+h\r\n".to_owned()])),
        "*2\r\n*0\r\n".to_owned(),
    ];
    for reply in bad {
        assert!(read(reply.as_bytes()).contains("does not describe the cluster: "), "{reply}");
    }
}

#[test]
fn too_many_nodes_are_refused_in_one_reply_and_in_a_session() {
    let nodes = |from: u16, n: u16| -> Vec<u8> {
        let each = (from..from + n).map(|port| range(port - from, port - from, &[node("h", port, "x")]));
        reply(&each.collect::<Vec<_>>())
    };
    let first = Topology::default();
    assert_eq!(first.read(&nodes(1, 10_000), &asked()).unwrap_err(), TopologyError::TooManyNodes);
    let mut topology = first.read(&nodes(1, 1000), &asked()).unwrap();
    for part in 1..4 {
        topology = topology.read(&nodes(1 + 1000 * part, 1000), &asked()).unwrap();
    }
    let error = topology.read(&nodes(4001, 1000), &asked()).unwrap_err();
    assert_eq!(error, TopologyError::TooManyAddresses);
    assert_eq!((topology.nodes().count(), topology.primaries().count()), (4000, 1000));
}

#[test]
fn replicas_without_a_cluster_keep_their_numbers_and_one_that_is_named_no_more_is_outside() {
    let info = |ports: &[u16]| {
        let replica = |port: &u16| format!("slave{port}:ip=h,port={port},state=online\r\n");
        bulk(&format!("role:master\r\n{}", ports.iter().map(replica).collect::<String>())).into_bytes()
    };
    let first = Topology::of_replication(&info(&[1, 2]), &asked()).unwrap();
    let next = first.read(&info(&[2, 3]), &asked()).unwrap();
    let [primary, one, two, three] = [0, 1, 2, 3].map(NodeNumber);
    assert_eq!((next.owner(0), next.owner(16_383)), (Some(primary), Some(primary)));
    let roles = [one, two, three].map(|node| next.node(node).role);
    assert_eq!(roles, [Role::Outside, Role::Replica(primary), Role::Replica(primary)]);
    let replica = bulk("role:slave\r\nmaster_host:h\r\n").into_bytes();
    assert_eq!(first.read(&replica, &asked()), Err(TopologyError::NoPrimary));
}
