//! What is to be done on a server besides polls, and how each dialect does it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Cleaned, Counted, Ledger, Made, Marker, Restored, ServerError, SetUp, Survey, Tuned, Turned,
    answer::Reply,
    clean, count,
    link::Wire,
    memcached, plane, registry, set_up, survey,
    tune::{self, Turn},
};
use crate::{
    endpoint::Target,
    workload::{KeyNames, KeySpan, SetupCommand},
};

/// Something to be done on the server, and where its answer goes.
pub(super) enum Order {
    /// A poll besides those that come by themselves.
    Poll(Reply<()>),
    /// With the commands that are to be there.
    Survey(BTreeSet<String>, Reply<Survey>),
    Mark(Ledger, Reply<()>),
    FindLeftovers(Reply<Vec<Marker>>),
    FindElsewhere(Reply<Vec<Marker>>),
    Clean(Vec<Ledger>, Arc<clean::Shared>, Reply<Cleaned>),
    Count(KeySpan, KeyNames, Reply<Counted>),
    SetConfig(Turn, Reply<Turned>),
    RestoreConfig(Tuned, Ledger, Reply<Restored>),
    SetUp(Vec<SetupCommand>, Ledger, Reply<SetUp>),
    Undo(Made, Ledger, Reply<bool>),
}

impl Order {
    /// Nobody may wait for the answer any more; then it is dropped. What a setup asked the server for is told by `asked`.
    pub(super) async fn carry_out(
        self,
        wire: plane::Wire,
        target: Target,
        asked: impl FnOnce(BTreeMap<String, u64>),
    ) {
        match wire {
            plane::Wire::Redis(wire) => self.ask_redis(wire, target, asked).await,
            plane::Wire::Memcached(wire) => self.ask_memcached(wire, target).await,
        }
    }

    async fn ask_redis(self, wire: Wire, target: Target, asked: impl FnOnce(BTreeMap<String, u64>)) {
        match self {
            // The control state does that itself.
            Self::Poll(_) => {}
            Self::Survey(commands, reply) => {
                drop(reply.send(survey::survey(&wire, &target, commands).await));
            }
            Self::Mark(ledger, reply) => drop(reply.send(registry::bring(&wire, &ledger).await)),
            Self::FindLeftovers(reply) => drop(reply.send(survey::leftovers(&wire, &target).await)),
            Self::FindElsewhere(reply) => drop(reply.send(registry::elsewhere(&wire, &target).await)),
            Self::Clean(runs, shared, reply) => drop(reply.send(clean::clean(&wire, &runs, &shared).await)),
            Self::Count(span, names, reply) => drop(reply.send(count::count(&wire, &span, &names).await)),
            Self::SetConfig(turn, reply) => drop(reply.send(tune::turn(&wire, &target, &turn).await)),
            Self::RestoreConfig(tuned, ledger, reply) => {
                drop(reply.send(tune::restore(&wire, &tuned, &ledger).await));
            }
            Self::SetUp(commands, ledger, reply) => {
                let outcome = set_up::set_up(&wire, &commands, &ledger).await;
                asked(outcome.answered.clone());
                drop(reply.send(Ok(outcome)));
            }
            Self::Undo(made, ledger, reply) => drop(reply.send(set_up::undo(&wire, &made, &ledger).await)),
        }
    }

    /// It holds nothing but the workload's keys: no marker, and no list of runs.
    async fn ask_memcached(self, wire: memcached::Wire, target: Target) {
        match self {
            Self::Poll(_) => {}
            Self::Survey(_, reply) => drop(reply.send(memcached::survey(&wire, &target).await)),
            Self::Clean(runs, shared, reply) => {
                drop(reply.send(memcached::clean(&wire, &runs, &shared).await));
            }
            Self::Count(span, names, reply) => {
                drop(reply.send(memcached::count(&wire, &span, &names).await));
            }
            Self::Mark(_, reply) => drop(reply.send(Ok(()))),
            Self::FindLeftovers(reply) | Self::FindElsewhere(reply) => drop(reply.send(Ok(Vec::new()))),
            Self::SetConfig(..) | Self::RestoreConfig(..) => {
                self.refuse(ServerError::Missing("CONFIG: its settings are those that it was started with"));
            }
            Self::SetUp(..) | Self::Undo(..) => {
                self.refuse(ServerError::Missing("scripts, functions or indexes that a setup could make"));
            }
        }
    }

    /// What has to be undone once this is carried out.
    pub(super) fn ledger(&self) -> Option<&Ledger> {
        match self {
            Self::Mark(ledger, _) | Self::SetConfig(Turn { ledger, .. }, _) | Self::SetUp(_, ledger, _) => {
                Some(ledger)
            }
            _ => None,
        }
    }

    /// Answers it with this error.
    pub(super) fn refuse(self, error: ServerError) {
        match self {
            Self::Poll(reply) => drop(reply.send(Err(error))),
            Self::Survey(_, reply) => drop(reply.send(Err(error))),
            Self::Mark(_, reply) => drop(reply.send(Err(error))),
            Self::FindLeftovers(reply) | Self::FindElsewhere(reply) => drop(reply.send(Err(error))),
            Self::Clean(.., reply) => drop(reply.send(Err(error))),
            Self::Count(.., reply) => drop(reply.send(Err(error))),
            Self::SetConfig(_, reply) => drop(reply.send(Err(error))),
            Self::RestoreConfig(.., reply) => drop(reply.send(Err(error))),
            Self::SetUp(.., reply) => drop(reply.send(Err(error))),
            Self::Undo(.., reply) => drop(reply.send(Err(error))),
        }
    }
}
