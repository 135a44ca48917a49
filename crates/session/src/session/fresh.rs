//! Creates files with the time in their names, such as `redyno-20260131-142530.svg`. Existing files are never
//! overwritten.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use time::OffsetDateTime;

/// The largest number of files with the same name and time.
const MOST: u32 = 99;
/// The longest file name in characters, without the time and the extension.
const LONGEST_NAME: usize = 80;

/// Creates a file in `folder`. The file name consists of `name`, the present time in UTC and the extension. If the file
/// exists, a number is added to the name.
///
/// # Errors
/// Fails if the file cannot be created. The error names the file.
pub fn fresh_file(
    folder: &Path,
    name: &str,
    extension: &str,
) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
    let stem = stem(name, OffsetDateTime::now_utc());
    let mut number = 1;
    loop {
        let name = if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
        let path = folder.join(format!("{name}.{extension}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST => number += 1,
            Err(error) => return Err((path, error)),
        }
    }
}

/// Converts `text` to a part of a file name. All characters except letters, digits, `.` and `-` become `_`.
pub fn file_name(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let name: String = text.chars().map(|c| if plain(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    // A name with a leading dot would be hidden.
    name.trim_start_matches('.').to_owned()
}

/// Returns the present date in UTC, such as `2026-01-31`.
pub fn today() -> String {
    OffsetDateTime::now_utc().date().to_string()
}

fn stem(name: &str, at: OffsetDateTime) -> String {
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second) = at.to_hms();
    format!("{name}-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_name_contains_the_second() {
        assert_eq!(stem("redyno", OffsetDateTime::UNIX_EPOCH), "redyno-19700101-000000");
        assert_eq!(file_name("[::1]:6379"), "___1__6379");
        assert_eq!(file_name("../a b"), "_a_b");
    }

    #[test]
    fn files_of_the_same_second_get_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let paths: BTreeSet<_> =
            (0..5).map(|_| fresh_file(folder.path(), "redyno", "svg").unwrap().0).collect();
        assert_eq!(paths.len(), 5);
        assert!(paths.iter().all(|path| path.extension().is_some_and(|extension| extension == "svg")));
    }

    #[test]
    fn a_missing_folder_is_reported_with_the_file() {
        let (path, error) = fresh_file(Path::new("/nowhere"), "redyno", "svg").unwrap_err();
        assert!(path.starts_with("/nowhere/") && error.kind() == io::ErrorKind::NotFound);
    }
}
