//! The work that the intrinsic probe's busy loop repeats.
//!
//! The work must take the same time in each turn. The work must also fit into the first-level cache, and the compiler
//! must not optimise the work away.

use std::hint::black_box;

/// The number of steps of a turn. A turn takes some 50 ns, with one clock reading and one histogram update. A turn of
/// redis-cli takes equally long. The compiler removes the thousand steps in redis-cli's source, because these steps
/// have no effect. The text "x longer than the average" therefore has the same meaning in redis-cli and redyno.
const STEPS: usize = 16;

/// A table of all byte values that is shuffled as in the RC4 cipher. Each step depends on the previous step, so the
/// processor cannot execute several steps at once.
pub(super) struct Shuffle {
    table: [u8; 256],
    i: u8,
    j: u8,
}

impl Shuffle {
    /// Creates a table with the byte values in ascending order.
    pub(super) fn new() -> Self {
        let mut table = [0; 256];
        for (value, cell) in (0..=u8::MAX).zip(&mut table) {
            *cell = value;
        }
        Self { table, i: 0, j: 0 }
    }

    /// Does one turn's work.
    #[inline]
    pub(super) fn work(&mut self) {
        for _ in 0..STEPS {
            self.i = self.i.wrapping_add(1);
            self.j = self.j.wrapping_add(self.table[usize::from(self.i)]);
            self.table.swap(usize::from(self.i), usize::from(self.j));
        }
        black_box(&mut self.table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_stirs_the_table_and_loses_no_value() {
        let mut turn = Shuffle::new();
        let before = turn.table;
        turn.work();
        assert_ne!(turn.table, before);
        turn.table.sort_unstable();
        assert_eq!(turn.table, before);
    }
}
