//! What is asked for wrongly, and servers that are no Redis: one clear line, the right exit code, never a hang; and
//! no password anywhere.

use std::{
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
};

use clap::CommandFactory as _;
use redyno::cli::args::CommandLine;

use crate::support::{
    Server, free_port,
    program::{Outcome, Running, redyno, run},
};

/// What is not a command line, and a part of the line that says why.
const WRONG: [(&str, &str); 102] = [
    ("--lod", "did you mean '--load'?"),
    ("nonsense", "unrecognized subcommand 'nonsense'"),
    ("-p", "a value is required for '--port <PORT>'"),
    ("-p x", "invalid value 'x' for '--port <PORT>'"),
    ("-p 0", "it must be a whole number from 1 to 65535"),
    ("--seed x", "'--seed <N>': it must be a whole number from 0 to 18446744073709551615"),
    ("--db x", "'--db <N>': it must be a whole number from 0 to 2147483647"),
    ("demo --nodes x", "'--nodes <COUNT>': it must be a whole number from 1 to 200"),
    ("--load --export csv:f --export json:f", "--export csv and --export json have the same file, f"),
    ("-p 70000", "it must be a whole number from 1 to 65535"),
    ("-h=", "-h is empty; give a host name or address"),
    ("-s /x -p 1", "'--socket <SOCKET>' cannot be used with '--port <PORT>'"),
    ("-u redis://h -h h", "'--uri <URI>' cannot be used with '--host <HOST>'"),
    ("-u ftp://h", "not with 'ftp://'"),
    ("doctor redis://h --db 2", "cannot be used with '--db <N>'"),
    ("capture redis://h --db 2 -o x", "cannot be used with '--db <N>'"),
    ("-u redis://h --cacert x", "--cacert needs TLS, which is off; add --tls"),
    ("--sni h", "--sni needs TLS, which is off"),
    ("--tls --insecure --cacert x", "'--insecure' cannot be used with '--cacert <FILE>'"),
    ("--tls --insecure --cert x", "required arguments were not provided: --key <FILE>"),
    ("-u redis://h:0", "must be a number from 1 to 65535"),
    ("-u redis://h/x", "the database in the URI must be a whole number"),
    ("-u redis://[::1", "redis://[::1]:6379"),
    ("-u redis://:p@h -a p", "leave -a out"),
    ("--user ann", "--user needs a password"),
    ("--db 9999999999", "invalid value '9999999999'"),
    ("-c many", "invalid value 'many' for '--clients <CLIENTS>': 'many' is not a count"),
    ("-c 0", "invalid value '0' for '--clients <CLIENTS>': it must be between 1 and 18000"),
    ("-c 18001", "'--clients <CLIENTS>': it must be between 1 and 18000"),
    ("-P 0", "'--pipeline <PIPELINE>': it must be between 1 and 10000"),
    ("--rate 0", "invalid value '0' for '--rate <RATE>': it must be between 1 and 4294967295; or give max"),
    ("--ratio 0:0", "--ratio 0:0 sends nothing"),
    ("--ratio 1", "'1' is not a ratio SET:GET"),
    ("--workload zip", "there is no workload 'zip'; give one of cache,"),
    ("--ratio 1:1 --workload get", "cannot be used with"),
    ("--distribution zipf", "'zipf' is not a distribution of keys; give one of uniform, sequential,"),
    ("--distribution ycsb-zipfian --workload ping", "the workload 'ping' has no keys to draw"),
    ("-d 0", "'--data-size <BYTES>': it must be between 1 and"),
    ("-r 0", "'--keys <KEYS>': it must be between 1 and"),
    ("--threads 0", "it must be between 1 and 512"),
    ("--timeout 0", "'--timeout <SECONDS>': it must be a number of seconds above 0"),
    (
        "--duration soon",
        "invalid value 'soon' for '--duration <SECONDS>': it must be a number of seconds above 0",
    ),
    ("--timeout 1e19", "it must be a number of seconds above 0, up to a year"),
    ("--warmup 0", "'--warmup <SECONDS>': it must be a number of seconds above 0"),
    ("--theme solarized", "there is no theme 'solarized'; the themes are auto, 16, dark, light, mono"),
    ("replay x --theme dim", "there is no theme 'dim'"),
    ("-i 0", "it must be a number of seconds above 0"),
    ("--seed x", "invalid value 'x' for '--seed <N>'"),
    ("--load --no-load", "cannot be used with"),
    ("--find p99", "'p99' is not a limit; write for example p99<1ms"),
    ("--find p98<1ms", "'p98' is not a percentile; give one of p50, p90,"),
    ("--find p99<1", "'1' is not a duration such as"),
    ("--find p99<1ms --rate 5", "cannot be used with"),
    ("--sweep clients", "'clients' must begin with one of clients, pipeline, rate,"),
    ("--sweep=keys=1..5", "'keys=1..5' must begin with one of"),
    ("--script /dev/null --headless", "null has no changes"),
    ("--script x --no-load", "cannot read it: No such file"),
    ("ab", "required arguments were not provided: --to <KNOBS>"),
    ("ab --to clients=5", "--to: 'clients=5' is not a setting"),
    ("ab --from rate --to pipeline", "--from: 'rate' is not a setting"),
    ("ab --to preset", "--to: there is no preset ''"),
    ("ab --to pipeline --no-load", "ab generates load"),
    ("ab --to pipeline --part 0", "it must be a number of seconds above 0"),
    (
        "versus redis://a redis://b --part 84",
        "the comparison ends after 170 s, before both A and B are measured; give at most 83",
    ),
    ("versus redis://a", "required arguments were not provided: <URI>"),
    ("versus redis://a localhost:1", "B: "),
    ("versus redis://a redis://b --no-load", "versus generates load"),
    ("versus redis://a redis://b --cacert x", "A: --cacert needs TLS"),
    ("@prod versus redis://a redis://b", "versus must be the first argument: redyno versus ..."),
    ("-p 1 doctor", "doctor must be the first argument: redyno doctor ..."),
    ("series", "required arguments were not provided: <NAME|FILE>"),
    ("series nonsense", "there is no series 'nonsense'; give one of redis-io, "),
    ("series tair-threads --scale 2", "'2' is not a scale above 0 and up to 1"),
    ("series tair-threads --plan --json", "cannot be used with"),
    ("--raw", "required arguments were not provided"),
    ("--latency --latency-dist", "cannot be used with"),
    ("--latency -c 5", "-c has no effect with --latency; leave it out"),
    ("--latency --requests 5", "--requests has no effect with --latency; leave it out"),
    ("--latency-history --no-mouse", "--no-mouse has no effect with --latency-history"),
    ("--intrinsic-latency 1 -h h", "-h has no effect with --intrinsic-latency"),
    ("--headless --theme dark", "--theme has no effect with --headless"),
    ("--headless -i 3", "-i has no effect with --headless"),
    ("--headless --find p99<1ms --fail-if clients>1", "'clients>1' is about a setting that the"),
    ("--headless --seed 3", "--seed has no effect without load (add --load)"),
    ("-c 5 --no-load", "-c has no effect with --no-load"),
    ("replay x --headless --no-mouse", "cannot be used with"),
    ("replay x --screenshot y.svg --no-mouse", "cannot be used with"),
    ("clean redis://h", "unexpected argument 'redis://h' found; a URI is given with -u"),
    ("-p 1 redis://h", "the argument '--port <PORT>' cannot be used with '--uri <URI>'"),
    ("-p 1 redis://a redis://b", "the argument '--port <PORT>' cannot be used with"),
    ("-h redis://h", "-h takes a host name or address; give the URI with -u"),
    ("-s unix:///s", "-s takes the path of a Unix socket; give the URI with -u"),
    ("--intrinsic-latency 0", "'--intrinsic-latency <SECONDS>': it must be a number of seconds above 0"),
    ("demo --fault explode", "'explode' is not a fault: give stall, slow,"),
    ("replay", "required arguments were not provided"),
    ("replay x -p 1", "unexpected argument '-p' found"),
    ("report", "required arguments were not provided: <FILE>"),
    ("report x", "report writes a file: name it with -o, report.html for a page or report.md for a ticket"),
    ("report x -o x.pdf", "-o x.pdf: the name must end in .html for a page or .md for text"),
    ("clean -p 0", "it must be a whole number from 1 to 65535"),
    ("man nonsense", "there is no command 'nonsense'; there are ab, versus,"),
    ("man replay -o x", "cannot be used with"),
];

