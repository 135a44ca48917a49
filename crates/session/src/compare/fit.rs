//! The reasons why two runs cannot be compared.

use std::sync::Arc;

use super::Run;
use crate::{
    knobs::{Knob, Knobs},
    session::clean,
};

/// Returns the settings that must be equal but differ between `base` and `new`. The list is empty if the runs
/// can be compared.
pub fn mismatches(base: &[Run], new: &[Run]) -> Vec<String> {
    let Some(first) = base.first() else { return Vec::new() };
    let mut misfits = Vec::new();
    for run in base.iter().skip(1).chain(new) {
        for misfit in differences(first, run) {
            if !misfits.contains(&misfit) {
                misfits.push(misfit);
            }
        }
    }
    misfits
}

/// Returns the settings that must be equal but differ between `base` and a planned run with `knobs`.
pub fn planned_mismatches(base: &Run, knobs: &Knobs) -> Vec<String> {
    let recorded = &base.segment.start.knobs;
    match (recorded.load, knobs.load) {
        (false, true) => vec![format!("{} has no segment under load", base.name)],
        (true, false) => vec!["this run has no load".to_owned()],
        _ => different_knobs(recorded, &as_recorded(knobs)),
    }
}

/// Returns the knobs as a recording contains them: long texts of the workload are cut, and settings that a recording
/// does not contain are left out.
fn as_recorded(knobs: &Knobs) -> Knobs {
    let written = serde_json::to_value(&*knobs.workload).ok();
    let read = written.and_then(|mut workload| {
        clean(&mut workload).ok()?;
        serde_json::from_value(workload).ok()
    });
    let workload = read.map_or_else(|| knobs.workload.clone(), Arc::new);
    Knobs { workload, ..knobs.clone() }
}

fn differences(one: &Run, other: &Run) -> Vec<String> {
    let (a, b) = (&one.segment.start.knobs, &other.segment.start.knobs);
    if let Some(idle) = [one, other].into_iter().find(|run| run.is_monitor() && a.load != b.load) {
        return vec![format!("{} has no segment under load", idle.name)];
    }
    let kinds = kind(one).zip(kind(other)).filter(|(one, other)| one != other);
    let target = kinds.map(|(one, other)| format!("target: {one} and {other}"));
    target.into_iter().chain(different_knobs(a, b)).collect()
}

fn different_knobs(a: &Knobs, b: &Knobs) -> Vec<String> {
    let pair = |what: &str, a: String, b: String| (a != b).then(|| format!("{what}: {a} and {b}"));
    let workload = |knobs: &Knobs| knobs.workload.to_string();
    let named = [
        pair("clients", a.clients.to_string(), b.clients.to_string()),
        pair("pipeline", a.pipeline.to_string(), b.pipeline.to_string()),
        pair("rate", a.pace(), b.pace()),
        pair("workload", workload(a), workload(b)),
        pair("value size", a.value_size.to_string(), b.value_size.to_string()),
        pair("keys", a.keys(), b.keys()),
    ];
    // All other settings are part of the text of the rate, which is compared above.
    let with_own_text = [Knob::Reconnect, Knob::SessionLength];
    let alone = with_own_text.map(|knob| pair(knob.name(), knob.value(a), knob.value(b)));
    let mut misfits: Vec<_> = named.into_iter().chain(alone).flatten().collect();
    if misfits.is_empty() && a.workload != b.workload {
        misfits.push("workload: operations with the same names but different commands".to_owned());
    }
    misfits
}

/// Returns the kind of server of a run, or `None` if the server had not reported it when the run began. The version is
/// not included, because a comparison may be about a new version.
fn kind(run: &Run) -> Option<String> {
    let target = &run.session.target;
    let name =
        if target.built_in { "the built-in server" } else { target.server.split_whitespace().next()? };
    let mode = if target.mode.is_empty() || target.mode == "standalone" { "" } else { target.mode.as_str() };
    Some(format!("{name} {mode}").trim_end().to_owned())
}
