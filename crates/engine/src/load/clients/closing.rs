//! Closes connections of the load. Before a worker closes a socket, it submits the sends that wait in its
//! io_uring ring. After the close, the number of the file descriptor may belong to another file.

use std::io;

use super::{ClientConnection, WorkerClients, is_extra, is_opening};
use crate::load::io::Io;

impl WorkerClients {
    /// Removes the connection of lane `i`. Returns whether there was a connection that had finished its greeting.
    pub(super) fn take_connection(&mut self, i: usize) -> bool {
        let Some(lane) = self.lane(i) else { return false };
        match std::mem::replace(&mut lane.link, ClientConnection::Down) {
            ClientConnection::Open(connection) => {
                self.open -= usize::from(!is_extra(i));
                let was_opening = is_opening(&connection);
                self.count_opening(i, -isize::from(was_opening));
                self.closing.extend(connection.tag().is_some().then_some(connection));
                !was_opening
            }
            other => {
                lane.link = other;
                false
            }
        }
    }

    /// Closes the unneeded connections of the ring, after the ring has submitted the pending sends of these
    /// connections.
    pub(in crate::load) fn close_those_of_ring(&mut self, io: &mut Io) -> io::Result<()> {
        if !self.closing.is_empty() {
            io.flush()?;
            self.closing.clear();
        }
        Ok(())
    }
}