fn run_line(line: &str) -> Outcome {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

/// One line on stderr with these parts, and nothing on stdout.
fn assert_one_line(outcome: &Outcome, what: &str, parts: &[&str]) {
    let line = outcome.err.strip_suffix('\n').unwrap_or_else(|| panic!("{what}: {outcome:?}"));
    assert!(line.starts_with("redyno: ") && !line.contains('\n'), "{what}: {outcome:?}");
    for part in parts {
        assert!(line.contains(part), "{what}: no '{part}' in: {line}");
    }
    assert_eq!(outcome.out, "", "{what}");
}

#[test]
fn a_wrong_command_line_gets_one_line_on_stderr_and_exit_code_2() {
    for (line, part) in WRONG {
        let outcome = run_line(line);
        assert_one_line(&outcome, line, &[part]);
        assert_eq!(outcome.code(), 2, "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn more_clients_than_the_limit_of_open_files_allows_are_refused_with_what_is_possible() {
    let limited = |args: &str| {
        let program = env!("CARGO_BIN_EXE_redyno");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!("ulimit -n 500; exec '{program}' {args}")]);
        crate::support::program::Running::start(command).end()
    };
    let outcome = limited("-p 1 -c 460 --threads 1 --headless");
    assert_one_line(&outcome, "-c 460", &["460 clients are more than the 456", "open files", "ulimit -Hn"]);
    assert_eq!(outcome.code(), 2);
    let outcome = limited("-p 1 -c 456 --threads 1 --headless");
    assert_one_line(&outcome, "-c 456", &["connection refused"]);
}

#[test]
fn json_on_a_screen_is_refused() {
    let terminal = crate::support::terminal::Terminal::start(&redyno(&["--json"]), 80, 24);
    let (code, text) = terminal.end();
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(text.trim(), "redyno: --json needs --headless or one of redis-cli's modes; add --headless");
}

/// A headless session against what is no Redis: exit code 1 and a diagnosis in one line.
fn assert_diagnosis(target: &[&str], parts: &[&str]) {
    let outcome = run(&[target, &["--headless", "--json", "--load", "--duration", "1"]].concat());
    assert_one_line(&outcome, &format!("{target:?}"), parts);
    assert_eq!(outcome.code(), 1, "{target:?}");
}

#[test]
fn a_server_that_is_not_there_is_named_with_its_address_and_the_cause() {
    let port = free_port().to_string();
    assert_diagnosis(&["-p", &port], &[&format!("127.0.0.1:{port}"), "connection refused"]);
    assert_diagnosis(&["-s", "/there/is/no.sock"], &["there is no socket /there/is/no.sock"]);
    assert_diagnosis(&["-h", "no.such.host.invalid"], &["the host 'no.such.host.invalid' was not found"]);
}

/// A listener whose connections get `answer` to their first bytes, or before them, and are then held open.
fn stranger(answer: &'static [u8], speaks_first: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let heard = speaks_first || stream.read(&mut [0; 512]).is_ok();
            if heard && stream.write_all(answer).is_ok() {
                held.push(stream);
            }
        }
    });
    port
}

