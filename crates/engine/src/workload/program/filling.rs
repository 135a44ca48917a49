//! Builds the requests of an operation of the workload. Takes the next record of the dataset, and fills the slots of
//! the templates.

use super::Program;
use crate::{
    protocol::Template,
    workload::{
        Draws, Insertions, OpId, OutgoingRequests,
        dataset::CurrentRecord,
        outgoing::{AwaitedNumber, LargeValue},
        slots::SlotFiller,
    },
};

impl Program {
    /// Appends `n` requests at once. The program must have only one operation. The requests of the operation must
    /// differ only in the numbers of their keys. Returns the number of the operation. In other cases, the function
    /// appends nothing and returns `None`.
    #[inline]
    pub fn append_alike(&self, n: u32, draws: &mut Draws, out: &mut OutgoingRequests) -> Option<OpId> {
        let [(_, op, template)] = self.templates.asked.as_slice() else { return None };
        let has_more = self.traced.is_some() || !self.ready.is_empty() || !self.templates.expected.is_empty();
        if has_more || !self.is_sent_at_once() || !template.has_only_digits(self.sources.sets.len()) {
            return None;
        }
        let noted = (&mut out.noted, &mut out.inserted, out.appended);
        let mut filling = self.filling(draws, &mut out.left_out, noted, &out.record);
        for _ in 0..n {
            template.append(&mut filling, &mut out.bytes);
        }
        out.appended += n;
        Some(*op)
    }

    /// Returns the first key of the turn that begins with the client's next operation, if the whole turn has one key.
    /// The key is empty if the turn has no key. Returns `None` if the client is within a turn.
    pub fn key_of_next_turn(&self, draws: &Draws) -> Option<Vec<u8>> {
        if !self.has_one_key_in_turn() || !draws.begins_turn() {
            return None;
        }
        let (mut ahead, mut out) = (draws.clone(), OutgoingRequests::default());
        let first = |_| {
            out.clear();
            let op = self.append(&mut ahead, &mut out);
            self.first_key(op, out.copied()).map(<[u8]>::to_vec)
        };
        Some((0..self.templates.total).find_map(first).unwrap_or_default())
    }

    #[inline]
    pub(super) fn fill(
        &self,
        (_, op, template): &(u64, OpId, Template),
        given: u64,
        draws: &mut Draws,
        out: &mut OutgoingRequests,
    ) -> OpId {
        if !self.has_record(*op, &mut out.record) {
            return *op;
        }
        let start = out.bytes.len();
        if let Some((_, set, ready)) = self.ready.iter().find(|(ready, ..)| ready == op) {
            let number = self.sources.sets[*set].choose(*set, draws);
            out.bytes.extend_from_slice(ready.get(number));
            out.appended += 1;
            return *op;
        }
        let mut filling = SlotFiller {
            given,
            ..self.filling(
                draws,
                &mut out.left_out,
                (&mut out.noted, &mut out.inserted, out.appended),
                &out.record,
            )
        };
        template.append(&mut filling, &mut out.bytes);
        let mut refused = filling.refused;
        if !self.templates.later.is_empty() && refused.is_none() {
            refused = self.append_later(*op, draws, out);
        }
        if !self.templates.expected.is_empty() {
            self.append_expected(*op, draws, out);
        }
        match refused {
            Some(key) => out.refuse(start, key),
            None => out.appended += 1,
        }
        *op
    }

