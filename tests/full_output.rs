//! An output that nobody reads: the session, its end and what it owes the server go on as if somebody did.

use std::{
    fs::{File, OpenOptions},
    io::{PipeReader, PipeWriter, Read, Write, pipe},
    os::{
        fd::AsFd,
        unix::fs::{OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::support::{
    Server,
    program::{end_of, records, redyno, run},
    terminal::Terminal,
    wait_for,
};
use redyno::session::Record;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    process::{Pid, Signal, kill_process},
};

/// Writes until there is no room left; whoever writes next has to wait.
fn fill(mut writer: impl Write + AsFd) {
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    while writer.write(b"\n").is_ok() {}
    fcntl_setfl(&writer, flags).unwrap();
}

/// A pipe without room, whose reader reads nothing until it is asked to.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    fill(&writer);
    (reader, writer)
}

/// The program with a full stdout; what it says on stderr goes to a file.
struct Unread {
    child: Child,
    reader: PipeReader,
    err: tempfile::NamedTempFile,
}

impl Unread {
    fn start(args: &[&str]) -> Self {
        let (reader, writer) = full_pipe();
        let err = tempfile::NamedTempFile::new().unwrap();
        let child = redyno(args).stdout(writer).stderr(err.reopen().unwrap()).spawn().unwrap();
        Self { child, reader, err }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn err(&self) -> String {
        std::fs::read_to_string(self.err.path()).unwrap()
    }

    /// Its exit code and what it said on stderr; stdout is read by nobody until then.
    fn end(mut self) -> (Option<i32>, String) {
        let code = end_of(&mut self.child).code();
        (code, self.err())
    }
}

/// What a session owes the server at its end.
fn assert_left_clean(server: &Server, err: &str) {
    assert_eq!(server.cli(&["DBSIZE"]), "0", "{err}");
    assert!(server.load_ids().is_empty(), "{err}");
    assert!(err.contains("removed "), "{err}");
}

fn wait_for_load(server: &Server) {
    wait_for("load on the server", || (server.calls(&[], "get") > 100).then_some(()));
}

#[test]
fn a_session_that_nobody_reads_lasts_as_long_as_was_asked() {
    for form in [&["--json"][..], &[]] {
        let server = Server::redis().start();
        let port = server.port_text();
        let unread =
            Unread::start(&[&["-p", &port, "--headless", "--rate", "1k", "--duration", "1"], form].concat());
        let (code, err) = unread.end();
        assert_eq!(code, Some(1), "what was asked for did not come out: {err}");
        assert_left_clean(&server, &err);
        assert!(err.contains("lost: nobody read standard output"), "{err}");
    }
}

#[test]
fn a_session_that_nobody_reads_ends_with_a_signal() {
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::redis().start();
        let unread =
            Unread::start(&["-p", &server.port_text(), "--headless", "--json", "--rate", "1k", "--yes"]);
        wait_for_load(&server);
        unread.signal(signal);
        let (code, err) = unread.end();
        assert_eq!(code, Some(130), "{err}");
        assert_left_clean(&server, &err);
    }
}

#[test]
fn a_reader_that_comes_late_gets_every_line_in_order() {
    let server = Server::redis().start();
    let args = ["-p", &server.port_text(), "--headless", "--json", "--rate", "1k", "--duration", "1"];
    let Unread { mut child, mut reader, err } = Unread::start(&args);
    // Nothing is removed before the last record is on its way out.
    wait_for("the keys' removal", || {
        std::fs::read_to_string(err.path()).unwrap().contains("removed ").then_some(())
    });
    let mut out = String::new();
    reader.read_to_string(&mut out).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(0));
    let records = records(out.trim_start_matches('\n'));
    assert!(matches!(records.first(), Some(Record::Session(_))), "{:?}", records.first());
    assert!(matches!(records.last(), Some(Record::End(end)) if end.summary.ops > 0));
}

#[test]
fn a_session_whose_stderr_nobody_reads_ends_and_removes_its_keys() {
    let server = Server::redis().start();
    let (_reader, writer) = full_pipe();
    let args = ["-p", &server.port_text(), "--headless", "--json", "--rate", "1k", "--duration", "1"];
    let mut child = redyno(&args).stdout(Stdio::piped()).stderr(writer).spawn().unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(0));
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert!(matches!(records(&out).last(), Some(Record::End(_))));
}

/// A named pipe without room, for a command that a shell starts.
fn full_fifo(path: &Path) -> File {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success() && path.metadata().unwrap().permissions().mode() > 0);
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let fifo = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap();
    fill(&fifo);
    fifo
}

