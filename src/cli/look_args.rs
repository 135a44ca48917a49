//! How a screen looks: the options that a live session and a replay share.

use clap::Args;

use crate::tui::theme::{Theme, choice::Choice};

/// Colours and characters of a screen.
#[derive(Debug, Clone, Default, Args)]
pub struct LookArgs {
    /// Colours of the screen: auto, 16 (the terminal's own), dark, light (24-bit, for such a background) or mono
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<Choice>,
    /// Draw and write with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal, for selecting text without Shift
    #[arg(long)]
    pub no_mouse: bool,
}

impl LookArgs {
    /// Whether the screen listens to the mouse: not on a terminal that has none.
    pub fn mouse(&self) -> bool {
        let term = std::env::var("TERM").unwrap_or_default();
        !self.no_mouse && !["", "dumb", "linux"].contains(&term.as_str())
    }

    /// The theme that they and the environment mean.
    pub fn theme(&self) -> Theme {
        Theme::from_env(self.theme.unwrap_or_default(), self.ascii)
    }
}
