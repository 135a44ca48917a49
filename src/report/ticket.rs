//! A report as Markdown, for a ticket: the tables, without pictures.

use super::{account::Account, comparison::Comparison, knob_curve, table::Table, tables};
use crate::export::markdown_text;

/// The text.
pub(super) fn ticket(accounts: &[Account]) -> String {
    let mut text = String::new();
    if let Some(comparison) = Comparison::of(accounts) {
        text += "## Comparison\n\n";
        text.extend(comparison.tables.iter().map(Table::markdown));
        text.extend(
            comparison.left_out.iter().map(|why| format!("Not compared: {}.\n\n", markdown_text(why))),
        );
    }
    accounts.iter().for_each(|account| text += &of_account(account));
    text
}

fn of_account(account: &Account) -> String {
    let mut text = format!("## {}\n\n", markdown_text(&account.name()));
    for chart in knob_curve::charts(account, "").iter().filter(|chart| !chart.note.is_empty()) {
        text += &format!("{}\n\n", markdown_text(&chart.note));
    }
    text.extend(tables::all(account).iter().map(Table::markdown));
    text
}
