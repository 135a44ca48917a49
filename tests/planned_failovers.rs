//! A planned failover of Sentinels (`SENTINEL FAILOVER`): the former primary goes on serving for some seconds.

use rustix::process::Signal;

use crate::support::{
    Recipe, Server, cli_at,
    nodes::recipes,
    program::{Running, redyno},
    sentinels::Sentinels,
    wait_for,
};

/// Starts a planned failover during a load, ends the load when `is_reached`, and expects that no key is left.
fn removes_all_keys(recipe: fn() -> Recipe, is_reached: impl Fn(&Server, &Sentinels) -> bool) {
    let ([old, new], sentinels) = Sentinels::of_pair(recipe);
    let load = ["--headless", "--yes", "--ratio", "1:0", "-r", "100", "--rate", "1000"];
    let running = Running::start(redyno(&[&["-u", &sentinels.uri()], &load[..]].concat()));
    let keys = || new.cli(&["DBSIZE"]).parse().unwrap_or(0);
    wait_for("the keys on the replica", || (keys() >= 100).then_some(()));
    assert_eq!(cli_at(sentinels.ports[0], &["SENTINEL", "FAILOVER", "main"]), "OK");
    wait_for("the new primary", || is_reached(&new, &sentinels).then_some(()));
    running.signal(Signal::INT);
    running.end_of_writing().expect_code(130);
    assert_eq!(keys(), 0, "{}", new.cli(&["KEYS", "*"]));
    drop(old);
}

#[test]
fn the_keys_of_a_load_are_removed_from_the_primary_that_the_sentinels_name_at_the_end() {
    for recipe in recipes() {
        removes_all_keys(recipe, |new, sentinels| {
            let names = |port: &u16| {
                let named = cli_at(*port, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main"]);
                named.lines().last() == Some(&new.port_text())
            };
            sentinels.ports.iter().all(names)
        });
    }
}

#[test]
fn the_keys_of_a_load_are_removed_from_a_primary_that_no_sentinel_names_yet() {
    removes_all_keys(Server::redis, |new, _| new.cli(&["ROLE"]).starts_with("master"));
}
