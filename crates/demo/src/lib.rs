//! The built-in server of redyno.
//!
//! The documentation of `redyno`, the package with the program, lists all modules.

use redyno_engine::{clock, endpoint, protocol, units};

pub mod demo;
