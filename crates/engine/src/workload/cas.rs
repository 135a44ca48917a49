//! The placeholder `{cas}` of a workload. The placeholder stands for memcached's CAS value of an item, which the reply
//! to the previous step contains. The server changes the item only if the item still has this CAS value.
//!
//! ```text
//!  gets k ──► VALUE k 0 32 1234 ──► cas k 0 0 32 1234 ──► STORED, or EXISTS where another was faster
//! ```

use super::{
    Misses, Together, Workload, WorkloadError, command_traits,
    step::{CommandStep, Fragment},
};
use crate::protocol::Dialect;

/// The flag `C` of memcached's meta commands. With this flag, the server compares the item's CAS number.
const COMPARES: u8 = b'C';
/// The flag `c` of memcached's meta commands. With this flag, the reply includes the item's CAS number.
const RETURNS: u8 = b'c';

impl Workload {
    /// Checks that `{cas}` is used only if the protocol has CAS numbers, and only after a reply with such a number.
    pub(super) fn check_cas(&self, dialect: Dialect) -> Result<(), WorkloadError> {
        let unspoken = |whose: &str, why: &str| Err(invalid!("{whose}: {{cas}} {why}"));
        for (operation, compiled) in self.compiled_operations().filter(|(operation, _)| !operation.is_raw) {
            let steps = &compiled.steps;
            let whose = format!("the operation '{}'", operation.name);
            if !dialect.has_cas() && steps.iter().any(CommandStep::awaits_cas) {
                return unspoken(&whose, "stands for an item's CAS number, which only memcached has");
            }
            check_steps(steps, operation.together).or_else(|why| unspoken(&whose, why))?;
        }
        for (whose, steps) in
            [("the setup", &self.compiled().setup), ("the prefill", &self.compiled().prefill)]
        {
            if steps.iter().any(CommandStep::awaits_cas) {
                return unspoken(whose, "belongs to operations");
            }
        }
        Ok(())
    }
}

/// Checks that the step before each `{cas}` returns a CAS number, and that the command with `{cas}` accepts a CAS
/// number.
fn check_steps(steps: &[CommandStep], together: Together) -> Result<(), &'static str> {
    for (n, step) in steps.iter().enumerate().filter(|(_, step)| step.awaits_cas()) {
        let before = n.checked_sub(1).map(|before| &steps[before]);
        if together != Together::Sequence || !before.is_some_and(returns_cas) {
            return Err(
                "comes from the reply to the previous step: write together = \"sequence\", and let the previous \
                        step be gets, gats, or mg with the flag c",
            );
        }
        if !takes_cas(step) {
            return Err("may be used once: as the number in cas, or in the flag C of ms, md or ma");
        }
    }
    Ok(())
}

/// Returns whether the reply to a step includes the item's CAS number.
fn returns_cas(step: &CommandStep) -> bool {
    match step.command().as_deref() {
        Some("GETS" | "GATS") => true,
        Some("MG" | "MA" | "MS") => has_flag(step, RETURNS),
        _ => false,
    }
}

/// Returns whether a step has exactly one `{cas}`, at a place where memcached expects the CAS number.
fn takes_cas(step: &CommandStep) -> bool {
    let compares = [Fragment::Text(vec![COMPARES]), Fragment::Cas];
    let is_taken = match step.command().as_deref() {
        Some("CAS") => step.0.get(2).is_some_and(|word| *word == [Fragment::Cas]),
        Some("MS" | "MD" | "MA") => flags(step).any(|flag| *flag == compares),
        _ => false,
    };
    is_taken && step.fragments().filter(|fragment| **fragment == Fragment::Cas).count() == 1
}

/// Returns the flags of a meta command: the words after the key or, for `ms`, after the value.
fn flags(step: &CommandStep) -> impl Iterator<Item = &Vec<Fragment>> {
    let before = if step.command().as_deref() == Some("MS") { 3 } else { 2 };
    step.0.iter().skip(before)
}

fn has_flag(step: &CommandStep, flag: u8) -> bool {
    let is_it = |word: &Vec<Fragment>| matches!(word.first(), Some(Fragment::Text(text)) if text.first() == Some(&flag));
    flags(step).any(is_it)
}

