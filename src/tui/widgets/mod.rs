//! One region a file.

pub mod config_list;
pub mod cursor;
pub mod curve;
pub mod event_lane;
pub mod figures;
pub mod footer;
pub mod ghost;
pub mod header;
pub mod heat_map;
pub mod knob_line;
pub mod lanes;
pub mod latency;
pub mod latency_rows;
pub mod log_lines;
pub mod overlay;
pub mod palette;
pub mod panel;
pub mod parts;
pub mod percentiles;
pub mod probes;
pub mod readout;
pub mod results;
pub mod segment_details;
pub mod segment_table;
pub mod server_figures;
pub mod server_line;
pub mod server_rows;
pub mod server_tables;
pub mod spectrum;
pub mod status;
pub mod table;
pub mod tables;
pub mod throughput;
pub mod time_axis;

pub use lanes::Lanes;
