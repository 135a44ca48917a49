//! What lines, blocks and braille dots are made of: rectangles in the grid of the cells.

/// Width of a cell in pixels; a monospace letter of the font size takes about so much.
pub(super) const WIDTH: f64 = 8.4;
/// Height of a cell.
pub(super) const HEIGHT: f64 = 18.0;
/// How thick lines are.
const LINE: f64 = 1.2;

/// A rectangle that is filled.
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

    /// Whether it goes from the left of a cell to its right.
    pub(super) fn spans(&self) -> bool {
        self.place[0] == 0.0 && self.place[2] >= WIDTH
    }

    /// The same over so many cells, if it spans one.
    pub(super) fn widened(self, cells: usize) -> Self {
        let [left, top, width, height] = self.place;
        let width = if self.spans() { cells as f64 * WIDTH } else { width };
        Self { place: [left, top, width, height], ..self }
    }

    /// The same so many pixels to the right and further down.
    pub(super) fn moved(self, right: f64, down: f64) -> Self {
        let [left, top, width, height] = self.place;
        Self { place: [left + right, top + down, width, height], ..self }
    }

    /// It as a part of a path.
    pub(super) fn path(&self) -> String {
        let [left, top, width, height] = self.place.map(hundredths);
        format!("M{left} {top}h{width}v{height}h-{width}z")
    }
}

/// Pixels to the hundredth, as short as they can be written.
fn hundredths(pixels: f64) -> f64 {
    (pixels * 100.0).round() / 100.0
}

/// What a line, a block or braille dots are made of; `None` for letters and all other signs.
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
