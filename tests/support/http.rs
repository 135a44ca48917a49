//! A small HTTP server, which keeps a log of what it was asked.

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::{Arc, Mutex},
};

use tokio::sync::oneshot;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use crate::{
    scripted::{Crowd, Peer},
    support::{
        certificates::Pair,
        program::{Outcome, run},
    },
};

/// The server, on a free port of loopback, until it is dropped.
pub struct HttpServer {
    crowd: Crowd,
    log: Arc<Mutex<Vec<Request>>>,
}

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// The header's lines.
    pub fields: Vec<String>,
    pub body: String,
    /// The number of the connection, from 0.
    pub connection: usize,
}

impl Request {
    /// The next request of a connection; `None` when the client has hung up.
    pub fn read(peer: &mut Peer, connection: usize) -> Option<Self> {
        let first = peer.line()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut fields = Vec::new();
        loop {
            match peer.line()?.trim_end() {
                "" => break,
                field => fields.push(field.to_owned()),
            }
        }
        let length = fields.iter().find_map(|field| field.strip_prefix("Content-Length: ")?.parse().ok());
        let body = peer.text(length.unwrap_or(0))?;
        Some(Self { method, path, fields, body, connection })
    }
}

impl HttpServer {
    /// Answers each request with the bytes that `reply` returns, and hangs up if there are none, or if they announce that.
    pub fn start(reply: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        let log = Arc::<Mutex<Vec<Request>>>::default();
        let kept = Arc::clone(&log);
        let crowd = Crowd::start(move |peer, connection| {
            while let Some(request) = Request::read(peer, connection) {
                let said = reply(&request);
                kept.lock().unwrap().push(request);
                peer.say(&said);
                if said.is_empty() || said.contains("Connection: close") {
                    return;
                }
            }
        });
        Self { crowd, log }
    }

    pub fn port(&self) -> u16 {
        self.crowd.port()
    }

    /// The URI of a path.
    pub fn uri(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }

    /// All requests so far.
    pub fn log(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    /// How many requests of this method came so far.
    pub fn count(&self, method: &str) -> u64 {
        self.log.lock().unwrap().iter().filter(|request| request.method == method).count() as u64
    }

    /// A session without a screen against a path.
    pub fn headless(&self, path: &str, more: &[&str]) -> Outcome {
        run(&[&[&self.uri(path), "--headless", "--json", "--load"], more].concat())
    }
}

/// A reply with this status line's end and body; without the body for HEAD.
pub fn reply(request: &Request, status: &str, body: &str) -> String {
    let body_sent = if request.method == "HEAD" { "" } else { body };
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body_sent}", body.len())
}

/// TLS in front of a server, until it is dropped.
pub struct TlsFront {
    port: u16,
    _ended: oneshot::Sender<()>,
}

impl TlsFront {
    /// Shows the certificate to each client, and relays what it sends to this port, and what comes back.
    pub fn start(of: u16, pair: &Pair) -> Self {
        let certificate = CertificateDer::from_pem_file(&pair.certificate).unwrap();
        let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (_ended, end) = oneshot::channel();
        let serve = async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((client, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that trusts another CA ends here.
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let mut server = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, of)).await.unwrap();
                    drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                });
            }
        };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! { () = serve => {}, _ = end => {} }
            });
        });
        Self { port, _ended }
    }

    /// The URI of a path.
    pub fn uri(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }
}
