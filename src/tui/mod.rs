//! The terminal: the only room that uses ratatui and crossterm.
//!
//! ```text
//!   events ──► app::update ──► app::Model ──► layout ──► screens ──► widgets ──► paint ──► terminal
//!     mouse ◄── spots ◄──────────────────────────────────────────────────────────┘
//! ```
//! The layout is made once a frame, and drawing registers what the mouse finds at each place. Drawing borrows the model and
//! computes no statistics. One object, [`theme::Theme`], names colours and drawing characters; one function,
//! [`layout::plan`], knows sizes.

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

// What all drawing code needs.

/// The input of a screen that is drawn.
pub struct Scene<'a> {
    /// The model.
    pub model: &'a Model,
    /// The values at the moment shown.
    pub reading: &'a Reading<'a>,
    /// The layout.
    pub plan: &'a Plan,
}
