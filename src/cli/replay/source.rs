//! Passes the records of a recording to the screen (`redyno replay`), and has the playback clock.
//!
//! ```text
//! file ─► thread "reader" ─► records, a few at a time ─► poll ─► the whole session on the screen
//!           ▲                              Play, Pause ─► clock ─► Played(to_s)
//!           └─ Refine: a period once more ─► poll ─► Excerpt
//! ```
//! The thread reads the whole recording once, in the background. Afterwards, the screen jumps in its timeline without
//! reading. If the screen zooms in beyond the timeline's resolution, the thread reads this period of the recording
//! again.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    time::{Duration, Instant},
};

use crate::{
    app::Source,
    session::{
        Delivery, JoinedReader, Notice, Order, ReadError, Record,
        timeline::{Excerpt, Reread},
    },
};

/// The largest number of records in the queue from the reader to the screen. A record may have 100 KB, so the
/// queue has at most some megabytes.
const WAITING: usize = 32;
/// The time limit for one poll of the reader. The screen handles keys between two polls.
const POLL_TIME_LIMIT: Duration = Duration::from_millis(25);

/// A message from the reader.
enum ReaderMessage {
    /// A record, and the share of the file that has been read.
    Record(Arc<Record>, f64),
    /// The reason why reading failed.
    Broken(ReadError),
    /// The whole file has been read once.
    All,
    /// The records of a period that was read again, or the error.
    Again(Reread, Result<Excerpt, ReadError>),
}

/// A recording that is shown.
pub struct ReplaySource {
    read: Receiver<ReaderMessage>,
    again: Sender<Reread>,
    is_read: bool,
    playing: Option<PlaybackClock>,
    /// The orders that a replay cannot carry out, each with the reason. An order is a request of the screen to a
    /// session.
    refused: Vec<Delivery>,
}

/// The playback clock.
struct PlaybackClock {
    since: Instant,
    from_s: f64,
    speed: f64,
}

