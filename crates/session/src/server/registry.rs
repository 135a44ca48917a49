//! Reads, writes, renews and deletes the list of runs and their markers on the server.
//!
//! The list is a set, and the markers are hashes. Reading the list and the markers therefore does not change the
//! server's counts of GET and SET. redyno removes only its own members and fields, not whole keys. Data of other
//! clients remains.

use tokio::task::JoinSet;

use super::{
    Info, Ledger, Marker, ServerError, guard::CLUSTER_DOWN, link::RedisSender, marker::merged_by_run,
    place::MarkerPlace, stored_keys::is_moved,
};
use crate::{endpoint::Target, events::EventKind, workload::RunId};

/// The number of lists that are read at the same time.
const AT_ONCE: usize = 64;
/// The prefix of the error for a command on a key of another type.
const OTHER_TYPE: &str = "WRONGTYPE";

/// Returns the markers of all runs in the lists at `places` in a database, one marker for each run. Entries that are
/// not names of runs are ignored.
pub(super) async fn markers(
    wire: &RedisSender,
    places: &[MarkerPlace],
    db: u32,
) -> Result<Vec<Marker>, ServerError> {
    let mut markers = Vec::new();
    for (place, runs) in listed(wire, places).await? {
        for run in runs {
            match marker(&place.wire(wire), &place, (run, db)).await {
                // The marker has just moved to another node.
                Err(error) if is_moved(&error) => {}
                found => markers.push(found?),
            }
        }
    }
    Ok(merged_by_run(markers))
}

/// Returns the runs in the lists at `places`. Places without runs are left out.
async fn listed(
    wire: &RedisSender,
    places: &[MarkerPlace],
) -> Result<Vec<(MarkerPlace, Vec<RunId>)>, ServerError> {
    let mut found = Vec::new();
    // Each command has a time limit of its own, which a very long pipeline would exceed on a slow server.
    for places in places.chunks(AT_ONCE) {
        let mut asked = JoinSet::new();
        for place in places.iter().cloned() {
            let wire = place.wire(wire);
            asked.spawn(async move {
                let list = place.list();
                let listed = wire.texts(&["SMEMBERS", &list]).await;
                (place, listed.map_err(|error| of_somebody(error, &list)))
            });
        }
        for (place, listed) in asked.join_all().await {
            let listed = match listed {
                // The slot has just moved to another node.
                Err(error) if is_moved(&error) => continue,
                listed => listed?,
            };
            let mut runs: Vec<RunId> = listed.iter().filter_map(|name| name.parse().ok()).collect();
            runs.sort();
            found.extend((!runs.is_empty()).then_some((place, runs)));
        }
    }
    Ok(found)
}

/// Returns the markers in other databases that list parameters or objects of setups. These changes concern the whole
/// server. A database that redyno is not permitted to read counts as empty.
pub(super) async fn elsewhere(wire: &RedisSender, target: &Target) -> Result<Vec<Marker>, ServerError> {
    let text = wire.text(&["INFO", "keyspace"]).await?;
    let others = Info::parse(&text).keys_by_db().into_keys().filter(|db| *db != target.db);
    let (others, mut found) = (others.collect::<Vec<_>>(), Vec::new());
    if others.is_empty() {
        return Ok(found);
    }
    let places = MarkerPlace::all(wire).await?;
    for db in others {
        let read = markers(&wire.in_db(db, target.db), &places, db).await;
        found.extend(ServerError::optional(read)?.into_iter().flatten());
    }
    found.retain(|marker| marker.has_changed_server() || !marker.invalid.is_empty());
    Ok(found)
}

