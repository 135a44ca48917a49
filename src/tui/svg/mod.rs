//! A screen as a drawing: SVG that looks alike in every viewer, whatever its fonts; of one moment, or moving.
//!
//! Each cell has its place in a grid. Letters are text, stretched to the grid; lines, blocks and braille dots are
//! drawn as shapes, so that they join without gaps.

mod animation;
mod document;
mod elements;
mod shapes;

pub use animation::Animation;
pub use document::{render, text};
