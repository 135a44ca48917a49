//! Parses the requests to the built-in server: RESP arrays and inline commands.
//!
//! Arguments are not copied: each argument is a range of the received bytes. When more bytes of an incomplete request
//! arrive, the parser starts again. Starting again is cheap, because the parser skips the bytes of arguments. The
//! parser does not depend on commands or sockets. An inline command is a line of words between spaces, without quotes.
//!
//! ```text
//! *2 CR LF $3 CR LF GET CR LF $5 CR LF key:1 CR LF        an array of bulk strings
//! GET key:1 CR LF                                         an inline command
//! ```

use std::ops::Range;

use memchr::memchr;

use super::reply::ReplyError;

/// The largest number of arguments of one request.
const MAX_ARGUMENTS: i64 = 1 << 20;
/// The longest argument, 512 MiB, as in Redis (`proto-max-bulk-len`).
const MAX_BULK: usize = 512 << 20;
/// The longest inline command or length line, 64 KiB, as in Redis.
const MAX_LINE: usize = 64 << 10;

/// The position of an argument in the bytes of its request.
pub type ArgumentSpan = Range<usize>;

/// The arguments of one request, the command's name first.
#[derive(Debug, Clone, Copy)]
pub struct RequestArguments<'a> {
    /// The bytes of the request.
    pub bytes: &'a [u8],
    /// The ranges of the arguments in `bytes`.
    pub spans: &'a [ArgumentSpan],
}

impl<'a> RequestArguments<'a> {
    /// Returns the number of arguments, including the command's name.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns argument `index`, or `None` if there are fewer arguments.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.spans.get(index).map(|span| &self.bytes[span.clone()])
    }

    /// Returns the arguments from `first` on in pairs. A last argument without a partner is left out.
    pub fn pairs(&self, first: usize) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut rest = self.from(first);
        std::iter::from_fn(move || Some((rest.next()?, rest.next()?)))
    }

    /// Returns the arguments from `first` on.
    pub fn from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        self.spans[first.min(self.spans.len())..].iter().map(move |span| &bytes[span.clone()])
    }
}

/// Returns Redis's error for bytes that are not a request. The server closes the connection after this error.
fn no_request(why: &str) -> ReplyError {
    ReplyError::other(format!("ERR Protocol error: {why}"))
}

/// Parses the request at the beginning of `bytes`. If the request is complete, returns the length of the request, and
/// fills `spans` with the ranges of the arguments. For an empty line or an empty array, `spans` is empty.
///
/// # Errors
/// Fails if the bytes are not a request.
pub fn parse(bytes: &[u8], spans: &mut Vec<ArgumentSpan>) -> Result<Option<usize>, ReplyError> {
    spans.clear();
    match bytes.first() {
        None => Ok(None),
        Some(b'*') => parse_array(bytes, spans),
        Some(_) => parse_inline(bytes, spans),
    }
}

fn parse_array(bytes: &[u8], spans: &mut Vec<ArgumentSpan>) -> Result<Option<usize>, ReplyError> {
    let Some((count, mut at)) = header(bytes, 0, "mbulk")? else { return Ok(None) };
    let count = count
        .filter(|count| *count <= MAX_ARGUMENTS)
        .ok_or_else(|| no_request("invalid multibulk length"))?;
    for _ in 0..count {
        match bytes.get(at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(no_request(&format!("expected '$', got '{}'", char::from(*other)))),
        }
        let Some((length, start)) = header(bytes, at, "bulk")? else { return Ok(None) };
        let length = length.and_then(|length| usize::try_from(length).ok());
        let length =
            length.filter(|length| *length <= MAX_BULK).ok_or_else(|| no_request("invalid bulk length"))?;
        // As in Redis, the two bytes after an argument are skipped without a check.
        let end = start + length;
        at = end + 2;
        if bytes.len() < at {
            return Ok(None);
        }
        spans.push(start..end);
    }
    Ok(Some(at))
}

/// Parses the line at `at`. Returns the number after the line's first byte, and the position of the next line. Returns
/// `None` if the line is incomplete.
fn header(bytes: &[u8], at: usize, what: &'static str) -> Result<Option<(Option<i64>, usize)>, ReplyError> {
    let rest = &bytes[at..];
    match memchr(b'\n', rest) {
        Some(length) if length <= MAX_LINE => {
            let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
            Ok(Some((number(&line[1..]), at + length + 1)))
        }
        None if rest.len() <= MAX_LINE => Ok(None),
        _ => Err(no_request(&format!("too big {what} count string"))),
    }
}

fn parse_inline(bytes: &[u8], spans: &mut Vec<ArgumentSpan>) -> Result<Option<usize>, ReplyError> {
    let end = memchr(b'\n', bytes);
    if end.unwrap_or(bytes.len()) > MAX_LINE {
        return Err(no_request("too big inline request"));
    }
    let Some(length) = end else { return Ok(None) };
    let mut start = 0;
    for word in bytes[..length].split(u8::is_ascii_whitespace) {
        let end = start + word.len();
        if start < end {
            spans.push(start..end);
        }
        start = end + 1;
    }
    Ok(Some(length + 1))
}

