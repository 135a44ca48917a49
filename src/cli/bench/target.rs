//! From the options to the server that they mean.

use super::{
    asked::Asked,
    options::{Refusal, port},
};
use crate::{
    protocol::Dialect,
    target::{
        Address, ClientCertificate, Credentials, DEFAULT_HOST, DEFAULT_PORT, Password, Target, Tls, TlsError,
        TlsSettings, parse_uri,
    },
};

/// Takes what a URI says over into the options.
pub(super) fn take_uri(asked: &mut Asked, text: &str) -> Result<(), Refusal> {
    let parsed = parse_uri(text).map_err(|error| Refusal::Told(error.to_string()))?;
    if !parsed.target.dialect.is_resp() {
        return Err(Refusal::Told("Invalid URI scheme: bench speaks to Redis and Valkey".to_owned()));
    }
    match parsed.target.address {
        Address::Tcp { host, port: number } => {
            (asked.host, asked.port) = (Some(host), Some(port(number.into())?));
        }
        Address::Unix(path) => asked.socket = Some(path),
    }
    if let Some(Credentials { user, password }) = parsed.target.credentials {
        (asked.user, asked.password) = (user, Some(password.reveal().to_owned()));
    }
    asked.db = parsed.target.db.into();
    asked.is_tls |= parsed.tls;
    Ok(())
}

/// The server.
///
/// # Errors
/// When a file of TLS is not what it should be.
pub(super) fn target(asked: &Asked) -> Result<Target, TlsError> {
    let host = asked.host.clone().unwrap_or_else(|| DEFAULT_HOST.to_owned());
    let tcp = Address::Tcp { host, port: asked.port.unwrap_or(DEFAULT_PORT) };
    let address = asked.socket.clone().map_or(tcp, Address::Unix);
    let client = asked.certificate.clone().zip(asked.key.clone());
    let client = client.map(|(certificate, key)| ClientCertificate { certificate, key });
    let settings = TlsSettings { client, ..asked.tls.clone() };
    let tls = asked.is_tls.then(|| Tls::new(settings, &address)).transpose()?;
    let credentials = asked
        .password
        .clone()
        .map(|password| Credentials { user: asked.user.clone(), password: Password::new(password) });
    Ok(Target {
        address,
        credentials,
        // A number that no server has is refused by the server.
        db: u32::try_from(asked.db).unwrap_or(u32::MAX),
        dialect: if asked.resp3 { Dialect::Resp3 } else { Dialect::Resp2 },
        tls,
        ..Target::default()
    })
}

/// Where it is, as the benchmarks write it.
pub(super) fn place(target: &Target) -> String {
    match &target.address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    }
}
