//! Three real Sentinels that watch a primary.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{Recipe, Server, cli_at, free_port, wait_for};

/// Sentinels that run, until this is dropped.
pub struct Sentinels {
    pub ports: Vec<u16>,
    children: Vec<Child>,
    _directory: TempDir,
}

impl Sentinels {
    /// Starts a primary and its replica, and three Sentinels that watch them.
    pub fn of_pair(recipe: fn() -> Recipe) -> ([Server; 2], Self) {
        let servers = [recipe().start(), recipe().start()];
        servers[1].cli(&["REPLICAOF", "127.0.0.1", &servers[0].port_text()]);
        wait_for("the replica", || {
            servers[1].cli(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
        });
        let sentinels = Self::start(&servers[0], 1);
        (servers, sentinels)
    }

    /// Starts three Sentinels of the service `main`, and waits until they know each other and the replicas of `primary`.
    pub fn start(primary: &Server, replicas: usize) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the Sentinels");
        let (mut ports, mut children) = (Vec::new(), Vec::new());
        for n in 0..3 {
            let (port, path) = (free_port(), directory.path().join(format!("{n}.conf")));
            let config = format!(
                "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor main 127.0.0.1 {} 2\n\
                 sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 5000\n",
                directory.path().display(),
                primary.port()
            );
            std::fs::write(&path, config).expect("its configuration");
            let child = Command::new("redis-server")
                .arg(&path)
                .arg("--sentinel")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server is missing: apt-get install redis-server");
            children.push(child);
            ports.push(port);
        }
        let sentinels = Self { ports, children, _directory: directory };
        for port in &sentinels.ports {
            wait_for("a Sentinel that knows all", || {
                let known = cli_at(*port, &["SENTINEL", "MASTER", "main"]);
                let words: Vec<_> = known.lines().collect();
                let is = |name: &str, value: usize| {
                    words.windows(2).any(|pair| pair[0] == name && pair[1] == value.to_string())
                };
                (is("num-other-sentinels", 2) && is("num-slaves", replicas)).then_some(())
            });
        }
        sentinels
    }

    /// The URI of the service.
    pub fn uri(&self) -> String {
        let sentinels: Vec<_> = self.ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("redis+sentinel://{}/main", sentinels.join(","))
    }

    /// The port of the primary, as the Sentinels name it.
    pub fn primary(&self) -> Option<u16> {
        let named = cli_at(self.ports[0], &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]);
        named.lines().last().and_then(|port| port.parse().ok())
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