/// Parses a decimal integer with an optional minus sign. A plus sign, spaces and leading zeros are refused.
pub fn number(digits: &[u8]) -> Option<i64> {
    // The digits are parsed by hand, because every argument of every request needs this code.
    if let [first @ b'1'..=b'9', rest @ ..] = digits
        && rest.len() < 18
    {
        return rest.iter().try_fold(i64::from(first - b'0'), |n, digit| {
            digit.is_ascii_digit().then(|| n * 10 + i64::from(digit - b'0'))
        });
    }
    match digits {
        b"0" => Some(0),
        [b'+' | b'0', ..] | [b'-', b'0', ..] => None,
        _ => std::str::from_utf8(digits).ok()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses `bytes` in pieces that end at `cuts`, and returns the requests.
    fn requests(bytes: &[u8], cuts: &[usize]) -> Result<Vec<Vec<Vec<u8>>>, ReplyError> {
        let (mut start, mut spans, mut found) = (0, Vec::new(), Vec::new());
        for &end in cuts.iter().chain([&bytes.len()]) {
            while start < end {
                let Some(length) = parse(&bytes[start..end], &mut spans)? else { break };
                let arguments = RequestArguments { bytes: &bytes[start..], spans: &spans };
                found.push(arguments.from(0).map(<[u8]>::to_vec).collect());
                start += length;
            }
        }
        assert_eq!(start, bytes.len(), "a whole request was not taken");
        Ok(found)
    }

    fn encode(request: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
        for arg in request {
            bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            bytes.extend_from_slice(arg);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }

    proptest! {
        #[test]
        fn requests_read_the_same_however_the_bytes_are_cut(
            sent in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..5), 1..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let bytes: Vec<u8> = sent.iter().flat_map(|request| encode(request)).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.sort_unstable();
            prop_assert_eq!(requests(&bytes, &cuts).unwrap(), sent.clone());
            let every_byte: Vec<usize> = (1..bytes.len()).collect();
            prop_assert_eq!(requests(&bytes, &every_byte).unwrap(), sent);
        }

        #[test]
        fn no_bytes_make_the_parser_panic_or_read_past_its_input(
            bytes in prop::collection::vec(prop_oneof![Just(b'*'), Just(b'$'), Just(b'\r'), Just(b'\n'), Just(b'"'),
                                                       Just(b'1'), Just(b'-'), any::<u8>()], 0..60),
        ) {
            let mut spans = Vec::new();
            for end in 0..=bytes.len() {
                match parse(&bytes[..end], &mut spans) {
                    Ok(None) => {}
                    Ok(Some(length)) => { prop_assert!(length <= end && spans.iter().all(|span| span.end <= end)); break }
                    Err(_) => break,
                }
            }
        }
    }

    #[test]
    fn inline_commands_and_arrays_mix_in_one_pipeline() {
        let bytes = b"PING\r\n*1\r\n$4\r\nPING\r\n\r\nSET  a\tb \n*0\r\nGET a\r\n";
        let every_byte: Vec<usize> = (1..bytes.len()).collect();
        let words: Vec<Vec<Vec<u8>>> =
            [vec!["PING"], vec!["PING"], vec![], vec!["SET", "a", "b"], vec![], vec!["GET", "a"]]
                .iter()
                .map(|request| request.iter().map(|word| word.as_bytes().to_vec()).collect())
                .collect();
        assert_eq!(requests(bytes, &[]).unwrap(), words);
        assert_eq!(requests(bytes, &every_byte).unwrap(), words);
    }

    #[test]
    fn invalid_requests_are_refused_with_the_messages_of_redis() {
        let long = [b"*".as_slice(), &[b'1'; MAX_LINE + 1]].concat();
        let cases: [(&[u8], &str); 10] = [
            (b"*a\r\n", "ERR Protocol error: invalid multibulk length"),
            (b"*1048577\r\n", "ERR Protocol error: invalid multibulk length"),
            (b"*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length"),
            (b"*1\r\nfoo\r\n", "ERR Protocol error: expected '$', got 'f'"),
            (b"*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"),
            (b"*1\r\n$abc\r\n", "ERR Protocol error: invalid bulk length"),
            (b"*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length"),
            (&[b'a'; MAX_LINE + 1], "ERR Protocol error: too big inline request"),
            (&long, "ERR Protocol error: too big mbulk count string"),
            (
                &[b"*1\r\n$".as_slice(), &[b'1'; MAX_LINE + 1]].concat(),
                "ERR Protocol error: too big bulk count string",
            ),
        ];
        for (bytes, words) in cases {
            let error = requests(bytes, &[]).expect_err(words);
            assert_eq!(error.0, words);
        }
    }

    #[test]
    fn numbers_are_read_strictly() {
        for (digits, n) in [("0", 0), ("7", 7), ("-12", -12), ("9223372036854775807", i64::MAX)] {
            assert_eq!(number(digits.as_bytes()), Some(n));
        }
        for bad in ["", "+1", "01", "-0", "1 ", " 1", "1a", "9223372036854775808", "-"] {
            assert_eq!(number(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
