//! What goes between the screen and elsewhere: pictures into files, text to the clipboard, a file that was asked for.

use std::{fs, io::Write, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ratatui::layout::Rect;

use super::{screens, svg, theme::Theme};
use crate::{
    app::{Model, Picture},
    session::fresh_file,
    units, untrusted,
    workload::text_of,
};

/// The longest text for the clipboard in bytes: xterm and those like it take no more.
const MOST_COPIED: usize = 74_994;

/// The screen as a picture of that form.
pub fn picture(form: Picture, model: &Model, theme: Theme, area: Rect) -> String {
    let buffer = screens::picture(area, theme, model);
    match form {
        Picture::Svg => svg::render(&buffer, theme),
        Picture::Text => svg::text(&buffer),
    }
}

/// Saves a picture to a new file in `folder`; what to say about it.
///
/// # Errors
/// In words, when it cannot be written.
pub fn save(folder: &Path, form: Picture, picture: &str) -> Result<String, String> {
    let failed =
        |path: &Path, error| format!("the screen cannot be saved to {}: {error}", untrusted::path(path));
    let (path, mut file) =
        fresh_file(folder, "redyno", form.extension()).map_err(|(path, error)| failed(&path, error))?;
    file.write_all(picture.as_bytes()).map_err(|error| {
        // What is said is why it is not there; a part of a picture is none.
        let _ = fs::remove_file(&path);
        failed(&path, error)
    })?;
    Ok(format!("saved the screen to {}, {}", untrusted::path(&path), units::bytes(picture.len() as u64)))
}

/// What puts `text` on the terminal's clipboard: OSC 52, which needs no answer.
///
/// # Errors
/// In words, when it is longer than terminals take.
pub fn copying(what: &str, text: &str) -> Result<Vec<u8>, String> {
    if text.len() > MOST_COPIED {
        return Err(format!(
            "{what} is {} and a terminal's clipboard takes {}; q leaves it in the scrollback",
            units::bytes(text.len() as u64),
            units::bytes(MOST_COPIED as u64)
        ));
    }
    Ok(format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes())
}

/// The name of a file that a person typed, and its text.
///
/// # Errors
/// In words, when it cannot be read, or not without waiting.
pub fn read(path: &Path) -> (String, Result<String, String>) {
    let name = untrusted::path(Path::new(path.file_name().unwrap_or(path.as_os_str())));
    let text = match fs::metadata(path) {
        Ok(about) if about.is_file() => text_of(path).map_err(|error| error.cause),
        Ok(_) => Err("it is no file".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    (name, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_what_is_none_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.script");
        std::fs::write(&path, "at 5s end").unwrap();
        assert_eq!(read(&path), ("a.script".to_owned(), Ok("at 5s end".to_owned())));
        assert_eq!(read(folder.path()).1, Err("it is no file".to_owned()));
        let missing = read(&folder.path().join("b")).1.unwrap_err();
        assert!(missing.starts_with("No such file"), "{missing}");
    }

    #[test]
    fn a_picture_is_saved_beside_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..2 {
            let said = save(folder.path(), Picture::Text, &format!("picture {n}")).unwrap();
            assert!(said.starts_with("saved the screen to ") && said.ends_with(".txt, 9 B"), "{said}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let error = save(Path::new("/nowhere"), Picture::Svg, "x").unwrap_err();
        assert!(error.starts_with("the screen cannot be saved to /nowhere/redyno-"), "{error}");
    }

    #[test]
    fn a_text_is_copied_by_osc_52_unless_it_is_too_long() {
        assert_eq!(copying("it", "hi").unwrap(), b"\x1b]52;c;aGk=\x1b\\");
        assert!(copying("it", &"x".repeat(MOST_COPIED)).is_ok());
        assert!(copying("it", &"x".repeat(MOST_COPIED + 1)).unwrap_err().contains("clipboard takes"));
    }
}
