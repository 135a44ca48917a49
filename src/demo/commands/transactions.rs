//! MULTI, EXEC and DISCARD. Requests between them are queued before they reach a command; there is no WATCH.

use super::{Asked, Call, Command, Flags, Outcome, run};
use crate::demo::failure::Failure;
use crate::demo::state::Transaction;

const AT_ONCE: Flags = Flags::UNQUEUED.and(Flags::FAST);

pub(super) const COMMANDS: &[Command] = &[
    Command::new("multi", 1, AT_ONCE, multi),
    Command::new("exec", 1, Flags::UNQUEUED, exec),
    Command::new("discard", 1, AT_ONCE, discard),
];

fn multi(call: &mut Call<'_>) -> Outcome {
    let transaction = &mut call.session().transaction;
    if transaction.is_some() {
        return Err(Failure::other("ERR MULTI calls can not be nested"));
    }
    *transaction = Some(Transaction::default());
    call.reply.ok();
    Ok(())
}

fn discard(call: &mut Call<'_>) -> Outcome {
    call.session().transaction.take().ok_or(Failure::other("ERR DISCARD without MULTI"))?;
    call.reply.ok();
    Ok(())
}

/// Each command counts as one of its own, beside EXEC; its error is its own place in the array.
fn exec(call: &mut Call<'_>) -> Outcome {
    let transaction = call.session().transaction.take().ok_or(Failure::other("ERR EXEC without MULTI"))?;
    if transaction.broken {
        return Err(Failure::other("EXECABORT Transaction discarded because of previous errors."));
    }
    call.reply.array(transaction.queued.len());
    for queued in &transaction.queued {
        call.state.sleep(queued.slow);
        let asked = Asked { slot: call.slot, id: queued.id, arguments: queued.arguments() };
        let protocol = call.session().protocol;
        run(call.table, call.state, asked, call.reply.part(protocol));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn what_is_queued_runs_at_exec_and_an_error_has_its_place_in_the_array() {
        let mut desk = Desk::new();
        let other = desk.connect();
        desk.ok("MULTI");
        for request in ["SET a 1", "LPUSH a x", "INCR a", "HSET h f v"] {
            assert_eq!(desk.ask(request), "+QUEUED\n");
        }
        assert_eq!(desk.ask_as(other, "GET a"), "$-1\n");
        let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        assert_eq!(desk.ask("EXEC"), format!("*4\n+OK\n{wrong}\n:2\n:1\n"));
        assert_eq!(desk.ask("EXEC"), "-ERR EXEC without MULTI\n");
        let info = desk.ask("INFO commandstats");
        for counted in ["multi:calls=1,", "set:calls=1,", "lpush:calls=1,", "exec:calls=2,"] {
            assert!(info.contains(&format!("cmdstat_{counted}")), "{counted} {info}");
        }
    }

    #[test]
    fn a_refused_request_breaks_the_transaction_and_nothing_runs() {
        let mut desk = Desk::new();
        for refused in ["GET", "NOSUCH a", "CONFIG nosuch"] {
            desk.ok("MULTI");
            assert_eq!(desk.ask("SET a 1"), "+QUEUED\n");
            assert!(desk.ask(refused).starts_with("-ERR "));
            assert_eq!(
                desk.ask("EXEC"),
                "-EXECABORT Transaction discarded because of previous errors.\n",
                "{refused}"
            );
            assert_eq!(desk.ask("EXISTS a"), ":0\n");
        }
    }

    #[test]
    fn multi_is_not_nested_and_discard_forgets() {
        let mut desk = Desk::new();
        assert_eq!(desk.ask("DISCARD"), "-ERR DISCARD without MULTI\n");
        desk.ok("MULTI");
        assert_eq!(desk.ask("MULTI"), "-ERR MULTI calls can not be nested\n");
        assert_eq!(desk.ask("SET a 1"), "+QUEUED\n");
        desk.ok("DISCARD");
        assert_eq!(desk.ask("EXISTS a"), ":0\n");
        desk.ok("MULTI");
        assert_eq!((desk.ask("RESET"), desk.ask("EXISTS a")), ("+RESET\n".into(), ":0\n".into()));
        desk.ok("MULTI");
        assert_eq!(desk.ask("EXEC"), "*0\n");
    }
}
