use super::*;
use crate::compat::memtier::option_values::RequestCount;

fn parsed(line: &str) -> Result<MemtierOptions, PrintedText> {
    let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
    parse("redyno memtier", &words)
}

/// Returns the values of the options in a line.
pub(in crate::compat::memtier) fn options(line: &str) -> MemtierOptions {
    parsed(line).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
}

fn refused(line: &str) -> String {
    let answer = parsed(line).err().unwrap_or_else(|| panic!("{line} is accepted"));
    assert_eq!((answer.out.as_str(), answer.code), ("", 2));
    answer.err.trim_end().to_owned()
}

#[test]
fn options_are_read_in_each_way_that_getopt_reads_them() {
    let options =
        options("-c7 -t 2 --requests=5 --key-pref x --ratio 1:0 -Rd 100 --key-pattern=P:P --key-pattern S:G");
    assert_eq!((options.clients, options.threads, options.requests), (7, 2, Some(RequestCount::Each(5))));
    assert_eq!(
        (options.key_prefix.as_str(), options.is_data_random, options.data_size),
        ("x", true, Some(100))
    );
    assert_eq!(options.patterns(), [KeyOrder::Sequential, KeyOrder::Gaussian]);
    assert_eq!(options.total_requests(), Some(5 * 7 * 2));
}

#[test]
fn a_value_may_look_like_an_option_and_the_last_value_is_used() {
    let options = options("-a -pw --key-prefix -- -c 3 -4 -6 -c 5 -x 2 -x 3 -R -R");
    assert_eq!((options.server.password.as_deref(), options.key_prefix.as_str()), (Some("-pw"), "--"));
    assert_eq!((options.clients, options.run_count, options.server.is_ipv6), (5, 3, Some(true)));
    assert_eq!(self::options("--monitor-pattern r").monitor.order, KeyOrder::Random);
    assert_eq!(self::options("-6 -4").server.is_ipv6, Some(false));
}

#[test]
fn an_option_of_a_command_belongs_to_the_command_before_it() {
    let line = "--command get --command-key-pattern S --command-ratio 2 --command-r 3 --command del --command set \
                --command-key-pattern Z";
    let of = |command: &UserCommand| (command.name(), command.ratio, command.pattern);
    let expected =
        [("GET", 3, KeyOrder::Sequential), ("DEL", 1, KeyOrder::Random), ("SET", 1, KeyOrder::Zipf)];
    assert_eq!(
        options(line).commands.iter().map(of).collect::<Vec<_>>(),
        expected.map(|(n, r, p)| (n.into(), r, p))
    );
}

#[test]
fn the_defaults_are_memtiers() {
    let options = options("");
    assert_eq!((options.clients, options.threads, options.pipeline), (50, 4, 1));
    assert_eq!((options.requests_per_client(), options.total_requests()), (Some(10_000), Some(2_000_000)));
    assert_eq!((options.ratio().a, options.ratio().b, options.key_maximum), (1, 10, 10_000_000));
    assert_eq!(self::options("--test-time 5").total_requests(), None);
    let all = "-n allkeys --key-minimum 1 --key-maximum 100 -c 3 -t 1";
    assert_eq!(self::options(all).total_requests(), Some(300));
    assert_eq!(self::options(&format!("{all} --key-pattern P:P")).total_requests(), Some(100));
}

