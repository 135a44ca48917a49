//! The built-in server of redyno.
//!
//! The documentation of the package `redyno` lists all modules of the program.

use redyno_engine::{clock, endpoint, protocol, units};

pub mod demo;
