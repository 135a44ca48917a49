//! Changing a value in place.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{Database, Kind};
use crate::demo::failure::Failure;

/// A value that is being changed. When this goes, its bytes are counted anew, and a collection that was emptied is
/// removed with its key.
#[derive(Debug)]
pub struct Edit<'a, T: Kind> {
    database: &'a mut Database,
    place: u32,
    kind: PhantomData<T>,
}

impl<'a, T: Kind> Edit<'a, T> {
    /// Changes the value at `place`, which must be occupied.
    ///
    /// # Errors
    /// When it is of another type.
    pub(super) fn new(database: &'a mut Database, place: u32) -> Result<Self, Failure> {
        T::of(database.value(place)).ok_or(Failure::WrongType)?;
        Ok(Self { database, place, kind: PhantomData })
    }
}

/// Its type does not change while it is being changed.
const CHECKED: &str = "the type was seen when the change began";

impl<T: Kind> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        T::of(self.database.value(self.place)).expect(CHECKED)
    }
}

impl<T: Kind> DerefMut for Edit<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        T::of_mut(self.database.value_mut(self.place)).expect(CHECKED)
    }
}

impl<T: Kind> Drop for Edit<'_, T> {
    fn drop(&mut self) {
        self.database.settle(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::super::List;
    use super::*;

    #[test]
    fn an_emptied_list_is_gone_and_a_grown_one_is_counted() {
        let mut database = Database::default();
        database.edit_or_new::<List>(b"l").unwrap().push_back(&[0; 1000]);
        assert!(database.bytes() > 1000);
        assert_eq!(database.edit::<Vec<u8>>(b"l").unwrap_err(), Failure::WrongType);
        database.edit::<List>(b"l").unwrap().unwrap().pop_back();
        assert_eq!((database.len(), database.bytes()), (0, 0));
        assert!(database.edit::<List>(b"l").unwrap().is_none());
        drop(database.edit_or_new::<List>(b"l").unwrap());
        assert_eq!(database.len(), 0, "a list that nothing was added to is not kept");
    }
}
