//! A series runs several workloads in turn, each in its own session. Each run is repeated for every combination of the
//! parameters' values. The results are one table.
//!
//! ```text
//! file ──► [parameters], --set ──► runs × the value lists of each run ──► cells ──► a session each ──► table
//!                                                                                     published figures ──┘
//! ```

mod cell;
mod file;
mod lists;
mod measured;
mod presets;
mod published;
mod scale;
mod table;

pub use cell::{CellFigures, Figures, SeriesCell, TargetKind};
pub use file::Series;
pub use measured::{CellSums, MeasuredCell};
pub use presets::{series_file, series_presets};
pub use published::Published;
pub use scale::{ScaleFactor, Scaling};
pub use table::{CellOutcome, SeriesTable, TableLayout};
