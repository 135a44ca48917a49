//! The terminal: the only module that uses ratatui and crossterm.
//!
//! ```text
//!   events ──► app::update ──► app::Model ──► layout ──► screens ──► widgets ──► paint ──► terminal
//!     mouse ◄── spots ◄──────────────────────────────────────────────────────────┘
//! ```
//! The layout is made once per frame. While drawing, each part registers what a mouse click on it means. Drawing
//! only reads the model, and computes no statistics. Only [`theme::Theme`] names colours and drawing characters;
//! only [`layout::plan`] decides on sizes.

mod background;
mod canvas;
mod dots;
mod encode;
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

/// What a screen is drawn from.
pub struct Scene<'a> {
    /// The model.
    pub model: &'a Model,
    /// The values at the moment shown.
    pub reading: &'a Reading<'a>,
    /// The layout.
    pub plan: &'a Plan,
}
