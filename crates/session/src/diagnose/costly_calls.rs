//! Finding: many calls of one command, on average 0.5 to 10 ms long, take a large part of the main thread's
//! time. Most of these calls are too short for the slow log.

use super::{
    Finding, Severity,
    big_reply::LARGE_REPLY,
    callers,
    now::{CommandUse, RecentState},
    slow_calls::{SLOW_US, advice, longest, who_sends},
};
use crate::{gauge::Gauge, units};

/// The smallest mean execution time of costly calls, in microseconds: 100 times the execution time of a GET.
const COSTLY_US: f64 = 500.0;
/// The finding begins when a command takes at least this share of the main thread's time. Other clients then wait
/// noticeably.
const SHARE: f64 = 0.20;
/// The finding ends when the command takes less than this share of the main thread's time.
const LOW_SHARE: f64 = 0.15;
/// The finding is a problem when the command takes at least this share of the main thread's time.
const LARGE_SHARE: f64 = 0.60;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    if now.in_commands() < LOW_SHARE {
        return None;
    }
    let commands = now.commands();
    let costly = commands.iter().find(|command| is_costly(command))?;
    // While the server waits for a core, its calls seem to take longer.
    if costly.share < if stands { LOW_SHARE } else { SHARE } || now.run_delay() >= SHARE {
        return None;
    }
    let severity = if costly.share >= LARGE_SHARE { Severity::Problem } else { Severity::Warning };
    let short = format!("{} takes {} of the main thread's time", costly.name, units::percent(costly.share));
    let mean = units::latency((costly.mean_us * 1e3) as u64);
    let calls = format!("{} calls, {mean} each", units::rate(costly.per_s));
    let reply = now.gauge(Gauge::BytesOut).map(|bytes| bytes / costly.per_s.max(1.0));
    let reply = reply.filter(|bytes| *bytes >= LARGE_REPLY && costly.share >= LARGE_SHARE);
    let reply = reply.map(|bytes| format!("replies of about {}", units::bytes(bytes as u64)));
    let caller = callers::of_command(now, &costly.name, costly.per_s);
    let who = caller.as_ref().map_or_else(String::new, |caller| format!(", called by {caller}"));
    let long = format!("{short}{who}, although no single call is slow");
    let next = match caller {
        Some(_) => advice(&costly.name).to_owned(),
        None => format!("{}; {}", who_sends(&costly.name), advice(&costly.name)),
    };
    let finding = Finding::of(severity, short, long)
        .with([Some(calls), reply, longest(now, Some(&costly.name)), now.pings.slowed()], &next);
    Some(Finding { subject: costly.name.clone(), explains: costly.share, ..finding })
}

/// Returns whether the sum of a command's calls decides whether there is a finding. For commands with longer calls, the
/// slow log decides.
pub(super) fn is_costly(command: &CommandUse) -> bool {
    (COSTLY_US..SLOW_US).contains(&command.mean_us) && command.share >= LOW_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::first,
        server::{CommandStat, Status},
        session::{Interval, Moment, OperationInterval, Record},
    };

    #[test]
    fn only_the_requests_of_the_load_to_this_node_are_left_out() {
        let requests = |n| [("GET".to_owned(), n)].into();
        let part = |n| OperationInterval { requests: requests(n), ..OperationInterval::default() };
        let nodes = [(0, part(300)), (1, part(700))].into();
        let interval = Interval { t_s: 1.0, requests: requests(1000), nodes, ..Interval::default() };
        let gets = CommandStat { calls: 5300, usec: 5300, ..CommandStat::default() };
        let stats = [("get".to_owned(), gets)].into();
        let status = Status { poll_s: Some(1.0), command_stats: stats, ..Status::default() };
        let mut now = RecentState::default();
        now.push(&Record::Interval(Box::new(interval)));
        now.push(&Record::Server(Box::new(Moment::new(1.0, status))));
        assert_eq!(now.commands().iter().map(|command| command.per_s).collect::<Vec<_>>(), [5000.0]);
    }

    #[test]
    fn calls_of_four_milliseconds_are_found_by_their_sum() {
        let found = first(4, |second| {
            let mget = CommandStat { calls: 195, usec: 780_000, ..CommandStat::default() };
            second.status.command_stats.insert("mget".to_owned(), mget);
            second.status.gauges.set(Gauge::BytesOut, Some(58_000_000.0));
        });
        assert_eq!(found.rule, "costly calls");
        assert_eq!(found.long, "MGET takes 78 % of the main thread's time, although no single call is slow");
        assert_eq!(found.evidence, ["195/s calls, 4.00 ms each", "replies of about 290 KiB"]);
        assert!(
            found
                .next
                .starts_with("CLIENT LIST shows the senders of this command (cmd=mget); send fewer keys")
        );
    }
}
