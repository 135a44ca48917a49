//! Checks whether the server's protocol (dialect) supports the commands of a workload. Decides which replies are
//! misses.

use super::{
    KeyForm, KeyNames, Misses, Together, Workload, WorkloadError, cas, commands,
    step::{CommandStep, Fragment},
};
use crate::{
    protocol::{ArgumentPart, Derived, Dialect},
    untrusted,
};

/// The methods of HTTP that are not also commands of another server.
const METHODS: [&str; 6] = ["HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

/// Returns which replies to a `step` are misses.
pub(super) fn misses(dialect: Dialect, step: &CommandStep) -> Misses {
    match (dialect, step.command()) {
        (Dialect::Resp2 | Dialect::Resp3, Some(command)) => {
            let arguments: Vec<_> = step.0.iter().skip(1).map(|word| fixed(word)).collect();
            commands::misses(&command, &arguments)
        }
        (Dialect::Resp2 | Dialect::Resp3, None) => Misses::Never,
        (Dialect::Memcached, _) => cas::misses(step),
        (Dialect::Http(_), _) => Misses::Never,
    }
}

/// Returns the text of a word without placeholders. Returns `None` for any other word.
fn fixed(word: &[Fragment]) -> Option<String> {
    match word {
        [Fragment::Text(text)] => Some(untrusted::bytes(text)),
        _ => None,
    }
}

impl Workload {
    /// Checks that the dialect supports the commands of the workload. `names` contains the prefix of the keys.
    ///
    /// # Errors
    /// Fails if the dialect does not support a command. The error names the first such command.
    pub fn check_dialect(&self, dialect: Dialect, names: &KeyNames) -> Result<(), WorkloadError> {
        self.check_cas(dialect)?;
        let server = dialect.words().server;
        if dialect.has_keys() && self.is_of_http(names) {
            return Err(invalid!(
                "the workload sends HTTP requests, but the server is {server}; give the server as http://HOST:PORT"
            ));
        }
        if self.trace.is_some() && !dialect.has_collections() {
            return Err(invalid!("{server} does not have the commands of a trace; give a Redis or Valkey"));
        }
        if self.receivers.is_some() && !dialect.has_collections() {
            return Err(invalid!("{server} has no receivers of messages; give a Redis or Valkey"));
        }
        if !dialect.has_setup() && !self.setup.is_empty() {
            return Err(invalid!("{server} does not support a setup; remove [setup] from the workload"));
        }
        self.http.check(dialect)?;
        if !dialect.has_keys() && self.setup.is_empty() != names.prefix().is_empty() {
            return Err(WorkloadError::of(
                "by HTTP, a run cannot change between a workload with [setup] and one without; start redyno with this \
                 workload",
            ));
        }
        let methods =
            self.compiled_operations().flat_map(|(_, compiled)| &compiled.steps).map(CommandStep::command);
        let methods: Vec<_> = methods.flatten().collect();
        let together = dialect.check_together(methods.iter().map(String::as_str));
        together.map_err(|why| WorkloadError::of(why.to_string()))?;
        for (operation, compiled) in self.compiled_operations() {
            let whose = |why| invalid!("the operation '{}': {why}", operation.name);
            if !dialect.has_keys() && operation.writes.is_some() {
                return Err(whose(
                    "by HTTP, the method says whether data changes; remove 'writes'".to_owned(),
                ));
            }
            if !dialect.has_keys() && operation.together == Together::Sequence {
                let why = "by HTTP, the server may close a connection after any reply; write together = \"pipeline\"";
                return Err(whose(why.to_owned()));
            }
            if !dialect.has_transactions() && operation.together == Together::Multi {
                return Err(whose(format!("{server} has no transactions; write together = \"pipeline\"")));
            }
            for step in &compiled.steps {
                self.check_step(step, dialect, names).map_err(whose)?;
            }
        }
        for (name, steps) in [("setup", &self.compiled().setup), ("prefill", &self.compiled().prefill)] {
            let whose = |why| invalid!("the {name}: {why}");
            steps.iter().try_for_each(|step| self.check_step(step, dialect, names).map_err(whose))?;
        }
        Ok(())
    }

    /// Returns whether a step is an HTTP request, such as `POST /path`. The method must not be a command of another
    /// server.
    fn is_of_http(&self, names: &KeyNames) -> bool {
        let compiled = self.compiled();
        let operations = self.compiled_operations().flat_map(|(_, compiled)| &compiled.steps);
        operations.chain(&compiled.setup).any(|step| {
            let is_method = step.command().is_some_and(|name| METHODS.contains(&name.as_str()));
            let words = if is_method { self.largest(step, names) } else { Vec::new() };
            let path = words.get(1).and_then(|word| word.first()?.as_deref());
            path.is_some_and(|path| path.starts_with(b"/"))
        })
    }

    fn check_step(&self, step: &CommandStep, dialect: Dialect, names: &KeyNames) -> Result<(), String> {
        let words = self.largest(step, names);
        let parts: Vec<_> = words.into_iter().map(|word| word.into_iter().map(part).collect()).collect();
        dialect.check(&parts).map_err(|why| why.to_string())
    }

    /// Returns the parts of each word of a step, with each number at its maximum. A part is `None` if it is a value or
    /// a field of a record.
    fn largest(&self, step: &CommandStep, names: &KeyNames) -> Vec<Vec<Option<Vec<u8>>>> {
        let part = |fragment: &Fragment| match fragment {
            Fragment::Text(text) => Some(text.clone()),
            Fragment::Key(set)
            | Fragment::Given(set)
            | Fragment::New(set)
            | Fragment::Same(set)
            | Fragment::SameSlot(set) => {
                let keys = self.keyset(*set).1;
                let is_usual = keys.form() == KeyForm::default();
                let number = keys.form().padded(if is_usual { 0 } else { u64::MAX });
                Some([names.prefix(), &keys.prefix, &number].concat().into_bytes())
            }
            Fragment::Derived(_, _, Derived::JavaHash) => Some(i32::MIN.to_string().into_bytes()),
            Fragment::Derived(..) | Fragment::Value(_) | Fragment::OfRecord(_) => None,
            Fragment::Number(_, to) => Some(to.to_string().into_bytes()),
            Fragment::Now | Fragment::Cas | Fragment::Cursor | Fragment::Stamp(..) => {
                Some(u64::MAX.to_string().into_bytes())
            }
        };
        step.0.iter().map(|word| word.iter().map(part).collect()).collect()
    }
}

/// Converts a fixed part to text. Converts a value or a field of a record to a slot.
fn part(part: Option<Vec<u8>>) -> ArgumentPart {
    part.map_or(ArgumentPart::Value { kind: 0, size: None }, ArgumentPart::Text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::KEY_DIGITS;
    use crate::workload::{Operation, Steps, preset};

    fn of(step: &str) -> Workload {
        let operations = vec![Operation::command(step, 1)];
        Workload { operations, ..Workload::clone(&Workload::ratio(1, 1)) }
    }

    fn error(workload: &Workload, prefix: &str) -> Option<String> {
        let checked = workload.check_dialect(Dialect::Memcached, &KeyNames::given(prefix));
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn memcached_supports_the_simple_presets() {
        for name in ["cache", "mixed", "get", "set", "incr", "ping"] {
            assert_eq!(error(&preset(name).unwrap(), "k:"), None, "{name}");
        }
        assert_eq!(of("HSET {key} f {value}").check_dialect(Dialect::Resp2, &KeyNames::given("k:")), Ok(()));
    }

    #[test]
    fn a_missing_key_is_a_miss_of_commands_that_read_whole_values() {
        for (step, is_one) in [
            ("GET {key}", true),
            ("hgetall {key}", true),
            ("SMEMBERS {key}", true),
            ("LRANGE {key} 0 -1", true),
            ("LRANGE {key} 0 99", true),
            ("ZRANGE {key} 0 -1 rev withscores", true),
            ("ZREVRANGE {key} 0 -1 WITHSCORES", true),
            ("LRANGE {key} 1 -1", false),
            ("LRANGE {key} 0 -2", false),
            ("LRANGE {key} {number 0..9} 9", false),
            ("ZRANGE {key} 0 100 BYSCORE", false),
            ("ZRANGE {key} 0", false),
            ("SET {key} x", false),
        ] {
            let read = CommandStep::read(step, &Workload::ratio(0, 1)).unwrap();
            assert_eq!(misses(Dialect::Resp2, &read) == Misses::Null, is_one, "{step}");
        }
    }

    #[test]
    fn the_error_for_an_unsupported_command_names_the_operation() {
        let begins = |workload: &Workload, prefix: &str, expected: &str| {
            let error = error(workload, prefix).unwrap_or_default();
            assert!(error.starts_with(expected), "{error}");
        };
        begins(
            &of("HSET {key} f {value}"),
            "k:",
            "the operation 'HSET': 'HSET' is no command that redyno has for memcached",
        );
        begins(
            &of("EXPIRE {key} {number 1..2592001}"),
            "k:",
            "the operation 'EXPIRE': memcached reads more than",
        );
        assert_eq!(error(&of("EXPIRE {key} {number 1..2592000}"), "k:"), None);
        let long = "the operation 'GET': a key of memcached has 1 to 250 bytes, not 251";
        begins(&of("GET {key}"), &"k".repeat(251 - KEY_DIGITS), long);
        assert_eq!(error(&of("GET {key}"), &"k".repeat(250 - KEY_DIGITS)), None);
        begins(&of("GET {key}"), "a b", "the operation 'GET': a key of memcached has no spaces");
        let mut multi = of("GET {key}");
        multi.operations[0].together = Together::Multi;
        begins(&multi, "k:", "the operation 'GET': memcached has no transactions");
        let setup = Workload { setup: Steps { steps: vec!["SET a b".to_owned()] }, ..of("GET {key}") };
        begins(&setup, "k:", "memcached does not support a setup; remove [setup] from the workload");
    }
}
