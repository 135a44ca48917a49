//! Carries out `redyno doctor`: watches a server without load, and prints one page.

use std::{cmp::Reverse, collections::BTreeMap, thread};

use super::{Failure, Listener, SessionPlan, SessionRun, Shows};
use crate::{
    diagnose::{FindingsByNode, Severity},
    export::{JSON, Rows},
    print::words::StreamText,
    report::{Report, ReportForm, ReportSource},
    session::{Coalesce, Delivery, Notice, Order, Sink},
    units,
};

impl SessionRun {
    /// Creates the run of `redyno doctor`, a session without load. The run prints one page of this form. Without a
    /// form, the run prints one JSON object. At a terminal, the run also prints its expected length.
    pub fn of_doctor(mut plan: SessionPlan, page: Option<ReportForm>) -> Self {
        plan.is_page = true;
        let commission = &mut plan.commission;
        let length = commission.plan.length.filter(|_| StreamText::stderr().is_terminal);
        commission.notices.extend(length.map(|length| {
            let s = length.as_secs_f64();
            Notice::Info(format!(
                "watching for {s} s; Ctrl-C ends the examination and prints the page so far"
            ))
        }));
        let sink: Box<dyn Sink> = match page {
            Some(form) => Box::new(Report::of(form, vec![ReportSource::default()])),
            None => JSON.sink(Rows::default(), None),
        };
        let shows = Shows::Text { sink, is_for_people: page == Some(ReportForm::Text) };
        Self { more: vec![Box::new(DoctorVerdict::default())], ..Self::new(plan, shows) }
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

/// Returns the number of warnings and problems of all nodes as text, such as `1 problem, 2 warnings`. Returns `None` if
/// there are none.
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
