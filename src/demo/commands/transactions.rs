//! MULTI and EXEC. Requests between them are queued before they reach a command; there is no WATCH and no DISCARD.

use super::{Call, Outcome};
use crate::demo::failure::Failure;
use crate::demo::state::Transaction;

pub fn multi(call: &mut Call<'_>) -> Outcome {
    let transaction = &mut call.session().transaction;
    if transaction.is_some() {
        return Err(Failure::other("ERR MULTI calls can not be nested"));
    }
    *transaction = Some(Transaction::default());
    call.reply.ok();
    Ok(())
}

/// Each command counts as one of its own, beside EXEC; its error is its own place in the array.
pub fn exec(call: &mut Call<'_>) -> Outcome {
    let transaction = call.session().transaction.take().ok_or(Failure::other("ERR EXEC without MULTI"))?;
    if transaction.broken {
        return Err(Failure::other("EXECABORT Transaction discarded because of previous errors."));
    }
    call.reply.array(transaction.queued.len());
    for queued in &transaction.queued {
        call.state.spend(queued.slow);
        let (client, protocol) = (call.client, call.session().protocol);
        let (state, reply) = (&mut *call.state, call.reply.part(protocol));
        Call { arguments: queued.arguments(), client, id: queued.id, state, reply }.run();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn what_is_queued_runs_at_exec_and_an_error_has_its_place_in_the_array() {
        let mut server = TestServer::new();
        let other = server.connect();
        server.ok("MULTI");
        for request in ["SET a 1", "LPUSH a x", "INCR a", "HSET h f v"] {
            assert_eq!(server.ask(request), "+QUEUED\n");
        }
        assert_eq!(server.ask_as(other, "GET a"), "$-1\n");
        let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        assert_eq!(server.ask("EXEC"), format!("*4\n+OK\n{wrong}\n:2\n:1\n"));
        server.expect(&[("EXEC", "-ERR EXEC without MULTI")]);
        let info = server.ask("INFO commandstats");
        for counted in ["multi:calls=1,", "set:calls=1,", "lpush:calls=1,", "exec:calls=2,"] {
            assert!(info.contains(&format!("cmdstat_{counted}")), "{counted} {info}");
        }
    }

    #[test]
    fn a_refused_request_breaks_the_transaction_and_nothing_runs() {
        let mut server = TestServer::new();
        for refused in ["GET", "NOSUCH a", "CONFIG nosuch"] {
            server.expect(&[("MULTI", "+OK"), ("SET a 1", "+QUEUED")]);
            assert!(server.ask(refused).starts_with("-ERR "), "{refused}");
            server.expect(&[
                ("EXEC", "-EXECABORT Transaction discarded because of previous errors."),
                ("EXISTS a", ":0"),
            ]);
        }
    }

    #[test]
    fn multi_is_not_nested() {
        TestServer::new().expect(&[
            ("MULTI", "+OK"),
            ("MULTI", "-ERR MULTI calls can not be nested"),
            ("EXEC", "*0"),
        ]);
    }
}
