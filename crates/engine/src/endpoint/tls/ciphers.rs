//! The cipher suites that redyno offers to a server, by their OpenSSL names.

use rustls::{
    CipherSuite, SupportedCipherSuite,
    crypto::{CryptoProvider, ring},
    version::{TLS12, TLS13},
};
use thiserror::Error;

/// The cipher suites of TLS 1.2 that the TLS library (rustls) supports.
const SUITES_OF_12: [(&str, CipherSuite); 6] = [
    ("ECDHE-ECDSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-ECDSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-ECDSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ("ECDHE-RSA-AES256-GCM-SHA384", CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
    ("ECDHE-RSA-AES128-GCM-SHA256", CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
    ("ECDHE-RSA-CHACHA20-POLY1305", CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256),
];
/// The cipher suites of TLS 1.3 that the TLS library (rustls) supports.
const SUITES_OF_13: [(&str, CipherSuite); 3] = [
    ("TLS_AES_256_GCM_SHA384", CipherSuite::TLS13_AES_256_GCM_SHA384),
    ("TLS_AES_128_GCM_SHA256", CipherSuite::TLS13_AES_128_GCM_SHA256),
    ("TLS_CHACHA20_POLY1305_SHA256", CipherSuite::TLS13_CHACHA20_POLY1305_SHA256),
];

/// OpenSSL's names for groups that contain all supported suites of TLS 1.2.
const GROUPS: [&str; 3] = ["DEFAULT", "ALL", "HIGH"];

/// An unknown name in a list of ciphers.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("'{name}' is not a supported cipher; give one of {known}")]
pub struct UnknownCipher {
    name: String,
    known: String,
}

/// The cipher suites that are offered for each TLS version. The preferred suite comes first. By default, all supported
/// suites are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ciphers {
    of_12: Option<Vec<CipherSuite>>,
    of_13: Option<Vec<CipherSuite>>,
}

impl Ciphers {
    /// Offers only the suites in `names` for TLS 1.2. Colons separate the names. As in OpenSSL, `DEFAULT`, `ALL` and
    /// `HIGH` mean all supported suites. `-` or `!` before a name removes the suite.
    ///
    /// # Errors
    /// Fails if a name is unknown. The error contains the name.
    pub fn name_tls12(&mut self, names: &str) -> Result<(), UnknownCipher> {
        self.of_12 = Some(named(names, &SUITES_OF_12, &GROUPS)?);
        Ok(())
    }

    /// Offers only the suites in `names` for TLS 1.3. Colons separate the names.
    ///
    /// # Errors
    /// Fails if a name is unknown. The error contains the name.
    pub fn name_tls13(&mut self, names: &str) -> Result<(), UnknownCipher> {
        self.of_13 = Some(named(names, &SUITES_OF_13, &[])?);
        Ok(())
    }

    /// Restricts the connection to TLS 1.3 if `is_13` is true, and otherwise to TLS 1.2.
    pub fn speak_only(&mut self, is_13: bool) {
        *(if is_13 { &mut self.of_12 } else { &mut self.of_13 }) = Some(Vec::new());
    }

    /// Returns the TLS library's cryptography provider with these suites.
    pub(super) fn provider(&self) -> CryptoProvider {
        let all = ring::default_provider();
        let of = |version, wanted: &Option<Vec<CipherSuite>>| {
            let mut suites: Vec<SupportedCipherSuite> =
                all.cipher_suites.iter().filter(|suite| suite.version() == version).copied().collect();
            if let Some(wanted) = wanted {
                let place =
                    |suite: &SupportedCipherSuite| wanted.iter().position(|one| *one == suite.suite());
                suites.retain(|suite| place(suite).is_some());
                suites.sort_by_key(place);
            }
            suites
        };
        let cipher_suites = [of(&TLS13, &self.of_13), of(&TLS12, &self.of_12)].concat();
        CryptoProvider { cipher_suites, ..all }
    }
}

/// Parses a list of suite names. A name in `groups` means all suites. `-` or `!` before a name removes the
/// suite.
fn named(
    names: &str,
    known: &[(&str, CipherSuite)],
    groups: &[&str],
) -> Result<Vec<CipherSuite>, UnknownCipher> {
    let unknown = |name: &str| UnknownCipher {
        name: name.to_owned(),
        known: known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    };
    let mut suites = Vec::new();
    for word in names.split([':', ',', ' ']).filter(|word| !word.is_empty()) {
        let name = word.trim_start_matches(['-', '!']);
        let is_group = groups.contains(&name);
        let found = known.iter().filter(|(known, _)| is_group || known.eq_ignore_ascii_case(name));
        let found: Vec<_> = found.map(|(_, suite)| *suite).collect();
        suites.retain(|suite| !found.contains(suite));
        match name.len() == word.len() {
            true if found.is_empty() => return Err(unknown(name)),
            true => suites.extend(found),
            // An unknown name needs no error here, because redyno offers only supported ciphers.
            false => {}
        }
    }
    if suites.is_empty() { Err(unknown(names)) } else { Ok(suites) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_suites_are_offered_in_the_order_of_their_names() {
        let suites = |ciphers: &Ciphers| {
            ciphers.provider().cipher_suites.iter().map(SupportedCipherSuite::suite).collect::<Vec<_>>()
        };
        assert_eq!(suites(&Ciphers::default()).len(), 9);
        let mut some = Ciphers::default();
        some.name_tls12("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384").unwrap();
        some.name_tls13("TLS_CHACHA20_POLY1305_SHA256").unwrap();
        let expected = [SUITES_OF_13[2].1, SUITES_OF_12[4].1, SUITES_OF_12[3].1];
        assert_eq!(suites(&some), expected);
        some.name_tls12("DEFAULT:-AES128-SHA256:!ECDHE-RSA-AES128-GCM-SHA256").unwrap();
        assert_eq!(suites(&some).len(), 6);
        assert!(some.name_tls12("HIGH:AES128-SHA256").is_err() && some.name_tls12("ALL:-ALL").is_err());
        let why = some.name_tls13("TLS_AES_128_GCM_SHA256:HIGH").unwrap_err().to_string();
        assert!(
            why.starts_with("'HIGH' is not a supported cipher; give one of TLS_AES_256_GCM_SHA384, "),
            "{why}"
        );
    }
}
