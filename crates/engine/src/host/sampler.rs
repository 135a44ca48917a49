//! Takes samples of this machine's figures, without the figures of a server.

use std::path::Path;

use super::{
    HostSample,
    cpu::Cores,
    disks::Disks,
    memory,
    network::Interfaces,
    processes::Processes,
    sample_builder::SampleBuilder,
    tree::Tree,
    waits::{Pressures, throttled_s},
};
use crate::{
    clock::seconds,
    gauge::{Gauge, Gauges},
};

/// Takes samples of this machine. All samples must be taken on the same thread. The costly parts of a sample are read
/// less often if they use much CPU time on this thread.
pub struct Sampler {
    tree: Tree,
    sampled_ns: Option<u64>,
    counters: Gauges,
    cores: Cores,
    pressures: Pressures,
    interfaces: Interfaces,
    disks: Disks,
    processes: Processes,
}

impl Sampler {
    /// Creates a sampler that reads `proc` and `sys` below `root`. The root is `/`, except in tests and in containers
    /// in which the files of the host are in another directory.
    pub fn new(root: &Path) -> Self {
        Self {
            tree: Tree::below(root),
            sampled_ns: None,
            counters: Gauges::default(),
            cores: Cores::default(),
            pressures: Pressures::default(),
            interfaces: Interfaces::default(),
            disks: Disks::default(),
            processes: Processes::default(),
        }
    }

