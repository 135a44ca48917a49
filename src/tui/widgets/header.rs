//! The first line: whom we measure, whether the load is on, how long already.

use ratatui::layout::Rect;

use crate::{
    app::{Connection, Model},
    tui::{
        paint::{Paint, from_column},
        theme::Ink,
    },
    units,
};

/// Draws the header. On the right stands what changes, on the left what it is about.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let right = right_side(model, paint.glyphs().on, paint.glyphs().off, area.width);
    let length: usize = right.iter().map(|(text, _)| text.chars().count()).sum();
    let right_x = area.right().saturating_sub(length as u16);
    let left = Rect { width: right_x.saturating_sub(area.x + 2), ..area };
    let mut parts = identity(model);
    if area.width < 60 {
        // The address says more than our own name.
        parts[0].0 = " ".to_owned();
    }
    let fitting = fit(&parts, left.width.into());
    paint.parts(left, &fitting);
    let parts: Vec<_> = right.iter().map(|(text, ink)| (text.as_str(), *ink)).collect();
    paint.parts(from_column(area, right_x), &parts);
}

/// Address, name and version, role, mode; the most needed first.
fn identity(model: &Model) -> Vec<(String, Ink)> {
    let mut parts = vec![(" redyno  ".to_owned(), Ink::Faint)];
    let Some(session) = model.timeline.session() else {
        parts.push(("connecting".to_owned(), Ink::Text));
        return parts;
    };
    let target = &session.target;
    let address = if target.built_in { "built-in server, " } else { "" };
    parts.push((format!("{address}{}", target.address), Ink::Strong));
    let said = model.timeline.status().map(|status| &status.body);
    let server = said.map_or_else(|| target.server.clone(), |s| format!("{} {}", s.name, s.version));
    let role = said.map_or(&target.role, |s| &s.role);
    let mode = said.map_or(&target.mode, |s| &s.mode);
    for part in [server.as_str(), role, mode] {
        if !part.trim().is_empty() {
            parts.push((format!("  {}", part.trim()), Ink::Text));
        }
    }
    parts
}

/// As many parts as fit whole.
fn fit(parts: &[(String, Ink)], width: usize) -> Vec<(&str, Ink)> {
    let mut used = 0;
    parts
        .iter()
        .take_while(|(text, _)| {
            used += text.chars().count();
            used <= width
        })
        .map(|(text, ink)| (text.as_str(), *ink))
        .collect()
}

fn right_side(model: &Model, on: char, off: char, width: u16) -> Vec<(String, Ink)> {
    let shown = model.shown();
    let mut parts = Vec::new();
    if model.behind_s().is_some() {
        parts.push(("FROZEN".to_owned(), Ink::Warn));
    }
    if matches!(model.connection, Connection::Down { .. }) {
        parts.push(("UNREACHABLE".to_owned(), Ink::Bad));
    }
    let load = if model.in_force().load {
        (format!("{on} LOAD"), Ink::Good)
    } else {
        (format!("{off} load off"), Ink::Text)
    };
    parts.push(load);
    if let Some(segment) = shown.segments().current().filter(|_| width >= 60) {
        let warmup = if segment.start.warmup { " warm-up" } else { "" };
        parts.push((format!("segment {}{warmup}", segment.start.segment), Ink::Text));
    }
    parts.push((units::elapsed((shown.now_s() * 1e9) as u64), Ink::Text));
    parts
        .into_iter()
        .map(|(text, ink)| (format!("  {text}"), ink))
        .chain([(" ".to_owned(), Ink::Text)])
        .collect()
}
