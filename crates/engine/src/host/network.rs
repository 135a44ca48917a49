//! Reads the traffic of this machine's network interfaces, and the kernel's TCP counters. All figures are figures of
//! redyno's network namespace.

use std::collections::HashMap;

use super::{sample_builder::SampleBuilder, tree::Tree};
use crate::gauge::Gauge;

/// The columns of `/proc/net/dev` for an interface: received bytes, packets dropped on receipt, sent bytes, and packets
/// dropped on sending.
const COLUMNS: [usize; 4] = [0, 3, 8, 11];

/// The received and the sent bytes of each interface at the last reading.
#[derive(Debug, Default)]
pub(super) struct Interfaces(HashMap<String, [f64; 2]>);

impl Interfaces {
    /// Reads the network figures of this machine, and adds the figures to the draft.
    pub(super) fn read(&mut self, draft: &mut SampleBuilder, tree: &Tree) {
        if let Some(text) = draft.known("network", tree.read("proc/net/dev")) {
            let interfaces = interfaces(&text, tree);
            let add =
                |sums: [f64; 4], (_, own): &(String, [f64; 4])| std::array::from_fn(|n| sums[n] + own[n]);
            let [bytes_in, drops_in, bytes_out, drops_out] = interfaces.iter().fold([0.0; 4], add);
            draft.rate(Gauge::HostNetIn, Some(bytes_in));
            draft.rate(Gauge::HostNetOut, Some(bytes_out));
            draft.rate(Gauge::HostDrops, Some(drops_in + drops_out));
            let share = draft.sample.sample_s.and_then(|passed_s| {
                let share =
                    |(name, now): &(String, _)| Some(self.added(name, *now)? / passed_s / speed(name, tree)?);
                interfaces.iter().filter_map(share).reduce(f64::max)
            });
            draft.level(Gauge::HostNetShare, share.map(|share| share.min(1.0)));
            self.0 = interfaces.into_iter().map(|(name, [read, _, sent, _])| (name, [read, sent])).collect();
        }
        if let Some(text) = draft.known("tcp", tree.read("proc/net/snmp")) {
            draft.rate(Gauge::HostRetransmits, counter(&text, "Tcp:", "RetransSegs"));
        }
        if let Some(text) = draft.known("tcp", tree.read("proc/net/netstat")) {
            // ListenDrops is not added: it contains these overflows and connections that were dropped for other reasons.
            draft.rate(Gauge::HostListenOverflows, counter(&text, "TcpExt:", "ListenOverflows"));
        }
    }

    /// Returns the number of bytes that an interface received since the last reading, or the number that it sent,
    /// whichever is larger.
    fn added(&self, name: &str, [read, _, sent, _]: [f64; 4]) -> Option<f64> {
        let [before_read, before_sent] = self.0.get(name)?;
        Some((read - before_read).max(sent - before_sent).max(0.0))
    }
}

/// Returns the speed of an interface in bytes per second, or `None` if the kernel does not know the speed. Also returns
/// `None` for an interface without a device, because the kernel invents the speed of such an interface.
fn speed(name: &str, tree: &Tree) -> Option<f64> {
    let folder = format!("sys/class/net/{name}");
    let mbit = tree.read(&format!("{folder}/speed")).ok()?.trim().parse::<f64>().ok();
    mbit.filter(|mbit| *mbit > 0.0 && tree.path(&format!("{folder}/device")).exists())
        .map(|mbit| mbit * 1e6 / 8.0)
}

/// Returns the names of all interfaces with a device, with their [`COLUMNS`]. Interfaces with a device also count the
/// traffic of bridges and tunnels. In a container no interface has a device, so all interfaces except loopback are
/// counted.
fn interfaces(text: &str, tree: &Tree) -> Vec<(String, [f64; 4])> {
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
    interfaces
}

/// Returns a counter of a file with two lines for each protocol: names, and numbers.
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
            [Gauge::HostNetIn, Gauge::HostNetOut, Gauge::HostDrops].map(|gauge| sample.gauges.get(gauge))
        };
        let later = dev(3);
        let mut interfaces = Interfaces::default();
        let mut second = |draft: &mut SampleBuilder, tree: &Tree| interfaces.read(draft, tree);
        let sample = fixture.second(&[("proc/net/dev", &later)], &mut second);
        assert_eq!(read(sample), [20.0, 40.0, 4.0].map(Some));
        fixture.remove("sys/class/net");
        fixture.write(&[("proc/net/dev", &dev(1))]);
        let sample = fixture.second(&[("proc/net/dev", &later)], &mut second);
        assert_eq!(read(sample), [22.0, 42.0, 8.0].map(Some));
    }

    #[test]
    fn the_busiest_interface_is_compared_with_its_speed() {
        let dev = |n: u32| {
            let own = [("eth0", [n * 100_000, 0, n * 90_000_000, 0]), ("eth1", [n * 9_000_000, 0, n, 0])];
            own.map(|(name, numbers)| interface(name, numbers)).concat()
        };
        let share = |speed: &str| {
            let fixture = Fixture::new(&[("proc/net/dev", &dev(1))]);
            for name in ["eth0", "eth1"].map(|name| format!("sys/class/net/{name}")) {
                fixture.write(&[(&format!("{name}/device"), ""), (&format!("{name}/speed"), speed)]);
            }
            let mut interfaces = Interfaces::default();
            let later = dev(2);
            let sample =
                fixture.second(&[("proc/net/dev", &later)], |draft, tree| interfaces.read(draft, tree));
            sample.gauges.get(Gauge::HostNetShare)
        };
        assert_eq!(share("1000\n"), Some(0.72));
        assert_eq!((share("100\n"), share("-1\n"), share("")), (Some(1.0), None, None));
    }

    #[test]
    fn overflows_of_accept_queues_and_retransmissions_are_rates() {
        let snmp = |n: u32| format!("Ip: Forwarding\nIp: 1\nTcp: InSegs RetransSegs InErrs\nTcp: 9 {n} 0\n");
        let netstat = |n: u32| {
            format!("TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 {n} 9\nIpExt: A\n")
        };
        let fixture = Fixture::new(&[("proc/net/snmp", &snmp(4)), ("proc/net/netstat", &netstat(1))]);
        let later = [("proc/net/snmp", &*snmp(10)), ("proc/net/netstat", &netstat(8))];
        let mut interfaces = Interfaces::default();
        let sample = fixture.second(&later, |draft, tree| interfaces.read(draft, tree));
        let gauges = [Gauge::HostRetransmits, Gauge::HostListenOverflows];
        assert_eq!(gauges.map(|gauge| sample.gauges.get(gauge)), [6.0, 7.0].map(Some));
        assert_eq!(sample.missing["network"], "this system has no /proc/net/dev");
    }
}
