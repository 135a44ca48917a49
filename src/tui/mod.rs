//! The terminal: the only module that uses ratatui and, except for the names of keys, crossterm.
//!
//! ```text
//!   events ──► app::update ──► app::Model ──► layout ──► screens ──► widgets ──► paint ──► terminal
//!     mouse ◄── spots ◄──────────────────────────────────────────────────────────┘
//! ```
//! redyno computes the layout once per frame. A function that draws a part of the screen also registers the meaning of
//! mouse clicks in this part. The drawing code only reads the model, and computes no statistics. Only [`theme::Theme`]
//! names colours and drawing characters. Only [`layout::plan`] decides sizes.

mod background;
mod canvas;
mod dots;
mod encode;
mod events;
#[cfg(test)]
mod fixture;
mod layout;
mod output;
mod pace;
mod paint;
mod run;
pub mod screens;
mod setup;
pub(crate) mod share;
pub(crate) mod svg;
mod terminal;
pub mod theme;
mod widgets;

pub use self::run::{ScreenOutcome, ScreenResult, run};
pub use self::setup::ScreenSetup;

use self::{
    dots::{Dots, LogScale, linear_top},
    layout::ScreenPlan,
    paint::{Paint, cut, from_column, row, wrapped},
    theme::{Glyphs, Ink},
};
use crate::{app::Model, session::timeline::Reading};

// Names that all drawing code needs.

/// The input of the functions that draw a screen.
pub struct Scene<'a> {
    /// The model.
    pub model: &'a Model,
    /// The values at the moment shown.
    pub reading: &'a Reading<'a>,
    /// The layout.
    pub plan: &'a ScreenPlan,
}