impl ReplaySource {
    /// Starts reading.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(reader: JoinedReader) -> io::Result<Self> {
        let (sender, read) = sync_channel(WAITING);
        let (again, orders) = channel();
        let body = move || {
            read_all(reader, &sender, &orders);
        };
        std::thread::Builder::new().name("reader".to_owned()).spawn(body)?;
        Ok(Self { read, again, is_read: false, playing: None, refused: Vec::new() })
    }

    fn take_records(&mut self, deliveries: &mut Vec<Delivery>) {
        let begun = Instant::now();
        let mut share = None;
        while let Some(left) = POLL_TIME_LIMIT.checked_sub(begun.elapsed()).filter(|_| !self.is_read) {
            match self.read.recv_timeout(left) {
                Ok(ReaderMessage::Record(record, so_far)) => {
                    deliveries.push(Delivery::Record(record));
                    share = Some(so_far);
                }
                Ok(ReaderMessage::Broken(error)) => {
                    let text = format!("{error}; what was read before is shown");
                    deliveries.push(Delivery::Notice(0, Notice::Warning(text)));
                }
                Ok(ReaderMessage::Again(asked, result)) => deliveries.push(excerpt_delivery(asked, result)),
                Ok(ReaderMessage::All) | Err(RecvTimeoutError::Disconnected) => self.is_read = true,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        deliveries.extend(share.map(|share| Delivery::Notice(0, Notice::Read(share))));
        if self.is_read {
            deliveries.push(Delivery::Notice(0, Notice::Ended));
        }
    }
}

/// Runs the reader's thread. The thread reads the whole recording, and then the requested periods. Returns `None` when
/// the receiver is gone.
fn read_all(
    mut reader: JoinedReader,
    sender: &SyncSender<ReaderMessage>,
    orders: &Receiver<Reread>,
) -> Option<()> {
    while let Some(read) = reader.next_record().transpose() {
        match read {
            Ok(record) => sender.send(ReaderMessage::Record(Arc::new(record), reader.share())).ok()?,
            Err(error) => {
                sender.send(ReaderMessage::Broken(error)).ok()?;
                break;
            }
        }
    }
    sender.send(ReaderMessage::All).ok()?;
    loop {
        let asked = orders.recv().ok()?;
        // Only the latest request matters.
        let asked = orders.try_iter().last().unwrap_or(asked);
        sender.send(ReaderMessage::Again(asked, reader.stretch(asked))).ok()?;
    }
}

/// Returns the message to the screen about the period that was read again. The message has the period, or the refusal.
pub(super) fn excerpt_delivery(asked: Reread, result: Result<Excerpt, ReadError>) -> Delivery {
    match result {
        Ok(stretch) => Delivery::Stretch(Arc::new(stretch)),
        Err(error) => Delivery::Refused(Order::Refine(asked), error.to_string()),
    }
}

impl Source for ReplaySource {
    fn poll(&mut self) -> Vec<Delivery> {
        let mut deliveries = std::mem::take(&mut self.refused);
        if self.is_read {
            let read_again = self.read.try_iter().filter_map(|read| match read {
                ReaderMessage::Again(asked, result) => Some(excerpt_delivery(asked, result)),
                ReaderMessage::Record(..) | ReaderMessage::Broken(_) | ReaderMessage::All => None,
            });
            deliveries.extend(read_again);
        } else {
            self.take_records(&mut deliveries);
        }
        if let Some(playing) = &self.playing {
            let to_s = playing.from_s + playing.since.elapsed().as_secs_f64() * playing.speed;
            deliveries.push(Delivery::Notice(0, Notice::Played(to_s)));
        }
        deliveries
    }

    fn order(&mut self, order: Order) {
        let why = match order {
            Order::Play { from_s, speed } => {
                self.playing = Some(PlaybackClock { since: Instant::now(), from_s, speed });
                return;
            }
            Order::Pause => {
                self.playing = None;
                return;
            }
            Order::Refine(asked) => {
                // The reader ends only after an error, which the screen shows.
                let _ = self.again.send(asked);
                return;
            }
            Order::SetKnobs(_) | Order::Prefill(_) | Order::Carry(_) => {
                "this is a recording: its knobs cannot be changed"
            }
            Order::SetConfig { .. } => "this is a recording: the server's parameters cannot be changed",
            Order::ScanKeys { .. } | Order::StopKeys => "this is a recording: it holds no names of keys",
            Order::RunIntrinsic(_) | Order::StopIntrinsic | Order::GentleIntrinsic(_) => {
                "this is a recording: nothing is measured now"
            }
            Order::Mark(_) | Order::Event(_) | Order::StartRecording | Order::StopRecording => {
                "this is a recording: you cannot add a mark or start a recording"
            }
            Order::AllowWrites(_) | Order::End => return,
        };
        self.refused.push(Delivery::Refused(order, why.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Mark, ServerIdentity, SessionStart, SessionWriter, line},
    };
    use std::{io::Write as _, os::fd::AsRawFd as _};

    /// Returns all deliveries until the recording has been read.
    fn read(source: &mut ReplaySource) -> Vec<Delivery> {
        let mut all = Vec::new();
        while !all.iter().any(|delivery| matches!(delivery, Delivery::Notice(0, Notice::Ended))) {
            all.extend(source.poll());
        }
        all
    }

    /// Returns ten minutes of marks, a second apart.
    fn marks() -> String {
        let mut text = line(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        for n in 0..600 {
            text += &line(&Record::Mark(Mark { t_s: f64::from(n), text: String::new() })).unwrap();
        }
        text
    }

    fn next(source: &mut ReplaySource) -> Delivery {
        loop {
            if let Some(delivery) = source.poll().pop() {
                return delivery;
            }
        }
    }

    fn asked(from_s: f64) -> Reread {
        Reread { from_s, to_s: from_s + 10.0, cell_s: 0.25, nodes: 1 }
    }

    #[test]
    fn a_period_can_be_read_again_any_number_of_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, marks()).unwrap();
        let mut source =
            ReplaySource::start(JoinedReader::open(std::slice::from_ref(&path)).unwrap()).unwrap();
        read(&mut source);
        for from_s in [300.0, 10.0, 590.0] {
            source.order(Order::Refine(asked(from_s)));
            let Delivery::Stretch(stretch) = next(&mut source) else { panic!("a stretch") };
            assert_eq!(stretch.request, asked(from_s));
        }
        (0..50).for_each(|n| source.order(Order::Refine(asked(n.into()))));
        let last =
            |delivery: &Delivery| matches!(delivery, Delivery::Stretch(it) if it.request == asked(49.0));
        while !last(&next(&mut source)) {}
    }

    #[test]
    fn a_pipe_cannot_be_read_again_and_the_error_says_so() {
        let (out, mut into) = std::io::pipe().unwrap();
        let writer = std::thread::spawn(move || into.write_all(marks().as_bytes()));
        let path = format!("/proc/self/fd/{}", out.as_raw_fd());
        let mut source = ReplaySource::start(JoinedReader::open(&[path.into()]).unwrap()).unwrap();
        drop(out);
        assert!(read(&mut source).len() > 600);
        writer.join().unwrap().unwrap();
        source.order(Order::Refine(asked(300.0)));
        let refused = next(&mut source);
        assert!(
            matches!(&refused, Delivery::Refused(Order::Refine(_), why) if why.contains("a second time"))
        );
    }

    #[test]
    fn the_source_delivers_the_whole_recording_and_then_plays_by_the_clock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let mut writer = SessionWriter::create(&path).unwrap();
        writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        for n in 0..1000 {
            writer.write(&Record::Mark(Mark { t_s: f64::from(n), text: String::new() })).unwrap();
        }
        let mut source =
            ReplaySource::start(JoinedReader::open(std::slice::from_ref(&path)).unwrap()).unwrap();
        let records = read(&mut source);
        let records = records.iter().filter(|delivery| matches!(delivery, Delivery::Record(_))).count();
        assert_eq!(records, 1002, "the session, its marks, and that it has no end");
        assert!(source.poll().is_empty());
        source.order(Order::Play { from_s: 5.0, speed: 64.0 });
        let [Delivery::Notice(0, Notice::Played(to_s))] = source.poll()[..] else { panic!("time runs") };
        assert!(to_s >= 5.0);
        source.order(Order::Pause);
        assert!(source.poll().is_empty());
        source.order(Order::SetKnobs(Knobs::default()));
        assert!(matches!(&source.poll()[..], [Delivery::Refused(_, why)] if why.contains("a recording")));
    }
}
