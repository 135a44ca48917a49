//! From what lives on a server to what a person is asked before the first write; pure.

use std::fmt;

use super::{Foreign, Survey};
use crate::{target::Address, units, workload::KEY_PREFIX};

/// Memory in use, as a share of the limit, from which on the question speaks of it.
const NEARLY_FULL: f64 = 0.9;

/// What a person has to say yes to before the first write: one or two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    text: String,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why writes would fail whatever a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The server is a replica that takes no writes.
    Replica(Address),
    /// It is still loading its data.
    Loading(Address),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Replica(address) => {
                write!(
                    f,
                    "{address} is a read-only replica: writes would fail with READONLY; name its master"
                )
            }
            Self::Loading(address) => {
                write!(
                    f,
                    "{address} is still loading its data: commands would fail with LOADING; wait for it"
                )
            }
        }
    }
}

impl Survey {
    /// What stands in the way of writing.
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.loading {
            Some(Obstacle::Loading(self.address.clone()))
        } else if self.read_only {
            Some(Obstacle::Replica(self.address.clone()))
        } else {
            None
        }
    }

    /// The question before the first write; `None` on a server without other keys, clients or replicas.
    pub fn asks(&self) -> Option<Question> {
        let lives_there: Vec<_> = [self.holds(), self.serves()].into_iter().flatten().collect();
        if lives_there.is_empty() {
            return None;
        }
        let text = format!(
            "{} {}; the load writes keys under {KEY_PREFIX} there and removes them at the end. Continue?{}",
            self.address,
            lives_there.join(" and "),
            self.memory_note().map(|note| format!("\n{note}")).unwrap_or_default(),
        );
        Some(Question { text })
    }

    /// `holds 1 204 331 keys`.
    fn holds(&self) -> Option<String> {
        let own = match self.foreign {
            Foreign::Exactly(n) if n < self.total_keys => " beside redyno's own",
            Foreign::AtMost(_) if self.leftover.as_ref().is_some_and(|marker| marker.keys) => {
                " (redyno's own from an earlier session among them)"
            }
            _ => "",
        };
        let n = self.foreign.bound();
        (n > 0).then(|| format!("holds {}{own}", counted(n, "key")))
    }

    /// `serves 12 other clients and 2 replicas`.
    fn serves(&self) -> Option<String> {
        let part = |n, noun| (n > 0).then(|| counted(n, noun));
        let parts =
            [part(self.neighbours.clients, "other client"), part(self.neighbours.replicas, "replica")];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("serves {}", parts.join(" and ")))
    }

    /// What the load may do to the others' keys by filling the memory.
    fn memory_note(&self) -> Option<String> {
        let limit = self.maxmemory.filter(|limit| *limit > 0)?;
        let policy = self.maxmemory_policy.as_deref().unwrap_or("noeviction");
        let size = units::bytes(limit);
        if policy != "noeviction" {
            return Some(format!(
                "Its memory is limited to {size} with {policy}: the load may push other keys out."
            ));
        }
        let share = self.used_memory? as f64 / limit as f64;
        (share >= NEARLY_FULL).then(|| {
            format!("Its memory is {} full of {size}: writes may fail with OOM.", units::percent(share))
        })
    }
}

/// `1 key`, `1 204 331 keys`: whole numbers, since what is at stake is not rounded.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", units::grouped(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Marker, Neighbours};

    fn empty() -> Survey {
        Survey {
            address: Address::default(),
            db: 0,
            keys: 0,
            total_keys: 0,
            foreign: Foreign::Exactly(0),
            neighbours: Neighbours { clients: 0, replicas: 0, load: Some(0), sessions: Some(0) },
            read_only: false,
            loading: false,
            used_memory: Some(1 << 20),
            maxmemory: Some(0),
            maxmemory_policy: Some("noeviction".into()),
            leftover: None,
        }
    }

    fn question(survey: &Survey) -> String {
        survey.asks().unwrap().to_string()
    }

    #[test]
    fn nobody_is_asked_about_an_empty_server_or_about_our_own_leftovers() {
        assert_eq!(empty().asks(), None);
        let ours = Survey {
            keys: 100,
            total_keys: 100,
            leftover: Some(Marker { keys: true, ..Marker::default() }),
            ..empty()
        };
        assert_eq!(ours.asks(), None);
        let full = Survey { maxmemory: Some(1 << 20), ..empty() };
        assert_eq!(full.asks(), None);
    }

    #[test]
    fn the_question_names_keys_and_clients() {
        let busy = Survey {
            keys: 1_204_331,
            total_keys: 1_204_331,
            foreign: Foreign::AtMost(1_204_331),
            neighbours: Neighbours { clients: 12, replicas: 0, load: Some(0), sessions: Some(0) },
            ..empty()
        };
        assert_eq!(
            question(&busy),
            "127.0.0.1:6379 holds 1 204 331 keys and serves 12 other clients; the load writes keys under \
             redyno: there and removes them at the end. Continue?"
        );
    }

    #[test]
    fn one_of_a_kind_is_singular_and_redynos_own_keys_are_told_apart() {
        let survey = Survey {
            keys: 11,
            total_keys: 11,
            foreign: Foreign::Exactly(1),
            neighbours: Neighbours { clients: 1, replicas: 1, load: None, sessions: None },
            ..empty()
        };
        let expected = "holds 1 key beside redyno's own and serves 1 other client and 1 replica;";
        assert!(question(&survey).contains(expected), "{}", question(&survey));
        let large = Survey {
            total_keys: 9_000,
            foreign: Foreign::AtMost(9_000),
            leftover: Some(Marker { keys: true, ..Marker::default() }),
            ..empty()
        };
        let expected = "holds 9 000 keys (redyno's own from an earlier session among them);";
        assert!(question(&large).contains(expected), "{}", question(&large));
    }

    #[test]
    fn memory_that_may_run_out_gets_a_second_line() {
        let keys = Survey { total_keys: 3, foreign: Foreign::Exactly(3), ..empty() };
        let evicting =
            Survey { maxmemory: Some(1 << 30), maxmemory_policy: Some("allkeys-lru".into()), ..keys.clone() };
        assert!(question(&evicting).ends_with(
            "Continue?\nIts memory is limited to 1.00 GiB with allkeys-lru: the load may push other keys out."
        ));
        let full = Survey { maxmemory: Some(1 << 20), ..keys.clone() };
        assert!(question(&full).ends_with("Its memory is 100 % full of 1.00 MiB: writes may fail with OOM."));
        let roomy = Survey { maxmemory: Some(1 << 30), ..keys };
        assert!(!question(&roomy).contains('\n'));
    }

    #[test]
    fn a_replica_and_a_loading_server_stand_in_the_way() {
        assert_eq!(empty().obstacle(), None);
        let replica = Survey { read_only: true, ..empty() };
        assert!(replica.obstacle().unwrap().to_string().contains("READONLY"));
        let loading = Survey { loading: true, read_only: true, ..empty() };
        assert!(loading.obstacle().unwrap().to_string().contains("LOADING"));
    }
}
