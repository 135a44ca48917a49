//! Reads files of `/proc` and `/sys`, and the numbers in them. Tests use another root directory.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The initial capacity of the buffer for a file. Most files are shorter than this buffer, so a single call reads a
/// whole file.
const USUAL: usize = 4096;

/// The directory with `proc` and `sys`: `/`, or the place where a container sees the files of its host.
#[derive(Debug, Clone)]
pub(super) struct Tree(PathBuf);

impl Tree {
    /// Returns the tree below `root`.
    pub(super) fn below(root: &Path) -> Self {
        Self(root.to_owned())
    }

    /// Returns the full path of a file in the tree, such as `proc/stat`.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read. The error is the cause, in words.
    pub(super) fn read(&self, path: &str) -> Result<String, String> {
        let mut bytes = Vec::with_capacity(USUAL);
        let read = File::open(self.path(path)).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map_err(|error| obstacle(path, &error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the names of the files in a directory.
    ///
    /// # Errors
    /// Fails if the directory cannot be read. The error is the cause, in words.
    pub(super) fn names(&self, path: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(self.path(path)).map_err(|error| obstacle(path, &error))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }

    /// Returns the names of files in a directory that are numbers, such as process IDs, in ascending order.
    ///
    /// # Errors
    /// Fails if the directory cannot be read. The error is the cause, in words.
    pub(super) fn numbers(&self, path: &str) -> Result<Vec<u32>, String> {
        let mut numbers: Vec<u32> = self.names(path)?.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Returns why a file cannot be read, in words.
fn obstacle(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("this system has no /{path}"),
        io::ErrorKind::PermissionDenied => format!("/{path} may not be read"),
        _ => format!("/{path} cannot be read: {error}"),
    }
}

/// Returns the number after a name at the beginning of a line: `MemAvailable:  123 kB`, `pswpin 7`.
pub(super) fn number(text: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines();
    let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix([':', ' ', '\t']))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};

    #[test]
    fn a_number_follows_its_whole_name() {
        let text = "SwapTotal:   8 kB\npswpin 7\nSwap: 1\n";
        assert_eq!(number(text, "SwapTotal"), Some(8.0));
        assert_eq!(number(text, "pswpin"), Some(7.0));
        assert_eq!(number(text, "Swap"), Some(1.0));
        assert_eq!(number(text, "pswp"), None);
    }

    #[test]
    fn for_a_missing_file_there_is_a_reason() {
        let fixture = Fixture::new(&[("proc/5/stat", "x"), ("proc/37/stat", ""), ("proc/stat", "")]);
        let tree = fixture.tree();
        assert_eq!(tree.read("proc/5/stat").as_deref(), Ok("x"));
        assert_eq!(tree.read("proc/loadavg"), Err("this system has no /proc/loadavg".to_owned()));
        assert_eq!(tree.numbers("proc"), Ok(vec![5, 37]));
        assert!(tree.read("proc/5").unwrap_err().starts_with("/proc/5 cannot be read: "));
    }
}
