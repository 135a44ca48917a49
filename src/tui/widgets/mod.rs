//! The widgets of the terminal screens: each file draws one part of a screen.

pub mod chart_context;
pub mod command_chart;
mod command_line;
pub mod command_table;
pub mod cursor;
pub mod dialog;
pub mod figures;
pub mod header;
pub mod help;
pub mod key_panel;
pub mod knob_curve;
pub mod knobs;
pub mod latency_chart;
pub mod panel;
pub mod percentiles;
pub mod probes;
pub mod readout;
pub mod receivers;
pub mod results;
pub mod segment_table;
pub mod server_figures;
pub mod slowdown;
pub mod spent;
pub mod status;
pub mod table;
pub mod tables;
pub mod throughput;
pub mod time_axis;
pub mod value_axis;

pub use self::chart_context::ChartContext;
