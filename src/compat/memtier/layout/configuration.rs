//! What was asked for; what cannot be asked for here is as theirs is without it. No password is told, and no URI, which may have
//! one.

use std::path::PathBuf;

use crate::{
    compat::{
        memtier::asked::{MemtierOptions, Pattern},
        numbers::{Ratio, Span},
        server::place,
    },
    endpoint::{Address, Target, Trust},
    export::memtier::{Json, truth},
};

type Fields = Vec<(&'static str, Json)>;

/// All of it.
pub(super) fn configuration(asked: &MemtierOptions, target: &Target) -> Json {
    [connection(asked, target), load(asked), objects(asked), others(asked)].concat().into()
}

fn path(path: Option<&PathBuf>) -> Json {
    path.map_or_else(String::new, |path| path.display().to_string()).into()
}

fn ratio(ratio: Option<Ratio>) -> Json {
    ratio.map_or("0:0".to_owned(), |ratio| format!("{}:{}", ratio.a, ratio.b)).into()
}

fn span(span: Option<Span>, between: char) -> Json {
    span.map_or(format!("0{between}0"), |span| format!("{}{between}{}", span.min, span.max)).into()
}

fn connection(asked: &MemtierOptions, target: &Target) -> Fields {
    let (server, port, socket) = match &target.address {
        Address::Tcp { host, port } => (host.clone(), u32::from(*port), String::new()),
        Address::Unix(_) => (String::new(), 0, place(target)),
    };
    let cacert = match &asked.server.tls.trust {
        Trust::These { file, .. } => file.as_ref(),
        Trust::System | Trust::Anybody => None,
    };
    vec![
        ("server", server.into()),
        ("port", port.into()),
        ("unix socket", socket.into()),
        ("address family", "Unspecified".into()),
        ("protocol", asked.protocol.name().into()),
        ("out_file", path(asked.out_file.as_ref())),
        ("tls", truth(target.tls.is_some())),
        ("cert", path(asked.server.certificate.as_ref())),
        ("key", path(asked.server.key.as_ref())),
        ("cacert", path(cacert)),
        ("tls_skip_verify", truth(matches!(asked.server.tls.trust, Trust::Anybody))),
        ("sni", asked.server.tls.server_name.clone().unwrap_or_default().into()),
    ]
}

fn load(asked: &MemtierOptions) -> Fields {
    vec![
        ("client_stats", "".into()),
        ("run_count", asked.run_count.into()),
        ("debug", 0_u32.into()),
        ("requests", asked.requests_each().unwrap_or(0).into()),
        ("rate_limit", asked.rate.unwrap_or(0).into()),
        ("clients", asked.clients.into()),
        ("threads", asked.threads.into()),
        ("test_time", asked.test_time_s.unwrap_or(0).into()),
        ("ratio", ratio(Some(asked.ratio()))),
        ("pipeline", asked.pipeline.into()),
    ]
}

fn objects(asked: &MemtierOptions) -> Fields {
    let sizes = asked.data_size_list.iter().flatten().map(|(size, weight)| format!("{size}:{weight}"));
    let [set, get] = asked.patterns().map(Pattern::letter);
    let has_sizes = asked.data_size_list.is_some() || asked.data_size_range.is_some();
    let size = asked.data_size.unwrap_or(if has_sizes { 0 } else { 32 });
    vec![
        ("data_size", size.into()),
        ("data_offset", 0_u32.into()),
        ("random_data", truth(asked.is_data_random)),
        ("data_size_range", span(asked.data_size_range, ':')),
        ("data_size_list", sizes.collect::<Vec<_>>().join(",").into()),
        ("data_size_pattern", "R".into()),
        ("expiry_range", span(asked.expiry_range, ':')),
        ("data_import", "".into()),
        ("data_verify", truth(false)),
        ("verify_only", truth(false)),
        ("generate_keys", truth(false)),
        ("key_prefix", asked.key_prefix.clone().into()),
        ("key_minimum", asked.key_minimum.into()),
        ("key_maximum", asked.key_maximum.into()),
        ("key_pattern", format!("{set}:{get}").into()),
        ("key_stddev", Json::Decimal(asked.key_stddev.unwrap_or(0.0))),
        ("key_median", Json::Decimal(asked.key_median.unwrap_or(0.0))),
        ("key_zipf_exp", Json::Decimal(asked.key_zipf_exp.unwrap_or(0.0))),
    ]
}

fn others(asked: &MemtierOptions) -> Fields {
    vec![
        ("reconnect_interval", asked.reconnect_interval.unwrap_or(0).into()),
        ("connection_timeout", asked.connection_timeout_s.into()),
        ("thread_conn_start_min_jitter_micros", 0_u32.into()),
        ("thread_conn_start_max_jitter_micros", 0_u32.into()),
        ("multi_key_get", asked.multi_key_get.into()),
        ("select-db", (asked.server.db as u64).into()),
        ("no-expiry", truth(false)),
        ("wait-ratio", ratio(asked.wait_ratio)),
        ("num-slaves", span(asked.num_slaves, ':')),
        ("wait-timeout", span(asked.wait_timeout, '-')),
        ("print-all-runs", truth(asked.prints_all_runs)),
    ]
}
