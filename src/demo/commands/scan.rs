//! SCAN. A key that is there from the first call to the last is returned; none is returned twice.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::glob::{Case, matches};

pub(super) const COMMANDS: &[Command] = &[Command::new("scan", -2, Flags::READ, scan)];

/// Places looked at by one call, unless COUNT says otherwise.
const DEFAULT_COUNT: usize = 10;

struct Options<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
    type_name: Option<&'a [u8]>,
}

fn options<'a>(call: &Call<'a>) -> Result<Options<'a>, Failure> {
    let mut options = Options { count: DEFAULT_COUNT, pattern: None, type_name: None };
    for index in (2..call.arguments.len()).step_by(2) {
        let value = call.argument(index + 1)?;
        if call.is(index, "count") {
            let count = call.integer(index + 1)?;
            options.count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Failure::Syntax)?;
        } else if call.is(index, "match") {
            options.pattern = Some(value);
        } else if call.is(index, "type") {
            options.type_name = Some(value);
        } else {
            return Err(Failure::Syntax);
        }
    }
    Ok(options)
}

fn scan(call: &mut Call<'_>) -> Outcome {
    let cursor = std::str::from_utf8(call.argument(1)?).ok().and_then(|text| text.parse::<u64>().ok());
    let cursor = cursor.ok_or_else(|| Failure::other("ERR invalid cursor"))?;
    let options = options(call)?;
    let (database, reply) = call.database();
    let mut keys: Vec<Box<[u8]>> = Vec::new();
    let next = database.scan(cursor, options.count, |key, value| {
        let wanted = options.pattern.is_none_or(|pattern| matches(pattern, key, Case::Sensitive))
            && options.type_name.is_none_or(|name| name.eq_ignore_ascii_case(value.type_name().as_bytes()));
        if wanted {
            keys.push(key.into());
        }
    });
    reply.array(2);
    reply.text(&next.to_string());
    reply.array(keys.len());
    for key in &keys {
        reply.bulk(key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    fn all(desk: &mut Desk, options: &str) -> Vec<String> {
        let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
        for _ in 0..1000 {
            let mut words = desk.words(&format!("SCAN {cursor} {options}"));
            cursor = words.remove(0);
            found.append(&mut words);
            if cursor == "0" {
                found.sort();
                return found;
            }
        }
        panic!("the scan does not end");
    }

    #[test]
    fn a_scan_finds_every_key_once_and_filters() {
        let mut desk = Desk::new();
        for n in 0..50 {
            desk.ok(&format!("SET key:{n:02} v"));
        }
        desk.ask("LPUSH list:1 x");
        assert_eq!(all(&mut desk, "").len(), 51);
        assert_eq!(all(&mut desk, "MATCH key:4* COUNT 3").len(), 10);
        assert_eq!(all(&mut desk, "TYPE list COUNT 100"), ["list:1"]);
        assert_eq!(desk.ask("SCAN 999999"), "*2\n$1\n0\n*0\n");
    }

    #[test]
    fn wrong_options_are_refused_in_the_words_of_redis() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("SCAN x"), "-ERR invalid cursor\n");
        for request in ["SCAN 0 COUNT 0", "SCAN 0 foo", "SCAN 0 MATCH", "SCAN 0 foo bar"] {
            assert_eq!(desk.ask(request), "-ERR syntax error\n", "{request}");
        }
        assert_eq!(desk.ask("SCAN 0 COUNT x"), "-ERR value is not an integer or out of range\n");
    }
}
