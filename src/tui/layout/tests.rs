//! Tests of the screen's layout at every size of the terminal.

use proptest::prelude::*;

use super::*;

fn of(w: u16, h: u16) -> ScreenPlan {
    plan(Rect::new(0, 0, w, h), Subject::Load, None)
}

#[test]
fn common_sizes_get_their_tiers() {
    let tiers = [(200, 60), (120, 36), (80, 24), (60, 15), (40, 10), (19, 3), (1, 1), (0, 0)]
        .map(|(w, h)| of(w, h).tier);
    use Tier::{Compact, Line, List, Panel};
    assert_eq!(tiers, [Panel, Panel, Compact, Compact, List, Line, Line, Line]);
}

#[test]
fn a_bigger_screen_shows_more_time_and_higher_lanes() {
    let (small, full, large) = (of(80, 24), of(120, 36), of(200, 60));
    assert!(small.columns.plot >= 56 && full.columns.plot > small.columns.plot);
    assert!(large.columns.plot > 100);
    // The rule counts as a row.
    assert!(small.latency.height > 6 && full.latency.height > 10);
    assert!(full.columns.plot >= 70, "of 120 columns");
    assert!(large.latency.height > full.latency.height);
    assert!(small.throughput.height >= 5 && large.throughput.height > full.throughput.height);
}

#[test]
fn without_load_the_server_has_all_rows_and_a_tall_chart_of_pings() {
    for (w, h, latency, plot) in [(80, 24, 6, 56), (120, 36, 10, 70), (200, 60, 14, 100)] {
        let plan = plan(Rect::new(0, 0, w, h), Subject::Server, None);
        assert!(plan.latency.height > latency && plan.columns.plot >= plot, "{plan:?}");
        assert!(plan.throughput.height >= 4 && plan.commands.height >= 3, "{plan:?}");
        assert_eq!(plan.axis.y, plan.probes.bottom());
    }
}

#[test]
fn a_chart_next_to_a_panel_has_no_fewer_columns_than_a_chart_of_80x24() {
    for subject in [Subject::Load, Subject::Server] {
        for w in 80..200 {
            let plan = plan(Rect::new(0, 0, w, 36), subject, None);
            assert!(plan.columns.plot >= 56, "{subject:?} {w}: {plan:?}");
        }
    }
}

proptest! {
    #[test]
    fn the_parts_are_inside_the_screen_and_do_not_overlap(w in 0_u16..260, h in 0_u16..90, is_load: bool) {
        let area = Rect::new(0, 0, w, h);
        let plan = plan(area, if is_load { Subject::Load } else { Subject::Server }, None);
        let parts = [
            plan.header, plan.status, plan.throughput, plan.commands, plan.latency, plan.probes, plan.axis, plan.panel,
            plan.knob_line, plan.news, plan.server, plan.footer,
        ];
        for (i, part) in parts.iter().enumerate() {
            prop_assert!(part.is_empty() || area.intersection(*part) == *part, "{part:?} in {w}x{h}");
            for other in &parts[i + 1..] {
                prop_assert!(part.intersection(*other).is_empty(), "{part:?} {other:?} in {w}x{h}");
            }
        }
        let columns = plan.columns;
        let used = columns.gutter + columns.plot + columns.name + columns.value * columns.values;
        prop_assert_eq!(used, plan.throughput.width);
    }
}
