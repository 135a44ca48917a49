//! Collects the replies to one order from all servers that store a load's keys (the holders).

use std::time::{Duration, Instant};

use crate::{
    endpoint::Address,
    server::{Answer, ServerError},
};

/// The replies of all holders (servers that store keys of the load). Some replies may not have
/// arrived yet.
#[derive(Debug)]
pub struct HolderReplies<T> {
    pub(super) awaited: Vec<(u16, Address, Answer<T>)>,
    pub(super) arrived: Vec<(u16, T)>,
    /// Whether errors name the server. Errors name the server if there are several servers.
    pub(super) is_of_cluster: bool,
}

impl<T> HolderReplies<T> {
    /// Returns the replies of all holders with their node numbers. Returns `None` if not all replies arrive within
    /// `limit`. The replies are returned only once.
    ///
    /// # Errors
    /// Returns the first error of a holder. The error names the server if there are several holders.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Vec<(u16, T)>, ServerError>> {
        let deadline = Instant::now() + limit;
        while let Some((number, address, answer)) = self.awaited.first() {
            match answer.wait(deadline.saturating_duration_since(Instant::now()))? {
                Ok(value) => self.arrived.push((*number, value)),
                Err(error) if self.is_of_cluster => return Some(Err(error.at(address))),
                Err(error) => return Some(Err(error)),
            }
            self.awaited.remove(0);
        }
        Some(Ok(std::mem::take(&mut self.arrived)))
    }
}
