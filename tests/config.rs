//! The config file: what it may say, who may write it, how it stands behind the command line, and what is shown of it.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{
    Server, free_port,
    program::{Outcome, Running, redyno},
    terminal::Terminal,
};

/// A config directory of its own.
struct Place(TempDir);

impl Place {
    fn with(text: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.file().parent().unwrap()).unwrap();
        fs::write(place.file(), text).unwrap();
        place.allow(0o644);
        place
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("redyno/config.toml")
    }

    fn allow(&self, mode: u32) {
        let directory = self.file().parent().unwrap().to_owned();
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(self.file(), Permissions::from_mode(mode)).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = redyno(args);
        command.env("XDG_CONFIG_HOME", self.0.path());
        command
    }

    fn run(&self, args: &[&str]) -> Outcome {
        Running::start(self.command(args)).end()
    }

    /// What is said where the file is refused.
    fn refusal(&self) -> String {
        let outcome = self.run(&["config"]).expect_code(2);
        assert_eq!((outcome.out.as_str(), outcome.err.lines().count()), ("", 1), "{outcome:?}");
        assert!(!outcome.err.contains('\x1b') && outcome.err.len() < 1200, "{outcome:?}");
        let place = format!("redyno: {}: ", self.file().display());
        outcome.err.strip_prefix(&place).unwrap_or_else(|| panic!("{outcome:?}")).to_owned()
    }
}

fn target(port: u16, more: &str) -> String {
    format!("[targets.prod]\naddress = \"127.0.0.1:{port}\"\n{more}\n")
}

