//! Finds the changes between two replies to INFO, and returns these changes as events. This module does no I/O.

use super::{
    Info,
    episode::{Border, BurstTracker, Expiry, LimitBursts},
};
use crate::{clock::seconds, events::EventKind};

/// The field of INFO with the result of the last RDB save.
const SAVE_OUTCOME: &str = "rdb_last_bgsave_status";
const REWRITE_OUTCOME: &str = "aof_last_bgrewrite_status";

/// The server's state in the previous INFO, and the present bursts.
#[derive(Debug, Default)]
pub(super) struct InfoChanges {
    seen: Option<Identity>,
    /// Whether the next INFO comes from another server, because the target's name leads to another address.
    is_another_server: bool,
    bursts: LimitBursts,
    expiry: Expiry,
    blocked: BurstTracker,
}

#[derive(Debug, Clone, PartialEq)]
struct Identity {
    run_id: String,
    role: String,
    master: Option<String>,
    failover: Option<String>,
    link: Option<String>,
    replicas: Option<u64>,
    /// The number of forks, or the duration of the last fork if the server does not report the number. If the value
    /// changes, the server has forked.
    forks: Option<u64>,
    save: Child,
    rewrite: Child,
    /// The time when the server began to load its data.
    loading_ns: Option<u64>,
}

/// A child process of the server that writes a file.
#[derive(Debug, Clone, Default, PartialEq)]
struct Child {
    since_ns: Option<u64>,
    /// The number of written files. CONFIG RESETSTAT sets the number to 0.
    files: Option<u64>,
    /// The time when the last file was completed, in whole seconds. Two files of the same second differ only in
    /// `files`.
    finished_at_s: Option<u64>,
    /// The result of writing the last file.
    outcome: Option<String>,
}

/// The beginning or the end of a child process. If the process began and ended between two polls, its duration is
/// unknown.
enum FileStep {
    Began,
    Ended { length_s: Option<f64>, outcome: String },
}

impl InfoChanges {
    /// Notes that the next INFO comes from a server at another address.
    pub(super) fn change_server(&mut self) {
        self.is_another_server = true;
    }

    /// Returns the events since the previous INFO.
    pub(super) fn read(&mut self, at_ns: u64, info: &Info) -> Vec<EventKind> {
        let mut seen = Identity::read(info, at_ns);
        let mut events = Vec::new();
        let is_same = self.seen.as_ref().is_none_or(|before| before.run_id == seen.run_id);
        let is_another_server = std::mem::take(&mut self.is_another_server);
        let counted = ["evicted_keys", "rejected_connections"].map(|name| info.number(name));
        let bursts = self.bursts.take(at_ns, counted, is_same);
        let counted = ["expired_keys", "expired_time_cap_reached_count"].map(|name| info.number(name));
        let expiry = self.expiry.take(at_ns, counted, is_same);
        if let Some(before) = self.seen.take() {
            if is_same {
                seen.save.go_on(&before.save);
                seen.rewrite.go_on(&before.rewrite);
                events.extend(before.fork(&seen, info));
                let ok = |field| info.text(field).unwrap_or("ok");
                let saved = before.save.turned(&seen.save, at_ns, ok(SAVE_OUTCOME));
                events.extend(saved.map(FileStep::of_snapshot));
                let rewrite = before.rewrite.turned(&seen.rewrite, at_ns, ok(REWRITE_OUTCOME));
                events.extend(rewrite.map(FileStep::of_rewrite));
            } else {
                events.extend((!is_another_server).then_some(EventKind::Restarted));
                let why =
                    if is_another_server { "another server answers" } else { "the server was restarted" };
                let saved = before.save.replaced(&seen.save, at_ns, why);
                events.extend(saved.into_iter().flatten().map(FileStep::of_snapshot));
                let rewrite = before.rewrite.replaced(&seen.rewrite, at_ns, why);
                events.extend(rewrite.into_iter().flatten().map(FileStep::of_rewrite));
            }
            events.extend(bursts);
            events.extend(expiry);
            events.extend(before.loading(&mut seen, at_ns));
            events.extend(before.places(&seen));
        }
        let waiting = info.number("blocked_clients").unwrap_or(0);
        events.extend(self.blocked.take(at_ns, waiting).map(blocked));
        self.seen = Some(seen);
        events
    }
}

