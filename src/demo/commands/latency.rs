//! LATENCY: the monitor's spikes and the histograms of commands.

use std::fmt::Write;

use super::{Call, Command, CommandId, Flags, Outcome};

pub(super) const COMMANDS: &[Command] = &[Command::group("latency", Flags::ADMIN, SUBCOMMANDS)];

const SUBCOMMANDS: &[Command] = &[
    Command::new("latest", 2, Flags::ADMIN, latest),
    Command::new("history", 3, Flags::ADMIN, history),
    Command::new("reset", -2, Flags::ADMIN, reset),
    Command::new("histogram", -2, Flags::ADMIN, histogram),
    Command::new("doctor", 2, Flags::ADMIN, doctor),
];

fn latest(call: &mut Call<'_>) -> Outcome {
    let events = call.state.latency.events();
    call.reply.array(events.len());
    for (name, spikes) in events {
        let (at_s, ms) = spikes.samples.back().copied().unwrap_or_default();
        call.reply.array(4);
        call.reply.text(name);
        for n in [at_s, ms, spikes.max_ms] {
            call.reply.integer(n as i64);
        }
    }
    Ok(())
}

fn history(call: &mut Call<'_>) -> Outcome {
    let name = call.argument(2)?;
    let Some(spikes) = call.state.latency.event(name) else {
        call.reply.array(0);
        return Ok(());
    };
    call.reply.array(spikes.samples.len());
    for (at_s, ms) in &spikes.samples {
        call.reply.array(2);
        call.reply.integer(*at_s as i64);
        call.reply.integer(*ms as i64);
    }
    Ok(())
}

fn reset(call: &mut Call<'_>) -> Outcome {
    let names = call.arguments.from(2);
    let latency = &mut call.state.latency;
    let forgotten =
        if names.len() == 0 { latency.clear() } else { names.filter(|name| latency.forget(name)).count() };
    call.reply.count(forgotten);
    Ok(())
}

/// Commands that never ran, and unknown ones, are left out, as in Redis.
fn histogram(call: &mut Call<'_>) -> Outcome {
    let named: Vec<CommandId> = call.arguments.from(2).filter_map(|name| call.table.named(name)).collect();
    let asked = call.arguments.len() > 2;
    let group = |id: CommandId| call.table.full_name(id).split('|').next().unwrap_or_default();
    let wanted = |id: &CommandId| {
        call.state.stats.commands[*id].calls > 0
            && (!asked || named.iter().any(|name| group(*name) == group(*id)))
    };
    let ids: Vec<CommandId> = (0..call.table.len()).filter(wanted).collect();
    call.reply.map(ids.len());
    for id in ids {
        let stats = &call.state.stats.commands[id];
        call.reply.text(call.table.full_name(id));
        call.reply.map(2);
        call.reply.text("calls");
        call.reply.integer(stats.calls as i64);
        call.reply.text("histogram_usec");
        let buckets = stats.durations.cumulative();
        call.reply.map(buckets.len());
        for (us, count) in buckets {
            call.reply.integer(us as i64);
            call.reply.integer(count as i64);
        }
    }
    Ok(())
}

fn doctor(call: &mut Call<'_>) -> Outcome {
    let events = call.state.latency.events();
    let text = if call.state.config.latency_threshold_ms == 0 && events.len() == 0 {
        "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use \"CONFIG \
         SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep space mission \
         I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n"
            .to_owned()
    } else if events.len() == 0 {
        "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the slightest bit. I \
         honestly think you ought to sit down calmly, take a stress pill, and think things over.\n"
            .to_owned()
    } else {
        let mut text = "Dave, I have observed latency spikes in this Redis instance.\n\n".to_owned();
        for (index, (name, spikes)) in events.enumerate() {
            let mean =
                spikes.samples.iter().map(|(_, ms)| ms).sum::<u64>() / spikes.samples.len().max(1) as u64;
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{}. {name}: {} latency spikes (average {mean}ms). Worst all time event {}ms.",
                index + 1,
                spikes.samples.len(),
                spikes.max_ms
            );
        }
        text
    };
    call.reply.verbatim(&text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::demo::commands::desk::Desk;

    #[test]
    fn slow_commands_are_spikes_once_the_monitor_is_on() {
        let mut desk = Desk::new();
        assert!(desk.ask("LATENCY DOCTOR").contains("Latency monitoring is disabled"));
        desk.ok("DEBUG SLEEP 0.005");
        assert_eq!(desk.ask("LATENCY LATEST"), "*0\n");
        desk.ok("CONFIG SET latency-monitor-threshold 5");
        assert!(desk.ask("LATENCY DOCTOR").contains("no latency spike was observed"));
        desk.ok("DEBUG SLEEP 0.005");
        let latest = desk.words("LATENCY LATEST");
        assert_eq!((latest.len(), latest[0].as_str()), (4, "command"));
        assert!(latest[2].parse::<u64>().unwrap() >= 5 && latest[3] == latest[2], "{latest:?}");
        assert_eq!(desk.words("LATENCY HISTORY command"), latest[1..3]);
        assert!(desk.ask("LATENCY DOCTOR").contains("1. command: 1 latency spikes"));
        assert_eq!(
            (desk.ask("LATENCY RESET nosuch"), desk.ask("LATENCY RESET")),
            (":0\n".into(), ":1\n".into())
        );
        assert_eq!(desk.ask("LATENCY HISTORY command"), "*0\n");
    }

    #[test]
    fn histograms_count_every_call() {
        let mut desk = Desk::new();
        for _ in 0..3 {
            desk.ask("GET a");
        }
        desk.ask("CONFIG GET hz");
        let words = desk.words("LATENCY HISTOGRAM get nosuch");
        assert_eq!(words[..4], ["get", "calls", "3", "histogram_usec"]);
        assert_eq!(words.last().map(String::as_str), Some("3"), "cumulative: {words:?}");
        assert_eq!(desk.words("LATENCY HISTOGRAM config")[0], "config|get");
        assert_eq!(desk.ask("LATENCY HISTOGRAM set"), "*0\n");
        assert_eq!(desk.ask("LATENCY foo"), "-ERR unknown subcommand 'foo'. Try LATENCY HELP.\n");
    }
}
