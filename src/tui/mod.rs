//! The terminal: the only room that uses ratatui and crossterm.
//!
//! ```text
//!   events ──► app::update ──► app::Model ──► layout ──► screens ──► widgets ──► paint ──► terminal
//!     mouse ◄── spots ◄──────────────────────────────────────────────────────────┘
//! ```
//! The layout is made once per frame. Drawing registers, for each place, what a click of the mouse there means. Drawing
//! borrows the model and computes no statistics. One object, [`theme::Theme`], names colours and drawing characters;
//! one function, [`layout::plan`], knows sizes.

mod dots;
mod events;
#[cfg(test)]
mod fixture;
mod layout;
mod pace;
mod paint;
mod run;
pub mod screens;
pub(crate) mod share;
pub(crate) mod svg;
mod terminal;
pub mod theme;
mod widgets;
mod wire;

pub use self::run::{Finished, Options, Outcome, run};

use self::{
    dots::{Dots, LogScale, linear_top},
    layout::Plan,
    paint::{Paint, cut, from_column, row, wrapped},
    theme::{Glyphs, Ink},
};
use crate::{app::Model, session::timeline::Reading};

// Names that all drawing code needs.

/// The input for drawing a screen.
pub struct Scene<'a> {
    /// The model.
    pub model: &'a Model,
    /// The values at the moment shown.
    pub reading: &'a Reading<'a>,
    /// The layout.
    pub plan: &'a Plan,
}