#[test]
fn what_is_not_redis_is_recognized_by_its_reply() {
    let http = stranger(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", false);
    assert_diagnosis(&["-p", &http], &["is an HTTP server, not a Redis", "HTTP/1.1 400 Bad Request"]);
    let ssh = stranger(b"SSH-2.0-OpenSSH_9.2\r\n", true);
    assert_diagnosis(&["-p", &ssh], &["speaks SSH, not Redis"]);
    let garbage = stranger(b"\xff\xfe\x00garbage", false);
    assert_diagnosis(&["-p", &garbage], &["is not a Redis: it sent"]);
    let memcached = Server::memcached().start();
    assert_diagnosis(&["-p", &memcached.port_text()], &["is a memcached"]);
}

#[test]
fn a_socket_that_says_nothing_is_given_up() {
    let silent = stranger(b"", false);
    assert_diagnosis(&["-p", &silent], &["accepted the connection and sent no reply"]);
    let hanging = Server::redis().start();
    hanging.pause();
    assert_diagnosis(&["-p", &hanging.port_text()], &["accepted the connection and sent no reply"]);
}

#[test]
fn a_password_that_is_missing_or_wrong_is_distinguished() {
    let server = Server::redis().with_args(&["--requirepass", "s3cret"]).start();
    let port = server.port_text();
    assert_diagnosis(&["-p", &port], &["wants a password"]);
    assert_diagnosis(&["-p", &port, "-a", "wr0ng"], &["refused the password of the default user"]);
    assert_diagnosis(&["-p", &port, "-a", "wr0ng", "--user", "ann"], &["user 'ann'"]);
    let open = Server::valkey().start();
    assert_diagnosis(&["-p", &open.port_text(), "-a", "s3cret"], &["has no password set"]);
}

#[test]
fn a_replica_is_not_written_to() {
    let master = Server::redis().start();
    let replica = Server::redis().with_args(&["--replicaof", "127.0.0.1", &master.port_text()]).start();
    crate::support::wait_for("the replica", || {
        replica.cli(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
    let (here, there) = (replica.port_text(), master.port_text());
    let line =
        format!("redyno: 127.0.0.1:{here} is a read-only replica; name its primary, 127.0.0.1:{there}, to");
    assert_diagnosis(&["-p", &here, "--yes"], &[&line]);
}

#[test]
fn a_file_that_is_no_recording_gets_one_line_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let files: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "is empty: nothing was recorded there"),
        ("text", b"hello\nworld\n", "is no recording of redyno"),
        ("binary", b"\x7fELF\x02\x01\x01\x00\xff\xfe", "is no recording of redyno"),
        ("json", b"{\"kind\":\"mark\",\"t_s\":1,\"text\":\"\"}\n", "is no recording of redyno"),
        ("newer", b"{\"kind\":\"session\",\"schema\":99}\n", "has records of schema 99"),
    ];
    for (name, bytes, part) in files {
        std::fs::write(path(name), bytes).unwrap();
        for more in [&[][..], &["--headless"]] {
            let outcome = run(&[&["replay", &path(name)], more].concat());
            assert_one_line(&outcome, name, &[part]);
            assert_eq!(outcome.code(), 1, "{name}");
        }
    }
    for missing in [path("none"), folder.path().to_str().unwrap().to_owned()] {
        let outcome = run(&["replay", &missing]);
        assert_one_line(&outcome, &missing, &["cannot read ", &missing]);
        assert_eq!(outcome.code(), 1);
    }
}

#[test]
fn help_goes_to_stdout_and_is_as_it_was_read_last() {
    let line = CommandLine::command();
    let commands: Vec<_> = line.get_subcommands().map(clap::Command::get_name).collect();
    assert_eq!(commands.len(), 21);
    let of_command = |name: &&str| (format!("help_{name}"), format!("{name} --help"));
    for (name, line) in
        std::iter::once(("help".to_owned(), "--help".to_owned())).chain(commands.iter().map(of_command))
    {
        let outcome = run_line(&line).expect_code(0);
        assert_eq!(outcome.err, "");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots/cli"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, outcome.out));
    }
    assert_eq!(run_line("--version").expect_code(0).out, concat!("redyno ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_manual_is_a_page_a_command_printed_or_in_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man/man1");
    let outcome = run(&["man", "-o", place.to_str().unwrap()]).expect_code(0);
    let pages = std::fs::read_dir(&place).unwrap().count();
    assert_eq!(outcome.out, format!("{pages} pages: man -l {}\n", place.join("redyno.1").display()));
    // But for the title, which has the day.
    let below = |page: &str| page[page.find(".SH NAME\n").unwrap()..].to_owned();
    for (file, args) in [("redyno.1", &["man"][..]), ("redyno-replay.1", &["man", "replay"])] {
        let page = std::fs::read_to_string(place.join(file)).unwrap();
        assert_eq!(below(&page), below(&run(args).expect_code(0).out), "{file}");
    }
    let folder = folder.path().join("a file");
    std::fs::write(&folder, "").unwrap();
    let refused = run(&["man", "-o", folder.to_str().unwrap()]).expect_code(1);
    assert_one_line(&refused, "a file", &["cannot write to ", "a file"]);
}

/// A session with that password by every way there is: what it wrote anywhere.
fn everything_written(ways: &[&str], form: &[&str], variable: Option<&str>) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("session.jsonl");
    let session =
        ["--rate", "500", "--yes", "-c", "5", "--duration", "1", "--record", path.to_str().unwrap()];
    let mut command = redyno(&[ways, &session, form].concat());
    command.envs(variable.map(|password| ("REDISCLI_AUTH", password)));
    let outcome = Running::start(command).end();
    format!(
        "{}\n{}\n{}\n{}",
        outcome.status,
        outcome.out,
        outcome.err,
        std::fs::read_to_string(path).unwrap()
    )
}

#[test]
fn a_password_is_in_no_record_and_no_message() {
    let server = Server::redis().with_args(&["--requirepass", "s3cret-hunter2"]).start();
    server.cli(&["-a", "s3cret-hunter2", "ACL", "SETUSER", "ann", "on", ">s3cret-hunter2", "~*", "+@all"]);
    let port = server.port_text();
    let uri = format!("redis://:s3cret-hunter2@127.0.0.1:{port}/1");
    let ann = format!("redis://ann:s3cret-hunter2@127.0.0.1:{port}");
    let ways: [(&[&str], Option<&str>); 4] = [
        (&["-p", &port, "-a", "s3cret-hunter2"], None),
        (&["-u", &uri], None),
        (&["-u", &ann], None),
        (&["-p", &port], Some("s3cret-hunter2")),
    ];
    for (way, variable) in ways {
        for form in [&["--headless", "--json"][..], &["--headless"]] {
            let written = everything_written(way, form, variable);
            assert!(written.starts_with("exit status: 0\n"), "{written}");
            assert!(!written.contains("s3cret") && !written.contains("hunter2"), "{way:?}: {written}");
        }
    }
    let wrong = format!("redis://:s3cret-wr0ng@127.0.0.1:{port}");
    for line in [
        format!("-u {wrong} --headless"),
        format!("-p {port} -a s3cret-wr0ng --headless"),
        format!("-p {port} -a s3cret-wr0ng --latency -i 0.2"),
        format!("clean -p {port} -a s3cret-wr0ng"),
        format!("-u {wrong} -h x"),
        "-u redis://:s3cret@h:99999".to_owned(),
        "-u redis://:s3cret@h:p -c 0".to_owned(),
        "-a s3cret -u".to_owned(),
        "-a s3cret --seed x".to_owned(),
        wrong.clone(),
        format!("-p 1 {wrong}"),
        format!("-h {wrong}"),
        format!("-s {wrong}"),
        format!("-p {wrong}"),
        format!("--seed={wrong}"),
        format!("--{wrong}"),
        format!("replay {wrong}"),
        format!("demo {wrong}"),
        format!("clean {wrong} --yes"),
        format!("--record {wrong}/x --headless -p {port} -a s3cret-hunter2"),
        format!("--workload {wrong} --headless"),
        "redis://ann:s3c/ret@s3cret@h".to_owned(),
    ] {
        let outcome = run_line(&line);
        assert_ne!(outcome.code(), 0, "{line}");
        assert!(!format!("{outcome:?}").contains("s3cret"), "{line}: {outcome:?}");
    }
}