    /// Returns the filler of the slots of one operation.
    #[inline]
    fn filling<'a>(
        &'a self,
        draws: &'a mut Draws,
        left_out: &'a mut Vec<LargeValue>,
        (noted, inserted, appended): (&'a mut Vec<u64>, &'a mut Insertions, u32),
        record: &'a CurrentRecord,
    ) -> SlotFiller<'a> {
        let inserted = (inserted, appended);
        let (sources, given, awaited, refused) = (&self.sources, 0, None, None);
        SlotFiller { sources, draws, left_out, noted, inserted, record, given, awaited, refused }
    }

    /// Appends the expected reply to the first step, if the reply is compared.
    #[inline(never)]
    fn append_expected(&self, op: OpId, draws: &mut Draws, out: &mut OutgoingRequests) {
        let (bytes, length) = &mut out.expected;
        let start = bytes.len();
        let mut none = Vec::new();
        let noted = (&mut out.noted, &mut out.inserted, out.appended);
        let mut filling = self.filling(draws, &mut none, noted, &out.record);
        let expected = self.templates.expected.iter().filter(|(known, _)| *known == op);
        for (_, template) in expected {
            template.append(&mut filling, bytes);
            *length = bytes.len() - start;
        }
    }

    /// Takes the next record if the operation uses records. Returns false if the next record has not been read yet.
    #[inline]
    fn has_record(&self, op: OpId, taken: &mut CurrentRecord) -> bool {
        let Some(dataset) = self.dataset.as_ref().filter(|_| self.templates.of_records.contains(&op)) else {
            taken.is_awaited = false;
            return true;
        };
        dataset.take(taken)
    }

    /// Appends the steps of an operation that must wait for replies. All steps are drawn at once, and can repeat the
    /// keys of the first step. If a key is invalid, returns this key and appends no step.
    #[inline(never)]
    fn append_later(&self, op: OpId, draws: &mut Draws, out: &mut OutgoingRequests) -> Option<Vec<u8>> {
        let steps = self.templates.later.iter().find(|(known, _)| *known == op);
        for (place, template) in steps.iter().flat_map(|(_, steps)| steps).enumerate() {
            if out.later.len() <= place {
                out.later.push(OutgoingRequests::default());
            }
            let step = &mut out.later[place];
            step.before = step.bytes.len();
            let noted = (&mut out.noted, &mut out.inserted, out.appended);
            let mut filling = self.filling(draws, &mut step.left_out, noted, &out.record);
            template.append(&mut filling, &mut step.bytes);
            let (awaited, refused) = (filling.awaited, filling.refused);
            step.awaited.extend(awaited.map(|at| AwaitedNumber { at, operation: step.operations }));
            step.operations += 1;
            if refused.is_some() {
                out.cut_later(place + 1);
                return refused;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::{
        Draws, OpId, Operation, OperationOrder, OutgoingRequests, Workload, preset,
        testing::{of, program},
    };

    #[test]
    fn requests_appended_at_once_equal_requests_appended_one_by_one() {
        let gets = program(&preset("get").unwrap(), 1000);
        let (mut draws, mut out) = (Draws::new(3), OutgoingRequests::default());
        let (mut same, mut one_by_one) = (draws.clone(), OutgoingRequests::default());
        assert_eq!(gets.append_alike(5, &mut draws, &mut out).map(OpId::index), Some(0));
        (0..5).for_each(|_| _ = gets.append(&mut same, &mut one_by_one));
        assert_eq!((out.bytes, out.appended), (one_by_one.bytes, 5));
        assert_eq!(draws.below(1_000_000), same.below(1_000_000));
    }

    #[test]
    fn several_operations_and_values_are_appended_one_by_one() {
        let mixed = [("GET {key}", 1), ("PING", 1)].map(|(step, weight)| Operation::command(step, weight));
        let (mut draws, mut out) = (Draws::new(3), OutgoingRequests::default());
        for workload in [&of(mixed.into()), &preset("set").unwrap()] {
            assert_eq!(program(workload, 10).append_alike(5, &mut draws, &mut out), None);
        }
        assert!(out.bytes.is_empty());
    }

    #[test]
    fn an_operation_without_a_record_does_not_wait_for_the_record_of_another_operation() {
        let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        std::fs::write(&file, "id\n1\n").unwrap();
        let steps = ["SET __field:id__ x", "INCR {key.new}"].map(|step| Operation::command(step, 1));
        let workload = Workload { order: OperationOrder::InTurn, ..of(steps.into()) };
        let workload = workload.with_dataset(file.path(), None).unwrap();
        let (dataset, _reader) = workload.dataset.as_ref().unwrap().with_hanging_reader();
        let program = program(&Workload { dataset: Some(dataset), ..workload }, 10);
        let (mut draws, mut out) = (Draws::new(3), OutgoingRequests::default());
        let seen = [(); 3].map(|()| (program.append(&mut draws, &mut out).index(), out.awaits_record()));
        assert_eq!(seen, [(0, true), (1, false), (0, true)]);
        assert!(out.bytes.starts_with(b"*2\r\n$4\r\nINCR") && out.appended == 1);
    }
}
