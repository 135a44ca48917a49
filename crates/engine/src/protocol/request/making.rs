//! Converts a command into a template of requests: pieces that stay the same, and slots.

use super::{BLOCK, DerivedSlot, NextSlot, RareSlot, SlotPart, TemplatePiece, append_number};
use crate::protocol::{
    ArgumentPart,
    digits::KEY_DIGITS,
    request_parts::{ArgumentHead, LayoutElement},
    resp,
};

/// A template that is being built.
#[derive(Default)]
pub(super) struct TemplateBuilder {
    pub(super) pieces: Vec<TemplatePiece>,
    /// The bytes of the piece that is being built.
    bytes: Vec<u8>,
    digits: Vec<(usize, u16)>,
}

impl TemplateBuilder {
    pub(super) fn add(&mut self, laid: LayoutElement) {
        match laid {
            LayoutElement::Bytes(bytes) => self.bytes.extend(bytes),
            LayoutElement::Plain(part) => self.add_part(part),
            LayoutElement::Measured(head, parts) => self.add_measured(head, &parts),
            LayoutElement::Key(parts, is_good) => {
                self.end_slot(RareSlot::Key(parts.iter().map(SlotPart::of).collect(), is_good));
            }
        }
    }

    fn add_measured(&mut self, head: ArgumentHead<ArgumentPart>, parts: &[ArgumentPart]) {
        match (parts.iter().map(ArgumentPart::length).sum::<Option<usize>>(), parts) {
            (Some(length), _) => {
                match head {
                    ArgumentHead::Bulk => resp::append_header(b'$', length, &mut self.bytes),
                    ArgumentHead::Line(between) => {
                        self.bytes.push(b' ');
                        append_number(length as u64, &mut self.bytes);
                        between.into_iter().for_each(|part| self.add_part(part));
                    }
                }
                parts.iter().for_each(|part| self.add_part(*part));
            }
            (None, [ArgumentPart::Value { kind, .. }]) => {
                self.end_slot(RareSlot::Sized(head.fragments(), *kind));
            }
            (None, [ArgumentPart::Number(source)]) if matches!(head, ArgumentHead::Bulk) => {
                self.end_slot(RareSlot::SizedNumber(*source));
            }
            (None, _) => {
                let fragments = parts.iter().map(SlotPart::of).collect();
                self.end_slot(RareSlot::Argument(head.fragments(), fragments));
            }
        }
    }

    fn add_part(&mut self, part: ArgumentPart) {
        match part {
            ArgumentPart::Text(text) => self.bytes.extend_from_slice(text),
            ArgumentPart::Digits(source) => {
                self.digits.push((self.bytes.len(), source));
                self.bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
            }
            ArgumentPart::Value { kind, .. } => self.end_piece(NextSlot::Value(kind)),
            number => self.end_slot(RareSlot::Plain(SlotPart::of(&number))),
        }
    }

    fn end_slot(&mut self, slot: RareSlot) {
        self.end_piece(NextSlot::Slot(Box::new(slot)));
    }

    pub(super) fn end_piece(&mut self, then: NextSlot) {
        let length = self.bytes.len();
        self.bytes.resize(length.next_multiple_of(BLOCK), 0);
        let blocks = std::mem::take(&mut self.bytes).as_chunks().0.to_vec();
        self.pieces.push(TemplatePiece { blocks, length, digits: std::mem::take(&mut self.digits), then });
    }
}

impl ArgumentHead<ArgumentPart<'_>> {
    fn fragments(&self) -> ArgumentHead<SlotPart> {
        match self {
            Self::Bulk => ArgumentHead::Bulk,
            Self::Line(parts) => ArgumentHead::Line(parts.iter().map(SlotPart::of).collect()),
        }
    }
}

impl SlotPart {
    fn of(part: &ArgumentPart) -> Self {
        match *part {
            ArgumentPart::Text(text) => Self::Text(text.to_vec()),
            ArgumentPart::Digits(source) => Self::Digits(source),
            ArgumentPart::Number(source) => Self::Number(source),
            ArgumentPart::Padded(source, least) => Self::Padded(source, least),
            ArgumentPart::Derived(key, derived) => {
                Self::OfKey(DerivedSlot::new(key, derived.with_field(|field| field.to_vec())))
            }
            ArgumentPart::Value { kind, .. } => Self::Value(kind),
            ArgumentPart::Awaited => Self::Awaited,
        }
    }
}
