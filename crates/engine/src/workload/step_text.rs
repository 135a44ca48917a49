//! The syntax of a workload's commands: words, quotes, and placeholders in braces or between underscores.

use super::{
    MAX_VALUE_SIZE, OperationOrder, Portion, Workload, inline,
    step::{CommandStep, Fragment, StampPart},
};
use crate::protocol::{Derived, MOST_DIMENSIONS};

/// The error for a quote that is never closed, or that is closed within a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadQuotes;

impl CommandStep {
    /// Parses the words of `text`, which are separated by spaces. Placeholders can be anywhere in a word: `{value}`,
    /// `{now}`, `{cas}`, `{number FROM..TO}`, `{number below N}`. The names of keys and values of the `workload` in
    /// braces are placeholders, too. `{stamp}` is the stamp of a message, if the workload has receivers. `{NAME.new}`
    /// is a new key of the set. `{NAME.same}` repeats the last key of the set. `{NAME.same_slot}` is the next key in
    /// the cluster slot of the last key. In a prefill, `{NAME.next}` is the next key in order. `{NAME.hash}` is Java's
    /// hash of a key. `.hash` can also follow `.new`, `.same` and `.same_slot`. Repetitions such as
    /// `{repeat 10: field{i} {value}}` are already written out. Other braces stay unchanged.
    ///
    /// Quotes have the same meaning as in redis-cli. `"a b"` is one word. In double quotes, the escapes `\n`, `\r`,
    /// `\t`, `\b`, `\a`, `\xHH`, `\"` and `\\` each stand for one byte. `'a b'` is one word. In single quotes, the only
    /// possible escape is `\'`. Within braces, a quote is a plain character, so JSON needs no escapes.
    pub(super) fn read(text: &str, workload: &Workload) -> Result<Self, BadQuotes> {
        let (mut reading, mut rest) = (StepParser::default(), text);
        while let Some(next) = rest.chars().next() {
            if let Some((stamp, behind)) = stamp(rest, workload) {
                reading.word().extend(stamp);
                rest = behind;
            } else if let Some((fragment, behind)) = placeholder(rest, workload) {
                reading.word().push(fragment);
                rest = behind;
            } else {
                rest = reading.take(next, &rest[next.len_utf8()..])?;
            }
        }
        reading.end_word();
        if reading.quote.is_some() { Err(BadQuotes) } else { Ok(Self(reading.words)) }
    }
}

/// Parses the words of a command as redis-cli does, with quotes but without placeholders. Returns `None` if a
/// quote is never closed, or is closed within a word.
pub fn plain_words(text: &str) -> Option<Vec<Vec<u8>>> {
    let mut reading = StepParser { is_plain: true, ..StepParser::default() };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = reading.take(next, &rest[next.len_utf8()..]).ok()?;
    }
    reading.end_word();
    let bytes = |fragment: Fragment| if let Fragment::Text(text) = fragment { text } else { Vec::new() };
    let words = reading.words.into_iter().map(|word| word.into_iter().flat_map(bytes).collect());
    reading.quote.is_none().then(|| words.collect())
}

/// Returns an HTTP step without the query of its path, because a query may contain a token. Returns `None` if the path
/// has no query.
pub fn without_query(step: &str) -> Option<String> {
    let (mut reading, mut rest, mut cut) = (StepParser::default(), step, None);
    while let Some(next) = rest.chars().next().filter(|_| reading.words.len() < 2) {
        if next == '?' && reading.words.len() == 1 {
            cut.get_or_insert((step.len() - rest.len(), reading.quote));
        }
        rest = match inline::braced(rest) {
            Some((_, behind)) => {
                reading.word();
                behind
            }
            None => reading.take(next, &rest[next.len_utf8()..]).ok()?,
        };
    }
    let path = reading.words.get(1).or(reading.word.as_ref())?;
    let is_path = matches!(path.first(), Some(Fragment::Text(text)) if text.starts_with(b"/"));
    let (at, quote) = cut.filter(|_| is_path)?;
    // The parser has already read the blank after the path.
    let gap = if rest.is_empty() { "" } else { " " };
    let quote = quote.map_or(String::new(), String::from);
    Some(format!("{}{quote}{gap}{rest}", &step[..at]))
}

