//! The program redyno: a load generator and latency monitor for Redis, Valkey and memcached.

use std::process::ExitCode;

fn main() -> ExitCode {
    redyno::host::return_large_blocks();
    redyno::cli::run(std::env::args_os())
}
