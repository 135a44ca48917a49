//! Encodes memcached's commands, and translates some Redis commands into memcached commands.
//!
//! ```text
//! SET KEY VALUE EX 60     set KEY 0 60 <length>\r\n VALUE \r\n
//! ms KEY VALUE T60        ms KEY <length> T60\r\n VALUE \r\n
//! ```
//! A workload gives every command as a list of words, with the key before the value. This module adds
//! memcached's flags and lengths.

use super::words::{Word, check_flag, check_key, check_ttl, is, is_drawn, is_key, number, text};
use crate::protocol::{
    ArgumentPart, UnsupportedCommand,
    request_parts::{ArgumentHead, LayoutElement},
};
use crate::untrusted;

/// The accepted commands. Each row has all names of a command, and the arguments that follow the name.
const FORMS: [(&[&str], &str); 20] = [
    (&["GET", "MGET"], "KEY..."),
    (&["GETS"], "KEY..."),
    (&["GAT"], "SECONDS KEY..."),
    (&["GATS"], "SECONDS KEY..."),
    (&["GETEX"], "KEY EX SECONDS"),
    (&["SET"], "KEY VALUE [EX SECONDS] [NX|XX]"),
    (&["SETEX"], "KEY SECONDS VALUE"),
    (&["ADD", "SETNX"], "KEY VALUE [EX SECONDS]"),
    (&["REPLACE"], "KEY VALUE [EX SECONDS]"),
    (&["APPEND"], "KEY VALUE"),
    (&["PREPEND"], "KEY VALUE"),
    (&["CAS"], "KEY NUMBER VALUE [EX SECONDS]"),
    (&["DELETE", "DEL", "UNLINK"], "KEY"),
    (&["INCR", "INCRBY"], "KEY [NUMBER]"),
    (&["DECR", "DECRBY"], "KEY [NUMBER]"),
    (&["TOUCH", "EXPIRE"], "KEY SECONDS"),
    (&["MN", "PING"], ""),
    (&["VERSION"], ""),
    (&["MG", "MD", "MA"], "KEY FLAG..."),
    (&["MS"], "KEY VALUE FLAG..."),
];

/// Returns the layout of a command.
///
/// # Errors
/// Fails if memcached does not have the command, or does not accept these arguments.
pub(in crate::protocol) fn lay_out(words: &[Word]) -> Result<Vec<LayoutElement>, UnsupportedCommand> {
    let (first, arguments) = words.split_first().ok_or_else(|| unknown(""))?;
    let name = text(first).map(|text| untrusted::bytes(text).to_ascii_uppercase()).unwrap_or_default();
    let of_name = |(names, _): &&(&[&str], &str)| names.contains(&name.as_str());
    let (names, form) = FORMS.iter().find(of_name).ok_or_else(|| unknown(&name))?;
    let line = match (names[0], arguments) {
        (verb @ ("GET" | "GETS"), [_, ..]) => CommandLayout::begin(verb).keys(arguments)?,
        (verb @ ("GAT" | "GATS"), [ttl, keys @ ..]) if !keys.is_empty() => {
            CommandLayout::begin(verb).seconds(ttl)?.keys(keys)?
        }
        ("GETEX", [key, ex, ttl]) if is(ex, "EX") => CommandLayout::begin("GAT").seconds(ttl)?.keys([key])?,
        ("SETEX", [key, ttl, value]) => CommandLayout::store("SET", key, Some(ttl))?.block(value, &[]),
        (verb @ ("SET" | "ADD" | "REPLACE"), [key, value, options @ ..]) => {
            let SetOptions { verb, ttl } = SetOptions::of(verb, options).ok_or_else(|| wrong(&name, form))?;
            CommandLayout::store(verb, key, ttl)?.block(value, &[])
        }
        (verb @ ("APPEND" | "PREPEND"), [key, value]) => {
            CommandLayout::store(verb, key, None)?.block(value, &[])
        }
        ("CAS", [key, token, value, options @ ..]) => {
            let SetOptions { verb, ttl } =
                SetOptions::of("CAS", options).ok_or_else(|| wrong(&name, form))?;
            CommandLayout::store(verb, key, ttl)?.block(value, std::slice::from_ref(number(token)?))
        }
        ("DELETE", [key]) => CommandLayout::begin("DELETE").keys([key])?,
        (verb @ ("INCR" | "DECR"), [key, by @ ..]) if by.len() < 2 && makes_counter(first) => {
            let by = by.first().map(number).transpose()?;
            CommandLayout::begin("MA").keys([key])?.counter(verb, by)
        }
        (verb @ ("INCR" | "DECR"), [key]) => {
            CommandLayout::begin(verb).keys([key])?.word(&[ArgumentPart::text(b"1")])
        }
        (verb @ ("INCR" | "DECR"), [key, by]) => CommandLayout::begin(verb).keys([key])?.word(number(by)?),
        ("TOUCH", [key, ttl]) => CommandLayout::begin("TOUCH").keys([key])?.seconds(ttl)?,
        (verb @ ("MN" | "VERSION"), []) => CommandLayout::begin(verb),
        ("MG", [key, flags @ ..]) => CommandLayout::begin(&name).keys([key])?.flags(flags)?,
        ("MS", [key, value, flags @ ..]) => {
            flags.iter().try_for_each(check_flag)?;
            CommandLayout::begin("MS").keys([key])?.block(value, flags)
        }
        _ => return Err(wrong(&name, form)),
    };
    Ok(line.end())
}

