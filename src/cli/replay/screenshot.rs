//! `redyno replay FILE --screenshot OUT`: one frame of a recording as a picture, without a terminal.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::args::ReplayArgs;
use crate::{
    app::{Delivery, Model, Msg, Notice, Picture, Playback, update},
    cli::{Failure, UsageError},
    session::{Reader, TimelineOptions},
    tui::{screens, share},
};

/// Reads all of the recording, called `name`, and writes the picture of this form to `out`.
///
/// # Errors
/// When it cannot be read, has no such moment, or the file cannot be written or is there already.
pub fn shoot(
    args: &ReplayArgs,
    (out, form): &(PathBuf, Picture),
    mut reader: Reader,
    name: String,
) -> Result<(), Failure> {
    let mut model = Model::replaying(Playback::new(name), TimelineOptions::default());
    let mut deliver = |delivery| drop(update(&mut model, Msg::Delivery(delivery)));
    while let Some(record) = reader.next_record().map_err(anyhow::Error::from)? {
        deliver(Delivery::Record(Arc::new(record)));
    }
    deliver(Delivery::Notice(Notice::Ended));
    model.screen = args.screen;
    let columns = screens::plan(args.size, &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    let now_s = model.timeline().now_s();
    if let Some(at_s) = args.at {
        if at_s > now_s {
            let text = format!("--at {at_s}: the recording ends after {now_s:.1} s");
            return Err(UsageError::Line(text).into());
        }
        model.show_moment(at_s);
    }
    let picture = share::picture(*form, &model, args.look.theme(), args.size);
    Ok(write(out, &picture)?)
}

fn write(path: &Path, picture: &str) -> anyhow::Result<()> {
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    let written = written.and_then(|mut file| file.write_all(picture.as_bytes()));
    let path = path.display();
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{path} is there already; pictures are never overwritten: name another file")
        }
        _ => anyhow::anyhow!("cannot write the picture to {path}: {error}"),
    })
}
