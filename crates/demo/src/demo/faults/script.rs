//! Decides for each request to the built-in server which simulated faults apply.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{Damage, Fault, FaultKind, Scope, When};

/// The properties of a request that decide which faults apply.
#[derive(Debug, Clone, Copy)]
pub struct FaultOccasion<'a> {
    /// The command's name in lower case.
    pub command: &'a str,
    /// Whether load generators send this command.
    pub is_load: bool,
    /// The request's position, from 1, among the requests that arrived in the same read.
    pub position: u64,
    /// The present time, in nanoseconds since the server's start.
    pub now_ns: u64,
}

/// The faults of one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestFaults {
    /// The additional run time of the command.
    pub slow: Duration,
    /// The error that replaces the reply: prefix and message.
    pub error: Option<String>,
    /// The time by which the reply is delayed.
    pub delay: Duration,
    /// The damage to the reply's bytes.
    pub damage: Option<Damage>,
    /// The end of the request's wait for an entry of a stream or a list. The time is in nanoseconds since the server's
    /// start. `None` if the request does not wait.
    pub waits_until_ns: Option<u64>,
}

/// The faults of a script and their state.
pub struct FaultScript {
    rules: Vec<FaultRule>,
    rng: Pcg64Mcg,
}

struct FaultRule {
    fault: Fault,
    /// The number of requests so far that are in the scope of the fault.
    occasions: u64,
    /// The next time when a timed fault applies; `u64::MAX` means never again.
    due_ns: u64,
    /// The part of a read of a hot key that is left after a round of housekeeping, in units of 1/`hz`. The next round
    /// adds this part to its reads.
    remainder: u64,
}

