//! Sorted sets.

use super::call::{float, index_range};
use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;
use crate::demo::reply::{Protocol, Reply};
use crate::demo::store::{SortedSet, Value};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const READ: Flags = Flags::READ.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("zadd", -4, WRITE.and(Flags::GROWS), zadd).keyed(1, 1, 1),
    Command::new("zpopmin", -2, WRITE, zpopmin).keyed(1, 1, 1),
    Command::new("zcard", 2, READ, zcard).keyed(1, 1, 1),
    Command::new("zscore", 3, READ, zscore).keyed(1, 1, 1),
    Command::new("zrange", -4, Flags::READ, zrange).keyed(1, 1, 1),
];

/// The options of ZADD.
#[derive(Default)]
struct AddOptions {
    only_new: bool,
    only_old: bool,
    only_greater: bool,
    only_less: bool,
    count_changed: bool,
    increment: bool,
    /// Where the scores begin.
    first: usize,
}

impl AddOptions {
    fn parse(call: &Call<'_>) -> Result<Self, Failure> {
        let mut options = Self { first: 2, ..Self::default() };
        while let Some(word) = call.arguments.get(options.first) {
            match word.to_ascii_lowercase().as_slice() {
                b"nx" => options.only_new = true,
                b"xx" => options.only_old = true,
                b"gt" => options.only_greater = true,
                b"lt" => options.only_less = true,
                b"ch" => options.count_changed = true,
                b"incr" => options.increment = true,
                _ => break,
            }
            options.first += 1;
        }
        let rest = call.arguments.len() - options.first;
        if rest == 0 || !rest.is_multiple_of(2) {
            return Err(Failure::Syntax);
        }
        if options.only_new && options.only_old {
            return Err(Failure::other("ERR XX and NX options at the same time are not compatible"));
        }
        if [options.only_new, options.only_greater, options.only_less].iter().filter(|set| **set).count() > 1
        {
            return Err(Failure::other("ERR GT, LT, and/or NX options at the same time are not compatible"));
        }
        if options.increment && rest > 2 {
            return Err(Failure::other("ERR INCR option supports a single increment-element pair"));
        }
        Ok(options)
    }

    /// Whether a member with this old score may get this new one.
    fn allow(&self, old: Option<f64>, new: f64) -> bool {
        match old {
            None => !self.only_old,
            Some(old) => !(self.only_new || self.only_greater && new <= old || self.only_less && new >= old),
        }
    }
}

fn zadd(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let options = AddOptions::parse(call)?;
    let mut rest = call.arguments.from(options.first);
    let mut pairs = Vec::with_capacity(rest.len() / 2);
    while let (Some(score), Some(member)) = (rest.next(), rest.next()) {
        pairs.push((float(score)?, member));
    }
    let (database, reply) = call.database();
    let mut value = database.edit_or(key, || Value::SortedSet(Box::default()));
    let set = value.as_sorted_set_mut()?;
    let (mut added, mut changed, mut last) = (0, 0, None);
    for (score, member) in pairs {
        let old = set.score(member);
        let new = if options.increment { old.unwrap_or(0.0) + score } else { score };
        if new.is_nan() {
            return Err(Failure::other("ERR resulting score is not a number (NaN)"));
        }
        if options.allow(old, new) {
            set.set(member, new);
            added += usize::from(old.is_none());
            changed += usize::from(old.is_some_and(|old| old != new));
            last = Some(new);
        }
    }
    match (options.increment, last) {
        (true, Some(score)) => reply.double(score),
        (true, None) => reply.null(),
        (false, _) => reply.count(if options.count_changed { added + changed } else { added }),
    }
    Ok(())
}

fn zpopmin(call: &mut Call<'_>) -> Outcome {
    if call.arguments.len() > 3 {
        return Err(Failure::Syntax);
    }
    let count = match call.arguments.get(2) {
        Some(_) => {
            let count = call.integer(2).map_err(|_| Failure::NotPositive)?;
            Some(usize::try_from(count).map_err(|_| Failure::NotPositive)?)
        }
        None => None,
    };
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let mut value = database.edit(key);
    let Some(set) = value.as_mut().map(|value| value.as_sorted_set_mut()).transpose()? else {
        reply.array(0);
        return Ok(());
    };
    let take = count.unwrap_or(1).min(set.len());
    // RESP3 nests the pairs when a count was given; without one there is a single pair.
    let nested = reply.protocol == Protocol::Resp3 && count.is_some();
    reply.array(if nested { take } else { 2 * take });
    for (member, score) in std::iter::from_fn(|| set.pop_first()).take(take) {
        if nested {
            reply.array(2);
        }
        reply.bulk(&member);
        reply.double(score);
    }
    Ok(())
}

fn zcard(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let set = database.read(key).map(Value::as_sorted_set).transpose()?;
    reply.count(set.map_or(0, SortedSet::len));
    Ok(())
}

