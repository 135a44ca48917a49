//! The one-shot modes' promise: redis-cli's output, from a real Redis and from servers that misbehave.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use crate::scripted::{Scripted, target};
use redyno::{
    compat::redis_cli::{FigureFormat, OneshotArgs, OneshotMode, OneshotPlan, Streams, run_on},
    endpoint::Target,
    signals::Signal,
};

/// What a run wrote, and how it ended.
struct Outcome {
    out: String,
    err: String,
    result: anyhow::Result<()>,
}

/// Returns the options for windows of this length in ms.
fn every(ms: u64) -> OneshotArgs {
    OneshotArgs { interval: Some(Duration::from_millis(ms)), ..OneshotArgs::default() }
}

fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, is_tty: bool) -> Outcome {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let result = run_on(plan, stop, &mut Streams { out: &mut out, err: &mut err, is_tty });
    Outcome { out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap(), result }
}

fn run_to_its_end(plan: &OneshotPlan) -> Outcome {
    run(plan, &channel().1, false)
}

/// A stream that asks the run to stop once `enough` says so of what was written to it.
struct Watched<F> {
    text: String,
    enough: F,
    stop: Sender<Signal>,
}

impl<F: Fn(&str) -> bool> std::io::Write for Watched<F> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.text.push_str(std::str::from_utf8(bytes).unwrap());
        if (self.enough)(&self.text) {
            let _ = self.stop.send(Signal::Interrupt);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn run_until(plan: &OneshotPlan, is_tty: bool, enough: impl Fn(&str) -> bool) -> String {
    let (stop, stopped) = channel();
    let mut out = Watched { text: String::new(), enough, stop };
    run_on(plan, &stopped, &mut Streams { out: &mut out, err: &mut std::io::sink(), is_tty }).unwrap();
    out.text
}

/// A real Redis on a free port.
struct Redis {
    process: Child,
    address: SocketAddr,
}

impl Redis {
    fn start() -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = Command::new("redis-server")
            .args(["--port", &address.port().to_string(), "--save", "", "--bind", "127.0.0.1"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is needed: apt-get install redis-server");
        let server = Self { process, address };
        let give_up = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < give_up, "redis-server does not listen on {address}");
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    fn plan(&self, mode: OneshotMode) -> OneshotPlan {
        OneshotPlan { options: every(300), ..OneshotPlan::new(target(self.address), mode) }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Millisecond figures with three decimals that are in order, and a count.
fn assert_figures(fields: &[&str]) {
    let [min, max, avg, count] = fields else { panic!("{fields:?}") };
    let ms = |text: &str| {
        assert_eq!(text.split_once('.').unwrap().1.len(), 3, "{text}");
        text.parse::<f64>().unwrap()
    };
    assert!(0.0 < ms(min) && ms(min) <= ms(avg) && ms(avg) <= ms(max), "{fields:?}");
    assert!(count.parse::<u64>().unwrap() > 0);
}

#[test]
fn a_real_redis_is_measured_in_every_format() {
    let redis = Redis::start();
    let written = |format| {
        let outcome = run_to_its_end(&OneshotPlan { format, ..redis.plan(OneshotMode::Latency) });
        outcome.result.unwrap();
        // On a busy machine a ping may be without an answer at the end, which is then all that is said.
        let is_said = |line: &str| !line.contains(" unanswered, the oldest for ");
        assert_eq!(outcome.err.lines().find(|line| is_said(line)), None);
        outcome.out.strip_suffix('\n').unwrap().to_owned()
    };
    for format in [FigureFormat::Standard, FigureFormat::Raw] {
        assert_figures(&written(format).split(' ').collect::<Vec<_>>());
    }
    assert_figures(&written(FigureFormat::Csv).split(',').collect::<Vec<_>>());
    let json: serde_json::Value = serde_json::from_str(&written(FigureFormat::Json)).unwrap();
    assert!(json["count"].as_u64().unwrap() > 0 && json["min"].as_f64().unwrap() > 0.0, "{json}");
}

#[test]
fn history_as_csv_is_a_line_a_window() {
    let redis = Redis::start();
    let percentiles = ["50", "99"].map(|text| text.parse().unwrap()).to_vec();
    let options = OneshotArgs { latency_percentiles: percentiles, ..every(300) };
    let plan = OneshotPlan { format: FigureFormat::Csv, options, ..redis.plan(OneshotMode::LatencyHistory) };
    let out = run_until(&plan, false, |text| text.lines().count() == 3);
    for line in out.lines() {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!(fields.len(), 6, "{line}");
        assert_figures(&fields[..4]);
    }
}

#[test]
fn history_on_a_terminal_redraws_a_line_and_ends_each_window_with_its_length() {
    let redis = Redis::start();
    let out = run_until(&redis.plan(OneshotMode::LatencyHistory), true, |text| text.lines().count() == 2);
    assert!(out.starts_with("\x1b[0G\x1b[2Kmin: "), "{out:?}");
    let out = out.strip_suffix("\x1b[0G\x1b[2K").unwrap_or(&out);
    assert!(out.ends_with(" seconds range\n"), "{out:?}");
    for line in out.lines() {
        let last = line.rsplit("\x1b[2K").next().unwrap();
        // On a busy machine some may be without an answer yet: `(37 samples, 13 of them unanswered)`.
        let (figures, range) = last.split_once(") -- ").unwrap();
        assert!(figures.starts_with("min: ") && figures.contains(" samples"), "{line:?}");
        assert!(range.ends_with(" seconds range"), "{line:?}");
    }
}

#[test]
fn latency_on_a_terminal_goes_on_until_it_is_stopped_and_leaves_its_last_line() {
    let redis = Redis::start();
    let plan = OneshotPlan { options: OneshotArgs::default(), ..redis.plan(OneshotMode::Latency) };
    let out = run_until(&plan, true, |text| text.matches("min: ").count() == 3);
    let is_last = [" samples)\n", " of them unanswered)\n"].iter().any(|end| out.ends_with(end));
    assert!(is_last && out.matches('\n').count() == 1, "{out:?}");
}

#[test]
fn dist_draws_a_row_a_window_under_one_legend() {
    let redis = Redis::start();
    let plan = OneshotPlan { options: every(50), ..redis.plan(OneshotMode::LatencyDist) };
    let row = "\x1b[38;5;0m\x1b[48;5;";
    let out = run_until(&plan, false, |text| text.matches(row).count() == 21);
    assert_eq!(out.matches("From 0 to 100%: ").count(), 2, "the legend comes again after 20 rows");
    let (_, second) = out.rsplit_once("---\n").unwrap();
    assert!(second.starts_with(row));
}

#[test]
fn error_replies_are_reported_and_end_in_a_diagnosis_when_there_is_nothing_else() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.command();
        peer.say("-NOAUTH Authentication required.\r\n");
        while peer.command().is_some() {
            peer.say("-NOAUTH Authentication required.\r\n");
        }
    })]);
    let plan =
        OneshotPlan { options: every(2000), ..OneshotPlan::new(server.target(), OneshotMode::Latency) };
    let outcome = run_to_its_end(&plan);
    server.join();
    let diagnosis = outcome.result.unwrap_err().to_string();
    assert!(diagnosis.starts_with("no PONG from 127.0.0.1:"), "{diagnosis}");
    assert!(diagnosis.contains("NOAUTH Authentication required.; instead: "), "{diagnosis}");
    // No sample, and beside that at most the waits of PINGs that are under way at the end.
    assert!(outcome.out.starts_with("- "), "{}", outcome.out);
    assert!(outcome.err.contains("answers with NOAUTH since "), "{}", outcome.err);
    assert!(outcome.err.contains("-a or in REDISCLI_AUTH"), "{}", outcome.err);
}