impl FaultScript {
    /// Creates a script whose times count from the server's start. The same `seed` gives the same random faults.
    pub fn new(faults: Vec<Fault>, seed: u64) -> Self {
        let first = |when| match when {
            When::Once(after) | When::Every(after) => after.as_nanos() as u64,
            _ => u64::MAX,
        };
        let rule = |fault: Fault| FaultRule { due_ns: first(fault.when), fault, occasions: 0, remainder: 0 };
        let rules = faults.into_iter().map(rule);
        Self { rules: rules.collect(), rng: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Returns whether the script has no faults that apply to requests.
    pub fn is_quiet(&self) -> bool {
        !self.rules.iter().any(|rule| rule.fault.kind.is_of_requests())
    }

    /// Returns the faults of a request. Several faults may apply, but only the first error and the first damage are
    /// used.
    pub fn faults_of(&mut self, occasion: FaultOccasion<'_>) -> RequestFaults {
        let mut treatment = RequestFaults::default();
        for rule in &mut self.rules {
            if rule.concerns(occasion) && rule.strikes(occasion.now_ns, &mut self.rng) {
                rule.apply(&mut treatment);
            }
        }
        treatment
    }

    /// Returns the due time of the next fault that does not depend on requests.
    pub fn next_due_ns(&self) -> Option<u64> {
        let timed = self.rules.iter().filter(|rule| rule.fault.kind.is_timed());
        timed.map(|rule| rule.due_ns).min().filter(|due_ns| *due_ns < u64::MAX)
    }

    /// Returns a fault that does not depend on requests and is due now, and schedules the next occurrence of this
    /// fault.
    pub fn take_due(&mut self, now_ns: u64) -> Option<Fault> {
        let is_due = |rule: &&mut FaultRule| rule.fault.kind.is_timed() && rule.due_ns <= now_ns;
        let rule = self.rules.iter_mut().find(is_due)?;
        rule.schedule(now_ns);
        Some(rule.fault.clone())
    }

    /// Returns the keys that are hot now, each with the number of reads that are due. The server calls this function
    /// `hz` times per second.
    pub fn hot_reads(&mut self, now_ns: u64, hz: u64) -> Vec<(String, u64)> {
        let hot = |rule: &mut FaultRule| match &rule.fault.kind {
            FaultKind::Hot { key, per_s } if rule.due_ns <= now_ns => {
                let due = rule.remainder + per_s;
                rule.remainder = due % hz;
                Some((key.clone(), due / hz))
            }
            _ => None,
        };
        self.rules.iter_mut().filter_map(hot).collect()
    }
}

impl FaultRule {
    fn concerns(&self, occasion: FaultOccasion<'_>) -> bool {
        let in_scope = match &self.fault.scope {
            Scope::Load => occasion.is_load,
            Scope::Any => true,
            Scope::Command(name) => name == occasion.command,
        };
        in_scope
            && self.fault.kind.is_of_requests()
            && self.fault.nth.is_none_or(|nth| nth == occasion.position)
    }

    fn strikes(&mut self, now_ns: u64, rng: &mut Pcg64Mcg) -> bool {
        self.occasions += 1;
        match self.fault.when {
            When::Always => true,
            When::Share(share) => rng.random::<f64>() < share,
            When::EveryNth(n) => self.occasions.is_multiple_of(n),
            When::Once(_) | When::Every(_) if self.due_ns <= now_ns => {
                self.schedule(now_ns);
                true
            }
            When::Once(_) | When::Every(_) => false,
        }
    }

    /// Schedules the next occurrence of the fault. A periodic fault is due again at the end of the period that contains
    /// `now_ns`. Earlier periods without requests are skipped. Any other fault is never due again.
    fn schedule(&mut self, now_ns: u64) {
        self.due_ns = match self.fault.when {
            When::Every(period) => {
                let period_ns = period.as_nanos() as u64;
                self.due_ns + ((now_ns - self.due_ns) / period_ns + 1) * period_ns
            }
            _ => u64::MAX,
        };
    }

    fn apply(&self, treatment: &mut RequestFaults) {
        match &self.fault.kind {
            FaultKind::Stall(_) | FaultKind::Reshard(_) | FaultKind::Failover | FaultKind::Hot { .. } => {}
            FaultKind::Slow(length) => treatment.slow += *length,
            FaultKind::Delay(length) => treatment.delay += *length,
            FaultKind::Error(prefix) => {
                treatment.error.get_or_insert_with(|| error_text(prefix));
            }
            FaultKind::Damage(damage) => {
                treatment.damage.get_or_insert(*damage);
            }
        }
    }
}

/// Returns the text of the error with this prefix. Common prefixes have the message of Redis. All other prefixes have a
/// general message.
fn error_text(prefix: &str) -> String {
    let message = match prefix {
        "LOADING" => "Redis is loading the dataset in memory",
        "OOM" => "command not allowed when used memory > 'maxmemory'.",
        "BUSY" => "Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "READONLY" => "You can't write against a read only replica.",
        "MOVED" | "ASK" => "3999 127.0.0.1:6381",
        _ => "injected by the script of faults",
    };
    format!("{prefix} {message}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    fn script(texts: &[&str]) -> FaultScript {
        FaultScript::new(texts.iter().map(|text| text.parse().unwrap()).collect(), 1)
    }

    fn request(command: &str, position: u64, now_ns: u64) -> FaultOccasion<'_> {
        FaultOccasion { command, is_load: command != "info", position, now_ns }
    }

    #[test]
    fn every_n_counts_requests_and_nth_counts_positions_in_a_read() {
        let mut script = script(&["error OOM on set every 3", "delay get 2ms nth 10"]);
        let errors: Vec<bool> =
            (0..6).map(|_| script.faults_of(request("set", 1, 0)).error.is_some()).collect();
        assert_eq!(errors, [false, false, true, false, false, true]);
        for position in 1..=16 {
            let treatment = script.faults_of(request("get", position, 0));
            assert_eq!(treatment.delay > Duration::ZERO, position == 10, "position {position}");
            assert_eq!(treatment.error, None);
        }
    }

    #[test]
    fn a_fault_without_a_command_spares_commands_that_observe_the_server() {
        let mut script = script(&["garbage", "slow any 1ms"]);
        assert_eq!(script.faults_of(request("get", 1, 0)).damage, Some(Damage::Garbage));
        let spared = script.faults_of(request("info", 1, 0));
        assert_eq!((spared.damage, spared.slow), (None, Duration::from_millis(1)));
    }

    #[test]
    fn a_share_strikes_about_that_often() {
        let mut script = script(&["reset 10%"]);
        let struck = (0..10_000).filter(|_| script.faults_of(request("get", 1, 0)).damage.is_some()).count();
        assert!((800..1200).contains(&struck), "{struck} of 10000");
    }

    #[test]
    fn a_hot_key_is_read_as_often_as_requested() {
        for (per_s, expected) in [("9", 9), ("19", 19), ("5k", 5000)] {
            let mut script = script(&[&format!("hot 866 {per_s}")]);
            let reads = (0..20).map(|_| script.hot_reads(SECOND_NS, 10)[0].1);
            assert_eq!(reads.sum::<u64>(), 2 * expected, "in two seconds");
        }
    }

    #[test]
    fn times_are_kept_on_their_own_grid() {
        let mut script = script(&["stall 500ms every 5s", "reset every 2s", "cut after 1s"]);
        assert!(!script.is_quiet());
        assert_eq!(script.next_due_ns(), Some(5 * SECOND_NS));
        assert_eq!(script.take_due(5 * SECOND_NS - 1), None);
        let kind = script.take_due(13 * SECOND_NS).map(|fault| fault.kind);
        assert_eq!(kind, Some(FaultKind::Stall(Duration::from_millis(500))));
        assert_eq!(script.next_due_ns(), Some(15 * SECOND_NS), "the stall at 10 s is not made up");
        assert_eq!(script.faults_of(request("get", 1, SECOND_NS / 2)).damage, None);
        assert_eq!(script.faults_of(request("get", 1, SECOND_NS)).damage, Some(Damage::Cut { close: false }));
        assert_eq!(script.faults_of(request("get", 1, SECOND_NS)).damage, None);
        assert_eq!(script.faults_of(request("get", 1, 3 * SECOND_NS)).damage, Some(Damage::Reset));
        assert_eq!(script.faults_of(request("get", 1, 4 * SECOND_NS - 1)).damage, None);
    }
}
