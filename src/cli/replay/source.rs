//! A recording as a source: what the screen reads, and the time that runs in it.
//!
//! ```text
//! file ─► thread "reader" ─► records, a few at a time ─► poll ─► the whole session on the screen
//!                                          Play, Pause ─► clock ─► Played(to_s)
//! ```
//! All of the recording is read once, underneath the screen; seeking is a matter of the screen's timeline.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

use crate::{
    app::Source,
    session::{Delivery, Notice, Order, ReadError, Reader, Record},
};

/// Records that wait between reader and screen: some megabytes at the most, since one may hold 100 KB.
const WAITING: usize = 32;
/// How long one look at the reader may take, so that keys are answered meanwhile.
const LOOK: Duration = Duration::from_millis(25);

/// What the reader hands over: a record and how much has been read, or why it cannot go on.
type Read = Result<(Record, f64), ReadError>;

/// A recording that is shown.
pub struct ReplaySource {
    records: Receiver<Read>,
    is_read: bool,
    playing: Option<Playing>,
    /// Orders to be handed back.
    refused: Vec<Delivery>,
}

/// Time that runs.
struct Playing {
    since: Instant,
    from_s: f64,
    speed: f64,
}

impl ReplaySource {
    /// Starts to read.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(mut reader: Reader) -> io::Result<Self> {
        let (sender, records) = sync_channel::<Read>(WAITING);
        let body = move || {
            while let Some(read) = reader.next_record().transpose() {
                let is_last = read.is_err();
                // Nobody listens any more when the screen is gone.
                if sender.send(read.map(|record| (record, reader.share()))).is_err() || is_last {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("reader".to_owned()).spawn(body)?;
        Ok(Self { records, is_read: false, playing: None, refused: Vec::new() })
    }

    fn take_records(&mut self, deliveries: &mut Vec<Delivery>) {
        let begun = Instant::now();
        let mut read = None;
        while let Some(left) = LOOK.checked_sub(begun.elapsed()).filter(|_| !self.is_read) {
            match self.records.recv_timeout(left) {
                Ok(Ok((record, share))) => {
                    deliveries.push(Delivery::Record(Arc::new(record)));
                    read = Some(share);
                }
                Ok(Err(error)) => {
                    let text = format!("{error}; what was read before is shown");
                    deliveries.push(Delivery::Notice(Notice::Warning(text)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.is_read = true,
            }
        }
        deliveries.extend(read.map(|share| Delivery::Notice(Notice::Read(share))));
        if self.is_read {
            deliveries.push(Delivery::Notice(Notice::Ended));
        }
    }
}

impl Source for ReplaySource {
    fn poll(&mut self) -> Vec<Delivery> {
        let mut deliveries = std::mem::take(&mut self.refused);
        if !self.is_read {
            self.take_records(&mut deliveries);
        }
        if let Some(playing) = &self.playing {
            let to_s = playing.from_s + playing.since.elapsed().as_secs_f64() * playing.speed;
            deliveries.push(Delivery::Notice(Notice::Played(to_s)));
        }
        deliveries
    }

    fn order(&mut self, order: Order) {
        let why = match order {
            Order::Play { from_s, speed } => {
                self.playing = Some(Playing { since: Instant::now(), from_s, speed });
                return;
            }
            Order::Pause => {
                self.playing = None;
                return;
            }
            Order::SetKnobs(_) => {
                "this is a recording: its knobs are shown as they were and cannot be turned"
            }
            Order::SetConfig { .. } => {
                "this is a recording: its server is shown as it was and cannot be changed"
            }
            Order::RunIntrinsic(_) | Order::StopIntrinsic | Order::GentleIntrinsic(_) => {
                "this is a recording: nothing is measured now"
            }
            Order::Mark(_) | Order::Tell(_) | Order::StartRecording | Order::StopRecording => {
                "this is a recording already: no mark can be added, and nothing is recorded"
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
        load::Knobs,
        session::{Mark, ServerIdentity, SessionStart, Writer},
    };

    /// All deliveries until the recording has been read.
    fn read(source: &mut ReplaySource) -> Vec<Delivery> {
        let mut all = Vec::new();
        while !all.iter().any(|delivery| matches!(delivery, Delivery::Notice(Notice::Ended))) {
            all.extend(source.poll());
        }
        all
    }

    #[test]
    fn it_hands_over_the_whole_recording_and_then_plays_by_the_clock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let mut writer = Writer::create(&path).unwrap();
        writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        for n in 0..1000 {
            writer.write(&Record::Mark(Mark { t_s: f64::from(n), text: String::new() })).unwrap();
        }
        let mut source = ReplaySource::start(Reader::open(&path).unwrap()).unwrap();
        let records = read(&mut source);
        let records = records.iter().filter(|delivery| matches!(delivery, Delivery::Record(_))).count();
        assert_eq!(records, 1002, "the session, its marks, and that it has no end");
        assert!(source.poll().is_empty());
        source.order(Order::Play { from_s: 5.0, speed: 64.0 });
        let [Delivery::Notice(Notice::Played(to_s))] = source.poll()[..] else { panic!("time runs") };
        assert!(to_s >= 5.0);
        source.order(Order::Pause);
        assert!(source.poll().is_empty());
        source.order(Order::SetKnobs(Knobs::default()));
        assert!(matches!(&source.poll()[..], [Delivery::Refused(_, why)] if why.contains("a recording")));
    }
}
