//! Network interfaces, and the kernel's counters of TCP. All figures are those of redyno's network namespace.

use super::{sample_builder::SampleBuilder, tree::Tree};
use crate::gauge::Gauge;

/// The columns of `/proc/net/dev` for an interface: received bytes, packets dropped on receipt, sent bytes,
/// and packets dropped on sending.
const COLUMNS: [usize; 4] = [0, 3, 8, 11];

/// Reads the network figures of this machine, and adds them to the draft.
pub(super) fn read(draft: &mut SampleBuilder, tree: &Tree) {
    if let Some(text) = draft.known("network", tree.read("proc/net/dev")) {
        let [bytes_in, drops_in, bytes_out, drops_out] = sums(&text, tree);
        draft.rate(Gauge::HostNetIn, Some(bytes_in));
        draft.rate(Gauge::HostNetOut, Some(bytes_out));
        draft.rate(Gauge::HostDrops, Some(drops_in + drops_out));
    }
    if let Some(text) = draft.known("tcp", tree.read("proc/net/snmp")) {
        draft.rate(Gauge::HostRetransmits, counter(&text, "Tcp:", "RetransSegs"));
    }
    if let Some(text) = draft.known("tcp", tree.read("proc/net/netstat")) {
        // ListenDrops is not added: it contains these overflows and connections that were dropped for other reasons.
        draft.rate(Gauge::HostListenOverflows, counter(&text, "TcpExt:", "ListenOverflows"));
    }
}

/// Returns the sums of [`COLUMNS`] over all interfaces with a device. Interfaces with a device also count the traffic
/// of bridges and tunnels. In a container no interface has a device, so all interfaces except loopback are counted.
fn sums(text: &str, tree: &Tree) -> [f64; 4] {
    let columns = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<f64> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let name = name.trim().to_owned();
        (name != "lo" && numbers.len() >= 16).then(|| (name, COLUMNS.map(|column| numbers[column])))
    };
    let mut interfaces: Vec<_> = text.lines().filter_map(columns).collect();
    let has_device = |name: &str| tree.path(&format!("sys/class/net/{name}/device")).exists();
    if interfaces.iter().any(|(name, _)| has_device(name)) {
        interfaces.retain(|(name, _)| has_device(name));
    }
    let add = |sums: [f64; 4], (_, own): &(String, [f64; 4])| std::array::from_fn(|n| sums[n] + own[n]);
    interfaces.iter().fold([0.0; 4], add)
}

/// Returns a counter of a file that has a line of names and a line of numbers for each protocol.
fn counter(text: &str, protocol: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|other| other == name)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};

    fn interface(name: &str, [received, drops_in, sent, drops_out]: [u32; 4]) -> String {
        format!("{name}: {received} 1 0 {drops_in} 0 0 0 0 {sent} 1 0 {drops_out} 0 0 0 0\n")
    }

    #[test]
    fn each_packet_is_counted_once_and_loopback_never() {
        let dev = |n: u32| {
            let [lo, bridge] = ["lo", "docker0"].map(|name| interface(name, [n, n, n, n]));
            format!("Inter-|\n face |bytes\n{lo}{bridge}{}", interface("eth0", [n * 10, n, n * 20, n]))
        };
        let fixture = Fixture::new(&[("proc/net/dev", &dev(1)), ("sys/class/net/eth0/device", "")]);
        let read = |sample: crate::host::HostSample| {
            [Gauge::HostNetIn, Gauge::HostNetOut, Gauge::HostDrops].map(|gauge| sample.gauges[gauge])
        };
        let later = dev(3);
        let sample = fixture.second(&[("proc/net/dev", &later)], super::read);
        assert_eq!(read(sample), [20.0, 40.0, 4.0].map(Some));
        fixture.remove("sys/class/net");
        fixture.write(&[("proc/net/dev", &dev(1))]);
        let sample = fixture.second(&[("proc/net/dev", &later)], super::read);
        assert_eq!(read(sample), [22.0, 42.0, 8.0].map(Some));
    }

    #[test]
    fn overflows_of_accept_queues_and_retransmissions_are_rates() {
        let snmp = |n: u32| format!("Ip: Forwarding\nIp: 1\nTcp: InSegs RetransSegs InErrs\nTcp: 9 {n} 0\n");
        let netstat = |n: u32| {
            format!("TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 {n} 9\nIpExt: A\n")
        };
        let fixture = Fixture::new(&[("proc/net/snmp", &snmp(4)), ("proc/net/netstat", &netstat(1))]);
        let later = [("proc/net/snmp", &*snmp(10)), ("proc/net/netstat", &netstat(8))];
        let sample = fixture.second(&later, read);
        let gauges = [Gauge::HostRetransmits, Gauge::HostListenOverflows];
        assert_eq!(gauges.map(|gauge| sample.gauges[gauge]), [6.0, 7.0].map(Some));
        assert_eq!(sample.missing["network"], "this system has no /proc/net/dev");
    }
}
