//! Sets and restores a parameter of the server with CONFIG SET. Before redyno sets a parameter, redyno writes the old
//! value to the ledger (in memory) and to the marker (a key on the server). The session restores parameters from its
//! ledger. If the session is killed, a later redyno restores the parameters from the marker.
//!
//! ```text
//! GET, note, other sessions? ─► CONFIG SET ─► GET, note the new value     restore: GET, CONFIG SET, remove from ledger
//!                       └────────┴ refused: the note is removed                    and marker
//! ```
//! If the new value is a lower memory limit, the server may refuse to write the new value to the marker. The
//! parameter can be restored even then, because the marker already contains the old value.

use super::{
    ConfigChange, Ledger, Parameter, ServerError, TunedParameter, config::get, link::RedisSender,
    marker::field_of, place::MarkerPlace, registry,
};
use crate::endpoint::Target;

/// A parameter to set, its new value, and the ledger that lists the change.
pub(super) struct TuneStep {
    pub(super) parameter: &'static Parameter,
    pub(super) value: String,
    pub(super) ledger: Ledger,
}

/// A parameter that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuneResult {
    /// The values before and after the change.
    pub change: ConfigChange,
    /// The reason why the marker could not be written; `None` if it was written. Without a marker, redyno cannot
    /// restore the parameter after the session is killed.
    pub unmarked: Option<ServerError>,
}

/// The result of restoring a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// The parameter has its old value again.
    Restored,
    /// Another client has set the parameter to this value, so the parameter was not restored.
    ChangedByOthers(String),
}

/// Sets a parameter.
pub(super) async fn set_parameter(
    wire: &RedisSender,
    target: &Target,
    turn: &TuneStep,
) -> Result<TuneResult, ServerError> {
    let TuneStep { parameter, value, ledger } = turn;
    let name = parameter.name;
    let from = get(wire, name).await?;
    let before = ledger.tuned(name);
    if ledger.is_marked() {
        let tuned = TunedParameter::with_change(before.as_ref(), name, &from, value);
        tuned.check(parameter).map_err(|why| irreversible(name, why))?;
    }
    if !ledger.begin_turn(name, &from, value) {
        return Err(ServerError::Stopped);
    }
    let begun = begin(wire, target, (name, &from), ledger).await;
    let set = match begun {
        Ok(unmarked) => wire.config_set(name, value).await.map(|()| unmarked),
        Err(error) => Err(error),
    };
    let unmarked = match set {
        Ok(unmarked) => unmarked,
        Err(error) => {
            if error.is_refused() {
                ledger.cancel_turn(name, before);
                write_marker(wire, ledger, name).await?;
            }
            return Err(error);
        }
    };
    let to = get(wire, name).await?;
    ledger.settle_turn(name, &to);
    ignore_refusal(registry::update_marker(wire, ledger).await)?;
    Ok(TuneResult { change: ConfigChange { name: name.to_owned(), from, to }, unmarked })
}

fn irreversible(name: &str, why: String) -> ServerError {
    ServerError::Irreversible { name: name.to_owned(), why }
}

/// Writes the ledger's entry of the parameter `name` to the marker. Afterwards, checks that no other session has set or
/// is setting the parameter, and that the parameter's value is still `from`. If two sessions set the parameter at the
/// same time, at least one session finds the marker of the other session. Returns the reason if the marker cannot be
/// written.
async fn begin(
    wire: &RedisSender,
    target: &Target,
    (name, from): (&str, &str),
    ledger: &Ledger,
) -> Result<Option<ServerError>, ServerError> {
    let unmarked = match registry::update_marker(wire, ledger).await {
        Ok(()) => None,
        // A replica or a full server accepts no keys; its parameters can be set without a marker.
        Err(error) if error.is_refused() => Some(error),
        Err(error) => return Err(error),
    };
    if !ledger.is_marked() {
        return Ok(unmarked);
    }
    refuse_taken(wire, target, name, ledger).await?;
    // Another session may have restored the parameter since it was read.
    let now = get(wire, name).await?;
    if now != from {
        return Err(irreversible(
            name,
            format!("another client changed the value from {from} to {now} at the same time"),
        ));
    }
    Ok(unmarked)
}

/// Refuses a parameter that another session has set in any database. If the server refuses to return markers, the
/// parameter is accepted.
async fn refuse_taken(
    wire: &RedisSender,
    target: &Target,
    name: &str,
    ledger: &Ledger,
) -> Result<(), ServerError> {
    let read = async {
        let mut markers = registry::markers(wire, &MarkerPlace::all(wire).await?, target.db).await?;
        markers.extend(registry::elsewhere(wire, target).await?);
        Ok::<_, ServerError>(markers)
    };
    let markers = match read.await {
        Err(error) if error.ends_connection() => {
            let why = format!("redyno cannot check whether another session has set the parameter ({error})");
            return Err(irreversible(name, why));
        }
        markers => markers.unwrap_or_default(),
    };
    let run = ledger.marker().run;
    let has_it = |tuned: &TunedParameter| tuned.name == name;
    match markers.into_iter().find(|marker| marker.run != run && marker.tuned.iter().any(has_it)) {
        Some(marker) => Err(ServerError::Taken { name: name.to_owned(), by: marker.owner.to_string() }),
        None => Ok(()),
    }
}

/// Restores a parameter, unless it has a value that the session did not set.
pub(super) async fn restore(
    wire: &RedisSender,
    tuned: &TunedParameter,
    ledger: &Ledger,
) -> Result<Restored, ServerError> {
    let restored = set_back(wire, tuned).await?;
    ledger.forget(&tuned.name);
    write_marker(wire, ledger, &tuned.name).await?;
    Ok(restored)
}

/// Writes the ledger's entry of the parameter `name` to the marker. If the ledger has no such entry, removes
/// the parameter from the marker.
async fn write_marker(wire: &RedisSender, ledger: &Ledger, name: &str) -> Result<(), ServerError> {
    ignore_refusal(match ledger.tuned(name) {
        Some(_) => registry::update_marker(wire, ledger).await,
        None => registry::remove_field(wire, ledger, &field_of(name)).await,
    })
}

/// Returns `answer`, but returns `Ok` if the server refused to write the marker. A server that accepts no writes has no
/// marker, or keeps the previous content of the marker.
pub(super) fn ignore_refusal(answer: Result<(), ServerError>) -> Result<(), ServerError> {
    answer.or_else(|error| if error.is_refused() { Ok(()) } else { Err(error) })
}

async fn set_back(wire: &RedisSender, tuned: &TunedParameter) -> Result<Restored, ServerError> {
    let now = get(wire, &tuned.name).await?;
    if now == tuned.from {
        return Ok(Restored::Restored);
    }
    if !tuned.is_ours(&now) {
        return Ok(Restored::ChangedByOthers(now));
    }
    wire.config_set(&tuned.name, &tuned.from).await?;
    Ok(Restored::Restored)
}