impl Identity {
    fn read(info: &Info, at_ns: u64) -> Self {
        let text = |name: &str| info.text(name).map(str::to_owned);
        let child = |running: &str, files: &str, finished_at_s: &str, outcome: &str| Child {
            since_ns: info.flag(running).unwrap_or(false).then_some(at_ns),
            files: info.number(files),
            finished_at_s: info.number(finished_at_s),
            outcome: text(outcome),
        };
        Self {
            run_id: text("run_id").unwrap_or_default(),
            role: text("role").unwrap_or_default(),
            master: info.master(),
            failover: text("master_failover_state"),
            link: text("master_link_status"),
            replicas: info.number("connected_slaves"),
            forks: info.number("total_forks").or_else(|| info.number("latest_fork_usec")),
            save: child("rdb_bgsave_in_progress", "rdb_saves", "rdb_last_save_time", SAVE_OUTCOME),
            rewrite: child("aof_rewrite_in_progress", "aof_rewrites", "", REWRITE_OUTCOME),
            loading_ns: info.flag("loading").unwrap_or(false).then_some(at_ns),
        }
    }

    fn loading(&self, now: &mut Self, at_ns: u64) -> Option<EventKind> {
        let since_ns = self.loading_ns;
        now.loading_ns = now.loading_ns.map(|now_ns| since_ns.unwrap_or(now_ns));
        match (since_ns, now.loading_ns) {
            (None, Some(_)) => Some(EventKind::LoadingBegan),
            (Some(since_ns), None) => {
                Some(EventKind::LoadingEnded { length_s: seconds(at_ns.saturating_sub(since_ns)) })
            }
            _ => None,
        }
    }

    fn fork(&self, now: &Self, info: &Info) -> Option<EventKind> {
        if now.forks == self.forks || now.forks.is_none_or(|n| n == 0) {
            return None;
        }
        Some(EventKind::Forked { held_us: info.number("latest_fork_usec") })
    }

    /// Returns the events about replication: changes of the role, the master and the replicas.
    fn places(&self, now: &Self) -> Vec<EventKind> {
        let mut events = Vec::new();
        if (&self.role, &self.master) != (&now.role, &now.master) {
            let (from, to) = (self.role.clone(), now.role.clone());
            events.push(EventKind::RoleChanged { from, to, master: now.master.clone() });
        }
        if self.failover != now.failover
            && let Some(state) = now.failover.clone()
        {
            events.push(EventKind::FailoverTurned { state });
        }
        if self.link != now.link
            && let (Some(_), Some(state)) = (&self.link, now.link.clone())
        {
            events.push(EventKind::LinkTurned { state });
        }
        if self.replicas != now.replicas
            && let (Some(from), Some(to)) = (self.replicas, now.replicas)
        {
            events.push(EventKind::ReplicasChanged { from, to });
        }
        events
    }
}

impl Child {
    fn go_on(&mut self, before: &Self) {
        if self.since_ns.is_some() {
            self.since_ns = before.since_ns.or(self.since_ns);
        }
    }

    /// Returns the change of the child process between this poll and `now`. `outcome` is the result of
    /// writing the last file.
    fn turned(&self, now: &Self, at_ns: u64, outcome: &str) -> Option<FileStep> {
        match (self.since_ns, now.since_ns) {
            (None, Some(_)) => Some(FileStep::Began),
            (Some(since_ns), None) => {
                let length_s = Some(seconds(at_ns - since_ns));
                Some(FileStep::Ended { length_s, outcome: outcome.to_owned() })
            }
            (None, None) if self.wrote_until(now) => {
                Some(FileStep::Ended { length_s: None, outcome: outcome.to_owned() })
            }
            _ => None,
        }
    }

