//! The time for which this machine has run. A busy or virtual machine can stall for seconds. During a stall, no message
//! is sent or read, so a stall is not the silence of another process.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// The time between two beats.
const BEAT: Duration = Duration::from_millis(100);
/// The longest time that counts between two beats. The rest is a stall.
const MOST: Duration = Duration::from_millis(500);

static RAN_NS: AtomicU64 = AtomicU64::new(0);
static BEGUN: OnceLock<(Instant, bool)> = OnceLock::new();

/// Returns the time for which this machine has run since the first call, without stalls.
pub(super) fn ran_for() -> Duration {
    let (begun, beats) = BEGUN.get_or_init(|| {
        let beats = thread::Builder::new().name("beats".to_owned()).spawn(beat);
        (Instant::now(), beats.is_ok())
    });
    if *beats { Duration::from_nanos(RAN_NS.load(Relaxed)) } else { begun.elapsed() }
}

fn beat() {
    let mut last = Instant::now();
    loop {
        thread::sleep(BEAT);
        let passed = last.elapsed();
        last += passed;
        RAN_NS.fetch_add(counted(passed).as_nanos() as u64, Relaxed);
    }
}

/// Returns the part of the time between two beats in which the machine ran.
fn counted(passed: Duration) -> Duration {
    passed.min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_stalls_for_longer_than_the_silence_of_a_bus_has_not_run() {
        assert_eq!(counted(BEAT * 2), BEAT * 2, "a busy machine");
        assert_eq!(counted(Duration::from_secs(5)), MOST);
    }
}
