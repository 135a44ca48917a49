//! What a session changed on a server comes back whatever ends it, from every database, or the exit code says that it did not.

use crate::support::{Server, program::run};

#[test]
fn markers_whose_counts_add_up_beyond_64_bits_are_cleaned_up_by_a_scan() {
    let server = Server::redis().start();
    let keys = |count: u64| {
        format!(r#"[{{"prefix":"a","first":0,"count":{count},"digits":0,"hashed":false,"open":false}}]"#)
    };
    for (run, count) in [("4g7k2m9q", u64::MAX), ("5g7k2m9q", 2)] {
        server.cli(&["SADD", "redyno:runs", run]);
        server.cli(&["HSET", &format!("redyno:{run}"), "keys", &keys(count), "kept", "no"]);
        server.cli(&["SET", &format!("redyno:{run}:a1"), "own"]);
        server.cli(&["SET", &format!("redyno:{run}:b1"), "somebody's"]);
    }
    let cleaned = run(&["clean", "-p", &server.port_text()]).expect_code(0);
    assert!(cleaned.out.contains("removed 2 keys in "), "{}", cleaned.out);
    assert!(server.calls(&[], "scan") > 0);
    assert_eq!(server.cli(&["DBSIZE"]), "2");
}
