//! The share of reads, as a knob: GET among GET and SET.

use std::sync::Arc;

use super::Workload;

impl Workload {
    /// The places of GET and SET; `None` when the workload has not both.
    fn read_and_write(&self) -> Option<(usize, usize)> {
        self.place("GET").zip(self.place("SET"))
    }

    /// The share of GET among GET and SET, 0 to 1; `None` when the workload does not choose between them.
    pub fn read_share(&self) -> Option<f64> {
        let weight = |place: usize| f64::from(self.operations[place].weight);
        let (get, set) = self.read_and_write().map(|(get, set)| (weight(get), weight(set)))?;
        (get + set > 0.0).then(|| get / (get + set))
    }

    /// The same workload with `percent` (0 to 100) of its GETs and SETs being GETs. The others keep their share. One that
    /// does not choose between GET and SET stays as it is.
    #[must_use]
    pub fn with_read_percent(&self, percent: u32) -> Arc<Self> {
        let mut turned = self.clone();
        if let Some((get, set)) = self.read_and_write() {
            let both = self.operations[get].weight + self.operations[set].weight;
            let percent = percent.min(100);
            turned.operations.iter_mut().for_each(|operation| operation.weight *= 100);
            turned.operations[get].weight = both * percent;
            turned.operations[set].weight = both * (100 - percent);
            turned.reduce();
        }
        Arc::new(turned)
    }

    /// Divides all weights by what they have in common, so that a workload turned back and forth is the same workload.
    fn reduce(&mut self) {
        let divisor = self.operations.iter().fold(0, |divisor, o| gcd(divisor, o.weight)).max(1);
        self.operations.iter_mut().for_each(|operation| operation.weight /= divisor);
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Operation, preset};

    #[test]
    fn the_read_share_turns_both_ways_and_leaves_other_operations_their_share() {
        let usual = preset("cache").unwrap();
        assert_eq!(usual.read_share().map(|share| (share * 100.0).round()), Some(91.0));
        assert_eq!(usual.with_read_percent(50).to_string(), "GET:SET 1:1");
        assert_eq!(usual.with_read_percent(0).with_read_percent(50), usual.with_read_percent(50));
        let mut with_ping = (*Workload::ratio(1, 1)).clone();
        with_ping.operations.push(Operation::command("PING", 2));
        assert_eq!(with_ping.with_read_percent(0).to_string(), "SET:PING 1:1");
        let incr = preset("incr").unwrap();
        assert_eq!((incr.with_read_percent(20), incr.read_share()), (Arc::clone(&incr), None));
    }
}
