//! Computes the share and the mean size of each operation of a workload, for the preview of a load.

use super::Program;
use crate::workload::{DatasetError, Draws, OutgoingRequests};

/// An operation is drawn at least `FEWEST_DRAWS` times to compute its mean length. After more than `ENOUGH_BYTES`
/// bytes, further draws are not needed.
const FEWEST_DRAWS: u64 = 20;
const ENOUGH_BYTES: usize = 256 * 1024;

/// The share and the mean size of an operation.
pub(in crate::workload) struct OperationFigures {
    /// The operation's index.
    pub(in crate::workload) place: usize,
    /// The operation's share of all operations, 0 to 1.
    pub(in crate::workload) share: f64,
    /// The mean number of bytes on the wire.
    pub(in crate::workload) bytes: f64,
    /// Whether the keys of a drawn request had different slots.
    pub(in crate::workload) crosses_slots: bool,
}

impl Program {
    /// Returns the share and the mean size of each operation, computed from at most `of` draws. In a prefill, the draws
    /// are spread over all keys. If `of` draws are enough for a pass over the dataset, the function draws only complete
    /// passes.
    ///
    /// # Errors
    /// Fails if a record cannot be read.
    pub(in crate::workload) fn operation_figures(
        &self,
        of: u64,
        draws: &mut Draws,
    ) -> Result<Vec<OperationFigures>, DatasetError> {
        if let Some(traced) = &self.traced {
            let sums = traced.sums();
            let all: u64 = sums.iter().map(|(count, _)| count).sum();
            let weighed = sums.into_iter().enumerate().map(|(place, (count, bytes))| OperationFigures {
                place,
                share: count as f64 / all as f64,
                bytes: bytes as f64 / count.max(1) as f64,
                crosses_slots: false,
            });
            return Ok(weighed.collect());
        }
        let records = self.dataset.as_ref().map_or(1, |dataset| dataset.records);
        let of = of - of % records.min(of);
        let is_drawn = self.dataset.is_none() && self.templates.firsts.is_empty();
        let mut before = 0;
        let weighed = self.templates.asked.iter().enumerate().map(|(place, asked)| {
            let (weight, mut bytes, mut crosses_slots) = (asked.0 - before, 0, false);
            before = asked.0;
            let (first, each) = self.templates.firsts.get(place).copied().unwrap_or_default();
            let mut drawn = 0;
            for n in 0..of {
                // The length of a batch of many commands varies little.
                if is_drawn && n >= FEWEST_DRAWS && bytes > ENOUGH_BYTES {
                    break;
                }
                drawn += 1;
                let mut out = OutgoingRequests::default();
                let given = first + each * (u128::from(weight) * u128::from(n) / u128::from(of)) as u64;
                self.fill(asked, given, draws, &mut out);
                if let Some(failure) = out.failure() {
                    return Err(failure.clone());
                }
                bytes += out.length_in_all();
                crosses_slots |= self.templates.keys[asked.1.index()].cross_slots(&out);
            }
            let share = weight as f64 / self.templates.total as f64;
            Ok(OperationFigures {
                place: asked.1.index(),
                share,
                bytes: bytes as f64 / f64::from(drawn.max(1)),
                crosses_slots,
            })
        });
        weighed.collect()
    }
}
