//! `redyno compare BASE NEW`: compares two recordings, or two groups of recordings, and shows differences beyond noise.

use clap::Args;

use super::command::{Arguments, Invocation, PlanResult};
use crate::{
    compare::{Condition, RunComparison},
    print::compare::PrintedComparison,
    runner::{Failure, UsageError, add_to_job_summary, end_gate, read, refuse, text_plan},
};

const AFTER: &str = "\
A recording consists of segments: each change of a load setting (knob) starts a new segment. To compare a segment, \
add its number to the file name: tuning.jsonl#3. If the load had a rate, redyno compares percentiles of the response \
time. In a closed loop, redyno compares percentiles of the service time.

Because of noise, two runs with equal settings have different figures. With only one recording for each side, redyno \
cannot measure the noise. For a better verdict, run the two settings in turn, and give several recordings for each \
side. If the settings are equal, 4 in 100 figures then still count as different, by chance.

Examples:
  redyno compare before.jsonl after.jsonl
  redyno compare tuning.jsonl#1 tuning.jsonl#4
  redyno compare base-*.jsonl --new new-*.jsonl --fail-if 'p99 > +10%' --fail-if 'errors > 0'

Exit codes: 0 compared; 1 not comparable; 3 a condition of --fail-if is met; 4 a condition is met, but noise may be \
the reason, or a figure was not measured.";

/// The arguments of `redyno compare`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER, override_usage = "redyno compare [OPTIONS] BASE NEW\n       redyno compare [OPTIONS] BASE... --new NEW...")]
pub struct CompareArgs {
    /// The baseline recording, then the new recording. With --new, give only baseline recordings here
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The new recordings: one or more runs with the same settings
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub new: Vec<String>,
    /// Compare even if the recordings differ in workload, number of clients or kind of target
    #[arg(long)]
    pub anyway: bool,
    /// Exit with code 3 if this condition is true, such as 'p99 > +10%', 'ops < -5%', 'p99 > 2ms' or 'errors > 0'; can
    /// be given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
    /// Print one JSON object
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print a Markdown table, for a ticket
    #[arg(long)]
    pub markdown: bool,
}

impl Arguments for CompareArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        self.sides().map_err(UsageError::Line)?;
        Ok(Box::new(move || self.run()))
    }
}

impl CompareArgs {
    /// Returns the recordings of both sides: the baseline and the new ones.
    ///
    /// # Errors
    /// Fails if it is unclear which recordings belong to which side.
    fn sides(&self) -> Result<(&[String], &[String]), String> {
        match (&self.files[..], &self.new[..]) {
            ([base, new], []) => Ok((std::slice::from_ref(base), std::slice::from_ref(new))),
            (_, []) => Err(format!(
                "compare takes two recordings, but {} {} given; for several of each, write BASE... --new NEW...",
                self.files.len(),
                if self.files.len() == 1 { "is" } else { "are" }
            )),
            (base, new) => Ok((base, new)),
        }
    }

    /// Compares the recordings, and checks the conditions.
    fn run(&self) -> Result<(), Failure> {
        let (base, new) = self.sides().map_err(UsageError::Line)?;
        let read_all = |names: &[String]| names.iter().map(|name| read(name)).collect::<Result<Vec<_>, _>>();
        let (base, new) = (read_all(base)?, read_all(new)?);
        let compared = RunComparison::of(&base, &new);
        if !self.anyway {
            refuse(&compared.mismatches, "give --anyway to compare them")?;
        }
        let crossed = self.fail_if.iter().filter_map(|condition| condition.of_runs(&base, &new));
        let crossed: Vec<_> = crossed.collect();
        let comparison = PrintedComparison { base: &base, new: &new, compared: &compared, crossed: &crossed };
        let text = match (self.json, self.markdown) {
            (true, _) => comparison.json(),
            (_, true) => comparison.markdown(),
            _ => comparison.text(),
        };
        text_plan(text).run()?;
        add_to_job_summary(&comparison.markdown())?;
        end_gate(&crossed)
    }
}
