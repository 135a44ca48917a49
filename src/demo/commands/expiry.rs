//! Time to live.

use super::{Call, Command, Flags, Outcome};
use crate::demo::failure::Failure;

const READ: Flags = Flags::READ.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("expire", -3, WRITE, |call| expire(call, "expire", 1000)).keyed(1, 1, 1),
    Command::new("pexpire", -3, WRITE, |call| expire(call, "pexpire", 1)).keyed(1, 1, 1),
    Command::new("ttl", 2, READ, |call| ttl(call, 1000)).keyed(1, 1, 1),
    Command::new("pttl", 2, READ, |call| ttl(call, 1)).keyed(1, 1, 1),
    Command::new("persist", 2, WRITE, persist).keyed(1, 1, 1),
];

/// `scale` is the unit in ms.
fn expire(call: &mut Call<'_>, name: &'static str, scale: i64) -> Outcome {
    let (key, n) = (call.argument(1)?, call.integer(2)?);
    let now_ms = call.state.unix_ms() as i64;
    let at_ms =
        n.checked_mul(scale).and_then(|ms| ms.checked_add(now_ms)).ok_or(Failure::ExpireTime(name))?;
    let condition = call.arguments.get(3).map(<[u8]>::to_ascii_lowercase);
    if call.arguments.len() > 4 {
        return Err(Failure::other("ERR Unsupported option: only one of NX, XX, GT and LT is taken"));
    }
    let (database, reply) = call.database();
    // A key that never expires counts as one that does so after all others.
    let old_ms = database.deadline(key).flatten();
    let old = old_ms.map_or(i64::MAX, |ms| ms as i64);
    let allowed = match condition.as_deref() {
        None => true,
        Some(b"nx") => old_ms.is_none(),
        Some(b"xx") => old_ms.is_some(),
        Some(b"gt") => at_ms > old,
        Some(b"lt") => at_ms < old,
        Some(other) => {
            let option = String::from_utf8_lossy(other).into_owned();
            return Err(Failure::other(format!("ERR Unsupported option {option}")));
        }
    };
    // A moment before 1970 has passed as well as any other.
    let done = allowed && database.expire_at(key, Some(u64::try_from(at_ms).unwrap_or(0)));
    reply.integer(done.into());
    Ok(())
}

fn ttl(call: &mut Call<'_>, scale: u64) -> Outcome {
    let key = call.argument(1)?;
    let now_ms = call.state.unix_ms();
    let (database, reply) = call.database();
    let left = match database.deadline(key) {
        None => -2,
        Some(None) => -1,
        Some(Some(at_ms)) => ((at_ms - now_ms + scale / 2) / scale) as i64,
    };
    reply.integer(left);
    Ok(())
}

fn persist(call: &mut Call<'_>) -> Outcome {
    let key = call.argument(1)?;
    let (database, reply) = call.database();
    let volatile = database.deadline(key).flatten().is_some();
    reply.integer((volatile && database.expire_at(key, None)).into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn a_time_to_live_is_set_read_and_taken_away() {
        let mut desk = Desk::new();
        assert_eq!((desk.ask("TTL a"), desk.ask("EXPIRE a 10")), (":-2\n".into(), ":0\n".into()));
        desk.ok("SET a 1");
        assert_eq!((desk.ask("TTL a"), desk.ask("PERSIST a")), (":-1\n".into(), ":0\n".into()));
        assert_eq!((desk.ask("EXPIRE a 100"), desk.ask("TTL a")), (":1\n".into(), ":100\n".into()));
        assert_eq!(
            (desk.ask("PEXPIRE a 100000 NX"), desk.ask("PEXPIRE a 200000 GT")),
            (":0\n".into(), ":1\n".into())
        );
        assert_eq!((desk.ask("PERSIST a"), desk.ask("PTTL a")), (":1\n".into(), ":-1\n".into()));
        assert_eq!((desk.ask("EXPIRE a -1"), desk.ask("EXISTS a")), (":1\n".into(), ":0\n".into()));
        assert_eq!(desk.ask("EXPIRE a b"), "-ERR value is not an integer or out of range\n");
        assert_eq!(
            desk.ask("EXPIRE a 9223372036854775807"),
            "-ERR invalid expire time in 'expire' command\n"
        );
        assert_eq!(desk.ask("EXPIRE a 1 zz"), "-ERR Unsupported option zz\n");
    }

    #[test]
    fn a_key_is_gone_once_its_time_is_over() {
        let mut desk = Desk::new();
        // b is the older one: when a is gone, b's time is over too.
        desk.ok("SET b 1 PX 1");
        desk.ok("SET a 1 PX 1");
        let mut asked = 0;
        while desk.ask("GET a") != "$-1\n" {
            asked += 1;
            assert!(asked < 10_000_000, "the key stays");
        }
        desk.engine.state.tick();
        assert_eq!(desk.ask("DBSIZE"), ":0\n");
    }
}
