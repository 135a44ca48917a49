//! Parses INFO commandstats, which has the server's counts for each command since its start or CONFIG RESETSTAT. Also
//! returns the differences between two polls.

use std::collections::BTreeMap;

use super::{CommandStat, Info};
use crate::{protocol::OTHER, untrusted};

/// The largest number of error kinds that are read; servers count about a hundred.
const MOST_ERRORS: usize = 200;

/// The largest number of commands that are counted separately. No server has so many commands. The counts of further
/// commands are added up.
const MOST: usize = 1000;

/// The counts of all commands at one poll.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CommandCounters(BTreeMap<String, CommandStat>);

impl CommandCounters {
    /// Parses the text of INFO commandstats.
    pub(super) fn parse(text: &str) -> Self {
        let info = Info::parse(text);
        let stat = |(name, fields): (&str, &str)| Some((untrusted::text(name), read(fields)?));
        Self(info.beginning_with("cmdstat_").filter_map(stat).collect())
    }

    /// Returns the names of the commands with the most calls, at most `most`.
    pub(super) fn busiest(&self, most: usize) -> Vec<&str> {
        let mut by_calls: Vec<_> = self.0.iter().collect();
        by_calls.sort_by_key(|(_, stat)| std::cmp::Reverse(stat.calls));
        by_calls.into_iter().take(most).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the number of calls of a command.
    pub(super) fn calls(&self, command: &str) -> Option<u64> {
        self.0.get(command).map(|stat| stat.calls)
    }

    /// Returns the differences to `before` for all commands that were called or refused. Returns `None` if a
    /// count has decreased, because the differences are then unknown.
    pub(super) fn since(&self, before: &Self) -> Option<BTreeMap<String, CommandStat>> {
        if before.0.keys().any(|name| !self.0.contains_key(name)) {
            return None;
        }
        let mut added = BTreeMap::new();
        for (name, now) in &self.0 {
            let nothing = CommandStat::default();
            let then = before.0.get(name).unwrap_or(&nothing);
            let part = |now: Option<u64>, then: Option<u64>| match now {
                Some(now) => now.checked_sub(then.unwrap_or(0)).map(Some),
                None => Some(None),
            };
            let stat = CommandStat {
                calls: now.calls.checked_sub(then.calls)?,
                usec: now.usec.checked_sub(then.usec)?,
                failed: part(now.failed, then.failed)?,
                rejected: part(now.rejected, then.rejected)?,
                ..CommandStat::default()
            };
            if stat.calls > 0 || stat.rejected.is_some_and(|n| n > 0) {
                let name = if added.len() < MOST { name } else { OTHER };
                added
                    .entry(name.to_owned())
                    .and_modify(|other: &mut CommandStat| other.merge(&stat))
                    .or_insert(stat);
            }
        }
        Some(added)
    }
}

/// Parses INFO errorstats: the number of error replies by prefix, from `errorstat_ERR:count=7`.
pub(super) fn errors(text: &str) -> BTreeMap<String, u64> {
    let count = |(name, fields): (&str, &str)| {
        let count = fields.split(',').find_map(|field| field.strip_prefix("count="))?;
        Some((untrusted::text(name), count.parse().ok()?))
    };
    Info::parse(text).beginning_with("errorstat_").take(MOST_ERRORS).filter_map(count).collect()
}

/// Returns the number of error replies since `before`, by prefix; empty if a count has decreased.
pub(super) fn errors_since(
    now: &BTreeMap<String, u64>,
    before: &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let added = |(name, now): (&String, &u64)| {
        let added = now.checked_sub(before.get(name).copied().unwrap_or(0))?;
        Some((name.clone(), added))
    };
    let added: Option<BTreeMap<_, _>> = now.iter().map(added).collect();
    added.unwrap_or_default().into_iter().filter(|(_, added)| *added > 0).collect()
}

/// Parses `calls=1,usec=3,usec_per_call=3.00,rejected_calls=0,failed_calls=0`.
fn read(fields: &str) -> Option<CommandStat> {
    let value = |wanted: &str| {
        let found =
            fields.split(',').filter_map(|field| field.split_once('=')).find(|(name, _)| *name == wanted);
        found.and_then(|(_, value)| value.parse().ok())
    };
    Some(CommandStat {
        calls: value("calls")?,
        usec: value("usec")?,
        failed: value("failed_calls"),
        rejected: value("rejected_calls"),
        ..CommandStat::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(get: u64, refused: u64) -> CommandCounters {
        CommandCounters::parse(&format!(
            "# Commandstats\r\n\
             cmdstat_get:calls={get},usec={},usec_per_call=2.00,rejected_calls=0,failed_calls=0\r\n\
             cmdstat_config|set:calls=1,usec=14,usec_per_call=14.00,rejected_calls={refused},failed_calls=1\r\n",
            get * 2
        ))
    }

    #[test]
    fn differences_are_reported_for_commands_that_were_called_or_refused() {
        let added = stats(150, 0).since(&stats(100, 0)).unwrap();
        let get = &added["get"];
        assert_eq!((get.calls, get.usec, get.mean_us()), (50, 100, Some(2.0)));
        assert_eq!(added.len(), 1);
        let refused = stats(100, 3).since(&stats(100, 0)).unwrap();
        assert_eq!((refused["config|set"].rejected, refused["config|set"].mean_us()), (Some(3), None));
    }

    #[test]
    fn a_first_call_counts_and_a_reset_has_no_difference() {
        assert_eq!(stats(3, 0).since(&CommandCounters::default()).unwrap()["get"].calls, 3);
        assert_eq!(stats(3, 0).since(&stats(4, 0)), None);
        assert_eq!(CommandCounters::default().since(&stats(4, 0)), None);
    }

    #[test]
    fn errors_are_counted_by_their_prefix_since_the_previous_poll() {
        let before = errors("# Errorstats\r\nerrorstat_ERR:count=7\r\nerrorstat_OOM:count=1\r\n");
        let now = errors("errorstat_ERR:count=7\r\nerrorstat_OOM:count=4\r\nerrorstat_NOAUTH:count=2\r\n");
        assert_eq!(errors_since(&now, &before), [("NOAUTH".to_owned(), 2), ("OOM".to_owned(), 3)].into());
        assert!(errors_since(&before, &now).is_empty(), "CONFIG RESETSTAT");
        let many: String = (0..500).map(|n| format!("errorstat_E{n}:count=1\r\n")).collect();
        assert_eq!(errors(&many).len(), MOST_ERRORS);
    }

    #[test]
    fn an_old_server_reports_no_failures() {
        let old = CommandCounters::parse("cmdstat_get:calls=2,usec=4,usec_per_call=2.00\r\n");
        assert_eq!(old.since(&CommandCounters::default()).unwrap()["get"].failed, None);
    }
}