    /// Takes a sample at `at_ns`.
    pub fn sample(&mut self, at_ns: u64) -> HostSample {
        let passed_s = self.sampled_ns.map(|before_ns| seconds(at_ns.saturating_sub(before_ns)));
        self.sampled_ns = Some(at_ns);
        let (tree, mut draft) = (&self.tree, SampleBuilder::new(passed_s, &mut self.counters));
        if cfg!(not(target_os = "linux")) {
            draft.add_missing("host", "redyno reads this on Linux only");
            return draft.sample;
        }
        self.cores.read(&mut draft, tree);
        self.pressures.read(at_ns, &mut draft, tree);
        let throttled = draft.known("cgroup", throttled_s(tree, "self"));
        draft.share(Gauge::HostThrottled, throttled);
        memory::read(&mut draft, tree);
        self.interfaces.read(&mut draft, tree);
        self.disks.read(&mut draft, tree);
        self.processes.read(at_ns, &mut draft, tree);
        draft.sample
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{
        collections::BTreeMap,
        net::{TcpListener, TcpStream},
    };

    use super::{
        super::{LocalServer, fixture::Fixture},
        *,
    };
    use crate::clock::SECOND_NS;

    #[test]
    fn the_real_machine_has_cores_memory_and_processes() {
        let mut sampler = Sampler::new(Path::new("/"));
        let first = sampler.sample(0);
        assert_eq!((first.sample_s, &first.cores), (None, &vec![]));
        assert!(first.gauges.get(Gauge::HostFreeMemory).is_some_and(|bytes| bytes > 0.0));
        std::thread::sleep(std::time::Duration::from_millis(30));
        let second = sampler.sample(SECOND_NS);
        assert!(!second.cores.is_empty(), "{second:?}");
        assert!(second.gauges.get(Gauge::HostNetIn).is_some());
        assert!(!second.missing.contains_key("cpu") && !second.missing.contains_key("memory"));
    }

    #[test]
    fn an_empty_tree_has_a_reason_for_each_part_and_no_figure() {
        let fixture = Fixture::new(&[]);
        let mut sampler = Sampler::new(fixture.root());
        let sample = [sampler.sample(0), sampler.sample(SECOND_NS)].into_iter().next_back().unwrap();
        let parts: Vec<_> = sample.missing.keys().map(String::as_str).collect();
        let all = [
            "cgroup",
            "clock source",
            "cpu",
            "disks",
            "huge pages",
            "memory",
            "network",
            "pressure",
            "processes",
            "swap",
            "tcp",
        ];
        assert_eq!(parts, all);
        assert_eq!(sample.gauges, Gauges::default());
    }

    /// Returns the second sample of the server on a port.
    fn beside(fixture: &Fixture, port: Option<u16>, pid: Option<u32>) -> HostSample {
        let mut sampler = Sampler::new(fixture.root());
        let mut server = LocalServer::new(fixture.root(), port);
        let mut take = |at_ns: u64| server.sample(at_ns, pid, &sampler.sample(at_ns), &mut BTreeMap::new());
        take(0);
        take(SECOND_NS)
    }

    fn process(fixture: &Fixture, pid: u32, name: &str) {
        let stat =
            format!("{pid} ({name}) S 1 1 1 0 -1 0 5 6 0 8 9 0 0 0 20 0 1 0 77{} 1 0 0\n", " 0".repeat(16));
        let folder = format!("proc/{pid}/task/{pid}");
        fixture.write(&[(&format!("proc/{pid}/stat"), &stat), (&format!("{folder}/stat"), &stat)]);
        fixture.write(&[(&format!("{folder}/schedstat"), "5 5 5\n"), (&format!("{folder}/children"), "")]);
    }

    #[test]
    fn a_server_on_a_unix_socket_is_found_by_its_number_and_name() {
        let fixture = Fixture::new(&[("proc/1/stat", "1 (init) S 0")]);
        process(&fixture, 4211, "redis-server");
        let sample = beside(&fixture, None, Some(4211));
        assert_eq!(sample.server.map(|server| server.name).as_deref(), Some("redis-server"));
        assert_eq!(sample.gauges.get(Gauge::ServerRunDelay), Some(0.0));
        assert_eq!(sample.missing["connections"], "the server listens on a unix socket");
    }

    #[test]
    fn a_process_of_several_servers_is_read_once() {
        let fixture = Fixture::new(&[("proc/1/stat", "1 (init) S 0")]);
        process(&fixture, 4211, "redis-server");
        let mut sampler = Sampler::new(fixture.root());
        let mut servers = [(); 2].map(|()| LocalServer::new(fixture.root(), None));
        let mut take = |at_ns: u64| {
            let (machine, mut processes) = (sampler.sample(at_ns), BTreeMap::new());
            let first = servers[0].sample(at_ns, Some(4211), &machine, &mut processes);
            processes.values_mut().for_each(|sample| sample.clock_source = "read".to_owned());
            [first, servers[1].sample(at_ns, Some(4211), &machine, &mut processes)]
        };
        take(0);
        let [first, second] = take(SECOND_NS);
        assert_eq!(second.clock_source, "read", "it is a copy");
        assert_eq!(second.gauges.get(Gauge::ServerRunDelay), Some(0.0));
        assert_eq!((second.server, second.gauges), (first.server, first.gauges));
    }

    #[test]
    fn another_program_with_the_servers_process_id_is_not_taken_for_the_server() {
        let fixture = Fixture::new(&[("proc/1/stat", "1 (init) S 0")]);
        process(&fixture, 30, "postgres");
        let reason = |pid: Option<u32>| {
            let sample = beside(&fixture, None, pid);
            assert_eq!(sample.server, None);
            sample.missing["server"].clone()
        };
        let place = "the server runs in a container or on another machine";
        assert_eq!(reason(Some(30)), format!("process 30 is another program here: {place}"));
        assert_eq!(reason(Some(31)), format!("there is no process 31 here: {place}"));
        assert_eq!(reason(None), "the server has not reported its process ID");
        assert_eq!(reason(Some(std::process::id())), "the server runs within redyno's process");
        fixture.remove("proc/1");
        assert_eq!(reason(Some(31)), "process 31 is hidden from redyno (hidepid)");
    }

    #[test]
    fn the_process_that_listens_on_the_port_is_the_server_whatever_its_name() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _waiting = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&listener));
        let socket = std::fs::read_link(own).unwrap();
        let fixture = Fixture::new(&[("proc/1/stat", "1 (init) S 0"), ("proc/50/fd/0", "")]);
        process(&fixture, 50, "redis-other");
        process(&fixture, 60, "cache");
        process(&fixture, 70, "valkey-server");
        for pid in [60, 70] {
            std::fs::create_dir(fixture.root().join(format!("proc/{pid}/fd"))).unwrap();
            std::os::unix::fs::symlink(&socket, fixture.root().join(format!("proc/{pid}/fd/6"))).unwrap();
        }
        let sample = beside(&fixture, Some(port), Some(60));
        assert_eq!(sample.server.map(|server| server.pid), Some(60));
        assert_eq!(sample.gauges.get(Gauge::AcceptQueue), Some(1.0));
        let sample = beside(&fixture, Some(port), Some(50));
        assert_eq!((sample.server, sample.gauges.get(Gauge::AcceptQueue)), (None, None));
        assert!(sample.missing["connections"].starts_with("process 50 is another program here"));
        let sample = beside(&fixture, Some(port), None);
        assert_eq!(
            sample.server.map(|server| server.pid),
            Some(70),
            "a server that does not answer is searched"
        );
    }
}
