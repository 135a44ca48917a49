//! A pane of a screen on all of its body.

use super::Screen;

/// A pane of a screen that can be shown alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The throughput over time.
    Throughput,
    /// The latency over time.
    Latency,
    /// The lanes of probes and server.
    Probes,
    /// The knobs and the tables below them.
    Panel,
    /// The curve of the percentiles.
    Curve,
    /// Their table.
    Percentiles,
    /// The distribution as bars.
    Distribution,
}

impl Pane {
    /// What is shown after `shown`: the first pane, then each, then the whole screen again.
    pub(super) fn after(screen: Screen, shown: Option<Self>) -> Option<Self> {
        let panes = screen.panes();
        let next =
            shown.and_then(|shown| panes.iter().position(|pane| *pane == shown)).map_or(0, |at| at + 1);
        panes.get(next).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pane_comes_once_and_then_the_whole_screen() {
        for screen in Screen::ALL {
            let mut shown = Pane::after(screen, None);
            for pane in screen.panes() {
                assert_eq!(shown, Some(*pane));
                shown = Pane::after(screen, shown);
            }
            assert_eq!(shown, None);
        }
    }
}
