use super::*;

#[test]
fn the_kind_of_an_error_appears_once_in_the_text() {
    let text = |error: &str, message: &str| {
        EventKind::FirstError { error: error.to_owned(), message: message.to_owned() }.to_string()
    };
    assert_eq!(text("OOM", "OOM command not allowed"), "OOM command not allowed");
    assert_eq!(text("refused", "Connection refused"), "refused: Connection refused");
}

#[test]
fn no_field_of_an_event_has_the_name_of_a_field_of_all_events() {
    let event =
        EventKind::ConfigChanged { name: "hz".to_owned(), from: "10".to_owned(), to: "20".to_owned() };
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(text, r#"{"event":"config_changed","parameter":"hz","from":"10","to":"20"}"#);
}

#[test]
fn repeated_losses_of_the_same_connections_are_counted_as_times() {
    let text = |lost, more| {
        let cause = "reset".to_owned();
        EventKind::ConnectionsLost { lost, clients: 50, cause, unreported: more, server: None, of: None }
            .to_string()
    };
    assert_eq!(text(50, 0), "50 of 50 connections: reset");
    assert_eq!(text(51, 7), "51 times among 50 connections: reset (and 7 more since the last report)");
}

#[test]
fn one_more_entry_of_a_log_is_an_entry() {
    let text = |entries| EventKind::MoreLargeCommands { entries, part: "reply".to_owned() }.to_string();
    assert_eq!(text(1), "1 more entry about a large reply");
    assert_eq!(text(2), "2 more entries about a large reply");
}
