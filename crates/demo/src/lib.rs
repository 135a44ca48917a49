//! The built-in server of redyno.
//!
//! The documentation of the package `redyno`, the program, lists all modules.

use redyno_engine::{clock, endpoint, protocol, units};

pub mod demo;
