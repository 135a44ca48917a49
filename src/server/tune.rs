//! Sets a parameter of the server and sets it back. What is to be set back stands in the marker before it is set, so that
//! a killed session's parameters are found again.
//!
//! ```text
//! GET, note in the marker ─► CONFIG SET ─► GET, note what it is now        restore: GET, CONFIG SET, out of the marker
//!                                └ refused: out of the marker
//! ```

use super::{
    ConfigChange, Owner, ServerError, Tuned,
    config::{get, set},
    link::Wire,
    marker,
};

/// What is to be set, by whom.
pub(super) struct Turn {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// What the session has to set back of it already.
    pub(super) known: Option<Tuned>,
    /// Whose the marker is; `None` sets none.
    pub(super) owner: Option<Owner>,
}

/// A parameter that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// Its value before and after.
    pub change: ConfigChange,
    /// Why the marker does not tell of it, if one was wanted: after a kill nobody will know that it was set.
    pub unmarked: Option<ServerError>,
}

/// What became of a parameter that was to be set back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// It has its old value.
    Restored,
    /// Somebody else set it to this meanwhile, and so it stays.
    ChangedByOthers(String),
    /// It is none that redyno sets, or how it was before cannot be understood; nothing was done.
    Unknown,
}

/// Sets a parameter.
pub(super) async fn turn(wire: &Wire, turn: &Turn) -> Result<Turned, ServerError> {
    let Turn { name, value, known, owner } = turn;
    let from = get(wire, name).await?;
    let tuned = Tuned::turned(known.as_ref(), name, &from, value);
    let mut unmarked = None;
    if let Some(owner) = owner {
        let noted = match known {
            Some(_) => marker::note(wire, &tuned).await.map(|()| None),
            None => marker::claim(wire, owner, &tuned).await,
        };
        match noted {
            Ok(None) => {}
            Ok(Some(other)) => return Err(ServerError::Taken { name: (*name).to_owned(), by: other.owner }),
            // A replica takes no keys, a full server none either: it can be tuned all the same.
            Err(error) if error.is_refused() => unmarked = Some(error),
            Err(error) => return Err(error),
        }
    }
    let is_marked = owner.is_some() && unmarked.is_none();
    if let Err(error) = set(wire, name, value).await {
        if error.is_refused() && is_marked {
            match known {
                Some(known) => marker::note(wire, known).await?,
                None => marker::forget(wire, name).await?,
            }
        }
        return Err(error);
    }
    let to = get(wire, name).await?;
    if is_marked {
        marker::note(wire, &tuned.settled(&to)).await?;
    }
    Ok(Turned { change: ConfigChange { name: (*name).to_owned(), from, to }, unmarked })
}

/// Sets a parameter back, unless it is not what the session set it to any more.
pub(super) async fn restore(wire: &Wire, tuned: &Tuned) -> Result<Restored, ServerError> {
    let restored = set_back(wire, tuned).await?;
    match marker::forget(wire, &tuned.name).await {
        // Where no keys are taken there is no marker, and the parameter is back.
        Err(error) if !error.is_refused() => Err(error),
        _ => Ok(restored),
    }
}

async fn set_back(wire: &Wire, tuned: &Tuned) -> Result<Restored, ServerError> {
    if !tuned.is_known() {
        return Ok(Restored::Unknown);
    }
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
