//! One part of the Overview on all of its body: another plan for the same widgets. Pure arithmetic.

use ratatui::layout::Rect;

use super::layout::{self, Columns, PROBE_LANES, Plan, Tier};
use crate::{
    app::{Model, Part},
    session::timeline::Level,
};

/// The plan of `area` with the part that `model` shows alone; as usual when it shows all, or there is no room for
/// charts. The time axis stays below a chart.
pub fn plan(area: Rect, model: &Model) -> Plan {
    let usual = layout::plan(area);
    let Some(part) = model.maximised.filter(|_| matches!(usual.tier, Tier::Panel | Tier::Compact)) else {
        return usual;
    };
    // What stands below the axis, figures of the server or of the cursor, stays.
    let body = Rect { y: area.y + 2, height: usual.axis.bottom() - (area.y + 2), ..area };
    let none = Rect { width: 0, height: 0, ..body };
    let alone = Plan {
        throughput: none,
        latency: none,
        latency_rows: 0,
        heat: none,
        probes: none,
        axis: none,
        panel: none,
        ..usual
    };
    let axis = usual.axis.height;
    let chart = Rect { width: area.width - 1, height: body.height - axis, ..body };
    let columns: Columns = layout::columns(chart.width);
    let axis = Rect { y: chart.bottom(), height: axis, ..chart };
    match part {
        Part::Panel => Plan { panel: body, columns: usual.columns, ..alone },
        Part::Latency => {
            let latency_rows = ((chart.height - 1) / Level::ALL.len() as u16).max(1);
            Plan { latency: chart, latency_rows, axis, columns, ..alone }
        }
        Part::Heat => Plan { heat: chart, axis, columns, ..alone },
        Part::Probes => {
            let probe_rows = ((chart.height - 1) / PROBE_LANES).max(1);
            Plan { probes: chart, probe_rows, probe_rule: true, axis, columns, ..alone }
        }
        Part::Throughput | Part::Curve | Part::Percentiles | Part::Distribution => {
            Plan { throughput: chart, axis, columns, ..alone }
        }
    }
}
