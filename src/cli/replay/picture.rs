//! `redyno replay FILE --screenshot OUT` and `--animate OUT` draw a recording without a terminal.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{ReplayArgs, source::excerpt_delivery};
use crate::{
    app::{Delivery, Effect, Model, Msg, Notice, Order, Picture, Playback, update},
    runner::{Failure, UsageError},
    session::{JoinedReader, Record, TimelineOptions},
    tui::{screens, share, svg::Animation},
};

/// The time for which each frame of an animation is shown.
const FRAME: Duration = Duration::from_millis(500);
/// The additional time for which the last frame is shown before the animation starts again.
const PAUSE: Duration = Duration::from_secs(3);
/// The longest duration of all frames together, in seconds.
const LONGEST_S: f64 = 27.0;

/// Reads the whole recording, and writes a picture of the screen to `out`. `name` is the name of the recording.
///
/// # Errors
/// Fails if the recording cannot be read or does not contain the requested moment, or if the file exists or
/// cannot be written.
pub fn take_screenshot(
    args: &ReplayArgs,
    (out, form): &(PathBuf, Picture),
    mut reader: JoinedReader,
    name: String,
) -> Result<(), Failure> {
    let mut model = Model::replaying(Playback::new(name), TimelineOptions::default());
    for record in records(&mut reader) {
        deliver(&mut model, Delivery::Record(Arc::new(record?)));
    }
    deliver(&mut model, Delivery::Notice(0, Notice::Ended));
    for effect in select_screen(args, &mut model) {
        if let Effect::Order(Order::Refine(asked)) = effect {
            deliver(&mut model, excerpt_delivery(asked, reader.stretch(asked)));
        }
    }
    if let Some(at) = args.at {
        let at_s =
            model.timeline().moment(at).map_err(|why| UsageError::Line(format!("--at {at}: {why}")))?;
        model.put_cursor(at_s);
    }
    let picture = share::picture(*form, &model, args.look.theme(), args.size);
    Ok(write(out, &picture)?)
}

/// Writes an animation of the screen during the session to `out`. `name` is the name of the recording. The recording is
/// read twice. The first pass finds its length.
///
/// # Errors
/// Fails if the recording cannot be read, or if the file exists or cannot be written.
pub fn animate(args: &ReplayArgs, out: &Path, mut reader: JoinedReader, name: String) -> Result<(), Failure> {
    let (mut begins_s, mut ends_s) = (0.0, 0.0_f64);
    for record in records(&mut reader) {
        let record = record?;
        if let Record::Session(session) = &record {
            begins_s = session.from_s;
        }
        ends_s = ends_s.max(record.t_s().unwrap_or_default());
    }
    let playback = Playback::all_within(LONGEST_S, ends_s - begins_s, name);
    let step_s = playback.speed() * FRAME.as_secs_f64();
    let mut model = Model::replaying(playback, TimelineOptions::default());
    select_screen(args, &mut model);
    let mut animation = Animation::new(args.size, args.look.theme());
    let mut until_s = begins_s + step_s;
    let mut reader = JoinedReader::open(&args.files).map_err(anyhow::Error::from)?;
    for record in records(&mut reader) {
        let record = record?;
        while record.t_s().is_some_and(|t_s| t_s > until_s) {
            animation.push(&screens::picture(args.size, args.look.theme(), &model));
            until_s += step_s;
        }
        deliver(&mut model, Delivery::Record(Arc::new(record)));
    }
    animation.push(&screens::picture(args.size, args.look.theme(), &model));
    Ok(write(out, &animation.render(FRAME, PAUSE))?)
}

/// Reads the whole recording.
fn records(reader: &mut JoinedReader) -> impl Iterator<Item = anyhow::Result<Record>> {
    std::iter::from_fn(move || reader.next_record().map_err(anyhow::Error::from).transpose())
}

fn deliver(model: &mut Model, delivery: Delivery) {
    update(model, Msg::Delivery(delivery));
}

/// Selects the requested screen in the model, and returns the effects of this change.
fn select_screen(args: &ReplayArgs, model: &mut Model) -> Vec<Effect> {
    model.screen = args.screen;
    let columns = screens::plan(args.size, model).chart_columns();
    update(model, Msg::Columns(columns))
}

fn write(path: &Path, picture: &str) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| {
        let written = file.write_all(picture.as_bytes());
        // An incomplete picture is useless, so the file is removed. The error says why writing failed.
        written.inspect_err(|_| drop(fs::remove_file(path)))
    });
    let path = path.display();
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{path} exists already and is not overwritten; name another file")
        }
        _ => anyhow::anyhow!("cannot write the picture to {path}: {error}"),
    })
}
