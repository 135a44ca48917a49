//! How many connections the system lets this process open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::knobs::MAX_CLIENTS;

/// Files other than the load's. With one worker and one client, a headless session that records had 20 open in
/// total, a screen on the built-in server 30; files that are open only briefly (first contact, name lookup, system
/// figures, a picture) come on top.
const BESIDE_THE_LOAD: u64 = 40;
/// Files of each worker: its poll, waker and timer, and the system's statistics of its thread.
const OF_A_WORKER: u64 = 4;

/// Raises the soft limit of open files to the load's maximum need, up to the hard limit. Returns how many clients
/// then fit with that many workers, at most [`MAX_CLIENTS`]. `ends_here` is the number of ends of each connection
/// in this process: 2 if the server is built in.
pub fn most_clients(workers: usize, ends_here: u64) -> u32 {
    let beside = BESIDE_THE_LOAD + OF_A_WORKER * workers as u64;
    let wanted = u64::from(MAX_CLIENTS) * ends_here + beside;
    let limit = getrlimit(Resource::Nofile);
    let possible = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    let has = match limit.current {
        Some(current) if current < possible => {
            let raised = Rlimit { current: Some(possible), ..limit };
            setrlimit(Resource::Nofile, raised).map_or(current, |()| possible)
        }
        Some(current) => current,
        None => wanted,
    };
    fitting(has, beside, ends_here)
}

/// Returns the number of workers at which half of the open-file limit remains for clients; at least one.
pub fn most_workers() -> usize {
    let files = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let workers = files.saturating_sub(BESIDE_THE_LOAD) / (2 * OF_A_WORKER);
    usize::try_from(workers).unwrap_or(usize::MAX).max(1)
}

fn fitting(files: u64, beside: u64, ends_here: u64) -> u32 {
    let clients = files.saturating_sub(beside) / ends_here;
    clients.min(MAX_CLIENTS.into()).try_into().unwrap_or(MAX_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_count_where_the_server_is_built_in() {
        assert_eq!(fitting(1024, 67, 1), 957);
        assert_eq!(fitting(1024, 67, 2), 478);
        assert_eq!(fitting(20, 67, 1), 0);
        assert_eq!(fitting(u64::MAX, 67, 1), MAX_CLIENTS);
    }
}
