//! `--plan` prints the requests that a session would send, without a connection.

use crate::{
    knobs::Knobs,
    protocol::Dialect,
    runner::{SessionPlan, UsageError},
    session::running::KeyOwner,
    units::{bytes, count_with_noun, grouped, percent},
    untrusted,
    workload::{DatasetPreview, KeyNames, KeysPreview, PrefillPreview, Preview, PreviewInput},
};

/// Returns the requests that a session would send.
///
/// # Errors
/// Fails if values or keys of the plan are invalid.
pub(super) fn preview(plan: &SessionPlan) -> Result<Preview, UsageError> {
    let (knobs, load) = (&plan.commission.knobs, &plan.commission.plan);
    // A real run has a random prefix, so the preview uses the prefix of some run.
    let of_some_run = KeyNames::of_some_run();
    let names =
        if matches!(plan.commission.keys, KeyOwner::Users { .. }) { &load.names } else { &of_some_run };
    let asking = PreviewInput {
        workload: &knobs.workload,
        dialect: load.target.dialect,
        keyspace: knobs.keyspace,
        value_size: knobs.value_size,
        clients: knobs.clients,
        names,
        seed: load.seed,
    };
    Preview::new(&asking).map_err(UsageError::of)
}

/// Returns the preview as text.
pub(super) fn text(plan: &SessionPlan) -> Result<String, UsageError> {
    let (knobs, load) = (&plan.commission.knobs, &plan.commission.plan);
    let preview = preview(plan)?;
    let parts = [
        head(knobs, load.target.dialect) + &connections(plan),
        operations(&preview),
        keys(&preview.keys),
        preview.dataset.as_ref().map(dataset).unwrap_or_default(),
        preview.prefill.as_ref().map_or_else(|| "Prefill: none\n".to_owned(), prefill),
        samples(&preview, load.seed),
    ];
    Ok(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

fn head(knobs: &Knobs, dialect: Dialect) -> String {
    let workload = &knobs.workload;
    let about = if workload.about.is_empty() { workload.to_string() } else { workload.about.clone() };
    let spoken = match dialect {
        Dialect::Resp2 => "RESP2",
        Dialect::Resp3 => "RESP3",
        Dialect::Memcached => "memcached's text",
        Dialect::Http(_) => "HTTP/1.1",
    };
    let title = untrusted::text(&format!("{}: {about}", workload.name));
    let think = knobs.think.map(|think| format!("think {think}"));
    let rests: String = think.into_iter().chain(knobs.renewal()).map(|words| format!(", {words}")).collect();
    let clients = count_with_noun(knobs.clients.into(), "client");
    format!("{title}\n{spoken}, {clients}, pipeline {}{rests}\n", grouped(knobs.pipeline.into()))
}

/// Returns the line about connections to a cluster. The line is empty if the plan does not limit these connections.
fn connections(plan: &SessionPlan) -> String {
    let most = plan.commission.max_connections.map(|most| count_with_noun(most.into(), "connection"));
    most.map_or_else(String::new, |most| format!("on a cluster: at most {most} to all nodes together\n"))
}

fn operations(preview: &Preview) -> String {
    let width = preview.operations.iter().map(|operation| operation.name.chars().count()).max().unwrap_or(0);
    let mut text = "Operations: share, mean bytes sent, commands\n".to_owned();
    for operation in &preview.operations {
        text += &format!(
            "  {:width$}  {:>7}  {:>9}  {}\n",
            operation.name,
            percent(operation.share),
            bytes(operation.bytes.round() as u64),
            operation.commands
        );
    }
    text +=
        &format!("  {} sent per operation, mean of all operations\n", bytes(preview.bytes().round() as u64));
    let crossing = preview.operations.iter().filter(|operation| operation.crosses_slots);
    let crossing: Vec<_> = crossing.map(|operation| operation.name.as_str()).collect();
    if !crossing.is_empty() {
        let (names, keys) =
            (crossing.join(", "), "the keys of one operation have different slots (CROSSSLOT)");
        let next = "{NAME.same_slot} draws a further key of {NAME} in the slot of the previous key";
        text += &format!("  refused by a cluster: {names}; {keys}; {next}\n");
    }
    text
}

fn keys(sets: &[KeysPreview]) -> String {
    let sets: String = sets.iter().map(of_set).collect();
    if sets.is_empty() { sets } else { format!("Keys\n{sets}") }
}

fn of_set(set: &KeysPreview) -> String {
    let names = match set.count {
        1 => set.first.clone(),
        _ => format!("{} to {}", set.first, set.last),
    };
    let grows = if set.grows { ", and new keys after them" } else { "" };
    let line = format!("  {{{}}}  {}, {names}{grows}\n", set.name, count_with_noun(set.count, "key"));
    let Some(distribution) = set.distribution else { return line + "    only new keys are drawn\n" };
    let hottest = match set.hottest {
        Some(hottest) if set.count > 1 => format!(
            ": {} of the draws on the hottest key, {} on the hottest 1 % ({})",
            share(hottest.key),
            share(hottest.hundredth),
            count_with_noun(hottest.keys, "key")
        ),
        Some(_) => String::new(),
        None => ": the share of the hottest keys depends on how many keys were added".to_owned(),
    };
    line + &format!("    {distribution}{hottest}\n")
}

fn dataset(dataset: &DatasetPreview) -> String {
    let of = if dataset.read < dataset.records { "the first " } else { "" };
    // A body for `_bulk` has several records.
    let noun = if dataset.portions.iter().any(|it| it.starts_with("__bulk:")) { "bulk" } else { "record" };
    format!(
        "Records: {} of {}; of each, redyno sends {}\n  each operation's number of bytes is the mean over {of}{}\n",
        count_with_noun(dataset.records, noun),
        dataset.file,
        dataset.portions.join(" "),
        count_with_noun(dataset.read, noun)
    )
}

/// Returns a share as text with at least two significant digits. A small share also has two digits, such as `0.00010
/// %`.
fn share(share: f64) -> String {
    let value = share * 100.0;
    let decimals = if value > 0.0 { (1.0 - value.log10().floor()).clamp(0.0, 20.0) as usize } else { 0 };
    format!("{value:.decimals$} %")
}

fn prefill(prefill: &PrefillPreview) -> String {
    format!(
        "Prefill: {} make {}, {} sent\n  about {} of memory: the sent data, and {} of overhead in the server for each key\n",
        count_with_noun(prefill.requests, "request"),
        count_with_noun(prefill.keys, "key"),
        bytes(prefill.bytes.round() as u64),
        bytes(prefill.memory().round() as u64),
        bytes(prefill.overhead),
    )
}

fn samples(preview: &Preview, seed: u64) -> String {
    let width = preview.samples.iter().map(|sample| sample.operation.chars().count()).max().unwrap_or(0);
    let mut text = format!("Some requests of the first client, with --seed {seed}\n");
    for sample in &preview.samples {
        text += &format!("  {:width$}  {:>9}  {}\n", sample.operation, bytes(sample.bytes), sample.request);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_share_is_rounded_to_zero() {
        let shares = [1.0, 0.634, 0.0378, 0.01, 0.001, 1e-6, 0.0].map(share);
        assert_eq!(shares, ["100 %", "63 %", "3.8 %", "1.0 %", "0.10 %", "0.00010 %", "0 %"]);
    }
}
