//! `redyno replay FILE --screenshot OUT`: one frame of a recording as a picture, without a terminal.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use ratatui::layout::Rect;

use super::args::ReplayArgs;
use crate::{
    app::{Delivery, Model, Msg, Notice, Picture, Playback, Screen, update},
    cli::{Failure, UsageError},
    session::{Reader, TimelineOptions},
    tui::{screens, share, theme::Theme},
};

/// The largest side of a picture, in columns or rows.
const LARGEST: u16 = 1000;

/// A picture that is wanted.
pub struct Shot {
    out: PathBuf,
    form: Picture,
    area: Rect,
    screen: Screen,
    at_s: Option<f64>,
    theme: Theme,
}

impl Shot {
    /// The picture that the arguments ask for, if they do.
    ///
    /// # Errors
    /// When one of them cannot be understood.
    pub fn read(args: &ReplayArgs, theme: Theme) -> Result<Option<Self>, UsageError> {
        let Some(out) = args.screenshot.clone() else { return Ok(None) };
        let form = match out.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => Picture::Text,
            Some("svg") => Picture::Svg,
            _ => {
                let text = format!("--screenshot: '{}' must end in .svg or .txt", out.display());
                return Err(UsageError::Line(text));
            }
        };
        let (area, screen) = (area(&args.size)?, screen(&args.screen)?);
        let at_s = args.at.as_deref().map(seconds).transpose()?;
        Ok(Some(Self { out, form, area, screen, at_s, theme }))
    }

    /// Reads all of the recording, called `name`, and writes the picture.
    ///
    /// # Errors
    /// When it cannot be read, has no such moment, or the file cannot be written or is there already.
    pub fn take(&self, mut reader: Reader, name: String) -> Result<(), Failure> {
        let mut model = Model::replaying(Playback::new(name), TimelineOptions::default());
        let mut deliver = |delivery| drop(update(&mut model, Msg::Delivery(delivery)));
        while let Some(record) = reader.next_record().map_err(anyhow::Error::from)? {
            deliver(Delivery::Record(Arc::new(record)));
        }
        deliver(Delivery::Notice(Notice::Ended));
        model.screen = self.screen;
        let columns = screens::plan(self.area, &model).chart_columns();
        update(&mut model, Msg::Columns(columns));
        let now_s = model.timeline().now_s();
        if let Some(at_s) = self.at_s {
            if at_s > now_s {
                let text = format!("--at {at_s}: the recording ends after {now_s:.1} s");
                return Err(UsageError::Line(text).into());
            }
            model.show_moment(at_s);
        }
        let picture = share::picture(self.form, &model, self.theme, self.area);
        Ok(self.write(&picture)?)
    }

    fn write(&self, picture: &str) -> anyhow::Result<()> {
        let path = self.out.display();
        let opened = OpenOptions::new().write(true).create_new(true).open(&self.out);
        let mut file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                anyhow::anyhow!("{path} is there already; pictures are never overwritten: name another file")
            }
            _ => anyhow::anyhow!("cannot write the picture to {path}: {error}"),
        })?;
        file.write_all(picture.as_bytes())
            .map_err(|error| anyhow::anyhow!("cannot write the picture to {path}: {error}"))
    }
}

fn area(size: &str) -> Result<Rect, UsageError> {
    let side = |text: &str| text.parse().ok().filter(|n| (1..=LARGEST).contains(n));
    let sides = size.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
    let (width, height) = sides.ok_or_else(|| {
        UsageError::Line(format!("--size: '{size}' is not columns x rows up to {LARGEST}, such as 120x36"))
    })?;
    Ok(Rect::new(0, 0, width, height))
}

fn screen(name: &str) -> Result<Screen, UsageError> {
    Screen::ALL.into_iter().find(|screen| screen.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names = Screen::ALL.map(|screen| screen.name().to_lowercase()).join(", ");
        UsageError::Line(format!("--screen: there is no screen '{name}'; there are {names}"))
    })
}

fn seconds(text: &str) -> Result<f64, UsageError> {
    text.parse()
        .ok()
        .filter(|s: &f64| *s >= 0.0 && s.is_finite())
        .ok_or_else(|| UsageError::Line(format!("--at: '{text}' is not a number of seconds from 0 on")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_screens_and_moments_are_read_or_refused_with_what_there_is() {
        assert_eq!(area("80x24").unwrap(), Rect::new(0, 0, 80, 24));
        for bad in ["80", "0x5", "x", "5000x2", "-1x3"] {
            assert!(area(bad).unwrap_err().to_string().contains("such as 120x36"), "{bad}");
        }
        assert_eq!(screen("latency").unwrap(), Screen::Latency);
        assert!(screen("x").unwrap_err().to_string().contains("overview, latency"));
        assert_eq!(seconds("1.5").unwrap(), 1.5);
        assert!(seconds("-1").is_err() && seconds("inf").is_err());
    }
}
