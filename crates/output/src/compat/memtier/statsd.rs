//! Sends the figures of each second of `redyno memtier` to StatsD by UDP. At the beginning and at the end of each run,
//! this code sends an event to Graphite.

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket},
    time::Duration,
};

use clap::Args;

use super::{option_values::port, options::MemtierOptions};
use crate::{
    compat::{numbers::checked, server::os_error_text},
    untrusted,
};

/// The error text about an invalid port.
const PORT: &str = "must be a valid port number.";

/// The time limit for connecting to Graphite. Sending an event has the same limit.
const EVENT_LIMIT: Duration = Duration::from_secs(2);
/// The metrics that are set to 0 after a run. Charts then show the end of the run.
const ZEROS: [&str; 5] = ["ops_sec", "ops_sec_avg", "bytes_sec", "bytes_sec_avg", "progress_pct"];

/// The options for StatsD and Graphite.
#[derive(Args, Debug, Clone)]
pub(super) struct StatsdOptions {
    /// Send the figures of each second to this StatsD server (default: none)
    #[arg(id = "statsd_host", long = "statsd-host", value_name = "HOST")]
    pub(super) host: Option<String>,
    /// UDP port of the StatsD server (default: 8125)
    #[arg(id = "statsd_port", long = "statsd-port", value_name = "PORT", value_parser = checked(port, PORT))]
    pub(super) port: Option<u16>,
    /// The beginning of the names of StatsD's metrics (default: memtier)
    #[arg(long = "statsd-prefix", value_name = "PREFIX")]
    pub(super) prefix: Option<String>,
    /// The part after the prefix in the names of StatsD's metrics, to distinguish runs (default: default)
    #[arg(long = "statsd-run-label", value_name = "LABEL")]
    pub(super) run_label: Option<String>,
    /// HTTP port of Graphite on the StatsD server's host, for events at the beginning and the end of each run
    /// (default: 8080)
    #[arg(long, value_name = "PORT", value_parser = checked(port, PORT))]
    pub(super) graphite_port: Option<u16>,
}

impl StatsdOptions {
    /// Returns whether the user gives an option that needs `--statsd-host`.
    pub(super) fn has_more(&self) -> bool {
        let Self { port, prefix, run_label, graphite_port, .. } = self;
        port.or(*graphite_port).is_some() || prefix.as_ref().or(run_label.as_ref()).is_some()
    }
}

/// A StatsD server.
pub(super) struct Statsd {
    socket: UdpSocket,
    address: SocketAddr,
    /// The beginning of the name of each metric.
    prefix: String,
    run_label: String,
    /// The address of Graphite, and the host name for its requests.
    graphite: (SocketAddr, String),
}

impl Statsd {
    /// Prepares the socket, if a host is given and its address can be found. If a host is given, also returns a line
    /// about the result.
    pub(super) fn open(options: &StatsdOptions) -> (Option<Self>, Option<String>) {
        let Some(host) = options.host.as_deref() else { return (None, None) };
        let port = options.port.unwrap_or(8125);
        let prefix = options.prefix.as_deref().unwrap_or("memtier");
        let run_label = options.run_label.as_deref().filter(|label| !label.is_empty()).unwrap_or("default");
        let run_label = sanitized(run_label, "_-");
        let shown = untrusted::text(host);
        let line = format!(
            "statsd: initialized, sending metrics to {shown}:{port} with prefix '{}' run_label '{run_label}'",
            untrusted::text(prefix)
        );
        let prefix = match sanitized(prefix, "_-.") {
            empty if empty.is_empty() => format!("{run_label}."),
            prefix => format!("{prefix}.{run_label}."),
        };
        let graphite_port = options.graphite_port.unwrap_or(8080);
        match sending_socket(host, port) {
            Ok((socket, address)) => {
                let graphite =
                    (SocketAddr::new(address.ip(), graphite_port), format!("{host}:{graphite_port}"));
                (Some(Self { socket, address, prefix, run_label, graphite }), Some(line))
            }
            Err(error) => {
                let error = os_error_text(&error);
                let warning = "warning: failed to initialize StatsD client, metrics will not be sent";
                (None, Some(format!("statsd: failed to resolve host '{shown}': {error}\n{warning}")))
            }
        }
    }

    /// Sends metrics of the form `name:value|type`, each in a datagram. Lost datagrams are not sent again.
    pub(super) fn send(&self, metrics: &[String]) {
        for metric in metrics {
            let _ = self.socket.send_to(format!("{}{metric}", self.prefix).as_bytes(), self.address);
        }
    }

    /// Sends the event of a run's beginning.
    pub(super) fn begin(&self, run: u32, options: &MemtierOptions) {
        let data = format!("threads={} connections={} run={run}", options.threads, options.clients);
        self.event("Benchmark Started", "start", &data);
    }

    /// Sends the last metrics of a run, the event of its end, and metrics with the value 0.
    pub(super) fn end(&self, run: u32, metrics: &[String]) {
        self.send(metrics);
        self.event("Benchmark Completed", "end", &format!("run={run}"));
        self.send(&ZEROS.map(|name| format!("{name}:0|g")));
    }

    /// Sends an event to Graphite. If Graphite does not answer, this is not an error.
    fn event(&self, what: &str, tag: &str, data: &str) {
        let (address, name) = &self.graphite;
        let json = format!(
            "{{\"what\":\"{what}\",\"tags\":\"memtier,{tag},run:{}\",\"data\":\"{data}\"}}",
            self.run_label
        );
        let request = format!(
            "POST /events/ HTTP/1.1\r\nHost: {name}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{json}",
            json.len()
        );
        let _ = TcpStream::connect_timeout(address, EVENT_LIMIT).and_then(|mut stream| {
            stream.set_write_timeout(Some(EVENT_LIMIT))?;
            stream.write_all(request.as_bytes())
        });
    }
}

/// Returns a socket for sending, and the address of the host.
fn sending_socket(host: &str, port: u16) -> io::Result<(UdpSocket, SocketAddr)> {
    let address = preferred((host, port).to_socket_addrs()?).ok_or(io::ErrorKind::NotFound)?;
    let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// Returns the first IPv4 address, because memtier_benchmark supports only IPv4. If there is none, returns
/// the first address.
fn preferred(addresses: impl Iterator<Item = SocketAddr>) -> Option<SocketAddr> {
    addresses.min_by_key(SocketAddr::is_ipv6)
}

/// Returns the text with `_` for each byte that is neither alphanumeric nor in `others`.
fn sanitized(text: &str, others: &str) -> String {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || others.as_bytes().contains(&byte);
    text.bytes().map(|byte| if kept(byte) { byte.into() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_both_kinds_of_addresses_is_reached_by_ipv4() {
        let address = |text: &str| text.parse().unwrap();
        let both = ["[::1]:1", "127.0.0.1:1", "127.0.0.2:1"].map(address);
        assert_eq!(preferred(both.into_iter()), Some(address("127.0.0.1:1")));
        assert_eq!(preferred(both.into_iter().take(1)), Some(address("[::1]:1")));
    }
}
