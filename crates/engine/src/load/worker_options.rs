//! Options of the load's worker threads: how they read and write, whether they sleep, and on which cores they
//! run.

use std::{fmt, io, str::FromStr};

use thiserror::Error;

use super::IoMethod;

/// The highest valid number of a core.
const MAX_CORE: usize = 1023;

/// Options of the worker threads, except the number of threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The method by which the workers read and write.
    pub io: IoMethod,
    /// Whether the workers poll all the time instead of sleeping until a socket or timer is ready.
    pub busy: bool,
    /// The cores on which the workers run.
    pub cores: Cores,
}

/// A list of cores for the workers, such as `0,2-4`. Worker k runs on the core at index k. If there are more workers
/// than cores in the list, the list is repeated. With an empty list, the system chooses the cores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

/// The error for a text that is not a list of cores.
#[derive(Debug, Error)]
#[error("'{0}' is no list of cores; give for example 1 or 0,2-4, with numbers up to {MAX_CORE}")]
pub struct ParseCoresError(String);

#[cfg(any(test, feature = "testing"))]
impl WorkerOptions {
    /// Returns the options of tests, with the [`IoMethod`] that `REDYNO_TEST_IO` names.
    pub fn of_tests() -> Self {
        Self { io: IoMethod::of_tests(), ..Self::default() }
    }
}

impl Cores {
    /// Returns the number of cores in the list.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Binds the calling thread to the core of worker number `worker`. Fails if the system has removed this core since
    /// the start.
    pub(super) fn bind(&self, worker: usize) -> io::Result<()> {
        if self.0.is_empty() { Ok(()) } else { bind_to(self.0[worker % self.0.len()]) }
    }

    /// Checks that a thread can run on each of the cores.
    ///
    /// # Errors
    /// Fails if the system refuses a core. The text names the first refused core.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        let cores = self.0.clone();
        let refused = move || cores.into_iter().find_map(|core| Some((core, bind_to(core).err()?)));
        match std::thread::spawn(refused).join().unwrap_or_default() {
            None => Ok(()),
            Some((core, error)) => Err(format!(
                "this process cannot run on core {core} ({error}); nproc and /proc/self/status \
                 (Cpus_allowed_list) show the cores that it can use"
            )),
        }
    }
}

#[cfg(target_os = "linux")]
fn bind_to(core: usize) -> io::Result<()> {
    let mut only = rustix::thread::CpuSet::new();
    only.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &only)?)
}

#[cfg(not(target_os = "linux"))]
fn bind_to(_: usize) -> io::Result<()> {
    Err(io::Error::other("only Linux binds threads to cores"))
}

impl FromStr for Cores {
    type Err = ParseCoresError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok().filter(|core| *core <= MAX_CORE);
        let part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some(first..=last)
        };
        let parts: Option<Vec<_>> = text.split(',').map(|text| part(text.trim())).collect();
        let parts = parts.ok_or_else(|| ParseCoresError(text.to_owned()))?;
        Ok(Self(parts.into_iter().flatten().collect()))
    }
}

impl fmt::Display for Cores {
    /// Writes `0,2,3,4`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let cores: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&cores.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cores_has_single_cores_and_ranges() {
        let cores: Cores = "0, 2-4,1".parse().unwrap();
        assert_eq!((cores.count(), cores.to_string().as_str()), (5, "0,2,3,4,1"));
        for wrong in ["", "1,", "3-2", "a", "-1", "1024", "1-2-3"] {
            let error = wrong.parse::<Cores>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{wrong}' is no list of cores; ")), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_bound_to_its_core_and_the_error_names_a_missing_core() {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let able = (0..=MAX_CORE).find(|core| allowed.is_set(*core)).unwrap();
        let bound = std::thread::spawn(move || {
            let cores = Cores(vec![able]);
            cores.check().unwrap();
            cores.bind(7).unwrap();
            rustix::thread::sched_getcpu()
        });
        assert_eq!(bound.join().unwrap(), able);
        let missing = (0..=MAX_CORE).rev().find(|core| !allowed.is_set(*core)).unwrap();
        let refused = Cores(vec![able, missing]).check().unwrap_err();
        assert!(refused.starts_with(&format!("this process cannot run on core {missing} (")), "{refused}");
    }
}
