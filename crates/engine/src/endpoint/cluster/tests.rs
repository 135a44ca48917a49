use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::AtomicUsize,
};

use super::*;

/// Starts a cluster node. The node answers the n-th CLUSTER SLOTS request with `answers(n, port)`. The node answers
/// every other command with PONG. Returns the target of the node, and the number of CLUSTER SLOTS requests so far.
fn node(answers: impl Fn(usize, u16) -> String + Send + Sync + 'static) -> (Target, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, answers) = (Arc::new(AtomicUsize::new(0)), Arc::new(answers));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (asked, answers) = (Arc::clone(&counted), Arc::clone(&answers));
            std::thread::spawn(move || serve(stream, |n| answers(n, port), &asked));
        }
    });
    let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
    (Target { address, ..Target::default() }, asked)
}

fn serve(mut stream: TcpStream, answer: impl Fn(usize) -> String, asked: &AtomicUsize) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        let is_question = buffer[..n].windows(5).any(|bytes| bytes == b"SLOTS");
        let reply = match is_question {
            true => answer(asked.fetch_add(1, Ordering::SeqCst)),
            false => "+PONG\r\n".to_owned(),
        };
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn all_slots(host: &str, port: u16) -> String {
    format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n${}\r\n{host}\r\n:{port}\r\n", host.len())
}

fn wait(what: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !what() {
        assert!(Instant::now() < until, "waited in vain");
        std::thread::sleep(Duration::from_millis(2));
    }
}

const SECOND: Duration = Duration::from_secs(5);

#[test]
fn a_thousand_reports_cause_few_requests_and_nodes_keep_their_numbers() {
    let (target, asked) = node(|n, port| all_slots("", port + u16::from(n > 0)));
    let cluster = Cluster::find(&target, SECOND).unwrap();
    let first = cluster.topology().owner(0).unwrap();
    let stranger = Address::Tcp { host: "10.0.0.9".to_owned(), port: 1 };
    let met = cluster.find_or_add(&stranger).unwrap();
    (0..1000).for_each(|_| cluster.mark_stale());
    wait(|| cluster.topology().owner(0) != Some(first));
    // Reports during a request cause one more request. If the machine is busy for long, there may be some
    // more requests.
    assert!((2..=20).contains(&asked.load(Ordering::SeqCst)), "{asked:?}");
    let topology = cluster.topology();
    assert_eq!((topology.find(&stranger), topology.find(&target.address)), (Some(met), Some(first)));
    assert_eq!(cluster.find_or_add(&stranger).unwrap(), met);
}

#[test]
fn if_no_node_of_the_topology_is_reachable_the_node_that_the_user_named_is_queried() {
    // Nothing listens on port 1.
    let (target, asked) = node(|_, _| all_slots("127.0.0.1", 1));
    let cluster = Cluster::find(&target, SECOND).unwrap();
    cluster.shared.renew(&mut None).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_that_is_no_cluster_and_one_without_slots_are_refused_in_one_line() {
    let refused = |reply: &'static str| {
        let (target, _) = node(move |_, _| reply.to_owned());
        Cluster::find(&target, SECOND).unwrap_err().to_string()
    };
    let error = refused("-ERR This instance has cluster support disabled\r\n");
    assert_eq!(error, "the server refused CLUSTER SLOTS: ERR This instance has cluster support disabled");
    let error = refused("*0\r\n");
    assert!(error.starts_with("no slot of this cluster has an owner") && !error.contains('\n'), "{error}");
}

#[test]
fn after_a_failed_request_the_last_topology_stays_and_the_cause_is_known() {
    let (target, asked) = node(|n, port| match n {
        0 => all_slots("", port),
        _ => "+OK\r\n".to_owned(),
    });
    let cluster = Cluster::find(&target, SECOND).unwrap();
    cluster.mark_stale();
    wait(|| asked.load(Ordering::SeqCst) >= 2 && cluster.shared.is_stale.load(Ordering::SeqCst));
    assert!(
        cluster.shared.renew(&mut None).unwrap_err().to_string().contains("does not describe the cluster")
    );
    assert_eq!(cluster.topology().unowned(), 0);
}
