//! Two servers with one name, whose address changes from the first to the second.

use std::{
    fs,
    net::{IpAddr, SocketAddr},
    os::unix::fs::FileExt,
    path::Path,
    process::Command,
};

use tempfile::NamedTempFile;

use super::{
    Server,
    program::{Running, redyno},
};

/// Two servers on one port of two addresses, and a file of hosts in which a name leads to the first of them.
pub struct NamedPair {
    pub servers: [Server; 2],
    pub addresses: [SocketAddr; 2],
    pub hosts: NamedTempFile,
}

impl NamedPair {
    const NAME: &str = "primary.test";

    /// Returns `None` if the system does not let a program have a file of hosts of its own, and says so.
    pub fn start() -> Option<Self> {
        let first = Server::redis().start();
        let second =
            Server::redis().with_args(&["--port", &first.port_text(), "--bind", "127.0.0.2"]).start();
        let addresses = [1, 2].map(|n| ([127, 0, 0, n], first.port()).into());
        let pair = Self { servers: [first, second], addresses, hosts: NamedTempFile::new().unwrap() };
        pair.lead_to(0);
        let outcome = Running::start(pair.with_hosts(&Command::new("true"))).end();
        if outcome.code() != 0 {
            println!("not tested, as a program can have no file of hosts of its own here: {}", outcome.err);
            return None;
        }
        Some(pair)
    }

    /// Lets the name lead to a server.
    pub fn lead_to(&self, n: usize) {
        // One write of as many bytes as before, so that no reader finds half a line.
        let line = format!("{} {}\n", self.addresses[n].ip(), Self::NAME);
        self.hosts.as_file().write_all_at(line.as_bytes(), 0).unwrap();
    }

    /// The address to which the name leads in the file at `path`.
    pub fn led_to(path: &Path, port: u16) -> SocketAddr {
        let text = fs::read_to_string(path).unwrap();
        (text.split(' ').next().unwrap().parse::<IpAddr>().unwrap(), port).into()
    }

    /// The same program with the file in place of /etc/hosts.
    fn with_hosts(&self, plain: &Command) -> Command {
        let mut command = Command::new("unshare");
        command.args(["-r", "-m", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]);
        command.arg(self.hosts.path()).arg(plain.get_program()).args(plain.get_args());
        command.env("LC_ALL", "C.UTF-8").env_remove("REDISCLI_AUTH");
        command
    }

    /// A session with the server of this name.
    pub fn watch(&self, options: &[&str]) -> Running {
        let port = self.servers[0].port_text();
        let plain = redyno(&[&["-h", Self::NAME, "-p", &port, "--headless", "--json"], options].concat());
        let running = Running::start(self.with_hosts(&plain));
        running.wait_for_lines(1, r#""kind":"ping""#);
        running
    }
}
