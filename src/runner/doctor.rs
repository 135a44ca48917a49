//! Carries out `redyno doctor`: watches a server without load, and prints one page.

use std::{cmp::Reverse, collections::BTreeMap, io::Write as _, thread, time::Duration};

use super::{
    Abort, Failure, Gate, Listener, Plan, SessionPlan, machine, printed::Printed, running::RunningSession,
};
use crate::{
    diagnose::{FindingsByNode, Severity},
    export::{JSON, Rows},
    print::{NoticePrinter, words::StreamText},
    report::{Report, ReportForm, ReportSource},
    session::{Coalesce, Delivery, Order, Sink},
    units,
};

/// Returns the writer of the page: a report, or the JSON export.
fn sink(form: Option<ReportForm>) -> Box<dyn Sink> {
    match form {
        Some(form) => Box::new(Report::of(form, vec![ReportSource::default()])),
        None => JSON.sink(Rows::default(), None),
    }
}

/// A planned run of `redyno doctor`.
pub struct DoctorRun {
    /// The session, without load.
    pub plan: SessionPlan,
    /// The form of the page; `None` means one JSON object.
    pub page: Option<ReportForm>,
    /// The conditions that are checked at the end.
    pub gate: Option<Gate>,
    /// The conditions that end the examination.
    pub abort: Option<Abort>,
}

impl Plan for DoctorRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plan, page, mut gate, mut abort } = *self;
        machine::check_before(&gate.as_ref().map(Gate::bounds).unwrap_or_default());
        let length = plan.commission.plan.length;
        let session = RunningSession::begin(plan)?;
        announce(length);
        let mut printed = Printed::page(sink(page), page == Some(ReportForm::Text));
        let (mut said, mut verdict) = (NoticePrinter::default(), DoctorVerdict::default());
        let mut listeners: Vec<&mut dyn Listener> = vec![&mut printed, &mut said];
        listeners.extend(abort.as_mut().map(|abort| abort as &mut dyn Listener));
        listeners.push(&mut verdict);
        listeners.extend(gate.as_mut().map(|gate| gate as &mut dyn Listener));
        session.run(&mut listeners)
    }
}

/// Prints how long the run takes, for a user at a terminal.
fn announce(length: Option<Duration>) {
    let mut out = StreamText::stderr();
    if let Some(length) = length.filter(|_| out.is_terminal) {
        let s = length.as_secs_f64();
        // Without a terminal, the line has no reader.
        let _ = writeln!(out, "redyno: watching for {s} s; Ctrl-C ends this and prints the page so far");
    }
}

/// The findings of all nodes, for the exit code. The findings are computed from whole seconds, like the page.
#[derive(Default)]
struct DoctorVerdict {
    has_begun: bool,
    coalesce: Coalesce,
    nodes: FindingsByNode,
}

impl Listener for DoctorVerdict {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Record(record) = delivery {
            let seconds = self.coalesce.push(record);
            seconds.iter().for_each(|record| drop(self.nodes.push(record)));
        }
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        // On a single core, the bursts of the intrinsic probe would delay a server on this machine.
        let has_cores = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        if has_begun || !has_cores { Vec::new() } else { vec![Order::GentleIntrinsic(true)] }
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        match trouble(&self.nodes) {
            Some(found) => Err(Failure::Crossed(format!("found {found}"))),
            None => Ok(()),
        }
    }
}

/// Returns the number of warnings and problems of all nodes as text, such as `1 problem, 2 warnings`; `None` without any.
fn trouble(nodes: &FindingsByNode) -> Option<String> {
    let mut counts = BTreeMap::new();
    let episodes = nodes.nodes.iter().flat_map(|node| node.findings.episodes.iter());
    let severities = episodes.map(|episode| episode.finding.severity);
    for severity in severities.filter(|severity| *severity >= Severity::Warning) {
        *counts.entry(Reverse(severity)).or_insert(0_u64) += 1;
    }
    let words = counts.into_iter().map(|(Reverse(severity), n)| units::count_with_noun(n, severity.name()));
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}