/// The layout of a command that is being built.
struct CommandLayout(Vec<LayoutElement>);

impl CommandLayout {
    fn begin(verb: &str) -> Self {
        Self(vec![LayoutElement::text(verb.to_ascii_lowercase())])
    }

    /// Begins a classic storage command with the words that precede the length.
    fn store(verb: &str, key: &Word, ttl: Option<&Word>) -> Result<Self, UnsupportedCommand> {
        let line = Self::begin(verb).keys([key])?.word(&[ArgumentPart::text(b"0")]);
        match ttl {
            Some(ttl) => line.seconds(ttl),
            None => Ok(line.word(&[ArgumentPart::text(b"0")])),
        }
    }

    fn word(mut self, word: &[ArgumentPart]) -> Self {
        self.0.push(LayoutElement::text(b" "));
        self.0.extend(word.iter().cloned().map(LayoutElement::Plain));
        self
    }

    fn keys<'w>(mut self, keys: impl IntoIterator<Item = &'w Word>) -> Result<Self, UnsupportedCommand> {
        for key in keys {
            check_key(key)?;
            self = if key.iter().any(is_drawn) { self.checked(key) } else { self.word(key) };
        }
        Ok(self)
    }

    /// Appends a key that contains a value or a field of a record. Such a key is checked when it is filled for a
    /// request.
    fn checked(mut self, key: &[ArgumentPart]) -> Self {
        self.0.push(LayoutElement::text(b" "));
        self.0.push(LayoutElement::Key(key.to_vec(), is_key));
        self
    }

    fn seconds(self, ttl: &Word) -> Result<Self, UnsupportedCommand> {
        check_ttl(number(ttl)?)?;
        Ok(self.word(ttl))
    }

    /// Appends the flags that create a missing counter with the value 0.
    fn counter(self, verb: &str, by: Option<&Word>) -> Self {
        let flag = |line: Self, flag: &'static [u8]| line.word(&[ArgumentPart::text(flag)]);
        let made = flag(flag(self, b"N0"), b"J0");
        let made = if verb == "DECR" { flag(made, b"MD") } else { made };
        match by {
            Some(by) => made.word(&[&[ArgumentPart::text(b"D")], by.as_slice()].concat()),
            None => made,
        }
    }

    fn flags(mut self, flags: &[Word]) -> Result<Self, UnsupportedCommand> {
        for flag in flags {
            check_flag(flag)?;
            self = self.word(flag);
        }
        Ok(self)
    }

    /// Appends the length, the words that follow the length, and the value.
    fn block(mut self, value: &Word, behind: &[Word]) -> Self {
        let words =
            behind.iter().flat_map(|word| [ArgumentPart::text(b" ")].into_iter().chain(word.iter().cloned()));
        let between = words.chain([ArgumentPart::text(b"\r\n")]).collect();
        self.0.push(LayoutElement::Measured(ArgumentHead::Line(between), value.clone()));
        self
    }

    fn end(mut self) -> Vec<LayoutElement> {
        self.0.push(LayoutElement::text(b"\r\n"));
        self.0
    }
}

