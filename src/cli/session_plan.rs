//! Turns the command line's options for target, load and outputs into the plan of a session.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    load_args::LoadArgs, recordings, session_args::SessionArgs, target_args::TargetArgs, tls_args::TlsArgs,
};
use crate::{
    endpoint::{Address, DEFAULT_HOST, Target, quoted},
    load::{LoadPlan, RequestLimit},
    protocol::{Dialect, HttpSite},
    runner::{
        OtherServers, Outputs, ProgramWords, SessionPlan, UsageError,
        push::{self, PushPlan},
    },
    session::running::{Commission, KeyOwner},
    untrusted,
    workload::{KeyNames, RunId, Workload},
};

/// Returns the plan of a session with these arguments, without screen and experiment.
///
/// # Errors
/// Fails if an argument is invalid. The error names the first invalid argument.
pub(super) fn session_plan(
    target_args: &TargetArgs,
    load: &LoadArgs,
    session: &SessionArgs,
) -> Result<SessionPlan, UsageError> {
    let target = target_args.target()?;
    let by_http = target.dialect.site().map(|site| http_load(load, site)).transpose()?;
    let load = by_http.as_ref().unwrap_or(load);
    let (run, has_password) = (RunId::random(), target.credentials.is_some());
    // A number of requests implies a load.
    let knobs = load.knobs(session.requests.is_some())?;
    let (names, keys) = match (load.user_key_names(), by_http.is_some()) {
        (Some(names), _) => (names, KeyOwner::Users { asks_always: true, loaded: false }),
        (None, true) => {
            (http_key_names(&knobs.workload, run), KeyOwner::Users { asks_always: false, loaded: false })
        }
        (None, false) => (KeyNames::of_run(run), KeyOwner::Runs { kept: load.keep }),
    };
    let words = [target_words(&target), tls_words(&target_args.tls, target.tls.is_some())];
    let words = ProgramWords { target: words.concat(), load: load_words(load), has_password };
    let plan = LoadPlan {
        target,
        workers: load.worker_options(),
        threads: load.worker_threads(),
        seed: load.seed(),
        names,
        timeout: load.reply_timeout(),
        requests: session.requests.map(RequestLimit::Shared),
        length: session.duration,
        ..LoadPlan::default()
    };
    let commission = Commission {
        knobs,
        warmup: session.warmup,
        redacts: session.redact,
        keeps_arguments: session.with_arguments,
        is_allowed: load.yes,
        keeps_going: load.keep_going,
        max_connections: load.max_connections,
        probes_lag: session.probe_lag,
        read_from: load.read_from.unwrap_or_default(),
        recordings_in: recordings::directory(),
        host_root: host_root()?,
        ..Commission::new(plan, run, keys)
    };
    Ok(SessionPlan {
        commission,
        is_named: target_args.is_given(),
        wants_own: session.tour,
        loads_own: !load.no_load,
        fills_own: load.has_default_workload(),
        settings: Vec::new(),
        words,
        outputs: outputs(session)?,
        company: OtherServers::TargetOnly,
        is_page: false,
        fleet: None,
        names: Vec::new(),
    })
}

/// Returns the outputs of the session.
///
/// # Errors
/// Fails if two options name the same file, or if the options of `--push` are invalid.
fn outputs(session: &SessionArgs) -> Result<Outputs, UsageError> {
    let record = session.record.iter().flatten().map(|path| ("--record".to_owned(), path));
    let exports =
        session.export.iter().map(|export| (format!("--export {}", export.format.name), &export.file));
    let mut files: Vec<(String, &PathBuf)> = Vec::new();
    for (option, path) in record.chain(exports) {
        if let Some((other, _)) = files.iter().find(|(_, known)| *known == path) {
            return Err(UsageError::Line(format!(
                "{other} and {option} have the same file, {}; name another file for one of them",
                untrusted::path(path)
            )));
        }
        files.push((option, path));
    }
    Ok(Outputs {
        record: session.record.clone(),
        rotate: session.record_rotate,
        exports: session.export.clone(),
        metrics: session.metrics.clone(),
        push: push_plan(session)?,
        on_finding: session.on_finding.clone(),
    })
}

/// Returns the key names for an HTTP service. If the workload has a setup, the names contain the run's name, because
/// the setup makes objects with these names.
fn http_key_names(workload: &Workload, run: RunId) -> KeyNames {
    if workload.setup.is_empty() { KeyNames::given("") } else { KeyNames::of_run_by_http(run) }
}

/// Returns the load for an HTTP service. The default workload is a GET of the URI's path. The keys in commands are
/// plain numbers.
///
/// # Errors
/// Fails if an option of the load has no effect on an HTTP service.
fn http_load(load: &LoadArgs, site: &HttpSite) -> Result<LoadArgs, UsageError> {
    let has_shape = load.is_shaped.unwrap_or_else(|| load.describes_load());
    if load.keep || load.prefill || load.own_names || load.key_prefix.is_some() {
        let text = "--keep, --prefill, --own-names and --key-prefix are about keys, which an HTTP server does not have; \
                    leave them out";
        return Err(UsageError::of(text));
    }
    let mut load = LoadArgs { is_shaped: Some(has_shape), ..load.clone() };
    if load.has_default_workload() {
        let usual = Workload::of_commands(&["GET".to_owned(), site.path().to_owned()]);
        load.chosen = Some(Arc::new(usual.map_err(UsageError::of)?));
    }
    if let (Some(chosen), None) = (&load.chosen, &load.workload) {
        load.chosen = Some(chosen.with_plain_numbers());
    }
    Ok(load)
}

