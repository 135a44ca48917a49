//! `redyno demo`: runs only the built-in server.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context;
use clap::builder::ArgPredicate;

use super::{
    command::{Arguments, Invocation, PlanResult},
    values::whole,
};
use crate::{
    demo::{self, Error, Fault, Options, Size},
    endpoint::Password,
    load::most_clients,
    print::words::StreamText,
    runner::end_signals,
    signals::Signal,
    units::count_with_noun,
    untrusted,
};

/// The time between two checks of the server.
const WATCH: Duration = Duration::from_millis(500);

const AFTER: &str = "\
Examples:
  redyno demo -p 7000
  redyno demo -p 7000 --fault 'stall 500ms every 5s' --fault 'error LOADING 1%'
  redyno demo -p 7000 --nodes 3 --replicas 1 --fault 'failover node 1 after 30s'
  redyno demo --bus";

/// The arguments of `redyno demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct DemoArgs {
    /// The port on 127.0.0.1; 0 means any free port. The other nodes of a cluster use the next ports. With --bus, the
    /// default is 6380
    #[arg(short, long, default_value_t = 6379, value_parser = whole::<u16>(0..=65535), default_value_if("bus", ArgPredicate::IsPresent, "6380"))]
    port: u16,

    /// Run a bus: a server through which a session and its agents communicate. redyno prints the command lines for an
    /// agent and for the session
    #[arg(long, conflicts_with = "nodes")]
    bus: bool,

    /// Run a cluster with this many primaries, at most 200
    #[arg(long, value_name = "COUNT", value_parser = whole::<u16>(1..=200))]
    nodes: Option<u16>,

    /// Replicas of each primary of the cluster, at most 4
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "nodes",
          value_parser = whole::<u16>(0..=4))]
    replicas: u16,

    /// Also listen on this Unix socket; not possible with a cluster
    #[arg(short, long, value_name = "PATH", conflicts_with = "nodes")]
    socket: Option<PathBuf>,

    /// The password that clients must send
    #[arg(short = 'a', long)]
    password: Option<Password>,

    /// A fault to simulate; can be given several times. Faults: 'stall 500ms every 5s', 'slow GET 2ms', 'delay GET 2ms
    /// nth 10', 'error LOADING 1%', 'cut every 10000', 'reset every 20s', 'garbage every 30s'. Faults of a cluster:
    /// 'slow load 5ms node 2', 'reshard 1000 every 10s', 'failover after 30s', 'hot 866 5k' (slot 866 gets 5000 reads
    /// per second)
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<Fault>,
}

impl Arguments for DemoArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        Ok(Box::new(move || Ok(run(&self, &end_signals()?, &mut StreamText::stdout())?)))
    }
}

/// Serves clients until `stop` receives a signal, or until the sender of `stop` is dropped. Prints one line with the
/// address.
fn run(args: &DemoArgs, stop: &Receiver<Signal>, out: &mut impl Write) -> anyhow::Result<()> {
    // Raises the limit of open files, and with it the number of clients.
    most_clients(0, 1);
    let options = Options {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)),
        unix_socket: args.socket.clone(),
        password: args.password.clone(),
        faults: args.faults.clone(),
        ..Options::default()
    };
    let size = args.nodes.map(|nodes| Size { primaries: nodes.into(), replicas: args.replicas.into() });
    let started = match size {
        None => demo::start(options),
        Some(size) => demo::start_cluster(&options, size),
    };
    let server = started.map_err(explained)?;
    writeln!(out, "{}", greeting(args, &server.addresses)).context("cannot write to the standard output")?;
    while server.is_running() && stop.recv_timeout(WATCH) == Err(RecvTimeoutError::Timeout) {
        out.flush().context("cannot write to the standard output")?;
    }
    Ok(server.stop()?)
}

fn explained(error: Error) -> anyhow::Error {
    match error {
        Error::Taken(_) => anyhow::anyhow!("{error}; give another port with -p, or -p 0 for any free port"),
        other => other.into(),
    }
}

/// Returns the addresses of the server or of the nodes, with instructions for using these addresses.
fn greeting(args: &DemoArgs, addresses: &[SocketAddr]) -> String {
    let password = if args.password.is_some() { " -a PASSWORD" } else { "" };
    let faults = match args.faults.len() {
        0 => String::new(),
        n => format!(", simulates {}", count_with_noun(n as u64, "fault")),
    };
    let socket =
        args.socket.as_ref().map(|path| format!(" and {}", untrusted::path(path))).unwrap_or_default();
    if args.bus {
        let (variable, port) =
            (if password.is_empty() { "" } else { "REDYNO_BUS_AUTH=PASSWORD " }, addresses[0].port());
        return format!(
            "redyno demo: a bus for a fleet at 127.0.0.1:{port}{socket}{faults}; run these in two other terminals, end it with \
             Ctrl-C
  {variable}redyno agent --bus redis://127.0.0.1:{port} --target 127.0.0.1:6379 --index 0 --of 1
  {variable}redyno -p 6379 --bus redis://127.0.0.1:{port} --agents 1 --load"
        );
    }
    let replicas = args.replicas * args.nodes.unwrap_or(0);
    let what = match args.nodes {
        None => "a stand-in for Redis".to_owned(),
        Some(nodes) if replicas == 0 => {
            format!("a cluster of {}", count_with_noun(nodes.into(), "primary node"))
        }
        Some(nodes) => format!(
            "a cluster of {} and {}",
            count_with_noun(nodes.into(), "primary node"),
            count_with_noun(replicas.into(), "replica")
        ),
    };
    format!(
        "redyno demo: {what} at 127.0.0.1:{}{socket}{faults}; drive it with `redyno -p {}{password} --load`, end it \
         with Ctrl-C",
        listed(addresses),
        addresses[0].port()
    )
}

