//! `--plan` of a series: what each of its cells would be.

use super::args::{Asked, SeriesArgs};
use crate::{
    cli::{UsageError, args::CommandLine},
    experiment::series::Cell,
    foreign,
    units::{counted, percent},
    workload::{Asking, KeyNames, Outlook},
};

/// The cells, in their order.
pub(super) fn text(args: &SeriesArgs, asked: &Asked) -> Result<String, UsageError> {
    let mut text = super::lines::head(args, asked, None);
    for (place, line) in &asked.lines {
        text += "\n";
        text += &of_cell(&asked.series.cells[*place], line, asked)?;
    }
    Ok(text)
}

fn of_cell(cell: &Cell, line: &CommandLine, asked: &Asked) -> Result<String, UsageError> {
    let knobs = line.knobs(true)?;
    if knobs.workload.dataset.is_some() {
        // Of a dataset's records nothing is told.
        let told = foreign::text(&format!("{}: {knobs}", cell.title()));
        return Ok(format!("{told}\n  the records of the dataset\n"));
    }
    let outlook = Outlook::new(&Asking {
        workload: &knobs.workload,
        dialect: asked.target.dialect,
        keyspace: knobs.keyspace,
        value_size: knobs.value_size,
        clients: knobs.clients,
        names: &KeyNames::of_some_run(),
        seed: line.load.seed(),
    });
    let outlook = outlook.map_err(|error| UsageError::Line(error.to_string()))?;
    let ends = [
        line.session.requests.map(|n| counted(n, "request")),
        line.session.duration.map(|length| format!("{} s", length.as_secs_f64())),
        outlook.prefill.map(|prefill| format!("{} before", counted(prefill.requests, "request"))),
    ];
    let ends = ends.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut text =
        foreign::text(&cell.title()) + &format!("\n  {}\n  {ends}\n", foreign::text(&knobs.to_string()));
    for operation in &outlook.operations {
        let commands = foreign::text(&operation.commands);
        text +=
            &format!("  {:>5} {}: {commands}\n", percent(operation.share), foreign::text(&operation.name));
    }
    Ok(text)
}
