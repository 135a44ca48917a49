//! `--latency-dist` of redis-cli prints a row of coloured characters for each window. Each character shows a range of
//! latencies.
//!
//! The colour shows the share of the window's samples in this range of latencies. A share is rounded up to the next
//! colour. A single outlier among thousands is therefore visible.

use std::{ops::ControlFlow, sync::mpsc::Receiver, time::Duration};

use super::{
    pinging::{WindowChange, windows},
    plan::OneshotPlan,
    run::Streams,
};
use crate::signals::Signal;
use crate::stats::Latency;

/// The default length of the time window that a row shows.
const WINDOW: Duration = Duration::from_secs(1);
/// The number of rows after which the legend is repeated.
const ROWS_PER_LEGEND: u64 = 20;

/// The highest latency of each range, in µs. One more range contains all longer latencies.
const UPPER_US: [u64; 30] = [
    10, 125, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 20_000, 30_000,
    40_000, 50_000, 100_000, 200_000, 300_000, 400_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000,
    16_000_000, 30_000_000, 60_000_000,
];
/// The character of each range.
const CHARACTERS: &str = ".-*#123456789ABCDEFGHIJKLMNOPQ?";
const RANGE_COUNT: usize = UPPER_US.len() + 1;

/// The colours of the 256-colour palette for shares from 0 to 100 %.
const COLOUR: [u8; 19] =
    [0, 233, 234, 235, 237, 239, 241, 243, 245, 247, 144, 143, 142, 184, 226, 214, 208, 202, 196];
const GREY: [u8; 13] = [0, 233, 234, 235, 237, 239, 241, 243, 245, 247, 249, 251, 253];

/// Runs the mode.
pub(super) fn run(plan: &OneshotPlan, stop: &Receiver<Signal>, streams: &mut Streams) -> anyhow::Result<()> {
    let colours: &[u8] = if plan.options.mono { &GREY } else { &COLOUR };
    let mut rows = 0;
    windows(plan, plan.options.interval.unwrap_or(WINDOW), stop, streams, |streams, window, moment| {
        let worth_a_row = match moment {
            WindowChange::Grew => false,
            WindowChange::Full => true,
            WindowChange::Cut => !window.is_empty(),
        };
        if worth_a_row {
            let legend = if rows % ROWS_PER_LEGEND == 0 { legend(colours) } else { String::new() };
            streams.print(&(legend + &row(&window.all(), colours)))?;
            rows += 1;
            if let Some(note) = window.note() {
                streams.warn(&note)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn legend(colours: &[u8]) -> String {
    let rule = "---------------------------------------------\n";
    let blocks: String = colours.iter().map(|colour| format!("\x1b[48;5;{colour}m ")).collect();
    format!(
        "{rule}\
         . - * #          .01 .125 .25 .5 milliseconds\n\
         1,2,3,...,9      from 1 to 9     milliseconds\n\
         A,B,C,D,E        10,20,30,40,50  milliseconds\n\
         F,G,H,I,J        .1,.2,.3,.4,.5       seconds\n\
         K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n\
         From 0 to 100%: {blocks}\x1b[0m\n\
         {rule}"
    )
}

fn row(window: &Latency, colours: &[u8]) -> String {
    let mut row = "\x1b[38;5;0m".to_owned();
    for (n, character) in counts(window).into_iter().zip(CHARACTERS.chars()) {
        let share = n as f64 / window.count().max(1) as f64;
        let colour = colours[(share * (colours.len() - 1) as f64).ceil() as usize];
        row += &format!("\x1b[48;5;{colour}m{character}");
    }
    row + "\x1b[0m\n"
}

/// Returns the number of samples in each range. A histogram bucket is counted at its upper end. A sample that is less
/// than 0.1 % below the limit of a range may therefore be counted in the next range.
fn counts(window: &Latency) -> [u64; RANGE_COUNT] {
    let mut counts = [0; RANGE_COUNT];
    for (value_ns, n) in window.cells() {
        counts[UPPER_US.partition_point(|upper_us| upper_us * 1_000 < value_ns)] += n;
    }
    counts[RANGE_COUNT - 1] += window.over_range();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn window(values_ns: &[u64]) -> Latency {
        latency_of(values_ns.iter().copied())
    }

    fn snapshot(name: &str, text: &str) {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/cli"));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text.replace('\x1b', "ESC")));
    }

    #[test]
    fn samples_are_counted_up_to_the_upper_end_of_their_range() {
        let counts = counts(&window(&[5_000, 9_900, 11_000, 900_000, 59_000_000_000, 70_000_000_000]));
        let filled: Vec<_> = counts.iter().enumerate().filter(|(_, n)| **n > 0).collect();
        assert_eq!(filled, [(0, &2), (1, &1), (4, &1), (29, &1), (30, &1)]);
    }

    #[test]
    fn a_single_outlier_among_many_has_a_colour() {
        let mut values = vec![60_000; 9_999];
        values.push(3_000_000_000);
        let row = row(&window(&values), &COLOUR);
        assert!(row.contains("\x1b[48;5;196m-") && row.contains("\x1b[48;5;233mM"), "{row:?}");
    }

    #[test]
    fn a_window_without_samples_is_an_empty_row() {
        let row = row(&Latency::default(), &COLOUR);
        assert_eq!(row.matches("\x1b[48;5;0m").count(), RANGE_COUNT);
    }

    #[test]
    fn rows_and_legends_are_those_of_redis_cli() {
        let window = window(&[90_000, 90_000, 90_000, 700_000]);
        snapshot("latency_dist_colour", &(legend(&COLOUR) + &row(&window, &COLOUR)));
        snapshot("latency_dist_grey", &(legend(&GREY) + &row(&window, &GREY)));
    }
}
