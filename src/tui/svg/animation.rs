//! A drawing that moves: every element is in it once, and is seen while the frames last that have it.
//!
//! ```text
//!  frame    0   1   2   3   4        "42 k/s" 0-3         one group for all elements that come and go together,
//!           ├───────────┤   ├──►     a rule   0-3, 4-5     with one animation of its visibility
//! ```
//! A viewer that does not animate shows the last frame.

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    elements::{Layer, elements},
    sheet,
};
use crate::tui::theme::{Theme, paper::Paper};

/// The frames from which on an element is seen, not seen, seen again, and so on.
type Turns = Vec<usize>;

/// Screens that follow each other.
#[derive(Debug)]
pub struct Animation {
    paper: Paper,
    area: Rect,
    frames: usize,
    turns: BTreeMap<(Layer, String), Turns>,
}

impl Animation {
    /// No frame yet.
    pub fn new(area: Rect, theme: Theme) -> Self {
        Self { paper: theme.paper(), area, frames: 0, turns: BTreeMap::new() }
    }

    /// Adds a frame.
    pub fn push(&mut self, buffer: &Buffer) {
        let now = self.frames;
        self.frames += 1;
        for element in elements(buffer, &self.paper) {
            let turns = self.turns.entry(element).or_default();
            // It was there until now, and stays.
            if turns.last() == Some(&now) {
                turns.pop();
            } else {
                turns.push(now);
            }
            turns.push(self.frames);
        }
    }

    /// The frames as one SVG document that repeats them for ever: each is shown for `each`, the last one for `pause` more.
    pub fn render(self, each: Duration, pause: Duration) -> String {
        let mut groups: BTreeMap<(Layer, Turns), String> = BTreeMap::new();
        for ((layer, element), mut turns) in self.turns {
            turns.retain(|frame| *frame < self.frames);
            let group = groups.entry((layer, turns)).or_default();
            // Writing to a String does not fail.
            let _ = writeln!(group, "{element}");
        }
        let whole = each * self.frames as u32 + pause;
        let share = |frame: usize| each.as_secs_f64() * frame as f64 / whole.as_secs_f64();
        let drawn = groups.iter().map(|((_, turns), elements)| match turns[..] {
            [0] => elements.trim_end().to_owned(),
            _ => seen_from_to(turns, share, whole) + elements + "</g>",
        });
        sheet(self.area, &self.paper, drawn)
    }
}

/// The opening of a group that is seen from and to these frames, each of which begins at its share of the `whole`.
fn seen_from_to(turns: &[usize], share: impl Fn(usize) -> f64, whole: Duration) -> String {
    // What is not seen from the start is hidden from the start.
    let hidden = (turns[0] > 0).then_some((0, "hidden"));
    let turned = turns.iter().zip(["visible", "hidden"].into_iter().cycle());
    let turned = hidden.into_iter().chain(turned.map(|(frame, state)| (*frame, state)));
    let (times, states): (Vec<_>, Vec<_>) =
        turned.map(|(frame, state)| (format!("{:.4}", share(frame)), state)).unzip();
    format!(
        "<g visibility=\"{}\"><animate attributeName=\"visibility\" calcMode=\"discrete\" dur=\"{:.2}s\" \
         repeatCount=\"indefinite\" values=\"{}\" keyTimes=\"{}\"/>\n",
        states.last().unwrap_or(&"visible"),
        whole.as_secs_f64(),
        states.join(";"),
        times.join(";"),
    )
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet};

    #[test]
    fn every_element_is_there_once_and_is_seen_in_its_frames_only() {
        let area = Rect::new(0, 0, 9, 1);
        let mut animation = Animation::new(area, Theme::new(Colours::Dark, GlyphSet::Unicode));
        for words in ["all ab", "all cd", "all ab", "all ef"] {
            let mut buffer = Buffer::empty(area);
            buffer.set_string(0, 0, words, Style::new());
            animation.push(&buffer);
        }
        let svg = animation.render(Duration::from_millis(250), Duration::from_secs(1));
        let document = roxmltree::Document::parse(&svg).unwrap();
        let seen = document.descendants().filter(|node| node.has_tag_name("text")).map(|text| {
            let group = text.parent().unwrap();
            let told = group.first_element_child().filter(|first| first.has_tag_name("animate"));
            let of = |name| told.map_or("", |animate| animate.attribute(name).unwrap());
            [
                text.text().unwrap(),
                group.attribute("visibility").unwrap_or("always"),
                of("values"),
                of("keyTimes"),
            ]
        });
        let mut seen: Vec<_> = seen.collect();
        seen.sort_unstable();
        assert_eq!(
            seen,
            [
                ["ab", "hidden", "visible;hidden;visible;hidden", "0.0000;0.1250;0.2500;0.3750"],
                ["all", "always", "", ""],
                ["cd", "hidden", "hidden;visible;hidden", "0.0000;0.1250;0.2500"],
                ["ef", "visible", "hidden;visible", "0.0000;0.3750"],
            ]
        );
        assert_eq!(svg.matches("dur=\"2.00s\"").count(), 3);
    }
}
