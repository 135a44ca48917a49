//! The elements of an SVG picture of the screen. The backgrounds of the cells are at the bottom. Words and paths are
//! above them, each with its position.
//!
//! Lines, blocks and braille dots are drawn as rectangles in the grid of cells.

use ratatui::{
    buffer::{Buffer, Cell},
    style::Modifier,
};

use crate::{
    tui::theme::colours::{PictureColours, Rgb},
    untrusted::is_interpreted,
};

/// The distance from the top of a cell to the baseline of its letters, in pixels.
const BASELINE: f64 = 13.5;
/// The largest number of cells in one path. With short paths, an animation repeats only small parts of a changed row.
const CELLS_OF_A_PATH: usize = 8;

/// The layers of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// The background of letters and lines.
    Ground,
    /// Letters, lines, blocks and dots.
    Ink,
}

impl Layer {
    /// All layers, from the lowest to the highest.
    pub(super) const ALL: [Self; 2] = [Self::Ground, Self::Ink];
}

/// Returns the elements of `buffer`. The elements of one layer do not overlap.
pub(super) fn elements(buffer: &Buffer, paper: &PictureColours) -> Vec<(Layer, String)> {
    let mut drawing = SvgElements::default();
    let columns = usize::from(buffer.area.width).max(1);
    for (y, cells) in buffer.content.chunks(columns).enumerate() {
        drawing.row(y as f64 * HEIGHT, cells, paper);
    }
    drawing.elements
}

/// The colours and attributes of a cell in the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SvgStyle {
    ink: Rgb,
    ground: Option<Rgb>,
    bold: bool,
    underlined: bool,
}

