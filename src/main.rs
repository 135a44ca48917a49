//! redyno: clamp a dynamometer onto a Redis, and turn the knobs.

use std::process::ExitCode;

fn main() -> ExitCode {
    redyno::host::return_large_blocks();
    redyno::cli::run(std::env::args_os())
}
