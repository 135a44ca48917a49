//! The command line. Each command has its own file, which turns the arguments of the command into a plan. The
//! room `runner` carries out the plan.

mod ab;
mod agent;
pub mod args;
mod capture;
pub mod clean;
mod command;
mod commands;
mod compare;
mod completions;
mod config;
mod demo;
mod doctor;
mod effect;
mod experiment_args;
mod export;
mod fleet_args;
mod load_args;
mod man;
mod nodes_args;
mod preview;
mod reading;
mod recordings;
mod replay;
mod report;
mod run;
mod series;
mod session;
mod session_args;
mod session_plan;
mod target_args;
mod tls_args;
mod topics;
mod values;
mod verify;
mod versus;
mod workloads;
mod ycsb;

pub use self::run::{refusal, run};
