//! A screen as a drawing: SVG that looks alike in every viewer, whatever its fonts.
//!
//! Each cell has its place in a grid. Letters are text, stretched to the grid; lines, blocks and braille dots are
//! drawn as shapes, so that they join without gaps.

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    style::Modifier,
};

use super::theme::{
    Theme,
    paper::{Paper, Rgb},
};
use crate::foreign::is_obeyed;

/// Width of a cell in pixels; a monospace letter of the font size takes about so much.
const WIDTH: f64 = 8.4;
/// Height of a cell.
const HEIGHT: f64 = 18.0;
/// From the top of a cell to the line that letters stand on.
const BASELINE: f64 = 13.5;
/// Around the screen.
const MARGIN: f64 = 12.0;
/// How thick lines are.
const LINE: f64 = 1.2;
/// The first that a viewer has is taken.
const FONTS: &str = "ui-monospace,'SF Mono','Cascadia Mono','JetBrains Mono',Menlo,Consolas,'DejaVu Sans Mono',\
                     'Liberation Mono',monospace";

/// `buffer` as an SVG document.
pub fn render(buffer: &Buffer, theme: Theme) -> String {
    let paper = theme.paper();
    let (width, height) = (f64::from(buffer.area.width) * WIDTH, f64::from(buffer.area.height) * HEIGHT);
    let (outer_width, outer_height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let mut drawing = Drawing { text: String::new() };
    drawing.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{outer_width:.1}\" height=\"{outer_height:.1}\" \
         viewBox=\"0 0 {outer_width:.1} {outer_height:.1}\" font-family=\"{FONTS}\" font-size=\"14\">"
    ));
    drawing
        .line(format_args!("<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>", hex(paper.ground)));
    drawing.line(format_args!("<g transform=\"translate({MARGIN} {MARGIN})\">"));
    let columns = usize::from(buffer.area.width).max(1);
    for (y, cells) in buffer.content.chunks(columns).enumerate() {
        drawing.row(y as f64 * HEIGHT, cells, &paper);
    }
    drawing.line(format_args!("</g>"));
    drawing.line(format_args!("</svg>"));
    drawing.text
}

/// `buffer` as its characters alone, without blanks at the ends of lines.
pub fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(buffer.area.width).max(1));
    rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned() + "\n").collect()
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    ink: Rgb,
    ground: Option<Rgb>,
    bold: bool,
    underlined: bool,
}

impl Look {
    fn of(cell: &Cell, paper: &Paper) -> Self {
        let worn = |modifier| cell.modifier.contains(modifier);
        let mut ink = paper.rgb(cell.fg).unwrap_or(paper.text);
        let mut ground = paper.rgb(cell.bg);
        if worn(Modifier::REVERSED) {
            (ink, ground) = (ground.unwrap_or(paper.ground), Some(ink));
        }
        if worn(Modifier::DIM) {
            ink = paper.faint(ink);
        }
        Self { ink, ground, bold: worn(Modifier::BOLD), underlined: worn(Modifier::UNDERLINED) }
    }
}

struct Drawing {
    text: String,
}

