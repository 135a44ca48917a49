//! The Segments screen: all segments (times with the same load settings) with their settings and results. If
//! there is room, the screen also shows a curve of the sort column and the details of the selected segment.
//!
//! The curve shows the figure in the sort column over the values of a load setting, as on the Curve screen.
//!
//! ```text
//! ─ p99 over clients ───────────────
//!   5 ms┤              ⣀⡠▸
//!   1 ms┤●⠤⠤⠤●⠤⠤⠒⠒●⠒⠒⠉
//!       └┴─────┴──────┴─────┴─
//!        1    10     100   clients
//! ```

use ratatui::layout::Rect;

use crate::{
    app::{AxisScale, Model, ValueAxis},
    experiment::CurvePoint,
    session::{
        figures::{self, Figure, FigureUnit, Row},
        timeline::Level,
    },
    tui::{
        Dots, Ink, Paint, Scene, linear_top, row,
        widgets::{
            figures::{decade, trimmed},
            knob_curve::{self, AnnotatedCurve, CurveTrace, GUTTER},
            segment_table, value_axis,
        },
    },
    units::{self, count_with_noun},
};

/// The minimum height of the table of segments above the details, with its horizontal rule and its heading.
const LEAST_TABLE: u16 = 6;

/// Draws the Segments screen, without header and footer.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, .. }: &Scene) {
    let segments = model.segments();
    let n = segments.iter().count();
    let title = match segments.forgotten {
        0 => count_with_noun(n as u64, "segment"),
        older => format!("the last {n} segments; {older} older ones count only in the session's sums"),
    };
    paint.rule(row(area, 0), &title);
    let details =
        if area.height >= LEAST_TABLE + segment_table::DETAIL_ROWS { segment_table::DETAIL_ROWS } else { 0 };
    let all = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + details), ..area };
    let table = Rect { height: all.height - curve(paint, all, n, model), ..all };
    segment_table::draw(paint, table, model);
    if details > 0 {
        segment_table::draw_details(paint, Rect { y: all.bottom(), height: details, ..area }, model);
    }
}

/// Draws a curve below a table of `rows` rows, if there is room and the curve has at least two points. Returns the
/// height of the curve.
fn curve(paint: &mut Paint, area: Rect, rows: usize, model: &Model) -> u16 {
    let room = usize::from(area.height).saturating_sub(1 + rows) as u16;
    if room < LEAST_ROWS {
        return 0;
    }
    let Some(curve) = model.curve().filter(|curve| curve.points.len() > 1) else { return 0 };
    let place = Rect { y: area.bottom() - room, height: room, ..area };
    figure_curve(paint, place, model, &knob_curve::AnnotatedCurve::new(model, &curve));
    room
}

/// The minimum height of the curve: a horizontal rule, four rows of a chart, the axis, its labels, and a
/// blank row.
const LEAST_ROWS: u16 = 8;

/// Returns the figure that the curve shows. This is the sort column `sorted_by` if this figure is a result,
/// otherwise the throughput.
fn drawn(sorted_by: Figure) -> Figure {
    match sorted_by.unit {
        FigureUnit::Latency | FigureUnit::Trouble | FigureUnit::Ratio => sorted_by,
        _ => figures::OPS_PER_S,
    }
}

/// Returns the value of the figure over all measurements of a point.
fn value(model: &Model, point: &CurvePoint, figure: Figure) -> Option<f64> {
    let row = Row { server_cpu: server_cpu(model, point), ..Row::of_interval(&point.measured) };
    figure.value(&row)
}

/// Returns the mean CPU use of the server over the segments of a point, weighted by their length.
fn server_cpu(model: &Model, point: &CurvePoint) -> Option<f64> {
    let segments = point.segments.iter().filter_map(|number| model.segments().numbered(*number));
    let used = segments.filter_map(|segment| Some((segment.cpu()?, segment.total.length_s)));
    let (sum, length_s) =
        used.fold((0.0, 0.0), |(sum, all_s), (cpu, s): (f64, f64)| (sum + cpu * s, all_s + s));
    (length_s > 0.0).then(|| sum / length_s)
}

/// Draws a figure as a curve, in at least [`LEAST_ROWS`] rows. The pointer sign marks the point of the selected segment.
fn figure_curve(paint: &mut Paint, area: Rect, model: &Model, over: &AnnotatedCurve) {
    if area.width < GUTTER + 12 {
        return;
    }
    let figure = drawn(model.segment_table.sorted_by());
    paint.rule(row(area, 0), &format!("{} over {}", figure.heading, over.name()));
    let plot =
        Rect { x: area.x + GUTTER, y: area.y + 1, width: area.width - GUTTER - 1, height: area.height - 3 };
    let value = |point: &CurvePoint| value(model, point, figure);
    let values: Vec<f64> = over.curve.points.iter().filter_map(value).collect();
    if values.is_empty() {
        let text = format!("  {}: not measured in these segments, or too few replies", figure.heading);
        paint.text(row(plot, plot.height / 2), &text, Ink::Faint);
    } else {
        let axis = axis(figure, &values);
        knob_curve::y_axis(paint, plot, &axis, |value| label(figure, value));
        if figure == figures::OPS_PER_S {
            knob_curve::law(paint, plot, over, &axis);
        }
        let (selected, glyphs, ink) = (model.selected_segment(), paint.glyphs(), ink(figure));
        let is_selected =
            |point: &&CurvePoint| selected.is_some_and(|number| point.segments.contains(&number));
        let usual = (glyphs.lines[0], ink);
        let mark =
            |point: &CurvePoint| if is_selected(&point) { (glyphs.pointer, Ink::Selected) } else { usual };
        let trace = CurveTrace { axis: &axis, value: &value, ink, mark: &mark };
        trace.draw(paint, plot, over);
        // The selected point is drawn last, above other points at the same position.
        let dots = Dots::of(paint, plot);
        let selected = over.curve.points.iter().filter(is_selected);
        selected.for_each(|point| trace.dot(paint, over, dots, point));
    }
    knob_curve::marks(paint, plot, over);
    knob_curve::labels(paint, plot, over);
    knob_curve::x_labels(paint, Rect { y: area.bottom() - 2, height: 2, ..plot }, over);
}

fn axis(figure: Figure, values: &[f64]) -> ValueAxis {
    let most = values.iter().copied().fold(0.0, f64::max);
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    match figure.unit {
        // A send lag may be zero at all points.
        FigureUnit::Latency if least >= 1.0 => value_axis::log_axis(least, most),
        _ => ValueAxis { low: 0.0, high: linear_top(most) * 1.02, scale: AxisScale::Linear },
    }
}

fn label(figure: Figure, value: f64) -> String {
    match figure.unit {
        FigureUnit::Latency => decade(value.round() as u64),
        FigureUnit::Ratio => units::percent(value),
        _ => trimmed(&units::count(value)),
    }
}

/// Returns the ink of a figure. A percentile has the same ink in all charts.
fn ink(figure: Figure) -> Ink {
    let level_in = |figures: [Figure; Level::ALL.len()]| figures.iter().position(|known| *known == figure);
    match level_in(figures::SERVICE).or(level_in(figures::RESPONSE)) {
        Some(level) => Ink::Level(Level::ALL[level]),
        None if figure.unit == FigureUnit::Trouble => Ink::Bad,
        None if figure == figures::OPS_PER_S => Ink::Throughput,
        None => Ink::Text,
    }
}
