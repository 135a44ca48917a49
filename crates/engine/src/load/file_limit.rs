//! How many connections the system lets this process hold.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::knobs::MAX_CLIENTS;

/// Files beside the load. With one worker and one client, a headless session that records was seen with 20 in all, a screen
/// on the built-in server with 30; what is opened for a moment (first contact, a name, the system's figures, a picture)
/// comes on top.
const BESIDE_THE_LOAD: u64 = 40;
/// Files of each worker: its poll, its waker, its timer, what the system says of its thread.
const OF_A_WORKER: u64 = 4;

/// Raises the soft limit of open files as far as the load can need and the hard limit goes, and says how many clients
/// fit then beside so many workers, [`MAX_CLIENTS`] at the most. `ends_here` is how many ends of each connection
/// this process holds: 2 when the server is built in.
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

/// How many workers leave the limit of open files as much to clients as they take; at least one.
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
