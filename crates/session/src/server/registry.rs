//! The list of runs and their markers on the server: read, written, renewed, erased.
//!
//! They are a set and hashes, so that looking at them does not disturb the counts of GET and SET in the server's command
//! statistics. They are erased field by field: a key of a user, or a field, is never removed with them.

use super::{Info, Ledger, Marker, ServerError, link::Wire, place::Place};
use crate::{endpoint::Target, events::EventKind, workload::RunId};

/// What a command about another type of key is answered.
const OTHER_TYPE: &str = "WRONGTYPE";

/// The markers of all runs that are listed in a database. What is listed and names no run is not ours.
pub(super) async fn markers(wire: &Wire, place: &Place, db: u32) -> Result<Vec<Marker>, ServerError> {
    let list = place.list();
    let listed = wire.texts(&["SMEMBERS", &list]).await.map_err(|error| of_somebody(error, &list))?;
    let mut runs: Vec<RunId> = listed.iter().filter_map(|name| name.parse().ok()).collect();
    runs.sort();
    let mut markers = Vec::new();
    for run in runs {
        markers.push(marker(wire, place, (run, db)).await?);
    }
    Ok(markers)
}

/// The markers in the other databases that name parameters or what setups made: these are the server's, whatever
/// database the session is in that changed them. A database that we may not read has none for us.
pub(super) async fn elsewhere(wire: &Wire, target: &Target) -> Result<Vec<Marker>, ServerError> {
    let text = wire.text(&["INFO", "keyspace"]).await?;
    let others = Info::parse(&text).keys_by_db().into_keys().filter(|db| *db != target.db);
    let (others, mut found) = (others.collect::<Vec<_>>(), Vec::new());
    if others.is_empty() {
        return Ok(found);
    }
    let place = Place::of(wire).await?;
    for db in others {
        match markers(&wire.in_db(db, target.db), &place, db).await {
            Err(error) if error.ends_connection() => return Err(error),
            read => found.extend(read.unwrap_or_default()),
        }
    }
    found.retain(|marker| marker.has_changed_server() || !marker.strange.is_empty());
    Ok(found)
}

