//! The process's limit of open files, and how many connections of the load this limit allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::knobs::MAX_CLIENTS;

/// The number of open files that do not belong to the load. With one worker and one client, a headless session with a
/// recording had 20 open files in total. A session on the screen with the built-in server had 30. The first contact,
/// name lookups, system figures and pictures open further files for a short time.
const BESIDE_THE_LOAD: u64 = 40;
/// The number of open files for each further observed node: the connections of the PING probe, the connections that
/// poll the server's figures, and the poll loop of the node's thread.
const OF_A_NODE: u64 = 10;
/// The number of open files of each worker: the poll loop, the waker, the timer, and the system's statistics of the
/// worker's thread.
const OF_A_WORKER: u64 = 4;

/// Raises the soft limit of open files as far as [`MAX_CLIENTS`] clients need and the hard limit permits. Returns how
/// many clients the new limit allows with this many workers, at most [`MAX_CLIENTS`]. `ends_here` is the number of
/// ends of each connection in this process: 2 with the built-in server, otherwise 1.
pub fn most_clients(workers: usize, ends_here: u64) -> u32 {
    let beside = BESIDE_THE_LOAD + OF_A_WORKER * workers as u64;
    clients_within(raised(u64::from(MAX_CLIENTS) * ends_here + beside), beside, ends_here)
}

/// Raises the soft limit of open files as far as the hard limit permits, so that [`MAX_CLIENTS`] clients can connect to
/// each of `nodes` nodes. Returns how many connections the new limit allows with this many workers.
pub fn most_connections(workers: usize, nodes: usize) -> usize {
    let beside = BESIDE_THE_LOAD + OF_A_WORKER * workers as u64 + OF_A_NODE * nodes as u64;
    let files = raised(u64::from(MAX_CLIENTS) * nodes as u64 + beside);
    usize::try_from(files.saturating_sub(beside)).unwrap_or(usize::MAX)
}

/// Raises the soft limit of open files to `wanted`, but not above the hard limit. Returns the new limit, or `wanted` if
/// the system has no limit.
fn raised(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let possible = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match limit.current {
        Some(current) if current < possible => {
            let raised = Rlimit { current: Some(possible), ..limit };
            setrlimit(Resource::Nofile, raised).map_or(current, |()| possible)
        }
        Some(current) => current,
        None => wanted,
    }
}

/// Returns the largest number of workers that leaves half of the limit of open files to the clients. The number is at
/// least 1.
pub fn most_workers() -> usize {
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let workers = files.saturating_sub(BESIDE_THE_LOAD) / (2 * OF_A_WORKER);
    usize::try_from(workers).unwrap_or(usize::MAX).max(1)
}

/// The largest number of workers of a load.
pub const MOST_THREADS: usize = 512;

/// Returns the usual number of workers. Usually, there is one worker less than cores. The result is at least 1, and at
/// most as many as the limit of open files allows.
pub fn usual_workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    cores.saturating_sub(1).clamp(1, most_workers().min(MOST_THREADS))
}

fn clients_within(files: u64, beside: u64, ends_here: u64) -> u32 {
    let clients = files.saturating_sub(beside) / ends_here;
    clients.min(MAX_CLIENTS.into()).try_into().unwrap_or(MAX_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_count_where_the_server_is_built_in() {
        assert_eq!(clients_within(1024, 67, 1), 957);
        assert_eq!(clients_within(1024, 67, 2), 478);
        assert_eq!(clients_within(20, 67, 1), 0);
        assert_eq!(clients_within(u64::MAX, 67, 1), MAX_CLIENTS);
    }
}
