//! The HTTP request of `--push` that delivers a sample, with TLS for an `https` URL.

use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Request, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{HOST, HeaderMap, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::destination::{PushDestination, PushProtocol};
use crate::endpoint::{Address, Tls, TlsError, TlsSettings};

const AGENT: &str = concat!("redyno/", env!("CARGO_PKG_VERSION"));
/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(4);
/// The maximum size of a reply, in bytes.
const LONGEST_REPLY: usize = 64 << 10;

/// The reason why a receiver did not accept a sample.
pub(super) enum PostError {
    /// The receiver may accept the sample later.
    Later(String),
    /// The receiver will never accept the sample.
    Refused(String),
}

/// A receiver, and the headers of its requests.
pub(super) struct PushReceiver {
    to: PushDestination,
    headers: HeaderMap,
    tls: Option<Tls>,
}

impl PushReceiver {
    /// Prepares requests to `to` with these headers. TLS trusts the CAs of the system, or of SSL_CERT_FILE.
    pub(super) fn new(to: &PushDestination, mut headers: HeaderMap) -> Result<Self, TlsError> {
        let (host, port) = host_and_port(to);
        let address = Address::Tcp { host: host.to_owned(), port };
        let is_tls = to.url.scheme_str() == Some("https");
        let tls = is_tls.then(|| Tls::new(TlsSettings::default(), &address)).transpose()?;
        let of_protocol: &[(&str, &str)] = match to.protocol {
            PushProtocol::Otlp => &[("content-type", "application/json")],
            PushProtocol::RemoteWrite => &[
                ("content-type", "application/x-protobuf"),
                ("content-encoding", "snappy"),
                ("x-prometheus-remote-write-version", "0.1.0"),
            ],
        };
        for (name, value) in of_protocol.iter().chain(&[("user-agent", AGENT)]) {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(authority) = to.url.authority()
            && let Ok(authority) = HeaderValue::from_str(authority.as_str())
        {
            headers.insert(HOST, authority);
        }
        Ok(Self { to: to.clone(), headers, tls })
    }

    /// Sends `body` and waits for the response.
    ///
    /// # Errors
    /// Fails if the receiver does not accept the sample.
    pub(super) async fn post(&self, body: Bytes) -> Result<(), PostError> {
        let late = |_| PostError::Later("the receiver does not answer".to_owned());
        let (status, reply) = timeout(PATIENCE, self.exchange(body))
            .await
            .map_err(late)?
            .map_err(|error| PostError::Later(format!("{error:#}")))?;
        let why = format!("the receiver answers {status}");
        match status {
            StatusCode::TOO_MANY_REQUESTS => Err(PostError::Later(why)),
            status if status.is_server_error() => Err(PostError::Later(why)),
            status if status.is_redirection() => {
                Err(PostError::Refused(format!("{why}, and redirects are not followed")))
            }
            status if status.is_success() => match rejected(&reply) {
                0 => Ok(()),
                n => Err(PostError::Refused(format!("the receiver rejects {n} data points"))),
            },
            _ => Err(PostError::Refused(why)),
        }
    }

    async fn exchange(&self, body: Bytes) -> anyhow::Result<(StatusCode, Bytes)> {
        let stream = TcpStream::connect(host_and_port(&self.to)).await?;
        match &self.tls {
            None => self.request(stream, body).await,
            Some(tls) => {
                let (config, name) = tls.connector();
                let stream = TlsConnector::from(config).connect(name, stream).await.context("TLS")?;
                self.request(stream, body).await
            }
        }
    }

    async fn request(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Bytes)> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Errors of the connection are reported by the request.
        let driven = tokio::spawn(connection);
        let path = self.to.url.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path).body(Full::new(body))?;
        *request.headers_mut() = self.headers.clone();
        let response = sender.send_request(request).await?;
        let status = response.status();
        let reply = Limited::new(response.into_body(), LONGEST_REPLY).collect().await;
        driven.abort();
        Ok((status, reply.map(http_body_util::Collected::to_bytes).unwrap_or_default()))
    }
}

/// Returns the host and the port of the URL. An IPv6 address has no brackets.
fn host_and_port(to: &PushDestination) -> (&str, u16) {
    let host = to.url.host().unwrap_or_default().trim_matches(['[', ']']);
    let default = if to.url.scheme_str() == Some("https") { 443 } else { 80 };
    (host, to.url.port_u16().unwrap_or(default))
}

/// Returns the number of data points that an OTLP receiver has rejected, although it accepted the request.
fn rejected(reply: &[u8]) -> u64 {
    let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
    let n = &reply["partialSuccess"]["rejectedDataPoints"];
    n.as_u64().or_else(|| n.as_str()?.parse().ok()).unwrap_or(0)
}
