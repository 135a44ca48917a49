//! The terminal: the only room that knows ratatui and crossterm.
//!
//! ```text
//!   events ──► app::update ──► app::Model ──► layout ──► screens ──► widgets ──► paint ──► terminal
//!     mouse ◄── spots ◄──────────────────────────────────────────────────────────┘
//! ```
//! The layout is made once a frame, and what is drawn says what the mouse finds there. It borrows the model and computes no statistics. One object, [`theme::Theme`], names colours and drawing
//! characters; one function, [`layout::plan`], knows sizes.

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

// What all that draws needs.

/// What a screen draws from.
pub struct Scene<'a> {
    /// What is shown.
    pub model: &'a Model,
    /// The moment of it.
    pub reading: &'a Reading<'a>,
    /// Where everything goes.
    pub plan: &'a Plan,
}
