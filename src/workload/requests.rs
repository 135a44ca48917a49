//! The stream of requests that one setting of the knobs asks for.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use super::{Command, KeyNames, Mix, Values};
use crate::protocol::{Part, Template};

/// What to ask: commands by weight, keys, values. Each connection draws from it with its own random numbers.
#[derive(Debug)]
pub struct Requests {
    /// Commands with a weight, and the sum of the weights up to and with each.
    commands: Vec<(Command, u64, Template)>,
    total: u64,
    keyspace: u64,
    values: Values,
}

impl Requests {
    /// Requests of `mix` over `keyspace` keys called `names`, with values from `values`.
    pub fn new(mix: &Mix, keyspace: u64, values: Values, names: &KeyNames) -> Self {
        let mut total = 0;
        let mut commands = Vec::new();
        for command in Command::ALL {
            if mix.weight(command) > 0 {
                total += u64::from(mix.weight(command));
                commands.push((command, total, template(command, values.size(), names)));
            }
        }
        assert!(total > 0, "a mix has a command with a weight");
        Self { commands, total, keyspace, values }
    }

    /// Where the values come from.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Appends the next request of the stream `random` to `out`, and says which command it is.
    #[inline]
    pub fn append(&self, random: &mut Pcg64Mcg, out: &mut Vec<u8>) -> Command {
        let (command, _, template) = match self.commands.as_slice() {
            [only] => only,
            several => {
                let drawn = below(random, self.total);
                let next = several.iter().find(|(_, upto, _)| drawn < *upto);
                next.expect("the last sum is the total, above every draw")
            }
        };
        let key = below(random, self.keyspace);
        template.append(key, || self.values.value(random.next_u64()), out);
        *command
    }
}

/// A uniform number below `n`, by Lemire's multiplication; its bias is below n/2^64.
#[inline]
fn below(random: &mut Pcg64Mcg, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

fn template(command: Command, value_size: usize, names: &KeyNames) -> Template {
    let key = Part::Key(names.values().as_bytes());
    let counter = names.counters();
    match command {
        Command::Get => Template::new(&[Part::Text(b"GET"), key]),
        Command::Set => Template::new(&[Part::Text(b"SET"), key, Part::Value(value_size)]),
        Command::Incr => Template::new(&[Part::Text(b"INCR"), Part::Key(counter.as_bytes())]),
        Command::Ping => Template::new(&[Part::Text(b"PING")]),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn drawn(mix: &Mix, keyspace: u64, n: usize, seed: u64) -> (Vec<Command>, String) {
        let requests = Requests::new(mix, keyspace, Values::new(4, 1), &KeyNames::given("k:"));
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut out = Vec::new();
        let commands = (0..n).map(|_| requests.append(&mut random, &mut out)).collect();
        (commands, String::from_utf8(out).unwrap())
    }

    #[test]
    fn commands_come_by_their_weights() {
        let (commands, _) = drawn(&Mix { get: 6, set: 2, incr: 1, ping: 1 }, 10, 100_000, 3);
        for (command, share) in
            [(Command::Get, 0.6), (Command::Set, 0.2), (Command::Incr, 0.1), (Command::Ping, 0.1)]
        {
            let n = commands.iter().filter(|c| **c == command).count();
            assert!((n as f64 / 1e5 - share).abs() < 0.01, "{command}: {n}");
        }
    }

    #[test]
    fn keys_are_spread_over_the_whole_keyspace_and_nothing_else() {
        let (_, text) = drawn(&Mix::ratio(0, 1), 10, 1000, 3);
        for key in 0..10 {
            let n = text.matches(&format!("k:{key:012}")).count();
            assert!((60..140).contains(&n), "key {key} came {n} times of 1000");
        }
        assert_eq!(text.matches("k:00000000000").count(), 1000);
    }

    #[test]
    fn counters_and_values_do_not_share_keys() {
        let (_, text) = drawn(&Mix::preset("incr").unwrap(), 1, 1, 3);
        assert_eq!(text, "*2\r\n$4\r\nINCR\r\n$22\r\nk:counter:000000000000\r\n");
    }

    #[test]
    fn the_same_seed_asks_the_same_and_another_seed_something_else() {
        let mix = Mix::default();
        assert_eq!(drawn(&mix, 1000, 100, 3), drawn(&mix, 1000, 100, 3));
        assert_ne!(drawn(&mix, 1000, 100, 3).1, drawn(&mix, 1000, 100, 4).1);
    }
}
