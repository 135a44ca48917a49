//! Finding: a network interface of redyno's machine sends or receives as much as its speed allows. Packets
//! then wait in the queue of the interface.

use super::{
    Finding, Severity,
    now::RecentState,
    thresholds::{Threshold, of, row},
};
use crate::gauge::Gauge;

/// Packets wait if an interface uses 90 % of its speed or more. The rest is for the headers of packets; the
/// counted bytes contain only a part of them.
pub(super) static FULL: [Threshold; 1] = [row(
    Gauge::HostNetShare,
    0.9,
    Severity::Warning,
    (
        "a network interface of this machine is full",
        Gauge::HostNetOut,
        "send fewer bytes, or use a faster network; sar -n DEV 1 shows which interface (%ifutil)",
    ),
)];

/// Returns the current finding, if any. If the server runs on another machine, the finding is about redyno's
/// side only.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let is_ours = now.host().is_some_and(|host| host.server.is_none());
    of(&FULL, now, stands).map(|finding| Finding { is_ours, ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::found;

    #[test]
    fn an_interface_at_its_speed_is_a_warning_and_one_burst_is_not() {
        let full = |is_full: fn(u32) -> bool, is_near: bool| {
            let found = found(6, move |second| {
                second.host.server.take_if(|_| !is_near);
                second.host.gauges.set(Gauge::HostNetShare, Some(if is_full(second.n) { 0.96 } else { 0.3 }));
                second.host.gauges.set(Gauge::HostNetOut, Some(118e6));
            });
            found
                .into_iter()
                .map(|found| (found.rule, found.is_ours, found.evidence[0].clone()))
                .collect::<Vec<_>>()
        };
        let evidence = "this machine: network 96 %".to_owned();
        assert_eq!(full(|_| true, true), [("network full", false, evidence.clone())]);
        assert_eq!(full(|_| true, false), [("network full", true, evidence)]);
        assert_eq!(full(|n| n == 4, true), []);
    }
}