    /// Returns the end of this process, and the beginning of the process `now` of a new server. `why` is the reason why
    /// this process is no longer visible.
    fn replaced(&self, now: &Self, at_ns: u64, why: &str) -> [Option<FileStep>; 2] {
        let ended = self.since_ns.map(|since_ns| FileStep::Ended {
            length_s: Some(seconds(at_ns - since_ns)),
            outcome: why.to_owned(),
        });
        [ended, now.since_ns.map(|_| FileStep::Began)]
    }

    /// Returns whether, between this poll and `now`, a file was completed or could not be written.
    fn wrote_until(&self, now: &Self) -> bool {
        let has_failed = self.outcome != now.outcome && now.outcome.as_deref() != Some("ok");
        now.files > self.files || now.finished_at_s != self.finished_at_s || has_failed
    }
}

impl FileStep {
    fn of_snapshot(self) -> EventKind {
        match self {
            Self::Began => EventKind::SnapshotBegan,
            Self::Ended { length_s, outcome } => EventKind::SnapshotEnded { length_s, outcome },
        }
    }

    fn of_rewrite(self) -> EventKind {
        match self {
            Self::Began => EventKind::RewriteBegan,
            Self::Ended { length_s, outcome } => EventKind::RewriteEnded { length_s, outcome },
        }
    }
}

