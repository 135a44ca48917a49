//! The HTTP server for scrapers: `GET /metrics`.

use std::{collections::VecDeque, convert::Infallible, io, sync::Arc, time::Duration};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

use super::{Page, address::MetricsListener};

/// The maximum number of open connections. Usually there are few scrapers. A port scanner must not exhaust the file
/// descriptors of the process. A further connection closes the oldest connection, so that silent and slow clients
/// cannot block others.
const MOST_CONNECTIONS: usize = 16;
/// The timeout of a client, from the connection to the end of the response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The shortest time for which a new connection stays open, even if another client connects.
const GRACE: Duration = Duration::from_millis(20);
/// The pause after a failed attempt to accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves all clients until `stop` fires.
pub(super) async fn serve(listener: MetricsListener, page: Arc<Page>, stop: oneshot::Receiver<()>) {
    let answering = async {
        match listener {
            MetricsListener::Tcp(listener) => match TcpListener::from_std(listener) {
                Ok(listener) => accept(async || Ok(listener.accept().await?.0), page).await,
                Err(_) => std::future::pending().await,
            },
            MetricsListener::Unix(listener, _file) => match UnixListener::from_std(listener) {
                Ok(listener) => accept(async || Ok(listener.accept().await?.0), page).await,
                Err(_) => std::future::pending().await,
            },
        }
    };
    tokio::select! {
        () = answering => {}
        _ = stop => {}
    }
}

async fn accept<S>(next: impl AsyncFn() -> io::Result<S>, page: Arc<Page>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut open = VecDeque::<(Instant, JoinHandle<()>)>::new();
    loop {
        let Ok(stream) = next().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        open.retain(|(_, connection)| !connection.is_finished());
        if open.len() == MOST_CONNECTIONS
            && let Some((since, mut oldest)) = open.pop_front()
        {
            // The request of the oldest connection may have just arrived.
            let _ = timeout_at(since + GRACE, &mut oldest).await;
            oldest.abort();
        }
        let page = Arc::clone(&page);
        let connection = tokio::spawn(async move {
            let answer = service_fn(|request: Request<Incoming>| {
                let response = answer(&request, &page);
                async { Ok::<_, Infallible>(response) }
            });
            let mut http = http1::Builder::new();
            let connection = http.keep_alive(false).serve_connection(TokioIo::new(stream), answer);
            // Errors and timeouts of clients do not matter.
            let _ = timeout(PATIENCE, connection).await;
        });
        open.push_back((Instant::now(), connection));
    }
}

fn answer(request: &Request<Incoming>, page: &Page) -> Response<String> {
    let is_get = [Method::GET, Method::HEAD].contains(request.method());
    let (status, kind, text) = match request.uri().path() {
        _ if !is_get => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned()),
        "/metrics" => (StatusCode::OK, page.content_type, (page.text)()),
        "/" => (StatusCode::OK, "text/html", "<a href=\"/metrics\">metrics</a>\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "the only page is /metrics\n".to_owned()),
    };
    let mut response = Response::new(text);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if !is_get {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
