//! Sets a parameter of the server and sets it back. What is to be set back stands in the ledger, and in the marker, before
//! it is set, so that it is set back whatever follows, and a killed session's parameters are found again.
//!
//! ```text
//! GET, note, who else? ─► CONFIG SET ─► GET, note what it is now      restore: GET, CONFIG SET, out of ledger and marker
//!                  └────────┴ refused: the note goes
//! ```
//! When the server refuses the notes of what it is now, for want of the memory that was just taken from it, the note of
//! before says enough.

use super::{
    ConfigChange, Ledger, Parameter, ServerError, Tuned,
    config::{get, set},
    link::Wire,
    marker::field_of,
    place::Place,
    registry,
};
use crate::endpoint::Target;

/// What is to be set, and where it is noted.
pub(super) struct TuneStep {
    pub(super) parameter: &'static Parameter,
    pub(super) value: String,
    pub(super) ledger: Ledger,
}

/// A parameter that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// Its value before and after.
    pub change: ConfigChange,
    /// Why the marker does not contain it, if one was wanted: after a kill it is unknown that it was set.
    pub unmarked: Option<ServerError>,
}

/// What became of a parameter that was to be set back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It has its old value.
    Restored,
    /// Somebody else set it to this meanwhile, and so it stays.
    ChangedByOthers(String),
}

/// Sets a parameter.
pub(super) async fn turn(wire: &Wire, target: &Target, turn: &TuneStep) -> Result<Turned, ServerError> {
    let TuneStep { parameter, value, ledger } = turn;
    let name = parameter.name;
    let from = get(wire, name).await?;
    let before = ledger.tuned(name);
    if ledger.is_marked() {
        let tuned = Tuned::turned(before.as_ref(), name, &from, value);
        tuned.check(parameter).map_err(|why| irreversible(name, why))?;
    }
    if !ledger.begin_turn(name, &from, value) {
        return Err(ServerError::Stopped);
    }
    let begun = begin(wire, target, (name, &from), ledger).await;
    let set = match begun {
        Ok(unmarked) => set(wire, name, value).await.map(|()| unmarked),
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
    refused_is_fine(registry::bring(wire, ledger).await)?;
    Ok(Turned { change: ConfigChange { name: name.to_owned(), from, to }, unmarked })
}

fn irreversible(name: &str, why: String) -> ServerError {
    ServerError::Irreversible { name: name.to_owned(), why }
}

/// Brings the note of a parameter that was `from` to the server, and sees that nobody else sets it at the same time: of two
/// sessions whose notes stand there one sees the other's at least. Why no note can be left, if none can.
async fn begin(
    wire: &Wire,
    target: &Target,
    (name, from): (&str, &str),
    ledger: &Ledger,
) -> Result<Option<ServerError>, ServerError> {
    let unmarked = match registry::bring(wire, ledger).await {
        Ok(()) => None,
        // A replica takes no keys, a full server none either: it can be tuned all the same.
        Err(error) if error.is_refused() => Some(error),
        Err(error) => return Err(error),
    };
    if !ledger.is_marked() {
        return Ok(unmarked);
    }
    refuse_taken(wire, target, name, ledger).await?;
    // Another may have set it back since this was read.
    let now = get(wire, name).await?;
    if now != from {
        return Err(irreversible(
            name,
            format!("somebody else set it from {from} to {now} at the same time"),
        ));
    }
    Ok(unmarked)
}

/// What another session set stays with that session, whatever database it is in. Where the notes of others may not be read,
/// there are none.
async fn refuse_taken(wire: &Wire, target: &Target, name: &str, ledger: &Ledger) -> Result<(), ServerError> {
    let read = async {
        let mut markers = registry::markers(wire, &Place::of(wire).await?, target.db).await?;
        markers.extend(registry::elsewhere(wire, target).await?);
        Ok::<_, ServerError>(markers)
    };
    let markers = match read.await {
        Err(error) if error.ends_connection() => {
            let why = format!("whether another session set it cannot be found out ({error})");
            return Err(irreversible(name, why));
        }
        markers => markers.unwrap_or_default(),
    };
    let run = ledger.marker().run;
    let has_it = |tuned: &Tuned| tuned.name == name;
    match markers.into_iter().find(|marker| marker.run != run && marker.tuned.iter().any(has_it)) {
        Some(marker) => Err(ServerError::Taken { name: name.to_owned(), by: marker.owner.to_string() }),
        None => Ok(()),
    }
}

/// Sets a parameter back, unless it is not what the session set it to any more.
pub(super) async fn restore(wire: &Wire, tuned: &Tuned, ledger: &Ledger) -> Result<Restored, ServerError> {
    let restored = set_back(wire, tuned).await?;
    ledger.forget(&tuned.name);
    write_marker(wire, ledger, &tuned.name).await?;
    Ok(restored)
}

/// Writes to the marker what the ledger says of `name`.
async fn write_marker(wire: &Wire, ledger: &Ledger, name: &str) -> Result<(), ServerError> {
    refused_is_fine(match ledger.tuned(name) {
        Some(_) => registry::bring(wire, ledger).await,
        None => registry::strike(wire, ledger, &field_of(name)).await,
    })
}

/// Where no keys are taken there is no marker, or it says what it said before.
pub(super) fn refused_is_fine(answer: Result<(), ServerError>) -> Result<(), ServerError> {
    answer.or_else(|error| if error.is_refused() { Ok(()) } else { Err(error) })
}

async fn set_back(wire: &Wire, tuned: &Tuned) -> Result<Restored, ServerError> {
    let now = get(wire, &tuned.name).await?;
    if now == tuned.from {
        return Ok(Restored::Restored);
    }
    if !tuned.is_ours(&now) {
        return Ok(Restored::ChangedByOthers(now));
    }
    set(wire, &tuned.name, &tuned.from).await?;
    Ok(Restored::Restored)
}
