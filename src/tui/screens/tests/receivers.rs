//! Tests of the screens with a workload whose messages have receivers, such as subscribers.

use super::*;
use crate::{
    app::Screen,
    session::{OneReceiver, ReceivedMessages, ReceiverResults},
    stats::fixture::repeated,
};

/// Returns a session with ten receivers. The last receiver gets each message 20 ms late, and loses some messages.
fn one_is_slow() -> Model {
    let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs.clone(), TimelineOptions::default());
    deliver(&mut model, records);
    for tick in 0..60 {
        if tick == 30 {
            deliver(&mut model, vec![made.turn(Knobs { clients: 20, ..knobs.clone() })]);
        }
        let mut records = made.next_tick();
        for record in &mut records {
            if let Record::Interval(interval) = record {
                let times = repeated(20_300_000, 250);
                let (lost, late) = (u64::from(tick == 54), u64::from(tick == 55));
                let by_receiver = vec![OneReceiver {
                    receiver: 7,
                    received: 250,
                    lost,
                    late,
                    times: Some(times),
                    reconnects: 0,
                }];
                let mut times = stats_of(&[(163_000, 2250), (20_300_000, 250)]);
                times.merge(&repeated(90_000 + tick * 1000, 100));
                let got = ReceivedMessages {
                    times,
                    receivers: 10,
                    ordered: 10,
                    lost: Some(lost),
                    late,
                    by_receiver,
                    ..Default::default()
                };
                interval.arrivals =
                    ReceiverResults { delivery: Some(got.into()), ..ReceiverResults::default() };
            }
        }
        deliver(&mut model, records);
    }
    model
}

fn stats_of(cells: &[(u64, u64)]) -> crate::stats::Latency {
    let mut all = crate::stats::Latency::default();
    cells.iter().for_each(|(ns, n)| all.merge(&repeated(*ns, *n)));
    all
}

#[test]
fn the_figures_of_receivers_and_the_slow_one_are_on_the_screens() {
    for screen in [Screen::Overview, Screen::Latency, Screen::Segments, Screen::Curve] {
        let mut model = one_is_slow();
        press(&mut model, KeyCode::Char(screen.key()));
        let name = format!("receivers_{}", screen.name().to_lowercase());
        for size in [(120, 36), (80, 24)] {
            snapshot(&name, &model, size);
        }
        let text = text_of(&drawn(&model, Theme::new(THEMES[0].1, THEMES[0].2), 120, 36));
        assert!(text.contains("receiver 7 of 10") || text.contains("1 message lost"), "{text}");
    }
}
