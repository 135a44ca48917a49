//! What a screen draws from: what is shown, of which moment, and where it goes.

use super::layout::Plan;
use crate::{app::Model, session::timeline::Reading};

/// What a screen draws from.
pub struct Scene<'a> {
    /// What is shown.
    pub model: &'a Model,
    /// The moment of it.
    pub reading: &'a Reading<'a>,
    /// Where everything goes.
    pub plan: &'a Plan,
}
