//! Tests of the marker on the server.

use super::*;

fn run() -> RunId {
    "4g7k2m9q".parse().unwrap()
}

/// Parses the reply to HMGET from a server whose marker has these fields.
fn read(fields: &[(&str, &str)]) -> Marker {
    let value =
        |name: &String| fields.iter().find(|(field, _)| field == name).map(|(_, value)| (*value).to_owned());
    Marker::read((run(), 0), &Marker::field_names().iter().map(value).collect::<Vec<_>>())
}

#[test]
fn a_marker_is_read_as_it_was_written() {
    let owner =
        Owner { started: "2026-11-21T07:08:00.5Z".into(), host: "box-1.example".into(), pid: Some(4711) };
    let tuned = |name: &str, from: &str, to: &[&str]| TunedParameter {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.iter().map(|to| (*to).to_owned()).collect(),
    };
    let marker = Marker {
        span: Some([(String::new(), 0..10_000), ("post \"7\":".to_owned(), 90..97)].into_iter().collect()),
        kept: true,
        tuned: vec![tuned("hz", "10", &["20", "50"]), tuned("save", "", &["60 1"])],
        made: vec![SetupObject::Library("mylib".to_owned()), SetupObject::Index("posts \"7\"".to_owned())],
        ..Marker::new(run(), owner)
    };
    let fields = marker.fields();
    let pairs: Vec<_> = fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    assert_eq!(read(&pairs), marker);
    assert_eq!(
        marker.left(&Target::default()),
        "kept its keys here and set hz to 50 (it was 10), save to 60 1 (it was \"\") and made the function library \
         mylib, the search index posts \"7\"; `redyno clean -h 127.0.0.1 -p 6379` removes the keys and sets that back and deletes what it made"
    );
    let set = Marker { span: Some(KeySpan::default()), made: Vec::new(), ..marker };
    let left = set.left(&Target::default());
    assert!(left.starts_with("set hz to 50") && left.ends_with(" -p 6379` sets that back"), "{left}");
    let elsewhere = Marker { db: 5, ..Marker { span: None, ..set } }.left(&Target::default());
    assert!(elsewhere.starts_with("kept its keys in db 5 and set hz"), "{elsewhere}");
    assert!(elsewhere.contains("`redyno clean -h 127.0.0.1 -p 6379 --db 5` removes the keys"), "{elsewhere}");
}

#[test]
fn a_run_without_a_marker_may_have_any_keys() {
    let marker = read(&[]);
    assert_eq!((&marker.span, marker.has_keys(), marker.needs_undo()), (&None, true, true));
    assert_eq!(marker.owner.to_string(), "a session begun (unknown) on host (unknown)");
    let left = "left its keys here; `redyno clean -h 127.0.0.1 -p 6379` removes them";
    assert_eq!(marker.left(&Target::default()), left);
    assert!(!Marker::new(run(), Owner::default()).needs_undo());
}

#[test]
fn a_run_owns_the_keys_that_it_may_have_written() {
    let named = read(&[("keys", r#"[{"prefix":"post:","first":10,"count":5}]"#)]);
    let kept = Marker { kept: true, ..named.clone() };
    let unknown = Marker { span: None, ..named.clone() };
    for (key, owners) in [
        ("redyno:4g7k2m9q:post:000000000010", [true, true, true]),
        ("redyno:4g7k2m9q:post:000000000015", [false, true, true]),
        ("redyno:4g7k2m9q:000000000010", [false, true, true]),
        ("redyno:zzzzzzzz:post:000000000010", [false, false, false]),
    ] {
        let key = OwnKey::read(key.as_bytes()).unwrap();
        assert_eq!([&named, &kept, &unknown].map(|marker| marker.owns(&key)), owners, "{key:?}");
    }
}

#[test]
fn key_sets_of_any_form_are_read_as_they_were_written() {
    let text = r#"[{"prefix":"user","first":0,"count":10,"digits":0,"naming":"ycsb","open":true},
        {"prefix":"","first":5,"count":5,"digits":3,"open":false}]"#;
    let marker = read(&[("keys", text)]);
    let span = marker.span.clone().unwrap();
    assert_eq!(read_keys(&write_keys(Some(&span))), Some(span));
    let kept = Marker { kept: true, ..marker.clone() };
    for (name, owners) in [
        ("user6284781860667377211", [true, true]),
        ("user01", [false, false]),
        ("009", [true, true]),
        ("010", [false, true]),
        ("10", [false, false]),
        ("000000000009", [false, true]),
    ] {
        let key = OwnKey { run: run(), name: name.as_bytes() };
        assert_eq!([&marker, &kept].map(|marker| marker.owns(&key)), owners, "{name}");
    }
    let bad = text.replace("\"digits\":0", "\"digits\":21");
    assert_eq!([&bad[..], "[1]"].map(|keys| read(&[("keys", keys)]).span), [None, None]);
    assert_eq!(read(&[("keys", "[]")]).span, Some(KeySpan::default()));
}

#[test]
fn contents_that_no_session_writes_are_ignored() {
    let marker = read(&[
        ("started", "\x1b[2J"),
        ("host", "box\x1b]0;gotcha\x07"),
        ("pid", "-1"),
        ("keys", r#"[{"prefix":"","first":0,"count":99999999999999999999}]"#),
        ("config:hz", r#"{"from":"\u001b[2J","to":["10"]}"#),
        ("config:maxmemory", r#"{"from":"1","to":["0"]}"#),
        ("config:dir", r#"{"from":"/","to":["/tmp"]}"#),
        ("made", r#"[{"library":"x"},{"index":"\u001b[2J"}]"#),
    ]);
    let expected =
        Marker { span: None, invalid: marker.invalid.clone(), ..Marker::new(run(), Owner::default()) };
    assert_eq!((marker.needs_undo(), &marker), (true, &expected));
    let fields: Vec<_> = marker.invalid.iter().map(|strange| (strange.of, strange.field.as_str())).collect();
    assert_eq!(fields, [("made", "made"), ("maxmemory", "config:maxmemory"), ("hz", "config:hz")]);
    assert_eq!(marker.invalid[1].note, r#"{"from":"1","to":["0"]}"#);
}
