//! A reply of any type, independent of the client library fred.

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Datum {
    Number(i64),
    Text(String),
    List(Vec<Datum>),
    /// Null, or a type that no command sent by redyno returns.
    Other,
}

impl Datum {
    pub(super) fn list(&self) -> Option<&[Self]> {
        if let Self::List(parts) = self { Some(parts) } else { None }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::List(_) | Self::Other => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}