/// The options after the value of Redis's SET.
struct SetOptions<'w> {
    verb: &'static str,
    ttl: Option<&'w Word>,
}

impl<'w> SetOptions<'w> {
    fn of(verb: &'static str, mut words: &'w [Word]) -> Option<Self> {
        let mut options = Self { verb, ttl: None };
        loop {
            words = match words {
                [] => return Some(options),
                [ex, ttl, rest @ ..] if is(ex, "EX") && options.ttl.is_none() => {
                    options.ttl = Some(ttl);
                    rest
                }
                [nx, rest @ ..] if is(nx, "NX") && options.verb == "SET" => {
                    options.verb = "ADD";
                    rest
                }
                [xx, rest @ ..] if is(xx, "XX") && options.verb == "SET" => {
                    options.verb = "REPLACE";
                    rest
                }
                _ => return None,
            }
        }
    }
}

/// Returns whether the command creates a missing counter, as in Redis. The names `incr` and `decr` in lower case are
/// memcached's own commands. memcached's own commands do not create a counter.
fn makes_counter(verb: &Word) -> bool {
    !text(verb).is_some_and(|verb| verb == b"incr" || verb == b"decr")
}

#[cold]
fn unknown(name: &str) -> UnsupportedCommand {
    let known: Vec<_> = FORMS.iter().map(|(names, _)| names.join(" or ")).collect();
    UnsupportedCommand(format!(
        "'{name}' is no command that redyno has for memcached: {}",
        known.join(", ").to_ascii_lowercase()
    ))
}

#[cold]
fn wrong(name: &str, form: &str) -> UnsupportedCommand {
    UnsupportedCommand(format!("for memcached write {name} {form}").trim_end().to_owned())
}

