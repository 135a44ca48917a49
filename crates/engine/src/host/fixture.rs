//! An artificial `/proc` and `/sys` for tests of the figures of this machine.

use std::{fs, path::Path};

use tempfile::TempDir;

use super::{HostSample, sample_builder::SampleBuilder, tree::Tree};
use crate::gauge::Gauges;

/// A temporary directory with files. Dropping the value removes the directory.
pub(super) struct Fixture(TempDir);

impl Fixture {
    /// Creates a directory with these files.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self(tempfile::tempdir().unwrap());
        fixture.write(files);
        fixture
    }

    /// Adds or overwrites these files.
    pub(super) fn write(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Removes a file or a directory.
    pub(super) fn remove(&self, name: &str) {
        let path = self.0.path().join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn tree(&self) -> Tree {
        Tree::below(self.root())
    }

    /// Reads one part of a sample twice, 1 s apart. Between the two readings, the files in `later` are
    /// written. Returns the second sample.
    pub(super) fn second(
        &self,
        later: &[(&str, &str)],
        mut part: impl FnMut(&mut SampleBuilder, &Tree),
    ) -> HostSample {
        let mut counters = Gauges::default();
        part(&mut SampleBuilder::new(None, &mut counters), &self.tree());
        self.write(later);
        let mut draft = SampleBuilder::new(Some(1.0), &mut counters);
        part(&mut draft, &self.tree());
        draft.sample
    }
}