async fn marker(wire: &Wire, place: &Place, (run, db): (RunId, u32)) -> Result<Marker, ServerError> {
    let (key, fields) = (place.marker(run), Marker::field_names());
    let words: Vec<_> = ["HMGET", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    let values = match wire.notes(&words).await {
        // Somebody's key: the run has no marker.
        Err(error) if error.is_refusal(OTHER_TYPE) => Vec::new(),
        values => values?,
    };
    Ok(Marker::read((run, db), &values))
}

/// Brings the marker up to what `ledger` says, if it is to be marked.
pub(super) async fn bring(wire: &Wire, ledger: &Ledger) -> Result<(), ServerError> {
    let brought = write(wire, ledger).await;
    match &brought {
        // The slot may have moved to another node: the next time asks for another.
        Err(error) if error.is_refusal("MOVED") => ledger.set_place(None),
        Err(_) => {}
        Ok(()) => ledger.set_behind(false),
    }
    brought
}

async fn write(wire: &Wire, ledger: &Ledger) -> Result<(), ServerError> {
    if !ledger.is_to_be_marked() {
        return Ok(());
    }
    let place = place(wire, ledger).await?;
    let run = ledger.marker().run;
    let (list, key) = (place.list(), place.marker(run));
    // Listed first: a marker that is not listed would never be found.
    wire.count(&["SADD", &list, run.as_str()]).await.map_err(|error| of_somebody(error, &list))?;
    // What is noted may have gone meanwhile, and its marker with it.
    if !ledger.is_to_be_marked() {
        return Ok(());
    }
    let fields = ledger.marker().fields();
    let words: Vec<_> = ["HSET", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    wire.count(&words).await.map_err(|error| of_somebody(error, &key))?;
    ledger.set_has_stood(true);
    Ok(())
}

async fn place(wire: &Wire, ledger: &Ledger) -> Result<Place, ServerError> {
    match ledger.place() {
        Some(place) => Ok(place),
        None => {
            let place = Place::of(wire).await?;
            ledger.set_place(Some(place.clone()));
            Ok(place)
        }
    }
}

/// How it stands with a marker that is to be kept.
pub(super) enum Kept {
    /// It stands, or stands now for the first time, or there is nothing to mark.
    Stands,
    /// It was lost, and is set again.
    Renewed(EventKind),
    /// It cannot be set.
    Refused(EventKind),
}

/// Looks whether the marker still stands, and sets it again if it does not: a FLUSHALL, an expiry, an eviction or an empty
/// restart took it.
pub(super) async fn keep(wire: &Wire, ledger: &Ledger) -> Result<Kept, ServerError> {
    if !ledger.is_to_be_marked() {
        return Ok(Kept::Stands);
    }
    let run = ledger.marker().run;
    // Asked first: it may be written for the first time just now.
    let stood = ledger.has_stood();
    let stands = match ledger.place() {
        Some(place) => stands(wire, &place, run).await?,
        None => false,
    };
    if stands && !ledger.is_behind() {
        return Ok(Kept::Stands);
    }
    match bring(wire, ledger).await {
        Ok(()) if stands || !stood => Ok(Kept::Stands),
        Ok(()) => Ok(Kept::Renewed(EventKind::MarkerRenewed { run: run.to_string() })),
        Err(error) if error.ends_connection() => Err(error),
        Err(error) => Ok(Kept::Refused(EventKind::MarkerRefused { cause: error.to_string() })),
    }
}

async fn stands(wire: &Wire, place: &Place, run: RunId) -> Result<bool, ServerError> {
    let (list, key) = (place.list(), place.marker(run));
    let (listed, marked) = (["SISMEMBER", &list, run.as_str()], ["EXISTS", &key]);
    let (listed, marked) = tokio::join!(wire.count(&listed), wire.count(&marked));
    match (listed, marked) {
        (Ok(listed), Ok(marked)) => Ok(listed > 0 && marked > 0),
        (Err(error), _) | (_, Err(error)) if error.ends_connection() => Err(error),
        // Refused: the write tries it again, and reports the refusal.
        _ => Ok(false),
    }
}

/// Takes a field out of the marker, and the marker away if that was the last of it.
pub(super) async fn strike(wire: &Wire, ledger: &Ledger, field: &str) -> Result<(), ServerError> {
    if !ledger.is_marked() {
        return Ok(());
    }
    let place = place(wire, ledger).await?;
    if !ledger.marker().owes() {
        return erase(wire, &place, ledger).await;
    }
    let key = place.marker(ledger.marker().run);
    wire.count(&["HDEL", &key, field]).await.map(|_| ())
}

/// The keys of a run are gone: the marker says so, or goes if that was the last of it.
pub(super) async fn strike_keys(wire: &Wire, ledger: &Ledger) -> Result<(), ServerError> {
    if ledger.is_to_be_marked() {
        return bring(wire, ledger).await;
    }
    let place = place(wire, ledger).await?;
    erase(wire, &place, ledger).await
}

/// Takes a run's marker and its entry of the list away. Both keys go with their last field.
async fn erase(wire: &Wire, place: &Place, ledger: &Ledger) -> Result<(), ServerError> {
    let run = ledger.marker().run;
    ledger.set_has_stood(false);
    let (list, key, fields) = (place.list(), place.marker(run), Marker::field_names());
    let words: Vec<_> = ["HDEL", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    // Together, so that nothing comes between.
    let unlist = ["SREM", &list, run.as_str()];
    let (erased, unlisted) = tokio::join!(wire.count(&words), wire.count(&unlist));
    match erased {
        // Somebody's key stands there instead.
        Err(error) if error.is_refusal(OTHER_TYPE) => {}
        erased => drop(erased?),
    }
    unlisted.map(|_| ()).map_err(|error| of_somebody(error, &list))
}

/// A refusal because the key is of another type: it is not ours.
fn of_somebody(error: ServerError, key: &str) -> ServerError {
    if error.is_refusal(OTHER_TYPE) { ServerError::Somebodys { key: key.to_owned() } } else { error }
}
