//! The main command: a session on the screen or without one, what it would send, and what it has written.

use std::path::Path;

use clap::ArgMatches;

use super::{
    UsageError, args::CommandLine, command::Planned, effect, load_args::LoadArgs, preview, recordings,
    session_args::SessionArgs, target_args::TargetArgs, tls_args::TlsArgs, verify,
};
use crate::{
    app::quoted,
    compat::redis_cli,
    diagnose,
    endpoint::{Address, DEFAULT_HOST, Target},
    load::{self, FirstWords, LatencyTo, Requests},
    print::printer::Form,
    protocol::Dialect,
    runner::{Gate, Outputs, ProgramWords, Screen, SessionPlan, SessionRun, Shows, Text, ends},
    session::{
        TimelineOptions,
        running::{Commission, Keys},
    },
    workload::{KeyNames, RunId},
};

/// The plan of a command line that names no other command.
///
/// # Errors
/// Names the first argument that is wrong, or has no effect.
pub(super) fn plan(mut line: CommandLine, given: &ArgMatches, has_terminal: bool) -> Planned {
    let suggested = line.choose()?;
    line.session.follow(&suggested);
    let oneshot = line.oneshot.plan(line.target.target()?, line.session.json).map_err(UsageError::of)?;
    if let Some(oneshot) = oneshot {
        effect::check_mode(given, &line, has_terminal)?;
        return Ok(Box::new(move || Ok(redis_cli::run(&oneshot, &ends()?, has_terminal)?)));
    }
    let is_headless = line.session.headless || !has_terminal;
    line.load.load |= line.experiment.is_given();
    if is_headless && !line.experiment.is_given() && !line.load.no_load {
        line.session.end_after_a_pass(&line.load)?;
    }
    let shows = shows(&line, is_headless)?;
    let gate = Gate::of(&line.session.fail_if, line.session.base.as_deref())?;
    let mut plan = session_plan(&line.target, &line.load, &line.session)?;
    plan.loads_own &= !line.experiment.is_given();
    plan.commission.is_attended = !is_headless;
    let knobs = plan.commission.knobs.clone();
    let course = line.experiment.course(knobs.clone(), line.session.duration, !is_headless)?;
    (plan.commission.knobs, plan.settings) = (course.knobs, course.settings);
    plan.check_clients()?;
    effect::check_mode(given, &line, has_terminal)?;
    if line.session.verify {
        return verify::plan(plan);
    }
    plan.check_dialect()?;
    if line.session.plan {
        return Ok(Box::new(Text(preview::text(&plan)?)));
    }
    if is_headless {
        effect::check_load(given, &line, &knobs)?;
    }
    Ok(Box::new(SessionRun {
        plan,
        shows,
        experiment: course.experiment,
        ends_with_experiment: course.ends_session,
        gate,
        has_ycsb: line.session.ycsb_summary,
    }))
}

/// Where the session is shown.
fn shows(line: &CommandLine, is_headless: bool) -> Result<Shows, UsageError> {
    let mut timeline = TimelineOptions::default();
    timeline.ping_window = line.oneshot.interval.unwrap_or(timeline.ping_window);
    let look = &line.session.look;
    match (is_headless, line.session.json) {
        (true, true) => Ok(Shows::Lines(Form::Json)),
        (true, false) => Ok(Shows::Lines(Form::Lines)),
        (false, false) => Ok(Shows::Screen(Screen { theme: look.theme(), mouse: look.mouse(), timeline })),
        (false, true) => {
            Err(UsageError::of("--json is for --headless and the one-shot modes, not for the screen"))
        }
    }
}