fn zscore(call: &mut Call<'_>) -> Outcome {
    let (key, member) = (call.argument(1)?, call.argument(2)?);
    let (database, reply) = call.database();
    let set = database.read(key).map(Value::as_sorted_set).transpose()?;
    match set.and_then(|set| set.score(member)) {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(())
}

fn zrange(call: &mut Call<'_>) -> Outcome {
    let (mut with_scores, mut reverse) = (false, false);
    for word in call.arguments.from(4) {
        match word.to_ascii_lowercase().as_slice() {
            b"withscores" => with_scores = true,
            b"rev" => reverse = true,
            b"byscore" | b"bylex" | b"limit" => {
                return Err(Failure::other("ERR the built-in server has ZRANGE by index only"));
            }
            _ => return Err(Failure::Syntax),
        }
    }
    let (key, start, stop) = (call.argument(1)?, call.integer(2)?, call.integer(3)?);
    let (database, reply) = call.database();
    let Some(set) = database.read(key).map(Value::as_sorted_set).transpose()? else {
        reply.array(0);
        return Ok(());
    };
    let (from, to) = index_range(start, stop, set.len());
    let nested = with_scores && reply.protocol == Protocol::Resp3;
    reply.array(if with_scores && !nested { 2 * (to - from) } else { to - from });
    let mut write = |(member, score): (&[u8], f64)| {
        if nested {
            reply.array(2);
        }
        member_and_score(reply, member, with_scores.then_some(score));
    };
    if reverse {
        set.iter().rev().skip(from).take(to - from).for_each(&mut write);
    } else {
        set.iter().skip(from).take(to - from).for_each(&mut write);
    }
    Ok(())
}

fn member_and_score(reply: &mut Reply<'_>, member: &[u8], score: Option<f64>) {
    reply.bulk(member);
    if let Some(score) = score {
        reply.double(score);
    }
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn members_are_ranked_by_score() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("ZADD z 3 c 1 a 2 b"), ":3\n");
        assert_eq!(desk.words("ZRANGE z 0 -1"), ["a", "b", "c"]);
        assert_eq!(desk.words("ZRANGE z 0 0 REV WITHSCORES"), ["c", "3"]);
        assert_eq!((desk.ask("ZSCORE z b"), desk.ask("ZSCORE z x")), ("$1\n2\n".into(), "$-1\n".into()));
        assert_eq!(desk.words("ZPOPMIN z"), ["a", "1"]);
        assert_eq!(desk.words("ZPOPMIN z 5"), ["b", "2", "c", "3"]);
        assert_eq!(
            (desk.ask("EXISTS z"), desk.ask("ZPOPMIN z"), desk.ask("ZCARD z")),
            (":0\n".into(), "*0\n".into(), ":0\n".into())
        );
    }

    #[test]
    fn scores_are_doubles_in_resp3() {
        let mut desk = Desk::new();
        desk.ask("HELLO 3");
        desk.ask("ZADD z 1.5 a inf b");
        assert_eq!(desk.ask("ZSCORE z a"), ",1.5\n");
        assert_eq!(desk.ask("ZRANGE z 0 -1 WITHSCORES"), "*2\n*2\n$1\na\n,1.5\n*2\n$1\nb\n,inf\n");
        assert_eq!(desk.ask("ZPOPMIN z"), "*2\n$1\na\n,1.5\n");
        assert_eq!(desk.ask("ZPOPMIN z 1"), "*1\n*2\n$1\nb\n,inf\n");
        assert_eq!(desk.ask("ZSCORE z a"), "_\n");
    }

    #[test]
    fn zadd_has_its_options() {
        let mut desk = Desk::new();
        desk.ask("ZADD z 5 a");
        assert_eq!((desk.ask("ZADD z NX 9 a"), desk.ask("ZADD z XX 9 b")), (":0\n".into(), ":0\n".into()));
        assert_eq!(
            (desk.ask("ZADD z GT CH 4 a"), desk.ask("ZADD z LT CH 4 a")),
            (":0\n".into(), ":1\n".into())
        );
        assert_eq!(
            (desk.ask("ZADD z INCR 2 a"), desk.ask("ZADD z NX INCR 2 a")),
            ("$1\n6\n".into(), "$-1\n".into())
        );
        for (request, error) in [
            ("ZADD z x a", "-ERR value is not a valid float\n"),
            ("ZADD z 1 a 2", "-ERR syntax error\n"),
            ("ZADD z NX XX 1 a", "-ERR XX and NX options at the same time are not compatible\n"),
            ("ZADD z nan a", "-ERR value is not a valid float\n"),
            ("ZRANGE z a b", "-ERR value is not an integer or out of range\n"),
            ("ZPOPMIN z x", "-ERR value is out of range, must be positive\n"),
        ] {
            assert_eq!(desk.ask(request), error, "{request}");
        }
        desk.ok("SET s x");
        for request in ["ZADD s 1 a", "ZPOPMIN s", "ZCARD s", "ZSCORE s a", "ZRANGE s 0 1"] {
            assert!(desk.ask(request).starts_with("-WRONGTYPE "), "{request}");
        }
    }
}
