//! Encodes the built-in server's replies as RESP2 or RESP3, depending on the connection.
//!
//! RESP2 has no null, map, set, double or verbatim string. As in Redis, a RESP2 client gets a null bulk
//! string for null, a flat array for a map, and an array for a set. For a double or a verbatim string, the
//! client gets a bulk string.
//!
//! The error replies have the messages of Redis.

use std::borrow::Cow;

/// The version of the wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RespProtocol {
    /// RESP2, used until the client requests RESP3 with HELLO.
    #[default]
    Resp2,
    /// RESP3.
    Resp3,
}

impl RespProtocol {
    /// Returns the number of the version in HELLO, 2 or 3.
    pub fn version(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Writes a reply: appends its values to the output for a client.
pub struct ReplyWriter<'a> {
    bytes: &'a mut Vec<u8>,
    /// The format of values.
    pub protocol: RespProtocol,
}

impl<'a> ReplyWriter<'a> {
    /// Creates a reply that is appended to `bytes`.
    pub fn new(bytes: &'a mut Vec<u8>, protocol: RespProtocol) -> Self {
        Self { bytes, protocol }
    }

    /// Returns the writer of a reply inside this reply, such as the reply of a command inside the reply of EXEC.
    pub fn part(&mut self, protocol: RespProtocol) -> ReplyWriter<'_> {
        ReplyWriter { bytes: self.bytes, protocol }
    }

    /// Returns the length of the whole output that waits for the client, in bytes, including this reply.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Removes the output after its first `length` bytes.
    pub fn cut_to(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// Writes a status, `+OK`.
    pub fn status(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// Writes `+OK`.
    pub fn ok(&mut self) {
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// Writes an error. Line ends in the message become spaces, because a line end would end the reply.
    pub fn error(&mut self, message: &str) {
        self.line(b'-', message.replace(['\r', '\n'], " ").as_bytes());
    }

    /// Writes an integer.
    pub fn integer(&mut self, n: i64) {
        self.number(b':', n);
    }

    /// Writes a count.
    pub fn count(&mut self, n: usize) {
        self.number(b':', n);
    }

    /// Writes a bulk string.
    pub fn bulk(&mut self, value: &[u8]) {
        self.bytes.reserve(value.len() + 24);
        self.number(b'$', value.len());
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Writes a value that is encoded already.
    pub fn encoded(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    /// Writes a text as a bulk string.
    pub fn text(&mut self, value: &str) {
        self.bulk(value.as_bytes());
    }

    /// Writes `value` as a bulk string, or null if there is no value.
    pub fn bulk_or_null(&mut self, value: Option<&[u8]>) {
        match value {
            Some(value) => self.bulk(value),
            None => self.null(),
        }
    }

    /// Writes the null value.
    pub fn null(&mut self) {
        let null: &[u8] = self.either(b"$-1\r\n", b"_\r\n");
        self.bytes.extend_from_slice(null);
    }

    /// Writes the null array.
    pub fn null_array(&mut self) {
        let null: &[u8] = self.either(b"*-1\r\n", b"_\r\n");
        self.bytes.extend_from_slice(null);
    }

    fn either<T>(&self, resp2: T, resp3: T) -> T {
        if self.protocol == RespProtocol::Resp2 { resp2 } else { resp3 }
    }

    /// Begins an array of `n` values.
    pub fn array(&mut self, n: usize) {
        self.number(b'*', n);
    }

    /// Begins a push message of `n` values, which is not a reply to a request.
    pub fn push(&mut self, n: usize) {
        self.number(self.either(b'*', b'>'), n);
    }

    /// Begins a map of `n` pairs.
    pub fn map(&mut self, n: usize) {
        self.number(self.either(b'*', b'%'), self.either(2 * n, n));
    }

    /// Begins a set of `n` members.
    pub fn set(&mut self, n: usize) {
        self.number(self.either(b'*', b'~'), n);
    }

    /// Writes a floating-point number.
    pub fn double(&mut self, value: f64) {
        let text = value.to_string();
        match self.protocol {
            RespProtocol::Resp2 => self.text(&text),
            RespProtocol::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// Writes a verbatim string, a text for users.
    pub fn verbatim(&mut self, text: &str) {
        match self.protocol {
            RespProtocol::Resp2 => self.text(text),
            RespProtocol::Resp3 => {
                self.number(b'=', text.len() + 4);
                self.bytes.extend_from_slice(b"txt:");
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn number(&mut self, kind: u8, n: impl itoa::Integer) {
        self.line(kind, itoa::Buffer::new().format(n).as_bytes());
    }
}

/// An error reply, without the leading `-`. The first word of the text is the error's prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError(pub Cow<'static, str>);

impl ReplyError {
    /// The key holds a value of another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The request has unknown or contradictory options.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// An argument is not an integer.
    pub const NOT_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// An argument is not a number.
    pub const NOT_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// A count is negative.
    pub const NOT_POSITIVE: Self = Self::fixed("ERR value is out of range, must be positive");

    /// Returns an error with this text, which includes the prefix.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// Returns an error with this text, which includes the prefix.
    pub fn other(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// Returns the error for too few or too many arguments. `config|get` names a subcommand.
    pub fn arity(command: &str) -> Self {
        Self::other(format!("ERR wrong number of arguments for '{command}' command"))
    }

    /// Returns the error for an expiry time that is zero, negative or too far away.
    pub fn expire_time(command: &str) -> Self {
        Self::other(format!("ERR invalid expire time in '{command}' command"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: RespProtocol, write: impl Fn(&mut ReplyWriter<'_>)) -> String {
        let mut bytes = Vec::new();
        write(&mut ReplyWriter::new(&mut bytes, protocol));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn each_value_has_the_form_of_its_protocol() {
        type Case = (fn(&mut ReplyWriter<'_>), &'static str, &'static str);
        let cases: [Case; 10] = [
            (|r| r.null(), "$-1\r\n", "_\r\n"),
            (|r| r.null_array(), "*-1\r\n", "_\r\n"),
            (|r| r.map(2), "*4\r\n", "%2\r\n"),
            (|r| r.set(2), "*2\r\n", "~2\r\n"),
            (|r| r.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n"),
            (|r| r.double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n"),
            (|r| r.verbatim("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
            (|r| r.integer(-3), ":-3\r\n", ":-3\r\n"),
            (|r| r.bulk(b"a\r\n"), "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"),
            (|r| r.status("PONG"), "+PONG\r\n", "+PONG\r\n"),
        ];
        for (write, resp2, resp3) in cases {
            assert_eq!(written(RespProtocol::Resp2, write), resp2);
            assert_eq!(written(RespProtocol::Resp3, write), resp3);
        }
    }

    #[test]
    fn a_line_end_in_an_error_cannot_end_the_reply() {
        assert_eq!(written(RespProtocol::Resp2, |r| r.error("ERR a\r\nb")), "-ERR a  b\r\n");
    }
}