/// A session of these arguments, without a screen and an experiment.
///
/// # Errors
/// Names the first argument that is wrong.
pub(super) fn session_plan(
    target_args: &TargetArgs,
    load: &LoadArgs,
    session: &SessionArgs,
) -> Result<SessionPlan, UsageError> {
    let target = target_args.target()?;
    let (run, threads, users) = (RunId::random(), load.worker_threads(), load.users_names());
    let has_password = target.credentials.is_some();
    let words = [target_words(&target), tls_words(&target_args.tls, target.tls.is_some())];
    let words = ProgramWords { target: words.concat(), load: load_words(load), has_password };
    let plan = load::Plan {
        target,
        first_words: FirstWords::Named,
        latency_to: LatencyTo::LastByte,
        threads,
        seed: load.seed(),
        names: users.clone().unwrap_or_else(|| KeyNames::of_run(run)),
        timeout: load.reply_timeout(),
        requests: session.requests.map(Requests::InAll),
        length: session.duration,
    };
    let keys = if users.is_some() { Keys::Users } else { Keys::Runs { kept: load.keep } };
    let commission = Commission {
        // A number of requests is a load, too.
        knobs: load.knobs(session.requests.is_some())?,
        warmup: session.warmup,
        redacts: session.redact,
        is_allowed: load.yes,
        keeps_going: load.keep_going,
        recordings_in: recordings::directory(),
        ..Commission::new(plan, run, keys, diagnose::danger)
    };
    Ok(SessionPlan {
        commission,
        is_named: target_args.is_given(),
        loads_own: !load.no_load,
        settings: Vec::new(),
        words,
        outputs: Outputs {
            record: session.record.clone(),
            rotate: session.record_rotate,
            exports: session.export.clone(),
            metrics: session.metrics.clone(),
        },
        name: None,
    })
}

fn target_words(target: &Target) -> Vec<String> {
    let mut words = match &target.address {
        address if target.dialect.needs_uri() => vec![format!("-u {}", quoted(&address.uri(target.dialect)))],
        Address::Tcp { host, port } if host == DEFAULT_HOST => vec![format!("-p {port}")],
        Address::Tcp { host, port } => vec![format!("-h {} -p {port}", quoted(host))],
        Address::Unix(path) => vec![format!("-s {}", file(path))],
    };
    let user = target.credentials.as_ref().and_then(|credentials| credentials.user.as_deref());
    words.extend(user.map(|user| format!("--user {}", quoted(user))));
    words.extend((target.db > 0).then(|| format!("--db {}", target.db)));
    words.extend((target.dialect == Dialect::Resp3).then(|| "-3".to_owned()));
    words
}

fn tls_words(tls: &TlsArgs, is_spoken: bool) -> Vec<String> {
    let flags = [(is_spoken, "--tls"), (tls.insecure, "--insecure")];
    let files = [
        ("--cacert", &tls.cacert),
        ("--cacertdir", &tls.cacertdir),
        ("--cert", &tls.cert),
        ("--key", &tls.key),
    ];
    let flags = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag.to_owned());
    let files =
        files.into_iter().filter_map(|(option, path)| Some(format!("{option} {}", file(path.as_deref()?))));
    flags.chain(files).chain(tls.sni.iter().map(|name| format!("--sni {}", quoted(name)))).collect()
}

fn load_words(load: &LoadArgs) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(load.threads.map(|n| format!("--threads {n}")));
    words.extend(load.timeout.map(|length| format!("--timeout {}", length.as_secs_f64())));
    words.extend(load.seed.map(|seed| format!("--seed {seed}")));
    words.extend(load.key_prefix.as_ref().map(|names| format!("--key-prefix {}", quoted(names.prefix()))));
    let flags = [(load.own_names, "--own-names"), (load.keep, "--keep"), (load.keep_going, "--keep-going")];
    words.extend(flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag.to_owned()));
    words
}

fn file(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::app::Program;

    fn of(line: &str) -> Program {
        let line = CommandLine::try_parse_from(line.split_whitespace()).unwrap();
        session_plan(&line.target, &line.load, &line.session).unwrap().words.program(false)
    }

    #[test]
    fn what_holds_for_all_segments_is_told_and_a_password_is_not() {
        let told = of(
            "redyno -u redis://ann:hunter2@db:7000/3 --seed 7 -c 9 --key-prefix a: --timeout 0.5 --duration 3",
        );
        assert_eq!(
            told.words,
            "redyno -h db -p 7000 --user ann --db 3 --timeout 0.5 --seed 7 --key-prefix a:"
        );
        assert!(told.has_password);
        let told = of("redyno -u memcacheds://ann:hunter2@db --insecure -c 9");
        assert_eq!(told.words, "redyno -u memcached://db:11211 --user ann --tls --insecure");
        let told = of("redyno -s /run/r.sock -3 -a hunter2");
        assert_eq!(told.words, "redyno -s /run/r.sock -3");
    }

    #[test]
    fn every_command_line_is_one_that_the_program_takes() {
        let line = "redyno -h db --tls --insecure --sni name --threads 2 --keep --keep-going";
        let told = of(line);
        assert_eq!(
            told.words,
            "redyno -h db -p 6379 --tls --insecure --sni name --threads 2 --keep --keep-going"
        );
        assert_eq!(of(&told.words), told);
    }
}
