//! The part of a report about the environment of the measurement: redyno's machine and the server.

use super::{
    node_report::NodeReport,
    table::{ReportTable, TableRow},
};
use crate::{gauge::Gauge, server::Parameter, session::Encryption};

/// The note about facts that are not in the records.
const UNKNOWN: &str = "Not recorded: the server's cores and kernel. Also not recorded: other CONFIG parameters, which may contain secrets.";

/// Returns two tables: facts about the measuring machine and the server, and the server's parameters.
pub(super) fn tables(account: &NodeReport) -> Vec<ReportTable> {
    vec![sides(account), config(account)]
}

fn sides(account: &NodeReport) -> ReportTable {
    let mut rows = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push(TableRow::of(vec![name.to_owned(), value]));
        }
    };
    if let Some(session) = account.timeline.session() {
        let (target, host) = (&session.target, &session.host);
        add("started", session.started.clone());
        add("tool", session.tool.clone());
        add("machine", host.name.clone());
        add("machine: system", host.system.clone());
        add("machine: cores", host.cores.to_string());
        add("target", target.named_address());
        add(
            "server",
            if target.built_in { "redyno's built-in server".to_owned() } else { target.server.clone() },
        );
        add("server: mode and role", format!("{} {}", target.mode, target.role).trim().to_owned());
        add(
            "encryption",
            match target.tls {
                Encryption::None => "none",
                Encryption::Verified => "TLS, certificate checked",
                Encryption::CaOnly => "TLS, only the certificate's CA checked",
                Encryption::Unverified => "TLS, certificate not checked",
            }
            .to_owned(),
        );
    }
    if let Some(status) = account.timeline.status().map(|status| &status.body) {
        let gauges = [Gauge::UsedMemory, Gauge::Keys, Gauge::Clients, Gauge::Threads, Gauge::Uptime];
        for gauge in gauges {
            let name = format!("server: {}", gauge.alone());
            add(&name, status.text_of(gauge).unwrap_or_default());
        }
        add("server: memory policy", status.policy.clone().unwrap_or_default());
    }
    ReportTable { note: UNKNOWN.to_owned(), ..ReportTable::of("Environment", &["", ""], 2, rows) }
}

/// Returns the recorded parameters with their last values. If the first value differs from the last value, a remark
/// shows the first value. Otherwise, a remark shows the default if the value differs from the default.
fn config(account: &NodeReport) -> ReportTable {
    let [first, last] = &account.config;
    let row = |(name, value): (&String, &String)| {
        let usual = Parameter::named(name).map(|parameter| parameter.usual);
        let before = first.get(name).filter(|before| *before != value);
        let remark = match (before, usual) {
            (Some(before), _) => format!("was {} at first", shown(before)),
            (None, Some(usual)) if usual != value => format!("differs from the default, {}", shown(usual)),
            _ => String::new(),
        };
        TableRow::of(vec![name.clone(), shown(value), remark])
    };
    let note = "Defaults are those of Redis 7 and Valkey without a configuration file.".to_owned();
    ReportTable {
        note,
        ..ReportTable::of("CONFIG", &["parameter", "value", ""], 3, last.iter().map(row).collect())
    }
}

fn shown(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { value.to_owned() }
}
