//! Checks the conditions of `--fail-if` after a measurement. The user and the CI system get a report of the conditions
//! that are met.

use std::{env, fs::OpenOptions, io::Write, path::Path};

use anyhow::Context as _;

use super::{Failure, Listener, UsageError, listener::record, machine::Machine};
use crate::{
    compare::{Condition, LatencyBound, MetCondition, Run, mismatches, planned_mismatches},
    knobs::Knobs,
    print::words::StreamText,
    session::{Delivery, Order, Reader, Timeline, figures::Row, timeline::SegmentTotal},
    untrusted,
};

/// The advice if a run cannot be compared with the base.
const OTHER_BASE: &str = "as --base, give a recording with the same settings";

/// The conditions to check when a session is over.
pub struct Gate {
    conditions: Vec<Condition>,
    /// The recording that is the base of relative changes.
    base: Option<Run>,
    timeline: Timeline,
    /// The wake delays of this machine during the session.
    pub(super) machine: Machine,
}

impl Gate {
    /// Returns the listener for these conditions. Returns `None` without conditions.
    ///
    /// # Errors
    /// Fails if a condition is about a relative change and there is no recording to compare with, or if the recording
    /// cannot be read.
    pub fn of(conditions: &[Condition], base: Option<&str>) -> Result<Option<Self>, Failure> {
        match conditions.iter().find(|condition| condition.is_relative() && base.is_none()) {
            Some(condition) => Err(UsageError::Line(format!(
                "--fail-if '{condition}' is a condition on the change from another run: give the recording of that run as --base FILE"
            ))
            .into()),
            None if conditions.is_empty() => Ok(None),
            None => Ok(Some(Self {
                conditions: conditions.to_vec(),
                base: base.map(read).transpose()?,
                timeline: Timeline::with_all_segments(),
                machine: Machine::default(),
            })),
        }
    }

    /// Refuses a run with `knobs` that cannot be compared with the base.
    ///
    /// # Errors
    /// Fails if the load settings of the run and of the base differ. The error names the settings.
    pub fn check_base(&self, knobs: &Knobs) -> Result<(), Failure> {
        let misfits = self.base.iter().flat_map(|base| planned_mismatches(base, knobs)).collect::<Vec<_>>();
        refuse(&misfits, OTHER_BASE)
    }

    /// Returns the latency limits among the conditions.
    pub(super) fn bounds(&self) -> Vec<LatencyBound> {
        self.conditions.iter().filter_map(Condition::latency_bound).collect()
    }

    fn crossed(&self, check: impl Fn(&Condition) -> Option<MetCondition>) -> Vec<MetCondition> {
        let checked = self.conditions.iter().filter_map(|condition| Some((condition, check(condition)?)));
        checked.map(|(condition, crossed)| self.doubt(condition, crossed)).collect()
    }

    /// Returns `crossed`, a condition that is met. If this machine or redyno itself may be the reason, the condition is
    /// marked as undecided.
    fn doubt(&self, condition: &Condition, crossed: MetCondition) -> MetCondition {
        let by_machine = condition.latency_bound().and_then(|bound| self.machine.explains(&bound));
        let why = by_machine.or_else(|| self.machine.client_limit().filter(|_| condition.is_of_speed()));
        match why {
            Some(why) => crossed.doubted(&why),
            None => crossed,
        }
    }
}

impl Listener for Gate {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(record) = record(delivery) {
            self.machine.push(record);
        }
        self.timeline.take(delivery)
    }

    /// Checks the conditions. Fails if a condition is met, or if the session cannot be compared with the
    /// base.
    fn verdict(&mut self) -> Result<(), Failure> {
        let crossed: Vec<_> = match &self.base {
            None => {
                let summary = self.timeline.summary();
                let measured = self.timeline.segments.measured();
                let mut settings = measured.iter().map(|segment| &segment.start.knobs);
                let knobs = settings.next().filter(|first| settings.all(|knobs| knobs == *first));
                let server_cpu = SegmentTotal::mean_cpu(&measured);
                let row = Row::of_summary(&summary);
                let row = Row { pings: Some(&self.machine.pings), server_cpu, knobs, ..row };
                let is_open = summary.response.is_some();
                self.crossed(|condition| condition.of_row(&row, is_open))
            }
            Some(base) => {
                let new = Run::of("this run", &self.timeline, None);
                let new = new.map_err(|error| anyhow::anyhow!("--base: {error}"))?;
                let (base, new) = (std::slice::from_ref(base), [new]);
                refuse(&mismatches(base, &new), OTHER_BASE)?;
                self.crossed(|condition| condition.of_runs(base, &new))
            }
        };
        end(&crossed)
    }
}

/// Reports the conditions that are met.
///
/// # Errors
/// Fails if a condition is met.
pub fn end(crossed: &[MetCondition]) -> Result<(), Failure> {
    if is_github() {
        for crossed in crossed {
            // The runner reads annotations from stderr too, and stdout may be JSON. If this output cannot be
            // written, the exit code still shows the failure.
            let _ = writeln!(
                StreamText::stderr(),
                "::error title=redyno::{}",
                untrusted::text(&crossed.to_string())
            );
        }
    }
    let listed =
        |crossed: &[&MetCondition]| crossed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let (unsure, sure): (Vec<_>, Vec<_>) = crossed.iter().partition(|crossed| !crossed.is_sure);
    match (&sure[..], &unsure[..]) {
        ([], []) => Ok(()),
        ([], unsure) => Err(Failure::Undecided(listed(unsure))),
        (sure, _) => Err(Failure::Crossed(listed(sure))),
    }
}

