//! The table of options: what each is called, what it takes, who has it, what it does, and its help.

use std::path::PathBuf;

use super::{
    asked::Asked,
    flavour::Who,
    numbers::{atoi, seconds},
};
use crate::{
    compat::{Choice, Refusal, flag, value},
    endpoint::{Trust, UnknownCipher},
    load::LatencyTo,
};

/// All options, in the order of the help.
pub(super) static OPTIONS: &[Choice<Asked, Who>] = &[
    value(&["-h"], Who::Both, ("<hostname>", "Server hostname (default 127.0.0.1)"), |asked, text| {
        asked.server.host = Some(text.to_owned());
        Ok(())
    }),
    value(&["-p"], Who::Both, ("<port>", "Server port (default 6379)"), |asked, text| {
        asked.server.port = Some(port(atoi(text))?);
        Ok(())
    }),
    value(&["-s"], Who::Both, ("<socket>", "Server socket (overrides host and port)"), |asked, text| {
        asked.server.socket = Some(text.into());
        Ok(())
    }),
    value(
        &["-a"],
        Who::Both,
        ("<password>", "Password for AUTH; the environment is not asked for one"),
        |asked, text| {
            asked.server.password = Some(text.to_owned());
            Ok(())
        },
    ),
    value(
        &["--user"],
        Who::Both,
        ("<username>", "Used to send ACL style 'AUTH username pass'. Needs -a."),
        |asked, text| {
            asked.server.user = Some(text.to_owned());
            Ok(())
        },
    ),
    value(
        &["-u"],
        Who::Both,
        (
            "<uri>",
            "Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, valkey:// and valkeys:// too",
        ),
        |asked, text| match asked.server.take_uri(text) {
            Ok(dialect) if dialect.is_resp() => Ok(()),
            Ok(_) => Err(Refusal::Told("Invalid URI scheme: bench speaks to Redis and Valkey".to_owned())),
            Err(error) => Err(Refusal::Told(error.to_string())),
        },
    ),
    value(&["-c"], Who::Both, ("<clients>", "Number of parallel connections (default 50)"), |asked, text| {
        asked.clients = Some(atoi(text));
        Ok(())
    }),
    value(&["-n"], Who::Both, ("<requests>", "Total number of requests (default 100000)"), |asked, text| {
        asked.requests = Some(atoi(text));
        if asked.duration.is_some() { Err(exclusive()) } else { Ok(()) }
    }),
    value(
        &["--duration"],
        Who::Valkey,
        ("<seconds>", "Run each test for so many seconds (mutually exclusive with -n)"),
        |asked, text| {
            asked.duration = seconds(text);
            if asked.requests.is_some_and(|requests| requests > 0) { Err(exclusive()) } else { Ok(()) }
        },
    ),
    value(
        &["--warmup"],
        Who::Valkey,
        ("<seconds>", "Run each test for so many seconds before data is recorded"),
        |asked, text| {
            asked.warmup = seconds(text);
            Ok(())
        },
    ),
    value(
        &["-d"],
        Who::Both,
        ("<size>", "Data size of SET/GET value in bytes (default 3)"),
        |asked, text| {
            asked.data_size = Some(atoi(text).clamp(1, 1 << 30) as usize);
            Ok(())
        },
    ),
    value(&["--dbnum"], Who::Both, ("<db>", "SELECT the specified db number (default 0)"), |asked, text| {
        asked.server.db = atoi(text);
        Ok(())
    }),
    flag(&["-3"], Who::Both, "Start session in RESP3 protocol mode.", |asked| {
        asked.resp3 = true;
        Ok(())
    }),
    value(&["--threads"], Who::Both, ("<num>", "Enable multi-thread mode."), |asked, text| {
        asked.threads = atoi(text).max(0);
        if asked.threads > MOST_THREADS {
            asked.threads = MOST_THREADS;
            asked.warnings.push(format!("WARNING: Too many threads, limiting threads to {MOST_THREADS}."));
        }
        Ok(())
    }),
    flag(&["--cluster"], Who::Both, "Enable cluster mode. It is not there yet.", |_| {
        Err(not_there("--cluster"))
    }),
    flag(&["--enable-tracking"], Who::Both, "Send CLIENT TRACKING on before starting benchmark.", |asked| {
        asked.tracks = true;
        Ok(())
    }),
    value(&["-k"], Who::Both, ("<boolean>", "1=keep alive 0=reconnect (default 1)"), |asked, text| {
        asked.keep_alive = Some(atoi(text));
        Ok(())
    }),
    value(
        &["-r"],
        Who::Both,
        (
            "<keyspacelen>",
            "Replace __rand_int__ in arguments by a random number in 12 digits from 0 to keyspacelen-1, another one each \
             time: random keys for SET/GET/INCR, random values for SADD, random members and scores for ZADD. Without -r \
             it is sent as it is, and all commands use the same key.",
        ),
        |asked, text| {
            let digits = text.strip_prefix('-');
            if digits.is_some_and(|digits| !digits.starts_with(|first: char| first.is_ascii_digit())) {
                return Err(Refusal::Invalid);
            }
            asked.keyspace = Some(atoi(text).clamp(0, MOST_KEYS) as u64);
            Ok(())
        },
    ),
    flag(
        &["--sequential"],
        Who::Valkey,
        "With -r: numbers one after the other and not random ones, __rand_int__ and each of __rand_1st__ to __rand_9th__ by \
         a counter of its own.",
        |asked| {
            asked.is_sequential = true;
            Ok(())
        },
    ),
    value(
        &["-P"],
        Who::Both,
        (
            "<numreq>",
            "Pipeline <numreq> requests: send them before waiting for the replies. Default 1 (no pipeline).",
        ),
        |asked, text| {
            asked.pipeline = Some(atoi(text));
            Ok(())
        },
    ),
    flag(&["-q"], Who::Both, "Quiet. Just show query/sec values", |asked| {
        asked.is_quiet = true;
        Ok(())
    }),
    value(
        &["--precision"],
        Who::Both,
        (
            "<digits>",
            "Taken, and without effect: latencies always have three significant digits, which is theirs without it, and are \
             always written with three decimals",
        ),
        |_, _| Ok(()),
    ),
    flag(&["--csv"], Who::Both, "Output in CSV format", |asked| {
        asked.is_csv = true;
        Ok(())
    }),
    flag(&["-l"], Who::Both, "Loop. Run the tests forever", |asked| {
        asked.loops = true;
        Ok(())
    }),
    value(
        &["-t"],
        Who::Both,
        (
            "<tests>",
            "Only run the comma separated list of tests. The test names are the same as the ones produced as output; \
             others are ignored. The -t option is ignored if a specific command is supplied on the command line.",
        ),
        |asked, text| {
            asked.tests = Some(format!(",{},", text.to_ascii_lowercase()));
            Ok(())
        },
    ),
    flag(&["-I"], Who::Both, "Idle mode. Just open N idle connections and wait.", |asked| {
        asked.is_idle = true;
        Ok(())
    }),
    flag(&["-x"], Who::Both, "Read last argument of the command from STDIN.", |asked| {
        asked.reads_stdin = true;
        Ok(())
    }),
    value(
        &["--rps"],
        Who::Valkey,
        (
            "<requests>",
            "Send so many requests per second, evenly, whatever the server does. Default 0 (no limit)",
        ),
        |asked, text| {
            asked.rps = u32::try_from(atoi(text)).ok().filter(|rps| *rps > 0);
            Ok(())
        },
    ),
    value(
        &["--seed"],
        Who::Both,
        ("<num>", "Set the seed for random number generator. Default seed is another one each time."),
        |asked, text| {
            asked.seed = Some(atoi(text) as u64);
            Ok(())
        },
    ),
    flag(&["-e"], Who::Both, "Taken, and without effect: an error always ends the run.", |asked| {
        asked.warnings.push(
            "WARNING: -e option has no effect. We now immediately exit on error to avoid false results."
                .to_owned(),
        );
        Ok(())
    }),
    value(
        &["--num-functions"],
        Who::Valkey,
        ("<num>", "Number of functions in the library that the test 'function_load' loads (default 10)."),
        |asked, text| {
            asked.num_functions = Some(atoi(text));
            Ok(())
        },
    ),
    value(
        &["--num-keys-in-fcall"],
        Who::Valkey,
        ("<num>", "Number of keys passed to FCALL in the test 'fcall' (default 1)."),
        |asked, text| {
            asked.num_keys_in_fcall = Some(atoi(text));
            Ok(())
        },
    ),
    flag(&["--tls"], Who::Both, "Establish a secure TLS connection.", |asked| {
        asked.server.is_tls = true;
        Ok(())
    }),
    value(&["--sni"], Who::Both, ("<host>", "Server name indication for TLS."), |asked, text| {
        asked.server.tls.server_name = Some(text.to_owned());
        Ok(())
    }),
    value(&["--cacert"], Who::Both, ("<file>", "CA certificate file to verify with."), |asked, text| {
        asked.server.trust(|file, _| *file = Some(text.into()));
        Ok(())
    }),
    value(
        &["--cacertdir"],
        Who::Both,
        (
            "<dir>",
            "Directory of trusted CA certificates. Without --cacert and --cacertdir the system's are trusted.",
        ),
        |asked, text| {
            asked.server.trust(|_, directory| *directory = Some(text.into()));
            Ok(())
        },
    ),
    flag(&["--insecure"], Who::Both, "Allow insecure TLS connection by skipping cert validation.", |asked| {
        asked.server.tls.trust = Trust::Anybody;
        Ok(())
    }),
    value(&["--cert"], Who::Both, ("<file>", "Client certificate to authenticate with."), |asked, text| {
        asked.server.certificate = Some(PathBuf::from(text));
        Ok(())
    }),
    value(&["--key"], Who::Both, ("<file>", "Private key file to authenticate with."), |asked, text| {
        asked.server.key = Some(PathBuf::from(text));
        Ok(())
    }),
    value(
        &["--tls-ciphers"],
        Who::Both,
        (
            "<list>",
            "Ciphers of TLS 1.2 that are offered, the preferred first, by their names in OpenSSL with colons between \
             them. Words of OpenSSL for many (HIGH, !aNULL) are not taken.",
        ),
        |asked, text| {
            asked.server.tls.ciphers.name_tls12(text).map_err(|error| unknown("--tls-ciphers", &error))
        },
    ),
    value(
        &["--tls-ciphersuites"],
        Who::Both,
        ("<list>", "Ciphers of TLS 1.3 that are offered, likewise."),
        |asked, text| {
            asked.server.tls.ciphers.name_tls13(text).map_err(|error| unknown("--tls-ciphersuites", &error))
        },
    ),
    flag(&["--mptcp"], Who::Valkey, "Enable an MPTCP connection. It is not there yet.", |_| {
        Err(not_there("--mptcp"))
    }),
    value(
        &["--rfr"],
        Who::Valkey,
        ("<mode>", "Read from replicas in cluster mode: no, yes or all. Without --cluster it has no effect."),
        |_, text| if ["no", "yes", "all"].contains(&text) { Ok(()) } else { Err(Refusal::Invalid) },
    ),
    value(
        &["--dataset"],
        Who::Valkey,
        (
            "<file>",
            "Fields of records for __field:name__ in the command: CSV, TSV, JSON lines or XML, gzip too. Each command or \
             sequence is of the next record, the first again after the last.",
        ),
        |asked, text| {
            asked.dataset = Some(text.into());
            Ok(())
        },
    ),
    value(
        &["--maxdocs"],
        Who::Valkey,
        ("<num>", "Take only the first <num> records of --dataset (default all)"),
        |asked, text| {
            asked.maxdocs = u64::try_from(atoi(text)).ok().filter(|most| *most > 0);
            Ok(())
        },
    ),
    value(
        &["--compat"],
        Who::Ours,
        (
            "first-byte",
            "Measure a latency as redis-benchmark does: to the first byte of the first reply of a batch, for each of its \
             requests",
        ),
        |asked, text| {
            asked.latency_to = LatencyTo::FirstByte;
            if text == "first-byte" { Ok(()) } else { Err(Refusal::Invalid) }
        },
    ),
    flag(
        &["--json"],
        Who::Ours,
        "A JSON object a test, with redyno's own figures and the distribution",
        |asked| {
            asked.is_json = true;
            Ok(())
        },
    ),
];

/// More threads are not taken.
const MOST_THREADS: i64 = 500;
/// As many numbers as twelve digits have, but one.
const MOST_KEYS: i64 = 999_999_999_999;

fn exclusive() -> Refusal {
    Refusal::Told("Options -n and --duration are mutually exclusive.".to_owned())
}

/// What has its place in the table, and nowhere else yet.
fn not_there(option: &str) -> Refusal {
    Refusal::Told(format!("{option} is not there yet in redyno bench"))
}

fn unknown(option: &str, error: &UnknownCipher) -> Refusal {
    Refusal::Told(format!("{option}: {error}"))
}

/// A port, as a number that was read.
fn port(number: i64) -> Result<u16, Refusal> {
    u16::try_from(number).map_err(|_| Refusal::Told("Invalid server port.".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_stands_twice() {
        let names: Vec<_> = OPTIONS.iter().flat_map(|option| option.names).collect();
        for (n, name) in names.iter().enumerate() {
            assert!(!names[..n].contains(name), "{name}");
        }
    }
}
