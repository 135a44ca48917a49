//! Converts the layout of commands into the pieces and slots of a template.

use super::{BLOCK, Fragment, OfKey, Piece, Slot, Then, append_number};
use crate::protocol::{
    Part,
    digits::KEY_DIGITS,
    request_parts::{Head, Laid},
    resp,
};

/// A template that is being built.
#[derive(Default)]
pub(super) struct Making {
    pub(super) pieces: Vec<Piece>,
    /// The bytes of the piece that is being built.
    bytes: Vec<u8>,
    digits: Vec<(usize, u16)>,
}

impl Making {
    pub(super) fn add(&mut self, laid: Laid) {
        match laid {
            Laid::Bytes(bytes) => self.bytes.extend(bytes),
            Laid::Plain(part) => self.add_part(part),
            Laid::Measured(head, parts) => self.add_measured(head, &parts),
            Laid::Key(parts, is_good) => {
                self.end_slot(Slot::Key(parts.iter().map(Fragment::of).collect(), is_good));
            }
        }
    }

    fn add_measured(&mut self, head: Head<Part>, parts: &[Part]) {
        match (parts.iter().map(Part::length).sum::<Option<usize>>(), parts) {
            (Some(length), _) => {
                match head {
                    Head::Bulk => resp::append_header(b'$', length, &mut self.bytes),
                    Head::Line(between) => {
                        self.bytes.push(b' ');
                        append_number(length as u64, &mut self.bytes);
                        between.into_iter().for_each(|part| self.add_part(part));
                    }
                }
                parts.iter().for_each(|part| self.add_part(*part));
            }
            (None, [Part::Value { kind, .. }]) => self.end_slot(Slot::Sized(head.fragments(), *kind)),
            (None, [Part::Number(source)]) if matches!(head, Head::Bulk) => {
                self.end_slot(Slot::SizedNumber(*source));
            }
            (None, _) => {
                let fragments = parts.iter().map(Fragment::of).collect();
                self.end_slot(Slot::Argument(head.fragments(), fragments));
            }
        }
    }

    fn add_part(&mut self, part: Part) {
        match part {
            Part::Text(text) => self.bytes.extend_from_slice(text),
            Part::Digits(source) => {
                self.digits.push((self.bytes.len(), source));
                self.bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
            }
            Part::Value { kind, .. } => self.end_piece(Then::Value(kind)),
            number => self.end_slot(Slot::Plain(Fragment::of(&number))),
        }
    }

    fn end_slot(&mut self, slot: Slot) {
        self.end_piece(Then::Slot(Box::new(slot)));
    }

    pub(super) fn end_piece(&mut self, then: Then) {
        let length = self.bytes.len();
        self.bytes.resize(length.next_multiple_of(BLOCK), 0);
        let blocks = std::mem::take(&mut self.bytes).as_chunks().0.to_vec();
        self.pieces.push(Piece { blocks, length, digits: std::mem::take(&mut self.digits), then });
    }
}

impl Head<Part<'_>> {
    fn fragments(&self) -> Head<Fragment> {
        match self {
            Self::Bulk => Head::Bulk,
            Self::Line(parts) => Head::Line(parts.iter().map(Fragment::of).collect()),
        }
    }
}

impl Fragment {
    fn of(part: &Part) -> Self {
        match *part {
            Part::Text(text) => Self::Text(text.to_vec()),
            Part::Digits(source) => Self::Digits(source),
            Part::Number(source) => Self::Number(source),
            Part::Padded(source, least) => Self::Padded(source, least),
            Part::Derived(key, derived) => {
                Self::OfKey(OfKey::new(key, derived.with_field(|field| field.to_vec())))
            }
            Part::Value { kind, .. } => Self::Value(kind),
            Part::Awaited => Self::Awaited,
        }
    }
}
