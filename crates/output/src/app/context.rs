//! The screens, their panes, and the situations in which keys have an effect.

/// The screens, in the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    /// Load, latency, probes, server and knobs on one time axis.
    #[default]
    Overview,
    /// Complete distributions and percentiles of latencies.
    Latency,
    /// The server's own figures.
    Server,
    /// All segments, with their knobs and results.
    Segments,
    /// Events and errors as text.
    Log,
    /// Throughput and latency as functions of the value of a knob.
    Curve,
    /// The nodes of a cluster, a primary with its replicas, or several servers side by side.
    Nodes,
}

/// A pane of a screen that can be shown alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The throughput over time.
    Throughput,
    /// The latency over time.
    Latency,
    /// The lanes (charts of a few rows) of the probes and of the server.
    Probes,
    /// The panel with the knobs and the tables below the knobs.
    Panel,
    /// The curve of the percentiles.
    Curve,
    /// The table of percentiles.
    Percentiles,
    /// The distribution as bars.
    Distribution,
}

/// The place of a key's action: a screen or a situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Everywhere.
    Anywhere,
    /// On a screen, while no overlay is open.
    Main,
    /// In a frozen view, and in a recording.
    Time,
    /// While the view of a live session is frozen.
    Frozen,
    /// In a recording.
    Replay,
    /// While one part of a screen is shown alone.
    Maximised,
    /// While an experiment runs.
    Experiment,
    /// While the result of an experiment is shown.
    Answer,
    /// On one screen only.
    Screen(Screen),
    /// While a search in the log is typed.
    Search,
    /// While the user types a text.
    Typing,
    /// While the palette is open.
    Palette,
    /// While the help is open.
    Help,
    /// In the view of the server's keys.
    Keys,
    /// While a command line, an entry of the slow log or a client is shown.
    CommandLine,
    /// While a question waits for yes or no.
    Question,
}
