//! What a screen is drawn of: the grounds of its cells, and on them words and paths, each with its place.

use ratatui::{
    buffer::{Buffer, Cell},
    style::Modifier,
};

use super::shapes::{HEIGHT, Shape, WIDTH, shapes};
use crate::{
    tui::theme::paper::{Paper, Rgb},
    untrusted::is_obeyed,
};

/// From the top of a cell to the line that letters stand on, in pixels.
const BASELINE: f64 = 13.5;
/// The most cells that one path covers: where little of a row changes, little of it is drawn anew.
const CELLS_OF_A_PATH: usize = 8;

/// What lies below what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// What letters and lines stand on.
    Ground,
    /// Letters, lines, blocks and dots.
    Ink,
}

impl Layer {
    /// From below.
    pub(super) const ALL: [Self; 2] = [Self::Ground, Self::Ink];
}

/// The elements of `buffer`. Those of one layer do not overlap.
pub(super) fn elements(buffer: &Buffer, paper: &Paper) -> Vec<(Layer, String)> {
    let mut drawing = Drawing::default();
    let columns = usize::from(buffer.area.width).max(1);
    for (y, cells) in buffer.content.chunks(columns).enumerate() {
        drawing.row(y as f64 * HEIGHT, cells, paper);
    }
    drawing.elements
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

#[derive(Default)]
struct Drawing {
    elements: Vec<(Layer, String)>,
}

impl Drawing {
    fn row(&mut self, y: f64, cells: &[Cell], paper: &Paper) {
        let looks: Vec<_> = cells.iter().map(|cell| Look::of(cell, paper)).collect();
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

    /// A run of cells of one look that hold lines, blocks and dots.
    fn shapes(&mut self, from: usize, y: f64, cells: &[Cell], look: Look) {
        let of_cells: Vec<_> = cells.iter().map(|cell| shapes(cell.symbol()).unwrap_or_default()).collect();
        let spans = |at: usize| of_cells[at].iter().all(Shape::spans);
        // One shape over cells that look alike joins without a seam: a rule, a row of full blocks. Other paths go from one
        // column to another wherever the run begins, so that they stay what they are while it grows.
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

    /// Shapes of one opacity in one colour.
    fn path(&mut self, layer: Layer, shapes: &[Shape], colour: Rgb) {
        let opacity = shapes.first().map_or(1.0, |shape| shape.opacity);
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        let path: String = shapes.iter().map(Shape::path).collect();
        self.elements.push((layer, format!("<path fill=\"{}\"{opacity} d=\"{path}\"/>", hex(colour))));
    }
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

/// A colour as XML writes it.
pub(super) fn hex((red, green, blue): Rgb) -> String {
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
