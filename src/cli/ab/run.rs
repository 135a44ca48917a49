//! Runs an A/B: a session whose only peer hands it to the experiment.

use std::io;

use anyhow::Context as _;

use super::{AbArgs, lines::Lines};
use crate::{
    cli::{Failure, UsageError, headless::Form, outlet::Outlet, session, words::plain},
    experiment::{Ab, Experiment},
    load::most_clients,
    print::Said,
    session::{
        Delivery, Notice, Order, Record,
        running::{Commission, Peer, check_clients},
    },
};

/// Reads every argument that can be wrong.
///
/// # Errors
/// Names the first one.
pub fn check(args: &AbArgs) -> Result<(), Failure> {
    args.target.target()?;
    let most = most_clients(args.load.worker_threads(), 1);
    for setting in args.settings()? {
        check_clients(&setting.knobs, most).map_err(UsageError::Line)?;
    }
    Ok(())
}

/// Runs one with arguments that have passed [`check`].
///
/// # Errors
/// When the session cannot be, when B is worse, and when it is not clear.
pub fn run(args: &AbArgs) -> Result<(), Failure> {
    let [a, b] = args.settings()?;
    let form = if args.json { Form::Json } else { Form::Lines };
    let mut ab = Ab::new(a.clone(), b.clone(), args.plan());
    let settle = |commission: &mut Commission| {
        session::check_settings(&[a.clone(), b.clone()], commission)?;
        commission.knobs = a.knobs.clone();
        Ok(())
    };
    let held = session::Held::begin(&args.line(), false, settle)?;
    let told = in_lines(&held.peer, &mut ab, form);
    held.end(told)?;
    session::outcome(ab.ending())
}

/// Lines or JSON until the session is over, which ends with the experiment.
fn in_lines(peer: &Peer, ab: &mut Ab, form: Form) -> Result<(), Failure> {
    let (out, mut lines, mut said) = (Outlet::stdout(), Lines::new(form), Said::default());
    let tell = |text: String| match text.is_empty() {
        true => Ok(()),
        false => out.offer(plain(text.into_bytes()), |_| Vec::new()),
    };
    let mut written = Ok(());
    for delivery in peer.rest() {
        if let Delivery::Record(record) = &delivery
            && let Record::Session(session) = &**record
        {
            written = tell(lines.head(session, ab));
        }
        let was_over = ab.is_over();
        ab.take(&delivery).into_iter().for_each(|order| peer.order(order));
        for line in lines.new_pairs(ab) {
            written = written.and_then(|()| tell(line));
        }
        if !was_over && (ab.is_over() || written.is_err()) {
            peer.order(Order::End);
        }
        match delivery {
            // What ends the experiment is told at its end.
            Delivery::Notice(Notice::LoadStaysOff(_)) => {}
            Delivery::Notice(notice) => said.tell(&notice),
            Delivery::Record(_) | Delivery::Refused(..) | Delivery::Stretch(_) => {}
        }
    }
    out.make_room_for_last();
    match written.and_then(|()| tell(lines.verdict(ab))) {
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written.context("cannot write to stdout")?),
    }
}