fn blocked(border: Border) -> EventKind {
    match border {
        Border::Begins(clients) => EventKind::BlockingBegan { clients },
        Border::Ends { most: clients, length_s, .. } => EventKind::BlockingEnded { clients, length_s },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    /// Returns the events for a series of INFO replies, one reply per second.
    fn news(infos: &[&str]) -> Vec<String> {
        let mut news = InfoChanges::default();
        let mut read = |(s, text): (usize, &&str)| news.read(s as u64 * SECOND_NS, &Info::parse(text));
        let all = infos.iter().enumerate().flat_map(|(s, text)| read((s, text)));
        all.map(|news| format!("{}: {news}", news.name())).collect()
    }

    #[test]
    fn a_fork_and_a_save_are_reported_at_both_ends() {
        let idle = "total_forks:0\nrdb_bgsave_in_progress:0\nrdb_last_save_time:1\nrdb_last_bgsave_status:ok";
        let saving = "total_forks:1\nlatest_fork_usec:1200\nrdb_bgsave_in_progress:1\nrdb_last_save_time:1";
        let saved = "total_forks:1\nlatest_fork_usec:1200\nrdb_bgsave_in_progress:0\nrdb_last_save_time:9\n\
                     rdb_last_bgsave_status:err";
        let expected = [
            "fork: a fork paused the server for 1.20 ms",
            "save: a snapshot began",
            "save: a snapshot ended after 2 s: err",
        ];
        assert_eq!(news(&[idle, saving, saving, saved, saved]), expected);
        assert!(news(&[saved]).is_empty(), "a save before the session is not reported");
    }

    #[test]
    fn a_child_process_between_two_polls_is_reported_once() {
        let before =
            "rdb_bgsave_in_progress:0\nrdb_last_save_time:1\naof_rewrite_in_progress:0\naof_rewrites:0";
        let after =
            "rdb_bgsave_in_progress:0\nrdb_last_save_time:2\naof_rewrite_in_progress:0\naof_rewrites:1";
        let expected = [
            "save: a snapshot began and ended between two polls: ok",
            "aof rewrite: began and ended between two polls: ok",
        ];
        assert_eq!(news(&[before, after, after]), expected);
    }

    #[test]
    fn two_saves_within_a_second_and_a_failed_save_are_reported() {
        let info = |saves, outcome| {
            format!("rdb_saves:{saves}\nrdb_last_save_time:1\nrdb_last_bgsave_status:{outcome}\n")
        };
        let infos = [info(0, "ok"), info(1, "ok"), info(1, "err"), info(1, "err"), info(0, "err")];
        let infos: Vec<_> = infos.iter().map(String::as_str).collect();
        let between = "save: a snapshot began and ended between two polls";
        assert_eq!(news(&infos), [format!("{between}: ok"), format!("{between}: err")]);
    }

    #[test]
    fn evictions_and_rejections_are_bursts_and_a_reset_is_not() {
        let at = |evicted, rejected| format!("evicted_keys:{evicted}\nrejected_connections:{rejected}\n");
        let infos = [at(0, 9), at(100, 9), at(250, 10), at(250, 0), at(250, 0), at(250, 0), at(0, 0)];
        let infos: Vec<_> = infos.iter().map(String::as_str).collect();
        let expected = [
            "eviction: 100 keys evicted in a second",
            "maxclients: 1 connection rejected",
            "eviction: ended: 250 keys in 2 s",
            "maxclients: ended: 1 connection rejected in 1 s",
        ];
        assert_eq!(news(&infos), expected);
    }

    #[test]
    fn loading_has_a_length() {
        let expected = ["loading: the server loads its data", "loading: ended after 2 s"];
        assert_eq!(news(&["loading:0", "loading:1", "loading:1", "loading:0", "loading:0"]), expected);
    }

    #[test]
    fn changes_of_replication_are_reported() {
        let master = "role:master\nconnected_slaves:1\nmaster_failover_state:no-failover";
        let replica =
            "role:slave\nmaster_host:10.0.0.9\nmaster_port:1\nmaster_link_status:up\nconnected_slaves:0";
        let cut =
            "role:slave\nmaster_host:10.0.0.9\nmaster_port:1\nmaster_link_status:down\nconnected_slaves:0";
        let expected = [
            "role: master is now slave of 10.0.0.9:1",
            "replication: 0 replicas, before 1",
            "replication: the link to the master is down",
        ];
        assert_eq!(news(&[master, replica, cut]), expected);
    }

    #[test]
    fn a_restart_is_reported_and_its_counters_are_no_bursts() {
        let expected = ["restart: the server was restarted"];
        assert_eq!(
            news(&["run_id:a\nevicted_keys:1\ntotal_forks:1", "run_id:b\nevicted_keys:9\ntotal_forks:4"]),
            expected
        );
    }

    #[test]
    fn another_server_is_no_restart_and_ends_the_save_of_the_server_before() {
        let mut changes = InfoChanges::default();
        changes.read(0, &Info::parse("run_id:a\nevicted_keys:1\nrdb_bgsave_in_progress:1"));
        changes.change_server();
        let of_other = Info::parse("run_id:b\nevicted_keys:9\nrdb_bgsave_in_progress:0");
        let events = changes.read(SECOND_NS, &of_other);
        let seen: Vec<_> = events.iter().map(|event| format!("{}: {event}", event.name())).collect();
        assert_eq!(seen, ["save: a snapshot ended after 1 s: another server answers"]);
        let restarted = changes.read(2 * SECOND_NS, &Info::parse("run_id:c"));
        assert_eq!(restarted, [EventKind::Restarted]);
    }

    #[test]
    fn a_restart_ends_a_save_and_a_rewrite_and_the_new_server_may_save_at_once() {
        let info = |run: &str, saves, rewrites| {
            format!("run_id:{run}\nrdb_bgsave_in_progress:{saves}\naof_rewrite_in_progress:{rewrites}\n")
        };
        let infos = [info("a", 0, 0), info("a", 1, 1), info("b", 1, 0), info("b", 0, 0)];
        let infos: Vec<_> = infos.iter().map(String::as_str).collect();
        let expected = [
            "save: a snapshot began",
            "aof rewrite: began",
            "restart: the server was restarted",
            "save: a snapshot ended after 1 s: the server was restarted",
            "save: a snapshot began",
            "aof rewrite: ended after 1 s: the server was restarted",
            "save: a snapshot ended after 1 s: ok",
        ];
        assert_eq!(news(&infos), expected);
    }

    #[test]
    fn blocked_clients_are_reported_at_the_start_and_at_the_end() {
        let waiting = [
            "blocked_clients:2",
            "blocked_clients:3",
            "blocked_clients:0",
            "blocked_clients:0",
            "blocked_clients:0",
        ];
        let expected = [
            "blocked: 2 clients wait in a blocking command",
            "blocked: ended after 1 s: at most 3 clients waited at once",
        ];
        assert_eq!(news(&waiting), expected);
    }
}
