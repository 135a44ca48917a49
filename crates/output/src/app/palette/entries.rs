//! The command palette's list of slow log entries and clients. The key Enter shows the selected entry or client in
//! full.

use super::{Offer, PaletteCommand, offers::best_first};
use crate::{
    app::{Model, Tone},
    clock::SECOND_NS,
    server::ClientRow,
    session::Event,
    units,
};

/// The first word of the list.
pub(super) const WORD: &str = "show";
/// The maximum number of slow log entries in the list. The Log screen has older entries.
const MOST_ENTRIES: usize = 100;

impl Model {
    /// Opens the list of slow commands and clients. If the list is empty, shows the reason.
    pub(in crate::app) fn list_entries(&mut self) {
        if self.entries().is_empty() {
            let text = "this session has no slow command, and the server has not sent a list of clients yet";
            return self.show_message(Tone::Info, text);
        }
        self.open_palette(&format!("{WORD} "));
    }

    /// Returns the offers that match a query such as `show 10.0.0.7`. Returns `None` for other queries.
    pub(super) fn entries_in(&self, query: &str) -> Option<Vec<Offer>> {
        let rest = query.trim_start().strip_prefix(WORD)?.strip_prefix(' ')?;
        Some(best_first(rest, self.entries()))
    }

    fn entries(&self) -> Vec<Offer> {
        let reading = self.shown();
        let slow = reading.events().rev().filter_map(|event| self.slow_entry(event)).take(MOST_ENTRIES);
        let clients = reading.status().and_then(|status| status.body.clients.as_ref());
        slow.chain(clients.into_iter().flat_map(|clients| clients.rows.iter().map(client))).collect()
    }

    fn slow_entry(&self, event: &Event) -> Option<Offer> {
        let text = self.slow_command(event)?;
        let title = format!("{} {}", self.timeline().time_text(event.t_s), event.what);
        Some(offer(title, "slow log", text))
    }
}

fn offer(title: String, of: &'static str, text: String) -> Offer {
    Offer::new(title, text.replace('\n', "; "), PaletteCommand::Show { title: of, text })
}

fn client(row: &ClientRow) -> Offer {
    let time = |s: u64| units::elapsed(s.saturating_mul(SECOND_NS));
    let address = row.address.as_deref().unwrap_or("address not kept");
    let name = row.name.as_deref().map_or_else(String::new, |name| format!(" {name}"));
    let title = format!("client {address}{name} {}", row.last);
    let mut text = format!("client: {address}, id {}", row.id);
    for (label, value) in [("name", &row.name), ("library", &row.library)] {
        text += &value.as_ref().map_or_else(String::new, |value| format!("\n{label}: {value}"));
    }
    text += &format!("\nconnected for {}, idle for {}", time(row.age_s), time(row.idle_s));
    text += &format!("\nlast command: {}, database {}, flags {}", row.last, row.db, row.flags);
    text += &row.multi.map_or_else(String::new, |n| format!("\ncommands in its MULTI: {n}"));
    let (waiting, replies) = (units::bytes(row.query_buffer), units::bytes(row.output_memory));
    text += &format!("\nrequests not run yet: {waiting}\nreplies not read yet: {replies}");
    text += &row.memory.map_or_else(String::new, |n| format!("\nmemory: {}", units::bytes(n)));
    if let (Some(n), Some(read), Some(written)) = (row.commands, row.bytes_in, row.bytes_out) {
        let [read, written] = [read, written].map(units::bytes);
        let commands = units::count_with_noun(n, "command");
        text += &format!("\nsince the previous list: {commands}, {read} read, {written} written");
    }
    offer(title, "client", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{InputMode, update::tests::press},
        events::EventKind,
        knobs::Knobs,
        server::{ConnectedClients, Status},
        session::{Moment, Record, TimelineOptions},
    };

    #[test]
    fn a_slow_command_and_a_client_are_found_by_their_names_and_shown_in_full() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        press(&mut model, "o");
        assert!(
            model.message().unwrap().text.starts_with("this session has no slow command"),
            "nothing to show"
        );
        let client = ClientRow {
            id: 7,
            address: Some("10.0.0.7:51234".to_owned()),
            name: Some("shop".to_owned()),
            library: Some("redis-py 5.0".to_owned()),
            age_s: 90_000,
            idle_s: 3,
            last: "hgetall".to_owned(),
            flags: "N".to_owned(),
            output_memory: 4096,
            memory: Some(20_480),
            commands: Some(1),
            bytes_in: Some(100),
            bytes_out: Some(2048),
            ..ClientRow::default()
        };
        let clients = Some(ConnectedClients { rows: vec![client], ..ConnectedClients::default() });
        let what = EventKind::SlowCommand {
            us: 14_000,
            command: "MGET a".to_owned(),
            client: Some("10.0.0.9:1".to_owned()),
            arguments: vec!["a".to_owned(), "b".to_owned()],
        };
        model.push(&Record::Server(Box::new(Moment::new(1.0, Status { clients, ..Status::default() }))));
        model.push(&Record::Event(Event::new(3.0, what)));
        press(&mut model, "o\n");
        let text =
            "14.0 ms, reported at 00:03\ncommand: MGET a\nclient: 10.0.0.9:1\narguments: a b".to_owned();
        assert_eq!(model.mode, InputMode::InFull { title: "slow log", text });
        press(&mut model, "\n");
        press(&mut model, "oshop\n");
        let text = "client: 10.0.0.7:51234, id 7\nname: shop\nlibrary: redis-py 5.0\nconnected for 1d 01:00:00, idle for \
                    00:00:03\nlast command: hgetall, database 0, flags N\nrequests not run yet: 0 B\nreplies not read yet: \
                    4.00 KiB\nmemory: 20.0 KiB\nsince the previous list: 1 command, 100 B read, 2.00 KiB written"
            .to_owned();
        assert_eq!(model.mode, InputMode::InFull { title: "client", text });
    }
}
