//! Sends the commands of a setup (commands that run once before a load) to the server. Redis gets the commands on the
//! connection of the control plane. For HTTP, each request has its own connection, and redyno writes no marker.

use std::time::Duration;

use memchr::memmem;
use tokio::{sync::oneshot, time::Instant};

use super::{
    Ledger, Marker, Owner, ServerError, SetupObject, dialogue::Dialogue, link::RedisSender, marker::MADE,
    registry, tune::ignore_refusal,
};
use crate::{
    endpoint::{Talk, TalkError, Target},
    protocol::{Dialect, HttpReply, HttpSite, Reply},
    untrusted,
    workload::{RunId, SetupCommand},
};

/// The time limit for an HTTP request. Creating an index takes seconds if the disk is slow.
const HTTP_LIMIT: Duration = Duration::from_secs(30);
/// The largest accepted HTTP reply, in bytes.
const LONGEST_REPLY: usize = 1 << 20;
const LONGEST_SHOWN: usize = 200;
/// The error text if OpenSearch does not know the settings of vector searches.
const NO_KNN: &[u8] = b"it lacks the k-NN plugin (opensearch-knn); name a server that has this plugin";

/// The sender of a setup's commands.
pub(super) enum Maker {
    Redis(RedisSender),
    Http(Box<Target>),
}

impl Maker {
    /// Sends a command of a setup.
    pub(super) async fn run(&self, command: &SetupCommand) -> Result<(), ServerError> {
        match (self, command.site) {
            (Self::Http(target), Some(site)) => {
                let words: Vec<_> = command.words.iter().map(Vec::as_slice).collect();
                ask(target, site, &words).await.map(drop)
            }
            (Self::Redis(wire), _) => wire.run(&command.words).await,
            (Self::Http(_), None) => unreachable!("a request by HTTP has a site"),
        }
    }

    /// Returns the object that a command makes; `None` if the command makes no object.
    pub(super) fn made_by(
        &self,
        command: &SetupCommand,
        ledger: &Ledger,
    ) -> Result<Option<SetupObject>, ServerError> {
        match command.site {
            Some(site) => SetupObject::by_http(&command.words, site, ledger.marker().run),
            None => SetupObject::by(&command.words),
        }
    }

    /// Returns whether the server has this object, no matter which client made it.
    pub(super) async fn has(&self, made: &SetupObject) -> Result<bool, ServerError> {
        match (self, made) {
            (Self::Http(target), SetupObject::Path(path, site)) => {
                match ask(target, site, &[b"GET", path.as_bytes()]).await {
                    Err(error) if error.is_refusal("HTTP 404") => Ok(false),
                    answer => answer.map(|_| true),
                }
            }
            (Self::Redis(wire), _) => made.is_there(wire).await,
            (Self::Http(_), _) => Ok(false),
        }
    }

    /// Sends the command that removes the object.
    pub(super) async fn remove(&self, made: &SetupObject) -> Result<(), ServerError> {
        match (self, made) {
            (Self::Http(target), SetupObject::Path(path, site)) => {
                ask(target, site, &[b"DELETE", path.as_bytes()]).await.map(drop)
            }
            (Self::Redis(wire), _) => wire.data(&made.undoing()).await.map(drop),
            (Self::Http(_), _) => Ok(()),
        }
    }

    /// Writes the objects in `ledger` to its marker, if there is one. A refused marker is no error, because a server
    /// may accept objects but no keys.
    pub(super) async fn note(&self, ledger: &Ledger) -> Result<(), ServerError> {
        let Self::Redis(wire) = self else { return Ok(()) };
        ignore_refusal(match ledger.marker().made.is_empty() {
            true => registry::remove_field(wire, ledger, MADE).await,
            false => registry::update_marker(wire, ledger).await,
        })
    }
}

/// Sends an HTTP request on its own connection, and returns the body of the reply.
async fn ask(target: &Target, site: &'static HttpSite, words: &[&[u8]]) -> Result<Vec<u8>, ServerError> {
    let command = words[..2].iter().map(|word| untrusted::bytes(word)).collect::<Vec<_>>().join(" ");
    let deadline = Instant::now() + HTTP_LIMIT;
    let (asked, command_of) = (target.clone(), command.clone());
    let lost = move |cause: &dyn std::fmt::Display| ServerError::Lost {
        command: command_of.clone(),
        cause: cause.to_string(),
    };
    let (done, connected) = oneshot::channel();
    // Tokio's `spawn_blocking` would panic if the system refused a thread.
    let connect = move || drop(done.send(Talk::silent(&asked, deadline.into_std())));
    std::thread::Builder::new().name("request".to_owned()).spawn(connect).map_err(|error| lost(&error))?;
    let talk = connected.await.map_err(|error| lost(&error))?;
    let talk = talk.map_err(|(TalkError::Connect(error) | TalkError::Tls(error))| lost(&error))?;
    let talk = talk.bounded(LONGEST_REPLY).with_bodies();
    let mut server = Dialogue::new(talk).map_err(|error| lost(&error))?;
    server.send(&Dialect::Http(site).encode(words));
    let mut answer = Ok(Vec::new());
    let take = |bytes: &[u8], reply: Reply| {
        let body = HttpReply::read(bytes).body;
        answer = match reply {
            Reply::Error(line) => {
                let lacks_knn = memmem::find(&body, b"unknown setting [index.knn").is_some();
                let body = if lacks_knn { NO_KNN } else { &body };
                let message = untrusted::at_most(&[line, b": ", body].concat(), LONGEST_SHOWN);
                Err(ServerError::Refused { command: command.clone(), message })
            }
            _ => Ok(body),
        };
    };
    server.ask(1, deadline, take).await.map_err(|error| lost(&error))?;
    answer
}

/// Returns the Elasticsearch indices with names of runs, each as a marker of its run.
///
/// # Errors
/// Fails if the server does not list its indices.
pub(super) async fn left_by_http(target: &Target) -> Result<Vec<Marker>, ServerError> {
    let Some(site) = target.dialect.site() else { return Ok(Vec::new()) };
    let listed = ask(target, site, &[b"GET", b"/_cat/indices/redyno-*?h=index"]).await;
    let unlisted = |error: ServerError| match error {
        ServerError::Refused { message, .. } => ServerError::Unfit(format!(
            "{} lists no indices ({message}), so redyno cannot find what killed sessions made there",
            target.address
        )),
        error => error,
    };
    let listed = untrusted::lines(&listed.map_err(unlisted)?);
    let marker = |name: &str| {
        let run = RunId::of_http_resource(name)?;
        let made = vec![SetupObject::Path(format!("/{name}"), site)];
        Some(Marker { made, ..Marker::new(run, Owner::default()) })
    };
    Ok(listed.split_whitespace().filter_map(marker).collect())
}
