//! Tests of request templates.

use super::*;
use crate::protocol::KEY_DIGITS;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Fills slots with known sequences. The numbers of source n are 10·n, 10·n+1, and so on. Each value of kind n is n
/// bytes longer than the previous value.
#[derive(Default)]
struct Counting([u64; 4], usize);

impl FillSlots for Counting {
    type Value = &'static str;

    fn number(&mut self, source: u16) -> u64 {
        let count = &mut self.0[usize::from(source)];
        *count += 1;
        *count - 1 + 10 * u64::from(source)
    }

    fn value(&mut self, kind: u16) -> (&'static str, usize) {
        self.1 += 1;
        let length = 3 + usize::from(kind) * self.1;
        (&"abcdefghijklm"[..length], length)
    }

    fn write(&mut self, value: &'static str, out: &mut Vec<u8>) -> usize {
        out.extend_from_slice(value.as_bytes());
        0
    }

    fn await_number(&mut self, _: usize) {}

    fn moved(&mut self, _: usize, _: usize, _: usize) {}

    fn refuse(&mut self, _: &[u8]) {}
}

const THREE: ArgumentPart = ArgumentPart::Value { kind: 0, size: Some(3) };
const DRAWN: ArgumentPart = ArgumentPart::Value { kind: 4, size: None };

fn filled(times: usize, commands: &[Vec<Vec<ArgumentPart>>]) -> String {
    let (template, mut fill, mut out) =
        (Template::new(Dialect::Resp2, commands).unwrap(), Counting::default(), Vec::new());
    (0..times).for_each(|_| template.append(&mut fill, &mut out));
    text(&out)
}

fn word(text: &str) -> Vec<ArgumentPart> {
    vec![ArgumentPart::text(text)]
}

#[test]
fn key_and_value_slots_are_filled_in_each_request() {
    let key = vec![ArgumentPart::text(b"k:"), ArgumentPart::Digits(1)];
    assert_eq!(
        filled(2, &[vec![word("SET"), key, vec![THREE]]]),
        "*3\r\n$3\r\nSET\r\n$14\r\nk:000000000010\r\n$3\r\nabc\r\n\
         *3\r\n$3\r\nSET\r\n$14\r\nk:000000000011\r\n$3\r\nabc\r\n"
    );
}

#[test]
fn slots_may_be_in_any_order_and_inside_text_and_may_repeat() {
    let json = vec![ArgumentPart::text(b"<"), THREE, ArgumentPart::text(b">"), ArgumentPart::Digits(0)];
    let mixed = vec![ArgumentPart::text(b"n"), ArgumentPart::Number(1), THREE, ArgumentPart::Digits(0)];
    assert_eq!(
        filled(
            1,
            &[vec![
                json,
                vec![ArgumentPart::Number(1)],
                mixed,
                vec![ArgumentPart::Digits(2), ArgumentPart::Digits(2)]
            ]]
        ),
        "*4\r\n$17\r\n<abc>000000000000\r\n$2\r\n10\r\n$18\r\nn11abc000000000001\r\n\
         $24\r\n000000000020000000000021\r\n"
    );
}

#[test]
fn a_random_length_precedes_its_argument() {
    let words = vec![word("SET"), vec![DRAWN], word("EX"), vec![ArgumentPart::Number(3)]];
    let mixed =
        vec![vec![ArgumentPart::text(b"<"), DRAWN, ArgumentPart::Digits(0), ArgumentPart::text(b">")]];
    assert_eq!(
        filled(1, &[words, mixed]),
        "*4\r\n$3\r\nSET\r\n$7\r\nabcdefg\r\n$2\r\nEX\r\n$2\r\n30\r\n\
         *1\r\n$25\r\n<abcdefghijk000000000000>\r\n"
    );
}

#[test]
fn a_padded_number_has_at_least_its_number_of_digits() {
    let key = |digits| vec![ArgumentPart::text(b"k"), ArgumentPart::Padded(1, digits)];
    assert_eq!(
        filled(1, &[vec![key(4), key(1), vec![ArgumentPart::Padded(1, 20)]]]),
        "*3\r\n$5\r\nk0010\r\n$3\r\nk11\r\n$20\r\n00000000000000000012\r\n"
    );
}

#[test]
fn several_commands_are_sent_together() {
    assert_eq!(
        filled(
            1,
            &[vec![word("MULTI")], vec![word("INCR"), vec![ArgumentPart::Digits(0)]], vec![word("EXEC")]]
        ),
        "*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$12\r\n000000000000\r\n*1\r\n$4\r\nEXEC\r\n"
    );
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let (template, mut out) = (Template::raw(b"PING\r\n"), Vec::new());
    (0..2).for_each(|_| template.append(&mut Counting::default(), &mut out));
    assert_eq!(text(&out), "PING\r\nPING\r\n");
}

#[test]
fn a_piece_of_any_length_is_whole() {
    for length in [0, 1, 40, 55, 56, 57, 64, 119, 120, 200] {
        let prefix = "k".repeat(length);
        let key = vec![ArgumentPart::text(prefix.as_str()), ArgumentPart::Digits(0)];
        let expected = format!("*2\r\n$3\r\nGET\r\n${}\r\n{prefix}000000000000\r\n", length + KEY_DIGITS);
        assert_eq!(filled(1, &[vec![word("GET"), key]]), expected);
    }
}
