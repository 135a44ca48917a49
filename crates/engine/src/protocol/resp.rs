//! Encodes commands in RESP. Creates the first commands of a connection (AUTH, HELLO, SELECT, CLIENT SETNAME).

use super::{
    ArgumentPart, GreetingCommand, GreetingParameters, GreetingRefusal,
    digits::{NINE_DIGITS, few_digits},
    request_parts::{ArgumentHead, LayoutElement},
};

/// The end of a line, and of a bulk string.
const END: &[u8] = b"\r\n";

/// The error of a server with too many clients.
const TOO_MANY: &[u8] = b"ERR max number of clients";

/// Encodes a command that consists of fixed words.
pub(super) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_header(b'*', words.len(), &mut bytes);
    for word in words {
        append_header(b'$', word.len(), &mut bytes);
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(END);
    }
    bytes
}

/// Returns the layout of a command: an array of bulk strings.
pub(super) fn lay_out(arguments: &[Vec<ArgumentPart>]) -> Vec<LayoutElement> {
    let mut head = Vec::new();
    append_header(b'*', arguments.len(), &mut head);
    let argument = |parts: &Vec<ArgumentPart>| {
        [LayoutElement::Measured(ArgumentHead::Bulk, parts.clone()), LayoutElement::text(END)]
    };
    [LayoutElement::text(head)].into_iter().chain(arguments.iter().flat_map(argument)).collect()
}

/// Returns word number `word` of command number `command` in encoded commands, both counted from 0. Returns `None` if
/// there is no such word.
pub fn request_word(mut requests: &[u8], command: usize, word: usize) -> Option<&[u8]> {
    for place in 0..=command {
        let words = take_header(b'*', &mut requests)?;
        for n in 0..words {
            let length = take_header(b'$', &mut requests)?;
            let (found, rest) = requests.split_at_checked(length)?;
            if (place, n) == (command, word) {
                return Some(found);
            }
            requests = rest.get(END.len()..)?;
        }
    }
    None
}

/// Removes a header line (the type byte `kind` and a number) from the front of `requests`. Returns the number.
pub(crate) fn take_header(kind: u8, requests: &mut &[u8]) -> Option<usize> {
    let mut rest = requests.strip_prefix(&[kind])?;
    let mut number = 0_usize;
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        number = number.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
        rest = behind;
    }
    *requests = rest.strip_prefix(END)?;
    Some(number)
}

/// Appends a line with a type byte and a number, such as `$32`. A short line is copied as 16 bytes, and the
/// excess bytes are then removed.
#[inline]
pub(crate) fn append_header(kind: u8, n: usize, out: &mut Vec<u8>) {
    if n as u64 >= NINE_DIGITS {
        out.push(kind);
        out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
        out.extend_from_slice(END);
        return;
    }
    let (digits, count) = few_digits(n as u64);
    let end = u128::from(u16::from_le_bytes(*b"\r\n"));
    let line = u128::from(kind) | (u128::from(digits) << 8) | (end << (8 + 8 * count));
    let length = out.len() + 1 + count + END.len();
    out.extend_from_slice(&line.to_le_bytes());
    out.truncate(length);
}

/// Returns the greeting: authentication, protocol, database, client name.
pub(super) fn introduce(who: &GreetingParameters, in_resp3: bool) -> Vec<(GreetingCommand, Vec<u8>)> {
    let mut steps = Vec::new();
    let mut say = |step, words: &[&[u8]]| steps.push((step, encode(words)));
    match (who.user, who.password) {
        (Some(user), Some(password)) => {
            say(GreetingCommand::Auth, &[b"AUTH", user.as_bytes(), password.as_bytes()]);
        }
        (None, Some(password)) => say(GreetingCommand::Auth, &[b"AUTH", password.as_bytes()]),
        (_, None) => {}
    }
    if in_resp3 {
        say(GreetingCommand::Hello, &[b"HELLO", b"3"]);
    }
    if who.db != 0 {
        say(GreetingCommand::Select, &[b"SELECT", who.db.to_string().as_bytes()]);
    }
    if let Some(name) = who.name {
        say(GreetingCommand::SetName, &[b"CLIENT", b"SETNAME", name.as_bytes()]);
    }
    steps
}

/// Returns the meaning of an error reply to a command of the greeting.
pub(super) fn refusal(step: GreetingCommand, line: &[u8]) -> GreetingRefusal {
    if line.starts_with(TOO_MANY) {
        return GreetingRefusal::TooManyClients;
    }
    let says = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    match (step, line.split(|byte| *byte == b' ').next().unwrap_or_default()) {
        (_, b"DENIED") => GreetingRefusal::ProtectedMode,
        (GreetingCommand::Auth, b"WRONGPASS") => GreetingRefusal::WrongPassword,
        (GreetingCommand::Auth, _) if line.starts_with(b"ERR invalid password") => {
            GreetingRefusal::WrongPassword
        }
        (GreetingCommand::Auth, _)
            if says("without any password configured") || says("no password is set") =>
        {
            GreetingRefusal::NoPasswordSet
        }
        (GreetingCommand::Hello, b"NOPROTO") => GreetingRefusal::NoResp3,
        (GreetingCommand::Hello, _) if line.starts_with(b"ERR unknown command") => GreetingRefusal::NoResp3,
        (GreetingCommand::Select, b"ERR") => GreetingRefusal::NoSuchDb,
        (_, b"NOAUTH") => GreetingRefusal::PasswordNeeded,
        (_, b"NOPERM") => GreetingRefusal::NotPermitted,
        (_, b"LOADING") => GreetingRefusal::Loading,
        (_, b"BUSY" | b"MASTERDOWN" | b"CLUSTERDOWN" | b"TRYAGAIN") => GreetingRefusal::Busy,
        _ => GreetingRefusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_headers_contain_their_number() {
        for n in [0, 7, 10, 99_999_999, 100_000_000, usize::MAX] {
            let mut out = b"x".to_vec();
            append_header(b'$', n, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("x${n}\r\n"));
        }
    }

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        assert_eq!(encode(&[b"SELECT", b"3"]), b"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n");
    }
}
