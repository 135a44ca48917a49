//! Reads the orders of a session on a thread of its own. The thread does nothing else, so an agent's other work delays
//! neither the reading of an order nor the time when it was heard.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use super::{
    bus::{Bus, BusError, BusStream, MessageFields},
    messages::WAIT,
    ran_for::ran_for,
};

/// The orders of one read.
pub(super) struct OrdersRead {
    /// The time of the read, by [`ran_for`].
    pub(super) heard: Duration,
    /// Whether the last order was read, instead of the orders after it.
    pub(super) is_last: bool,
    /// The new orders. Each order contains all settings.
    pub(super) orders: Result<Vec<MessageFields>, BusError>,
}

/// The thread that reads the orders. The thread ends when this value is dropped.
pub(super) struct OrderReader {
    pub(super) read: Receiver<OrdersRead>,
    reads_last: Arc<AtomicBool>,
}

impl OrderReader {
    /// Starts the thread, which begins with the last order.
    pub(super) fn begin(bus: Bus) -> Self {
        let ((sender, read), reads_last) = (channel(), Arc::new(AtomicBool::new(true)));
        let asked = Arc::clone(&reads_last);
        thread::spawn(move || read_all(bus, &asked, &sender));
        Self { read, reads_last }
    }

    /// Reads the last order again, even if it is no new order.
    pub(super) fn read_last(&self) {
        self.reads_last.store(true, Relaxed);
    }
}

fn read_all(mut bus: Bus, asked: &AtomicBool, sender: &Sender<OrdersRead>) {
    let (mut after, mut is_last) = (String::new(), false);
    loop {
        is_last |= asked.swap(false, Relaxed);
        let orders = if is_last {
            bus.last(BusStream::Orders).map(|last| {
                let (id, fields) = last.map_or(("0".to_owned(), None), |(id, fields)| (id, Some(fields)));
                after = id;
                fields.into_iter().collect()
            })
        } else {
            bus.read(BusStream::Orders, &mut after, WAIT)
        };
        let has_failed = orders.is_err();
        if sender.send(OrdersRead { heard: ran_for(), is_last, orders }).is_err() {
            return;
        }
        is_last &= has_failed;
        if has_failed {
            thread::sleep(WAIT);
        }
    }
}
