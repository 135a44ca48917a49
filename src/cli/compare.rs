//! `redyno compare BASE NEW`: two recordings, or several of each, and what is more than noise between them.

use clap::Args;

use super::command::{Arguments, Invocation, Planned};
use crate::{
    compare::{Compared, Condition},
    print::compare::Comparison,
    runner::{Failure, Plan as _, Text, UsageError, add_to_job_summary, end_gate, read, refuse},
};

const AFTER: &str = "\
A recording with several settings under load is named with the number of the segment that is meant: tuning.jsonl#3. The levels are
those of the response time under a rate, of the service time in closed loop.

One run of each says nothing about how much runs differ by themselves: what differs may be drift. With several of each, best measured
in alternation, a difference is told from noise: of equal settings each figure is called different in 4 of 100.

Examples:
  redyno compare before.jsonl after.jsonl
  redyno compare tuning.jsonl#1 tuning.jsonl#4
  redyno compare base-*.jsonl --new new-*.jsonl --fail-if 'p99 > +10%' --fail-if 'errors > 0'

Exit codes: 0 compared, 1 they cannot be compared, 3 a condition of --fail-if is met, 4 one is that may be
noise, or its figure was not measured.";

/// The arguments of `redyno compare`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER, override_usage = "redyno compare [OPTIONS] BASE NEW\n       redyno compare [OPTIONS] BASE... --new NEW...")]
pub struct CompareArgs {
    /// The recording to compare with, and the one to look at; several to compare with where --new names the others
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The recordings to look at, repeats of one setting
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub new: Vec<String>,
    /// Compare what differs in workload, clients or kind of target all the same
    #[arg(long)]
    pub anyway: bool,
    /// Exit with 3 if this is so: 'p99 > +10%', 'ops < -5%', 'p99 > 2ms', 'errors > 0'; may be given several times
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<Condition>,
    /// One JSON object
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// A Markdown table, for a ticket
    #[arg(long)]
    pub markdown: bool,
}

impl Arguments for CompareArgs {
    fn plan(self: Box<Self>, _: Invocation) -> Planned {
        self.sides().map_err(UsageError::Line)?;
        Ok(Box::new(move || self.run()))
    }
}

impl CompareArgs {
    /// The recordings of both sides.
    ///
    /// # Errors
    /// When it is not clear which are which.
    fn sides(&self) -> Result<(&[String], &[String]), String> {
        match (&self.files[..], &self.new[..]) {
            ([base, new], []) => Ok((std::slice::from_ref(base), std::slice::from_ref(new))),
            (_, []) => Err(format!(
                "compare takes two recordings, and {} {} given; several of each are BASE... --new NEW...",
                self.files.len(),
                if self.files.len() == 1 { "is" } else { "are" }
            )),
            (base, new) => Ok((base, new)),
        }
    }

    /// Compares the recordings, and looks at the conditions.
    fn run(&self) -> Result<(), Failure> {
        let (base, new) = self.sides().map_err(UsageError::Line)?;
        let read_all = |names: &[String]| names.iter().map(|name| read(name)).collect::<Result<Vec<_>, _>>();
        let (base, new) = (read_all(base)?, read_all(new)?);
        let compared = Compared::of(&base, &new);
        if !self.anyway {
            refuse(&compared.misfits)?;
        }
        let crossed = self.fail_if.iter().filter_map(|condition| condition.of_runs(&base, &new));
        let crossed: Vec<_> = crossed.collect();
        let told = Comparison { base: &base, new: &new, compared: &compared, crossed: &crossed };
        let text = match (self.json, self.markdown) {
            (true, _) => told.json(),
            (_, true) => told.markdown(),
            _ => told.text(),
        };
        Box::new(Text(text)).run()?;
        add_to_job_summary(&told.markdown())?;
        end_gate(&crossed)
    }
}