#[test]
fn an_outage_is_reported_and_its_pings_are_no_samples() {
    let server = Scripted::start(vec![Box::new(|peer| {
        peer.greet();
        peer.swallow_pings(5);
        peer.say(&"+PONG\r\n".repeat(5));
    })]);
    let plan = OneshotPlan {
        options: every(500),
        format: FigureFormat::Json,
        ..OneshotPlan::new(server.target(), OneshotMode::Latency)
    };
    let outcome = run_to_its_end(&plan);
    server.join();
    outcome.result.unwrap();
    assert!(outcome.out.contains(r#""count": 5}"#), "{}", outcome.out);
    assert!(outcome.err.contains("redyno: no connection to 127.0.0.1:"), "{}", outcome.err);
    assert!(outcome.err.contains("redyno: not counted as samples: "), "{}", outcome.err);
}

/// Answers so many PINGs, and none after them; it hangs up when the client does.
fn falls_silent_after(answered: usize) -> Scripted {
    Scripted::start(vec![Box::new(move |peer| {
        peer.greet();
        for _ in 0..answered {
            peer.swallow_pings(1);
            peer.say("+PONG\r\n");
        }
        while peer.command().is_some() {}
    })])
}

#[test]
fn a_line_that_ends_inside_a_stall_holds_the_waits_so_far_and_tells_them() {
    for (mode, format) in
        [(OneshotMode::Latency, FigureFormat::Csv), (OneshotMode::LatencyHistory, FigureFormat::Raw)]
    {
        let server = falls_silent_after(20);
        let plan = OneshotPlan {
            options: OneshotArgs { latency_percentiles: vec!["90".parse().unwrap()], ..every(500) },
            format,
            ..OneshotPlan::new(server.target(), mode)
        };
        let (stop, stopped) = channel();
        let mut out = Watched { text: String::new(), enough: |text: &str| text.lines().count() == 1, stop };
        let mut err = Vec::new();
        run_on(&plan, &stopped, &mut Streams { out: &mut out, err: &mut err, is_tty: false }).unwrap();
        server.join();
        let figures: Vec<f64> = out
            .text
            .lines()
            .next()
            .unwrap()
            .split([',', ' '])
            .map(|figure| figure.parse().unwrap())
            .collect();
        let [_, max, avg, count, p90] = figures[..] else { panic!("{figures:?}") };
        // One is due every 10 ms, so that the first has waited for as long as it took the others to come due.
        assert!(count > 21.0 && max >= (count - 21.0) * 10.0, "{figures:?}");
        assert!(avg < max && p90 <= max && p90 >= (count - 21.0) * 5.0, "{figures:?}");
        let err = String::from_utf8(err).unwrap();
        let shown = format!("redyno: {} pings are unanswered, the oldest for ", count - 20.0);
        assert!(err.starts_with(&shown), "{shown:?} is not in {err:?}");
    }
}

#[test]
fn a_line_on_a_terminal_shows_a_wait_while_it_grows() {
    let server = falls_silent_after(20);
    let plan = OneshotPlan::new(server.target(), OneshotMode::Latency);
    let enough = |text: &str| text.matches("max: >").count() == 3 || text.matches("max: ").count() == 30;
    let out = run_until(&plan, true, enough);
    server.join();
    let waits = out.split("max: >").skip(1).map(|rest| rest.split(',').next().unwrap());
    let waits: Vec<f64> = waits.map(|wait| wait.parse().unwrap()).collect();
    assert!(waits.len() >= 3 && waits.is_sorted(), "{waits:?}");
    assert!(out.ends_with(" of them unanswered)\n"), "{out:?}");
}

#[test]
fn a_row_of_the_distribution_holds_the_waits_so_far() {
    let server = falls_silent_after(20);
    let plan =
        OneshotPlan { options: every(500), ..OneshotPlan::new(server.target(), OneshotMode::LatencyDist) };
    let (stop, stopped) = channel();
    let row = |text: &str| text.lines().any(|line| line.starts_with("\x1b[38;5;0m"));
    let mut out = Watched { text: String::new(), enough: row, stop };
    let mut err = Vec::new();
    run_on(&plan, &stopped, &mut Streams { out: &mut out, err: &mut err, is_tty: false }).unwrap();
    server.join();
    let row = out.text.lines().find(|line| line.starts_with("\x1b[38;5;0m")).unwrap();
    // Some wait was longer than 10 ms, and is in one of the cells beyond.
    let beyond = row.split_once('A').unwrap().1;
    assert!(beyond.split("48;5;").skip(1).any(|cell| !cell.starts_with("0m")), "{row:?}");
    assert!(String::from_utf8(err).unwrap().contains(" pings are unanswered, the oldest for "));
}

#[test]
fn a_server_that_says_nothing_is_diagnosed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = target(listener.local_addr().unwrap());
    let plan = OneshotPlan { options: every(50), ..OneshotPlan::new(silent, OneshotMode::Latency) };
    let diagnosis = run_to_its_end(&plan).result.unwrap_err().to_string();
    assert!(diagnosis.contains("accepts connections but does not reply"), "{diagnosis}");
}

#[test]
fn intrinsic_latency_needs_no_server_and_can_be_stopped() {
    let plan = OneshotPlan::new(Target::default(), OneshotMode::IntrinsicLatency(Duration::from_secs(3600)));
    let out = run_until(&plan, false, |text| text.contains("Max latency so far: "));
    let (maxima, end) = out.split_once("\n\n").unwrap();
    for line in maxima.lines() {
        assert!(line.starts_with("Max latency so far: ") && line.ends_with(" microseconds."), "{line}");
    }
    let (runs, rest) = end.split_once(" total runs (avg latency: ").unwrap();
    let (average_us, _) = rest.split_once(" microseconds / ").unwrap();
    // Over the hour that was planned the average would be a thousandth of a second and more.
    assert!(runs.parse::<u64>().unwrap() > 0 && average_us.parse::<f64>().unwrap() > 0.0);
    assert!(end.contains(" nanoseconds per run).\nWorst run took "), "{end}");
}

#[test]
fn a_plan_that_makes_no_sense_does_nothing() {
    let plan = OneshotPlan {
        format: FigureFormat::Csv,
        ..OneshotPlan::new(Target::default(), OneshotMode::LatencyDist)
    };
    let outcome = run_to_its_end(&plan);
    assert!(outcome.result.unwrap_err().to_string().starts_with("--csv has no effect"));
    assert_eq!(outcome.out + &outcome.err, "");
}
