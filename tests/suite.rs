//! All tests of the program as a whole: a file a promise, linked once.
//!
//! [`support`] starts real servers and the program itself, [`scripted`] plays a server that misbehaves.

#![allow(clippy::unwrap_used, reason = "what goes wrong between the assertions fails the test too")]

mod ab;
mod arguments;
mod ascii;
mod bench;
mod by_node;
mod capture;
mod causes;
mod clean;
mod cluster;
mod cluster_keys;
mod cluster_load;
mod cluster_reads;
mod cluster_slots;
mod compare;
mod completions;
mod config;
mod control;
mod counts;
mod dataset;
mod demo_server;
mod doctor;
mod export;
mod failed_recording;
mod failovers;
mod faults;
#[cfg(target_os = "linux")]
mod few_files;
mod find;
mod fleet;
mod fleet_agents;
mod fleet_many;
mod floods;
#[cfg(target_os = "linux")]
mod full_output;
mod fuzz;
#[cfg(target_os = "linux")]
mod harmful_files;
mod headless;
mod host;
mod hostile;
mod hostile_cluster;
mod house;
mod http;
mod http_hostile;
mod killed;
mod left_behind;
mod lines;
mod marker;
mod memcached;
mod memcached_keys;
mod memcached_reach;
mod memtier;
mod memtier_files;
mod memtier_sources;
mod messages;
mod metrics;
mod nodes;
mod oneshot;
mod oneshot_keys;
mod open_loop;
mod operations;
mod outage;
mod peers;
mod ping;
mod ping_parts;
mod plan;
mod prefill;
mod probe_lag;
mod push;
mod reach;
mod readme;
mod reconnect;
mod recordings;
mod replay;
mod report;
mod ring;
mod safety;
#[cfg(target_os = "linux")]
mod scale;
mod screen;
mod script;
mod scripted;
mod series;
mod series_runs;
mod server_config;
mod server_events;
mod setup;
mod sharing;
mod side_by_side;
mod signals;
#[cfg(target_os = "linux")]
mod slow_terminal;
mod support;
mod sweep;
mod terminal;
mod think;
mod tls;
mod tls_trust;
mod trace;
mod traps;
mod turned_away;
mod turning;
mod unattended;
mod unfit;
mod untrusted;
mod usage;
mod versus;
mod watched_nodes;
mod weights;
mod workloads;
mod ycsb;
mod ycsb_data;