impl Drawing {
    fn line(&mut self, what: std::fmt::Arguments) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{what}");
    }

    fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: Rgb, opacity: f64) {
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        self.line(format_args!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{}\"{opacity}/>",
            hex(fill)
        ));
    }

    fn row(&mut self, y: f64, cells: &[Cell], paper: &Paper) {
        let looks: Vec<_> = cells.iter().map(|cell| Look::of(cell, paper)).collect();
        for (from, to) in runs(cells.len(), |a, b| looks[a].ground == looks[b].ground) {
            if let Some(ground) = looks[from].ground {
                let place = [from as f64 * WIDTH, y, (to - from) as f64 * WIDTH, HEIGHT];
                self.rect(place, ground, 1.0);
            }
        }
        let is_text = |at: usize| shapes(cells[at].symbol()).is_none();
        for (from, to) in runs(cells.len(), |a, b| looks[a] == looks[b] && is_text(a) == is_text(b)) {
            if is_text(from) {
                self.words(from, y, &cells[from..to], looks[from]);
            } else {
                self.shapes(from, y, &cells[from..to], looks[from]);
            }
        }
    }

    /// A run of letters of one look, each word at its place.
    fn words(&mut self, from: usize, y: f64, cells: &[Cell], look: Look) {
        let blank = |at: usize| cells[at].symbol().trim().is_empty();
        for (start, end) in runs(cells.len(), |a, b| blank(a) == blank(b)) {
            if blank(start) {
                continue;
            }
            let word: String = cells[start..end].iter().map(Cell::symbol).collect();
            let (x, length) = ((from + start) as f64 * WIDTH, (end - start) as f64 * WIDTH);
            let bold = if look.bold { " font-weight=\"bold\"" } else { "" };
            let underline = if look.underlined { " text-decoration=\"underline\"" } else { "" };
            self.line(format_args!(
                "<text x=\"{x:.2}\" y=\"{:.2}\" textLength=\"{length:.2}\" lengthAdjust=\"spacingAndGlyphs\" \
                 fill=\"{}\"{bold}{underline}>{}</text>",
                y + BASELINE,
                hex(look.ink),
                escaped(&word)
            ));
        }
    }

    fn shapes(&mut self, from: usize, y: f64, cells: &[Cell], look: Look) {
        // One shape over cells that look alike joins without a seam: a rule, a row of full blocks.
        for (start, end) in runs(cells.len(), |a, b| cells[a].symbol() == cells[b].symbol()) {
            let shapes = shapes(cells[start].symbol()).unwrap_or_default();
            let spans = shapes.iter().all(Shape::spans);
            let cells_of_one = if spans { end - start } else { 1 };
            for at in (start..end).step_by(cells_of_one) {
                let x = (from + at) as f64 * WIDTH;
                for shape in &shapes {
                    let [left, top, width, height] = shape.place;
                    let width = if spans { cells_of_one as f64 * WIDTH } else { width };
                    self.rect([x + left, y + top, width, height], look.ink, shape.opacity);
                }
            }
        }
    }
}

/// A part of a cell that is filled.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Left, top, width and height in pixels.
    place: [f64; 4],
    opacity: f64,
}

impl Shape {
    fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { place: [left, top, width, height], opacity: 1.0 }
    }

    /// Whether it goes from the left of the cell to its right.
    fn spans(&self) -> bool {
        self.place[0] == 0.0 && self.place[2] >= WIDTH
    }
}

/// What a line, a block or braille dots are made of; `None` for letters and all other signs.
fn shapes(symbol: &str) -> Option<Vec<Shape>> {
    let mut characters = symbol.chars();
    let (c, None) = (characters.next()?, characters.next()) else { return None };
    match c {
        '\u{2500}'..='\u{254b}' => lines(c),
        '\u{2580}' => Some(vec![Shape::new(0.0, 0.0, WIDTH, HEIGHT / 2.0)]),
        '\u{2581}'..='\u{2588}' => {
            let height = HEIGHT * f64::from(c as u32 - 0x2580) / 8.0;
            Some(vec![Shape::new(0.0, HEIGHT - height, WIDTH, height)])
        }
        '\u{2589}'..='\u{258f}' => {
            let width = WIDTH * f64::from(0x2590 - c as u32) / 8.0;
            Some(vec![Shape::new(0.0, 0.0, width, HEIGHT)])
        }
        '\u{2591}'..='\u{2593}' => {
            let opacity = f64::from(c as u32 - 0x2590) / 4.0;
            Some(vec![Shape { opacity, ..Shape::new(0.0, 0.0, WIDTH, HEIGHT) }])
        }
        '\u{2800}'..='\u{28ff}' => Some(dots(c as u32 - 0x2800)),
        _ => None,
    }
}

