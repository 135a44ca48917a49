//! Reports errors and outages during PINGs, in the modes with redis-cli's output. Each report is on stderr at once, and
//! a sum follows at the end.
//!
//! ```text
//! redyno: no connection to 127.0.0.1:6379 since second 3.20: refused: Connection refused (os error 111)
//! redyno: connected again at second 5.10, after 1.90 s
//! redyno: the server answers with LOADING since second 5.11: LOADING Redis is loading the dataset in memory
//! redyno: not counted as samples: 12 LOADING, 190 refused
//! ```
//! Times are in seconds since the start.

use std::{collections::BTreeMap, io};

use crate::{clock::seconds, probe::ProbeMessage, session::add_counts};

use super::run::Streams;

/// The errors and outages so far.
#[derive(Debug, Default)]
pub(super) struct PingErrors {
    address: String,
    /// The server's name for the reply to a PING, such as `PONG` or memcached's `MN`.
    pong: &'static str,
    errors: BTreeMap<String, u64>,
    /// The time when the connection was lost, in nanoseconds. `None` while connected.
    lost_ns: Option<u64>,
    /// The cause of the last reported error or outage, without its time.
    last_cause: Option<String>,
}

impl PingErrors {
    /// Creates the state for the server at `address`, without errors. `pong` is the server's name for the
    /// reply to a PING.
    pub(super) fn new(address: String, pong: &'static str) -> Self {
        Self { address, pong, ..Self::default() }
    }

    /// Handles a message of the probe. Reports an error reply, a lost connection or a new connection.
    pub(super) fn handle_probe_message(
        &mut self,
        message: &ProbeMessage,
        streams: &mut Streams,
    ) -> io::Result<()> {
        let news = match message {
            ProbeMessage::Ping(report) => {
                add_counts(&mut self.errors, &report.body.errors);
                return Ok(());
            }
            ProbeMessage::ErrorReply { at_ns, kind, text } => {
                self.last_cause = Some(text.clone());
                format!(
                    "the server answers with {kind} since second {:.2}: {text}{}",
                    seconds(*at_ns),
                    advice(kind)
                )
            }
            ProbeMessage::Lost { at_ns, kind, cause } => {
                let since_ns = *self.lost_ns.get_or_insert(*at_ns);
                self.last_cause = Some(format!("{kind}: {cause}"));
                let (address, since) = (&self.address, seconds(since_ns));
                format!("no connection to {address} since second {since:.2}: {kind}: {cause}{}", advice(kind))
            }
            ProbeMessage::Back { at_ns } => {
                let lost_ns = self.lost_ns.take().unwrap_or(*at_ns);
                let length = seconds(at_ns.saturating_sub(lost_ns));
                format!("connected again at second {:.2}, after {length:.2} s", seconds(*at_ns))
            }
            redyno_engine::any_of!(ProbeMessage Wake Intrinsic Host Lag Recall Event) => {
                return Ok(());
            }
        };
        streams.warn(&news)
    }

    /// If there were errors, reports the number of each kind. Errors do not count as samples.
    pub(super) fn sum_up(&self, streams: &mut Streams) -> io::Result<()> {
        match self.counts() {
            Some(counts) => streams.warn(&format!("not counted as samples: {counts}")),
            None => Ok(()),
        }
    }

    fn counts(&self) -> Option<String> {
        let counts: Vec<_> = self.errors.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }

    /// Returns the reason why there was no sample in `length_ns` nanoseconds.
    pub(super) fn diagnosis(&self, length_ns: u64) -> String {
        let (address, pong, length) = (&self.address, self.pong, seconds(length_ns));
        let counts = self.counts().map(|counts| format!("; instead: {counts}")).unwrap_or_default();
        let why = match &self.last_cause {
            Some(cause) => format!(": {cause}"),
            None => {
                ": it accepts connections but does not reply (it hangs, or expects TLS: try --tls)".to_owned()
            }
        };
        format!("no {pong} from {address} in {length:.2} s{why}{counts}")
    }
}

/// Returns the advice for an error, if there is one.
fn advice(kind: &str) -> &'static str {
    match kind {
        "NOAUTH" => "; give the password with -a or in REDISCLI_AUTH",
        "WRONGPASS" => "; check --user and the password",
        "NOPERM" => "; this user may not run PING: give another with --user",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Ping, ProbeReport};

    fn reported(messages: &[ProbeMessage]) -> (String, PingErrors) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut trouble = PingErrors::new("127.0.0.1:6379".to_owned(), "PONG");
        let mut streams = Streams { out: &mut out, err: &mut err, is_tty: false };
        for message in messages {
            trouble.handle_probe_message(message, &mut streams).unwrap();
        }
        trouble.sum_up(&mut streams).unwrap();
        assert!(out.is_empty(), "errors are no figures");
        (String::from_utf8(err).unwrap(), trouble)
    }

    fn report(kind: &str, n: u64) -> ProbeMessage {
        let body = Ping { errors: BTreeMap::from([(kind.to_owned(), n)]), ..Ping::default() };
        ProbeMessage::Ping(Box::new(ProbeReport { start_ns: 0, end_ns: 1, body }))
    }

    #[test]
    fn an_outage_is_reported_with_its_cause_its_start_and_its_length() {
        let lost = |at_ns, kind: &str, cause: &str| ProbeMessage::Lost {
            at_ns,
            kind: kind.to_owned(),
            cause: cause.to_owned(),
        };
        let (text, _) = reported(&[
            lost(3_200_000_000, "reset", "the server closed the connection"),
            lost(3_300_000_000, "refused", "Connection refused (os error 111)"),
            report("refused", 190),
            ProbeMessage::Back { at_ns: 5_100_000_000 },
        ]);
        assert_eq!(
            text,
            "redyno: no connection to 127.0.0.1:6379 since second 3.20: reset: the server closed the connection\n\
             redyno: no connection to 127.0.0.1:6379 since second 3.20: refused: Connection refused (os error 111)\n\
             redyno: connected again at second 5.10, after 1.90 s\n\
             redyno: not counted as samples: 190 refused\n"
        );
    }

    #[test]
    fn an_error_reply_is_reported_with_what_to_do() {
        let kind = "NOAUTH".to_owned();
        let text = "NOAUTH Authentication required.".to_owned();
        let (text, trouble) =
            reported(&[ProbeMessage::ErrorReply { at_ns: 0, kind, text }, report("NOAUTH", 100)]);
        assert!(text.starts_with(
            "redyno: the server answers with NOAUTH since second 0.00: NOAUTH Authentication required.; give the \
             password with -a or in REDISCLI_AUTH\n"
        ));
        assert_eq!(
            trouble.diagnosis(1_000_000_000),
            "no PONG from 127.0.0.1:6379 in 1.00 s: NOAUTH Authentication required.; instead: 100 NOAUTH"
        );
    }

    #[test]
    fn a_server_that_never_replies_gets_a_diagnosis() {
        let (text, trouble) = reported(&[]);
        assert_eq!(text, "");
        assert!(trouble.diagnosis(1).contains("does not reply"));
    }
}
