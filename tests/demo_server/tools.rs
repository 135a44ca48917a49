//! By the tools that people use: redis-benchmark, redis-cli, and the library of our own control plane.

use std::ffi::OsStr;
use std::process::Command;
use std::time::Duration;

use fred::prelude::{Builder, ClientLike, Config, Server as FredServer, ServerConfig, Value};
use fred::types::RespVersion;
use redyno::demo::{self, Handle, Options};
use redyno::endpoint::Password;

use super::client::server_with;

/// What a tool prints; it must end well and complain of nothing.
fn output(tool: &str, server: &Handle, args: &[impl AsRef<OsStr>]) -> String {
    let port = server.address.port().to_string();
    let output = Command::new(tool).args(["-p", &port]).args(args).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{tool} cannot be run ({error}): install it, in Debian it is in the package redis-tools")
    });
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{tool}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// The test names and rates in redis-benchmark's CSV.
fn rates(csv: &str) -> Vec<(&str, f64)> {
    let rows = csv.lines().skip(1).map(|line| line.split("\",\"").collect::<Vec<_>>());
    rows.map(|row| (row[0].trim_matches('"'), row[1].parse().unwrap())).collect()
}

#[test]
fn the_default_tests_of_redis_benchmark_all_pass() {
    let server = server_with(&[]);
    for args in [&["-n", "1000", "--csv"][..], &["-n", "1000", "--csv", "-3", "-P", "16", "-r", "1000"]] {
        let csv = output("redis-benchmark", &server, args);
        let rates = rates(&csv);
        // XADD came to the default tests after Redis 7.0.
        assert!(rates.len() >= 20 && csv.contains("MSET (10 keys)"), "{csv}");
        assert!(rates.iter().all(|(_, rate)| *rate > 0.0), "{csv}");
    }
    let xadd = output(
        "redis-benchmark",
        &server,
        &["-n", "1000", "--csv", "XADD", "mystream", "*", "myfield", "data"],
    );
    assert_eq!(rates(&xadd).len(), 1, "{xadd}");
    assert!(!output("redis-cli", &server, &["INFO", "errorstats"]).contains("errorstat_"));
}

#[test]
fn redis_benchmark_knows_the_password_and_reads_the_configuration() {
    let options = Options { password: Some(Password::new("secret")), ..Options::default() };
    let server = demo::start(options).unwrap();
    let text =
        output("redis-benchmark", &server, &["-a", "secret", "-n", "1000", "-t", "get", "--dbnum", "3"]);
    assert!(text.contains("host configuration \"save\":") && text.contains("requests per second"), "{text}");
}

#[test]
fn redis_cli_reads_every_section_of_info() {
    let server = server_with(&[]);
    assert_eq!(output("redis-cli", &server, &["SET", "a", "1"]), "OK\n");
    let info = output("redis-cli", &server, &["INFO", "everything"]);
    for field in [
        "redis_version:7.0.15",
        "server_name:redyno",
        "connected_clients:1",
        "used_memory:",
        "loading:0",
        "total_commands_processed:1",
        "role:master",
        "used_cpu_user_main_thread:",
        "cmdstat_set:calls=1,",
        "db0:keys=1,expires=0",
    ] {
        assert!(info.contains(field), "{field} is not in {info}");
    }
    assert_eq!(output("redis-cli", &server, &["CONFIG", "GET", "hz"]), "hz\n10\n");
    let map = output("redis-cli", &server, &["-3", "--json", "CONFIG", "GET", "hz"]);
    assert_eq!(map, "{\"hz\":\"10\"}\n");
    assert_eq!(output("redis-cli", &server, &["--scan"]), "a\n");
}

#[test]
fn fred_connects_asks_and_authenticates_in_both_protocols() {
    let options = Options { password: Some(Password::new("secret")), ..Options::default() };
    let server = demo::start(options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for version in [RespVersion::RESP2, RespVersion::RESP3] {
        let config = Config {
            server: ServerConfig::Centralized { server: FredServer::new("127.0.0.1", server.address.port()) },
            password: Some("secret".to_owned()),
            version,
            database: Some(2),
            ..Config::default()
        };
        let work = async {
            let client = Builder::from_config(config).build().unwrap();
            client.init().await.unwrap();
            let info: String = client.info(None).await.unwrap();
            assert!(info.contains("server_name:redyno"), "{info}");
            let pong: Value = client.ping(None).await.unwrap();
            assert_eq!(pong.as_str().as_deref(), Some("PONG"));
            client.quit().await.unwrap();
        };
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(30), work).await }).unwrap();
    }
}
