//! Converts one request of a workload, given as words, to an HTTP request.
//!
//! ```text
//! GET /items/{key}            GET /items/000000000017 HTTP/1.1\r\n Host … \r\n\r\n
//! PUT /items/{key} {value}    PUT /items/000000000017 HTTP/1.1\r\n Host … Content-Length: 32\r\n\r\n VALUE
//! ```

use super::HttpSite;
use crate::{
    protocol::{
        ArgumentPart, UnsupportedCommand,
        memcached::{Word, has_break, is_drawn, text},
        request_parts::{ArgumentHead, Derived, LayoutElement},
    },
    untrusted,
};

/// The accepted methods. The flag of a method is true if its requests always give the length of the body, even of an
/// empty body.
const METHODS: [(&str, bool); 7] = [
    ("GET", false),
    ("HEAD", false),
    ("OPTIONS", false),
    ("POST", true),
    ("PUT", true),
    ("PATCH", true),
    ("DELETE", false),
];

const FORM: &str = "METHOD /PATH [BODY]";

/// Returns the layout of a request.
///
/// # Errors
/// Fails if the words are not a valid request.
pub(in crate::protocol) fn lay_out(
    site: &HttpSite,
    words: &[Word],
) -> Result<Vec<LayoutElement>, UnsupportedCommand> {
    let (name, counts_body) = method(words)?;
    words.get(1).map_or(Ok(()), check_path)?;
    let (path, body) = match words {
        [_, path] => (path, None),
        _ if ["GET", "HEAD", "OPTIONS"].contains(&name) => {
            return Err(UnsupportedCommand(format!("for HTTP write {name} /PATH; {name} has no body")));
        }
        [_, path, body] => (path, Some(body)),
        _ => {
            return Err(UnsupportedCommand(format!(
                "for HTTP write {name} /PATH [BODY], with a body of one word in quotes"
            )));
        }
    };
    let mut laid = vec![LayoutElement::text(format!("{name} "))];
    match path.iter().any(is_drawn) {
        // The values in the path are known only when the request is filled, so the path is checked then.
        true => laid.push(LayoutElement::Key(path.clone(), is_path)),
        false => laid.extend(path.iter().cloned().map(LayoutElement::Plain)),
    }
    let mut rest = format!(" HTTP/1.1\r\n{}", site.fields());
    let begins_json = |text: &[u8]| text.starts_with(b"{") || text.starts_with(b"[");
    let first = body.and_then(|body| body.first());
    let is_json = matches!(first, Some(ArgumentPart::Text(text)) if begins_json(text));
    if is_json && !site.has_field("Content-Type") {
        rest += "Content-Type: application/json\r\n";
    }
    match body {
        Some(body) => {
            laid.push(LayoutElement::text(rest + "Content-Length:"));
            laid.push(LayoutElement::Measured(
                ArgumentHead::Line(vec![ArgumentPart::text(b"\r\n\r\n")]),
                body.iter().map(in_body).collect(),
            ));
        }
        None => {
            rest += if counts_body { "Content-Length: 0\r\n\r\n" } else { "\r\n" };
            laid.push(LayoutElement::text(rest));
        }
    }
    Ok(laid)
}

/// Returns the part in the form that a body contains. A vector becomes a list of numbers.
fn in_body(part: &ArgumentPart) -> ArgumentPart {
    match part {
        ArgumentPart::Derived(key, Derived::Vector(set, dimensions)) => {
            ArgumentPart::Derived(key.clone(), Derived::VectorList(*set, *dimensions))
        }
        part => part.clone(),
    }
}

/// Returns a request of fixed words. The result is empty if the words are not a valid request.
pub(in crate::protocol) fn encode(site: &HttpSite, words: &[&[u8]]) -> Vec<u8> {
    let words: Vec<_> = words.iter().map(|word| vec![ArgumentPart::text(*word)]).collect();
    let mut bytes = Vec::new();
    for laid in lay_out(site, &words).unwrap_or_default() {
        match laid {
            LayoutElement::Measured(_, body) => {
                let body = text(&body).unwrap_or_default();
                bytes.extend([format!(" {}\r\n\r\n", body.len()).as_bytes(), body].concat());
            }
            LayoutElement::Plain(ArgumentPart::Text(text)) => bytes.extend(text),
            LayoutElement::Plain(_) | LayoutElement::Key(..) => {}
        }
    }
    bytes
}

/// Returns the name of the method, and whether its requests always give the length of the body.
fn method(words: &[Word]) -> Result<(&'static str, bool), UnsupportedCommand> {
    let name = words.first().and_then(text).map(untrusted::bytes).unwrap_or_default();
    let found = METHODS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
    found.copied().ok_or_else(|| {
        let known: Vec<_> = METHODS.iter().map(|(known, _)| *known).collect();
        UnsupportedCommand(format!(
            "'{name}' is no method that redyno sends by HTTP: write {FORM}, with {}",
            known.join(", ")
        ))
    })
}

/// Returns whether replies to a request of this method have no body. The name is in upper case.
pub(in crate::protocol) fn is_bodiless(method: &str) -> bool {
    method == "HEAD"
}

/// Checks that a workload with HEAD uses no other method. The workload then has either no reply with a body, or only
/// replies that may have a body.
///
/// # Errors
/// Fails if HEAD is one of several methods.
pub(in crate::protocol) fn check_alone<'m>(
    methods: impl Iterator<Item = &'m str>,
) -> Result<(), UnsupportedCommand> {
    let heads: Vec<_> = methods.map(is_bodiless).collect();
    if heads.contains(&true) && heads.contains(&false) {
        let text = "HEAD cannot be mixed with other methods in one workload; measure it alone";
        return Err(UnsupportedCommand(text.to_owned()));
    }
    Ok(())
}

/// The longest path in bytes. Servers usually accept a path of this length.
const LONGEST_PATH: usize = 8000;

/// Returns whether these bytes can be sent as a path or as a part of a path. Bytes with a blank or a control character
/// cannot be sent, because these characters would end the path.
fn is_path(bytes: &[u8]) -> bool {
    bytes.len() <= LONGEST_PATH && bytes.is_ascii() && !has_break(bytes)
}

/// Checks the part of a path that is known in advance.
fn check_path(path: &Word) -> Result<(), UnsupportedCommand> {
    let begins = matches!(path.first(), Some(ArgumentPart::Text(text)) if text.starts_with(b"/"))
        || text(path) == Some(b"*");
    if !begins {
        return Err(UnsupportedCommand(
            "an HTTP path begins with / and has no server name, such as GET /items/1".to_owned(),
        ));
    }
    let is_bad = |part: &ArgumentPart| matches!(part, ArgumentPart::Text(text) if !is_path(text));
    if path.iter().any(is_bad) {
        return Err(UnsupportedCommand(
            "an HTTP path has at most 8000 bytes, and no spaces, control characters and letters beyond ASCII; write them as \
             %20 and so on".to_owned(),
        ));
    }
    let has_brace = |part: &ArgumentPart| matches!(part, ArgumentPart::Text(text) if text.iter().any(|byte| b"{}".contains(byte)));
    if path.iter().any(has_brace) {
        return Err(UnsupportedCommand(
            "a brace of this HTTP path belongs to no placeholder; write %7B or %7D for the character"
                .to_owned(),
        ));
    }
    Ok(())
}