impl SvgStyle {
    fn of(cell: &Cell, paper: &PictureColours) -> Self {
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

#[derive(Default)]
struct SvgElements {
    elements: Vec<(Layer, String)>,
}

impl SvgElements {
    fn row(&mut self, y: f64, cells: &[Cell], paper: &PictureColours) {
        let looks: Vec<_> = cells.iter().map(|cell| SvgStyle::of(cell, paper)).collect();
        for (from, to) in runs(cells.len(), |a, b| looks[a].ground == looks[b].ground) {
            if let Some(ground) = looks[from].ground {
                let place = Shape::new(0.0, 0.0, (to - from) as f64 * WIDTH, HEIGHT);
                self.path(Layer::Ground, &[place.moved(from as f64 * WIDTH, y)], ground);
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

    /// Adds letters with the same colours and attributes. Each word has its own position.
    fn words(&mut self, from: usize, y: f64, cells: &[Cell], look: SvgStyle) {
        let blank = |at: usize| cells[at].symbol().trim().is_empty();
        for (start, end) in runs(cells.len(), |a, b| blank(a) == blank(b)) {
            if blank(start) {
                continue;
            }
            let word: String = cells[start..end].iter().map(Cell::symbol).collect();
            let (x, length) = ((from + start) as f64 * WIDTH, (end - start) as f64 * WIDTH);
            let bold = if look.bold { " font-weight=\"bold\"" } else { "" };
            let underline = if look.underlined { " text-decoration=\"underline\"" } else { "" };
            let text = format!(
                "<text x=\"{x:.2}\" y=\"{:.2}\" textLength=\"{length:.2}\" lengthAdjust=\"spacingAndGlyphs\" \
                 fill=\"{}\"{bold}{underline}>{}</text>",
                y + BASELINE,
                hex(look.ink),
                escaped(&word)
            );
            self.elements.push((Layer::Ink, text));
        }
    }

    /// Adds the lines, blocks and dots of cells with the same colours and attributes.
    fn shapes(&mut self, from: usize, y: f64, cells: &[Cell], look: SvgStyle) {
        let of_cells: Vec<_> = cells.iter().map(|cell| shapes(cell.symbol()).unwrap_or_default()).collect();
        let spans = |at: usize| of_cells[at].iter().all(Shape::spans);
        // Equal cells that join without a gap become one shape, such as a rule or a row of full blocks. Other paths
        // begin at fixed columns, so that existing paths do not change while a line grows.
        let in_one = |a: usize, b: usize| match (spans(a), spans(b)) {
            (true, true) => cells[a].symbol() == cells[b].symbol(),
            (false, false) => (from + a) / CELLS_OF_A_PATH == (from + b) / CELLS_OF_A_PATH,
            _ => false,
        };
        for (start, end) in runs(cells.len(), in_one) {
            let wide = if spans(start) { end - start } else { 1 };
            let at = |at: usize| {
                of_cells[at].iter().map(move |shape| shape.widened(wide).moved((from + at) as f64 * WIDTH, y))
            };
            let drawn: Vec<_> = (start..end).step_by(wide).flat_map(at).collect();
            for (first, last) in runs(drawn.len(), |a, b| drawn[a].opacity == drawn[b].opacity) {
                self.path(Layer::Ink, &drawn[first..last], look.ink);
            }
        }
    }

    /// Adds a path of shapes with the same colour and opacity.
    fn path(&mut self, layer: Layer, shapes: &[Shape], colour: Rgb) {
        let opacity = shapes.first().map_or(1.0, |shape| shape.opacity);
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        let path: String = shapes.iter().map(Shape::path).collect();
        self.elements.push((layer, format!("<path fill=\"{}\"{opacity} d=\"{path}\"/>", hex(colour))));
    }
}

/// Divides 0..`n` into ranges. In a range, each number is `alike` its neighbour. Returns the start and end of each
/// range.
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

/// Returns a colour in the notation of XML.
pub(super) fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns text escaped for XML. A question mark replaces each character that XML forbids or that a viewer would
/// interpret.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            c if is_interpreted(c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// The width of a cell in pixels, about the width of a monospace letter in this font size.
pub(super) const WIDTH: f64 = 8.4;
/// The height of a cell in pixels.
pub(super) const HEIGHT: f64 = 18.0;
/// The thickness of lines in pixels.
const LINE: f64 = 1.2;

/// A filled rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Left, top, width and height in pixels.
    place: [f64; 4],
    pub(super) opacity: f64,
}

impl Shape {
    pub(super) fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self { place: [left, top, width, height], opacity: 1.0 }
    }

    /// Returns whether the rectangle spans a cell from left to right.
    pub(super) fn spans(&self) -> bool {
        self.place[0] == 0.0 && self.place[2] >= WIDTH
    }

    /// Returns the rectangle. If it spans a whole cell, the result extends over this many cells.
    pub(super) fn widened(self, cells: usize) -> Self {
        let [left, top, width, height] = self.place;
        let width = if self.spans() { cells as f64 * WIDTH } else { width };
        Self { place: [left, top, width, height], ..self }
    }

    /// Returns the rectangle, moved this many pixels to the right and down.
    pub(super) fn moved(self, right: f64, down: f64) -> Self {
        let [left, top, width, height] = self.place;
        Self { place: [left + right, top + down, width, height], ..self }
    }

    /// Returns the rectangle as a part of a path.
    pub(super) fn path(&self) -> String {
        let [left, top, width, height] = self.place.map(hundredths);
        format!("M{left} {top}h{width}v{height}h-{width}z")
    }
}

/// Rounds pixels to two decimals. The numbers are then short.
fn hundredths(pixels: f64) -> f64 {
    (pixels * 100.0).round() / 100.0
}

/// Returns the rectangles of a line, a block or braille dots. Returns `None` for letters and all other characters.
pub(super) fn shapes(symbol: &str) -> Option<Vec<Shape>> {
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

/// Returns the rectangles of a line with arms to the left, right, up and down. Dashed lines stay dashed.
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

/// Returns the dots of a braille cell. Bit 0 is dot 1.
fn dots(bits: u32) -> Vec<Shape> {
    /// The column and row of each bit.
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
