//! Changing a value in place.

use std::ops::{Deref, DerefMut};

use super::{Database, Value};

/// A value that is being changed. When this goes, its bytes are counted anew, and a collection that was emptied is
/// removed with its key.
#[derive(Debug)]
pub struct Edit<'a> {
    database: &'a mut Database,
    place: u32,
}

impl<'a> Edit<'a> {
    /// Changes the value at `place`, which must be occupied.
    pub(super) fn new(database: &'a mut Database, place: u32) -> Self {
        Self { database, place }
    }
}

impl Deref for Edit<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.database.value(self.place)
    }
}

impl DerefMut for Edit<'_> {
    fn deref_mut(&mut self) -> &mut Value {
        self.database.value_mut(self.place)
    }
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        self.database.settle(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptied_list_is_gone_and_a_grown_one_is_counted() {
        let mut database = Database::default();
        let new = || Value::List(Box::default());
        database.edit_or(b"l", new).as_list_mut().unwrap().push_back(&[0; 1000]);
        assert!(database.bytes() > 1000);
        database.edit(b"l").unwrap().as_list_mut().unwrap().pop_back();
        assert_eq!((database.len(), database.bytes()), (0, 0));
        assert!(database.edit(b"l").is_none());
        drop(database.edit_or(b"l", new));
        assert_eq!(database.len(), 0, "a list that nothing was added to is not kept");
    }
}
