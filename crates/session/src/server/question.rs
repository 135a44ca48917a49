//! The question to the user before redyno's first write to a server. The question depends on the survey of this server.
//! This module does no I/O.

use std::fmt;

use super::{
    Foreign, Marker, Survey,
    other_commands::{is_message, some_of},
};
use crate::{
    endpoint::Address,
    units::count_with_noun,
    untrusted::text,
    workload::{KeyNames, KeyNaming, KeySpan, NameSet},
};

/// The writes of a load or of the replication lag probe, and whether redyno removes the keys at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writes {
    /// The form of the keys' names.
    pub names: KeyNames,
    /// Whether the user has chosen the key names. redyno never removes keys with names that the user has chosen.
    pub is_users: bool,
    /// Whether the target is an HTTP service. Such a service has no keys, and the load may change any of its data.
    pub is_service: bool,
    /// Whether the user is asked even if the server has no other keys, clients or replicas.
    pub asks_always: bool,
    /// Whether a load writes. If false, only the replication lag probe writes.
    pub is_load: bool,
    /// Whether the run's own keys remain at the end.
    pub kept: bool,
    /// The key names that the load may write.
    pub span: KeySpan,
    /// The commands that may write keys other than the run's own, such as `SET foo`.
    pub others: Vec<String>,
    /// The commands that a setup runs first, named as in INFO commandstats: `SCRIPT|LOAD`.
    pub setup: Vec<String>,
}

impl Writes {
    /// Returns whether nothing is written and no setup runs.
    pub fn is_nothing(&self) -> bool {
        self.span.is_empty() && self.others.is_empty() && self.setup.is_empty()
    }
}

impl fmt::Display for Writes {
    /// Writes `runs SCRIPT LOAD, then writes keys under redyno:4g7k2m9q: there and removes them at the end`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.is_service && !self.setup.is_empty() {
            let prefix = self.names.prefix();
            write!(f, "makes {prefix}NAME there and deletes it at the end")?;
            f.write_str(if self.others.is_empty() { "" } else { "; it " })?;
        } else if !self.setup.is_empty() {
            let names = self.setup.iter().map(|name| name.replace('|', " ")).collect();
            write!(f, "runs {}", some_of(names))?;
            f.write_str(if self.span.is_empty() && self.others.is_empty() { "" } else { ", then " })?;
        }
        if !self.span.is_empty() {
            self.write_span(f)?;
        }
        if self.others.is_empty() {
            return Ok(());
        }
        f.write_str(if self.span.is_empty() { "" } else { "; " })?;
        let (verb, effect) = match self.is_service {
            true => ("sends", "may change data there, and does not undo that"),
            false if self.others.iter().all(|runs| is_message(runs)) => {
                ("runs", "sends messages to channels of others")
            }
            false => ("runs", "may write to keys that are not its own, and does not remove these keys"),
        };
        write!(f, "{verb} {}, which {effect}", some_of(self.others.clone()))
    }
}

impl Writes {
    fn write_span(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let prefix = self.names.prefix();
        if self.is_users {
            let last = some_of(self.span.iter().map(|set| format!("{prefix}{}", set.last())).collect());
            let is_any = |set: &NameSet| set.form.naming == KeyNaming::Anything;
            let named = match prefix {
                prefix if self.span.iter().any(is_any) => format!("{prefix}* as in the trace"),
                "" => "as the workload says".to_owned(),
                prefix => format!("{prefix} and a number"),
            };
            let upto = if self.span.iter().all(is_any) { "" } else { &format!(", now up to {last}") };
            return write!(
                f,
                "writes keys named {named}{upto}, overwrites existing values, and does not remove the keys"
            );
        }
        let end = if self.kept { "leaves them there (--keep)" } else { "removes them at the end" };
        write!(f, "writes keys under {prefix} there and {end}")
    }
}