/// The state of the parser.
#[derive(Default)]
struct StepParser {
    words: Vec<Vec<Fragment>>,
    /// The word that is being parsed.
    word: Option<Vec<Fragment>>,
    /// The open quote.
    quote: Option<char>,
    /// The number of open braces in the word.
    braces: u32,
    /// Whether braces are plain characters.
    is_plain: bool,
}

impl StepParser {
    fn word(&mut self) -> &mut Vec<Fragment> {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
        self.braces = 0;
    }

    fn text(&mut self, bytes: &[u8]) {
        match self.word().last_mut() {
            Some(Fragment::Text(text)) => text.extend_from_slice(bytes),
            _ => self.word().push(Fragment::Text(bytes.to_vec())),
        }
    }

    /// Processes the character `next`. `behind` is the text after this character. The text after the character may
    /// continue an escape. Returns the text that is still unprocessed.
    fn take<'a>(&mut self, next: char, behind: &'a str) -> Result<&'a str, BadQuotes> {
        match (self.quote, next) {
            (Some('"'), '\\') => {
                let (byte, behind) = escaped(behind)?;
                self.text(&byte);
                return Ok(behind);
            }
            (Some('\''), '\\') if behind.starts_with('\'') => {
                self.text(b"'");
                return Ok(&behind[1..]);
            }
            (Some(quote), _) if next == quote => {
                self.quote = None;
                if behind.starts_with(|next: char| !next.is_whitespace()) {
                    return Err(BadQuotes);
                }
            }
            (None, '"' | '\'') if self.is_plain || self.braces == 0 => {
                self.word();
                self.quote = Some(next);
            }
            (None, next) if next.is_whitespace() => self.end_word(),
            (quote, next) => {
                match next {
                    '{' if quote.is_none() => self.braces += 1,
                    '}' if quote.is_none() => self.braces = self.braces.saturating_sub(1),
                    _ => {}
                }
                self.text(next.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Ok(behind)
    }
}

/// Parses an escape. `text` begins after the backslash. Returns the escaped bytes and the text after the escape.
fn escaped(text: &str) -> Result<(Vec<u8>, &str), BadQuotes> {
    let hex = text.strip_prefix('x').and_then(|rest| Some((rest.get(..2)?, rest.get(2..)?)));
    let hex = hex.filter(|(digits, _)| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if let Some((digits, behind)) = hex {
        let byte = u8::from_str_radix(digits, 16).expect("two hexadecimal digits are a byte");
        return Ok((vec![byte], behind));
    }
    let next = text.chars().next().ok_or(BadQuotes)?;
    let meant = match next {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\x08',
        'a' => '\x07',
        other => other,
    };
    Ok((meant.to_string().into_bytes(), &text[next.len_utf8()..]))
}

/// Parses `{stamp}` at the beginning of `text`. Returns the parts of the stamp and the text after the placeholder.
fn stamp<'a>(text: &'a str, workload: &Workload) -> Option<([Fragment; 6], &'a str)> {
    let behind = text.strip_prefix("{stamp}")?;
    let set = workload.receiver_keyset()?;
    let [point, end] = [b".", b";"].map(|text| Fragment::Text(text.to_vec()));
    let [number, time, channel] =
        [StampPart::Number, StampPart::Time, StampPart::Channel].map(|part| Fragment::Stamp(part, set));
    Some(([number, point.clone(), time, point, channel, end], behind))
}

/// Parses the placeholder at the beginning of `text`. Returns the fragment for the placeholder, and the text after the
/// placeholder.
fn placeholder<'a>(text: &'a str, workload: &Workload) -> Option<(Fragment, &'a str)> {
    let set = |name: &str| workload.keys.keys().position(|known| known == name).map(|place| place as u16);
    let drawn = |name: &str| match (set(name), workload.value_kind(name)) {
        (Some(set), _) => Some(Fragment::Key(set)),
        (_, kind) => kind.map(Fragment::Value),
    };
    if let Some(name) = inline::foreign_name(text) {
        let of_record = || Portion::of(name).map(Fragment::OfRecord);
        return Some((drawn(name).or_else(of_record)?, &text[name.len()..]));
    }
    let (name, behind) = inline::braced(text)?;
    let fragment = match name.strip_prefix("number ") {
        Some(range) => number(range)?,
        None => match drawn(name) {
            Some(drawn) => drawn,
            None if name.starts_with("derived ") => {
                let (key, value) = name["derived ".len()..].split_once(' ')?;
                let (field, length) = value.split_once(' ')?;
                let length = length.parse().ok().filter(|length| *length <= MAX_VALUE_SIZE as usize)?;
                of_key(key, |_| Derived::Value(field.into(), length), workload)?
            }
            None if name.starts_with("vector ") => {
                let (key, dimensions) = name["vector ".len()..].split_once(' ')?;
                let dimensions = dimensions.parse().ok().filter(|it| (1..=MOST_DIMENSIONS).contains(it))?;
                of_key(key, |set| Derived::Vector(set, dimensions), workload)?
            }
            None if name == "now" => Fragment::Now,
            None if name == "cas" => Fragment::Cas,
            None if name == "cursor" && matches!(workload.order, OperationOrder::Scan(_)) => Fragment::Cursor,
            None => match name.rsplit_once('.')? {
                (name, "same") => Fragment::Same(set(name)?),
                (name, "same_slot") => Fragment::SameSlot(set(name)?),
                (name, "new") => Fragment::New(set(name)?),
                (name, "next") => Fragment::Given(set(name)?),
                (key, "hash") => of_key(key, |_| Derived::JavaHash, workload)?,
                _ => return None,
            },
        },
    };
    Some((fragment, behind))
}

