//! Parts of a page in troff's language.

use std::fmt::Write as _;

use clap_mangen::roff::{Roff, bold, roman};

/// A section of paragraphs.
pub(super) fn paragraphs<'a>(title: &str, texts: impl IntoIterator<Item = &'a str>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (n, text) in texts.into_iter().enumerate() {
        if n > 0 {
            section.control("PP", []);
        }
        section.text([roman(text)]);
    }
    section
}

/// A section of names with what is said of each.
pub(super) fn list<'a>(title: &str, items: impl IntoIterator<Item = (&'a str, &'a str)>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (name, text) in items {
        section.control("TP", []).text([bold(name)]).text([roman(text)]);
    }
    section
}

/// A section of lines that stay as they are, but for the space before all of them.
pub(super) fn lines<'a>(title: &str, lines: impl IntoIterator<Item = &'a str>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]).control("nf", []);
    for line in lines {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}

/// A section of a help's text: paragraphs, and as they stand lines that are indented.
pub(super) fn notes(title: &str, text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    let (mut is_first, mut is_verbatim) = (true, false);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let indented = line.starts_with("  ");
        if is_verbatim && !indented {
            section.control("fi", []).control("RE", []);
        }
        if !is_first && !indented {
            section.control("PP", []);
        }
        if indented && !is_verbatim {
            section.control("RS", ["4"]).control("nf", []);
        }
        section.text([roman(line.trim_start())]);
        (is_first, is_verbatim) = (false, indented);
    }
    if is_verbatim {
        section.control("fi", []).control("RE", []);
    }
    section
}

/// The text of a page, in ASCII: whatever else is there by its number, which no troff takes for something else.
pub(super) fn ascii(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for c in page.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            // A string takes all that is written.
            let _ = write!(text, "\\[u{:04X}]", u32::from(c));
        }
    }
    text
}