/// The reason why all writes of the load would fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The server is a replica that accepts no writes. The text is the address of its primary.
    Replica(Address, String),
    /// The server is still loading its data.
    Loading(Address),
    /// The server does not have these commands of a module.
    Missing(Address, Vec<String>),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Replica(address, primary) => {
                write!(f, "{address} is a read-only replica; name its primary, {}, to write", text(primary))
            }
            Self::Loading(address) => {
                let why = "commands would fail with LOADING; wait for it";
                write!(f, "{address} is still loading its data: {why}")
            }
            Self::Missing(address, commands) => {
                write!(
                    f,
                    "{address} does not know {}: it lacks the module with {}; name a server that has this module",
                    some_of(commands.clone()),
                    if commands.len() == 1 { "it" } else { "them" }
                )
            }
        }
    }
}

impl Survey {
    /// Returns the reason why writes would fail, if there is one.
    pub fn obstacle(&self) -> Option<Obstacle> {
        if !self.missing.is_empty() {
            Some(Obstacle::Missing(self.address.clone(), self.missing.clone()))
        } else if self.loading {
            Some(Obstacle::Loading(self.address.clone()))
        } else {
            self.read_only_below.clone().map(|primary| Obstacle::Replica(self.address.clone(), primary))
        }
    }

    /// Returns the question to the user before the first write. Returns `None` if the load writes only the run's own
    /// keys, and if the server has no other keys, clients or replicas, and no load of another session.
    pub fn question(&self, writes: &Writes) -> Option<String> {
        let lives_there = [self.holds(), self.serves(), self.neighbours.loads()];
        let lives_there: Vec<_> = lives_there.into_iter().flatten().collect();
        let makes_by_http = writes.is_service && !writes.setup.is_empty();
        if lives_there.is_empty() && !writes.asks_always && writes.others.is_empty() && !makes_by_http {
            return None;
        }
        let lives_there = match lives_there.is_empty() {
            true => ":".to_owned(),
            false => format!(" {};", lives_there.join(" and ")),
        };
        let who = if writes.is_load { "the load" } else { "--probe-lag" };
        Some(format!("{}{lives_there} {who} {writes}. Continue?", self.subject()))
    }

    /// Returns the name of the target: the server, or the cluster of the server that the user named.
    fn subject(&self) -> String {
        match self.primaries {
            1 => self.address.to_string(),
            n if self.in_cluster => format!("the cluster of {} ({n} primaries)", self.address),
            n => format!("{} with {}", self.address, count_with_noun(n - 1, "other server")),
        }
    }

    /// Writes `holds 1 204 331 keys`.
    fn holds(&self) -> Option<String> {
        let own = match self.foreign {
            Foreign::Exactly(n) if n < self.total_keys => " beside redyno's own",
            Foreign::AtMost(_) if self.runs.iter().any(Marker::has_keys) => {
                " (including redyno's own from an earlier session)"
            }
            _ => "",
        };
        let n = self.foreign.bound();
        (n > 0).then(|| format!("holds {}{own}", count_with_noun(n, "key")))
    }