/// Returns the fragment that is derived from a key. `key` is the text of the key's placeholder.
fn of_key(key: &str, derived: impl FnOnce(u16) -> Derived, workload: &Workload) -> Option<Fragment> {
    let (key, _) = placeholder(&format!("{{{key}}}"), workload)?;
    let has_number = |set: &u16| !workload.keyset(*set).1.form().padded(0).is_empty();
    let set = key.draws().or(key.repeats()).filter(has_number)?;
    Some(Fragment::Derived(set, Box::new(key), derived(set)))
}

/// Parses the range of a random number: `1..9`, or `below 10`.
fn number(range: &str) -> Option<Fragment> {
    let (from, to) = match range.strip_prefix("below ") {
        Some(count) => (0, count.parse::<u64>().ok()?.checked_sub(1)?),
        None => {
            let (from, to) = range.split_once("..")?;
            (from.parse().ok()?, to.parse().ok()?)
        }
    };
    (from <= to).then_some(Fragment::Number(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Keyset, testing::described};

    fn step(text: &str) -> Result<CommandStep, BadQuotes> {
        let text = inline::written_out(text, &mut Some(inline::MOST_REPEATED));
        CommandStep::read(&text.unwrap(), &described())
    }

    fn read(text: &str) -> Vec<Vec<Fragment>> {
        step(text).unwrap().0
    }

    fn text(text: &str) -> Fragment {
        Fragment::Text(text.into())
    }

    #[test]
    fn the_query_of_a_path_can_be_left_out() {
        for (step, bare) in [
            ("GET /x?token=1", Some("GET /x")),
            ("POST /x?n={number 1..5}&t=1  '{\"a\": \"b?\"}'", Some("POST /x  '{\"a\": \"b?\"}'")),
            (r#"PUT "/x?t=\"a b&n={number 1..5}" "a b?""#, Some(r#"PUT "/x" "a b?""#)),
            (r#"GET "/{number 1..5}?""#, Some(r#"GET "/{number 1..5}""#)),
            ("GET /x", None),
            ("POST /x {value}?", None),
            ("GET x?token=1", None),
            ("PING", None),
        ] {
            assert_eq!(without_query(step).as_deref(), bare, "{step}");
        }
    }

    #[test]
    fn placeholders_can_be_anywhere_in_a_word() {
        let expected = [
            vec![text("SET")],
            vec![Fragment::Key(1)],
            vec![text("<"), Fragment::Value(1), Fragment::Key(0), text(">")],
            vec![text("EX")],
            vec![Fragment::Number(60, 3600)],
            vec![Fragment::Same(1), Fragment::New(0), text("!")],
            vec![Fragment::Value(0), Fragment::Now],
            vec![text("C"), Fragment::Cas],
        ];
        assert_eq!(
            read(" SET {key}  <{value}{a}> EX {number 60..3600} {key.same}{a.new}! {text}{now} C{cas}"),
            expected
        );
    }

    #[test]
    fn other_braces_stay_unchanged() {
        for word in [
            "{tag}:1",
            "{\"a\":1}",
            "{}",
            "{",
            "}",
            "{key",
            "{number}",
            "{{value",
            "{b.same}",
            "{b.new}",
            "{a.old}",
            "{text.same}",
        ] {
            assert_eq!(read(word), [[text(word)]], "{word}");
        }
        assert_eq!(read("{number below 10}"), [[Fragment::Number(0, 9)]]);
        assert_eq!(
            read("{repeat 2: f{i} {a}}"),
            [[text("f0")], [Fragment::Key(0)], [text("f1")], [Fragment::Key(0)]]
        );
        assert_eq!(read("{number 9..1}"), [[text("{number")], [text("9..1}")]]);
        assert_eq!(read("{{key}}"), [[text("{"), Fragment::Key(1), text("}")]]);
        assert_eq!(read("{\"id\":\"{key}\"}"), [[text("{\"id\":\""), Fragment::Key(1), text("\"}")]]);
        assert_eq!(read(" "), Vec::<Vec<Fragment>>::new());
    }

    #[test]
    fn quotes_have_the_same_meaning_as_in_redis_cli() {
        for (written, word) in [
            (r#""a b""#, "a b"),
            (r#"a"b c""#, "ab c"),
            ("'a \"b\" c'", "a \"b\" c"),
            (r"'it\'s \n'", r"it's \n"),
            (r#""\"\\\n\r\t\b\a\x41\q""#, "\"\\\n\r\t\x08\x07Aq"),
            (r#""\x7bkey}""#, "{key}"),
            ("\"\u{e4} \\\u{e4}\"", "\u{e4} \u{e4}"),
        ] {
            assert_eq!(read(written), [[text(word)]], "{written}");
        }
        assert_eq!(read(r#""\xff\xg""#), [[Fragment::Text(b"\xffxg".to_vec())]]);
        assert_eq!(read(r#"SET k """#), [vec![text("SET")], vec![text("k")], vec![]]);
        assert_eq!(read(r#""{key} of '{a}'""#)[0].len(), 4);
        for bad in ["\"a", "'a", "\"a\\", "\"a\"b", "'a'\"b\"", "\"a b\"{key}", "{\"a\":\"b c\"}"] {
            assert_eq!(step(bad), Err(BadQuotes), "{bad}");
        }
    }

    #[test]
    fn placeholders_of_other_tools_need_a_set_in_the_workload() {
        let keys = ["__rand_int__", "__rand_1st__"].map(|name| (name.to_owned(), Keyset::default()));
        let workload = Workload { keys: keys.into(), ..Workload::default() };
        let read = |text| CommandStep::read(text, &workload).unwrap().0;
        let (first, any) = (Fragment::Key(0), Fragment::Key(1));
        assert_eq!(
            read("k:__rand_int__:x __rand_int__"),
            [vec![text("k:"), any.clone(), text(":x")], vec![any]]
        );
        assert_eq!(read("__rand_1st__ -__rand_1st__"), [vec![first.clone()], vec![text("-"), first]]);
        assert_eq!(
            read("__rand_2nd__ __data__ __"),
            [[text("__rand_2nd__")], [text("__data__")], [text("__")]]
        );
    }

    #[test]
    fn fields_of_a_record_can_be_anywhere_in_a_word() {
        let field = |name: &str| Fragment::OfRecord(Portion::Field(name.to_owned()));
        assert_eq!(
            read("doc:__field:id__:x __field:a title__ '<__field:t__>'"),
            [
                vec![text("doc:"), field("id"), text(":x")],
                vec![field("a title")],
                vec![text("<"), field("t"), text(">")]
            ]
        );
        assert_eq!(read("<__record__>"), [[text("<"), Fragment::OfRecord(Portion::Whole), text(">")]]);
        let decoded = Fragment::OfRecord(Portion::Decoded("v".to_owned()));
        assert_eq!(read("__field:v:base64__"), [[decoded]]);
        for word in ["__field:__", "__field:x", "__fields:x__", "field:x__"] {
            assert_eq!(read(word), [[text(word)]], "{word}");
        }
    }
}
