//! The main command: a session on the screen or without a screen, `--plan` and `--verify`.

use clap::ArgMatches;

use super::{
    args::CommandLine,
    command::{Invocation, PlanResult},
    config, effect, preview,
    session_plan::session_plan,
    verify,
};
use crate::{
    app::Tour,
    compat::redis_cli,
    experiment::Limit,
    print::printer::OutputForm,
    runner::{
        Abort, Failure, Gate, OtherServers, SessionPlan, SessionRun, Shows, UsageError, end_signals,
        text_plan,
    },
    session::TimelineOptions,
    tui,
};

/// Returns the plan of a command line without a subcommand.
///
/// # Errors
/// Fails if an argument is wrong or has no effect. The error names the first such argument.
pub(super) fn plan(mut line: CommandLine, matches: &ArgMatches, given: Invocation) -> PlanResult {
    let has_terminal = given.has_terminal;
    effect::check_mode(matches, &line, has_terminal)?;
    let suggested = line.choose()?;
    line.session.follow(&suggested);
    let mut servers = line.nodes.targets(&mut line.target, given)?;
    config::resolve(&mut line.target, given, !line.session.plan)?;
    line.fleet.share_tls(&mut line.target, &mut servers);
    // redis-cli checks the CA of a certificate, but not the name in it.
    line.target.tls.tls_ca_only |= line.oneshot.mode().is_some() && line.target.speaks_tls();
    let oneshot = line.oneshot.plan(line.target.target()?, line.session.json).map_err(UsageError::of)?;
    if let Some(oneshot) = oneshot {
        return Ok(Box::new(move || Ok(redis_cli::run(&oneshot, &end_signals()?, has_terminal)?)));
    }
    let defaults = config::defaults(given)?;
    line.load.follow_defaults(&defaults.load);
    line.session.look.follow(&defaults.look);
    let is_headless = line.session.headless || !has_terminal;
    line.load.load |= line.experiment.is_given();
    if is_headless && !line.experiment.is_given() && !line.load.no_load {
        line.session.end_after_a_pass(&line.load)?;
    }
    if line.session.tour && !has_terminal {
        return Err(
            UsageError::of("--tour needs a terminal, and stdout is not one; run it without a pipe").into()
        );
    }
    let shows = session_output(&line, is_headless)?;
    let gate = Gate::of(&line.session.fail_if, line.session.base.as_deref())?;
    let abort = Abort::of(&line.session.abort_if)?;
    let mut plan = session_plan(&line.target, &line.load, &line.session)?;
    plan.loads_own &= !line.experiment.is_given();
    plan.fills_own &= !line.experiment.is_given();
    line.nodes.settle(&servers, OtherServers::WithReplicas, &mut plan)?;
    line.fleet.settle(line.load.threads, &mut plan)?;
    plan.commission.is_attended = !is_headless;
    let knobs = plan.commission.knobs.clone();
    let course = line.experiment.experiment_effect(knobs.clone(), line.session.duration, !is_headless)?;
    (plan.commission.knobs, plan.settings) = (course.knobs, course.settings);
    check_base(gate.as_ref().filter(|_| course.experiment.is_none()), &plan)?;
    plan.check_clients()?;
    if line.session.verify {
        return verify::plan(plan);
    }
    plan.check_dialect()?;
    if line.session.plan {
        return Ok(text_plan(preview::text(&plan)?));
    }
    if is_headless {
        effect::check_load(matches, &line, &knobs)?;
    }
    Ok(Box::new(SessionRun {
        plan,
        shows,
        experiment: course.experiment,
        limit: line.experiment.find.as_ref().map(Limit::bound),
        ends_with_experiment: course.ends_session,
        gate,
        abort,
        has_ycsb: line.session.ycsb_summary,
        more: Vec::new(),
    }))
}

/// Refuses a session that cannot be compared with the base of `--fail-if`.
fn check_base(gate: Option<&Gate>, plan: &SessionPlan) -> Result<(), Failure> {
    let knobs = &plan.commission.knobs;
    // Without an address, the built-in server may get a load.
    gate.filter(|_| knobs.load || plan.is_named).map_or(Ok(()), |gate| gate.check_base(knobs))
}

/// Returns the output of the session: the screen or printed lines.
fn session_output(line: &CommandLine, is_headless: bool) -> Result<Shows, UsageError> {
    let mut timeline = TimelineOptions::default();
    timeline.ping_window = line.oneshot.interval.unwrap_or(timeline.ping_window);
    let look = &line.session.look;
    match (is_headless, line.session.json) {
        (true, true) => Ok(Shows::Lines(OutputForm::Json)),
        (true, false) => Ok(Shows::Lines(OutputForm::Lines)),
        (false, false) => Ok(Shows::Screen(Box::new(tui::ScreenSetup {
            timeline,
            tour: line.session.tour.then(Tour::that_plays),
            ..tui::ScreenSetup::new(look.theme(), look.mouse())
        }))),
        (false, true) => {
            Err(UsageError::of("--json needs --headless or one of redis-cli's modes; add --headless"))
        }
    }
}
