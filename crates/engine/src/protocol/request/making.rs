//! Converts a command into a template of requests: pieces that stay the same, and slots.

use super::{BLOCK, NextSlot, RareSlot, TemplatePiece, append_number};
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
            LayoutElement::Plain(part) => self.add_part(part),
            LayoutElement::Measured(head, parts) => self.add_measured(head, parts),
            LayoutElement::Key(parts, is_good) => self.end_slot(RareSlot::Key(parts, is_good)),
        }
    }

    fn add_measured(&mut self, head: ArgumentHead, parts: Vec<ArgumentPart>) {
        match (parts.iter().map(ArgumentPart::length).sum::<Option<usize>>(), parts.as_slice()) {
            (Some(length), _) => {
                match head {
                    ArgumentHead::Bulk => resp::append_header(b'$', length, &mut self.bytes),
                    ArgumentHead::Line(between) => {
                        self.bytes.push(b' ');
                        append_number(length as u64, &mut self.bytes);
                        between.into_iter().for_each(|part| self.add_part(part));
                    }
                }
                parts.into_iter().for_each(|part| self.add_part(part));
            }
            (None, [ArgumentPart::Value { kind, .. }]) => self.end_slot(RareSlot::Sized(head, *kind)),
            (None, [ArgumentPart::Number(source)]) if matches!(head, ArgumentHead::Bulk) => {
                self.end_slot(RareSlot::SizedNumber(*source));
            }
            (None, _) => self.end_slot(RareSlot::Argument(head, parts)),
        }
    }

    fn add_part(&mut self, part: ArgumentPart) {
        match part {
            ArgumentPart::Text(text) => self.bytes.extend(text),
            ArgumentPart::Digits(source) => {
                self.digits.push((self.bytes.len(), source));
                self.bytes.extend_from_slice(&[b'0'; KEY_DIGITS]);
            }
            ArgumentPart::Value { kind, .. } => self.end_piece(NextSlot::Value(kind)),
            number => self.end_slot(RareSlot::Plain(number)),
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