#[test]
fn invalid_options_are_refused_in_a_line() {
    for (line, expected) in [
        ("--zz", "redyno memtier: unrecognized option '--zz'"),
        ("-z", "redyno memtier: invalid option -- 'z'"),
        ("-c 3 -n", "redyno memtier: option '--requests' requires an argument"),
        ("--tls=1", "redyno memtier: option '--tls' doesn't allow an argument"),
        ("get", "redyno memtier: 'get' is no option"),
        ("-n 0", "error: requests must be greater than zero."),
        ("-n 1 --test-time 1", "error: --test-time and --requests are mutually exclusive."),
        ("--ratio 1", "error: ratio must be expressed as [0-n]:[0-n]."),
        (
            "-d 1 --data-size-range 1-2",
            "error: data-size cannot be used with data-size-list or data-size-range.",
        ),
        ("--command-ratio 2", "error: no arbitrary command found."),
        ("--command-ratio 2 --command get", "error: no arbitrary command found."),
        ("--hash x", "error: hash must be ketama."),
        ("@prod", &format!("redyno memtier: @prod{NO_NAMES}")),
        ("-u @prod", &format!("error: @prod{NO_NAMES}")),
        (
            "--command get --ratio 1:1",
            "error: when using arbitrary command, ratio is configured with --command-ratio option.",
        ),
        (
            "--key-pattern P:R",
            "error: parallel key-pattern must be configured for both SET and GET commands.",
        ),
        ("-S /x -p 1", "error: UNIX domain socket and TCP cannot be used together."),
        (
            "--scan-incremental-iteration",
            "error: --scan-incremental-iteration requires --command with a SCAN command.",
        ),
        (
            "--command scan --scan-incremental-iteration",
            "error: SCAN command must have at least a cursor argument (e.g., 'SCAN 0').",
        ),
        (
            "--read-preference secondary",
            "error: read-preference needs cluster-mode: one server has no replicas that are read.",
        ),
        ("--verify-only", "error: use data-verify only with data-import."),
        ("--data-import x -d 5", "error: data size cannot be specified when importing."),
        ("--data-import x --data-offset 5", "error: data-offset cannot be used with data-import."),
        (
            "--expiry-range 1-2 --data-offset 5",
            "error: data-offset can only be used with redis protocol, and cannot be used with expiry.",
        ),
        ("-6 -h 127.0.0.1", "error: --host is an IP address that -4 or -6 excludes; leave -4 or -6 out."),
        ("--transaction", "error: --transaction requires at least one --command."),
        ("--cluster-mode --multi-key-get 3", "error: cluster mode does not support multi-key-get."),
        (
            "--cluster-mode -S /x",
            "error: cluster mode does not support unix-socket: give the host and port of a node.",
        ),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn a_refusal_names_the_options_and_what_to_do() {
    for (line, expected) in [
        (
            "--key-m=3",
            "redyno memtier: option '--key-m' is ambiguous; possibilities: '--key-minimum' '--key-maximum' '--key-median'",
        ),
        ("--key-minimum 0", "error: key-minimum must be greater than zero."),
        ("--command __key__", "error: failed to parse arbitrary command."),
        (
            "--data-size-list 8:0",
            "error: data-size-list must be expressed as [size1:weight1],...[sizeN:weightN], with sizes and a weight above 0.",
        ),
        ("--multi-key-get=0", "error: multi-key-get must be greater than zero."),
        (
            "--cluster-mode --hash ketama",
            "redyno memtier: --cluster-mode cannot be used with --hash; leave one out",
        ),
        (
            "--transaction --retry-on-error --reconnect-interval 3",
            "redyno memtier: --transaction cannot be used with --retry-on-error or --reconnect-interval; leave one out",
        ),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn an_absent_option_is_refused_with_or_without_a_value() {
    let jitter = ": at most 128 connections are opened at a time";
    let misses = ": misses are always counted from the replies";
    for (name, hint) in [
        ("--debug", ""),
        ("-D", ""),
        ("--realtime-latencies", ": redyno without --headless shows these latencies on its screen"),
        ("--thread-conn-start-min-jitter-micros", jitter),
        ("--thread-conn-start-max-jitter-micros", jitter),
        ("--command-miss-tracking", misses),
        ("--miss-rate-threshold", misses),
        ("--generate-keys", ": redyno --dataset sends the fields of a file in the commands that you give"),
    ] {
        for line in [name.to_owned(), format!("-c 3 {name} 5 -n 5")] {
            assert_eq!(refused(&line), format!("error: {name} is not supported by redyno memtier{hint}."));
        }
    }
    assert_eq!(refused("-RD"), "error: -D is not supported by redyno memtier.");
    assert!(refused("-P memcache_binary").contains("memcache_binary is not supported"));
    assert!(refused("--data-size-pattern S").contains("is not supported"));
}

#[test]
fn a_uri_overrides_the_options_for_address_and_credentials() {
    let options = options("-a ann:pw:x -p 7 --uri redis://bob:secret@db:99/3");
    assert_eq!(
        (options.server.user.as_deref(), options.server.password.as_deref()),
        (Some("bob"), Some("secret"))
    );
    assert_eq!(
        (options.server.host.as_deref(), options.server.port, options.server.db),
        (Some("db"), Some(99), 3)
    );
    let options = self::options("-a ann:pw:x");
    assert_eq!(
        (options.server.user.as_deref(), options.server.password.as_deref()),
        (Some("ann"), Some("pw:x"))
    );
    assert_eq!(self::options("-u memcached://h").protocol, MemtierProtocol::MemcacheText);
}

#[test]
fn an_option_without_effect_gets_a_warning() {
    let warnings = |line: &str| without_effect(&options(line)).join(" ");
    assert_eq!(
        warnings("--command get --expiry-range 1-2"),
        "warning: --expiry-range has no effect with --command."
    );
    assert_eq!(
        warnings("--num-slaves 1-2 --key-zipf-exp 2"),
        "warning: --num-slaves has no effect without WAITs. warning: --key-zipf-exp has no effect without the pattern Z."
    );
    let all = "--wait-ratio 1:1 --num-slaves 1-2 --key-pattern R:Z --key-zipf-exp 2 --expiry-range 1-2 -x 2 --print-all-runs";
    assert_eq!(warnings(all), "");
    assert_eq!(
        warnings("--command get --command-key-pattern Z --key-zipf-exp 2 --command-stats-breakdown line"),
        ""
    );
}

#[test]
fn bounds_of_buckets_must_be_in_different_slots_of_the_histogram() {
    for bad in ["5,3", "0.001,100000", "1e-7", "86300,86400", "0.001,0.001001", "1,,2", "x", ""] {
        let line = refused(&format!("--prometheus-port 0 --prometheus-latency-buckets={bad}"));
        assert!(line.starts_with("error: --prometheus-latency-buckets must be 1-64 comma"), "{line}");
    }
    let warnings = |bounds| {
        without_effect(&options(&format!("--prometheus-port 0 --prometheus-latency-buckets={bounds}")))
    };
    assert_eq!(warnings("0.000005,0.001,0.00101"), [""; 0]);
    assert!(warnings("1,700")[0].contains("bound 700 is above 60 s"));
}

#[test]
fn labels_must_have_names_that_prometheus_accepts() {
    for (line, expected) in [
        ("--prometheus-port 70000", "error: prometheus-port must be a number in the range [0-65535]."),
        (
            "--prometheus-bind-addr [1.2.3.4]",
            "error: prometheus-bind-addr must be a numeric IPv4 or IPv6 address.",
        ),
        ("--prometheus-run-label a", "error: --prometheus-run-label expects KEY=VALUE."),
        ("--prometheus-run-label k-y=1", "error: --prometheus-run-label: invalid label name."),
        (
            "--prometheus-run-label __x=1",
            "error: --prometheus-run-label: names beginning with __ are reserved.",
        ),
        ("--prometheus-run-label le=1", "error: --prometheus-run-label: the label name is reserved."),
        (
            "--prometheus-run-label a=1 --prometheus-run-label a=2",
            "error: --prometheus-run-label: duplicate label name.",
        ),
        (
            "--prometheus-latency-buckets 1,2",
            "error: --prometheus-bind-addr, --prometheus-run-label and --prometheus-latency-buckets need --prometheus-port.",
        ),
    ] {
        assert_eq!(refused(line), expected, "{line}");
    }
}
