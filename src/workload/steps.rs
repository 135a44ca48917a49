//! What a workload does by its steps: which keys it writes, which it inserts, whether it writes at all.

use std::collections::BTreeSet;

use super::{
    Distribution, Keyset, Operation, Workload,
    inline::is_drawn_once,
    step::{Fragment, Step},
    step_text::BadQuotes,
};

impl Operation {
    /// Whether it changes the server's data. A command that is not known to read is taken to write.
    pub fn writes(&self) -> bool {
        self.writes.unwrap_or_else(|| !self.steps.iter().all(|step| only_reads(step)))
    }
}

/// Whether a step is known to change nothing.
fn only_reads(step: &str) -> bool {
    Step::read(step, &Workload::default()).is_ok_and(|step| step.only_reads())
}

/// What a step's command is called; nothing where it has none.
pub(super) fn command(step: &str) -> String {
    let step = Step::read(step, &Workload::default());
    step.ok().and_then(|step| step.command()).unwrap_or_default()
}

impl Workload {
    /// Whether what a client asks depends on how many clients there are.
    pub fn depends_on_clients(&self) -> bool {
        self.keys.values().any(|keys| keys.distribution == Distribution::Partitioned)
    }

    /// Of each set of keys whether operations insert new ones. Sets that are the same keys get the same ones.
    pub(super) fn grows(&self) -> impl Iterator<Item = bool> {
        let same = self.same_keys();
        let steps = self.operations.iter().flat_map(|operation| self.steps(operation));
        let fragments = steps.flat_map(|step| step.0).flatten();
        let grown: BTreeSet<_> =
            fragments.filter_map(|fragment| Some(same[usize::from(fragment.inserts()?)])).collect();
        same.into_iter().map(move |first| grown.contains(&first))
    }

    /// The sets of keys that operations with a weight, setup and prefill may write to, and whether new keys are among those.
    pub fn written_keys(&self) -> impl Iterator<Item = (&Keyset, bool)> {
        let writing = self.asked().filter(|operation| operation.writes());
        let before = self.setup.steps.iter().chain(&self.prefill.steps);
        let before = before.filter(|step| !only_reads(step));
        let steps = writing.flat_map(|operation| self.steps(operation));
        let steps = steps.chain(before.flat_map(|step| self.step(step)));
        let keys = |step: Step| step.0.into_iter().flatten().filter_map(|fragment| fragment.draws());
        let written: BTreeSet<_> = steps.flat_map(keys).collect();
        let sets = (0..).zip(self.keys.values().zip(self.grows()));
        let sets = sets.filter(move |(n, _)| written.contains(n)).map(|(_, set)| set);
        sets.filter(|(keyspace, _)| !keyspace.bare)
    }

    /// The commands of operations with a weight, and of the prefill, that may write to keys which are not the run's own: by
    /// a name that stands in the command, `SET foo`, or one that is not known, `FLUSHALL`.
    pub fn written_by_name(&self) -> BTreeSet<String> {
        let writing = self.asked().filter(|operation| operation.writes());
        let steps = writing.flat_map(|operation| &operation.steps).chain(&self.prefill.steps);
        steps.flat_map(|step| self.step(step)).flat_map(|step| step.written_by_name(self)).collect()
    }

    /// The commands of modules that setup, prefill and operations with a weight ask for: what has a dot in its name.
    pub fn commands_of_modules(&self) -> BTreeSet<String> {
        let steps = self.asked().flat_map(|operation| &operation.steps);
        let steps = steps.chain(&self.setup.steps).chain(&self.prefill.steps);
        steps.map(|step| command(step)).filter(|name| name.contains('.')).collect()
    }

    pub(super) fn step(&self, text: &str) -> Result<Step, BadQuotes> {
        self.step_after(text, &mut BTreeSet::new())
    }

    /// A step of an operation that has drawn these sets before: of those that are drawn once it repeats what was drawn.
    fn step_after(&self, text: &str, drawn: &mut BTreeSet<u16>) -> Result<Step, BadQuotes> {
        let mut step = Step::read(text, self)?;
        let is_once = |set: u16| self.keys.keys().nth(set.into()).is_some_and(|name| is_drawn_once(name));
        for fragment in step.0.iter_mut().flatten() {
            if let Fragment::Key(set) = *fragment
                && is_once(set)
                && !drawn.insert(set)
            {
                *fragment = Fragment::Same(set);
            }
        }
        Ok(step)
    }

    /// The steps of an operation of a workload that can be run, read.
    pub(super) fn steps(&self, operation: &Operation) -> impl Iterator<Item = Step> {
        let mut drawn = BTreeSet::new();
        operation.steps.iter().flat_map(move |step| self.step_after(step, &mut drawn))
    }

    /// The steps of the setup of a workload that can be run, read.
    pub(super) fn setup_steps(&self) -> impl Iterator<Item = Step> {
        self.setup.steps.iter().flat_map(|step| self.step(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinal_is_one_number_for_all_its_occurrences_in_an_operation() {
        let steps = ["A __rand_int__ __rand_1st__-__rand_1st__ __rand_int__", "B __rand_1st__ __rand_2nd__"];
        let operation =
            Operation { weight: 1, steps: steps.map(str::to_owned).into(), ..Operation::default() };
        let workload = Workload { operations: vec![operation], ..Workload::default() }.with_inline();
        let read: Vec<_> =
            workload.steps(&workload.operations[0]).flat_map(|step| step.0).flatten().collect();
        let drawn: Vec<_> = read.iter().filter(|fragment| !matches!(fragment, Fragment::Text(_))).collect();
        let [first, second, any] = [0, 1, 2].map(Fragment::Key);
        let same = Fragment::Same(0);
        assert_eq!(drawn, [&any, &first, &same, &any, &same, &second]);
        let alone = workload.step(steps[1]).unwrap().0;
        assert_eq!(alone[1], [first], "it is drawn where nothing of the operation was before");
    }
}