/// The arms of a line: left, right, up, down. Dashed ones are drawn as such.
fn lines(c: char) -> Option<Vec<Shape>> {
    let (middle_x, middle_y) = ((WIDTH - LINE) / 2.0, (HEIGHT - LINE) / 2.0);
    let dash = |n: u32, length: f64| (0..n).map(move |i| f64::from(i) * length / f64::from(n));
    let [left, right, up, down] = match c {
        '\u{2500}' | '\u{2501}' => return Some(vec![Shape::new(0.0, middle_y, WIDTH, LINE)]),
        '\u{2504}' | '\u{2505}' | '\u{2508}' | '\u{2509}' => {
            return Some(dash(3, WIDTH).map(|x| Shape::new(x, middle_y, WIDTH / 6.0, LINE)).collect());
        }
        '\u{2506}' | '\u{2507}' | '\u{250a}' | '\u{250b}' => {
            return Some(dash(4, HEIGHT).map(|y| Shape::new(middle_x, y, LINE, HEIGHT / 8.0)).collect());
        }
        '\u{2502}' | '\u{2503}' => [false, false, true, true],
        '\u{250c}' => [false, true, false, true],
        '\u{2510}' => [true, false, false, true],
        '\u{2514}' => [false, true, true, false],
        '\u{2518}' => [true, false, true, false],
        '\u{251c}' => [false, true, true, true],
        '\u{2524}' => [true, false, true, true],
        '\u{252c}' => [true, true, false, true],
        '\u{2534}' => [true, true, true, false],
        '\u{253c}' => [true, true, true, true],
        _ => return None,
    };
    let arms = [
        (left, Shape::new(0.0, middle_y, middle_x + LINE, LINE)),
        (right, Shape::new(middle_x, middle_y, WIDTH - middle_x, LINE)),
        (up, Shape::new(middle_x, 0.0, LINE, middle_y + LINE)),
        (down, Shape::new(middle_x, middle_y, LINE, HEIGHT - middle_y)),
    ];
    Some(arms.into_iter().filter(|(is_there, _)| *is_there).map(|(_, shape)| shape).collect())
}

/// The eight dots of a braille cell; bit 0 is dot 1.
fn dots(bits: u32) -> Vec<Shape> {
    /// Column and row of each bit.
    const PLACES: [(f64, f64); 8] =
        [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (1.0, 0.0), (1.0, 1.0), (1.0, 2.0), (0.0, 3.0), (1.0, 3.0)];
    let (across, along) = (WIDTH / 2.0, HEIGHT / 4.0);
    let size = 2.4;
    let set = PLACES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    set.map(|(_, (x, y))| {
        Shape::new(x * across + (across - size) / 2.0, y * along + (along - size) / 2.0, size, size)
    })
    .collect()
}

/// The stretches of 0..`n` whose neighbours are alike, as from and to.
fn runs(n: usize, alike: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut from = 0;
    for at in 1..=n {
        if at == n || !alike(at - 1, at) {
            runs.push((from, at));
            from = at;
        }
    }
    runs
}

fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Text as XML wants it; what XML cannot hold, or a viewer would obey, becomes a question mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if is_obeyed(c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use ratatui::{layout::Rect, style::Style};

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
    fn it_is_xml_that_holds_the_words_and_draws_lines_blocks_and_dots() {
        let line = "\u{250c}\u{2500}\u{2500} \u{28ff} \u{2584} a<b&c \u{b5}s";
        let (svg, text) = picture(&[line, "  end  "]);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let words: Vec<_> =
            document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text()).collect();
        assert_eq!(words, ["a<b&c", "\u{b5}s", "end"]);
        let shapes = document.descendants().filter(|n| n.has_tag_name("rect")).count();
        // The paper, two arms of a corner, a rule in one piece, eight dots, half a block.
        assert_eq!(shapes, 1 + 2 + 1 + 8 + 1);
        assert_eq!(text, format!("{line}\n  end\n"));
    }

    #[test]
    fn it_holds_no_character_that_xml_forbids() {
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
    fn letters_stand_in_the_grid_whatever_the_font() {
        let (svg, _) = picture(&["   ab"]);
        let place = format!("x=\"{:.2}\" y=\"{BASELINE:.2}\" textLength=\"{:.2}\"", 3.0 * WIDTH, 2.0 * WIDTH);
        assert!(svg.contains(&place), "{svg}");
    }

    #[test]
    fn a_reversed_cell_has_the_ground_of_its_ink() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 1));
        buffer.set_string(0, 0, "x", Style::new().add_modifier(Modifier::REVERSED));
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let svg = render(&buffer, theme);
        let paper = theme.paper();
        assert!(svg.contains(&format!("height=\"18.00\" fill=\"{}\"", hex(paper.text))), "{svg}");
        assert!(svg.contains(&format!("fill=\"{}\">x<", hex(paper.ground))), "{svg}");
    }
}
