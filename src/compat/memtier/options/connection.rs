//! Where the server is, and what is spoken with it.

use super::{Row, number, positive, told};
use crate::{
    compat::{
        Refusal, flag,
        memtier::asked::{Asked, Protocol},
        value,
    },
    endpoint::Trust,
    protocol::Dialect,
};

pub(super) const OPTIONS: &[Row] = &[
    value(
        &["-h", "--host", "-s", "--server"],
        (),
        ("ADDR", "Server address (default: localhost)"),
        |asked, text| {
            asked.server.host = Some(text.to_owned());
            Ok(())
        },
    ),
    value(&["-p", "--port"], (), ("PORT", "Server port (default: 6379)"), |asked, text| {
        match number(text).filter(|port| *port > 0) {
            Some(port) => asked.server.port = Some(port),
            None => return told("port must be a number in the range [1-65535]."),
        }
        Ok(())
    }),
    value(
        &["-S", "--unix-socket"],
        (),
        ("SOCKET", "UNIX Domain socket name (default: none)"),
        |asked, text| {
            asked.server.socket = Some(text.into());
            Ok(())
        },
    ),
    value(
        &["-P", "--protocol"],
        (),
        (
            "PROTOCOL",
            "Protocol to use (default: redis): redis, resp2, resp3 or memcache_text. Only resp3 is said to the server, by \
             HELLO 3.",
        ),
        |asked, text| {
            let known = Protocol::ALL.into_iter().find(|protocol| protocol.name() == text);
            match (known, text) {
                (Some(protocol), _) => asked.protocol = protocol,
                (None, "memcache_binary") => {
                    return told(
                        "memcache_binary is not there in redyno memtier: -P memcache_text is memcached's text.",
                    );
                }
                (None, _) => {
                    return told("supported protocols are 'memcache_text', 'redis', 'resp2' and 'resp3'.");
                }
            }
            Ok(())
        },
    ),
    value(
        &["-a", "--authenticate"],
        (),
        ("CREDENTIALS", "Authenticate by a password, or by USER:PASSWORD"),
        |asked, text| {
            asked.authenticate = Some(text.to_owned());
            Ok(())
        },
    ),
    value(
        &["-u", "--uri"],
        (),
        (
            "URI",
            "Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, valkey:// and memcached:// too. It \
             precedes the other options",
        ),
        |asked, text| {
            asked.uri = Some(text.to_owned());
            Ok(())
        },
    ),
    flag(&["--tls"], (), "Enable TLS transport security", |asked| {
        asked.server.is_tls = true;
        Ok(())
    }),
    value(&["--cert"], (), ("FILE", "Use this client certificate for TLS"), |asked, text| {
        asked.server.certificate = Some(text.into());
        Ok(())
    }),
    value(
        &["--key"],
        (),
        ("FILE", "Use this private key for TLS; without it that of --cert"),
        |asked, text| {
            asked.server.key = Some(text.into());
            Ok(())
        },
    ),
    value(
        &["--cacert"],
        (),
        ("FILE", "Use this bundle of CAs for TLS; without it the system's are trusted"),
        |asked, text| {
            asked.server.trust(|file, _| *file = Some(text.into()));
            Ok(())
        },
    ),
    flag(&["--tls-skip-verify"], (), "Skip the verification of the server's certificate", |asked| {
        asked.server.tls.trust = Trust::Anybody;
        Ok(())
    }),
    value(
        &["--tls-protocols"],
        (),
        ("LIST", "TLSv1.2,TLSv1.3, which is what is spoken; no other list is taken"),
        tls_protocols,
    ),
    value(&["--sni"], (), ("STRING", "Add an SNI header"), |asked, text| {
        asked.server.tls.server_name = Some(text.to_owned());
        Ok(())
    }),
    value(
        &["-x", "--run-count"],
        (),
        ("NUMBER", "Number of full-test iterations to perform"),
        |asked, text| {
            asked.run_count = positive(text, "run count")?;
            Ok(())
        },
    ),
];

fn tls_protocols(_: &mut Asked, text: &str) -> Result<(), Refusal> {
    let mut protocols: Vec<_> = text.split(',').map(str::to_ascii_lowercase).collect();
    protocols.sort();
    if protocols == ["tlsv1.2", "tlsv1.3"] {
        return Ok(());
    }
    told("redyno speaks TLS 1.2 and 1.3: --tls-protocols takes TLSv1.2,TLSv1.3 and nothing else.")
}

/// What `-a` and `--uri` mean, when all options are read.
///
/// # Errors
/// When the URI is none.
pub(in crate::compat::memtier) fn settle(asked: &mut Asked) -> Result<(), Refusal> {
    if let Some(credentials) = &asked.authenticate {
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (Some(user.to_owned()), password),
            None => (None, credentials.as_str()),
        };
        (asked.server.user, asked.server.password) = (user, Some(password.to_owned()));
    }
    if asked.server.key.is_none() {
        asked.server.key = asked.server.certificate.clone();
    }
    let Some(uri) = asked.uri.clone() else { return Ok(()) };
    match asked.server.take_uri(&uri) {
        Ok(Dialect::Memcached) => asked.protocol = Protocol::MemcacheText,
        Ok(_) => {}
        Err(error) => return told(&error.to_string()),
    }
    Ok(())
}
