//! A recording as a source: what the screen reads, and the time that runs in it.
//!
//! ```text
//! file ─► thread "reader" ─► records, a few at a time ─► poll ─► the whole session on the screen
//!                                          Play, Pause ─► clock ─► Played(to_s)
//! ```
//! All of the recording is read once, underneath the screen; seeking is a matter of the screen's timeline. A stretch that is
//! looked at closely is read again, by the same thread.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    },
    time::{Duration, Instant},
};

use super::places::Places;
use crate::{
    app::Source,
    session::{Delivery, Notice, Order, ReadError, Reader, Record, timeline::Detail},
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
    /// Stretches to be read again, from when to when in seconds of the session, and what was found there.
    stretches: Sender<(f64, f64)>,
    details: Receiver<Result<Detail, ReadError>>,
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
    pub fn start(reader: Reader) -> io::Result<Self> {
        let (sender, records) = sync_channel::<Read>(WAITING);
        let ((stretches, asked), (found, details)) = (channel(), channel());
        let body = move || {
            let path = reader.path().to_owned();
            let places = read_all(reader, &sender);
            // The screen knows by that that all has been read.
            drop(sender);
            while let Some(stretch) = asked.recv().ok().map(|first| asked.try_iter().last().unwrap_or(first))
            {
                if found.send(places.read(&path, stretch)).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("reader".to_owned()).spawn(body)?;
        Ok(Self { records, stretches, details, is_read: false, playing: None, refused: Vec::new() })
    }

    fn take_details(&mut self, deliveries: &mut Vec<Delivery>) {
        deliveries.extend(self.details.try_iter().map(|read| {
            Delivery::Notice(match read {
                Ok(detail) => Notice::Detail(Arc::new(detail)),
                Err(error) => Notice::Warning(format!("{error}; it is shown as coarsely as it is known")),
            })
        }));
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

/// Hands over all records; where they stand.
fn read_all(mut reader: Reader, sender: &SyncSender<Read>) -> Places {
    let mut places = Places::default();
    let mut place = 0;
    while let Some(read) = reader.next_record().transpose() {
        if let Ok(record) = &read {
            places.note(record, place);
        }
        place = reader.place();
        let is_last = read.is_err();
        // Nobody listens any more when the screen is gone.
        if sender.send(read.map(|record| (record, reader.share()))).is_err() || is_last {
            break;
        }
    }
    places
}

impl Source for ReplaySource {
    fn poll(&mut self) -> Vec<Delivery> {
        let mut deliveries = std::mem::take(&mut self.refused);
        if !self.is_read {
            self.take_records(&mut deliveries);
        }
        self.take_details(&mut deliveries);
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
            Order::ReadAgain { from_s, to_s } => {
                // Without its thread nothing more can be read, as was told.
                let _ = self.stretches.send((from_s, to_s));
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
        app::{Effect, Key, KeyCode, Model, Msg, Playback, update},
        load::Knobs,
        session::{Interval, Mark, Segment, ServerIdentity, SessionStart, TimelineOptions, Writer},
        stats::fixture::latency_of,
    };

    /// All deliveries until the recording has been read.
    fn read(source: &mut ReplaySource) -> Vec<Delivery> {
        let mut all = Vec::new();
        while !all.iter().any(|delivery| matches!(delivery, Delivery::Notice(Notice::Ended))) {
            all.extend(source.poll());
        }
        all
    }

    /// An hour, each tick with as many replies as its number.
    fn hour(path: &std::path::Path) {
        let mut writer = Writer::create(path).unwrap();
        writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        let knobs = Knobs { load: true, ..Knobs::default() };
        let segment = Segment { t_s: 0.0, segment: 1, knobs, warmup: false, config: None };
        writer.write(&Record::Segment(segment)).unwrap();
        for tick in 1..=14_400_u32 {
            let (t_s, ops) = (f64::from(tick) * 0.25, u64::from(tick));
            let service = latency_of([u64::from(tick) * 1000]);
            let interval = Interval { t_s, length_s: 0.25, segment: 1, ops, service, ..Interval::default() };
            writer.write(&Record::Interval(Box::new(interval))).unwrap();
        }
    }

    /// Draws, and lets the source carry out what that asks for; whether it asks for a stretch.
    fn draw(model: &mut Model, source: &mut ReplaySource) -> bool {
        let effects = update(model, Msg::Columns(60));
        let asks = |effect: &Effect| matches!(effect, Effect::Order(Order::ReadAgain { .. }));
        let asked = effects.iter().any(asks);
        for effect in effects {
            if let Effect::Order(order) = effect {
                source.order(order);
            }
        }
        asked
    }

    fn replies(model: &Model) -> Vec<u64> {
        let (reading, axis) = (model.shown(), model.axis(60));
        let load = axis.window(reading.timeline(), model.ends_s()).load();
        load.iter().map(|cell| cell.as_ref().map_or(0, |cell| cell.ops)).collect()
    }

    #[test]
    fn a_stretch_of_an_hour_that_is_looked_at_closely_shows_its_quarter_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        hour(&path);
        let mut source = ReplaySource::start(Reader::open(&path).unwrap()).unwrap();
        let mut model =
            Model::replaying(Playback::new("session.jsonl".to_owned()), TimelineOptions::default());
        for delivery in read(&mut source) {
            update(&mut model, Msg::Delivery(delivery));
        }
        assert!(!draw(&mut model, &mut source), "the whole hour is shown as finely as columns are");
        model.show_moment(1800.0);
        let zoom = |model: &mut Model| {
            while model.axis(60).step_s > 0.25 {
                update(model, Msg::Key(Key::plain(KeyCode::Char('+'))));
            }
        };
        zoom(&mut model);
        let coarse = replies(&model);
        assert!(draw(&mut model, &mut source));
        assert_eq!(replies(&model), coarse, "until it is there");
        assert!(!draw(&mut model, &mut source), "it is asked for once");
        while model.shown().timeline().resolution_s(1800.0) > 0.25 {
            for delivery in source.poll() {
                update(&mut model, Msg::Delivery(delivery));
            }
        }
        let first = (model.axis(60).from_s() / 0.25).round() as u64 + 1;
        assert_eq!(replies(&model), (first..first + 60).collect::<Vec<_>>());
        let now = model.shown().service().now().max_ns();
        assert!((7_200_000..7_400_000).contains(&now), "the last second at the cursor: {now}");
        // Elsewhere the session is what it was, and near the end it is fine anyway.
        model.show_moment(600.0);
        assert!(draw(&mut model, &mut source));
        assert_eq!(model.shown().timeline().now_s(), 3600.0);
        model.show_moment(3600.0);
        assert!(!draw(&mut model, &mut source));
        assert_eq!(replies(&model).last(), Some(&14_400));
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
