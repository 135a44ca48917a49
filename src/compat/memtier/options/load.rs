//! How much is sent, by how many, how fast and for how long.

use super::{Row, number, positive, told};
use crate::compat::{
    Refusal, flag,
    memtier::{
        asked::{Asked, Requests},
        numbers::Ratio,
    },
    value,
};

pub(super) const OPTIONS: &[Row] = &[
    value(
        &["-n", "--requests"],
        (),
        (
            "NUMBER",
            "Number of total requests per client (default: 10000); 'allkeys' is as many as there are keys, with the pattern P \
             over all clients together",
        ),
        requests,
    ),
    value(
        &["--rate-limiting"],
        (),
        ("NUMBER", "The most requests per second from an individual connection (default is unlimited)"),
        |asked, text| {
            asked.rate = Some(positive(text, "rate")?);
            Ok(())
        },
    ),
    value(
        &["-c", "--clients"],
        (),
        ("NUMBER", "Number of clients per thread (default: 50)"),
        |asked, text| {
            asked.clients = positive(text, "clients")?;
            Ok(())
        },
    ),
    value(&["-t", "--threads"], (), ("NUMBER", "Number of threads (default: 4)"), |asked, text| {
        asked.threads = positive(text, "threads")?;
        Ok(())
    }),
    value(&["--test-time"], (), ("SECS", "Number of seconds to run the test, in place of -n"), test_time),
    value(
        &["--ratio"],
        (),
        ("RATIO", "Set:Get ratio (default: 1:10): so many SETs, then so many GETs"),
        |asked, text| {
            asked.ratio =
                Some(Ratio::read(text).map_or_else(|| told("ratio must be expressed as [0-n]:[0-n]."), Ok)?);
            Ok(())
        },
    ),
    value(
        &["--pipeline"],
        (),
        ("NUMBER", "Number of concurrent pipelined requests (default: 1)"),
        |asked, text| {
            asked.pipeline = positive(text, "pipeline")?;
            Ok(())
        },
    ),
    value(
        &["--reconnect-interval"],
        (),
        ("NUM", "Number of requests after which re-connection is performed"),
        |asked, text| {
            asked.reconnect_interval = Some(positive(text, "reconnect-interval")?);
            Ok(())
        },
    ),
    flag(
        &["--reconnect-on-error"],
        (),
        "Make connections again that are lost. Without it the first loss ends the run, and what was measured is told",
        |asked| {
            asked.reconnects_on_error = true;
            Ok(())
        },
    ),
    value(
        &["--connection-timeout"],
        (),
        (
            "SECS",
            "How long a connection may wait, for being made and for each reply; 0 is for ever (default: 0)",
        ),
        |asked, text| {
            match number(text) {
                Some(seconds) => asked.connection_timeout_s = seconds,
                None => return told("connection-timeout must be a valid number."),
            }
            Ok(())
        },
    ),
    value(
        &["--multi-key-get"],
        (),
        ("NUM", "Enable multi-key get commands, up to NUM keys (default: 0). One is one request"),
        |asked, text| {
            asked.multi_key_get = positive(text, "multi-key-get")?;
            Ok(())
        },
    ),
    value(&["--select-db"], (), ("DB", "DB number to select, when testing a redis server"), |asked, text| {
        match number::<u32>(text) {
            Some(db) => asked.server.db = db.into(),
            None => return told("select-db must be greater or equal zero."),
        }
        Ok(())
    }),
    flag(
        &["--distinct-client-seed"],
        (),
        "Taken, and without effect: each client always draws from a seed of its own",
        |_| Ok(()),
    ),
    flag(&["--randomize"], (), "Another seed each time (default is a constant one)", |asked| {
        asked.is_randomized = true;
        Ok(())
    }),
];

fn exclusive() -> Result<(), Refusal> {
    told("--test-time and --requests are mutually exclusive.")
}

fn requests(asked: &mut Asked, text: &str) -> Result<(), Refusal> {
    asked.requests = Some(match (text, number(text).filter(|requests| *requests > 0)) {
        ("allkeys", _) => Requests::AllKeys,
        (_, Some(requests)) => Requests::Each(requests),
        _ => return told("requests must be greater than zero."),
    });
    if asked.test_time_s.is_some() { exclusive() } else { Ok(()) }
}

fn test_time(asked: &mut Asked, text: &str) -> Result<(), Refusal> {
    asked.test_time_s = Some(positive(text, "test time")?.into());
    if asked.requests.is_some() { exclusive() } else { Ok(()) }
}
