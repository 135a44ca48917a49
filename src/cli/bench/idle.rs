//! `-I`: connections that are held and never used.

use std::{
    io::{self, Write},
    time::Duration,
};

use crate::{
    cli::words::Words,
    load::most_clients,
    target::{Endpoints, Target, Transport},
};

/// How often their number is told.
const TICK: Duration = Duration::from_millis(250);
/// How long the lookup of the host's name may take.
const RESOLVE_LIMIT: Duration = Duration::from_secs(10);

/// Opens so many connections and waits forever.
///
/// # Errors
/// When one cannot be opened, or nobody takes what is written.
pub(super) fn hold(target: &Target, clients: i64, out: &mut Words) -> io::Result<()> {
    writeln!(out, "Creating {clients} idle connections and waiting forever (Ctrl+C when done)")?;
    // For its raising of the limit.
    most_clients(1, 1);
    let endpoints = Endpoints::find(target, RESOLVE_LIMIT, 0)?.current(0).unwrap_or_default();
    let endpoint = endpoints.first().ok_or(io::ErrorKind::NotFound)?;
    let open = |_| Transport::connect(endpoint, target.tls.as_ref());
    let held = (0..clients).map(open).collect::<io::Result<Vec<_>>>()?;
    loop {
        write!(out, "clients: {}\r", held.len())?;
        out.flush()?;
        std::thread::sleep(TICK);
    }
}