/// Returns whether the program runs as a step of GitHub Actions.
fn is_github() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Adds `markdown` to the job summary of GitHub Actions, if the program runs in a job.
///
/// # Errors
/// Fails if the file of the summary cannot be written.
pub fn add_to_job_summary(markdown: &str) -> Result<(), Failure> {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| is_github() && !path.is_empty()) else {
        return Ok(());
    };
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(markdown.as_bytes()));
    Ok(written.context("cannot write the job's summary")?)
}

/// Refuses recordings that cannot be compared. `advice` is a text about a better way.
///
/// # Errors
/// Fails if the recordings cannot be compared. The error contains the reasons.
pub fn refuse(mismatches: &[String], advice: &str) -> Result<(), Failure> {
    if mismatches.is_empty() {
        return Ok(());
    }
    let reasons = mismatches.join("; ");
    Err(anyhow::anyhow!("these runs cannot be compared: {reasons}; {advice}").into())
}

/// Returns the run in a recording. `FILE#N` is segment N of FILE, unless there is a file with that name.
///
/// # Errors
/// Fails if the recording cannot be read, or if its load settings changed and `name` contains no segment.
pub fn read(name: &str) -> Result<Run, Failure> {
    let (file, segment) = named(name);
    let mut reader = Reader::open(Path::new(file)).map_err(anyhow::Error::from)?;
    let mut timeline = Timeline::with_all_segments();
    while let Some(record) = reader.next_record().map_err(anyhow::Error::from)? {
        if record.is_of(0) {
            timeline.push(&record);
        }
    }
    Ok(Run::of(file, &timeline, segment).map_err(anyhow::Error::msg)?)
}

/// Returns the name of the file. If `name` ends with a segment, as in `run.jsonl#3`, also returns its number.
pub fn named(name: &str) -> (&str, Option<u32>) {
    let numbered = || {
        let (file, number) = name.rsplit_once('#')?;
        Some((file, number.parse::<u32>().ok()?))
    };
    match numbered() {
        Some((file, number)) if !Path::new(name).exists() => (file, Some(number)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        gauge::Gauge,
        server::Status,
        session::{Interval, Moment, Record, Segment, ServerIdentity, SessionStart},
    };

    /// Returns the verdict about a session with segments that have these numbers of clients. In each segment, the
    /// server uses a mean of 0.7 cores.
    fn verdict(condition: &str, clients: &[u32]) -> Result<(), Failure> {
        let mut gate = Gate::of(&[condition.parse().unwrap()], None).unwrap().unwrap();
        let poll = |t_s, cpu| {
            let status = Status { gauges: [(Gauge::Cpu, cpu)].into(), ..Status::default() };
            Record::Server(Box::new(Moment::new(t_s, status)))
        };
        let mut records = vec![Record::Segment(Segment::new(0.0, 0, Knobs::default())), poll(0.5, 5.0)];
        for (n, clients) in (1..).zip(clients) {
            let (t_s, knobs) =
                (f64::from(n) * 10.0, Knobs { load: true, clients: *clients, ..Knobs::default() });
            records.push(Record::Segment(Segment::new(t_s, n, knobs)));
            let interval =
                Interval { t_s: t_s + 9.0, length_s: 9.0, segment: n, ops: 9, ..Interval::default() };
            records.push(Record::Interval(Box::new(interval)));
            records.extend([poll(t_s + 1.0, 3.0), poll(t_s + 2.0, 0.4), poll(t_s + 5.0, 0.8)]);
        }
        for record in records {
            gate.take(&Delivery::Record(Arc::new(record)));
        }
        gate.verdict()
    }

    #[test]
    fn a_base_with_other_settings_is_refused_before_the_run() {
        let mut timeline = Timeline::default();
        let load = |rate| Knobs { load: true, rate, ..Knobs::default() };
        timeline.push(&Record::Session(SessionStart::now(ServerIdentity::default())));
        timeline.push(&Record::Segment(Segment::new(0.0, 1, load(Some(500)))));
        let interval = Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: 9, ..Interval::default() };
        timeline.push(&Record::Interval(Box::new(interval)));
        let base = Some(Run::of("base", &timeline, None).unwrap());
        let gate = Gate { conditions: Vec::new(), base, timeline, machine: Machine::default() };
        assert!(gate.check_base(&load(Some(500))).is_ok());
        let refused = |knobs: Knobs| gate.check_base(&knobs).unwrap_err().to_string();
        assert!(refused(load(Some(900))).contains("rate: 500/s and 900/s; as --base, give a recording"));
        assert!(refused(Knobs::default()).contains("this run has no load"));
    }

    #[test]
    fn the_cpu_of_the_server_and_a_single_setting_are_judged() {
        assert!(verdict("server_cpu > 0.75", &[5, 6]).is_ok());
        for condition in ["server_cpu > 0.65", "clients > 4", "in_flight > 4"] {
            assert!(matches!(verdict(condition, &[5]), Err(Failure::Crossed(_))), "{condition}");
        }
        assert!(matches!(verdict("clients > 4", &[5, 6]), Err(Failure::Undecided(_))));
    }
}