/// Returns the plan for `--push`, if the option is given.
fn push_plan(session: &SessionArgs) -> Result<Option<PushPlan>, UsageError> {
    if session.push.is_empty() {
        return Ok(None);
    }
    let of_file = session.push_headers.as_deref().map(push::headers_of).transpose();
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let refused = |error: String| UsageError::of(error);
    Ok(Some(PushPlan {
        to: session.push.clone(),
        every: session.push_every.unwrap_or(push::EVERY),
        headers: of_file.map_err(|error| refused(format!("--push-headers: {error}")))?.unwrap_or_default(),
        otlp_headers: push::otlp_headers(&variable("OTEL_EXPORTER_OTLP_HEADERS")).map_err(refused)?,
        attributes: push::attributes(&variable("OTEL_RESOURCE_ATTRIBUTES")).map_err(refused)?,
    }))
}

/// The environment variable with the folder that contains the host's `proc` and `sys`, for use in a container.
const HOST_ROOT: &str = "REDYNO_HOST_ROOT";

/// Returns the folder that contains `proc` and `sys`.
fn host_root() -> Result<PathBuf, UsageError> {
    let Some(root) = env::var_os(HOST_ROOT).filter(|root| !root.is_empty()).map(PathBuf::from) else {
        return Ok("/".into());
    };
    if root.join("proc").is_dir() {
        return Ok(root);
    }
    let shown = untrusted::path(&root);
    Err(UsageError::of(format!(
        "{HOST_ROOT} is '{shown}', which has no folder proc; mount the host's / there, or unset the variable"
    )))
}

fn target_words(target: &Target) -> Vec<String> {
    let mut words = match &target.address {
        address if target.dialect.needs_uri() => vec![format!("-u {}", quoted(&address.uri(target.dialect)))],
        Address::Tcp { host, port } if host == DEFAULT_HOST => vec![format!("-p {port}")],
        Address::Tcp { host, port } => vec![format!("-h {} -p {port}", quoted(host))],
        Address::Unix(path) => vec![format!("-s {}", file(path))],
        service @ Address::Service(_) => vec![service.options_in(target.db)],
    };
    let is_in_uri = matches!(target.address, Address::Service(_));
    let user = target.credentials.as_ref().and_then(|credentials| credentials.user.as_deref());
    words.extend(user.map(|user| format!("--user {}", quoted(user))));
    words.extend((target.db > 0 && !is_in_uri).then(|| format!("--db {}", target.db)));
    words.extend((target.dialect == Dialect::Resp3).then(|| "-3".to_owned()));
    words
}

fn tls_words(tls: &TlsArgs, is_spoken: bool) -> Vec<String> {
    let word = |(option, value): (&str, Option<OsString>)| match value {
        Some(value) => format!("{option} {}", quoted(&value.to_string_lossy())),
        None => option.to_owned(),
    };
    is_spoken.then_some(("--tls", None)).into_iter().chain(tls.given()).map(word).collect()
}

fn load_words(load: &LoadArgs) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(load.threads.map(|n| format!("--threads {n}")));
    words.extend(load.io.map(|io| format!("--io {}", io.name())));
    words.extend(load.cpus.as_ref().map(|cores| format!("--cpus {cores}")));
    words.extend(load.busy.then(|| "--busy".to_owned()));
    words.extend(load.max_connections.map(|n| format!("--max-connections {n}")));
    words.extend(load.read_from.map(|from| format!("--read-from {}", from.name())));
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
    use crate::{app::CommandPrefix, cli::args::CommandLine};

    fn of(line: &str) -> CommandPrefix {
        let line = CommandLine::try_parse_from(line.split_whitespace()).unwrap();
        session_plan(&line.target, &line.load, &line.session).unwrap().words.program(false)
    }

    #[test]
    fn the_words_contain_the_options_of_all_segments_but_no_password() {
        let shared = of(
            "redyno -u redis://ann:hunter2@db:7000/3 --seed 7 -c 9 --key-prefix a: --timeout 0.5 --duration 3",
        );
        assert_eq!(
            shared.words,
            "redyno -h db -p 7000 --user ann --db 3 --timeout 0.5 --seed 7 --key-prefix a:"
        );
        assert!(shared.has_password);
        let shared = of("redyno -u memcacheds://ann:hunter2@db --insecure -c 9");
        assert_eq!(shared.words, "redyno -u memcached://db:11211 --user ann --tls --insecure");
        let shared = of("redyno -s /run/r.sock -3 -a hunter2");
        assert_eq!(shared.words, "redyno -s /run/r.sock -3");
    }

    #[test]
    fn the_program_accepts_the_words_that_it_writes() {
        let line = "redyno -h db --tls --insecure --sni name --threads 2 --keep --keep-going";
        let shared = of(line);
        assert_eq!(
            shared.words,
            "redyno -h db -p 6379 --tls --insecure --sni name --threads 2 --keep --keep-going"
        );
        assert_eq!(of(&shared.words), shared);
    }
}