/// Returns the ports of these addresses as text, such as `7000-7002, 7010`.
fn listed(addresses: &[SocketAddr]) -> String {
    let mut ports: Vec<u16> = addresses.iter().map(SocketAddr::port).collect();
    ports.sort_unstable();
    let runs = ports.chunk_by(|port, next| port + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one[0].to_string(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn parse(words: &[&str]) -> Result<DemoArgs, clap::Error> {
        let command = DemoArgs::augment_args(Command::new("demo"));
        command.try_get_matches_from(words).and_then(|matches| DemoArgs::from_arg_matches(&matches))
    }

    #[test]
    fn the_server_prints_its_address_and_ends_at_a_signal() {
        let args = parse(&["demo", "-p", "0", "-a", "secret", "--fault", "stall 5ms every 1s"]).unwrap();
        assert!(!format!("{args:?}").contains("secret"));
        let (stop, stopped) = mpsc::channel();
        stop.send(Signal::Interrupt).unwrap();
        let mut out = Vec::new();
        run(&args, &stopped, &mut out).unwrap();
        let line = String::from_utf8(out).unwrap();
        assert!(line.starts_with("redyno demo: a stand-in for Redis at 127.0.0.1:"), "{line}");
        assert!(
            line.contains(", simulates 1 fault; drive it with `redyno -p ")
                && line.contains(" -a PASSWORD --load`")
        );
        assert_eq!((line.lines().count(), line.contains("secret")), (1, false));
    }

    #[test]
    fn a_cluster_prints_the_number_and_the_addresses_of_its_nodes() {
        let args = parse(&["demo", "-p", "0", "--nodes", "2", "--replicas", "1"]).unwrap();
        let addresses = [7000, 7001, 7003, 7004].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let line = greeting(&args, &addresses);
        let start = "redyno demo: a cluster of 2 primary nodes and 2 replicas at 127.0.0.1:7000-7001, 7003-7004; drive";
        assert!(line.starts_with(start), "{line}");
        let (stop, stopped) = mpsc::channel();
        stop.send(Signal::Interrupt).unwrap();
        let mut out = Vec::new();
        run(&args, &stopped, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_bus_names_the_lines_of_an_agent_and_its_session() {
        let port = |words: &[&str]| parse(words).unwrap().port;
        assert_eq!(
            [port(&["demo"]), port(&["demo", "--bus"]), port(&["demo", "--bus", "-p", "1"])],
            [6379, 6380, 1]
        );
        let address = [SocketAddr::from((Ipv4Addr::LOCALHOST, 7000))];
        let text = greeting(&parse(&["demo", "--bus", "-a", "secret"]).unwrap(), &address);
        assert_eq!(text.matches("\n  REDYNO_BUS_AUTH=PASSWORD redyno ").count(), 2, "{text}");
        assert!(text.ends_with("redyno -p 6379 --bus redis://127.0.0.1:7000 --agents 1 --load"), "{text}");
        assert!(parse(&["demo", "--bus", "--nodes", "3"]).is_err());
    }

    #[test]
    fn faults_that_the_server_cannot_simulate_are_refused() {
        let (_stop, stopped) = mpsc::channel();
        let error =
            |words: &[&str]| run(&parse(words).unwrap(), &stopped, &mut Vec::new()).unwrap_err().to_string();
        let alone = error(&["demo", "-p", "0", "--fault", "reshard 5"]);
        assert_eq!(alone, "reshard, failover, hot and 'node N' are faults of a cluster; give --nodes 3");
        let few = error(&["demo", "-p", "0", "--nodes", "2", "--fault", "stall 1s node 3"]);
        assert_eq!(few, "the cluster has 2 nodes; name a node from 1 to 2");
        assert_eq!(
            error(&["demo", "-p", "0", "--nodes", "1", "--fault", "reshard 5"]),
            "a reshard needs two primaries; give at least --nodes 2"
        );
    }

    #[test]
    fn a_taken_port_is_reported_with_what_to_do() {
        let taken = demo::start(Options::default()).unwrap();
        let port = taken.address.port().to_string();
        let args = parse(&["demo", "-p", &port]).unwrap();
        let (_stop, stopped) = mpsc::channel();
        let error = run(&args, &stopped, &mut Vec::new()).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            format!(
                "127.0.0.1:{port} is taken: another server listens there; give another port with -p, or -p 0 for any free port"
            )
        );
    }

    #[test]
    fn a_fault_that_makes_no_sense_is_a_usage_error() {
        let error = parse(&["demo", "--fault", "explode"]).unwrap_err().to_string();
        assert!(
            error.contains("fault 'explode': 'explode' is not a fault: give stall, slow, delay"),
            "{error}"
        );
    }
}
