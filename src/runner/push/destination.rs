//! Parses the receivers of `--push`: `otlp:URL` or `remote-write:URL`. This file also reads the HTTP headers for the
//! receivers, and never shows these headers.

use std::{collections::BTreeMap, fmt, path::Path, str::FromStr};

use super::families::Labels;
use crate::{
    endpoint::{ParsedUri, Password, Target, UriError, decoded, parse_uri},
    protocol::HttpSite,
    untrusted,
};

/// HTTP headers by their names in lower case. Their values may be secret.
pub type Headers = BTreeMap<String, Password>;

/// The protocol of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PushProtocol {
    Otlp,
    RemoteWrite,
}

/// A receiver of pushed metrics.
#[derive(Debug, Clone)]
pub struct PushDestination {
    pub(super) protocol: PushProtocol,
    pub(super) target: Target,
    pub(super) is_tls: bool,
    /// The path of each request, with its query.
    pub(super) path: String,
    /// The protocol and the URL without its query. The query may contain a token.
    shown: String,
}

const EXPECTED: &str = "it must be otlp:URL or remote-write:URL, such as otlp:http://127.0.0.1:4318 or \
                        remote-write:http://127.0.0.1:9090/api/v1/write";
const SECRET: &str = "a URL with a user or password can be seen by others; put them into a file of headers \
                      (--push-headers)";

impl FromStr for PushDestination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (protocol, url) = text.split_once(':').ok_or(EXPECTED)?;
        let (protocol, usual) = match protocol {
            "otlp" => (PushProtocol::Otlp, "/v1/metrics"),
            "remote-write" => (PushProtocol::RemoteWrite, "/api/v1/write"),
            _ => return Err(EXPECTED.to_owned()),
        };
        let (scheme, rest) = url.split_once("://").ok_or(EXPECTED)?;
        if !["http", "https"].contains(&scheme) || rest.is_empty() || rest.starts_with([':', '/', '?']) {
            return Err(EXPECTED.to_owned());
        }
        let ParsedUri { target, tls } = parse_uri(url).map_err(|error| match error {
            UriError::HttpUser => SECRET.to_owned(),
            error => error.to_string(),
        })?;
        let path = target.dialect.site().map_or("/", HttpSite::path);
        // A request of redyno's has no braces in its path.
        let path = path.replace('{', "%7B").replace('}', "%7D");
        let shown = text.split('?').next().unwrap_or_default();
        let (path, shown) = match path.as_str() {
            "/" => (usual.to_owned(), format!("{}{usual}", shown.trim_end_matches('/'))),
            _ => (path, shown.to_owned()),
        };
        Ok(Self { protocol, target, is_tls: tls, path, shown })
    }
}

impl fmt::Display for PushDestination {
    /// Writes `otlp:http://127.0.0.1:4318/v1/metrics`, without the query of the URL.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Reads a file with a header on each line, such as `Authorization: Bearer TOKEN`.
///
/// # Errors
/// Fails if the file cannot be read, or a line is not a header. The error message does not contain the line.
pub fn headers_of(file: &Path) -> Result<Headers, String> {
    let shown = untrusted::path(file);
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let header = |(n, line): (usize, &str)| {
        let header = line.split_once(':').and_then(|(name, value)| header(name, value));
        header.ok_or_else(|| format!("line {} of {shown} is no header such as Name: value", n + 1))
    };
    lines.map(header).collect()
}

fn header(name: &str, value: &str) -> Option<(String, Password)> {
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_value = |byte: u8| byte.is_ascii_graphic() || b" \t".contains(&byte);
    let is_header = !name.is_empty() && name.bytes().all(is_name) && value.bytes().all(is_value);
    is_header.then(|| (name, Password::new(value)))
}

/// Returns the headers in the text of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`.
///
/// # Errors
/// Fails if a part of the text is not a header. The error message does not contain this part.
pub fn otlp_headers(text: &str) -> Result<Headers, String> {
    pairs("OTEL_EXPORTER_OTLP_HEADERS", text, |name, value| header(name, &value))
}

/// Returns the attributes in the text of `OTEL_RESOURCE_ATTRIBUTES`: `name=value,name=value`.
///
/// # Errors
/// Fails if the text does not have the form `name=value,name=value`.
pub fn attributes(text: &str) -> Result<Labels, String> {
    pairs("OTEL_RESOURCE_ATTRIBUTES", text, |name, value| Some((name.to_owned(), value)))
}

/// Splits the text of an environment variable into pairs, and returns the results of `made` for these pairs.
fn pairs<T, C: FromIterator<T>>(
    variable: &str,
    text: &str,
    made: impl Fn(&str, String) -> Option<T>,
) -> Result<C, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pairs = parts.map(|part| {
        let (name, value) = part.split_once('=').filter(|(name, _)| !name.trim().is_empty())?;
        made(name.trim(), decoded(value.trim()).ok()?)
    });
    let error = || format!("{variable} must have the form name=value,name=value, with %2C for a comma");
    pairs.collect::<Option<_>>().ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_is_a_protocol_and_a_url_whose_secrets_are_not_shown() {
        for (text, shown) in [
            ("otlp:http://h:4318", "otlp:http://h:4318/v1/metrics"),
            ("otlp:https://h/otlp/v1/metrics?key=secret", "otlp:https://h/otlp/v1/metrics"),
            ("remote-write:http://[::1]:9090/", "remote-write:http://[::1]:9090/api/v1/write"),
            ("otlp:http://h?key=secret", "otlp:http://h"),
        ] {
            assert_eq!(text.parse::<PushDestination>().unwrap().to_string(), shown);
        }
        for wrong in ["", "otlp", "otlp:h:4318", "http://h", "otlp:ftp://h", "otlp:http://", "otlp:/v1"] {
            assert!(
                wrong.parse::<PushDestination>().unwrap_err().starts_with("it must be otlp:URL"),
                "{wrong}"
            );
        }
        for wrong in ["otlp:http://h:99999", "otlp:http://h:/v1", "otlp:https://[::1]:", "otlp:http://h:0"] {
            let error = wrong.parse::<PushDestination>().unwrap_err();
            assert_eq!(error, "the port in the URI must be a number from 1 to 65535", "{wrong}");
        }
        assert!("otlp:http://u:p@h".parse::<PushDestination>().unwrap_err().contains("--push-headers"));
    }

    #[test]
    fn headers_and_attributes_are_read_and_no_error_repeats_them() {
        let headers = otlp_headers("Authorization=Basic%20abc, x-scope = 7,").unwrap();
        assert_eq!((headers["authorization"].reveal(), headers["x-scope"].reveal()), ("Basic abc", "7"));
        assert!(!format!("{headers:?}").contains("abc"));
        for wrong in ["secret", "a=%2", "a=%zz", "b c=d", "a=%FF"] {
            assert!(!otlp_headers(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
        assert_eq!(attributes("ci.job=42").unwrap()["ci.job"], "42");
        assert!(attributes("=x").is_err() && attributes("a=1, =x").is_err(), "an empty name");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "Authorization: Bearer abc\n\nsecret\n").unwrap();
        let error = headers_of(file.path()).unwrap_err();
        assert!(error.starts_with("line 3 of ") && !error.contains("secret"), "{error}");
    }
}
