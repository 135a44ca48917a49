//! Where the session goes: the target that was named, or the server on this machine, or our own.

use std::time::Duration;

use crate::{
    cli::{Failure, session_args::SessionArgs, target_args::TargetArgs},
    demo,
    endpoint::{Address, ReachError, Target, reach},
};

/// How long a server may take to answer before a headless session gives up.
const REACH_LIMIT: Duration = Duration::from_secs(5);
/// No run is so short that the server would have less.
const LEAST_REACH_LIMIT: Duration = Duration::from_secs(1);
/// How long the screen waits for it before it opens all the same.
const SCREEN_REACH_LIMIT: Duration = Duration::from_secs(1);

/// Where a session goes.
pub struct Destination {
    /// The server.
    pub target: Target,
    /// Our own server, if it is that; it ends with this.
    pub built_in: Option<demo::Handle>,
    /// Why it cannot be reached now, though it may be later.
    pub unreachable: Option<ReachError>,
}

/// Finds the destination of a `session`, within its length if it has one. `has_screen` waits for a server that may come later.
///
/// # Errors
/// When the options are wrong, when the server cannot be reached now (without a screen) or ever, and when the
/// built-in server does not start.
pub fn destination(
    args: &TargetArgs,
    has_screen: bool,
    session: &SessionArgs,
) -> Result<Destination, Failure> {
    let target = args.target()?;
    let longest = session.duration.map_or(REACH_LIMIT, |length| length.clamp(LEAST_REACH_LIMIT, REACH_LIMIT));
    let limit = if has_screen { SCREEN_REACH_LIMIT } else { longest };
    match reach(&target, limit).map_err(|error| if session.redact { error.redacted() } else { error }) {
        Ok(_) => Ok(Destination { target, built_in: None, unreachable: None }),
        Err(ReachError::Refused(_)) if !args.is_given() => built_in(&target),
        Err(error) if has_screen && error.is_transient() => {
            Ok(Destination { target, built_in: None, unreachable: Some(error) })
        }
        Err(error) => Err(Failure::Failed(error.into())),
    }
}

fn built_in(wanted: &Target) -> Result<Destination, Failure> {
    let handle = demo::Server::start(demo::Options::default()).map_err(anyhow::Error::from)?;
    let address = handle.address();
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    let target = Target { address, credentials: None, tls: None, ..wanted.clone() };
    Ok(Destination { target, built_in: Some(handle), unreachable: None })
}
