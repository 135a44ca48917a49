//! The types of value. Each knows its size in bytes without walking over its members.

use super::{Hash, List, Set, SortedSet, Stream};

/// What one member costs beside its own bytes; a rough figure, pointers and table share.
const MEMBER: usize = 32;

/// The value of a key.
#[derive(Debug)]
pub enum Value {
    /// Bytes.
    String(Vec<u8>),
    /// A list.
    List(Box<List>),
    /// Fields and their values.
    Hash(Box<Hash>),
    /// Members.
    Set(Box<Set>),
    /// Members by score.
    SortedSet(Box<SortedSet>),
    /// An append-only log.
    Stream(Box<Stream>),
}

impl Value {
    /// Bytes that it holds.
    pub fn size(&self) -> usize {
        match self {
            Self::String(bytes) => bytes.capacity(),
            Self::List(list) => list.bytes + list.len() * MEMBER,
            Self::Hash(hash) => hash.bytes + hash.len() * 2 * MEMBER,
            Self::Set(set) => set.bytes + set.len() * MEMBER,
            Self::SortedSet(set) => set.bytes + set.len() * 3 * MEMBER,
            Self::Stream(stream) => stream.bytes + stream.len() * 2 * MEMBER,
        }
    }

    /// Whether it is a collection without members, which Redis removes. Strings and streams may be empty.
    pub fn is_emptied(&self) -> bool {
        match self {
            Self::String(_) | Self::Stream(_) => false,
            collection => collection.size() == 0,
        }
    }
}

/// A type of value.
pub trait Kind: Default {
    /// The value as this type, if it is of it.
    fn of(value: &Value) -> Option<&Self>;
    /// The same to change.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// A value of this type.
    fn wrap(self) -> Value;
    /// How many bytes or members there are.
    fn len(&self) -> usize;
}

macro_rules! kinds {
    ($($variant:ident $type:ty, $len:expr;)*) => {$(
        impl Kind for $type {
            fn of(value: &Value) -> Option<&Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                if let Value::$variant(value) = value { Some(value) } else { None }
            }

            fn wrap(self) -> Value {
                Value::$variant(self.into())
            }

            fn len(&self) -> usize {
                let len: fn(&Self) -> usize = $len;
                len(self)
            }
        }
    )*};
}

kinds! {
    String Vec<u8>, Vec::len;
    List List, |list| list.items.len();
    Hash Hash, |hash| hash.fields.len();
    Set Set, |set| set.members.len();
    SortedSet SortedSet, |set| set.scores.len();
    Stream Stream, |stream| stream.entries.len();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_small_and_refuses_the_wrong_type() {
        assert!(size_of::<Value>() <= 24, "{} bytes", size_of::<Value>());
        let value = b"a".to_vec().wrap();
        assert!(Vec::<u8>::of(&value).is_some() && List::of(&value).is_none());
        assert!(List::default().wrap().is_emptied() && !Vec::default().wrap().is_emptied());
    }
}
