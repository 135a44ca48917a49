//! The host, path and header fields that all requests to one HTTP service share.

use std::sync::Mutex;

/// An HTTP service: its name in requests, the path of the ping probe's request, and the header fields of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSite {
    /// The value of the header field Host.
    authority: String,
    /// The path of the ping, with the query of the URI.
    path: String,
    /// The header fields of every request, each with its line end.
    fields: String,
    /// The encoded request of the ping.
    ping: Vec<u8>,
}

/// A placeholder for a site, until a URI gives the real site.
pub(in crate::protocol) static NO_SITE: HttpSite =
    HttpSite { authority: String::new(), path: String::new(), fields: String::new(), ping: Vec::new() };

/// All sites of this process. A site is never freed, so a dialect with a reference to a site can be copied. The number
/// of sites is small, because only URIs and workloads create sites.
static SITES: Mutex<Vec<&'static HttpSite>> = Mutex::new(Vec::new());

/// The header fields that redyno sends if the workload does not set them. With the fields, redyno requests a body that
/// is not compressed.
const USUAL: [(&str, &str); 3] = [
    ("User-Agent", concat!("redyno/", env!("CARGO_PKG_VERSION"))),
    ("Accept", "*/*"),
    ("Accept-Encoding", "identity"),
];

impl HttpSite {
    /// Returns the site with this name (`example.com:8080`) and this path of the ping.
    pub fn of(authority: &str, path: &str) -> &'static Self {
        Self::with(authority, path, &[])
    }

    /// Returns the site with the header fields `own` in every request. A usual field with the same name as a field in
    /// `own` is replaced.
    pub(in crate::protocol) fn with_fields(&self, own: &[(String, String)]) -> &'static Self {
        Self::with(&self.authority, &self.path, own)
    }

    fn with(authority: &str, path: &str, own: &[(String, String)]) -> &'static Self {
        let is_own = |name: &str| own.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let usual = [("Host", authority)].into_iter().chain(USUAL).filter(|(name, _)| !is_own(name));
        let own = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let fields: String = usual.chain(own).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let ping = format!("HEAD {path} HTTP/1.1\r\n{fields}\r\n").into_bytes();
        let site = Self { authority: authority.to_owned(), path: path.to_owned(), fields, ping };
        let mut sites = SITES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match sites.iter().find(|known| ***known == site) {
            Some(known) => known,
            None => {
                let kept = &*Box::leak(Box::new(site));
                sites.push(kept);
                kept
            }
        }
    }

    /// Returns the path of the ping, with its query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the request of the ping.
    pub(in crate::protocol) fn ping(&self) -> &[u8] {
        &self.ping
    }

    /// Returns the header fields of every request.
    pub(super) fn fields(&self) -> &str {
        &self.fields
    }

    /// Returns whether every request has a field of this name.
    pub(super) fn has_field(&self, name: &str) -> bool {
        self.fields.lines().any(|line| line.split(':').next().is_some_and(|it| it.eq_ignore_ascii_case(name)))
    }
}
