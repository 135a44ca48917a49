//! Service times by command over time.

use super::{Reading, history::History, parts::Parts};
use crate::{
    clock::{TICK_NS, seconds},
    session::Interval,
    stats::{Blend, Latency},
    workload::Command,
};

/// So many ticks are kept as fine as they came: 80 s, enough for the longest window.
const KEPT: usize = 320;

/// One lane for each command.
#[derive(Debug, Clone)]
pub(super) struct CommandLanes([History<Parts>; Command::ALL.len()]);

impl Default for CommandLanes {
    fn default() -> Self {
        Self(Command::ALL.map(|_| History::new(seconds(TICK_NS), KEPT)))
    }
}

impl CommandLanes {
    pub(super) fn push(&mut self, interval: &Interval) {
        let (t_s, length_s) = (interval.t_s, interval.length_s);
        for (command, part) in interval.commands.iter().filter(|(_, part)| !part.service.is_empty()) {
            let cells = &mut self.0[command.index()];
            cells.entry(t_s, length_s).add(interval.segment, t_s, length_s, &part.service);
        }
    }
}

impl Reading<'_> {
    /// The service time of one command in the `length_s` seconds before this moment, in the segment that holds. It is
    /// as fine as the history is: at most 1.6 % too long, and of whole cells where they are longer than a tick.
    pub fn of_command(&self, command: Command, length_s: f64) -> Latency {
        let segment = self.segment().map_or(1, |segment| segment.start.segment);
        let mut blend = Blend::default();
        let now_s = self.now_s();
        let cells = self.timeline().commands.0[command.index()].between(now_s - length_s, now_s);
        cells.for_each(|cell| cell.value.blend(segment, &mut blend));
        blend.take()
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        session::{CommandInterval, Interval, Record, Timeline},
        stats::fixture::repeated,
        workload::Command,
    };

    #[test]
    fn each_command_has_its_own_windows() {
        let mut timeline = Timeline::default();
        for tick in 1..=40 {
            let part =
                |n| CommandInterval { ops: n, service: repeated(1000, n), ..CommandInterval::default() };
            let commands = [(Command::Get, part(9)), (Command::Set, part(1))].into();
            let t_s = f64::from(tick) * 0.25;
            let interval = Interval { t_s, length_s: 0.25, segment: 1, commands, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let count = |t_s, command, length_s| timeline.at(t_s).of_command(command, length_s).count();
        assert_eq!((count(10.0, Command::Get, 1.0), count(10.0, Command::Set, 60.0)), (36, 40));
        assert_eq!((count(5.0, Command::Get, 60.0), count(5.0, Command::Ping, 60.0)), (180, 0));
    }
}