async fn marker(
    wire: &RedisSender,
    place: &MarkerPlace,
    (run, db): (RunId, u32),
) -> Result<Marker, ServerError> {
    let (key, fields) = (place.marker(run), Marker::field_names());
    let words: Vec<_> = ["HMGET", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    let values = match wire.notes(&words).await {
        // The key belongs to another client, so the run has no marker.
        Err(error) if error.is_refusal(OTHER_TYPE) => Vec::new(),
        values => values?,
    };
    Ok(Marker::read((run, db), &values))
}

/// Writes the changes in `ledger` to its marker, if the session uses a marker.
pub(super) async fn update_marker(wire: &RedisSender, ledger: &Ledger) -> Result<(), ServerError> {
    let brought = write(wire, ledger).await;
    match &brought {
        // The slot may have moved to another node, so the place is determined again at the next write.
        Err(error) if error.is_refusal("MOVED") => ledger.set_place(None),
        Err(_) => {}
        Ok(()) => ledger.set_behind(false),
    }
    brought
}

async fn write(wire: &RedisSender, ledger: &Ledger) -> Result<(), ServerError> {
    if !ledger.is_to_be_marked() {
        return Ok(());
    }
    let place = place(wire, ledger).await?;
    let run = ledger.marker().run;
    let (list, key) = (place.list(), place.marker(run));
    if ledger.has_keys() && !ledger.marker().kept && !ledger.has_stood() {
        check_undo(wire, (&list, &key), run).await?;
    }
    // The run is listed first: a marker without an entry in the list would never be found.
    wire.count(&["SADD", &list, run.as_str()]).await.map_err(|error| of_somebody(error, &list))?;
    // Meanwhile, the changes may have been undone and the marker deleted.
    if !ledger.is_to_be_marked() {
        return Ok(());
    }
    let fields = ledger.marker().fields();
    let words: Vec<_> = ["HSET", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    wire.count(&words).await.map_err(|error| of_somebody(error, &key))?;
    ledger.set_has_stood(true);
    Ok(())
}

/// Checks whether the user of the server may check and undo a run, before the run writes anything. The commands find
/// nothing to remove yet.
async fn check_undo(wire: &RedisSender, (list, key): (&str, &str), run: RunId) -> Result<(), ServerError> {
    let permitted = |sent: Result<u64, ServerError>| match sent {
        Err(error) if error.is_refusal("NOPERM") || error.ends_connection() => Err(error),
        _ => Ok(()),
    };
    for words in [["SISMEMBER", list, run.as_str()], ["SREM", list, run.as_str()], ["HDEL", key, "started"]] {
        permitted(wire.count(&words).await)?;
    }
    permitted(wire.count(&["EXISTS", key]).await)?;
    // A user may be permitted to use only one of these commands.
    let own = format!("{key}:");
    match permitted(wire.count(&["UNLINK", &own]).await) {
        Err(error) if !error.ends_connection() => permitted(wire.count(&["DEL", &own]).await),
        unlinked => unlinked,
    }
}

async fn place(wire: &RedisSender, ledger: &Ledger) -> Result<MarkerPlace, ServerError> {
    match ledger.place() {
        Some(place) => Ok(place),
        None => {
            let place = MarkerPlace::of(wire).await?;
            ledger.set_place(Some(place.clone()));
            Ok(place)
        }
    }
}

/// The state of a marker after a check.
pub(super) enum MarkerState {
    /// The marker exists, was written for the first time, or is not needed. Also used if the cluster is down, so that
    /// the marker can be neither read nor written.
    Present,
    /// The marker was lost, and was written again.
    Renewed(EventKind),
    /// The marker cannot be written.
    Refused(EventKind),
}

/// Writes the marker again if it no longer exists. FLUSHALL, an expiry, an eviction or a restart without data can
/// delete the marker.
pub(super) async fn check_marker(wire: &RedisSender, ledger: &Ledger) -> Result<MarkerState, ServerError> {
    if !ledger.is_to_be_marked() {
        return Ok(MarkerState::Present);
    }
    let run = ledger.marker().run;
    come_nearer(wire, ledger).await?;
    // This flag is read before the check, because an order may write the marker for the first time during the
    // check.
    let stood = ledger.has_stood();
    let stands = match ledger.place() {
        Some(place) => marker_exists(wire, &place, run).await?,
        None => false,
    };
    if stands && !ledger.is_behind() {
        return Ok(MarkerState::Present);
    }
    match update_marker(wire, ledger).await {
        Ok(()) if stands || !stood => Ok(MarkerState::Present),
        Ok(()) => Ok(MarkerState::Renewed(EventKind::MarkerRenewed { run: run.to_string() })),
        Err(error) if error.ends_connection() => Err(error),
        // While a failover of another node lasts, no node serves keys.
        Err(error) if error.is_refusal(CLUSTER_DOWN) => Ok(MarkerState::Present),
        Err(error) => Ok(MarkerState::Refused(EventKind::MarkerRefused { cause: error.to_string() })),
    }
}

/// Moves a marker and its list entry from a far hash tag to a near hash tag (below 1024). Any session finds near hash
/// tags. The move is necessary after a node with few slots has received more slots.
async fn come_nearer(wire: &RedisSender, ledger: &Ledger) -> Result<(), ServerError> {
    let Some(far) = ledger.place().filter(|place| place.is_far) else { return Ok(()) };
    if let Some(near) = ServerError::optional(MarkerPlace::of(wire).await)?.filter(|near| !near.is_far) {
        ledger.set_place(Some(near));
        // A refused write is repeated by the next poll.
        if update_marker(wire, ledger).await.is_ok() {
            let erased = erase(wire, &far, ledger).await;
            ledger.set_has_stood(true);
            ServerError::optional(erased)?;
        }
    }
    Ok(())
}

async fn marker_exists(wire: &RedisSender, place: &MarkerPlace, run: RunId) -> Result<bool, ServerError> {
    let (list, key) = (place.list(), place.marker(run));
    let (listed, marked) = (["SISMEMBER", &list, run.as_str()], ["EXISTS", &key]);
    let (listed, marked) = tokio::join!(wire.count(&listed), wire.count(&marked));
    // After a refusal, the marker is written again, and that write reports the refusal.
    let (listed, marked) = (ServerError::optional(listed)?, ServerError::optional(marked)?);
    Ok(listed.unwrap_or(0) > 0 && marked.unwrap_or(0) > 0)
}

/// Removes a field from the marker. A marker that lists nothing more to undo is deleted.
pub(super) async fn remove_field(
    wire: &RedisSender,
    ledger: &Ledger,
    field: &str,
) -> Result<(), ServerError> {
    if !ledger.is_marked() {
        return Ok(());
    }
    let place = place(wire, ledger).await?;
    if !ledger.marker().needs_undo() {
        return erase(wire, &place, ledger).await;
    }
    let key = place.marker(ledger.marker().run);
    wire.count(&["HDEL", &key, field]).await.map(|_| ())
}

/// Removes the key names of runs from their ledgers, and from their markers on this server. A marker that lists nothing
/// more to undo is deleted. On a cluster node, this function also deletes markers of these runs that have moved to this
/// node from other nodes. Returns the number of markers on the node.
pub(super) async fn remove_key_names(wire: &RedisSender, ledgers: &[Ledger]) -> Result<u64, ServerError> {
    let mut places = MarkerPlace::all(wire).await?;
    let is_alone = places == [MarkerPlace::alone()];
    let own = ledgers.iter().filter_map(Ledger::place);
    places.extend(own.filter(|own| !is_alone && !places.contains(own)).collect::<Vec<_>>());
    let listed = if is_alone { Vec::new() } else { listed(wire, &places).await? };
    let mut struck = 0;
    for ledger in ledgers {
        ledger.drop_keys();
        let is_to_be_marked = ledger.is_to_be_marked();
        if is_to_be_marked {
            update_marker(wire, ledger).await?;
        } else if is_alone {
            erase(wire, &MarkerPlace::alone(), ledger).await?;
        }
        let own = ledger.place().filter(|_| is_to_be_marked);
        let run = ledger.marker().run;
        let lists_it =
            |(place, runs): &&(MarkerPlace, Vec<RunId>)| Some(place) != own.as_ref() && runs.contains(&run);
        for (place, _) in listed.iter().filter(lists_it) {
            match erase(&place.wire(wire), place, ledger).await {
                // The slot has just moved to another node.
                Err(error) if is_moved(&error) => {}
                erased => erased?,
            }
            struck += 1;
        }
    }
    Ok(struck)
}

/// Removes a run's marker and its entry in the list. The server deletes a key when its last field or member is removed.
async fn erase(wire: &RedisSender, place: &MarkerPlace, ledger: &Ledger) -> Result<(), ServerError> {
    let run = ledger.marker().run;
    ledger.set_has_stood(false);
    let (list, key, fields) = (place.list(), place.marker(run), Marker::field_names());
    let words: Vec<_> = ["HDEL", &key].into_iter().chain(fields.iter().map(String::as_str)).collect();
    // Both commands are sent together, so that no other command runs between them.
    let unlist = ["SREM", &list, run.as_str()];
    let (erased, unlisted) = tokio::join!(wire.count(&words), wire.count(&unlist));
    match erased {
        // The key belongs to another client.
        Err(error) if error.is_refusal(OTHER_TYPE) => {}
        erased => drop(erased?),
    }
    unlisted.map(|_| ()).map_err(|error| of_somebody(error, &list))
}

/// Converts the error of a command on a key of another type. The new error says that the key belongs to another client.
fn of_somebody(error: ServerError, key: &str) -> ServerError {
    if error.is_refusal(OTHER_TYPE) { ServerError::ForeignKey { key: key.to_owned() } } else { error }
}