#[test]
fn what_a_session_set_on_the_server_is_set_back_though_nobody_reads_stderr() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stderr");
    let _fifo = full_fifo(&path);
    let program = redyno(&["-p", &server.port_text()]);
    let mut command = Command::new("sh");
    let line = format!("exec \"$@\" 2> '{}'", path.display());
    command.args(["-c", &line, "sh"]).arg(program.get_program()).args(program.get_args());
    command.env("LC_ALL", "C.UTF-8");
    let mut terminal = Terminal::start(&command, 120, 36);
    terminal.press("3");
    terminal.wait_for_text("noeviction");
    terminal.press("\x1b[C");
    terminal.wait_for_text("CONFIG SET maxmemory 67108864");
    terminal.press("y");
    terminal.wait_for_text("maxmemory is 67108864");
    terminal.press("q");
    assert_eq!(terminal.exit_code(), Some(0));
    assert!(server.cli(&["CONFIG", "GET", "maxmemory"]).ends_with("\n0"));
}

#[test]
fn the_modes_of_redis_cli_end_though_nobody_reads_them() {
    let server = Server::redis().start();
    let port = server.port_text();
    let once = Unread::start(&["-p", &port, "--latency", "-i", "0.1"]);
    let (code, err) = once.end();
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("1 line was lost: nobody read standard output"), "{err}");
    for mode in
        [&["-p", &port, "--latency-history", "--csv", "-i", "0.01"][..], &["--intrinsic-latency", "600"]]
    {
        let endless = Unread::start(mode);
        if mode.contains(&"-p") {
            wait_for("PINGs", || (server.calls(&[], "ping") > 50).then_some(()));
        } else {
            wait_for("its signals to be taken", || is_listening(&endless.child).then_some(()));
        }
        endless.signal(Signal::INT);
        let (code, err) = endless.end();
        assert!(code.is_some(), "ended by itself: {err}");
    }
}

/// Whether a process takes SIGINT. For a moment, the handler that was set last loses its signal; that of SIGHUP is set
/// after that of SIGINT.
fn is_listening(child: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 0b1 != 0
}

#[test]
fn a_replay_waits_for_its_reader_and_ends_with_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let server = Server::redis().start();
    let file = path.to_str().unwrap();
    run(&["-p", &server.port_text(), "--headless", "--duration", "1", "--record", file]).expect_code(0);
    // Long enough to fill any queue.
    let mut recording = OpenOptions::new().append(true).open(&path).unwrap();
    let marks = "{\"kind\":\"mark\",\"t_s\":2.0,\"text\":\"here\"}\n".repeat(80_000);
    recording.write_all(marks.as_bytes()).unwrap();

    let stopped = Unread::start(&["replay", file, "--headless"]);
    wait_for("its signals to be taken", || is_listening(&stopped.child).then_some(()));
    stopped.signal(Signal::INT);
    assert_eq!(stopped.end().0, Some(130));

    let Unread { mut child, mut reader, err } = Unread::start(&["replay", file, "--headless"]);
    let mut out = String::new();
    reader.read_to_string(&mut out).unwrap();
    let shown = std::fs::read_to_string(err.path()).unwrap();
    assert_eq!((end_of(&mut child).code(), shown.as_str()), (Some(0), ""));
    let lines = out.lines().filter(|line| line.contains("mark: here")).count();
    assert!(lines == 80_000 && out.contains(" measured, "), "{lines} lines");
}

#[test]
fn the_built_in_server_ends_though_nobody_reads_where_it_is() {
    let unread = Unread::start(&["demo", "-p", "0"]);
    wait_for("its signals to be taken", || is_listening(&unread.child).then_some(()));
    unread.signal(Signal::INT);
    assert!(unread.end().0.is_some());
}

#[test]
fn clean_removes_everything_though_nobody_reads_what_it_says() {
    let server = Server::redis().start();
    let port = server.port_text();
    let mut killed = redyno(&["-p", &port, "--headless", "--load", "--yes", "--workload", "set"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("keys", || (server.cli(&["DBSIZE"]) != "0").then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (code, err) = Unread::start(&["clean", "-p", &port]).end();
    assert_eq!((server.cli(&["DBSIZE"]).as_str(), code), ("0", Some(1)), "{err}");
}

/// The last lines of stdout, the summary, and what stderr says beside them: each text comes whole, with its last newline.
#[test]
fn texts_of_both_streams_never_share_a_line_of_one_pipe() {
    let server = Server::redis().start();
    let port = server.port_text();
    let (mut reader, writer) = pipe().unwrap();
    let mut command =
        redyno(&["-p", &port, "--headless", "--yes", "--rate", "1k", "--duration", "1", "--ratio", "1:0"]);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(end_of(&mut child).success() && text.ends_with('\n'), "{text}");
    let begins = |part: &str| text.lines().filter(|line| line.starts_with(part)).count();
    for part in ["removed ", "redyno ", "segment 1: ", "  load "] {
        assert_eq!(begins(part), 1, "{part}: {text}");
    }
    assert_eq!(text.matches("removed ").count(), 1, "{text}");
    assert!(
        text.contains(" measured, ") && text.contains("\n  load "),
        "the summary stands together: {text}"
    );
}