/// Returns which replies of memcached to a step count as misses.
pub(super) fn misses(step: &CommandStep) -> Misses {
    match step.command().as_deref() {
        Some("CAS") => Misses::NullOrConflict,
        Some("MS" | "MD" | "MA") if has_flag(step, COMPARES) => Misses::NullOrConflict,
        Some(command) if command_traits(command).memcached => Misses::Null,
        _ => Misses::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Draws, KeyNames, Operation, OutgoingRequests, Program, Values};

    fn sequence(steps: &[&str]) -> Workload {
        let operation = Operation {
            name: "op".to_owned(),
            weight: 1,
            together: Together::Sequence,
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            ..Operation::default()
        };
        let values =
            [("text".to_owned(), "3..9".parse().unwrap()), ("large".to_owned(), "70k".parse().unwrap())];
        Workload {
            operations: vec![operation],
            values: values.into(),
            ..Workload::clone(&Workload::ratio(1, 1))
        }
    }

    fn error(workload: &Workload, dialect: Dialect) -> String {
        let checked = workload.check().and_then(|()| workload.check_dialect(dialect, &KeyNames::given("k:")));
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_cas_number_is_accepted_only_after_a_step_that_returns_it() {
        let expected = "the operation 'op': {cas} comes from the reply to the previous step";
        let taken = "the operation 'op': {cas} may be used once: as the number in cas";
        for (steps, expected) in [
            (&["gets {key}", "cas {key.same} {cas} {value}"][..], ""),
            (&["gat 9 {key}", "cas {key.same} {cas} {value}"], expected),
            (&["mg {key} v c", "ms {key.same} {value} T9 C{cas}"], ""),
            (&["mg {key} v", "ms {key.same} {value} C{cas}"], expected),
            (&["gets {key}", "get {key}", "cas {key.same} {cas} {value}"], expected),
            (&["cas {key} {cas} {value}"], expected),
            (&["gets {key}", "cas {key.same} 1 {cas}"], taken),
            (&["gets {key}", "set {key.same} {cas}"], taken),
            (&["gets {key}", "cas {key.same} {cas} {value}-{cas}"], taken),
            (&["mg {key} c", "ms {key.same} C{cas} T9"], taken),
            (&["mg {key} c", "md {key.same} C{cas}"], ""),
        ] {
            let error = error(&sequence(steps), Dialect::Memcached);
            assert!(
                error.starts_with(expected) && error.is_empty() == expected.is_empty(),
                "{steps:?}: {error}"
            );
        }
        let mut at_once = sequence(&["gets {key}", "cas {key.same} {cas} {value}"]);
        assert!(error(&at_once, Dialect::Resp2).ends_with("which only memcached has"));
        at_once.operations[0].together = Together::Pipeline;
        assert!(error(&at_once, Dialect::Memcached).starts_with(expected));
    }

    #[test]
    fn each_operation_of_a_batch_gets_its_own_cas_number() {
        for (step, bytes) in [
            ("cas {key.same} {cas} {value}", "cas k:000000000000 0 0 4 N\r\nvvvv\r\n"),
            ("cas {key.same} {cas} <{text}{number 1..9}>", "cas k:000000000000 0 0 L N\r\nv\r\n"),
            ("cas {key.same} {cas} {text} EX 9", "cas k:000000000000 0 9 L N\r\nv\r\n"),
            ("ms {key.same} {text} T9 C{cas} c", "ms k:000000000000 L T9 CN c\r\nv\r\n"),
            ("cas {key.same} {cas} <{large}{number 1..9}>", "cas k:000000000000 0 0 L N\r\nv\r\n"),
        ] {
            let workload =
                sequence(&[if step.starts_with("cas") { "gets {key}" } else { "mg {key} c" }, step]);
            assert_eq!(error(&workload, Dialect::Memcached), "");
            let values = Values::new(&workload, 4, 1);
            let program = Program::new(&workload, Dialect::Memcached, 1, values, &KeyNames::given("k:"));
            let (mut draws, mut out) = (Draws::new(7), OutgoingRequests::default());
            (0..3).for_each(|_| _ = program.append(&mut draws, &mut out));
            let mut later = out.take_later().unwrap().remove(0);
            later.put_in(|place, out| {
                out.extend_from_slice(["7", "", "18446744073709551615"][place].as_bytes());
            });
            let wire = later.wire(program.values());
            let mut rest = wire.as_slice();
            for number in ["7", "", "18446744073709551615"] {
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
                let line = std::str::from_utf8(&rest[..=end]).unwrap();
                let place = if step.starts_with("cas") { 4 } else { 2 };
                let length: usize = line.split(' ').nth(place).unwrap().parse().unwrap();
                let (head, _) = bytes.split_once("\r\n").unwrap();
                let expected = head.replace('L', &length.to_string()).replace('N', number);
                assert_eq!(line.trim_end_matches("\r\n"), expected);
                let (value, behind) = rest[end + 1..].split_at(length);
                assert!(!value.contains(&b'\n') && behind.starts_with(b"\r\n"), "{step}");
                rest = &behind[2..];
            }
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn the_replies_to_compare_and_swap_may_be_conflicts() {
        for (step, expected) in [
            ("cas {key} 1 x", Misses::NullOrConflict),
            ("ms {key} x C{cas}", Misses::NullOrConflict),
            ("ms {key} Cx", Misses::Never),
            ("md {key} C5", Misses::NullOrConflict),
            ("md {key}", Misses::Null),
            ("get {key}", Misses::Null),
            ("set {key} x", Misses::Never),
        ] {
            assert_eq!(misses(&CommandStep::read(step, &Workload::default()).unwrap()), expected, "{step}");
        }
    }
}
