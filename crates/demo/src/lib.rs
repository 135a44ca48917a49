//! The built-in server of redyno.
//!
//! The map of all rooms is in `redyno`, the package at the top.

use redyno_engine::{clock, endpoint, units};

pub mod demo;