    /// Writes `serves 12 other clients and 2 replicas`.
    fn serves(&self) -> Option<String> {
        let part = |n, noun| (n > 0).then(|| count_with_noun(n, noun));
        let parts =
            [part(self.neighbours.clients, "other client"), part(self.neighbours.replicas, "replica")];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("serves {}", parts.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        server::{OtherClients, Owner},
        workload::{KeyForm, RunId},
    };

    fn run() -> RunId {
        "4g7k2m9q".parse().unwrap()
    }

    fn own() -> Writes {
        Writes {
            names: KeyNames::of_run(run()),
            is_users: false,
            is_service: false,
            asks_always: false,
            is_load: true,
            kept: false,
            span: KeySpan::from_iter([(String::new(), 0..10_000)]),
            others: Vec::new(),
            setup: Vec::new(),
        }
    }

    fn leftover() -> Marker {
        Marker { span: None, ..Marker::new(run(), Owner::default()) }
    }

    fn empty() -> Survey {
        Survey {
            address: Address::default(),
            primaries: 1,
            in_cluster: true,
            db: 0,
            keys: 0,
            total_keys: 0,
            foreign: Foreign::Exactly(0),
            neighbours: OtherClients { clients: 0, replicas: 0, load: Some(0), sessions: Some(0) },
            read_only_below: None,
            loading: false,
            max_clients: None,
            used_memory: Some(1 << 20),
            maxmemory: Some(0),
            missing: Vec::new(),
            notifications: String::new(),
            runs: Vec::new(),
        }
    }

    fn question(survey: &Survey) -> String {
        survey.question(&own()).unwrap()
    }

    #[test]
    fn no_question_is_asked_about_an_empty_server_or_redynos_own_leftovers() {
        assert_eq!(empty().question(&own()), None);
        let ours = Survey { keys: 100, total_keys: 100, runs: vec![leftover()], ..empty() };
        assert_eq!(ours.question(&own()), None);
        let full = Survey { maxmemory: Some(1 << 20), ..empty() };
        assert_eq!(full.question(&own()), None);
    }

    #[test]
    fn a_cluster_has_one_question_with_the_sums_of_all_primaries() {
        let primary = |n, limit| Survey {
            total_keys: n,
            foreign: Foreign::Exactly(n),
            neighbours: OtherClients { clients: 2, replicas: 1, load: Some(0), sessions: Some(0) },
            maxmemory: limit,
            ..empty()
        };
        let cluster = [primary(10, Some(100)), primary(0, Some(50)), primary(5, Some(50))];
        let cluster = cluster.into_iter().reduce(Survey::with).unwrap();
        let asked = question(&cluster);
        let expected = "the cluster of 127.0.0.1:6379 (3 primaries) holds 15 keys and serves 6 other clients and 3 \
                        replicas; the load writes";
        assert!(asked.starts_with(expected), "{asked}");
        assert_eq!(cluster.maxmemory, Some(200));
        let servers = question(&Survey { in_cluster: false, ..cluster });
        assert!(servers.starts_with("127.0.0.1:6379 with 2 other servers holds 15 keys"), "{servers}");
    }

    #[test]
    fn the_question_names_keys_and_clients() {
        let busy = Survey {
            keys: 1_204_331,
            total_keys: 1_204_331,
            foreign: Foreign::AtMost(1_204_331),
            neighbours: OtherClients { clients: 12, replicas: 0, load: Some(0), sessions: Some(0) },
            ..empty()
        };
        assert_eq!(
            question(&busy),
            "127.0.0.1:6379 holds 1 204 331 keys and serves 12 other clients; the load writes keys under \
             redyno:4g7k2m9q: there and removes them at the end. Continue?"
        );
        // An earlier version did not ask if only another session of redyno loaded the server.
        let load = |of: &Survey, load| {
            let neighbours = OtherClients { load: Some(load), sessions: Some(1), ..of.neighbours };
            Survey { neighbours, ..of.clone() }
        };
        let expected = " gets load from another session of redyno over 50 connections; ";
        assert!(question(&load(&busy, 50)).contains(&format!(" and{expected}")));
        assert!(question(&load(&empty(), 50)).contains(expected));
        assert_eq!(load(&empty(), 0).question(&own()), None, "a session that only sends PING");
        let kept = busy.question(&Writes { kept: true, ..own() }).unwrap();
        assert!(
            kept.ends_with("keys under redyno:4g7k2m9q: there and leaves them there (--keep). Continue?"),
            "{kept}"
        );
    }

    #[test]
    fn the_question_is_asked_about_names_chosen_by_the_user() {
        let span = KeySpan::from_iter([(String::new(), 0..100), ("counter:".to_owned(), 0..5)]);
        let names = KeyNames::given("app:");
        let writes = Writes { names, is_users: true, asks_always: true, span, ..own() };
        assert_eq!(empty().question(&Writes { asks_always: false, ..writes.clone() }), None);
        assert_eq!(
            empty().question(&writes).unwrap(),
            "127.0.0.1:6379: the load writes keys named app: and a number, now up to app:000000000099 and \
             app:counter:000000000004, overwrites existing values, and does not remove the keys. Continue?"
        );
    }

    #[test]
    fn names_of_a_trace_have_no_last_name() {
        let form = KeyForm { naming: KeyNaming::Anything, ..KeyForm::default() };
        let span = [NameSet { form, is_open: true, ..NameSet::from((String::new(), 0..1)) }];
        let span: KeySpan = span.into_iter().collect();
        let writes = Writes { names: KeyNames::given("app:"), is_users: true, span, ..own() };
        let named = "writes keys named app:* as in the trace, overwrites existing values";
        assert!(writes.to_string().starts_with(named), "{writes}");
    }

    #[test]
    fn only_some_of_many_key_sets_are_named() {
        let span =
            ["a:", "b:", "c:", "d:", "e:"].map(|prefix| (prefix.to_owned(), 5..8)).into_iter().collect();
        let writes = Writes { names: KeyNames::given("app:"), is_users: true, span, ..own() };
        let last =
            "now up to app:a:000000000007 and app:b:000000000007 and app:c:000000000007 and 2 others, over";
        assert!(writes.to_string().contains(last), "{writes}");
    }

    #[test]
    fn the_question_names_what_a_setup_runs() {
        let setup = ["SCRIPT|LOAD", "FT.CREATE"].map(str::to_owned).to_vec();
        let said = Writes { setup, ..own() }.to_string();
        assert!(said.starts_with("runs SCRIPT LOAD and FT.CREATE, then writes keys under "), "{said}");
        let setup = ["A", "B", "C", "D"].map(str::to_owned).to_vec();
        let said = Writes { setup, span: KeySpan::default(), ..own() }.to_string();
        assert_eq!(said, "runs A and B and C and 1 other");
    }

    #[test]
    fn the_question_is_asked_about_keys_in_commands() {
        let others = vec!["SET foo".to_owned(), "FLUSHALL".to_owned()];
        let both = Writes { others, ..own() };
        assert_eq!(
            empty().question(&both).unwrap(),
            "127.0.0.1:6379: the load writes keys under redyno:4g7k2m9q: there and removes them at the end; runs SET foo \
             and FLUSHALL, which may write to keys that are not its own, and does not remove these keys. Continue?"
        );
        let alone = Writes { span: KeySpan::default(), ..both };
        let published = Writes { others: vec!["PUBLISH news".to_owned()], ..alone.clone() };
        assert_eq!(published.to_string(), "runs PUBLISH news, which sends messages to channels of others");
        assert!(alone.to_string().starts_with("runs SET foo and FLUSHALL, which may write"), "{alone}");
    }

    #[test]
    fn counts_of_one_are_singular_and_redynos_own_keys_are_counted_separately() {
        let survey = Survey {
            keys: 11,
            total_keys: 11,
            foreign: Foreign::Exactly(1),
            neighbours: OtherClients { clients: 1, replicas: 1, load: None, sessions: None },
            ..empty()
        };
        let expected = "holds 1 key beside redyno's own and serves 1 other client and 1 replica;";
        assert!(question(&survey).contains(expected), "{}", question(&survey));
        let large =
            Survey { total_keys: 9_000, foreign: Foreign::AtMost(9_000), runs: vec![leftover()], ..empty() };
        let expected = "holds 9 000 keys (including redyno's own from an earlier session);";
        assert!(question(&large).contains(expected), "{}", question(&large));
    }

    #[test]
    fn a_replica_and_a_loading_server_are_obstacles() {
        assert_eq!(empty().obstacle(), None);
        let primary = Some("db.local:6379".to_owned());
        let missing = vec!["TR.GETBIT".to_owned(), "TR.SETBIT".to_owned()];
        let lacking = Survey { missing, read_only_below: primary.clone(), ..empty() };
        assert_eq!(
            lacking.obstacle().unwrap().to_string(),
            "127.0.0.1:6379 does not know TR.GETBIT and TR.SETBIT: it lacks the module with them; name a server that has this module"
        );
        let replica = Survey { read_only_below: primary.clone(), ..empty() }.obstacle().unwrap().to_string();
        assert_eq!(
            replica,
            "127.0.0.1:6379 is a read-only replica; name its primary, db.local:6379, to write"
        );
        let loading = Survey { loading: true, read_only_below: primary, ..empty() };
        assert!(loading.obstacle().unwrap().to_string().contains("LOADING"));
    }
}
