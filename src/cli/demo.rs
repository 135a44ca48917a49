//! `redyno demo`: runs only the built-in server.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context;

use super::command::{Arguments, Invocation, Planned};
use crate::{
    demo::{Error, Fault, Handle, Options, Server},
    endpoint::Password,
    print::words::StreamText,
    runner::ends,
    signals::Signal,
    untrusted,
};

/// The interval at which the server is checked.
const WATCH: Duration = Duration::from_millis(500);

const AFTER: &str = "\
Examples:
  redyno demo -p 7000
  redyno demo -p 7000 --fault 'stall 500ms every 5s' --fault 'error LOADING 1%'";

/// The arguments of `redyno demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct DemoArgs {
    /// Port on 127.0.0.1 to listen on; 0 for any free port
    #[arg(short, long, default_value_t = 6379)]
    port: u16,

    /// Unix socket to listen on too
    #[arg(short, long, value_name = "PATH")]
    socket: Option<PathBuf>,

    /// Password that clients must send
    #[arg(short = 'a', long)]
    password: Option<Password>,

    /// A fault to simulate; can be given several times: 'stall 500ms every 5s', 'slow GET 2ms',
    /// 'delay GET 2ms nth 10', 'error LOADING 1%', 'cut every 10000', 'reset every 20s', 'garbage every 30s'
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<Fault>,
}

impl Arguments for DemoArgs {
    fn plan(self: Box<Self>, _: Invocation) -> Planned {
        Ok(Box::new(move || Ok(run(&self, &ends()?, &mut StreamText::stdout())?)))
    }
}

/// Serves clients until `stop` receives a signal or its sender is dropped. Prints one line with the address.
fn run(args: &DemoArgs, stop: &Receiver<Signal>, out: &mut impl Write) -> anyhow::Result<()> {
    let options = Options {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)),
        unix_socket: args.socket.clone(),
        password: args.password.clone(),
        faults: args.faults.clone(),
        ..Options::default()
    };
    let server = Server::start(options).map_err(|error| match error {
        Error::Taken(_) => anyhow::anyhow!("{error}; give another port with -p, or -p 0 for any free port"),
        other => other.into(),
    })?;
    writeln!(out, "{}", greeting(args, &server)).context("cannot write to the standard output")?;
    while server.is_running() {
        if stop.recv_timeout(WATCH) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        out.flush().context("cannot write to the standard output")?;
    }
    Ok(server.stop()?)
}

/// Returns the address of the server, and how to use it.
fn greeting(args: &DemoArgs, server: &Handle) -> String {
    let port = server.address().port();
    let password = if args.password.is_some() { " -a PASSWORD" } else { "" };
    let faults = match args.faults.len() {
        0 => String::new(),
        1 => ", simulates 1 fault".to_owned(),
        n => format!(", simulates {n} faults"),
    };
    let socket =
        args.socket.as_ref().map(|path| format!(" and {}", untrusted::path(path))).unwrap_or_default();
    format!(
        "redyno demo: a stand-in for Redis at {}{socket}{faults}; drive it with `redyno -p {port}{password} --load`, \
         end it with Ctrl-C",
        server.address()
    )
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
    fn it_says_where_it_serves_and_ends_when_asked_to() {
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
    fn a_taken_port_is_reported_with_what_to_do() {
        let taken = Server::start(Options::default()).unwrap();
        let port = taken.address().port().to_string();
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
        assert_eq!(parse(&["demo"]).unwrap().port, 6379);
    }
}