/// Returns word number `word` of line number `command`, both counted from 0, or `None` if there is no such word.
pub(in crate::protocol) fn request_word(requests: &[u8], command: usize, word: usize) -> Option<&[u8]> {
    let line = requests.split(|byte| *byte == b'\n').nth(command)?.strip_suffix(b"\r")?;
    line.split(|byte| *byte == b' ').nth(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Dialect, FillSlots, Template};

    struct FixedFill;

    impl FillSlots for FixedFill {
        type Value = &'static [u8];

        fn number(&mut self, _: u16) -> u64 {
            77
        }

        fn value(&mut self, kind: u16) -> (&'static [u8], usize) {
            let value: &[u8] = if kind == 0 { b"abc" } else { b"defgh" };
            (value, value.len())
        }

        fn write(&mut self, value: &'static [u8], out: &mut Vec<u8>) -> usize {
            out.extend_from_slice(value);
            0
        }

        fn await_number(&mut self, _: usize) {}

        fn moved(&mut self, _: usize, _: usize, _: usize) {}

        fn refuse(&mut self, _: &[u8]) {}
    }

    /// Parses the words of `step`. K is a key, V is a value, W is a value with a random size, and N is a number.
    fn words(step: &str) -> Vec<Word> {
        let word = |word: &'static str| match word {
            "K" => vec![ArgumentPart::text(b"k:"), ArgumentPart::Digits(0)],
            "V" => vec![ArgumentPart::Value { kind: 0, size: Some(3) }],
            "W" => vec![ArgumentPart::Value { kind: 1, size: None }],
            "<VN>" => vec![
                ArgumentPart::text(b"<"),
                ArgumentPart::Value { kind: 0, size: Some(3) },
                ArgumentPart::Number(0),
                ArgumentPart::text(b">"),
            ],
            "N" => vec![ArgumentPart::Number(0)],
            word => vec![ArgumentPart::text(word)],
        };
        step.split(' ').map(|text| word(Box::leak(text.to_owned().into_boxed_str()))).collect()
    }

    fn wire(step: &str) -> Result<String, String> {
        let template =
            Template::new(Dialect::Memcached, &[words(step)]).map_err(|error| error.to_string())?;
        let mut out = Vec::new();
        template.append(&mut FixedFill, &mut out);
        Ok(String::from_utf8(out).unwrap().replace("k:000000000077", "K").replace("\r\n", "|"))
    }

    #[test]
    fn commands_are_encoded_as_memcached_commands() {
        for (step, expected) in [
            ("GET K", "get K|"),
            ("MGET K K a", "get K K a|"),
            ("gets K", "gets K|"),
            ("gat 10 K K", "gat 10 K K|"),
            ("GETEX K EX N", "gat 77 K|"),
            ("SET K V", "set K 0 0 3|abc|"),
            ("SET K <VN> EX 60", "set K 0 60 7|<abc77>|"),
            ("SETEX K N V", "set K 0 77 3|abc|"),
            ("SET K V NX EX 5", "add K 0 5 3|abc|"),
            ("set K V xx", "replace K 0 0 3|abc|"),
            ("append K V", "append K 0 0 3|abc|"),
            ("cas K N V", "cas K 0 0 3 77|abc|"),
            ("cas K 12 <VN> EX 9", "cas K 0 9 7 12|<abc77>|"),
            ("DEL K", "delete K|"),
            ("incr K", "incr K 1|"),
            ("decr K N", "decr K 77|"),
            ("INCR K", "ma K N0 J0|"),
            ("INCRBY K 5", "ma K N0 J0 D5|"),
            ("DECRBY K N", "ma K N0 J0 MD D77|"),
            ("DECR K", "ma K N0 J0 MD|"),
            ("EXPIRE K 30", "touch K 30|"),
            ("PING", "mn|"),
            ("version", "version|"),
            ("mg K v t", "mg K v t|"),
            ("md K", "md K|"),
            ("ma K N0 D5", "ma K N0 D5|"),
            ("ms K V T60", "ms K 3 T60|abc|"),
            ("SET K W EX N", "set K 0 77 5|defgh|"),
            ("cas K N W", "cas K 0 0 5 77|defgh|"),
            ("SET K N", "set K 0 0 2|77|"),
            ("ms K W TN", "ms K 5 TN|defgh|"),
            ("ms K <VN> S5", "ms K 7 S5|<abc77>|"),
        ] {
            assert_eq!(wire(step).as_deref(), Ok(expected), "{step}");
        }
    }

    #[test]
    fn the_error_for_an_unsupported_command_is_one_line() {
        let long = format!("GET {}", "k".repeat(251));
        for (step, expected) in [
            ("HSET K f V", "'HSET' is no command that redyno has for memcached: get or mget, "),
            ("flush_all", "'FLUSH_ALL' is no command"),
            ("SET K", "for memcached write SET KEY VALUE [EX SECONDS] [NX|XX]"),
            ("SET K V GET", "for memcached write SET"),
            ("DEL K K", "for memcached write DEL KEY"),
            ("delete K noreply", "for memcached write DELETE KEY"),
            ("PING x", "for memcached write PING"),
            ("mg K v q", "the quiet flag q of memcached leaves out replies"),
            ("ms K V q", "the quiet flag q"),
            ("INCR K 1 2", "for memcached write INCR KEY [NUMBER]"),
            ("INCRBY K x", "memcached takes a whole number there, not 'x'"),
            ("incr K x", "memcached takes a whole number there, not 'x'"),
            ("touch K 2592001", "memcached reads more than 2592000 s (30 days) as a point in time"),
            (&long, "a key of memcached has 1 to 250 bytes, not 251"),
            ("GET a\tb", "a key of memcached has no spaces and no control characters"),
        ] {
            let error = wire(step).unwrap_err();
            assert!(error.starts_with(expected) && !error.contains('\n'), "{step}: {error}");
        }
        assert!(wire(&format!("GET {}", "k".repeat(250))).is_ok());
    }
}
