//! Decides which server a session uses: the target that the user named, the server at the default address, or the
//! built-in server.

use std::time::Duration;

use super::{Failure, SessionPlan};
use crate::{
    demo,
    endpoint::{Address, ReachError, Target, reach},
};

/// The longest wait of a session without a screen for a server's reply.
const REACH_LIMIT: Duration = Duration::from_secs(5);
/// The shortest time limit for a server's reply. A session that will end even earlier has this time limit, too.
const LEAST_REACH_LIMIT: Duration = Duration::from_secs(1);
/// The longest wait for a server's reply before the screen opens without the server.
const SCREEN_REACH_LIMIT: Duration = Duration::from_secs(1);

/// The destination of a session.
pub(super) struct SessionDestination {
    /// The server.
    pub(super) target: Target,
    /// The built-in server, if the session uses this server. Dropping the handle stops the server.
    pub(super) built_in: Option<demo::Handle>,
    /// The reason why the server cannot be reached yet. `None` if the server was reached.
    pub(super) unreachable: Option<ReachError>,
}

/// Finds the destination of a session, and waits for the server for a limited time. The limit is the length
/// of the session, but at least 1 s and at most 5 s. For a screen, the limit is 1 s, because the screen can
/// open before the server starts.
///
/// # Errors
/// Fails if a server cannot be reached, or if the built-in server does not start. With a screen, an error that may be
/// temporary does not count as a failure.
pub(super) fn destination(plan: &SessionPlan) -> Result<SessionDestination, Failure> {
    let commission = &plan.commission;
    let (target, has_screen) = (commission.plan.target.clone(), commission.is_attended);
    let length = commission.plan.length;
    let longest = length.map_or(REACH_LIMIT, |length| length.clamp(LEAST_REACH_LIMIT, REACH_LIMIT));
    let limit = if has_screen { SCREEN_REACH_LIMIT } else { longest };
    if plan.wants_own {
        return built_in(&target);
    }
    let mut unreachable = None;
    for (node, target) in (0..).zip(commission.targets()).take(1 + commission.others.len()) {
        match reach(target, limit).map_err(|error| if commission.redacts { error.redacted() } else { error })
        {
            Ok(_) => {}
            Err(ReachError::Refused(_)) if !plan.is_named => return built_in(target),
            Err(error) if has_screen && error.is_transient() => unreachable = Some(error),
            Err(error) => return Err(Failure::Failed(error.into()).of_node(node, &plan.names)),
        }
    }
    Ok(SessionDestination { target, built_in: None, unreachable })
}

fn built_in(wanted: &Target) -> Result<SessionDestination, Failure> {
    let handle = demo::start(demo::Options::default()).map_err(anyhow::Error::from)?;
    let address = handle.address;
    let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
    let target = Target { address, credentials: None, tls: None, ..wanted.clone() };
    Ok(SessionDestination { target, built_in: Some(handle), unreachable: None })
}
