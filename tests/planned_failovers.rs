//! A planned failover of Sentinels (`SENTINEL FAILOVER`): the former primary goes on serving for some seconds.

use rustix::process::Signal;

use crate::support::{
    Server, cli_at,
    program::{Running, redyno},
    sentinels::Sentinels,
    wait_for,
};

#[test]
fn the_keys_of_a_load_are_removed_from_the_primary_that_the_sentinels_name_at_the_end() {
    for recipe in [Server::redis, Server::valkey] {
        let ([old, new], sentinels) = Sentinels::of_pair(recipe);
        let load = ["--headless", "--yes", "--ratio", "1:0", "-r", "100", "--rate", "1000"];
        let running = Running::start(redyno(&[&["-u", &sentinels.uri()], &load[..]].concat()));
        let keys = || new.cli(&["DBSIZE"]).parse().unwrap_or(0);
        wait_for("the keys on the replica", || (keys() >= 100).then_some(()));
        assert_eq!(cli_at(sentinels.ports[0], &["SENTINEL", "FAILOVER", "main"]), "OK");
        let names = |port: &u16| {
            let named = cli_at(*port, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]);
            named.lines().last() == Some(&new.port_text())
        };
        wait_for("the new primary", || sentinels.ports.iter().all(names).then_some(()));
        running.signal(Signal::INT);
        running.end_of_writing().expect_code(130);
        assert_eq!(keys(), 0, "{}", new.cli(&["KEYS", "*"]));
        drop(old);
    }
}
