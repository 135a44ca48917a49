//! Parses the URIs of HTTP services: `http://host[:port][/path][?query]`, and `https://` with TLS.

use super::{UriError, host_and_port};
use crate::{
    endpoint::{Address, Target},
    protocol::{Dialect, HttpSite},
};

/// Parses the part of a URI after `http://`, or after `https://` with TLS.
pub(super) fn target(rest: &str, tls: bool) -> Result<Target, UriError> {
    if rest.contains('#') {
        return Err(UriError::Fragment);
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err(UriError::HttpUser);
    }
    let usual_port = if tls { 443 } else { 80 };
    let (host, port) = host_and_port(authority, usual_port)?;
    if !host.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UriError::Host);
    }
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UriError::HttpPath);
    }
    let name = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let name = if port == usual_port { name } else { format!("{name}:{port}") };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let dialect = Dialect::Http(HttpSite::of(&name, &path));
    Ok(Target { address: Address::Tcp { host, port }, dialect, ..Target::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_its_usual_port_a_path_and_no_user() {
        for (rest, tls, address, host, path) in [
            ("h", false, "h:80", "h", "/"),
            ("h:8080/a?b=c", false, "h:8080", "h:8080", "/a?b=c"),
            ("[::1]:9200?q", true, "[::1]:9200", "[::1]:9200", "/?q"),
            ("h/", true, "h:443", "h", "/"),
        ] {
            let target = target(rest, tls).unwrap();
            assert_eq!(target.address.to_string(), address);
            assert_eq!(target.dialect, Dialect::Http(HttpSite::of(host, path)));
        }
        for (rest, error) in [
            ("ann:pw@h/", UriError::HttpUser),
            ("h/#a", UriError::Fragment),
            ("h/a b", UriError::HttpPath),
            ("h%0a/", UriError::Host),
            ("h:0/", UriError::Port),
        ] {
            assert_eq!(target(rest, false), Err(error), "{rest}");
        }
    }
}
