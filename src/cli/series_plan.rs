//! `--plan` of a series: what each of its cells would be.

use super::preview::preview;
use crate::{
    experiment::series::{Cell, Series},
    load::Requests,
    print::series::Lines,
    runner::{SessionPlan, UsageError},
    units::{counted, percent},
    untrusted,
};

/// The cells, in their order.
pub(super) fn text(
    series: &Series,
    planned: &[(usize, SessionPlan)],
    lines: Lines,
) -> Result<String, UsageError> {
    let cells: Vec<_> = planned.iter().map(|(place, _)| &series.cells[*place]).collect();
    let mut text = lines.head(series, &cells, None);
    for (cell, (_, plan)) in cells.iter().zip(planned) {
        text += "\n";
        text += &of_cell(cell, plan)?;
    }
    Ok(text)
}

fn of_cell(cell: &Cell, plan: &SessionPlan) -> Result<String, UsageError> {
    let (knobs, load) = (&plan.commission.knobs, &plan.commission.plan);
    if knobs.workload.dataset.is_some() {
        // Of a dataset's records nothing is told.
        let told = untrusted::text(&format!("{}: {knobs}", cell.title()));
        return Ok(format!("{told}\n  the records of the dataset\n"));
    }
    let preview = preview(plan)?;
    let ends = [
        load.requests.map(|(Requests::InAll(n) | Requests::Parted(n))| counted(n, "request")),
        load.length.map(|length| format!("{} s", length.as_secs_f64())),
        preview.prefill.map(|prefill| format!("{} before", counted(prefill.requests, "request"))),
    ];
    let ends = ends.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut text =
        untrusted::text(&cell.title()) + &format!("\n  {}\n  {ends}\n", untrusted::text(&knobs.to_string()));
    for operation in &preview.operations {
        let commands = untrusted::text(&operation.commands);
        text +=
            &format!("  {:>5} {}: {commands}\n", percent(operation.share), untrusted::text(&operation.name));
    }
    Ok(text)
}
