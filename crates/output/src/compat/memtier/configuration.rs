//! Writes the configuration of a run as memtier_benchmark does: in the JSON, and as lines for
//! `--show-config`. An option that redyno does not have gets memtier_benchmark's default value. A file that
//! the user did not give is null. Passwords are hidden.

use std::path::PathBuf;

use super::{option_values::KeyOrder, options::MemtierOptions};
use crate::{
    compat::{
        numbers::{NumberRange, Ratio},
        server::address_text,
    },
    endpoint::{Address, DEFAULT_HOST, Target, Trust},
    export::memtier::{JsonValue, truth},
};

/// The text that replaces a password.
const HIDDEN: &str = "***";
/// Ranges with `:` between the two numbers in the JSON, and with `-` in the lines of `--show-config`.
const SPANS: [&str; 3] = ["data_size_range", "expiry_range", "num-slaves"];

type ConfigFields = Vec<(&'static str, JsonValue)>;

/// Returns the whole configuration.
pub(super) fn configuration(options: &MemtierOptions, target: &Target) -> JsonValue {
    fields(options, target).into()
}

fn fields(options: &MemtierOptions, target: &Target) -> ConfigFields {
    [connection(options, target), load(options), objects(options), others(options)].concat()
}

/// Returns the lines of `--show-config`, as `name = value`: most of the JSON's fields, some of them in another form.
pub(super) fn lines(options: &MemtierOptions, target: &Target) -> String {
    let mut fields = fields(options, target);
    let in_json_only = ["key_zipf_exp", "clients_start", "clients_step", "step_duration"];
    fields.retain(|(name, _)| !in_json_only.contains(name));
    let out_file = fields.iter().position(|(name, _)| *name == "out_file").map(|place| fields.remove(place));
    let client_stats = fields.iter().position(|(name, _)| *name == "client_stats").unwrap_or(0);
    fields.splice(client_stats..client_stats, out_file);
    fields.insert(fields.len() - 1, ("json-out-file", path(options.json_out_file.as_ref())));
    let line = |(name, value): &(&str, JsonValue)| {
        let value = match value {
            JsonValue::Null => "(null)".to_owned(),
            JsonValue::Decimal(value) => format!("{value:.6}"),
            JsonValue::Text(text) if text == "true" => "yes".to_owned(),
            JsonValue::Text(text) if text == "false" => "no".to_owned(),
            JsonValue::Text(text) if SPANS.contains(name) => text.replace(':', "-"),
            JsonValue::Text(text) => text.clone(),
            JsonValue::Whole(value) => value.to_string(),
            JsonValue::Object(_) | JsonValue::Array(_) => String::new(),
        };
        format!("{name} = {value}\n")
    };
    fields.iter().map(line).collect()
}

fn path(path: Option<&PathBuf>) -> JsonValue {
    path.map(|path| path.display().to_string()).into()
}

/// Returns credentials without the password.
fn masked(credentials: &str) -> String {
    credentials.split_once(':').map_or_else(|| HIDDEN.to_owned(), |(user, _)| format!("{user}:{HIDDEN}"))
}

/// Divides a URI into three parts: the text before the credentials, the credentials, and the rest.
fn parts(uri: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = uri.split_at(uri.find("://")? + "://".len());
    let (credentials, rest) = rest.rsplit_once('@')?;
    Some((before, credentials, rest))
}

fn ratio(ratio: Option<Ratio>) -> JsonValue {
    ratio.map_or("0:0".to_owned(), |ratio| format!("{}:{}", ratio.a, ratio.b)).into()
}

fn span(span: Option<NumberRange>, between: char) -> JsonValue {
    span.map_or(format!("0{between}0"), |span| format!("{}{between}{}", span.min, span.max)).into()
}

fn connection(options: &MemtierOptions, target: &Target) -> ConfigFields {
    let (server, port, socket) = match &target.address {
        // memtier_benchmark calls its default host localhost.
        Address::Tcp { host, port } if host == DEFAULT_HOST && options.server.host.is_none() => {
            ("localhost".into(), u32::from(*port), JsonValue::Null)
        }
        Address::Tcp { host, port } => (host.clone().into(), u32::from(*port), JsonValue::Null),
        Address::Unix(_) | Address::Service(_) => (JsonValue::Null, 0, address_text(target).into()),
    };
    let uri = options.uris.last().map(|uri| match parts(uri) {
        Some((before, credentials, rest)) => format!("{before}{}@{rest}", masked(credentials)),
        None => uri.to_owned(),
    });
    let cacert = match &options.server.tls.trust {
        Trust::These { file, .. } => file.as_ref(),
        Trust::System | Trust::Anybody => None,
    };
    let family = options.server.is_ipv6.map(|is_ipv6| if is_ipv6 { "AF_INET6" } else { "AF_INET" });
    vec![
        ("server", server),
        ("port", port.into()),
        ("uri", uri.unwrap_or_default().into()),
        ("unix socket", socket),
        ("address family", family.unwrap_or("Unspecified").into()),
        ("protocol", options.protocol.name().into()),
        ("out_file", path(options.out_file.as_ref())),
        ("tls", truth(target.tls.is_some())),
        ("cert", path(options.server.certificate.as_ref())),
        ("key", path(options.server.key.as_ref())),
        ("cacert", path(cacert)),
        ("tls_skip_verify", truth(matches!(options.server.tls.trust, Trust::Anybody))),
        ("sni", options.server.tls.server_name.clone().into()),
    ]
}

fn load(options: &MemtierOptions) -> ConfigFields {
    vec![
        ("client_stats", options.client_stats.clone().into()),
        ("run_count", options.run_count.into()),
        ("debug", 0_u32.into()),
        ("requests", options.requests_per_client().unwrap_or(0).into()),
        ("rate_limit", options.rate.unwrap_or(0).into()),
        ("clients", options.clients.into()),
        ("threads", options.threads.into()),
        ("test_time", options.test_time_s.unwrap_or(0).into()),
        ("ratio", ratio(Some(options.ratio()))),
        ("pipeline", options.pipeline.into()),
    ]
}

fn objects(options: &MemtierOptions) -> ConfigFields {
    let sizes = options.data_size_list.iter().flatten().map(|(size, weight)| format!("{size}:{weight}"));
    let [set, get] = options.patterns().map(KeyOrder::name);
    let is_imported = options.import.file.is_some();
    let has_sizes = options.data_size_list.is_some() || options.data_size_range.is_some() || is_imported;
    let prefix = Some(options.key_prefix.clone()).filter(|_| !is_imported);
    let [lowest, highest] =
        [options.key_minimum, options.key_maximum].map(|key| if is_imported { 0 } else { key });
    let size = options.data_size.unwrap_or(if has_sizes { 0 } else { 32 });
    vec![
        ("data_size", size.into()),
        ("data_offset", options.data_offset.into()),
        ("random_data", truth(options.is_data_random)),
        ("data_size_range", span(options.data_size_range, ':')),
        ("data_size_list", sizes.collect::<Vec<_>>().join(",").into()),
        ("data_size_pattern", "R".into()),
        ("expiry_range", span(options.expiry_range, ':')),
        ("data_import", path(options.import.file.as_ref())),
        ("data_verify", truth(options.import.is_verified)),
        ("verify_only", truth(options.import.is_only_verified)),
        ("generate_keys", truth(false)),
        ("key_prefix", prefix.into()),
        ("key_minimum", lowest.into()),
        ("key_maximum", highest.into()),
        ("key_pattern", format!("{set}:{get}").into()),
        ("key_stddev", JsonValue::Decimal(options.key_stddev.unwrap_or(0.0))),
        ("key_median", JsonValue::Decimal(options.key_median.unwrap_or(0.0))),
        ("key_zipf_exp", JsonValue::Decimal(options.key_zipf_exp.unwrap_or(0.0))),
    ]
}

fn others(options: &MemtierOptions) -> ConfigFields {
    let of_uri = options.uris.last().and_then(|uri| parts(uri)).map(|(_, credentials, _)| credentials);
    let credentials = of_uri.or(options.authenticate.as_deref());
    let staircase = [
        ("clients_start", options.clients_start),
        ("clients_step", options.clients_step),
        ("step_duration", options.step_duration_s),
    ];
    let staircase = staircase.into_iter().filter_map(|(name, value)| Some((name, value?.into())));
    let usual = [
        ("reconnect_interval", options.reconnect_interval.unwrap_or(0).into()),
        ("connection_timeout", options.connection_timeout_s.into()),
        ("thread_conn_start_min_jitter_micros", 0_u32.into()),
        ("thread_conn_start_max_jitter_micros", 0_u32.into()),
        ("multi_key_get", options.multi_key_get.into()),
        ("authenticate", credentials.map(masked).unwrap_or_default().into()),
        ("select-db", (options.server.db as u64).into()),
        ("no-expiry", truth(options.import.has_no_expiry)),
        ("wait-ratio", ratio(options.wait_ratio)),
        ("num-slaves", span(options.num_slaves, ':')),
        ("wait-timeout", span(options.wait_timeout, '-')),
        ("print-all-runs", truth(options.prints_all_runs)),
    ];
    usual.into_iter().chain(staircase).chain(options.retries.fields()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{compat::memtier::parse::tests::options, protocol::Dialect};

    /// The output of memtier_benchmark 2f74d61 for `--show-config` and `--json-out-file`.
    const LINES: &str = include_str!("../../../../../tests/fixtures/memtier-2f74d61-config.txt");
    const JSON: &str = include_str!("../../../../../tests/fixtures/memtier-2f74d61.json");

    fn of(line: &str) -> (String, Value) {
        let mut options = options(line);
        options.json_out_file = Some("out.json".into());
        let target = options.server.target(Dialect::Resp2).unwrap();
        (lines(&options, &target), serde_json::to_value(configuration(&options, &target)).unwrap())
    }

    #[test]
    fn the_configuration_is_that_of_memtier_benchmark() {
        let (lines, json) = of("-p 6379 -n 20 -c 1 -t 2 --key-maximum 100 --hide-histogram");
        assert_eq!(lines, LINES);
        let theirs: Value = serde_json::from_str(JSON).unwrap();
        assert_eq!(json, theirs["configuration"]);
    }

    #[test]
    fn passwords_are_hidden() {
        let hidden = |line: &str| {
            let (lines, json) = of(line);
            assert!(!lines.contains("s3cret") && !json.to_string().contains("s3cret"), "{lines} {json}");
            ["uri", "authenticate"].map(|name| json[name].as_str().unwrap().to_owned())
        };
        assert_eq!(hidden("-a s3cret"), ["", "***"]);
        assert_eq!(hidden("-a ann:s3cret"), ["", "ann:***"]);
        assert_eq!(hidden("-u redis://ann:s3cret@h:7/2"), ["redis://ann:***@h:7/2", "ann:***"]);
        assert_eq!(hidden("-u redis://h:7"), ["redis://h:7", ""]);
    }
}
