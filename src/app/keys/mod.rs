//! The one key table: it feeds dispatch, footer, help overlay and manual page.

mod action;
mod key;
mod lookup;
mod table;

pub use action::{Action, Context};
pub use key::{Key, KeyCode, Pattern};
pub use lookup::{action, footer};
pub use table::{Binding, bindings};
pub(super) use table::{ROWS, ROWS_WRITTEN, key, key_table, on};
