//! Draws a screen as an SVG picture, with or without animation. The picture looks the same in every viewer and with any
//! font.
//!
//! Every cell has its position in a grid. Letters are text that is stretched to the grid. Lines, blocks and braille
//! dots are shapes, so they join without gaps.
//!
//! An animation contains each element once. The element is visible during the frames in which it occurs.
//!
//! ```text
//!  frame    0   1   2   3   4        "42 k/s" 0-3         one group for all elements that come and go together,
//!           ├───────────┤   ├──►     a rule   0-3, 4-5     with one animation of its visibility
//! ```
//! A viewer that does not animate shows the last frame.

mod elements;

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    time::Duration,
};

use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
};

use self::elements::{HEIGHT, Layer, WIDTH, elements, hex};
use super::theme::{Theme, colours::PictureColours};

/// The margin around the screen, in pixels.
const MARGIN: f64 = 12.0;
/// The fonts of the picture. A viewer uses the first of these fonts that is installed.
const FONTS: &str = "ui-monospace,'SF Mono','Cascadia Mono','JetBrains Mono',Menlo,Consolas,'DejaVu Sans Mono',\
                     'Liberation Mono',monospace";

/// Returns `buffer` as an SVG document.
pub fn render(buffer: &Buffer, theme: Theme) -> String {
    let paper = theme.paper();
    let elements = elements(buffer, &paper);
    let layer = |layer| elements.iter().filter(move |(of, _)| *of == layer).map(|(_, element)| element);
    sheet(buffer.area, &paper, Layer::ALL.into_iter().flat_map(layer))
}

/// Returns the characters of `buffer`, without blanks at the ends of lines.
pub fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width).max(1));
    rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned() + "\n").collect()
}

/// Returns an SVG document for a screen with the size of `area` and the elements `drawn`, one per line.
fn sheet(area: Rect, paper: &PictureColours, drawn: impl IntoIterator<Item = impl Display>) -> String {
    let (width, height) = (f64::from(area.width) * WIDTH, f64::from(area.height) * HEIGHT);
    let (width, height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let mut document = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.1}\" height=\"{height:.1}\" \
         viewBox=\"0 0 {width:.1} {height:.1}\" font-family=\"{FONTS}\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n\
         <g transform=\"translate({MARGIN} {MARGIN})\">\n",
        hex(paper.ground)
    );
    for element in drawn {
        // Writing to a String does not fail.
        let _ = writeln!(document, "{element}");
    }
    document + "</g>\n</svg>\n"
}

/// The numbers of the frames at which an element appears, disappears, appears again, and so on.
type VisibilityChanges = Vec<usize>;

/// A sequence of screens.
pub struct Animation {
    paper: PictureColours,
    area: Rect,
    frames: usize,
    turns: BTreeMap<(Layer, String), VisibilityChanges>,
}

impl Animation {
    /// Creates an animation without frames.
    pub fn new(area: Rect, theme: Theme) -> Self {
        Self { paper: theme.paper(), area, frames: 0, turns: BTreeMap::new() }
    }

    /// Adds a frame.
    pub fn push(&mut self, buffer: &Buffer) {
        let now = self.frames;
        self.frames += 1;
        for element in elements(buffer, &self.paper) {
            let turns = self.turns.entry(element).or_default();
            // The element was visible in the previous frame, and stays visible.
            if turns.last() == Some(&now) {
                turns.pop();
            } else {
                turns.push(now);
            }
            turns.push(self.frames);
        }
    }

    /// Returns the frames as one SVG document that repeats forever. Each frame is shown for the duration `each`, and
    /// the last frame for `pause` longer.
    pub fn render(self, each: Duration, pause: Duration) -> String {
        let mut groups: BTreeMap<(Layer, VisibilityChanges), String> = BTreeMap::new();
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

/// Returns the start tag of a group that is visible during these frames. `share` returns the start of a frame as a
/// share of the `whole` duration.
fn seen_from_to(turns: &[usize], share: impl Fn(usize) -> f64, whole: Duration) -> String {
    // An element that is not visible at the start must be hidden from the start.
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
    use ratatui::style::{Modifier, Style};

    use super::*;
    use crate::tui::theme::{Colours, GlyphSet};

    fn picture(lines: &[&str]) -> (String, String) {
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap() as u16;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, lines.len() as u16));
        for (y, line) in lines.iter().enumerate() {
            buffer.set_string(0, y as u16, line, Style::new());
        }
        (render(&buffer, Theme::new(Colours::Dark, GlyphSet::Unicode)), text(&buffer))
    }

    #[test]
    fn the_picture_is_xml_with_words_as_text_and_lines_blocks_and_dots_as_shapes() {
        let line = "\u{250c}\u{2500}\u{2500} \u{28ff} \u{2584} a<b&c \u{b5}s";
        let (svg, text) = picture(&[line, "  end  "]);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let words: Vec<_> =
            document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text()).collect();
        assert_eq!(words, ["a<b&c", "\u{b5}s", "end"]);
        let paths = document.descendants().filter_map(|n| n.attribute("d"));
        // The expected shapes are two arms of a corner, one rule, eight dots and half a block.
        assert_eq!(paths.map(|path| path.matches('z').count()).sum::<usize>(), 2 + 1 + 8 + 1);
        assert_eq!(text, format!("{line}\n  end\n"));
    }

    #[test]
    fn the_picture_contains_no_character_that_xml_forbids() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        for c in ('\0'..'\u{3000}').chain('\u{e000}'..='\u{ffff}').chain('\u{1f000}'..'\u{1f010}') {
            buffer[(0, 0)].set_char(c);
            let svg = render(&buffer, Theme::new(Colours::Dark, GlyphSet::Unicode));
            // XML 1.0, 2.2: #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]
            let is_fine = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
            assert!(svg.chars().all(is_fine), "{c:?}");
            assert!(roxmltree::Document::parse(&svg).is_ok(), "{c:?}");
        }
    }

    #[test]
    fn letters_are_stretched_to_the_grid_with_any_font() {
        let (svg, _) = picture(&["   ab"]);
        let place = format!("x=\"{:.2}\" y=\"13.50\" textLength=\"{:.2}\"", 3.0 * WIDTH, 2.0 * WIDTH);
        assert!(svg.contains(&place), "{svg}");
    }

    #[test]
    fn a_reversed_cell_swaps_text_and_background_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        buffer.set_string(0, 0, "x", Style::new().add_modifier(Modifier::REVERSED));
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let svg = render(&buffer, theme);
        let paper = theme.paper();
        assert!(
            svg.contains(&format!("<path fill=\"{}\" d=\"M0 0h8.4v18h-8.4z\"/>", hex(paper.text))),
            "{svg}"
        );
        assert!(svg.contains(&format!("fill=\"{}\">x<", hex(paper.ground))), "{svg}");
    }

    #[test]
    fn every_element_occurs_once_and_is_visible_only_in_its_frames() {
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
            let animate_tag = group.first_element_child().filter(|first| first.has_tag_name("animate"));
            let of = |name| animate_tag.map_or("", |animate| animate.attribute(name).unwrap());
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