#[test]
fn a_target_is_named_wherever_one_can_be_given_and_options_win_over_it() {
    let server = Server::redis().with_args(&["--requirepass", "s3cret"]).start();
    let file = target(server.port(), "db = 3\npassword-command = \"printf 's3cret\\\\nmore'\"");
    let place = Place::with(&file);
    for name in [&["@prod"][..], &["-u", "@prod"], &["--uri=@prod"], &["--target", "prod"]] {
        let session =
            place.run(&[name, &["--headless", "--duration", "1", "--json"]].concat()).expect_code(0);
        let named = format!(r#""address":"127.0.0.1:{}","name":"prod""#, server.port());
        assert!(session.out.contains(&named), "{session:?}");
    }
    let attached = place.run(&["@prod", "--headless", "--duration", "1"]).expect_code(0).out;
    assert_eq!(attached.matches(&format!("@prod (127.0.0.1:{})", server.port())).count(), 2, "{attached}");
    let replaced =
        place.run(&["@prod", "-h", "localhost", "--headless", "--duration", "1"]).expect_code(0).out;
    assert!(!replaced.contains("@prod"), "{replaced}");
    let nothing = |args: &[&str]| place.run(args).expect_code(0).out;
    assert!(nothing(&["clean", "@prod"]).contains(" db 3: nothing to undo"));
    assert!(nothing(&["clean", "--db", "2", "@prod"]).contains(" db 2: nothing to undo"));
    assert!(nothing(&["@prod", "--latency", "-i", "0.1", "--csv"]).contains(','));
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_there_are_and_the_file() {
    let place = Place::with(&target(1, ""));
    let refused = place.run(&["@stage", "--headless"]).expect_code(2).err;
    let file = place.file().display().to_string();
    assert!(refused.contains("no target '@stage'; there are @prod;") && refused.contains(&file), "{refused}");
    let none = crate::support::program::run(&["@stage"]).expect_code(2).err;
    assert!(none.contains("there are none; config file: none; it would be "), "{none}");
    let versus = place.run(&["versus", "@prod", "@x"]).expect_code(2).err;
    assert!(versus.contains("no target '@x'"), "{versus}");
}

#[test]
fn the_value_of_an_option_is_no_name_of_a_target() {
    let server = Server::redis().with_args(&["--requirepass", "@prod"]).start();
    let place = Place::with(&target(1, ""));
    let args = ["-p", &server.port_text(), "-a", "@prod", "--headless", "--duration", "1"];
    place.run(&args).expect_code(0);
}

#[test]
fn defaults_stand_behind_options_and_put_no_load_on() {
    let server = Server::redis().start();
    let place = Place::with("[defaults]\nclients = 7\nkeys = 99\nascii = true\n");
    let port = server.port_text();
    let attached = place.run(&["-p", &port, "--headless", "--duration", "1"]).expect_code(0);
    assert!(attached.out.is_ascii() && !attached.out.contains("removed"), "{attached:?}");
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    assert_eq!(server.calls(&[], "set"), 0);
    let plan = |args: &[&str]| place.run(&[&["-p", &port, "--load", "--plan"], args].concat()).out;
    assert!(plan(&[]).contains("7 clients"), "{}", plan(&[]));
    assert!(plan(&["-c", "5"]).contains("5 clients"));
    // What mimics another tool reads none, so that a file that is refused is none of its matters.
    fs::write(place.file(), "[defaults]\nyes = true\n").unwrap();
    place.run(&["-p", &port, "--latency", "-i", "0.1", "--raw"]).expect_code(0);
    place.run(&["bench", "-p", &port, "-n", "10", "-t", "ping", "-q"]).expect_code(0);
    let refused = place.run(&["-p", &port, "--headless", "--duration", "1"]).expect_code(2).err;
    assert!(refused.contains("[defaults]: 'yes' is refused; "), "{refused}");
}

#[test]
fn config_shows_what_holds_and_from_where_and_no_secret() {
    let place = Place::with(&format!(
        "[defaults]\ntheme = \"dark\"\n{}",
        target(7, "user = \"ann\"\ntls = true\npassword-command = \"echo hunter2\"")
    ));
    let mut command = place.command(&["config"]);
    command.env("REDISCLI_AUTH", "hunter2").env("XDG_STATE_HOME", "/state");
    let shown = Running::start(command).end().expect_code(0).out;
    let rows: Vec<_> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for row in [
        &format!("file: {}", place.file().display()),
        "theme dark file",
        "clients 50 built in",
        "password *** environment",
        "recordings /state/redyno environment",
        "@prod 127.0.0.1:7 password ***, tls true, user ann",
    ] {
        assert!(rows.contains(&row.to_owned()), "no '{row}' in {shown}");
    }
    assert!(!shown.contains("hunter2"), "{shown}");
    let mut command = place.command(&["config"]);
    command.env("LC_ALL", "C").env("NO_COLOR", "1");
    fs::write(place.file(), "[defaults]\nascii = false\n").unwrap();
    let shown = Running::start(command).end().expect_code(0).out;
    let rows: Vec<_> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert!(rows.contains(&vec!["ascii", "true", "environment"]), "{shown}");
    assert!(rows.contains(&vec!["theme", "mono", "environment"]), "{shown}");
    fs::remove_file(place.file()).unwrap();
    let none = place.run(&["config"]).expect_code(0).out;
    assert!(none.starts_with(&format!("file: none; it would be {}\n", place.file().display())), "{none}");
}

#[test]
fn a_file_that_others_can_write_or_that_is_none_is_refused() {
    let place = Place::with(&target(1, ""));
    for mode in [0o664, 0o646] {
        place.allow(mode);
        assert!(place.refusal().contains("others can write "), "{mode:o}");
    }
    place.allow(0o600);
    fs::set_permissions(place.file().parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
    assert!(place.refusal().contains("others can write "));
    place.allow(0o600);
    place.run(&["config"]).expect_code(0);
    // A link is as safe as where it leads.
    let elsewhere = Place::with(&target(1, ""));
    fs::remove_file(place.file()).unwrap();
    symlink(elsewhere.file(), place.file()).unwrap();
    place.run(&["config"]).expect_code(0);
    elsewhere.allow(0o666);
    assert!(place.refusal().contains("others can write "));
    fs::remove_file(place.file()).unwrap();
    symlink(place.file(), place.file()).unwrap();
    assert!(place.refusal().contains("cannot read it: "));
    fs::remove_file(place.file()).unwrap();
    fs::create_dir(place.file()).unwrap();
    assert!(place.refusal().contains("it is no file"));
    fs::remove_dir(place.file()).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, place.file(), 0o600.into()).unwrap();
    assert!(place.refusal().contains("it is no file"));
}

#[test]
fn a_text_that_is_none_or_would_be_obeyed_is_refused_in_one_line() {
    let place = Place::with("");
    let (long, deep) = ("#".repeat(70_000), format!("a = {}", "[".repeat(60_000)));
    for (text, part) in [
        (&b"\xff\xfe"[..], "it is no UTF-8 text"),
        (long.as_bytes(), "more than 65536 bytes"),
        (deep.as_bytes(), "line 1: "),
        (b"[targets.\"\\u001b]0;OWNED\\u0007\"]\naddress = \"h\"", "[targets.\\x1b]0;OWNED"),
        (b"\"\\u001b[31m\" = 1", "'\\x1b[31m' is no table"),
        (b"a = \"\x1b[31m\"", "line 1: "),
    ] {
        fs::write(place.file(), text).unwrap();
        assert!(place.refusal().contains(part), "{part}: {}", place.refusal());
    }
}

#[test]
fn a_password_command_that_fails_is_named_with_its_exit_status() {
    for (command, part) in [
        ("exit 3", "target '@prod': password-command failed: exit status: 3"),
        ("kill -9 $$", "password-command failed: signal: 9"),
        ("echo", "password-command prints no password in its first line"),
    ] {
        let place = Place::with(&target(free_port(), &format!("password-command = \"{command}\"")));
        let refused = place.run(&["@prod", "--headless"]).expect_code(1).err;
        assert!(refused.contains(part) && refused.lines().count() == 1, "{refused}");
        // Nothing is done with the target, so nothing is asked.
        place.run(&["@prod", "--load", "--plan"]).expect_code(0);
    }
}

#[test]
fn a_password_is_asked_for_at_the_terminal_and_not_shown() {
    let server = Server::redis().with_args(&["--requirepass", "s3crét"]).start();
    let port = server.port_text();
    let refused = crate::support::program::run(&["-p", &port, "--askpass"]).expect_code(2).err;
    assert!(refused.contains("--askpass needs a terminal, and standard input is none"), "{refused}");
    let ask = || {
        let terminal = Terminal::start(&redyno(&["clean", "-p", &port, "--askpass"]), 80, 24);
        terminal.wait_for_text("Please input password:");
        terminal
    };
    let mut terminal = ask();
    terminal.press("s3crxè\x7f\x7fét\r");
    terminal.wait_for_text("nothing to undo");
    let (code, text) = terminal.end();
    assert!(code == Some(0) && !text.contains("s3cr"), "{text}");
    let mut terminal = ask();
    terminal.press("s3\x03");
    assert_eq!(terminal.exit_code(), Some(130));
    for signal in [Signal::TERM, Signal::HUP] {
        let mut terminal = ask();
        terminal.press("s3");
        assert!(!terminal.shows_keys());
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), Some(130), "{signal:?}");
        assert!(terminal.shows_keys(), "{signal:?}");
    }
    // A signal after the password has its usual effect.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port().to_string();
    let mut terminal = Terminal::start(&redyno(&["clean", "-p", &silent_port, "--askpass"]), 80, 24);
    terminal.wait_for_text("Please input password:");
    terminal.press("x\r");
    let _connection = silent.accept().unwrap();
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.exit_code(), None);
}
