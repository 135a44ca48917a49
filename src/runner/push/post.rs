//! The HTTP request of `--push` that delivers a sample, with TLS for an `https` URL.

use std::{
    io,
    time::{Duration, Instant},
};

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc2822};

use super::destination::{Headers, PushDestination, PushProtocol};
use crate::{
    endpoint::{ReachError, Talk, TalkError, Target, Tls, TlsError, TlsSettings},
    protocol::{HttpReply, Reply},
    units::count_with_noun,
    untrusted,
    workload::HttpFields,
};

/// The maximum size of a reply, in bytes.
const LONGEST_REPLY: usize = 1 << 20;
/// The longest pause that a receiver can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The reason why a receiver did not accept a sample.
pub(super) enum PostError {
    /// The receiver may accept the sample after this time.
    Later(String, Duration),
    /// The receiver will never accept the sample.
    Refused(String),
}

/// A receiver, and the headers of its requests.
pub(super) struct PushReceiver {
    pub(super) to: PushDestination,
    target: Target,
}

impl PushReceiver {
    /// Prepares requests to `to` with these headers. TLS trusts the CAs of the system, or of SSL_CERT_FILE.
    pub(super) fn new(to: &PushDestination, headers: &Headers) -> Result<Self, TlsError> {
        let mut target = to.target.clone();
        let of_protocol: &[(&str, &str)] = match to.protocol {
            PushProtocol::Otlp => &[("content-type", "application/json")],
            PushProtocol::RemoteWrite => &[
                ("content-type", "application/x-protobuf"),
                ("content-encoding", "snappy"),
                ("x-prometheus-remote-write-version", "0.1.0"),
            ],
        };
        let given = headers.iter().map(|(name, value)| (name.as_str(), value.reveal()));
        let headers = given.chain(of_protocol.iter().copied());
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        target.dialect = HttpFields { headers }.of(target.dialect);
        if to.is_tls {
            target.tls = Some(Tls::new(TlsSettings::default(), &target.address)?);
        }
        Ok(Self { to: to.clone(), target })
    }

    /// Sends `body`, and waits for the response for at most `limit`.
    ///
    /// # Errors
    /// Fails if the receiver does not accept the sample.
    pub(super) fn post(&self, body: &[u8], limit: Duration) -> Result<(), PostError> {
        let deadline = Instant::now() + limit;
        let request = self.target.dialect.encode(&[b"POST", self.to.path.as_bytes(), body]);
        let talk = Talk::silent(&self.target, deadline).map_err(|error| match error {
            TalkError::Connect(error) => unreachable(&error, ""),
            TalkError::Tls(error) => unreachable(&error, "TLS: "),
        })?;
        let mut talk = talk.bounded(LONGEST_REPLY).with_bodies();
        let mut answer = Ok(());
        let take = |bytes: &[u8], reply: Reply| {
            let HttpReply { body, retry_after } = HttpReply::read(bytes);
            answer = match reply {
                Reply::Error(line) => Err(refusal(&untrusted::bytes(line), retry_after.as_deref())),
                _ => rejection(&body),
            };
        };
        match talk.ask(&request, 1, deadline.saturating_duration_since(Instant::now()), take) {
            Ok(()) => answer,
            Err(ReachError::Io { cause, .. }) => Err(unreachable(&cause, "")),
            Err(error) => Err(PostError::Later(error.to_string(), Duration::ZERO)),
        }
    }

    /// Looks up the receiver's host name with `resolver`.
    #[cfg(test)]
    pub(super) fn resolve_with(&mut self, resolver: crate::endpoint::Resolver) {
        self.target.resolver = resolver;
    }
}

fn unreachable(error: &io::Error, part: &str) -> PostError {
    let why = match error.kind() {
        io::ErrorKind::TimedOut => "the receiver does not answer".to_owned(),
        _ => format!("{part}{error}"),
    };
    PostError::Later(why, Duration::ZERO)
}

/// Returns the error for an answer such as `HTTP 404 Not Found`, with its field Retry-After.
fn refusal(answer: &str, retry_after: Option<&str>) -> PostError {
    let why = format!("the receiver answers {answer}");
    let is_asking = ["HTTP 429", "HTTP 503"].iter().any(|status| answer.starts_with(status));
    if is_asking || answer.starts_with("HTTP 5") {
        let pause = retry_after.filter(|_| is_asking).and_then(pause);
        return PostError::Later(why, pause.unwrap_or_default());
    }
    let is_redirect = answer.starts_with("HTTP 3");
    PostError::Refused(if is_redirect { why + ", and redirects are not followed" } else { why })
}

/// Returns the pause that Retry-After asks for: a number of seconds, or the time of the next request. The pause is at
/// most [`LONGEST_PAUSE`].
fn pause(retry_after: &str) -> Option<Duration> {
    let value = retry_after.trim();
    let until = |text| OffsetDateTime::parse(text, &Rfc2822).ok();
    let pause = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => (until(value)? - OffsetDateTime::now_utc()).try_into().unwrap_or_default(),
    };
    Some(pause.min(LONGEST_PAUSE))
}

/// Checks that an OTLP receiver has rejected no data points. The receiver has accepted the request.
fn rejection(reply: &[u8]) -> Result<(), PostError> {
    let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
    let n = &reply["partialSuccess"]["rejectedDataPoints"];
    match n.as_u64().or_else(|| n.as_str()?.parse().ok()) {
        None | Some(0) => Ok(()),
        Some(n) => {
            Err(PostError::Refused(format!("the receiver rejects {}", count_with_noun(n, "data point"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_that_is_busy_may_ask_for_a_pause_of_at_most_a_minute() {
        let asks = |status: &str, value: &str| match refusal(&format!("HTTP {status}"), Some(value)) {
            PostError::Later(_, pause) => pause.as_secs_f64().ceil(),
            PostError::Refused(why) => panic!("{why}"),
        };
        let in_s = |s: i64| {
            let at = OffsetDateTime::now_utc() + time::Duration::seconds(s);
            at.format(&Rfc2822).unwrap().replace("+0000", "GMT")
        };
        for status in ["429 Too Many Requests", "503 Service Unavailable"] {
            assert_eq!([asks(status, "7"), asks(status, "86400"), asks(status, "soon")], [7.0, 60.0, 0.0]);
            assert_eq!(
                [asks(status, "Sun, 06 Nov 1994 08:49:37 GMT"), asks(status, &in_s(900))],
                [0.0, 60.0]
            );
            let soon = asks(status, &in_s(30));
            assert!((1.0..=30.0).contains(&soon), "{soon}");
        }
        assert_eq!(asks("500 Internal Server Error", "7"), 0.0);
        assert!(matches!(
            refusal("HTTP 503 Busy (Retry-After: 9)", None),
            PostError::Later(_, Duration::ZERO)
        ));
    }
}
