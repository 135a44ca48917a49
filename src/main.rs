//! The program: parse, run.

fn main() {}
