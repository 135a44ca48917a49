//! What commands become: a plan, with everything resolved that can be before a server is asked.

use std::{io::Write as _, path::PathBuf, time::Duration};

use anyhow::Context as _;

use super::{Failure, UsageError, metrics::Address};
use crate::{
    app::Program,
    experiment::Setting,
    export::{Format, Rows},
    knobs::Knobs,
    print::words::StreamText,
    session::{
        Writer,
        running::{Commission, check_clients},
    },
};

/// A command that may be carried out: all that can be refused beforehand was not.
pub trait Plan {
    /// Carries it out.
    ///
    /// # Errors
    /// When it fails, when what was found is not what was asked for, or when a signal ends it.
    fn run(self: Box<Self>) -> Result<(), Failure>;
}

impl<F: FnOnce() -> Result<(), Failure>> Plan for F {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        self()
    }
}

/// A text that is printed.
pub struct Text(pub String);

impl Plan for Text {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        Ok(StreamText::stdout().write_all(self.0.as_bytes()).context("cannot write to stdout")?)
    }
}

/// A session of a plan.
pub struct SessionPlan {
    /// What it is asked to do. Its outputs are opened when it begins, and what a server of our own changes is settled then.
    pub commission: Commission,
    /// Whether its target was named; where it was not and nothing listens there, a server of our own is started.
    pub is_named: bool,
    /// Whether a server of our own is started whatever listens there.
    pub wants_own: bool,
    /// Whether such a server is put under load though no option asks for it.
    pub loads_own: bool,
    /// What an experiment will put in force, as far as that is known.
    pub settings: Vec<Setting>,
    /// The command lines of its segments.
    pub words: ProgramWords,
    /// What it is written to.
    pub outputs: Outputs,
    /// What its nodes are called, where it has several.
    pub names: Vec<String>,
}

impl SessionPlan {
    /// Whether the system lets this process hold as many clients as it wants.
    ///
    /// # Errors
    /// Says how many it lets it.
    pub fn check_clients(&self) -> Result<(), UsageError> {
        self.knobs()
            .try_for_each(|knobs| check_clients(knobs, self.commission.most_clients))
            .map_err(UsageError::Line)
    }

    /// Whether the dialects of its nodes have what they are asked.
    ///
    /// # Errors
    /// Names what it has not.
    pub fn check_dialect(&self) -> Result<(), UsageError> {
        let names = &self.commission.plan.names;
        for (node, target) in self.commission.targets().enumerate() {
            let spoken =
                self.knobs().try_for_each(|knobs| knobs.workload.check_dialect(target.dialect, names));
            spoken.map_err(|error| match self.names.get(node) {
                Some(name) => UsageError::of(format!("{name}: {error}")),
                None => UsageError::of(error),
            })?;
        }
        Ok(())
    }

    /// All knobs that will be in force, as far as that is known.
    fn knobs(&self) -> impl Iterator<Item = &Knobs> {
        self.settings.iter().map(|setting| &setting.knobs).chain([&self.commission.knobs])
    }
}

/// What the command lines of a session's segments begin with: options that hold whatever the knobs are. No password is among
/// them.
#[derive(Debug, Clone, Default)]
pub struct ProgramWords {
    /// Those of the target.
    pub target: Vec<String>,
    /// Those of the load.
    pub load: Vec<String>,
    /// Whether the target wants a password.
    pub has_password: bool,
}

impl ProgramWords {
    /// The program; our own server is none that could be named.
    pub fn program(&self, is_own: bool) -> Program {
        let target = if is_own { &[][..] } else { &self.target };
        let words = ["redyno".to_owned()].iter().chain(target).chain(&self.load).cloned().collect::<Vec<_>>();
        Program { words: words.join(" "), has_password: self.has_password && !is_own }
    }
}

/// What a session is written to and served at.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    /// Its recording, if there is to be one; without a name it gets one.
    pub record: Option<Option<PathBuf>>,
    /// After what time a recording goes on in a new file.
    pub rotate: Option<Duration>,
    /// Its exports.
    pub exports: Vec<Export>,
    /// Where its figures are served.
    pub metrics: Option<Address>,
}

/// A format and the file that it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// In which form.
    pub format: Format,
    /// Where to.
    pub file: PathBuf,
}

impl std::str::FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = text
            .split_once(':')
            .filter(|(_, file)| !file.is_empty())
            .ok_or("it must be a format and a file, such as csv:session.csv")?;
        Ok(Self {
            format: format.parse().map_err(|error: crate::export::NoFormat| error.to_string())?,
            file: file.into(),
        })
    }
}

impl Export {
    /// The new file.
    pub(super) fn create(&self) -> Result<Writer, anyhow::Error> {
        Ok(Writer::create_as(&self.file, self.format.sink(Rows::default(), None))?)
    }
}
